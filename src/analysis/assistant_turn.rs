//! What the assistant says in a turn, as a message has it.

use crate::value::{Object, Value};

use super::probe::object;

/// What the assistant says in a turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct AssistantTurn {
    pub(crate) reasoning: Option<String>,
    pub(crate) content: Option<String>,
    pub(crate) calls: Vec<ToolCall>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCall {
    pub(crate) name: String,
    pub(crate) arguments: Object,
}

impl AssistantTurn {
    pub(crate) fn content(text: &str) -> AssistantTurn {
        AssistantTurn {
            content: Some(text.to_owned()),
            ..AssistantTurn::default()
        }
    }

    pub(crate) fn calls(calls: impl IntoIterator<Item = ToolCall>) -> AssistantTurn {
        AssistantTurn {
            calls: calls.into_iter().collect(),
            ..AssistantTurn::default()
        }
    }

    pub(crate) fn with_reasoning(mut self, text: &str) -> AssistantTurn {
        self.reasoning = Some(text.to_owned());
        self
    }

    pub(crate) fn with_content(mut self, text: &str) -> AssistantTurn {
        self.content = Some(text.to_owned());
        self
    }

    /// The turn as a message, with the reasoning in a field of this name.
    pub(crate) fn to_message(&self, reasoning_field: &str) -> Object {
        let mut message = Object::new();
        let texts = [
            (reasoning_field, &self.reasoning),
            ("content", &self.content),
        ];
        for (field, text) in texts {
            if let Some(text) = text {
                message.insert(field, text.as_str());
            }
        }
        if !self.calls.is_empty() {
            let calls = self.calls.iter().map(ToolCall::to_value);
            message.insert("tool_calls", calls.collect::<Vec<Value>>());
        }
        message
    }
}

impl ToolCall {
    pub(crate) fn new(
        name: &str,
        arguments: impl IntoIterator<Item = (String, Value)>,
    ) -> ToolCall {
        ToolCall {
            name: name.to_owned(),
            arguments: arguments.into_iter().collect(),
        }
    }

    fn to_value(&self) -> Value {
        let function = object([
            ("name", self.name.as_str().into()),
            ("arguments", self.arguments.clone().into()),
        ]);
        object([("type", "function".into()), ("function", function)])
    }
}
