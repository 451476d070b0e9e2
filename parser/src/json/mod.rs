//! Reading and writing JSON exactly as Python's `json` module does.
//!
//! ```
//! use unjinja::json::{self, Style};
//!
//! let value = json::read(r#"{"city": "Zürich", "size": 1e16, "more": []}"#).unwrap();
//! assert_eq!(json::write(&value), r#"{"city":"Zürich","size":1e+16,"more":[]}"#);
//! assert_eq!(
//!     json::write_styled(&value, &Style::PYTHON),
//!     r#"{"city": "Z\u00fcrich", "size": 1e+16, "more": []}"#,
//! );
//!
//! let error = json::read("{\n  \"a\" 1\n}").unwrap_err();
//! assert_eq!(error.to_string(), "expected `:` at line 2, column 7");
//! ```
//!
//! Outputs are read as Python reads them, or else a message would differ from the reference's in its details:
//!
//! - a string may hold half of a surrogate pair, which a Rust `String` can't;
//! - a whole number may be larger than any machine word, and `1` and `1.0` are different;
//! - `NaN` and the infinities are numbers;
//! - objects keep the order of their keys, and of equal keys the last one wins;
//! - nesting is limited, as is the length of whole numbers, at Python's own limits.
//!
//! [`locate`] finds the line and column of a JSON pointer in a document, from which diagnostics get their places.
//! [`set_key`] sets one key of a document in place: files that people keep, such as a
//! `tokenizer_config.json`, should differ in that key and nothing else, so the text is not read and written anew
//! but cut open where the value stands. What is put in follows the style of what is there.

// One scanner knows the grammar. `reader` makes values of what it finds, `tree` a tree in which each key and value knows its
// place. Diagnostics, fixtures and `edit` go by that tree, so a document is read once however many faults it has.
mod edit;
mod reader;
mod scanner;
mod special;
#[cfg(test)]
mod tests;
mod tree;
mod writer;

use std::fmt;

use crate::value::Value;

use reader::{DocumentReader, Values};

/// The iterators of an [`Object`](crate::Object).
pub mod object {
    pub use crate::value::object::{IntoIter, Iter, IterMut, Keys, Values};
}

pub use crate::position::Position;
pub use edit::{EditError, get_key, set_key};
pub use tree::{locate, locate_key};
#[doc(hidden)]
pub use writer::push_escaped;
pub use writer::{Style, write, write_into, write_json_string, write_str, write_styled};

#[doc(hidden)]
pub use tree::Places;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub use tree::{TreeLimits, read_tree};
#[cfg(feature = "internals")]
#[doc(hidden)]
pub use writer::Writer;
#[doc(hidden)]
pub use writer::write_number;

/// Arrays and objects may be nested this deep. Python's limit is its
/// recursion limit, which leaves 995 levels to a document by default.
pub const MAX_DEPTH: usize = 995;

/// Reads a JSON document.
///
/// Accepts what Python's `json.loads` accepts, which is JSON with a few
/// additions: `NaN`, `Infinity` and `-Infinity` are numbers, and strings may
/// name lone surrogates. Of equal keys the last one wins.
///
/// ```
/// use unjinja::json::{self, ErrorKind};
///
/// let value = json::read(r#"[1, {"a": "\u00e9"}]"#).unwrap();
/// assert_eq!(value.pointer("/1/a").and_then(|a| a.as_str()), Some("é"));
///
/// assert_eq!(json::read("[1, 2").unwrap_err().kind(), ErrorKind::ExpectedCommaOrBracket);
/// ```
///
/// # Errors
///
/// If the text is not JSON, nested deeper than [`MAX_DEPTH`], or holds an
/// integer of more than 4300 digits.
pub fn read(text: &str) -> Result<Value, Error> {
    let (value, Values) = DocumentReader::new(text.as_bytes(), Some(text), Values).document()?;
    Ok(value)
}

