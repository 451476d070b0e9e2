//! What the assistant says in a turn, as a message has it.

use crate::json;
use crate::value::{Object, Value, object};

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

    /// What a message says, with reasoning in the first of some fields that holds any. What is empty is
    /// not said.
    pub(crate) fn from_message(message: &Object, reasoning_fields: &[&str]) -> AssistantTurn {
        // Templates and models put white space around texts as they like: it makes no other text.
        let text = |key: &str| {
            let text = message.get(key).and_then(Value::as_str).unwrap_or_default();
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let calls = message.get("tool_calls").and_then(Value::as_array);
        AssistantTurn {
            reasoning: reasoning_fields.iter().find_map(|field| text(field)),
            content: text("content"),
            calls: calls
                .unwrap_or_default()
                .iter()
                .map(ToolCall::from_value)
                .collect(),
        }
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
            message.insert("tool_calls", calls.collect::<Value>());
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

    /// A call as it stands in a message.
    fn from_value(call: &Value) -> ToolCall {
        let function = call.get("function");
        let name = function.and_then(|function| function.get("name")?.as_str());
        let arguments = match function.and_then(|function| function.get("arguments")) {
            Some(Value::Object(arguments)) => arguments.clone(),
            // Some formats carry arguments as text.
            Some(Value::String(text)) => {
                let value = json::read(&text.to_string_lossy()).ok();
                value
                    .and_then(|value| value.as_object().cloned())
                    .unwrap_or_default()
            }
            _ => Object::new(),
        };
        ToolCall {
            name: name.unwrap_or_default().to_owned(),
            arguments,
        }
    }

    fn to_value(&self) -> Value {
        let function = object! {"name": &self.name, "arguments": self.arguments.clone()};
        object! {"type": "function", "function": function}.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_empty_in_a_message_is_not_said() {
        for (message, expected) in [
            (r#"{"content": "Yes."}"#, r#"{"content": "Yes."}"#),
            // White space around a text makes no other text, and none by itself.
            (r#"{"content": "\nYes. "}"#, r#"{"content": "Yes."}"#),
            (r#"{"content": " \n", "thinking": ""}"#, "{}"),
            (r#"{"content": null, "tool_calls": []}"#, "{}"),
            (r#"{"content": [{"text": "Yes."}]}"#, "{}"),
            // The first field that holds anything counts.
            (
                r#"{"thinking": " ", "reasoning": "Hm.", "mulling": "No."}"#,
                r#"{"thinking": "Hm."}"#,
            ),
            (r#"{"mulling": "Hm."}"#, "{}"),
            (
                r#"{"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": {"a": 1}}}]}"#,
                r#"{"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}]}"#,
            ),
            // Arguments as text are the same call; what is no object has none.
            (
                r#"{"tool_calls": [{"function": {"name": "f", "arguments": "{\"a\": 1}"}}]}"#,
                r#"{"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}]}"#,
            ),
            (
                r#"{"tool_calls": [{"function": {"name": "f", "arguments": "[1]"}}, {"function": {"name": "g"}}]}"#,
                r#"{"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {}}}, {"type": "function", "function": {"name": "g", "arguments": {}}}]}"#,
            ),
        ] {
            let message: Value = message.parse().expect("it is JSON");
            let turn = message
                .as_object()
                .map(|message| AssistantTurn::from_message(message, &["thinking", "reasoning"]));
            let said = turn.expect("it is an object").to_message("thinking");
            let expected: Value = expected.parse().expect("it is JSON");
            assert_eq!(Value::from(said), expected, "{message}");
        }
    }
}
