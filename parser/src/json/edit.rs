//! Changing one member of an object's text, and nothing else.

#[cfg(test)]
mod tests;

use std::ops::Range;

use thiserror::Error;

use crate::tree::{Content, Entry};
use crate::value::Value;

use super::tree::{TreeLimits, read_tree};
use super::{
    Error, ErrorKind, MAX_DEPTH, Position, Style, read, split_byte_order_mark, write, write_into,
    write_str, write_styled,
};

/// What starts a new line: `\r\n` is both of them.
const LINE_BREAKS: [char; 2] = ['\n', '\r'];

/// Sets a key of the object that a JSON document is, and leaves all the rest
/// of the text as it is.
///
/// A key that is there keeps its place; of equal keys the last one counts, as
/// when reading. A new key comes last. What is written follows the style of
/// the document: its indent, line breaks and separators, and whether
/// characters outside of ASCII are escaped. Where a document has its object on
/// one line, the value stands on that line, too. The text may begin with a
/// byte order mark, which it keeps.
///
/// ```
/// use unjinja::json;
///
/// let text = "{\r\n\t\"model\" : \"m\",\r\n\t\"size\" : 1e3\r\n}\r\n";
/// let value = json::read(r#"{"fields": {}}"#)?;
/// assert_eq!(
///     json::set_key(text, "template", &value)?,
///     "{\r\n\t\"model\" : \"m\",\r\n\t\"size\" : 1e3,\r\n\
///      \t\"template\" : {\r\n\t\t\"fields\" : {}\r\n\t}\r\n}\r\n",
/// );
///
/// let text = r#"{"b": 1.50, "a": [1,2]}"#;
/// assert_eq!(json::set_key(text, "b", &value)?, r#"{"b": {"fields": {}}, "a": [1,2]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Like [`write_into`], this should not be given values that are nested much
/// deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
///
/// # Errors
///
/// If the text is not JSON or no object, or could not be read any more with
/// the value in it.
pub fn set_key(text: &str, key: &str, value: &Value) -> Result<String, EditError> {
    let document = Document::read(text)?;
    let named = |member: &&Entry| member.key == *key;
    let edited = match document.members.iter().rfind(named) {
        Some(member) => document.with_value(member, value),
        None => document.with_member(key, value),
    };
    read(&edited).map_err(|error| EditError::Unreadable(error.kind()))?;
    Ok(format!("{}{edited}", document.mark))
}

/// The value of a key of the object that a JSON document is, if the key is
/// there. Takes the same texts as [`set_key`].
///
/// ```
/// use unjinja::json::{self, EditError};
///
/// assert_eq!(json::get_key(r#"{"a": 1}"#, "a"), Ok(Some(1.into())));
/// assert_eq!(json::get_key(r#"{"a": 1}"#, "b"), Ok(None));
///
/// let error = json::get_key("\n[]", "a").unwrap_err();
/// assert_eq!(error.to_string(), "expected an object, found an array at line 2, column 1");
/// ```
///
/// # Errors
///
/// If the text is not JSON or no object.
pub fn get_key(text: &str, key: &str) -> Result<Option<Value>, EditError> {
    let (mark, text) = split_byte_order_mark(text);
    match read(text).map_err(|error| not_json(mark, error))? {
        Value::Object(mut object) => Ok(object.get_mut(key).map(std::mem::take)),
        other => Err(not_an_object(mark, text, &other)),
    }
}

/// Why a key of a document can't be set.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EditError {
    /// The text is not JSON.
    #[error("this is not JSON: {0}")]
    NotJson(Error),
    /// It is, but no object.
    #[error("expected an object, found {found} at {position}")]
    NotAnObject {
        /// What the text is instead: `an array`.
        found: &'static str,
        /// Where that starts.
        position: Position,
    },
    /// The value would make a text that can't be read: it is nested too
    /// deep, or holds too long an integer.
    #[error("the new value can't be read back: {0}")]
    Unreadable(ErrorKind),
}

impl EditError {
    /// Where in the text the fault is, if it is in the text. A byte order
    /// mark counts for the offset, but not for the column.
    pub fn position(&self) -> Option<Position> {
        match self {
            Self::NotJson(error) => Some(error.position()),
            Self::NotAnObject { position, .. } => Some(*position),
            Self::Unreadable(_) => None,
        }
    }
}

/// A text of which it is known where the members of its object stand.
struct Document<'a> {
    mark: &'a str,
    /// What follows the mark.
    text: &'a str,
    /// Whether characters outside of ASCII are escaped: there are some, and
    /// none of them stands there as it is.
    is_ascii: bool,
    members: Vec<Entry>,
    /// Where the text inside of the braces stands.
    inside: Range<usize>,
}

impl<'a> Document<'a> {
    fn read(text: &'a str) -> Result<Self, EditError> {
        let (mark, text) = split_byte_order_mark(text);
        let limits = TreeLimits {
            depth: MAX_DEPTH,
            nodes: usize::MAX,
        };
        let (root, _) = read_tree(text, limits).map_err(|error| not_json(mark, error))?;
        let is_ascii = text.is_ascii() && !write(&root.to_value()).is_ascii();
        let map = match root.content {
            Content::Map(map) => map,
            _ => return Err(not_an_object(mark, text, &root.to_value())),
        };
        Ok(Self {
            mark,
            text,
            is_ascii,
            members: map.into_entries(),
            inside: root.span.start + 1..root.span.end - 1,
        })
    }

