//! The state of a parser, from one chunk to the next.

use crate::response::ParseError;
use crate::response::allowance::Growth;
use crate::response::event::Event;
use crate::response::template::Inner;
use crate::value::Object;
use crate::white_space::BLANKS;

use super::held::Held;
use super::options::ParserOptions;
use super::pass::Pass;
use super::place::Place;
use super::scan::{Scan, Searches};

/// More blanks than these are left to the searches, which need not read them again with each chunk.
const MAX_BLANKS: usize = 32;

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
    /// Whether the text of a region that is malformed has been given back.
    pub(super) has_given_back: bool,
    /// The text since the last region, where no field takes it.
    pub(super) outside: String,
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
            has_given_back: false,
            outside: String::new(),
            failed: false,
        }
    }

    /// The same for the text from a position on, before which a character stands.
    pub(super) fn starting_at(mut self, position: usize, before: Option<char>) -> Run {
        self.position = position;
        self.held.from = position;
        self.held.before = before;
        self
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

    /// Gives a chunk to the region that is open, if no delimiter begins in it, and none is under way; says whether it has.
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
        if !self.searches.have_nothing_under_way() || self.position == 0 {
            return false;
        }
        let watched = inner.watched(Some(region.field));
        let filter = watched.filter(self.searches.have_no_part());
        if self.position != self.held.end() || !filter.passes(chunk) {
            return watched.waits_behind_blanks && self.take_before_blanks(inner, chunk, on_event);
        }
        self.position += chunk.len();
        self.held.append(chunk, self.position, inner.reach);
        region.take(&inner.fields[region.field], chunk, &self.options, on_event);
        true
    }

    /// The same where a delimiter may begin with the blanks at the end: a few of them are held back, and looked at with
    /// what comes next. Of `the `, `tide` the second chunk brings ` tide`, and no search has begun for it.
    #[inline(never)]
    fn take_before_blanks(
        &mut self,
        inner: &Inner,
        chunk: &str,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> bool {
        let Place::Region(region) = &mut self.place else {
            return false;
        };
        let held = &mut self.held;
        let (from, before) = (self.position - held.from, held.text.len());
        let may_wait = from < before || chunk.ends_with(BLANKS);
        if !may_wait || before - from > MAX_BLANKS {
            return false;
        }
        held.text.push_str(chunk);
        let filter = inner
            .watched(Some(region.field))
            .filter(self.searches.have_no_part());
        let to = filter.find(&held.text, from, held.text.len());
        let blanks = &held.text[to..];
        if blanks.len() > MAX_BLANKS || !blanks.chars().all(|c| BLANKS.contains(&c)) {
            held.text.truncate(before);
            return false;
        }
        if to > from {
            let text = &held.text[from..to];
            region.take(&inner.fields[region.field], text, &self.options, on_event);
        }
        self.position = held.from + to;
        held.release(self.position, inner.reach);
        true
    }

    /// Lets all searches read the text that is held back, as far as they have not been asked to. Nothing is taken of
    /// it, and nothing is spent.
    pub(super) fn search_held(&mut self, inner: &Inner) {
        let are_blanks = self.searches.have_nothing_under_way() && self.position < self.held.end();
        let is_behind_holder = self.searches.holder.take().is_some();
        if self.failed || !(are_blanks || is_behind_holder) {
            return;
        }
        let meter = self.searches.meter.clone();
        let scan = Scan {
            inner,
            window: &self.held.window(),
            is_last: false,
            watched: inner.watched(self.place.field()),
            position: self.position,
            searches: &mut self.searches,
        };
        if scan.run().is_err() {
            // They have stopped anywhere. The parser says so at the next chunk.
            self.searches.restart();
        }
        self.searches.meter = meter;
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
            outside: String::new(),
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
