//! Reading JSON with the places of its values.

use std::collections::HashSet;

use crate::json::{self, ErrorKind, Reader};

use super::{Content, Entry, MAX_NODES, Node, ReadError, too_many};

pub(super) fn read(text: &str) -> Result<Node, ReadError> {
    // Reading it first lets the rest of this trust what it sees.
    json::read(text).map_err(not_json)?;
    let reader = Reader::new(text.as_bytes(), Some(text));
    let mut walker = Walker {
        text,
        reader,
        nodes: 0,
    };
    walker.node()
}

fn not_json(error: json::Error) -> ReadError {
    ReadError {
        position: (error.line(), error.column()),
        message: format!("this is not JSON: {}", error.kind()),
        remedy: remedy(error.kind()),
    }
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
    reader: Reader<'t>,
    /// How many values there were.
    nodes: usize,
}

impl Walker<'_> {
    /// Reads a value. Calls itself for each level of nesting, of which there are not many.
    fn node(&mut self) -> Result<Node, ReadError> {
        self.reader.skip_space();
        let start = self.reader.at;
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(too_many(json::line_column(self.text, start)));
        }
        let content = if self.reader.take(b'{') {
            self.map()?
        } else if self.reader.take(b'[') {
            self.list()?
        } else {
            Content::Scalar(self.reader.value().map_err(not_json)?)
        };
        Ok(Node::new(start..self.reader.at, content))
    }

    fn map(&mut self) -> Result<Content, ReadError> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut keys = HashSet::new();
        while self.goes_on(b'}') {
            let start = self.reader.at;
            let key = self.reader.string().map_err(not_json)?.into_string_lossy();
            let key_span = start..self.reader.at;
            if !keys.insert(key.clone()) {
                return Err(ReadError {
                    position: json::line_column(self.text, start),
                    message: format!("the key `{key}` stands here twice"),
                    remedy: None,
                });
            }
            self.reader.skip_space();
            self.reader.take(b':');
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
        while self.goes_on(b']') {
            nodes.push(self.node()?);
        }
        Ok(Content::List(nodes))
    }

    /// Whether there is another item before the end, which is passed.
    fn goes_on(&mut self, end: u8) -> bool {
        self.reader.skip_space();
        self.reader.take(b',');
        self.reader.skip_space();
        !self.reader.take(end)
    }
}
