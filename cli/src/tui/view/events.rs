//! What the parser has reported, the last of it at the bottom. In front stands the number of the chunk,
//! or when it came, if that was measured.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::difference::other_event;
use crate::tui::layout::Pane;
use crate::tui::state::Workbench;
use crate::tui::update::fold;
use unjinja::Value;
use unjinja_replay::EventKind;
use unjinja_replay::{preview, with_ends};

use super::paper::one_line;

/// So many characters of a text or a value are shown at the most; no screen is wider.
const SHOWN: usize = 512;

pub(super) fn summary(workbench: &Workbench) -> String {
    let past = workbench.at.events;
    let last = workbench.replay.events(workbench.replay.last()).len();
    format!("{past} of {last}")
}

/// The events that stand on a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EventRow {
    first: usize,
    count: usize,
}

/// What was expected in the place of an event: below the row of this number, or above all of them.
struct ExpectedRow {
    index: usize,
    text: String,
}

/// Where an event has come that is not the expected one, the expected one stands below it.
fn expected_row(workbench: &Workbench, rows: &EventRows<'_>) -> Option<ExpectedRow> {
    let expected = workbench.sample().case.expected.events.as_ref()?;
    // Before the end, the rest may still come.
    workbench.replay.outcome()?;
    let other = other_event(&workbench.replay, expected)?;
    let has_come = match other.first == other.end {
        true => workbench.replay.is_end(workbench.at),
        false => other.first < workbench.at.events,
    };
    let text = match other.expected {
        Some(event) => in_words(event),
        None => "nothing more".to_owned(),
    };
    let last = other.end.min(workbench.at.events);
    has_come.then(|| ExpectedRow {
        index: rows.before(last),
        text,
    })
}

/// An event of a fixture, as those that came are shown.
fn in_words(event: &Value) -> String {
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = text("type");
    let kind = kind.strip_prefix("region_").unwrap_or(kind);
    let rest = match (event.get("text"), event.get("value")) {
        (Some(_), _) => with_ends(text("text")).into_owned(),
        (None, Some(value)) => format!("= {}", preview(value, SHOWN)),
        (None, None) => String::new(),
    };
    format!("{kind} {} {rest}", text("field"))
}

/// The rows of the events up to the place: the chunks of a region share one, but for those of the region
/// that came last.
struct EventRows<'w> {
    /// The first events of the rows that are shared, where there are such.
    firsts: &'w [u32],
    /// From this event on, each has a row of its own.
    own: usize,
    len: usize,
}

