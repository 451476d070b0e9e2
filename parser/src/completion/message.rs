//! The message that deltas are put together to.

use crate::value::{Object, Value};

use super::delta::{Delta, function};

/// A message as clients have it.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct CompletionMessage {
    /// Whose it is.
    pub role: String,
    /// The text for the user, if there is any.
    pub content: Option<String>,
    /// The reasoning, if there is any.
    pub reasoning: Option<String>,
    /// The calls.
    pub tool_calls: Vec<ToolCall>,
    /// Fields that the interface does not have.
    pub fields: Object,
}

/// A call as clients have it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The id that the model gave it, or else one of unjinja's own.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: JSON, or text where the model wrote text. Of a call that was cut off it is what
    /// had been written.
    pub arguments: String,
    /// Whether it is cut off, where such calls are [marked](crate::Unfinished::Mark).
    pub is_unfinished: bool,
}

impl CompletionMessage {
    /// Puts a delta to what there is.
    pub fn add(&mut self, delta: &Delta) {
        match delta {
            Delta::Role(role) => self.role.push_str(role),
            Delta::Content(text) => self.content.get_or_insert_default().push_str(text),
            Delta::Reasoning(text) => self.reasoning.get_or_insert_default().push_str(text),
            Delta::Call { id, name, .. } => self.tool_calls.push(ToolCall {
                id: id.clone(),
                name: name.clone(),
                arguments: String::new(),
                is_unfinished: false,
            }),
            Delta::Arguments { index, text } => {
                if let Some(call) = self.tool_calls.get_mut(*index) {
                    call.arguments.push_str(text);
                }
            }
            Delta::Field { name, value } => {
                self.fields.insert(name, value.clone());
            }
        }
    }

    /// Takes out the calls at these places, which ascend.
    pub(super) fn without_calls(&mut self, places: &[usize]) -> Vec<ToolCall> {
        let mut places = places.iter().peekable();
        let (mut taken, mut kept) = (Vec::new(), Vec::new());
        for (at, call) in std::mem::take(&mut self.tool_calls).into_iter().enumerate() {
            match places.next_if_eq(&&at) {
                Some(_) => taken.push(call),
                None => kept.push(call),
            }
        }
        self.tool_calls = kept;
        taken
    }

    /// The message as clients are sent it; reasoning goes by a key of this name.
    ///
    /// ```
    /// use unjinja::completion::{CompletionMessage, Delta};
    /// use unjinja::json;
    ///
    /// let mut message = CompletionMessage::default();
    /// message.add(&Delta::Role("assistant".into()));
    /// message.add(&Delta::Content("Yes.".into()));
    /// assert_eq!(
    ///     json::write(&message.to_value("reasoning_content")),
    ///     r#"{"role":"assistant","content":"Yes."}"#,
    /// );
    /// ```
    pub fn to_value(&self, reasoning: &str) -> Value {
        let mut message = Object::new();
        message.insert("role", self.role.as_str());
        message.insert("content", text_or_null(self.content.as_deref()));
        if let Some(text) = &self.reasoning {
            message.insert(reasoning, text.as_str());
        }
        if !self.tool_calls.is_empty() {
            let calls = self.tool_calls.iter().map(ToolCall::to_value);
            message.insert("tool_calls", calls.collect::<Vec<Value>>());
        }
        for (name, value) in self.fields.iter() {
            message.insert(name.clone(), value.clone());
        }
        message.into()
    }
}

impl ToolCall {
    fn to_value(&self) -> Value {
        let mut call = Object::from_iter([
            ("id", Value::from(self.id.as_str())),
            ("type", "function".into()),
            ("function", function(&self.name, &self.arguments)),
        ]);
        if self.is_unfinished {
            call.insert("unfinished", true);
        }
        call.into()
    }
}

fn text_or_null(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::from)
}
