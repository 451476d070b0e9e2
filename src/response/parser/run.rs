//! The state of a parser, from one chunk to the next.

use crate::response::ParseError;
use crate::response::allowance::Growth;
use crate::response::event::Event;
use crate::response::template::Inner;
use crate::value::Object;

use super::held::Held;
use super::options::ParserOptions;
use super::pass::Pass;
use super::place::Place;
use super::scan::Searches;

/// All that changes while a parser reads.
#[derive(Debug, Clone)]
pub(super) struct Run {
    pub(super) options: ParserOptions,
    pub(super) message: Object,
    pub(super) searches: Searches,
    /// How much of the text since the anchor has been dealt with.
    pub(super) position: usize,
    pub(super) held: Held,
    pub(super) place: Place,
    /// How much longer than its text the message may still get.
    pub(super) growth: Growth,
    /// The room that the text of the last region took, for that of the next.
    pub(super) spare_body: String,
    failed: bool,
}

impl Run {
    pub(super) fn new(inner: &Inner, options: ParserOptions) -> Run {
        Run {
            options,
            message: inner.defaults.clone(),
            searches: Searches::new(inner),
            position: 0,
            held: Held::default(),
            place: Place::between_regions(inner),
            growth: Growth::new(),
            spare_body: String::new(),
            failed: false,
        }
    }

    /// Reads a chunk; the last one may be empty.
    pub(super) fn feed(
        &mut self,
        inner: &Inner,
        chunk: &str,
        is_last: bool,
        on_event: &mut impl FnMut(Event<'_>),
    ) -> Result<(), ParseError> {
        if self.failed {
            return Err(ParseError::AfterFailure);
        }
        self.searches.meter.grow(chunk.len());
        self.growth.allow(chunk.len());
        if !is_last && self.take_plain(inner, chunk, on_event) {
            return Ok(());
        }
        let mut text = std::mem::take(&mut self.held.text);
        // Where nothing is held back the chunk need not be copied to be looked at.
        let is_copied = !text.is_empty();
        if is_copied {
            text.push_str(chunk);
        }
        let window = self.held.window_on(if is_copied { &text } else { chunk });
        let pass = Pass {
            run: self,
            inner,
            window,
            is_last,
            on_event,
        };
        let result = pass.process();
        self.held.text = text;
        if is_copied {
            self.held.release(self.position, inner.reach);
        } else {
            let chunk = self.held.window_on(chunk);
            self.held.keep(&chunk, self.position, inner.reach);
        }
        self.failed = result.is_err();
        result
    }

    /// Gives a chunk to the region that is open, if all before it has been dealt with and no delimiter
    /// begins in it; says whether it has.
    #[inline]
    fn take_plain(
        &mut self,
        inner: &Inner,
        chunk: &str,
        on_event: &mut impl FnMut(Event<'_>),
    ) -> bool {
        let Place::Region(region) = &mut self.place else {
            return false;
        };
        let watched = inner.watched(Some(region.field));
        let is_plain = self.searches.have_nothing_under_way()
            && self.position > 0
            && self.position == self.held.end()
            && watched.filter(self.searches.have_no_part()).passes(chunk);
        if !is_plain {
            return false;
        }
        self.position += chunk.len();
        self.held.append(chunk, self.position, inner.reach);
        region.take(&inner.fields[region.field], chunk, &self.options, on_event);
        true
    }

    /// The message, when all of the text has been read.
    pub(super) fn message(&mut self, inner: &Inner) -> Result<Object, ParseError> {
        let mut message = std::mem::take(&mut self.message);
        let missing: Vec<String> = inner
            .fields
            .iter()
            .filter(|field| !field.optional && !message.contains_key(&field.name))
            .map(|field| field.name.clone())
            .collect();
        if !missing.is_empty() {
            return Err(ParseError::Missing { fields: missing });
        }
        message.retain(|key, value| {
            inner.defaults.get_json_string(key).is_some() || !value.is_empty()
        });
        Ok(message)
    }

    /// The same place, without anything that only values are made of.
    pub(super) fn without_values(&self, inner: &Inner) -> Run {
        let place = match &self.place {
            // Whether a delimiter lies in a string depends on the text before it.
            Place::Region(region) if region.guard.is_none() => Place::Region(region.without_text()),
            place => place.clone(),
        };
        Run {
            options: self.options.clone(),
            message: inner.defaults.clone(),
            searches: self.searches.clone(),
            held: self.held.clone(),
            place,
            growth: self.growth.clone(),
            spare_body: String::new(),
            ..*self
        }
    }

    /// Lets go of the text of the region that is open, of which no value is made.
    pub(super) fn forget_text(&mut self) {
        if let Place::Region(region) = &mut self.place
            && region.guard.is_none()
        {
            region.body.clear();
        }
    }
}
