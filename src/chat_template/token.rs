//! What JSON files say about a single token.

use crate::value::Value;

/// What files say about a token.
#[derive(Clone, Default)]
pub(super) enum Token {
    /// Nothing so far.
    #[default]
    Unsaid,
    /// That there is none, and the file that says so.
    Absent(String),
    /// What it is, and the file that says so.
    Is(String, String),
}

impl Token {
    /// Takes what another file says, if nothing was said before.
    pub(super) fn or(&mut self, other: Self) {
        if matches!(self, Self::Unsaid) {
            *self = other;
        }
    }

    /// The token if there is one, and the file that says so.
    pub(super) fn split(self) -> (Option<String>, Option<String>) {
        match self {
            Self::Is(token, origin) => (Some(token), Some(origin)),
            Self::Absent(origin) => (None, Some(origin)),
            Self::Unsaid => (None, None),
        }
    }
}

/// The text of a token: the string itself, or what an object calls `content`.
pub(super) fn content(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("content")?.as_str())
}

/// Whether a listed token is a special one.
pub(super) fn is_special(token: &Value) -> bool {
    token.get("special").and_then(Value::as_bool) == Some(true)
}
