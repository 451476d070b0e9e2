//! Events into deltas.

use crate::json;
use crate::response::{Capture, Event, Field, Parser, ResponseTemplate, Tools};
use crate::value::{Object, Value};

use super::calls::{arguments_text, calls_of};
use super::delta::Delta;
use super::message::CompletionMessage;
use super::region::{CallPiece, CallPieces, CallRegion};
use super::{CompletionOptions, REASONING};

/// Turns events into deltas, and keeps the message that they make.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    template: ResponseTemplate,
    tools: Tools,
    options: CompletionOptions,
    message: CompletionMessage,
    /// The fields of which regions have opened.
    opened: Vec<String>,
    /// The fields with regions that could not be parsed.
    malformed: Vec<String>,
    /// The region of calls that is open, and the place of its first call in the message.
    calls: Option<(CallRegion, usize)>,
    /// Whether the text has ended for want of room, so that what it leaves open is cut off, and not malformed.
    is_cut: bool,
    /// The call that the end of the text has cut off.
    cut_off: Option<usize>,
}

/// What becomes of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Content,
    Reasoning,
    Calls,
    /// It goes into the message whole, in the end.
    Other,
}

impl Role {
    fn of(field: &str) -> Role {
        match field {
            "content" => Role::Content,
            "tool_calls" => Role::Calls,
            name if REASONING.contains(&name) => Role::Reasoning,
            _ => Role::Other,
        }
    }

    /// More text of the field.
    fn text(self, text: impl Into<String>) -> Option<Delta> {
        match self {
            Role::Content => Some(Delta::Content(text.into())),
            Role::Reasoning => Some(Delta::Reasoning(text.into())),
            Role::Calls | Role::Other => None,
        }
    }
}

/// Whether the chunks of a field, which are stripped, are its value.
fn streams(field: &Field) -> bool {
    matches!(field.content.parser, Parser::Text) && field.transform.is_none()
}

impl Writer {
    pub(super) fn new(
        template: &ResponseTemplate,
        tools: Tools,
        options: CompletionOptions,
    ) -> Writer {
        Writer {
            template: template.clone(),
            tools,
            options,
            message: CompletionMessage::default(),
            opened: Vec::new(),
            malformed: Vec::new(),
            calls: None,
            is_cut: false,
            cut_off: None,
        }
    }

    /// The text has ended for want of room.
    pub(super) fn set_cut(&mut self) {
        self.is_cut = true;
    }

    /// The call that has begun, and that the end of the text has cut off.
    pub(super) fn cut_off(&self) -> Option<usize> {
        self.cut_off
    }

    pub(super) fn options(&self) -> &CompletionOptions {
        &self.options
    }

    pub(super) fn message(&self) -> &CompletionMessage {
        &self.message
    }

    /// The message, and the fields with regions that could not be parsed.
    pub(super) fn into_parts(self) -> (CompletionMessage, Vec<String>, CompletionOptions) {
        (self.message, self.malformed, self.options)
    }

    /// What comes before all text.
    pub(super) fn begin(&mut self, send: &mut impl FnMut(&Delta)) {
        let role = self.template.defaults().get("role").and_then(Value::as_str);
        let role = role.unwrap_or("assistant").to_owned();
        self.send(Delta::Role(role), send);
    }

    /// Something has happened in the text.
    pub(super) fn take(&mut self, event: &Event<'_>, send: &mut impl FnMut(&Delta)) {
        let template = self.template.clone();
        let Some(field) = template.field(event.field()) else {
            return;
        };
        let role = Role::of(&field.name);
        match event {
            Event::Open { opening, .. } => {
                let captures = opening.as_ref().map(|opening| &*opening.captures);
                self.open(field, role, captures.unwrap_or_default(), send);
            }
            Event::Chunk { text, .. } => self.text(field, role, text, send),
            Event::Close { value, .. } => self.close(field, role, value, send),
            // What has been sent of it stays.
            Event::Malformed { at_end: true, .. } if self.is_cut => {
                let open = self.calls.take();
                self.cut_off = open.and_then(|(region, first)| Some(first + region.open_call()?));
            }
            Event::Malformed { .. } => {
                self.calls = None;
                if !self.malformed.contains(&field.name) {
                    self.malformed.push(field.name.clone());
                }
            }
        }
    }

