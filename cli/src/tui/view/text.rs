//! The text, region by region, with the place where the stream is.

use std::iter::successors;
use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};

use crate::tui::glyphs::GlyphKind;
use crate::tui::layout::Pane;
use crate::tui::rows::{Placed, Row, Rows};
use crate::tui::state::{Goal, Workbench};
use crate::tui::update::fold;
use unjinja_replay::{Replay, SegmentKind};

use super::paper::one_line;

/// The names of fields take no more columns than this.
const NAMES: usize = 18;

/// What stands in front of a field's text. Frames have other signs.
const BODY: &str = ":";

/// Narrower panes have no room for names.
const ROOM_FOR_NAMES: u16 = 36;

/// And narrower ones have none for the bytes at which rows begin.
const ROOM_FOR_RULER: u16 = 56;

/// A stretch of the text that is one thing, and begins a row of its own.
#[derive(Clone)]
struct Stretch {
    /// What it is, and its field; none for what has not been read.
    part: Option<(SegmentKind, Option<u16>)>,
    span: Range<usize>,
}

/// A row of a stretch.
struct PageRow<'r> {
    stretch: Stretch,
    span: Range<usize>,
    glyphs: Vec<Placed<'r>>,
}

/// The text in rows of a width.
struct Page<'r> {
    replay: &'r Replay,
    width: u16,
}

impl<'r> Page<'r> {
    fn stretch_at(&self, offset: usize) -> Stretch {
        let replay = self.replay;
        let (part, mut span) = match replay.segment_at(offset) {
            Some((segment, span)) => (Some((segment.part, segment.field)), span),
            None => (None, replay.divided()..replay.text().len()),
        };
        // What the prompt has written is distinguished.
        match offset < replay.output() {
            true => span.end = span.end.min(replay.output()),
            false => span.start = span.start.max(replay.output()),
        }
        Stretch { part, span }
    }

    fn rows_of(&self, stretch: &Stretch) -> Rows<'r> {
        Rows::new(&self.replay.text()[stretch.span.clone()], self.width)
    }

    fn row_at(&self, offset: usize) -> PageRow<'r> {
        let stretch = self.stretch_at(offset);
        let row = self.rows_of(&stretch).row_of(offset - stretch.span.start);
        PageRow::new(&stretch, row)
    }

    /// So many rows before one, or as many as there are.
    fn rows_before(&self, row: &PageRow<'r>, count: usize) -> Vec<PageRow<'r>> {
        let mut found: Vec<PageRow<'r>> = Vec::new();
        let mut start = row.span.start;
        while found.len() < count && start > 0 {
            // The last row of what comes before, and then what comes before that in its stretch.
            let last = self.row_at(start - 1);
            let rows = self.rows_of(&last.stretch);
            let offset = start - 1 - last.stretch.span.start;
            let before = rows.rows_before(&rows.row_of(offset), count - found.len() - 1);
            start = before.first().map_or(last.span.start, |first| {
                last.stretch.span.start + first.span.start
            });
            let before = before
                .into_iter()
                .map(|row| PageRow::new(&last.stretch, row));
            let mut before: Vec<PageRow<'r>> = before.collect();
            before.push(last);
            before.append(&mut found);
            found = before;
        }
        found
    }

    /// So many rows from the one on that holds a byte, or as many as there are.
    fn rows_from(&self, mut offset: usize, count: usize) -> Vec<PageRow<'r>> {
        let mut found = Vec::new();
        while found.len() < count && offset < self.replay.text().len() {
            let stretch = self.stretch_at(offset);
            let rows = self.rows_of(&stretch);
            let first = rows.row_of(offset - stretch.span.start);
            let all = successors(Some(first), |row| rows.next(row));
            let all = all.take(count - found.len());
            found.extend(all.map(|row| PageRow::new(&stretch, row)));
            offset = stretch.span.end;
        }
        found
    }

    /// So many rows, of which one holds a byte, with some before it.
    fn around(&self, offset: usize, above: usize, height: usize) -> Vec<PageRow<'r>> {
        let length = self.replay.text().len();
        if length == 0 {
            return Vec::new();
        }
        let row = self.row_at(offset.min(length - 1));
        let mut rows = self.rows_before(&row, above);
        rows.extend(self.rows_from(row.span.start, height.saturating_sub(rows.len())));
        // At the end of the text there is room for more of what comes before.
        let Some(first) = rows.first() else {
            return rows;
        };
        let mut all = self.rows_before(first, height.saturating_sub(rows.len()));
        all.append(&mut rows);
        all
    }
}

