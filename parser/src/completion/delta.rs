//! The pieces of a message that are sent on while a model writes.

use crate::value::{Object, Value, object};

/// A piece of the message. What has been sent is never taken back.
///
/// Put together, texts behind texts, the deltas of an output are its message:
/// [`Finished::message`](super::Finished).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Delta {
    /// Whose message it is. It comes first, and once.
    Role(String),
    /// More of the text for the user.
    Content(String),
    /// More of the reasoning.
    Reasoning(String),
    /// A call has begun.
    Call {
        /// Its place among the calls of the message.
        index: usize,
        /// The id that the model gave it, or else one of unjinja's own.
        id: String,
        /// The tool that is called.
        name: String,
    },
    /// More of the arguments of a call, which are JSON, or text where the model wrote text.
    Arguments {
        /// The place of the call among those of the message.
        index: usize,
        /// The text.
        text: String,
    },
    /// A field that the interface does not have, whole: it comes in the end.
    Field {
        /// The key in the message.
        name: String,
        /// Its value.
        value: Value,
    },
}

impl Delta {
    /// The delta as the object that clients are sent; reasoning goes by a key of this name.
    ///
    /// ```
    /// use unjinja::completion::Delta;
    /// use unjinja::json;
    ///
    /// let delta = Delta::Reasoning("Rain?".into()).to_value("reasoning");
    /// assert_eq!(json::write(&delta), r#"{"reasoning":"Rain?"}"#);
    /// ```
    pub fn to_value(&self, reasoning: &str) -> Value {
        let one = |key: &str, value: Value| Object::from_iter([(key, value)]).into();
        match self {
            Delta::Role(role) => one("role", role.as_str().into()),
            Delta::Content(text) => one("content", text.as_str().into()),
            Delta::Reasoning(text) => one(reasoning, text.as_str().into()),
            Delta::Call { index, id, name } => {
                let call = object! {
                    "index": *index,
                    "id": id.as_str(),
                    "type": "function",
                    "function": function(name, ""),
                };
                one("tool_calls", vec![call.into()].into())
            }
            Delta::Arguments { index, text } => {
                let call = object! {"index": *index, "function": object! {"arguments": text}};
                one("tool_calls", vec![call.into()].into())
            }
            Delta::Field { name, value } => one(name, value.clone()),
        }
    }
}

/// A function with its arguments, as they stand in calls.
pub(super) fn function(name: &str, arguments: &str) -> Value {
    let members = [("name", Value::from(name)), ("arguments", arguments.into())];
    Object::from_iter(members).into()
}
