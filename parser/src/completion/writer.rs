//! Events into deltas.

use crate::json;
use crate::response::{Capture, Event, Field, Parser, ResponseTemplate, Tools, UnknownTools};
use crate::value::{Object, Value};
use crate::white_space::is_space;

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
    /// The content, and the reasoning.
    texts: [StrippedText; 2],
    /// The place in the reasoning where the last thought begins.
    thought_from: usize,
    /// The fields with regions that could not be parsed.
    malformed: Vec<String>,
    /// The region of calls that is open.
    calls: Option<OpenCalls>,
    /// The places of calls in the message that have turned out to be malformed.
    withdrawn: Vec<usize>,
    /// Whether the text has ended for want of room, so that what it leaves open is cut off, and not malformed.
    is_cut: bool,
    /// The call that the end of the text has cut off.
    cut_off: Option<usize>,
}

/// A region of calls that is open.
#[derive(Debug, Clone)]
struct OpenCalls {
    region: CallRegion,
    /// The place in the message of each of its calls, nothing for those that the message goes without.
    places: Vec<Option<usize>>,
    /// A call that is a text.
    text: StrippedText,
}

/// A text that comes in pieces, without the white space around it.
#[derive(Debug, Clone, Default)]
struct StrippedText {
    /// White space that belongs to it if more of it follows.
    held: String,
    /// Set once some of it has come, before which white space is none of it.
    has_begun: bool,
}

impl StrippedText {
    /// Returns the part of the text that is certain with this piece, if any is. A piece is looked at once, however many come without a word.
    fn take(&mut self, piece: &str) -> Option<String> {
        let kept = piece.trim_end_matches(is_space).len();
        if kept == 0 {
            self.held.push_str(piece);
            return None;
        }
        let (certain, rest) = piece.split_at(kept);
        let mut text = std::mem::replace(&mut self.held, rest.to_owned());
        text.push_str(certain);
        match std::mem::replace(&mut self.has_begun, true) {
            true => Some(text),
            false => Some(text.trim_start_matches(is_space).to_owned()),
        }
    }
}

/// The message that has been written in the end, and what is no part of it.
pub(super) struct Written {
    pub(super) message: CompletionMessage,
    /// The fields with regions that could not be parsed.
    pub(super) malformed: Vec<String>,
    /// The places of calls in the message that have turned out to be malformed.
    pub(super) withdrawn: Vec<usize>,
    pub(super) options: CompletionOptions,
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
            texts: Default::default(),
            thought_from: 0,
            malformed: Vec::new(),
            calls: None,
            withdrawn: Vec::new(),
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

    pub(super) fn into_written(self) -> Written {
        Written {
            message: self.message,
            malformed: self.malformed,
            withdrawn: self.withdrawn,
            options: self.options,
        }
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
                self.cut_off = open.and_then(|open| *open.places.get(open.region.open_call()?)?);
            }
            Event::Malformed { .. } => {
                if let Some(open) = self.calls.take() {
                    self.withdrawn.extend(open.places.into_iter().flatten());
                }
                self.set_malformed(&field.name);
            }
        }
    }

    fn set_malformed(&mut self, field: &str) {
        if !self.malformed.iter().any(|known| known == field) {
            self.malformed.push(field.to_owned());
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
            if let Some(text) = self.text_of(role) {
                *text = StrippedText::default();
            }
            let has_text = !is_first || before.is_some_and(|before| !before.is_null());
            if let Some(delta) = role.text(join).filter(|_| has_text) {
                self.send(delta, send);
            }
        }
        if role == Role::Reasoning {
            self.thought_from = self.message.reasoning.as_ref().map_or(0, String::len);
        }
        if role == Role::Calls {
            let mut parts = CallPieces::default();
            let typing = (&self.tools, self.template.language());
            let region = CallRegion::open(field, captures, typing, &mut parts);
            let mut places = Vec::new();
            self.send_parts(parts, &mut places, send);
            self.calls = Some(OpenCalls {
                region,
                places,
                text: StrippedText::default(),
            });
        }
    }

    fn text(&mut self, field: &Field, role: Role, text: &str, send: &mut impl FnMut(&Delta)) {
        if let Some(mut open) = self.calls.take() {
            let mut parts = CallPieces::default();
            match field.content.is_stripped_text() {
                true => {
                    let text = open.text.take(text).unwrap_or_default();
                    open.region.feed(field, &text, &mut parts);
                }
                false => open.region.feed(field, text, &mut parts),
            }
            self.send_parts(parts, &mut open.places, send);
            self.calls = Some(open);
        } else if streams(field)
            && let Some(delta) = self.stripped(field, role, text).and_then(|t| role.text(t))
        {
            self.send(delta, send);
        }
    }

    fn text_of(&mut self, role: Role) -> Option<&mut StrippedText> {
        match role {
            Role::Content => Some(&mut self.texts[0]),
            Role::Reasoning => Some(&mut self.texts[1]),
            Role::Calls | Role::Other => None,
        }
    }

    /// Returns the part of a text that can be sent now: neither the white space at its end, which may be that of all of it, nor that at its beginning.
    /// Between two texts it stays, unless these are joined.
    fn stripped(&mut self, field: &Field, role: Role, piece: &str) -> Option<String> {
        if !field.content.is_stripped_text() {
            return Some(piece.to_owned());
        }
        let message = &self.message;
        let follows = field.join().is_none()
            && match role {
                Role::Content => message.content.is_some(),
                _ => message.reasoning.is_some(),
            };
        let text = self.text_of(role)?;
        text.has_begun |= follows;
        text.take(piece)
    }

    fn close(&mut self, field: &Field, role: Role, value: &Value, send: &mut impl FnMut(&Delta)) {
        if let Some(mut open) = self.calls.take() {
            let mut parts = CallPieces::default();
            open.region.close(field, value, &mut parts);
            self.send_parts(parts, &mut open.places, send);
            if open.places.contains(&None) {
                self.set_malformed(&field.name);
            }
        } else if !streams(field) {
            self.send_value(role, value, send);
        } else if let (Role::Reasoning, Some(thought)) = (role, value.as_str()) {
            self.end_thought(thought);
        }
    }

    /// A thought is only the beginning of what has been sent of it, if a call has ended it.
    fn end_thought(&mut self, thought: &str) {
        let from = self.thought_from;
        let Some(sent) = &mut self.message.reasoning else {
            return;
        };
        let of_thought = sent.get(from..).unwrap_or_default();
        let space = of_thought.len() - of_thought.trim_start_matches(is_space).len();
        if of_thought.len() > space + thought.len() && of_thought[space..].starts_with(thought) {
            sent.truncate(if thought.is_empty() {
                from
            } else {
                from + space + thought.len()
            });
        }
        if sent.is_empty() {
            self.message.reasoning = None;
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

    fn send_parts(
        &mut self,
        parts: CallPieces,
        places: &mut Vec<Option<usize>>,
        send: &mut impl FnMut(&Delta),
    ) {
        for part in parts.0 {
            match part {
                CallPiece::Begin { name, id } => {
                    let is_sent = self.options.unknown_tools == UnknownTools::Keep
                        || self.tools.offers(&name.as_str().into());
                    places.push(is_sent.then_some(self.message.tool_calls.len()));
                    if is_sent {
                        self.begin_call(&name, id, send);
                    }
                }
                CallPiece::Arguments { call, text } => {
                    if let Some(index) = places.get(call).copied().flatten() {
                        self.send(Delta::Arguments { index, text }, send);
                    }
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
