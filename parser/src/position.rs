//! Places in texts: offset, line and column.

use std::fmt;

use crate::value::{Object, Value};

/// A place in a text.
///
/// ```
/// use unjinja::Position;
///
/// let position = Position::at("ä\nöx", 5);
/// assert_eq!((position.line, position.column), (2, 2));
/// assert_eq!(position.to_string(), "line 2, column 2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// In bytes from the start.
    pub offset: usize,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

impl Position {
    /// Where a text starts.
    pub const START: Position = Position {
        offset: 0,
        line: 1,
        column: 1,
    };

    /// The position of a byte offset in a text. An offset past the end means the end; one within a
    /// character means that character.
    pub fn at(text: &str, offset: usize) -> Position {
        let offset = text.floor_char_boundary(offset);
        Position::START.after(&text.as_bytes()[..offset])
    }

    /// Line and column, both counted from 1.
    pub fn line_column(self) -> (usize, usize) {
        (self.line, self.column)
    }

    /// For programs: an object of `offset`, `line` and `column`.
    pub fn to_value(&self) -> Value {
        let all = [
            ("offset", self.offset),
            ("line", self.line),
            ("column", self.column),
        ];
        Object::from_iter(all).into()
    }

    /// The position behind some bytes that start here.
    #[doc(hidden)]
    pub fn after(self, bytes: &[u8]) -> Position {
        let newlines = bytes.iter().filter(|&&byte| byte == b'\n').count();
        let (column, last_line) = match memchr::memrchr(b'\n', bytes) {
            Some(newline) => (1, &bytes[newline + 1..]),
            None => (self.column, bytes),
        };
        // The first byte of a character counts for all of it.
        let characters = last_line.iter().filter(|&&byte| byte & 0xC0 != 0x80);
        Position {
            offset: self.offset + bytes.len(),
            line: self.line + newlines,
            column: column + characters.count(),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// At every so many bytes, the position is noted.
const STEP: usize = 256;

/// Knows the positions in a text without counting from its start: for texts of which many are
/// asked for.
#[derive(Debug)]
#[doc(hidden)]
pub struct LineIndex {
    /// The position at each step.
    steps: Vec<Position>,
}

impl LineIndex {
    #[doc(hidden)]
    pub fn new(text: &str) -> LineIndex {
        let mut position = Position::START;
        let mut steps = Vec::with_capacity(text.len() / STEP + 1);
        for step in text.as_bytes().chunks(STEP) {
            steps.push(position);
            position = position.after(step);
        }
        // At the end, there is a position as well.
        steps.push(position);
        LineIndex { steps }
    }

    /// The same as [`Position::at`], of the text that the index was made of.
    #[doc(hidden)]
    pub fn position(&self, text: &str, offset: usize) -> Position {
        let offset = text.floor_char_boundary(offset);
        let step = offset / STEP;
        self.steps[step].after(&text.as_bytes()[step * STEP..offset])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns() {
        let text = "aé\n\nü😀x";
        for (offset, expected) in [
            (0, (1, 1)),
            (1, (1, 2)),
            (2, (1, 2)),
            (3, (1, 3)),
            (4, (2, 1)),
            (5, (3, 1)),
            (7, (3, 2)),
            (9, (3, 2)),
            (11, (3, 3)),
            (12, (3, 4)),
            (99, (3, 4)),
        ] {
            let position = Position::at(text, offset);
            assert_eq!(position.line_column(), expected, "{offset}");
        }
    }

    #[test]
    fn an_index_finds_what_counting_finds() {
        let long = "long é line, 水, and more of it; ".repeat(40);
        for text in [
            "",
            "\n",
            "a\nb",
            &"é".repeat(300),
            &long,
            &"水\n\n".repeat(150),
            &"x".repeat(512),
        ] {
            let index = LineIndex::new(text);
            for offset in 0..text.len() + 2 {
                let counted = Position::at(text, offset);
                assert_eq!(index.position(text, offset), counted, "{text:?} {offset}");
            }
        }
    }
}
