//! Trying a response template on texts whose message is known.

use crate::analysis::assistant_turn::{AssistantTurn, ToolCall};
use crate::json;
use crate::response::{ParserOptions, ResponseTemplate, Tools, parse};
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
        let options = ParserOptions {
            tools: self.tools.clone(),
            ..ParserOptions::default()
        };
        match parse(template, prefix, output, options) {
            Ok(message) => difference(&message, self.reasoning_field, expected),
            Err(error) => Some(error.to_string()),
        }
    }
}

fn difference(message: &Object, field: &str, expected: &AssistantTurn) -> Option<String> {
    let text = |key: &str| {
        message
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .trim()
    };
    let expected_text =
        |text: &Option<String>| text.as_deref().unwrap_or_default().trim().to_owned();
    let reasoning = expected_text(&expected.reasoning);
    if text(field) != reasoning {
        return Some(format!("{field} is {:?}, not {reasoning:?}", text(field)));
    }
    let content = expected_text(&expected.content);
    if text("content") != content {
        return Some(format!("content is {:?}, not {content:?}", text("content")));
    }
    let calls = message
        .get("tool_calls")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let calls: Vec<ToolCall> = calls.iter().map(tool_call).collect();
    (calls != expected.calls).then(|| {
        let calls: Vec<String> = calls
            .iter()
            .map(|c| format!("{}({})", c.name, json::write(&c.arguments.clone().into())))
            .collect();
        format!("the calls are [{}]", calls.join(", "))
    })
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
