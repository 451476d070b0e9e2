//! Conversations as chat templates take them, put together of what APIs have in pieces.

use std::collections::HashMap;

use unjinja::{Object, Value, json};

use crate::fault::Fault;
use crate::object::object;
use crate::request::{Members, expected};

/// A conversation that grows. What the model has thought, said and called one after the other is one message.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    messages: Vec<Value>,
    /// What the model has said last, as long as it may go on.
    turn: Option<Turn>,
    /// The names of the tools that were called, by the ids of the calls.
    called: HashMap<String, String>,
}

/// A message of the model that goes on.
#[derive(Debug, Default)]
struct Turn {
    content: String,
    reasoning: Option<String>,
    calls: Vec<Value>,
}

impl Conversation {
    /// Somebody else than the model says something.
    pub(crate) fn say(&mut self, role: &str, text: &str) {
        self.push(object! {"role": role, "content": text});
    }

    /// The model says something.
    pub(crate) fn answer(&mut self, text: &str) {
        self.turn().content.push_str(text);
    }

    /// The model thinks something.
    pub(crate) fn think(&mut self, text: &str) {
        let reasoning = &mut self.turn().reasoning;
        reasoning.get_or_insert_default().push_str(text);
    }

    /// The model calls a tool.
    pub(crate) fn call(&mut self, id: &str, name: &str, arguments: Value) {
        self.called.insert(id.to_owned(), name.to_owned());
        let function = object! {"name": name, "arguments": arguments};
        let call = object! {"id": id, "type": "function", "function": function};
        self.turn().calls.push(call.into());
    }

    /// A tool answers. Some templates want its name.
    pub(crate) fn result(&mut self, id: &str, text: &str) {
        let mut message = object! {"role": "tool", "tool_call_id": id, "content": text};
        if let Some(name) = self.called.get(id) {
            message.insert("name", name.as_str());
        }
        self.push(message);
    }

    /// Whether the model has said the last of it.
    pub(crate) fn is_answered(&self) -> bool {
        self.turn.is_some()
    }

    pub(crate) fn into_messages(mut self) -> Vec<Value> {
        self.end_turn();
        self.messages
    }

    fn push(&mut self, message: Object) {
        self.end_turn();
        self.messages.push(message.into());
    }

    /// The message of the model that goes on.
    fn turn(&mut self) -> &mut Turn {
        self.turn.get_or_insert_default()
    }

    fn end_turn(&mut self) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        let mut message = object! {"role": "assistant", "content": turn.content};
        if let Some(reasoning) = turn.reasoning {
            message.insert("reasoning_content", reasoning);
        }
        if !turn.calls.is_empty() {
            message.insert("tool_calls", turn.calls);
        }
        self.messages.push(message.into());
    }
}

/// The text of a content that is a text, or a list of parts of these types, whose text is under `text`. What is no text is refused,
/// since prompts are texts.
pub(crate) fn text_of(content: &Value, types: &[&str], path: &str) -> Result<String, Fault> {
    if let Some(text) = content.as_str() {
        return Ok(text.to_owned());
    }
    let parts = content.as_array();
    let parts = parts.ok_or_else(|| expected(path, "a string or a list of parts", content))?;
    let mut all = String::new();
    for (index, part) in parts.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let members = Members::of(part, &path)?;
        let kind = members.text("type")?.unwrap_or("text");
        match types.contains(&kind) {
            true => all.push_str(members.needed_text("text")?),
            false => return Err(no_text(&path, kind)),
        }
    }
    Ok(all)
}

/// A part of a content that is no text.
pub(crate) fn no_text(path: &str, kind: &str) -> Fault {
    let message =
        format!("`{kind}` is not passed on: what goes upstream is a prompt, and has only text");
    Fault::of(path, message)
}

/// The arguments of a call, which clients give as a text of JSON.
pub(crate) fn arguments(text: &str) -> Value {
    match json::read(text) {
        Ok(object @ Value::Object(_)) => object,
        _ if text.trim().is_empty() => Object::new().into(),
        _ => text.into(),
    }
}

/// A form in which templates take messages.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// Arguments are objects, and what is null stays so.
    Plain,
    /// Content that is null is an empty text.
    WithContent,
    /// Arguments are texts, besides.
    ArgumentsAsText,
}

impl Form {
    /// All of them, the plainest first.
    pub(crate) const ALL: [Form; 3] = [Form::Plain, Form::WithContent, Form::ArgumentsAsText];

    /// A message in this form.
    pub(crate) fn of(self, message: &Value) -> Value {
        let mut message = message.clone();
        // What is not changed is shared.
        if matches!(self, Form::Plain) {
            return message;
        }
        let Some(members) = message.as_object_mut() else {
            return message;
        };
        if members.get("content").is_none_or(Value::is_null) {
            members.insert("content", "");
        }
        let calls = members.get_mut("tool_calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten() {
            let call = call.as_object_mut();
            let function = call.and_then(|call| call.get_mut("function")?.as_object_mut());
            let Some(arguments) = function.and_then(|function| function.get_mut("arguments"))
            else {
                continue;
            };
            if matches!(self, Form::ArgumentsAsText) && arguments.as_str().is_none() {
                let style = json::Style::PYTHON.ensure_ascii(false);
                *arguments = json::write_styled(arguments, &style).into();
            }
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_model_says_in_a_row_is_one_message_and_results_have_the_names_of_their_calls() {
        let mut conversation = Conversation::default();
        conversation.say("user", "Rain?");
        conversation.think("Hm");
        conversation.think("m.");
        conversation.answer("I ");
        conversation.answer("look.");
        conversation.call("a", "look", arguments("{}"));
        conversation.call("b", "ask", arguments("{}"));
        assert!(conversation.is_answered());
        conversation.result("b", "no");
        conversation.result("c", "?");
        assert!(!conversation.is_answered());
        let shown: Vec<String> = conversation
            .into_messages()
            .iter()
            .map(json::write)
            .collect();
        assert_eq!(
            shown,
            [
                r#"{"role":"user","content":"Rain?"}"#,
                r#"{"role":"assistant","content":"I look.","reasoning_content":"Hmm.","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":{}}},{"id":"b","type":"function","function":{"name":"ask","arguments":{}}}]}"#,
                r#"{"role":"tool","tool_call_id":"b","content":"no","name":"ask"}"#,
                r#"{"role":"tool","tool_call_id":"c","content":"?"}"#,
            ]
        );
    }
}
