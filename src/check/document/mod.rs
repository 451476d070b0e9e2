//! Files of YAML or JSON, of which it is known where everything stands.
//!
//! People write fixtures, so what is wrong with one has to be reported with its line, and what is
//! changed in one must leave the rest of it as it is.

mod edit;
mod json;
#[cfg(test)]
mod tests;
mod write;
mod yaml;

use std::path::Path;

use crate::diagnostic::Diagnostic;
use crate::json::split_byte_order_mark;
use crate::position::{LineIndex, Position};

pub(super) use crate::tree::{Content, Entry, Node};
pub(super) use edit::Change;
pub(super) use write::write_fixture;

/// A document, and its text.
#[derive(Debug)]
pub(super) struct Document {
    /// The byte order mark that the file begins with, or nothing.
    mark: String,
    /// The text behind the mark.
    text: String,
    lines: LineIndex,
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

/// So many values may stand in a document: each takes far more memory than text.
const MAX_NODES: usize = 1_000_000;

fn too_many(position: Position) -> Diagnostic {
    Diagnostic::new(format!("there are more than {MAX_NODES} values"))
        .at_position(position)
        .with_remedy("divide the file into several")
}

fn key_stands_twice(key: &str, position: Position) -> Diagnostic {
    Diagnostic::new(format!("the key `{key}` stands here twice")).at_position(position)
}

impl Document {
    /// Reads a document.
    pub(super) fn read(text: &str, language: Language) -> Result<Document, Diagnostic> {
        let (mark, text) = split_byte_order_mark(text);
        let root = match language {
            Language::Yaml => yaml::read(text)?,
            Language::Json => json::read(text)?,
        };
        Ok(Document {
            mark: mark.to_owned(),
            text: text.to_owned(),
            lines: LineIndex::new(text),
            language,
            root,
        })
    }

    pub(super) fn root(&self) -> &Node {
        &self.root
    }

    /// The position of an offset. The mark counts for the offset, but has no column.
    pub(super) fn position(&self, offset: usize) -> Position {
        let mut position = self.lines.position(&self.text, offset);
        position.offset += self.mark.len();
        position
    }

    /// Where what a pointer names stands: its key, if it has one. Of what is not there, where the
    /// nearest value stands that would hold it.
    pub(super) fn position_of(&self, pointer: &str) -> Position {
        let found = self.root.follow(pointer);
        self.position(found.key.unwrap_or(&found.node.span).start)
    }
}