impl<'w> EventRows<'w> {
    fn of(workbench: &'w Workbench) -> EventRows<'w> {
        let len = workbench.at.events;
        let firsts = workbench.replay.event_rows();
        let firsts = &firsts[..firsts.partition_point(|&first| (first as usize) < len)];
        // The last row is open.
        let closed = firsts.len().saturating_sub(1);
        match workbench.unfolded {
            true => EventRows {
                firsts: &[],
                own: 0,
                len,
            },
            false => EventRows {
                firsts: &firsts[..closed],
                own: firsts.last().map_or(0, |&first| first as usize),
                len,
            },
        }
    }

    fn count(&self) -> usize {
        self.firsts.len() + self.len - self.own
    }

    /// How many rows there are of the first so many events.
    fn before(&self, events: usize) -> usize {
        let shared = self
            .firsts
            .partition_point(|&first| (first as usize) < events);
        shared + events.saturating_sub(self.own)
    }

    fn row(&self, index: usize) -> EventRow {
        match self.firsts.get(index) {
            Some(&first) => {
                let next = self
                    .firsts
                    .get(index + 1)
                    .map_or(self.own, |&next| next as usize);
                let first = first as usize;
                EventRow {
                    first,
                    count: next - first,
                }
            }
            None => EventRow {
                first: self.own + index - self.firsts.len(),
                count: 1,
            },
        }
    }
}

/// The number of the row at the top, and how many there are.
pub(super) fn extent(workbench: &Workbench, area: Rect) -> (usize, usize) {
    let rows = EventRows::of(workbench);
    let len = rows.count() + usize::from(expected_row(workbench, &rows).is_some());
    let last = len.saturating_sub(area.height as usize);
    let top = workbench.scrolled[Pane::Events.number()].unwrap_or(last);
    (top.min(last), len)
}

pub(super) fn draw(workbench: &Workbench, area: Rect, buffer: &mut Buffer) {
    let (top, len) = extent(workbench, area);
    let rows = EventRows::of(workbench);
    let expected = expected_row(workbench, &rows);
    for (index, y) in (top..len).zip(area.y..area.bottom()) {
        let line = match &expected {
            Some(expected) if expected.index == index => {
                let text = format!("≠ expected {}", expected.text);
                Line::from(one_line(&text, area.width, workbench.styles.bad()))
            }
            expected => {
                let above = expected
                    .as_ref()
                    .is_some_and(|expected| expected.index < index);
                line(workbench, rows.row(index - usize::from(above)), area.width)
            }
        };
        buffer.set_line(area.x, y, &line, area.width);
    }
}

fn line(workbench: &Workbench, row: EventRow, width: u16) -> Line<'static> {
    let (styles, replay) = (workbench.styles, &workbench.replay);
    let events = replay.events(workbench.at);
    let index = row.first + row.count - 1;
    let (Some(first), Some(event)) = (events.get(row.first), events.get(index)) else {
        return Line::default();
    };
    let shown = match event.what {
        EventKind::Open(_) => {
            let captures = replay.captures(event).iter();
            let captures =
                captures.map(|capture| format!(" {}={}", capture.name, with_ends(&capture.text)));
            let text = &replay.text()[event.span()];
            format!("{text}{}", captures.collect::<String>())
        }
        EventKind::Chunk { .. } => {
            let text = &replay.text()[first.span().start..event.span().end];
            let text = &text[..text.floor_char_boundary(SHOWN)];
            match text.trim_matches(' ').is_empty() {
                true => with_ends(text).into_owned(),
                false => text.to_owned(),
            }
        }
        EventKind::Close(_) => {
            let value = replay.value(event).map(|value| preview(value, SHOWN));
            format!("= {}", value.unwrap_or_default())
        }
        EventKind::Malformed(_) => replay.error(event).unwrap_or_default().to_owned(),
    };
    let (kind, style) = match event.what {
        EventKind::Open(_) => ("▸ open ", styles.strong()),
        EventKind::Chunk { .. } => ("  chunk", styles.faint()),
        EventKind::Close(_) => ("◂ close", styles.strong()),
        EventKind::Malformed(_) => ("! malformed", styles.bad()),
    };
    let time = match workbench.chunk_of(index) {
        (_, Some(time)) => format!("{:>8.3} ", time.as_secs_f64()),
        (chunk, None) if chunk > replay.chunks() => format!("{:>6} ", "end"),
        (chunk, None) => format!("{chunk:>6} "),
    };
    let is_last = index + 1 == workbench.at.events;
    let mut spans = one_line(&time, width, styles.faint());
    spans.extend(one_line(
        kind,
        width,
        if is_last { styles.chosen() } else { style },
    ));
    let count = match row.count {
        1 => String::new(),
        count => format!("×{count} "),
    };
    let field = format!(" {} {count}", replay.field(event.field));
    spans.extend(one_line(&field, width, styles.field(event.field)));
    let taken: usize = spans.iter().map(Span::width).sum();
    let room = (width as usize).saturating_sub(taken) as u16;
    spans.extend(one_line(&shown, room, styles.plain()));
    Line::from(with_hits(workbench, spans))
}

/// Marks what was searched for in a row.
fn with_hits(workbench: &Workbench, spans: Vec<Span<'static>>) -> Vec<Span<'static>> {
    let Some(words) = workbench.search.as_deref().map(fold) else {
        return spans;
    };
    // The names of fields stand in a column, and so another blank before them.
    let aligned = words.replacen("open ", "open  ", 1);
    let row: String = spans.iter().map(|span| span.content.as_ref()).collect();
    let row = fold(&row);
    let found = [words, aligned].into_iter().flat_map(|words| {
        let found = row.match_indices(&words).filter(|(_, hit)| !hit.is_empty());
        found
            .map(|(at, hit)| at..at + hit.len())
            .collect::<Vec<Range<usize>>>()
    });
    let found: Vec<Range<usize>> = found.collect();
    if found.is_empty() {
        return spans;
    }
    let mut at = 0;
    let pieces = spans.into_iter().flat_map(|span| {
        let letters = span.content.char_indices();
        let letters = letters.map(|(start, letter)| {
            let place = at + start;
            let style = match found.iter().any(|hit| hit.contains(&place)) {
                true => workbench.styles.hit(span.style),
                false => span.style,
            };
            (letter, style)
        });
        let letters: Vec<(char, Style)> = letters.collect();
        at += span.content.len();
        let pieces = letters.chunk_by(|one, next| one.1 == next.1);
        pieces
            .map(|piece| {
                let text: String = piece.iter().map(|(letter, _)| letter).collect();
                Span::styled(text, piece[0].1)
            })
            .collect::<Vec<Span<'static>>>()
    });
    pieces.collect()
}

/// The event at a place of the screen.
pub(in crate::tui) fn event_at(
    workbench: &Workbench,
    area: Rect,
    position: Position,
) -> Option<usize> {
    let (top, len) = extent(workbench, area);
    let index = top + (position.y - area.y) as usize;
    let rows = EventRows::of(workbench);
    let expected = expected_row(workbench, &rows);
    // What was expected leads to what came in its place.
    let above = expected.is_some_and(|expected| expected.index <= index);
    let row = index.checked_sub(usize::from(above))?;
    (index < len)
        .then(|| rows.row(row))
        .map(|row| row.first + row.count - 1)
}
