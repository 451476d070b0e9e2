//! Reading JSON with the places of its values.

use crate::json::{self, ErrorKind};
use crate::value::Value;

use super::{Content, Entry, MAX_NODES, Node, ReadError, too_many};

pub(super) fn read(text: &str) -> Result<Node, ReadError> {
    // Reading it first lets the rest of this trust what it sees.
    json::read(text).map_err(|error| ReadError {
        position: (error.line(), error.column()),
        message: format!("this is not JSON: {}", error.kind()),
        remedy: remedy(error.kind()),
    })?;
    let mut walker = Walker {
        text,
        at: 0,
        nodes: 0,
    };
    walker.node()
}

/// What helps against the faults that people make most.
fn remedy(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::InvalidEscape => Some("double the backslash, as in \"\\\\s*\""),
        ErrorKind::ExpectedKey => {
            Some("put keys into double quotes, and no comma before the closing brace")
        }
        ErrorKind::ExpectedValue => Some(
            "put texts into double quotes; JSON has no comments, and no comma before a bracket",
        ),
        ErrorKind::ControlCharacter => Some("write line ends as `\\n` and tabs as `\\t`"),
        _ => None,
    }
}

/// Goes through a text that is known to be JSON.
struct Walker<'t> {
    text: &'t str,
    at: usize,
    /// How many values there were.
    nodes: usize,
}

impl Walker<'_> {
    /// Reads a value. Calls itself for each level of nesting, of which there are not many.
    fn node(&mut self) -> Result<Node, ReadError> {
        self.skip_space();
        let start = self.at;
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(too_many(json::line_column(self.text, start)));
        }
        let content = match self.byte() {
            Some(b'{') => self.map()?,
            Some(b'[') => self.list()?,
            _ => {
                self.skip_scalar();
                Content::Scalar(json::read(&self.text[start..self.at]).unwrap_or_default())
            }
        };
        Ok(Node::new(start..self.at, content))
    }

    fn map(&mut self) -> Result<Content, ReadError> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut keys = std::collections::HashSet::new();
        self.at += 1;
        while self.goes_on(b'}') {
            let start = self.at;
            self.skip_scalar();
            let key_span = start..self.at;
            let key = json::read(&self.text[key_span.clone()]).unwrap_or_default();
            let key = match key {
                Value::String(text) => text.into_string_lossy(),
                _ => String::new(),
            };
            if !keys.insert(key.clone()) {
                return Err(ReadError {
                    position: json::line_column(self.text, start),
                    message: format!("the key `{key}` stands here twice"),
                    remedy: None,
                });
            }
            self.skip_space();
            self.at += 1; // the colon
            let value = self.node()?;
            entries.push(Entry {
                key,
                key_span,
                value,
            });
        }
        Ok(Content::Map(entries))
    }

    fn list(&mut self) -> Result<Content, ReadError> {
        let mut nodes = Vec::new();
        self.at += 1;
        while self.goes_on(b']') {
            nodes.push(self.node()?);
        }
        Ok(Content::List(nodes))
    }

    /// Whether there is another item before the end, which is passed.
    fn goes_on(&mut self, end: u8) -> bool {
        self.skip_space();
        if self.byte() == Some(b',') {
            self.at += 1;
            self.skip_space();
        }
        let ends = self.byte().is_none_or(|byte| byte == end);
        self.at += usize::from(ends);
        !ends
    }

    fn skip_space(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn skip_scalar(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        let length = match rest.first() {
            Some(b'"') => string_length(rest),
            _ => rest
                .iter()
                .position(|byte| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r')),
        };
        self.at += length.unwrap_or(rest.len());
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// How long a string is, with its quotes.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut escaped = false;
    let end = bytes.iter().skip(1).position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map(|end| end + 2)
}
