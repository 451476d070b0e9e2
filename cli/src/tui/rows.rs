//! A text in rows of a width, from any place of it. A row ends between words where there is such a place.
//!
//! Nothing is laid out before it is asked for. A text falls into blocks, each of which begins a row
//! of its own: its lines, and of long lines pieces of some size. So the row that holds a place is
//! found from the start of its block, however long the text or the line may be.

use std::iter::successors;
use std::ops::Range;

use memchr::memrchr;

use super::glyphs::{Glyph, GlyphKind, glyphs, place_before};

/// How many bytes of a line a block has.
const BLOCK: usize = 4096;

/// A tab goes to the next column that is a multiple of this.
const TAB: u16 = 4;

/// What stands for more than there is room for.
const ELLIPSIS: &str = "…";

/// A text in rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'t> {
    text: &'t str,
    width: u16,
}

/// A row: what stands in one line of cells. A space at its end may stand one cell behind them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row<'t> {
    /// Where it is in the text, in bytes.
    pub(super) span: Range<usize>,
    pub(super) glyphs: Vec<Placed<'t>>,
    /// Where its line begins.
    line: usize,
}

/// A glyph in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed<'t> {
    pub(super) glyph: Glyph<'t>,
    /// The first of its cells.
    pub(super) column: u16,
}

impl<'t> Rows<'t> {
    /// A text in rows of so many cells. Rows of none are as those of one, as nothing would come to
    /// an end in them.
    pub(super) fn new(text: &'t str, width: u16) -> Self {
        Rows {
            text,
            width: width.max(1),
        }
    }

    /// The row that holds a byte of the text. Behind the end that is the last one.
    pub(super) fn row_of(&self, offset: usize) -> Row<'t> {
        let offset = offset.min(self.text.len().saturating_sub(1));
        let line = self.line_of(offset);
        let mut row = self.row_at(line, self.block(line, offset).start);
        while row.span.end <= offset
            && let Some(next) = self.next(&row)
        {
            row = next;
        }
        row
    }

    /// The row after one.
    pub(super) fn next(&self, row: &Row<'t>) -> Option<Row<'t>> {
        let start = row.span.end;
        let line = match self.text[..start].ends_with('\n') {
            true => start,
            false => row.line,
        };
        (start < self.text.len()).then(|| self.row_at(line, start))
    }

    /// So many rows before one, or as many as there are.
    pub(super) fn rows_before(&self, row: &Row<'t>, count: usize) -> Vec<Row<'t>> {
        let (mut line, mut start) = (row.line, row.span.start);
        // The last block comes first.
        let mut blocks: Vec<Vec<Row>> = Vec::new();
        let mut found = 0;
        while found < count && start > 0 {
            let last = start - 1;
            if last < line {
                line = self.line_of(last);
            }
            let block = self.block(line, last).start;
            let first = Some(self.row_at(line, block));
            let rows = successors(first, |row| match row.span.end < start {
                true => self.next(row),
                false => None,
            });
            blocks.push(rows.collect());
            found += blocks.last().map_or(0, Vec::len);
            start = block;
        }
        let rows = blocks.into_iter().rev().flatten();
        rows.skip(found.saturating_sub(count)).collect()
    }

    /// Where the line begins that holds a byte of the text.
    fn line_of(&self, offset: usize) -> usize {
        memrchr(b'\n', &self.text.as_bytes()[..offset]).map_or(0, |end| end + 1)
    }

    /// The block that holds a byte of a line. It may end behind the line, whose end is not looked
    /// for: rows end there anyway.
    fn block(&self, line: usize, offset: usize) -> Range<usize> {
        let border = |index| match index {
            0 => line,
            _ => place_before(self.text, line + index * BLOCK),
        };
        let index = (offset - line) / BLOCK;
        // Marks go along with what they stand on, so a border may lie a little before its byte.
        match border(index + 1) {
            end if end <= offset && end < self.text.len() => end..border(index + 2),
            end => border(index)..end,
        }
    }

    /// The row of a line that begins at a byte.
    fn row_at(&self, line: usize, start: usize) -> Row<'t> {
        let block_end = self.block(line, start).end;
        let mut row = Row {
            span: start..start,
            glyphs: Vec::with_capacity((block_end - start).min(self.width.into())),
            line,
        };
        let mut column = 0;
        for glyph in glyphs(&self.text[start..block_end], start) {
            let glyph = match glyph.width <= self.width {
                true => glyph,
                false => Glyph::new(glyph.span, GlyphKind::Escaped, ELLIPSIS),
            };
            let is_space = glyph.shown == " ";
            let Some(placed) = Placed::new(glyph.clone(), column, self.width) else {
                match is_space {
                    true => {
                        row.span.end = glyph.span.end;
                        row.glyphs.push(Placed { glyph, column });
                    }
                    false => self.keep_word(&mut row, block_end),
                }
                break;
            };
            column = placed.end();
            row.span.end = placed.glyph.span.end;
            let is_last = placed.glyph.kind == GlyphKind::LineEnd;
            row.glyphs.push(placed);
            if is_last {
                break;
            }
        }
        row
    }

    /// Where a row would end within a word, it ends before that, unless the word is longer than a row.
    fn keep_word(&self, row: &mut Row<'t>, block_end: usize) {
        let rest = &self.text[row.span.end..block_end];
        let is_blank = |text: &str| text.starts_with(char::is_whitespace);
        let blank = |placed: &Placed| is_blank(&self.text[placed.glyph.span.clone()]);
        let Some(last) = row.glyphs.iter().rposition(blank) else {
            return;
        };
        let Some(first) = row.glyphs.get(last + 1).filter(|_| !is_blank(rest)) else {
            return;
        };
        let begun = row.glyphs.last().map_or(0, Placed::end) - first.column;
        let mut room = self.width - begun;
        let word = glyphs(rest, 0).take_while(|glyph| !is_blank(&rest[glyph.span.clone()]));
        for glyph in word {
            match room.checked_sub(glyph.width) {
                Some(left) => room = left,
                None => return,
            }
        }
        row.span.end = first.glyph.span.start;
        row.glyphs.truncate(last + 1);
    }
}

