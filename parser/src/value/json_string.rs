//! Strings as JSON has them, which may hold half a character.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

use indexmap::Equivalent;

/// A string as JSON has it, which may hold lone surrogates.
///
/// The JSON escape `"\ud800"` names half a character. Python keeps it, but a
/// Rust `String` cannot, so such strings are held as WTF-8: UTF-8 that allows
/// surrogates too. All others are plain strings.
///
/// ```
/// use unjinja::{json, JsonString};
///
/// let whole = JsonString::from("ü");
/// assert_eq!(whole, "ü");
/// assert_eq!(whole.as_str(), Some("ü"));
///
/// let value = json::read(r#""half: \ud800""#).unwrap();
/// let half = value.as_json_string().unwrap();
/// assert_eq!(half.as_str(), None);
/// assert_eq!(half.to_string_lossy(), "half: \u{fffd}");
/// ```
#[derive(Clone)]
pub struct JsonString(Repr);

/// `Wtf8` never holds bytes that are valid UTF-8, so that equal strings have
/// one form only.
#[derive(Clone)]
enum Repr {
    Utf8(String),
    Wtf8(Vec<u8>),
}

impl JsonString {
    /// An empty string.
    pub const fn new() -> Self {
        Self(Repr::Utf8(String::new()))
    }

    /// The string of these bytes, which are UTF-8 that may hold surrogates.
    pub(crate) fn from_wtf8(bytes: Vec<u8>) -> Self {
        Self(match String::from_utf8(bytes) {
            Ok(text) => Repr::Utf8(text),
            Err(error) => Repr::Wtf8(error.into_bytes()),
        })
    }

    /// The Rust string, unless there are lone surrogates in it.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Utf8(text) => Some(text),
            Repr::Wtf8(_) => None,
        }
    }

    /// The Rust string, each lone surrogate replaced by U+FFFD.
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Utf8(text) => Cow::Borrowed(text),
            Repr::Wtf8(bytes) => Cow::Owned(lossy(bytes.clone())),
        }
    }

    /// The owned Rust string, each lone surrogate replaced by U+FFFD. Does not
    /// copy if there are none.
    pub fn into_string_lossy(self) -> String {
        match self.0 {
            Repr::Utf8(text) => text,
            Repr::Wtf8(bytes) => lossy(bytes),
        }
    }

    /// The bytes: UTF-8, in which surrogates may stand as three bytes each.
    pub fn as_wtf8(&self) -> &[u8] {
        match &self.0 {
            Repr::Utf8(text) => text.as_bytes(),
            Repr::Wtf8(bytes) => bytes,
        }
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.as_wtf8().len()
    }

    /// Whether the string is empty.
    pub fn is_empty(&self) -> bool {
        self.as_wtf8().is_empty()
    }

    /// Appends another string.
    pub fn push(&mut self, other: &JsonString) {
        match (&mut self.0, &other.0) {
            (Repr::Utf8(text), Repr::Utf8(other)) => text.push_str(other),
            _ => {
                let mut bytes = std::mem::take(self).into_wtf8();
                bytes.extend_from_slice(other.as_wtf8());
                *self = Self::from_wtf8(bytes);
            }
        }
    }

    fn into_wtf8(self) -> Vec<u8> {
        match self.0 {
            Repr::Utf8(text) => text.into_bytes(),
            Repr::Wtf8(bytes) => bytes,
        }
    }

    /// The Rust strings that this consists of, and the surrogates between them.
    pub(crate) fn pieces(&self) -> Pieces<'_> {
        Pieces(self.as_wtf8().utf8_chunks())
    }
}

/// What [`JsonString::pieces`] gives: a string each time, and the surrogate that
/// follows it, if one does.
pub(crate) struct Pieces<'a>(std::str::Utf8Chunks<'a>);

impl<'a> Iterator for Pieces<'a> {
    type Item = (&'a str, Option<u16>);

    fn next(&mut self) -> Option<Self::Item> {
        let chunk = self.0.next()?;
        if chunk.invalid().is_empty() {
            return Some((chunk.valid(), None));
        }
        // The standard library hands out the three bytes of a surrogate one
        // by one, because none of them may follow the one before.
        let rest = [self.0.next(), self.0.next()];
        let second = rest[0].as_ref().and_then(|chunk| chunk.invalid().first());
        let third = rest[1].as_ref().and_then(|chunk| chunk.invalid().first());
        let surrogate = match (second, third) {
            (Some(second), Some(third)) => {
                0xD000 | (u16::from(second & 0x3F) << 6) | u16::from(third & 0x3F)
            }
            // Not WTF-8: nobody in this crate makes such a string.
            _ => 0xFFFD,
        };
        Some((chunk.valid(), Some(surrogate)))
    }
}

/// WTF-8 as a string. A surrogate and U+FFFD both have three bytes, so the
/// one is written over the other.
fn lossy(mut bytes: Vec<u8>) -> String {
    for at in 0..bytes.len().saturating_sub(2) {
        if bytes[at] == 0xED && bytes[at + 1] >= 0xA0 {
            bytes[at..at + 3].copy_from_slice("\u{fffd}".as_bytes());
        }
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

impl Default for JsonString {
    fn default() -> Self {
        Self::new()
    }
}

impl From<String> for JsonString {
    fn from(text: String) -> Self {
        Self(Repr::Utf8(text))
    }
}

impl From<&str> for JsonString {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<&String> for JsonString {
    fn from(text: &String) -> Self {
        Self::from(text.clone())
    }
}

impl From<Cow<'_, str>> for JsonString {
    fn from(text: Cow<'_, str>) -> Self {
        Self::from(text.into_owned())
    }
}

impl fmt::Display for JsonString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_string_lossy())
    }
}

impl fmt::Debug for JsonString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.as_str() {
            return fmt::Debug::fmt(text, f);
        }
        f.write_str("\"")?;
        for (text, surrogate) in self.pieces() {
            write!(f, "{}", text.escape_debug())?;
            if let Some(surrogate) = surrogate {
                write!(f, "\\u{{{surrogate:x}}}")?;
            }
        }
        f.write_str("\"")
    }
}

impl PartialEq for JsonString {
    fn eq(&self, other: &Self) -> bool {
        self.as_wtf8() == other.as_wtf8()
    }
}

impl Eq for JsonString {}

impl PartialOrd for JsonString {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of the code points, which is the order of the bytes too.
impl Ord for JsonString {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_wtf8().cmp(other.as_wtf8())
    }
}

/// Hashes as `str` does, so that objects can be searched by `&str`.
impl Hash for JsonString {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Repr::Utf8(text) => text.hash(state),
            Repr::Wtf8(bytes) => bytes.hash(state),
        }
    }
}

impl PartialEq<str> for JsonString {
    fn eq(&self, other: &str) -> bool {
        self.as_wtf8() == other.as_bytes()
    }
}

impl PartialEq<&str> for JsonString {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

impl PartialEq<JsonString> for str {
    fn eq(&self, other: &JsonString) -> bool {
        other == self
    }
}

impl PartialEq<JsonString> for &str {
    fn eq(&self, other: &JsonString) -> bool {
        other == *self
    }
}

/// A `str` finds the same key in an [`Object`](super::Object).
impl Equivalent<JsonString> for str {
    fn equivalent(&self, key: &JsonString) -> bool {
        key == self
    }
}
