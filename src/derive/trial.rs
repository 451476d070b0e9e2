//! Trying a response template on texts whose message is known.

use crate::analysis::asking::{Called, Said};
use crate::json;
use crate::response::{ParserOptions, ResponseTemplate, parse};
use crate::value::{Object, Value};

use super::sample::Samples;

/// Reads a text, and tells what is wrong with what comes of it.
pub(super) fn differs(
    template: &ResponseTemplate,
    field: &str,
    samples: &Samples,
    prefix: &str,
    output: &str,
    expected: &Said,
) -> Option<String> {
    let options = ParserOptions {
        tools: samples.tools.clone(),
        ..ParserOptions::default()
    };
    let message = match parse(template, prefix, output, options) {
        Ok(message) => message,
        Err(error) => return Some(error.to_string()),
    };
    difference(&message, field, expected)
}

fn difference(message: &Object, field: &str, expected: &Said) -> Option<String> {
    let text = |key: &str| {
        message
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .trim()
    };
    let said = |text: &Option<String>| text.as_deref().unwrap_or_default().trim().to_owned();
    let reasoning = said(&expected.reasoning);
    if text(field) != reasoning {
        return Some(format!("{field} is {:?}, not {reasoning:?}", text(field)));
    }
    let content = said(&expected.content);
    if text("content") != content {
        return Some(format!("content is {:?}, not {content:?}", text("content")));
    }
    let calls = message
        .get("tool_calls")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let calls: Vec<Called> = calls.iter().map(called).collect();
    (calls != expected.calls).then(|| {
        let calls: Vec<String> = calls
            .iter()
            .map(|c| format!("{}({})", c.name, json::write(&c.arguments.clone().into())))
            .collect();
        format!("the calls are [{}]", calls.join(", "))
    })
}

/// A call as it stands in a message.
fn called(call: &Value) -> Called {
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
    Called {
        name: name.unwrap_or_default().to_owned(),
        arguments,
    }
}
