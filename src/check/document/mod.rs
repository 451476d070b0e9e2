//! Files of YAML or JSON, of which it is known where everything stands.
//!
//! People write fixtures, so what is wrong with one has to be told with its line, and what is
//! changed in one must leave the rest of it as it is.

mod edit;
mod json;
mod places;
#[cfg(test)]
mod tests;
mod write;
mod yaml;

use std::ops::Range;
use std::path::Path;

use crate::value::{Object, Value, pointer_index, pointer_tokens};

use places::Places;

pub(super) use edit::Change;
pub(super) use write::write_fixture;

/// A document, and its text.
#[derive(Debug)]
pub(super) struct Document {
    text: String,
    places: Places,
    language: Language,
    root: Node,
}

/// What a document is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Yaml,
    Json,
}

impl Language {
    /// What a file is written in, by its name.
    pub(super) fn of(path: &Path) -> Language {
        match path.extension().is_some_and(|ending| ending == "json") {
            true => Language::Json,
            false => Language::Yaml,
        }
    }
}

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Where it stands in the text.
    pub(super) span: Range<usize>,
    pub(super) content: Content,
    /// Whether it stands for one that is written elsewhere.
    is_alias: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Content {
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key of a map, and its value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_span: Range<usize>,
    pub(super) value: Node,
}

/// So many values may stand in a document: each takes far more memory than text.
const MAX_NODES: usize = 1_000_000;

/// Why a text is no document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadError {
    /// Line and column, both from 1.
    pub(super) position: (usize, usize),
    pub(super) message: String,
    /// What to do about it, where that is known.
    pub(super) remedy: Option<&'static str>,
}

fn too_many(position: (usize, usize)) -> ReadError {
    ReadError {
        position,
        message: format!("there are more than {MAX_NODES} values"),
        remedy: Some("divide the file into several"),
    }
}

impl Document {
    /// Reads a document. Some editors begin files with a mark, which is not part of it.
    pub(super) fn read(text: String, language: Language) -> Result<Document, ReadError> {
        let content = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mark = text.len() - content.len();
        let read = match language {
            Language::Yaml => yaml::read(content),
            Language::Json => json::read(content),
        };
        let mut root = read?;
        if mark > 0 {
            root.move_by(mark);
        }
        Ok(Document {
            places: Places::new(&text),
            text,
            language,
            root,
        })
    }

    pub(super) fn root(&self) -> &Node {
        &self.root
    }

    /// Line and column of an offset.
    pub(super) fn position(&self, offset: usize) -> (usize, usize) {
        let (line, column) = self.places.position(&self.text, offset);
        let has_mark = line == 1 && self.text.starts_with('\u{feff}');
        (line, column - usize::from(has_mark))
    }

    /// Where what a pointer names stands: its key, if it has one. Of what is not there, where the
    /// nearest value stands that would hold it.
    pub(super) fn position_of(&self, pointer: &str) -> (usize, usize) {
        let mut node = &self.root;
        let mut place = node.span.start;
        for step in pointer_tokens(pointer).into_iter().flatten() {
            let next = match &node.content {
                Content::Map(entries) => entries
                    .iter()
                    .find(|entry| entry.key == *step)
                    .map(|entry| (&entry.value, entry.key_span.start)),
                Content::List(nodes) => pointer_index(&step)
                    .and_then(|index| nodes.get(index))
                    .map(|node| (node, node.span.start)),
                Content::Scalar(_) => None,
            };
            let Some(next) = next else {
                break;
            };
            (node, place) = next;
        }
        self.position(place)
    }
}

impl Node {
    fn new(span: Range<usize>, content: Content) -> Node {
        Node {
            span,
            content,
            is_alias: false,
        }
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        self.entries()?
            .iter()
            .find(|entry| entry.key == key)
            .map(|entry| &entry.value)
    }

    pub(super) fn entries(&self) -> Option<&[Entry]> {
        match &self.content {
            Content::Map(entries) => Some(entries),
            _ => None,
        }
    }

    pub(super) fn items(&self) -> Option<&[Node]> {
        match &self.content {
            Content::List(nodes) => Some(nodes),
            _ => None,
        }
    }

    /// The value, without its places.
    pub(super) fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(nodes) => Value::Array(nodes.iter().map(Node::to_value).collect()),
            Content::Map(entries) => {
                let pairs = entries.iter();
                let pairs = pairs.map(|entry| (entry.key.as_str(), entry.value.to_value()));
                pairs.collect::<Object>().into()
            }
        }
    }

    fn move_by(&mut self, distance: usize) {
        let moved = |span: &Range<usize>| span.start + distance..span.end + distance;
        self.span = moved(&self.span);
        match &mut self.content {
            Content::Scalar(_) => {}
            Content::List(nodes) => nodes.iter_mut().for_each(|node| node.move_by(distance)),
            Content::Map(entries) => {
                for entry in entries {
                    entry.key_span = moved(&entry.key_span);
                    entry.value.move_by(distance);
                }
            }
        }
    }
}