    /// The output has ended with this message: what has not come yet.
    pub(super) fn end(&mut self, message: &Object, send: &mut impl FnMut(&Delta)) {
        for (name, value) in message.iter() {
            let name = name.to_string_lossy();
            if name == "role" {
                continue;
            }
            let is_default = !self.opened.iter().any(|opened| *opened == name);
            match Role::of(&name) {
                Role::Other => {
                    let (name, value) = (name.into_owned(), value.clone());
                    self.send(Delta::Field { name, value }, send);
                }
                Role::Calls if is_default => {
                    for call in calls_of(value) {
                        self.begin_call(&call.name, call.id, send);
                        let index = self.message.tool_calls.len() - 1;
                        let text = arguments_text(call.arguments);
                        self.send(Delta::Arguments { index, text }, send);
                    }
                }
                role if is_default => self.send_value(role, value, send),
                _ => {}
            }
        }
    }

    fn open(
        &mut self,
        field: &Field,
        role: Role,
        captures: &[Capture],
        send: &mut impl FnMut(&Delta),
    ) {
        let is_first = !self.opened.contains(&field.name);
        if is_first {
            self.opened.push(field.name.clone());
        }
        if let Some(join) = field.join() {
            let default = self.template.defaults().get(&field.name);
            let before = default.filter(|_| is_first).cloned();
            if let Some(before) = &before {
                self.send_value(role, before, send);
            }
            let has_text = !is_first || before.is_some_and(|before| !before.is_null());
            if let Some(delta) = role.text(join).filter(|_| has_text) {
                self.send(delta, send);
            }
        }
        if role == Role::Calls {
            let first = self.message.tool_calls.len();
            let mut parts = CallPieces::default();
            let typing = (&self.tools, self.template.language());
            let region = CallRegion::open(field, captures, typing, &mut parts);
            self.calls = Some((region, first));
            self.send_parts(parts, first, send);
        }
    }

    fn text(&mut self, field: &Field, role: Role, text: &str, send: &mut impl FnMut(&Delta)) {
        if let Some((region, first)) = &mut self.calls {
            let (mut parts, first) = (CallPieces::default(), *first);
            region.feed(field, text, &mut parts);
            self.send_parts(parts, first, send);
        } else if streams(field)
            && let Some(delta) = role.text(text)
        {
            self.send(delta, send);
        }
    }

    fn close(&mut self, field: &Field, role: Role, value: &Value, send: &mut impl FnMut(&Delta)) {
        if let Some((mut region, first)) = self.calls.take() {
            let mut parts = CallPieces::default();
            region.close(field, value, &mut parts);
            self.send_parts(parts, first, send);
        } else if !streams(field) {
            self.send_value(role, value, send);
        }
    }

    /// Sends a value that is known as a whole to a field of text.
    fn send_value(&mut self, role: Role, value: &Value, send: &mut impl FnMut(&Delta)) {
        let text = match value {
            Value::String(text) => text.to_string_lossy().into_owned(),
            Value::Null => return,
            value => json::write(value),
        };
        if let Some(delta) = role.text(text) {
            self.send(delta, send);
        }
    }

    fn send_parts(&mut self, parts: CallPieces, first: usize, send: &mut impl FnMut(&Delta)) {
        for part in parts.0 {
            match part {
                CallPiece::Begin { name, id } => self.begin_call(&name, id, send),
                CallPiece::Arguments { call, text } => {
                    let index = first + call;
                    self.send(Delta::Arguments { index, text }, send);
                }
            }
        }
    }

    fn begin_call(&mut self, name: &str, id: Option<String>, send: &mut impl FnMut(&Delta)) {
        let index = self.message.tool_calls.len();
        let id = id.unwrap_or_else(|| self.options.call_id(index));
        let name = name.to_owned();
        self.send(Delta::Call { index, id, name }, send);
    }

    fn send(&mut self, delta: Delta, send: &mut impl FnMut(&Delta)) {
        let is_empty = match &delta {
            Delta::Content(text) | Delta::Reasoning(text) | Delta::Arguments { text, .. } => {
                text.is_empty()
            }
            _ => false,
        };
        if !is_empty {
            self.message.add(&delta);
            send(&delta);
        }
    }
}
