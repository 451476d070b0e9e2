//! Definitions of tools that a template writes in words of its own.

mod kinds;
mod made;
mod path;

pub(crate) use kinds::{Holds, Kinds, Members, ParameterKind, ToolKind, ToolParameters};
pub(crate) use path::{Unescaped, json_at};

use crate::value::Value;

/// How a template writes definitions of tools in words of its own.
///
/// It is a row of texts, slots and lists. A list has an entry for each way in which one of its members is written,
/// and an entry says of which kinds a member can be that is written so.
#[derive(Debug, Clone, PartialEq)]
pub struct Wording {
    pub(crate) pieces: Vec<WordingPiece>,
    pub(crate) lists: Vec<WordingList>,
    /// Whether values in JSON stand there as they would in HTML.
    pub(crate) is_escaped: bool,
}

/// A piece of a wording.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WordingPiece {
    Text(String),
    Slot(WordingSlot),
    /// What stands under these keys of the definition that the piece belongs to, as JSON.
    Json(Vec<String>),
    /// The number of a list.
    List(usize),
}

/// A text of what is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordingSlot {
    Name,
    Description,
    /// One of the values that are allowed.
    Value,
}

/// The tools, the parameters of one, or the values that are allowed for one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WordingList {
    /// Whether other lists of the same members stand before it.
    pub(crate) is_again: bool,
    pub(crate) entries: Vec<WordingEntry>,
    /// The kinds of members that do not stand in it.
    pub(crate) absent: Vec<usize>,
}

/// A way in which a member of a list is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WordingEntry {
    /// The kinds of members that are written so.
    pub(crate) kinds: Vec<usize>,
    /// What stands before the first slot if it is the first of the list; and if it is another.
    pub(crate) first: String,
    pub(crate) head: String,
    /// From the first slot to the last.
    pub(crate) body: Vec<WordingPiece>,
    /// What stands behind the last slot if others follow; and if it is the last of the list.
    pub(crate) tail: String,
    pub(crate) last: String,
}

impl Wording {
    /// The definitions that a text is, and what of them it leaves open, in words. `None` if it is not written so.
    pub(crate) fn read(&self, text: &str) -> Option<(Vec<Value>, Vec<String>)> {
        made::definitions(&path::Graph::of(self).read(text)?)
    }
}