/// Reads a JSON document that may hold lone surrogates between its quotes.
pub(crate) fn read_wtf8(bytes: &[u8]) -> Result<Value, Error> {
    let (value, Values) = DocumentReader::new(bytes, None, Values).document()?;
    Ok(value)
}

/// Why a text is not JSON that we can read, and where.
///
/// ```
/// let error = unjinja::json::read("[1,\n 2 3]").unwrap_err();
/// assert_eq!((error.offset(), error.line(), error.column()), (7, 2, 4));
/// assert_eq!(error.to_string(), "expected `,` or `]` at line 2, column 4");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    position: Position,
    at_end: bool,
}

impl Error {
    /// What is wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Where, in bytes from the start of the text.
    pub fn offset(&self) -> usize {
        self.position.offset
    }

    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        self.position.line
    }

    /// The column in characters, counted from 1.
    pub fn column(&self) -> usize {
        self.position.column
    }

    /// Offset, line and column together.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether the text ended too early: more text could have made it right.
    pub fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Whether the text is not JSON at all, as opposed to JSON that is too
    /// deep or has too long an integer. Python raises a `JSONDecodeError`
    /// for the former only.
    pub fn is_syntax(&self) -> bool {
        !matches!(self.kind, ErrorKind::IntegerTooLong | ErrorKind::TooDeep)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.kind, self.position)?;
        // A string that does not end says so itself.
        if self.at_end && self.kind != ErrorKind::UnterminatedString {
            f.write_str(", but the text ends there")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// What can be wrong with a JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no value where one has to stand.
    ExpectedValue,
    /// There is no key in quotes where one has to stand.
    ExpectedKey,
    /// No colon follows a key.
    ExpectedColon,
    /// Neither comma nor `]` follows an item of an array.
    ExpectedCommaOrBracket,
    /// Neither comma nor `}` follows a member of an object.
    ExpectedCommaOrBrace,
    /// The text ends within a string. The position is that of its opening
    /// quote.
    UnterminatedString,
    /// A string holds a control character, such as a line break, that has to
    /// be escaped.
    ControlCharacter,
    /// A backslash is followed by something that is no escape.
    InvalidEscape,
    /// `\u` is not followed by four hexadecimal digits.
    InvalidUnicodeEscape,
    /// More text follows the value.
    TrailingData,
    /// The text starts with a byte order mark.
    ByteOrderMark,
    /// An integer has more than 4300 digits. Python raises a plain
    /// `ValueError` for this, no `JSONDecodeError`.
    IntegerTooLong,
    /// Nested deeper than [`MAX_DEPTH`]. Python raises a `RecursionError`.
    TooDeep,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ExpectedValue => "expected a value",
            Self::ExpectedKey => "expected a key in double quotes",
            Self::ExpectedColon => "expected `:`",
            Self::ExpectedCommaOrBracket => "expected `,` or `]`",
            Self::ExpectedCommaOrBrace => "expected `,` or `}`",
            Self::UnterminatedString => "a string that does not end",
            Self::ControlCharacter => "control character in a string",
            Self::InvalidEscape => "invalid escape in a string",
            Self::InvalidUnicodeEscape => "`\\u` without four hexadecimal digits",
            Self::TrailingData => "unexpected text after the value",
            Self::ByteOrderMark => "unexpected byte order mark",
            Self::IntegerTooLong => "integer with more than 4300 digits",
            Self::TooDeep => "too many nested arrays and objects",
        })
    }
}

/// A text without the byte order mark that some editors begin files with.
/// JSON has no place for it.
///
/// ```
/// use unjinja::json;
///
/// let text = "\u{feff}[1]";
/// assert!(json::read(text).is_err());
/// assert_eq!(json::without_byte_order_mark(text), "[1]");
/// ```
pub fn without_byte_order_mark(text: &str) -> &str {
    split_byte_order_mark(text).1
}

/// The byte order mark that a text begins with, or nothing, and the rest.
#[doc(hidden)]
pub fn split_byte_order_mark(text: &str) -> (&str, &str) {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.split_at(text.len() - rest.len())
}
