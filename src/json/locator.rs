//! Finding where in a document a value stands.

use std::borrow::Cow;

use crate::value::{JsonString, pointer_index, pointer_tokens};

use super::reader::Reader;
use super::{Position, read};

/// Where in a JSON document the value at a pointer (RFC 6901) starts. Of
/// equal keys the last one counts, as when reading. `None` if there is no
/// such value, or if the text is not JSON.
///
/// ```
/// use unjinja::json::locate;
///
/// let text = "{\n  \"a\": [1, 22]\n}";
/// let place = locate(text, "/a/1").unwrap();
/// assert_eq!((place.line, place.column), (2, 12));
/// assert!(text[place.offset..].starts_with("22"));
/// ```
pub fn locate(text: &str, pointer: &str) -> Option<Position> {
    let place = Locator::find(text, pointer)?;
    Some(Position::new(text.as_bytes(), place.value))
}

/// Where a value stands, or, if it is not there, what it would stand in.
pub(crate) fn locate_nearest(text: &str, pointer: &str) -> Option<Position> {
    let found = locate(text, pointer);
    found.or_else(|| locate_nearest(text, &pointer[..pointer.rfind('/')?]))
}

/// Where in a JSON document the key stands that the last step of a pointer
/// names: its opening quote. `None` also if that step is none into an object.
///
/// ```
/// use unjinja::json::locate_key;
///
/// let place = locate_key(r#"{"a": {"b": 1}}"#, "/a/b").unwrap();
/// assert_eq!(place.column, 8);
/// ```
pub fn locate_key(text: &str, pointer: &str) -> Option<Position> {
    let place = Locator::find(text, pointer)?;
    Some(Position::new(text.as_bytes(), place.key?))
}

/// Goes through a document once, noting where the values on the way to a
/// pointer stand.
struct Locator<'a> {
    steps: Vec<Cow<'a, str>>,
    /// The places of the document, of the value of the first step, and so on,
    /// as far as they were found.
    found: Vec<Place>,
    levels: Vec<Level>,
}

#[derive(Clone, Copy)]
struct Place {
    key: Option<usize>,
    value: usize,
}

/// An array or object that is open.
struct Level {
    /// Whether the pointer goes through it.
    on_path: bool,
    /// Whether the next string is a key; never so in arrays.
    wants_key: bool,
    is_object: bool,
    /// The number of items before this one, in an array.
    index: usize,
    /// Where the last key stands, if it is the one the pointer names.
    key: Option<usize>,
}

impl<'a> Locator<'a> {
    fn find(text: &str, pointer: &'a str) -> Option<Place> {
        // Reading it first lets the rest of this trust what it sees.
        read(text).ok()?;
        let mut locator = Self {
            steps: pointer_tokens(pointer)?.collect(),
            found: Vec::new(),
            levels: Vec::new(),
        };
        locator.walk(Reader::new(text.as_bytes(), Some(text)))?;
        locator.found.get(locator.steps.len()).copied()
    }

    fn walk(&mut self, mut reader: Reader<'_>) -> Option<()> {
        while let Some(&byte) = reader.bytes.get(reader.at) {
            let at = reader.at;
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b':' => reader.at += 1,
                b',' => {
                    reader.at += 1;
                    self.next_item()?;
                }
                b'[' | b'{' => {
                    reader.at += 1;
                    self.open(at, byte == b'{');
                }
                b']' | b'}' => {
                    reader.at += 1;
                    self.levels.pop();
                }
                b'"' => {
                    let text = reader.string().ok()?;
                    self.string(at, &text);
                }
                _ => {
                    self.value(at);
                    reader.at = scalar_end(reader.bytes, at);
                }
            }
        }
        Some(())
    }

    fn next_item(&mut self) -> Option<()> {
        let level = self.levels.last_mut()?;
        level.index += 1;
        level.wants_key = level.is_object;
        Some(())
    }

    fn open(&mut self, at: usize, is_object: bool) {
        let on_path = self.value(at);
        self.levels.push(Level {
            on_path,
            wants_key: is_object,
            is_object,
            index: 0,
            key: None,
        });
    }

    fn string(&mut self, at: usize, text: &JsonString) {
        let depth = self.levels.len();
        match self.levels.last_mut() {
            Some(level) if level.wants_key => {
                level.wants_key = false;
                // One step leads into each level.
                let step = self.steps.get(depth - 1);
                let named = step.is_some_and(|step| *text == **step);
                level.key = named.then_some(at);
            }
            _ => {
                self.value(at);
            }
        }
    }

    /// Notes a value, if it is on the way; says whether it is.
    fn value(&mut self, at: usize) -> bool {
        let depth = self.levels.len();
        let Some(key) = self.step_taken() else {
            return false;
        };
        // What was found under an earlier key of the same name is gone.
        self.found.truncate(depth);
        self.found.push(Place { key, value: at });
        true
    }

    /// Nothing if the value that comes now is not the one the pointer steps
    /// to; otherwise its key, if it has one.
    fn step_taken(&self) -> Option<Option<usize>> {
        let Some(level) = self.levels.last() else {
            return Some(None);
        };
        if !level.on_path {
            return None;
        }
        if level.is_object {
            return level.key.map(Some);
        }
        let step = self.steps.get(self.levels.len() - 1)?;
        (pointer_index(step) == Some(level.index)).then_some(None)
    }
}

/// Where a number or word ends.
fn scalar_end(bytes: &[u8], from: usize) -> usize {
    let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
    let length = bytes[from..].iter().position(ends);
    length.map_or(bytes.len(), |length| from + length)
}
