//! Lines, written glyph by glyph, so that nothing gets to the terminal that it would obey.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::tui::glyphs::{Glyph, GlyphKind, glyphs};
use crate::tui::rows;

/// Lines that have been written.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    pub(crate) lines: Vec<Line<'static>>,
    /// The line that should be seen.
    pub(crate) eye: Option<usize>,
}

/// Lines that are being written.
#[derive(Debug)]
pub(crate) struct Paper {
    width: usize,
    /// How far lines are indented that go on on the next one.
    indent: usize,
    sheet: Sheet,
    line: Vec<Span<'static>>,
    column: usize,
}

impl Paper {
    pub(crate) fn new(width: u16) -> Paper {
        Paper {
            width: width as usize,
            indent: 0,
            sheet: Sheet::default(),
            line: Vec::new(),
            column: 0,
        }
    }

    /// From here on lines are indented, and so is what goes on on the next line.
    pub(crate) fn indent(&mut self, indent: usize) {
        self.indent = indent.min(self.width / 2);
    }

    /// Writes a text, over as many lines as it takes. Words stay together, but for those that are longer than
    /// a line.
    pub(crate) fn put(&mut self, text: &str, style: Style) {
        for word in text.split_inclusive(char::is_whitespace) {
            self.put_together(&[(word, style)]);
        }
    }

    fn put_glyphs(&mut self, text: &str, style: Style) {
        for glyph in glyphs(text, 0) {
            match glyph.kind {
                GlyphKind::LineEnd => {
                    self.put_cells(&glyph.shown, glyph.width as usize, style);
                    self.end_line();
                    continue;
                }
                GlyphKind::Tab => self.put_cells("→   ", 4, style),
                GlyphKind::Plain => self.put_cells(&glyph.shown, glyph.width as usize, style),
                // A stand-in is of characters of one cell each.
                GlyphKind::Escaped => {
                    for c in glyph.shown.chars() {
                        self.put_cells(c.encode_utf8(&mut [0; 4]), 1, style);
                    }
                }
            }
        }
    }

    fn put_cells(&mut self, shown: &str, width: usize, style: Style) {
        if self.column + width > self.width {
            // A blank that would come next is seen by the end of the line, unless it is what matters.
            let is_seen = shown != " " || style.add_modifier.contains(Modifier::UNDERLINED);
            if self.width <= self.indent + width || !is_seen {
                return;
            }
            self.end_line();
        }
        if self.column == 0 && self.indent > 0 {
            self.line.push(Span::raw(" ".repeat(self.indent)));
            self.column = self.indent;
        }
        self.column += width;
        match self.line.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(shown),
            _ => self.line.push(Span::styled(shown.to_owned(), style)),
        }
    }

    /// Writes a few words that had better stay together, each in its style.
    pub(crate) fn put_together(&mut self, words: &[(&str, Style)]) {
        let Some(&(last, _)) = words.last() else {
            return;
        };
        // A space at the end may be left over.
        let left_over = last.len() - last.trim_end().len();
        let width: usize = words
            .iter()
            .flat_map(|(text, _)| glyphs(text, 0))
            .map(|glyph| glyph.width as usize)
            .sum::<usize>()
            .saturating_sub(left_over);
        let fits_below = self.indent + width <= self.width;
        let breaks = self.column + width > self.width && fits_below;
        if breaks {
            self.end_line();
        }
        for (index, &(text, style)) in words.iter().enumerate() {
            match breaks && index == 0 {
                true => self.put_glyphs(text.trim_start(), style),
                false => self.put_glyphs(text, style),
            }
        }
    }

    /// Goes to a column of the line, if it is not there yet.
    pub(crate) fn tab_to(&mut self, column: usize) {
        let column = column.min(self.width);
        if self.column < column {
            self.line.push(Span::raw(" ".repeat(column - self.column)));
            self.column = column;
        }
    }

    pub(crate) fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.sheet.lines.push(Line::from(line));
        self.column = 0;
    }

    /// A text on lines of its own.
    pub(crate) fn line(&mut self, text: &str, style: Style) {
        self.put(text, style);
        self.end_line();
    }

    /// A line of JSON, of which the value stays together: a blank in it is not to be lost at the end of a line.
    pub(crate) fn json_line(&mut self, line: &str, style: Style) {
        let value = line.find("\": ").map_or(0, |at| at + "\": ".len());
        let (key, value) = line.split_at(value);
        self.put(key, style);
        self.put_together(&[(value, style)]);
        self.end_line();
    }

    /// The line that is being written should be seen.
    pub(crate) fn look_here(&mut self) {
        self.sheet.eye = Some(self.sheet.lines.len());
    }

    pub(crate) fn finish(mut self) -> Sheet {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.sheet
    }
}

/// As much of a text as there is room for on one line.
pub(crate) fn one_line(text: &str, width: u16, style: Style) -> Vec<Span<'static>> {
    let glyphs = rows::one_line(text, width).into_iter();
    let shown: String = glyphs
        .map(|placed| placed.glyph.shown.into_owned())
        .collect();
    vec![Span::styled(shown, style)]
}

/// The same, but cut in the middle: names of which many begin alike are told apart by their ends.
pub(crate) fn one_line_with_end(text: &str, width: u16, style: Style) -> Vec<Span<'static>> {
    let glyphs: Vec<Glyph<'_>> = glyphs(text, 0).collect();
    let room = width.saturating_sub(1) as usize;
    if width_of(text) <= width as usize || room == 0 {
        return one_line(text, width, style);
    }
    let fitting = |glyphs: &mut dyn Iterator<Item = &Glyph<'_>>, mut room: usize| {
        let fits = |glyph: &&Glyph<'_>| {
            let left = room.checked_sub(glyph.width as usize);
            room = left.unwrap_or(0);
            left.is_some()
        };
        glyphs.take_while(fits).count()
    };
    let end = fitting(&mut glyphs.iter().rev(), room / 2);
    let start = fitting(&mut glyphs.iter(), room - room / 2);
    let shown = |glyphs: &[Glyph<'_>]| -> String {
        glyphs.iter().map(|glyph| glyph.shown.as_ref()).collect()
    };
    let (start, end) = (
        shown(&glyphs[..start]),
        shown(&glyphs[glyphs.len() - end..]),
    );
    vec![Span::styled(format!("{start}…{end}"), style)]
}

/// How many columns a text takes on one line.
pub(crate) fn width_of(text: &str) -> usize {
    glyphs(text, 0).map(|glyph| glyph.width as usize).sum()
}

/// Lines of which the first ones take so many columns, beside others.
pub(crate) fn side_by_side(
    first: Vec<Line<'static>>,
    second: Vec<Line<'static>>,
    columns: u16,
    border: Style,
) -> Vec<Line<'static>> {
    let count = first.len().max(second.len());
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let lines = (0..count).map(|_| {
        let mut line = first.next().unwrap_or_default();
        let room = (columns as usize).saturating_sub(line.width());
        line.spans.push(Span::raw(" ".repeat(room)));
        line.spans.push(Span::styled("│ ", border));
        line.spans.extend(second.next().unwrap_or_default().spans);
        line
    });
    lines.collect()
}