    fn with_value(&self, member: &Entry, value: &Value) -> String {
        let mut out = self.text[..member.value.span.start].to_owned();
        self.push_value(&mut out, value);
        out.push_str(&self.text[member.value.span.end..]);
        out
    }

    fn with_member(&self, key: &str, value: &Value) -> String {
        let Some(last) = self.members.last() else {
            return self.with_only_member(key, value);
        };
        let mut out = self.text[..last.value.span.end].to_owned();
        out.push_str(&self.item_separator());
        self.push_member(&mut out, key, value);
        out.push_str(&self.text[last.value.span.end..]);
        out
    }

    fn with_only_member(&self, key: &str, value: &Value) -> String {
        let (before, after) = match self.line_break() {
            Some(line_break) => {
                let outer = format!("{line_break}{}", self.outer_indent());
                (format!("{outer}{}", self.indent()), outer)
            }
            None => {
                let space = self.text[self.inside.clone()].to_owned();
                (space.clone(), space)
            }
        };
        let mut out = format!("{}{before}", &self.text[..self.inside.start]);
        self.push_member(&mut out, key, value);
        out.push_str(&after);
        out.push_str(&self.text[self.inside.end..]);
        out
    }

    fn push_member(&self, out: &mut String, key: &str, value: &Value) {
        write_str(out, key, self.is_ascii);
        out.push_str(self.key_separator());
        self.push_value(out, value);
    }

    /// Appends a value to the text that stands before it.
    fn push_value(&self, out: &mut String, value: &Value) {
        let mut style = Style {
            indent: None,
            item_separator: self.item_separator().into(),
            key_separator: self.key_separator().to_owned().into(),
            ensure_ascii: self.is_ascii,
            sort_keys: false,
        };
        let Some(line_break) = self.line_break() else {
            return write_into(out, value, &style);
        };
        style.indent = Some(1);
        style.item_separator = ",".into();
        let new_line = format!("{line_break}{}", last_indent(out));
        // Strings have no line breaks in JSON, and no line of a value begins
        // with a space but those of its indent.
        for (index, line) in write_styled(value, &style).split('\n').enumerate() {
            let line_start = if index > 0 { new_line.as_str() } else { "" };
            let content = line.trim_start_matches(' ');
            let depth = line.len() - content.len();
            out.extend([line_start, &self.indent().repeat(depth), content]);
        }
    }

    /// The first line break inside of the object, if it has any.
    fn line_break(&self) -> Option<&'a str> {
        let inside = &self.text[self.inside.clone()];
        let rest = &inside[inside.find(LINE_BREAKS)?..];
        let length = if rest.starts_with("\r\n") { 2 } else { 1 };
        Some(&rest[..length])
    }

    /// What each level is indented by.
    fn indent(&self) -> &'a str {
        let lines = self.text[self.inside.clone()].split(LINE_BREAKS).skip(1);
        let mut indents = lines.map(|line| line.split_at(line.len() - line.trim_start().len()));
        match indents.find(|(_, content)| !content.is_empty()) {
            Some((indent, _)) => indent.strip_prefix(self.outer_indent()).unwrap_or_default(),
            None => "  ",
        }
    }

    /// The indent of the line on which the object begins.
    fn outer_indent(&self) -> &'a str {
        last_indent(&self.text[..self.inside.start])
    }

    /// What stands between the last two members, or would.
    fn item_separator(&self) -> String {
        match self.members.as_slice() {
            [.., before, last] => self.comma(before.value.span.end..last.key_span.start),
            [only] if self.text[self.inside.start..only.key_span.start].contains(LINE_BREAKS) => {
                self.comma(self.inside.start..only.key_span.start)
            }
            _ if self.key_separator().ends_with(':') => ",".to_owned(),
            _ => ", ".to_owned(),
        }
    }

    /// What stands here, with a comma but without blank lines, which are no
    /// matter of style.
    fn comma(&self, here: Range<usize>) -> String {
        let here = &self.text[here];
        let (before, after) = here.split_once(',').unwrap_or(("", here));
        match (after.rfind(LINE_BREAKS), self.line_break()) {
            (Some(at), Some(line_break)) => format!("{before},{line_break}{}", &after[at + 1..]),
            _ => format!("{before},{after}"),
        }
    }

    /// What stands between keys and values. The shortest counts, because the
    /// others may be there to put values below each other.
    fn key_separator(&self) -> &'a str {
        let separators = self.members.iter().map(|member| {
            let between = member.key_span.end..member.value.span.start;
            &self.text[between]
        });
        let on_one_line = separators.filter(|separator| !separator.contains(LINE_BREAKS));
        on_one_line
            .min_by_key(|separator| separator.len())
            .unwrap_or(": ")
    }
}

/// What is wrong with the text behind the mark.
fn not_json(mark: &str, mut error: Error) -> EditError {
    error.position.offset += mark.len();
    EditError::NotJson(error)
}

/// The text behind the mark is something else.
fn not_an_object(mark: &str, text: &str, value: &Value) -> EditError {
    let space = text.len() - text.trim_start().len();
    let mut position = Position::at(text, space);
    position.offset += mark.len();
    EditError::NotAnObject {
        found: value.type_name(),
        position,
    }
}

/// The indent of the last line of this text.
fn last_indent(text: &str) -> &str {
    let start = text.rfind(LINE_BREAKS).map_or(0, |at| at + 1);
    let line = &text[start..];
    let content = line.trim_start_matches([' ', '\t']);
    &line[..line.len() - content.len()]
}
