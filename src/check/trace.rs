//! What happens while a text is read.

use crate::response::{
    Event, OwnedEvent, ParseError, ParserOptions, ResponseParser, ResponseTemplate,
};
use crate::value::{Object, Value};

use super::cuts::pieces;

/// The events of a text, with chunks that follow each other put together, and what came of it.
///
/// It is the same however the text was cut, or the template is at fault.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EventTrace {
    /// What happened.
    pub events: Vec<OwnedEvent>,
    /// The message, or why there is none.
    pub outcome: Result<Object, ParseError>,
}

impl EventTrace {
    /// Reads a text that is cut at some places.
    pub(super) fn read(
        template: &ResponseTemplate,
        options: ParserOptions,
        prefix: &str,
        output: &str,
        places: &[usize],
    ) -> EventTrace {
        let mut events = Vec::new();
        let outcome = read(
            template,
            options,
            prefix,
            pieces(output, places),
            &mut |event| {
                put(&mut events, &event);
            },
        );
        EventTrace { events, outcome }
    }

    /// For programs: an object of the `message`, or of the `error`, and of the `events`.
    pub fn to_value(&self) -> Value {
        let mut out = outcome_object(&self.outcome);
        out.insert("events", self.events_as_values());
        out.into()
    }

    /// The events as they are exchanged.
    pub fn events_as_values(&self) -> Vec<Value> {
        self.events.iter().map(OwnedEvent::to_value).collect()
    }
}

/// What came of a text, for programs: its `message`, or the `error`.
fn outcome_object(outcome: &Result<Object, ParseError>) -> Object {
    match outcome {
        Ok(message) => Object::from_iter([("message", message.clone())]),
        Err(error) => Object::from_iter([("error", error.to_string())]),
    }
}

fn read<'t>(
    template: &ResponseTemplate,
    options: ParserOptions,
    prefix: &str,
    pieces: impl Iterator<Item = &'t str>,
    on_event: &mut impl FnMut(Event<'_>),
) -> Result<Object, ParseError> {
    let mut parser = ResponseParser::new(template, prefix, options)?;
    for event in parser.initial_events() {
        on_event(event.as_event());
    }
    for piece in pieces {
        parser.feed_with(piece, &mut *on_event)?;
    }
    parser.finalize_with(on_event)
}

/// Adds an event; a chunk goes to the one before if it continues it.
fn put(events: &mut Vec<OwnedEvent>, event: &Event<'_>) {
    if let Event::Chunk { field, text, dirty } = event
        && let Some(OwnedEvent::Chunk {
            field: last_field,
            text: last_text,
            dirty: last_dirty,
        }) = events.last_mut()
        && last_field == field
        && last_dirty == dirty
    {
        last_text.push_str(text);
        return;
    }
    events.push(event.clone().into_owned());
}
