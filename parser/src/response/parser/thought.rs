//! Thoughts that end with a call, and not with what closes them.

use crate::response::call_names::{CALLS, REASONING};
use crate::response::content::Parser;
use crate::response::event::{Event, OwnedEvent};
use crate::response::pattern::Meter;
use crate::response::template::Inner;
use crate::white_space;

use super::options::{OnMalformed, OnUnread, ParserOptions};
use super::region::Region;
use super::run::Run;

/// A thought that calls end.
pub(super) struct EndedThought {
    /// So many bytes of its text are the thought.
    pub(super) at: usize,
    /// The same place in the text since the anchor.
    pub(super) position: usize,
    /// What happens from there on.
    pub(super) events: Vec<OwnedEvent>,
}

/// Ends a region that is a thought in whose text calls begin, and nothing else comes from there on to the end of the output. A thought that
/// only speaks of a call goes on behind it.
pub(super) fn ended_by_calls(
    inner: &Inner,
    region: &Region,
    options: &ParserOptions,
) -> Option<EndedThought> {
    let field = &inner.fields[region.field];
    let is_text = matches!(field.content.parser, Parser::Text) && field.transform.is_none();
    if !is_text || !REASONING.contains(&field.name()) {
        return None;
    }
    let calls = inner.fields.iter().find(|field| field.name() == CALLS)?;
    let mut meter = Meter::new(region.body.len());
    let opener = calls.open()?.compiled();
    let at = opener.find_within(&region.body, 0, &mut meter).ok()??.start;
    let position = region.start + at;
    let (thought, rest) = region.body.split_at(at);
    let options = ParserOptions {
        on_malformed: OnMalformed::Event,
        on_unread: OnUnread::Malformed,
        calls_end_thoughts: false,
        ..options.clone()
    };
    let mut run = Run::new(inner, options).starting_at(position, thought.chars().next_back());
    let mut events: Vec<OwnedEvent> = Vec::new();
    for (text, is_last) in [(rest, false), ("", true)] {
        let mut keep = |event: Event<'_>| events.push(event.into_owned());
        run.feed(inner, text, is_last, &mut keep).ok()?;
    }
    let is_call = |event: &OwnedEvent| event.as_event().field() == CALLS;
    let is_blank = |event: &OwnedEvent| match event {
        OwnedEvent::Open { .. } => true,
        OwnedEvent::Chunk { text, .. } => white_space::strip(text).is_empty(),
        OwnedEvent::Close { value, .. } => value.is_empty(),
        OwnedEvent::Malformed { .. } => false,
    };
    let are_calls = events.iter().all(|event| match event {
        OwnedEvent::Malformed { .. } => false,
        event => is_call(event) || is_blank(event),
    });
    events.retain(is_call);
    let is_made = events.iter().any(|e| matches!(e, OwnedEvent::Close { .. }));
    (are_calls && is_made).then_some(EndedThought {
        at,
        position,
        events,
    })
}
