//! The shape of a call: the parts that it has, and the texts around them.

use crate::format::{Dialect, ValueType, ValueWriting};

use super::certainty::Certainty;
use super::markers::{ID_SLOT, INDEX_SLOT, KEY_SLOT, NAME_SLOT, is_slot};
use super::written_values::{WrittenValues, written};

/// How a call of a tool is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallShape {
    /// How sure it is.
    pub certainty: Certainty,
    /// What opens a turn's calls.
    pub section_open: String,
    /// What closes them.
    pub section_close: String,
    /// What stands between two calls.
    pub separator: String,
    /// What opens a call, up to its body.
    pub open: Vec<Slot>,
    /// What a call consists of.
    pub body: CallBody,
    /// What closes a call; some formats name it or its id there.
    pub close: Vec<Slot>,
    /// Whether a turn may hold several calls.
    pub several: bool,
}

impl CallShape {
    /// The text that a call begins with; none if it begins with a slot or its body.
    pub(crate) fn first_text(&self) -> &str {
        match self.open.first() {
            Some(Slot::Text(text)) => text,
            _ => "",
        }
    }

    /// What closes a call, in which characters for private use stand for what is not text.
    pub(crate) fn close_text(&self) -> String {
        text_with_slots(&self.close)
    }
}

/// A part of what opens a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Slot {
    /// The same text for all calls.
    Text(String),
    /// The name of the tool.
    Name,
    /// The id of the call.
    Id,
    /// The number of the call.
    Index,
    /// The key of an argument.
    Key,
}

/// What a call consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallBody {
    /// A JSON object with the name and the arguments in it.
    Object(CallKeys, Dialect),
    /// One JSON array for all calls of a turn.
    Array(CallKeys, Dialect),
    /// A JSON object with the arguments; the name stands in what opens the call.
    Arguments(Dialect),
    /// Each argument in markers.
    Tagged(Tagged),
    /// Arguments as a Python call has them.
    Python(Tagged),
}

/// Where in a JSON object the parts of a call are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallKeys {
    /// The keys that lead to the name.
    pub name: Vec<String>,
    /// The keys that lead to the arguments.
    pub arguments: Vec<String>,
    /// The keys that lead to the id.
    pub id: Option<Vec<String>>,
    /// All keys of the object, in their order.
    pub all: Vec<String>,
    /// Whether the arguments are a string that holds JSON.
    pub arguments_as_text: bool,
    /// The object as JSON, with characters in place of name and id as in other findings.
    pub(crate) object: String,
}

/// Arguments that stand one by one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tagged {
    /// What stands before a key.
    pub open: String,
    /// What stands after a value; some formats name the key there once more.
    pub close: Vec<Slot>,
    /// What stands between two arguments.
    pub separator: String,
    /// What stands between key and value, and how values are written: where it shows the value's type, there
    /// are several.
    pub values: Vec<WrittenValues>,
}

impl Tagged {
    /// The texts that stand between key and value, first that before texts.
    pub(crate) fn between(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|values| values.between.as_str())
    }

    /// How values of a type are written, if it is known.
    pub(crate) fn written(&self, kind: ValueType) -> Option<&ValueWriting> {
        written(&self.values, kind)
    }

    /// Whether all values are JSON, texts too.
    pub(crate) fn has_json_texts(&self) -> bool {
        matches!(self.written(ValueType::String), Some(ValueWriting::Json(_)))
    }

    /// What is written around texts and around no other value, or around texts with signs in them that
    /// markers have.
    pub(crate) fn wrapping(&self) -> Option<(&str, &str)> {
        match self.written(ValueType::String)? {
            ValueWriting::Wrapped { open, close, .. } => Some((open, close)),
            _ => None,
        }
    }
}

/// Slots as a text, in which characters for private use stand for what is not text.
pub(crate) fn text_with_slots(slots: &[Slot]) -> String {
    let mut text = String::new();
    for slot in slots {
        match slot {
            Slot::Text(part) => text.push_str(part),
            Slot::Name => text.push(NAME_SLOT),
            Slot::Id => text.push(ID_SLOT),
            Slot::Index => text.push(INDEX_SLOT),
            Slot::Key => text.push(KEY_SLOT),
        }
    }
    text
}

/// The slots of a text in which characters for private use stand for them, as [`text_with_slots`]
/// writes it.
pub(super) fn slots_in(text: &str) -> Vec<Slot> {
    let mut slots = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_slot) {
        if at > 0 {
            slots.push(Slot::Text(rest[..at].to_owned()));
        }
        let slot = rest[at..].chars().next().unwrap_or(NAME_SLOT);
        slots.push(match slot {
            ID_SLOT => Slot::Id,
            INDEX_SLOT => Slot::Index,
            KEY_SLOT => Slot::Key,
            _ => Slot::Name,
        });
        rest = &rest[at + slot.len_utf8()..];
    }
    if !rest.is_empty() {
        slots.push(Slot::Text(rest.to_owned()));
    }
    slots
}
