//! How a chat template writes a whole conversation: what stands between the texts of its messages.

use std::fmt;

use super::words::shown;
use super::{Dialect, Format, Wording};
use crate::value::{Object, Value};

/// How a chat template writes a whole conversation.
///
/// A conversation is a row of slots, such as what a user says, with [passages](Passage) between them. Which
/// passages there are is what renderings have shown.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ConversationFormat {
    /// The turn of the assistant.
    pub turn: Format,
    /// What stands before the first slot, between two, and behind the last.
    pub passages: Vec<Passage>,
    /// For slots, texts that nothing in them has in it, because the template ends messages with them.
    pub ends: Vec<(ConversationSlot, String)>,
    /// Whether what tools answer is written as in a JSON string.
    pub escapes_results: bool,
    /// How definitions of tools are written, where they are values.
    pub definitions: Definitions,
    /// How they are written where they are none.
    pub wording: Option<Wording>,
}

/// How definitions of tools are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Definitions {
    /// The dialect of JSON.
    pub dialect: Dialect,
    /// Whether the names of types are in capitals.
    pub has_capital_types: bool,
}

impl Definitions {
    /// The definition that a text begins with, or the list of them, and its length.
    pub(crate) fn read_start(&self, text: &str) -> Option<(Value, usize)> {
        let (value, length) = self.dialect.read_start(text)?;
        Some(match self.has_capital_types {
            true => (with_small_types(value), length),
            false => (value, length),
        })
    }
}

/// A definition with the names of types as JSON Schema has them.
fn with_small_types(value: Value) -> Value {
    match value {
        Value::Array(items) => items
            .into_iter()
            .map(with_small_types)
            .collect::<Vec<_>>()
            .into(),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let value = match (key.as_str(), value.as_str()) {
                    (Some("type"), Some(name)) => name.to_lowercase().into(),
                    _ => with_small_types(value.clone()),
                };
                (key.clone(), value)
            });
            entries.collect::<Object>().into()
        }
        other => other,
    }
}

/// What is another text in each conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ConversationSlot {
    /// The text of the system's message.
    System,
    /// What a user says.
    User,
    /// What the assistant thinks.
    Reasoning,
    /// The calls of the assistant's turn, as [`Format::calls`] says.
    Calls,
    /// What the assistant says.
    Content,
    /// What a tool answers.
    Result,
    /// The definition of a tool, as JSON or as Python prints it.
    Tool,
    /// The definitions of all tools as one list.
    ToolList,
    /// The definitions of all tools in words of the template's own.
    ToolText,
}

/// What stands between two slots.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Passage {
    /// The slot before it; `None` at the beginning.
    pub from: Option<ConversationSlot>,
    /// The slot behind it; `None` at the end.
    pub to: Option<ConversationSlot>,
    /// The texts, and what stands among them.
    pub pieces: Vec<Piece>,
    /// Whether both slots belong to the same message.
    pub is_within: bool,
    /// Whether messages of which nothing shows stand between both.
    pub skips: bool,
    /// Whether it ends with the beginning of the assistant's turn, as a prompt does.
    pub is_prompt: bool,
}

/// A piece of a passage.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Piece {
    /// A text that is always the same.
    Text(String),
    /// The name of the tool that answers.
    Name,
    /// The id of the call that is answered by what follows.
    Id,
    /// The id of the call that was answered by what stands before.
    IdBefore,
    /// A number that counts.
    Index,
}

impl ConversationSlot {
    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            ConversationSlot::System => "system",
            ConversationSlot::User => "user",
            ConversationSlot::Reasoning => "reasoning",
            ConversationSlot::Calls => "calls",
            ConversationSlot::Content => "content",
            ConversationSlot::Result => "tool",
            ConversationSlot::Tool => "definition",
            ConversationSlot::ToolList | ConversationSlot::ToolText => "definitions",
        }
    }

    /// Whether it is a part of what the assistant says.
    pub fn is_assistant(self) -> bool {
        matches!(
            self,
            ConversationSlot::Reasoning | ConversationSlot::Calls | ConversationSlot::Content
        )
    }
}

impl Passage {
    /// The text that it begins with.
    pub(crate) fn first_text(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }
}

/// The texts in backquotes, what stands among them in capitals.
impl fmt::Display for Passage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, piece) in self.pieces.iter().enumerate() {
            if at > 0 {
                f.write_str(" ")?;
            }
            match piece {
                Piece::Text(text) => f.write_str(&shown(text))?,
                Piece::Name => f.write_str("NAME")?,
                Piece::Id | Piece::IdBefore => f.write_str("ID")?,
                Piece::Index => f.write_str("INDEX")?,
            }
        }
        match self.pieces.is_empty() {
            true => f.write_str("nothing"),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_in_capitals_are_read_as_json_schema_has_them() {
        for (text, capitals, expected) in [
            (
                r#"{"type": "OBJECT", "name": "TYPE", "items": [{"type": "STRING"}]}"#,
                true,
                r#"{"type": "object", "name": "TYPE", "items": [{"type": "string"}]}"#,
            ),
            (r#"{"type": "OBJECT"}"#, false, r#"{"type": "OBJECT"}"#),
            // It is no name of a type.
            (r#"{"type": ["A"]}"#, true, r#"{"type": ["A"]}"#),
        ] {
            let form = Definitions {
                has_capital_types: capitals,
                ..Definitions::default()
            };
            let (value, length) = form.read_start(text).expect("it is JSON");
            let expected: Value = expected.parse().expect("it is JSON");
            assert_eq!(value, expected);
            assert_eq!(length, text.len());
        }
    }

    #[test]
    fn passages_are_shown_with_what_stands_among_their_texts() {
        let text = |text: &str| Piece::Text(text.to_owned());
        for (pieces, shown, first) in [
            (vec![text("<a>\n")], "`<a>⏎`", "<a>\n"),
            (vec![text("<"), Piece::Name, text(">")], "`<` NAME `>`", "<"),
            (
                vec![Piece::Id, Piece::IdBefore, Piece::Index],
                "ID ID INDEX",
                "",
            ),
            (vec![], "nothing", ""),
        ] {
            let passage = Passage {
                from: None,
                to: None,
                pieces,
                is_within: false,
                skips: false,
                is_prompt: false,
            };
            assert_eq!(passage.to_string(), shown);
            assert_eq!(passage.first_text(), first, "{shown}");
        }
    }
}
