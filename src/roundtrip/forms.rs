//! A message that was read, in the forms in which a template may take it, and what is said behind it.

use crate::chat_template::REASONING_KEYS;
use crate::json;
use crate::value::{Object, Value, object};

/// How a message is given to a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    /// The ids of calls that have none; `None` leaves them without.
    ids: Option<&'static str>,
    /// Whether content that was not read is given as an empty text.
    fills_content: bool,
    /// Whether arguments are given as a text of JSON.
    arguments_as_text: bool,
}

impl Form {
    /// All of them, the plainest first.
    pub(super) const ALL: [Form; 8] = [
        Form::new(None, false, false),
        Form::new(None, true, false),
        Form::new(Some("call00001"), false, false),
        Form::new(Some("call00001"), true, false),
        Form::new(Some("functions.NAME:INDEX"), true, false),
        Form::new(None, false, true),
        Form::new(None, true, true),
        Form::new(Some("call00001"), true, true),
    ];

    const fn new(ids: Option<&'static str>, fills_content: bool, arguments_as_text: bool) -> Form {
        Form {
            ids,
            fills_content,
            arguments_as_text,
        }
    }

    /// The message in this form; `None` if it is the same in a plainer one.
    pub(super) fn message(self, message: &Object) -> Option<Object> {
        let mut message = message.clone();
        if self.fills_content && message.get("content").is_none_or(Value::is_null) {
            message.insert("content", "");
        }
        if message.get("role").is_none() {
            message.insert("role", "assistant");
        }
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        let calls = calls.map(Vec::as_mut_slice).unwrap_or_default();
        if calls.is_empty() && (self.ids.is_some() || self.arguments_as_text) {
            return None;
        }
        for (index, call) in calls.iter_mut().enumerate() {
            let call = call.as_object_mut()?;
            let function = call
                .get("function")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default();
            if let Some(id) = self.ids
                && call.get("id").is_none()
            {
                let name = function
                    .get("name")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let id = id
                    .replace("NAME", name)
                    .replace("INDEX", &index.to_string());
                call.insert("id", id.replace("00001", &format!("{:05}", index + 1)));
            }
            if self.arguments_as_text
                && let Some(arguments) = function
                    .get("arguments")
                    .filter(|value| value.as_str().is_none())
            {
                let mut function = function.clone();
                let style = json::Style::PYTHON.ensure_ascii(false);
                function.insert("arguments", json::write_styled(arguments, &style));
                call.insert("function", function);
            }
        }
        Some(message)
    }
}

/// What is said behind a message: an answer to each call, or else something of the user.
pub(super) fn following(message: &Object) -> Vec<Value> {
    let calls = message
        .get("tool_calls")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let results = calls.iter().map(|call| {
        let mut result = object! {"role": "tool", "content": "Done."};
        if let Some(id) = call.get("id") {
            result.insert("tool_call_id", id.clone());
        }
        if let Some(name) = call
            .get("function")
            .and_then(|function| function.get("name"))
        {
            result.insert("name", name.clone());
        }
        Value::from(result)
    });
    match calls.is_empty() {
        true => vec![object! {"role": "user", "content": "Go on."}.into()],
        false => results.collect(),
    }
}

/// The thoughts of a message, under whichever name.
pub(super) fn thoughts(message: &Object) -> Option<&str> {
    let names = REASONING_KEYS
        .iter()
        .copied()
        .chain(["thinking", "reasoning"]);
    let mut thoughts = names.filter_map(|name| message.get(name)?.as_str());
    thoughts.find(|text| !text.trim().is_empty())
}
