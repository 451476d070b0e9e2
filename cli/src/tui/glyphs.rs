//! Any text in cells of a terminal, and nothing that a terminal would obey.

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};
use std::sync::LazyLock;

use ratatui::buffer::CellWidth;
use regex_syntax::hir::{Class, HirKind};

use crate::printable::is_dangerous;

/// How many marks stand on one character. More of them would reach over the rows around it.
const MARKS: usize = 4;

/// What a mark stands on if there is no character before it.
const CIRCLE: char = '◌';

/// A piece of a text as a terminal shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Glyph<'t> {
    /// Where it is in the text, in bytes.
    pub(super) span: Range<usize>,
    /// What is written into its cells.
    pub(super) shown: Cow<'t, str>,
    /// How many cells it takes, at least one.
    pub(super) width: u16,
    pub(super) kind: GlyphKind,
}

/// What a glyph is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GlyphKind {
    /// A character as itself, with the marks on it.
    Plain,
    /// A line feed.
    LineEnd,
    /// A tab: an arrow, and as many blanks behind it as its column asks for.
    Tab,
    /// A stand-in for what is not to be seen, or not safe to be written.
    Escaped,
}

impl<'t> Glyph<'t> {
    pub(super) fn new(span: Range<usize>, kind: GlyphKind, shown: impl Into<Cow<'t, str>>) -> Self {
        let shown = shown.into();
        let width = shown.cell_width();
        Glyph {
            span,
            shown,
            width,
            kind,
        }
    }
}

/// Cuts a text into glyphs. It is a part of a longer text, and begins there at byte `from`.
pub(super) fn glyphs(text: &str, from: usize) -> impl Iterator<Item = Glyph<'_>> {
    Glyphs {
        rest: text,
        at: from,
        is_crowded: false,
    }
}

/// The glyphs that are still to come.
struct Glyphs<'t> {
    rest: &'t str,
    /// Where the rest begins.
    at: usize,
    /// Whether a further mark has nothing to stand on, as there are too many already.
    is_crowded: bool,
}

impl<'t> Iterator for Glyphs<'t> {
    type Item = Glyph<'t>;

    fn next(&mut self) -> Option<Glyph<'t>> {
        let first = self.rest.chars().next()?;
        let sort = Sort::of(first);
        let is_crowded = self.is_crowded && sort == Sort::Mark;
        let (taken, marks) = match sort {
            Sort::Shown => with_marks(self.rest, first.len_utf8()),
            Sort::Mark if !is_crowded => with_marks(self.rest, 0),
            _ => (&self.rest[..first.len_utf8()], 0),
        };
        let span = self.at..self.at + taken.len();
        self.rest = &self.rest[taken.len()..];
        self.at = span.end;
        self.is_crowded = is_crowded || marks == MARKS;
        Some(match sort {
            Sort::Control => control(span, first),
            Sort::Shown => Glyph::new(span, GlyphKind::Plain, taken),
            Sort::Mark if !is_crowded => {
                Glyph::new(span, GlyphKind::Escaped, format!("{CIRCLE}{taken}"))
            }
            Sort::Mark | Sort::Hidden => {
                Glyph::new(span, GlyphKind::Escaped, first.escape_unicode().to_string())
            }
        })
    }
}

/// What a text begins with: so many bytes, and the marks after them, which are counted.
fn with_marks(text: &str, base: usize) -> (&str, usize) {
    let (count, length) = marks(text[base..].chars());
    (&text[..base + length], count)
}

/// How many marks come first, as far as they can stand on one character, and their bytes.
fn marks(chars: impl Iterator<Item = char>) -> (usize, usize) {
    let marks = chars.take(MARKS).take_while(|&c| Sort::of(c) == Sort::Mark);
    marks.fold((0, 0), |(count, length), c| {
        (count + 1, length + c.len_utf8())
    })
}

/// A control character of ASCII.
fn control(span: Range<usize>, c: char) -> Glyph<'static> {
    // The pictures of U+2400 stand in the order of what they show; a space is none of it.
    const PICTURES: &str = "␀␁␂␃␄␅␆␇␈␉␊␋␌␍␎␏␐␑␒␓␔␕␖␗␘␙␚␛␜␝␞␟";
    let size = '␀'.len_utf8();
    let (kind, shown) = match c {
        '\n' => (GlyphKind::LineEnd, "⏎"),
        '\t' => (GlyphKind::Tab, "→"),
        '\u{7f}' => (GlyphKind::Escaped, "␡"),
        c => (GlyphKind::Escaped, &PICTURES[size * c as usize..][..size]),
    };
    Glyph::new(span, kind, shown)
}

/// The last place in a text that is not behind `at` and does not part marks from what they stand
/// on. Among more marks than can stand on anything, that is every place.
pub(super) fn place_before(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at);
    let (before, behind) = text.split_at(at);
    if !behind.starts_with(|c| Sort::of(c) == Sort::Mark) {
        return at;
    }
    let (count, length) = marks(before.chars().rev());
    if count == MARKS {
        return at;
    }
    let first_mark = at - length;
    match before[..first_mark].chars().next_back() {
        Some(base) if Sort::of(base) == Sort::Shown => first_mark - base.len_utf8(),
        _ => first_mark,
    }
}

/// Whether terminals make one picture of a character and its neighbour, each in its own way: letters
/// of flags, and colours of skin.
fn joins(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f3fb}'..='\u{1f3ff}')
}

/// How a character is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// A control character of ASCII.
    Control,
    /// It is shown as itself.
    Shown,
    /// It is shown as itself, on the character before it.
    Mark,
    /// It is not: it would be obeyed, can't be seen, or nobody knows how wide it is.
    Hidden,
}

impl Sort {
    fn of(c: char) -> Sort {
        match c {
            ' '..='~' => Sort::Shown,
            c if c.is_ascii() => Sort::Control,
            c if is_dangerous(c) || joins(c) => Sort::Hidden,
            c => Sort::in_tables(c),
        }
    }

    fn in_tables(c: char) -> Sort {
        let after = UNICODE.partition_point(|(range, _)| *range.start() <= c);
        match after.checked_sub(1).map(|index| &UNICODE[index]) {
            Some((range, sort)) if range.contains(&c) => *sort,
            // Some letters have no cell of their own, and yet are no marks.
            _ if c.encode_utf8(&mut [0; 4]).cell_width() == 0 => Sort::Hidden,
            _ => Sort::Shown,
        }
    }
}

/// The characters that are not just shown as themselves, in their order.
static UNICODE: LazyLock<Vec<(RangeInclusive<char>, Sort)>> = LazyLock::new(|| {
    let mut ranges = Vec::new();
    for (class, sort) in [
        (r"[\p{M}--\p{Default_Ignorable_Code_Point}]", Sort::Mark),
        // `C` is what controls or formats, and what has no meaning or a private one; `Z` is all blanks, of which
        // only that of ASCII is told from others by its looks.
        (
            r"[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]",
            Sort::Hidden,
        ),
    ] {
        let parsed = regex_syntax::parse(class).expect("classes of Unicode");
        if let HirKind::Class(Class::Unicode(class)) = parsed.kind() {
            let class = class.iter().map(|range| range.start()..=range.end());
            ranges.extend(class.map(|range| (range, sort)));
        }
    }
    ranges.sort_by_key(|(range, _)| *range.start());
    ranges
});

#[cfg(test)]
pub(super) mod tests;