impl<'t> Placed<'t> {
    /// A glyph at a column, if that many cells have room for it.
    fn new(mut glyph: Glyph<'t>, column: u16, cells: u16) -> Option<Self> {
        let room = cells - column;
        if glyph.kind == GlyphKind::Tab && room > 0 {
            let width = (TAB - column % TAB).min(room);
            glyph = Glyph::new(glyph.span, GlyphKind::Tab, tab(width));
        }
        (glyph.width <= room).then_some(Placed { glyph, column })
    }

    /// The column after it.
    fn end(&self) -> u16 {
        self.column + self.glyph.width
    }
}

/// A tab of so many cells, which are `TAB` at the most.
fn tab(width: u16) -> &'static str {
    &"→   "[..'→'.len_utf8() + usize::from(width) - 1]
}

/// A text in one line of cells, its line ends as glyphs among the others. An ellipsis stands for
/// the rest if there is no room for it.
pub(super) fn one_line(text: &str, width: u16) -> Vec<Placed<'_>> {
    let mut line: Vec<Placed> = Vec::new();
    let end = |line: &[Placed]| line.last().map_or(0, Placed::end);
    for glyph in glyphs(text, 0) {
        if let Some(placed) = Placed::new(glyph, end(&line), width) {
            line.push(placed);
            continue;
        }
        if end(&line) == width {
            line.pop();
        }
        let rest = line.last().map_or(0, |placed| placed.glyph.span.end)..text.len();
        line.extend(Placed::new(
            Glyph::new(rest, GlyphKind::Escaped, ELLIPSIS),
            end(&line),
            width,
        ));
        break;
    }
    line
}

#[cfg(test)]
mod tests;