impl<'r> PageRow<'r> {
    fn new(stretch: &Stretch, row: Row<'r>) -> PageRow<'r> {
        let start = stretch.span.start;
        PageRow {
            span: row.span.start + start..row.span.end + start,
            glyphs: row.glyphs,
            stretch: stretch.clone(),
        }
    }
}

/// How many columns the names of fields take.
fn gutter(workbench: &Workbench, area: Rect) -> u16 {
    if area.width < ROOM_FOR_NAMES {
        return 2;
    }
    let fields = workbench.template.fields().iter();
    let longest = fields
        .map(|field| field.name().chars().count())
        .max()
        .unwrap_or(0);
    (longest.clamp("skipped".len(), NAMES) + 3) as u16
}

/// How many columns the bytes take at which rows begin.
fn ruler(workbench: &Workbench, area: Rect) -> u16 {
    match area.width < ROOM_FOR_RULER {
        true => 0,
        false => workbench.replay.text().len().to_string().len() as u16 + 1,
    }
}

fn page<'w>(workbench: &'w Workbench, area: Rect) -> Page<'w> {
    // A space at the end of a row may stand behind its cells.
    let taken = gutter(workbench, area) + ruler(workbench, area).max(1);
    Page {
        replay: &workbench.replay,
        width: area.width - taken.min(area.width),
    }
}

fn rows<'w>(workbench: &'w Workbench, area: Rect) -> Vec<PageRow<'w>> {
    let page = page(workbench, area);
    let height = area.height as usize;
    match workbench.scrolled[Pane::Text.number()] {
        Some(top) => page.around(top, 0, height),
        None => {
            // Where it is to go matters more than where it is until then.
            let eye = match workbench.goal {
                Some(Goal::Spot(spot)) => spot.byte,
                _ => workbench.replay.looked(workbench.at),
            };
            page.around(eye, height * 2 / 3, height)
        }
    }
}

/// The byte at the top when the text is scrolled by so many rows.
pub(in crate::tui) fn scrolled(workbench: &Workbench, area: Rect, by: isize) -> usize {
    let page = page(workbench, area);
    let Some(row) = rows(workbench, area).into_iter().next() else {
        return 0;
    };
    if by < 0 {
        let before = page.rows_before(&row, by.unsigned_abs());
        return before
            .first()
            .map_or(row.span.start, |first| first.span.start);
    }
    let rows = page.rows_from(row.span.start, by.unsigned_abs() + 1);
    rows.last().map_or(row.span.start, |last| last.span.start)
}

/// The byte at a place of the screen.
pub(in crate::tui) fn byte_at(
    workbench: &Workbench,
    area: Rect,
    position: Position,
) -> Option<usize> {
    let rows = rows(workbench, area);
    let row = rows.get((position.y - area.y) as usize)?;
    let column = (position.x - area.x).checked_sub(gutter(workbench, area))?;
    let mut glyphs = row.glyphs.iter().rev();
    let glyph = glyphs.find(|placed| placed.column <= column)?;
    Some(row.stretch.span.start + glyph.glyph.span.start)
}

pub(super) fn summary(workbench: &Workbench) -> Option<String> {
    let held = workbench
        .waiting
        .as_ref()
        .map(|waiting| waiting.held.clone())?;
    match held.len() {
        0 => None,
        count => Some(format!("{count} held back from byte {} on", held.start)),
    }
}

pub(super) fn draw(workbench: &Workbench, area: Rect, buffer: &mut Buffer) {
    let gutter = gutter(workbench, area);
    let ruler = ruler(workbench, area);
    let rows = rows(workbench, area);
    let looked = workbench.replay.looked(workbench.at);
    let hits = hits(workbench, &rows);
    for (number, (row, y)) in rows.iter().zip(area.y..area.bottom()).enumerate() {
        let begins = row.span.start == row.stretch.span.start || number == 0;
        name(
            workbench,
            row,
            begins && row.span.start < looked,
            gutter,
            Position::new(area.x, y),
            buffer,
        );
        if ruler > 0 {
            let byte = format!("{:>1$}", row.span.start, ruler as usize);
            let x = area.right() - ruler;
            buffer.set_string(x, y, byte, workbench.styles.faint());
        }
        let mut end = 0;
        for placed in &row.glyphs {
            let offset = row.stretch.span.start + placed.glyph.span.start;
            let span = offset..offset + placed.glyph.span.len();
            let mut style = style(workbench, row, &span, looked);
            if !span.contains(&looked) && hits.iter().any(|hit| hit.contains(&span.start)) {
                style = workbench.styles.hit(style);
            }
            let x = area.x + gutter + placed.column;
            put(placed, x, y, area.right(), style, buffer);
            end = placed.column + placed.glyph.width;
        }
        let is_last = row.span.end == workbench.replay.text().len();
        let x = area.x + gutter + end;
        if is_last && looked >= row.span.end && x < area.right() - ruler {
            buffer.set_string(x, y, " ", workbench.styles.cursor());
        }
    }
}

