//! Trying a response template on texts whose message is known.

use crate::analysis::assistant_turn::{AssistantTurn, ToolCall};
use crate::json;
use crate::response::{ParseError, ParserOptions, ResponseTemplate, Tools, parse};
use crate::value::{Object, Value};

/// Reads texts with response templates, and compares what comes of them with what was meant.
pub(super) struct TrialReader<'a> {
    reasoning_field: &'a str,
    tools: &'a Tools,
}

impl<'a> TrialReader<'a> {
    pub(super) fn new(reasoning_field: &'a str, tools: &'a Tools) -> TrialReader<'a> {
        TrialReader {
            reasoning_field,
            tools,
        }
    }

    /// What is wrong with what comes of a text, if anything is.
    pub(super) fn difference(
        &self,
        template: &ResponseTemplate,
        prefix: &str,
        output: &str,
        expected: &AssistantTurn,
    ) -> Option<String> {
        match self.read(template, prefix, output) {
            Ok(read) => self.difference_to(&read, expected),
            Err(error) => Some(error.to_string()),
        }
    }

    /// What comes of a text.
    pub(super) fn read(
        &self,
        template: &ResponseTemplate,
        prefix: &str,
        output: &str,
    ) -> Result<AssistantTurn, ParseError> {
        let options = ParserOptions {
            tools: self.tools.clone(),
            ..ParserOptions::default()
        };
        Ok(self.turn(&parse(template, prefix, output, options)?))
    }

    /// What a message says.
    pub(super) fn turn(&self, message: &Object) -> AssistantTurn {
        let text = |key: &str| {
            let text = message.get(key).and_then(Value::as_str).unwrap_or_default();
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let calls = message.get("tool_calls").and_then(Value::as_array);
        AssistantTurn {
            reasoning: text(self.reasoning_field),
            content: text("content"),
            calls: calls.unwrap_or_default().iter().map(tool_call).collect(),
        }
    }

    /// How what was read differs from what was expected.
    pub(super) fn difference_to(
        &self,
        read: &AssistantTurn,
        expected: &AssistantTurn,
    ) -> Option<String> {
        let trimmed = |text: &Option<String>| text.as_deref().unwrap_or_default().trim().to_owned();
        let texts = [
            (self.reasoning_field, &read.reasoning, &expected.reasoning),
            ("content", &read.content, &expected.content),
        ];
        for (field, read, expected) in texts {
            let (read, expected) = (trimmed(read), trimmed(expected));
            if read != expected {
                return Some(format!("{field} is {read:?}, not {expected:?}"));
            }
        }
        (read.calls != expected.calls).then(|| {
            let calls: Vec<String> = read
                .calls
                .iter()
                .map(|c| format!("{}({})", c.name, json::write(&c.arguments.clone().into())))
                .collect();
            format!("the calls are [{}]", calls.join(", "))
        })
    }
}

/// A call as it stands in a message.
fn tool_call(call: &Value) -> ToolCall {
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