/// Where what was searched for stands in the rows that are seen.
fn hits(workbench: &Workbench, rows: &[PageRow<'_>]) -> Vec<Range<usize>> {
    let (Some(words), Some(first), Some(last)) = (&workbench.search, rows.first(), rows.last())
    else {
        return Vec::new();
    };
    let (words, text) = (fold(words), workbench.replay.text());
    let from = text.floor_char_boundary(first.span.start.saturating_sub(words.len()));
    let to = text.ceil_char_boundary((last.span.end + words.len()).min(text.len()));
    let seen = fold(&text[from..to]);
    let found = seen
        .match_indices(&words)
        .filter(|(_, hit)| !hit.is_empty());
    found
        .map(|(at, hit)| from + at..from + at + hit.len())
        .collect()
}

fn put(placed: &Placed<'_>, x: u16, y: u16, right: u16, style: Style, buffer: &mut Buffer) {
    let room = right.saturating_sub(x) as usize;
    match placed.glyph.kind {
        GlyphKind::Plain | GlyphKind::LineEnd | GlyphKind::Tab | GlyphKind::Escaped => {
            buffer.set_stringn(x, y, &placed.glyph.shown, room, style);
        }
    }
}

fn style(workbench: &Workbench, row: &PageRow<'_>, span: &Range<usize>, looked: usize) -> Style {
    let styles = workbench.styles;
    if span.contains(&looked) {
        return styles.cursor();
    }
    if span.start >= looked {
        return styles.faint();
    }
    if held(workbench).contains(&span.start) {
        return styles.held();
    }
    let style = match row.stretch.part {
        Some((part, field)) => styles.part(part, field),
        None => styles.plain(),
    };
    match span.start < workbench.replay.output() {
        true => style.add_modifier(Modifier::ITALIC),
        false => style,
    }
}

/// Writes what a row is in front of it: the field, and whether it is opened or closed there.
fn name(
    workbench: &Workbench,
    row: &PageRow<'_>,
    begins: bool,
    gutter: u16,
    place: Position,
    buffer: &mut Buffer,
) {
    let styles = workbench.styles;
    let held = held(workbench);
    let (part, field) = match row.stretch.part {
        // It is not known yet what this will be.
        Some(_) if begins && held.contains(&row.span.start) => {
            return put_name("held", "…", styles.held(), gutter, place, buffer);
        }
        Some(known) if begins => known,
        _ => return put_name("", BODY, styles.faint(), gutter, place, buffer),
    };
    let sign = match part {
        SegmentKind::Open => "▸",
        SegmentKind::Body => BODY,
        SegmentKind::Close => "◂",
        SegmentKind::Skipped => "×",
    };
    let name = match field {
        Some(field) => workbench.replay.field(field),
        None => "skipped",
    };
    let style = field.map_or(styles.faint(), |field| styles.field(field));
    put_name(name, sign, style, gutter, place, buffer);
}

fn put_name(
    name: &str,
    sign: &str,
    style: Style,
    gutter: u16,
    place: Position,
    buffer: &mut Buffer,
) {
    if gutter > 2 {
        let line = one_line(name, gutter - 3, style);
        buffer.set_line(place.x, place.y, &line.into(), gutter - 3);
    }
    let plain = style.remove_modifier(Modifier::UNDERLINED);
    buffer.set_string(place.x + gutter - 2, place.y, sign, plain);
}

/// The bytes that are held back.
fn held(workbench: &Workbench) -> Range<usize> {
    let waiting = workbench.waiting.as_ref();
    waiting.map_or(0..0, |waiting| waiting.held.clone())
}

/// The bytes of each row that is seen.
#[cfg(test)]
pub(in crate::tui) fn row_spans(workbench: &Workbench) -> Vec<Range<usize>> {
    let areas = workbench.areas();
    let area = areas.pane(Pane::Text).map(|area| areas.inside(area));
    let rows = area.map(|area| rows(workbench, area)).unwrap_or_default();
    rows.into_iter().map(|row| row.span).collect()
}
