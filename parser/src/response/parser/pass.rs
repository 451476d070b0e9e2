//! One pass over a chunk: from delimiter to delimiter, as far as it is known what they are.

use std::borrow::Cow;
use std::ops::Range;

use crate::response::call_names::REASONING;
use crate::response::event::{Capture, Event, OpeningMatch};
use crate::response::guard::StringGuard;
use crate::response::language::Trait;
use crate::response::message::{check_place, put_behind, store};
use crate::response::pattern::{self, Window};
use crate::response::template::Inner;
use crate::response::unread;
use crate::response::watch::{DelimiterKind, Hit};
use crate::response::{ParseError, RegionError};
use crate::value::Value;
use crate::white_space;

use super::options::{OnUnread, Unfinished};
use super::place::Place;
use super::region::Region;
use super::run::Run;
use super::scan::{Scan, Scanned};
use super::thought;

/// What is wrong with a region that is dropped because it is cut off.
const CUT_OFF: &str = "the text ends before this does";

/// A pass over the text of a chunk, with what was held back before it.
pub(super) struct Pass<'p> {
    pub(super) run: &'p mut Run,
    pub(super) inner: &'p Inner,
    pub(super) window: Window<'p>,
    /// Whether no more text follows.
    pub(super) is_last: bool,
    pub(super) on_event: &'p mut dyn FnMut(Event<'_>),
}

impl Pass<'_> {
    /// Deals with the text, up to what has to be held back.
    pub(super) fn process(mut self) -> Result<(), ParseError> {
        // Where a region last opened without taking any text.
        let mut opened_on_nothing = None;
        loop {
            let hit = match self.scan()? {
                Scanned::Hit(hit) => hit,
                Scanned::Hold(from) => return self.finish(from),
            };
            self.take_text(hit.start);
            if self.skip_string(&hit) {
                continue;
            }
            self.run.position = hit.end;
            match hit.watch.kind {
                DelimiterKind::Open => {
                    if hit.is_empty() && opened_on_nothing.replace(hit.end) == Some(hit.end) {
                        return Err(self.stuck(&hit));
                    }
                    self.close(hit.start..hit.start, false)?;
                    // What comes before a region is its header, or was to be.
                    self.run.outside.clear();
                    self.open(&hit);
                }
                DelimiterKind::Close => {
                    let was_open = self.run.place.region().is_some();
                    self.capture_close(&hit);
                    self.close(hit.start..hit.end, false)?;
                    if !was_open && hit.is_empty() {
                        // It would be found again right away; there is nothing more to it.
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Looks for the next delimiter that counts.
    fn scan(&mut self) -> Result<Scanned, ParseError> {
        let scan = Scan {
            inner: self.inner,
            window: &self.window,
            is_last: self.is_last,
            watched: self.inner.watched(self.run.place.field()),
            position: self.run.position,
            searches: &mut self.run.searches,
        };
        scan.run()
    }

    /// Takes the text that need not be held back: all of it, if no more follows.
    fn finish(mut self, hold: usize) -> Result<(), ParseError> {
        if !self.is_last {
            self.take_text(hold);
            return Ok(());
        }
        let end = self.window.end();
        self.take_text(end);
        if self.run.options.calls_end_thoughts {
            self.end_thought()?;
        }
        self.close(end..end, true)?;
        self.end_outside(end)
    }

    fn stuck(&self, hit: &Hit) -> ParseError {
        ParseError::Stuck {
            field: self.inner.fields[hit.watch.field].name.clone(),
            position: hit.end,
        }
    }

    /// Gives the text up to a position to the region that is open.
    #[inline]
    fn take_text(&mut self, to: usize) {
        if to <= self.run.position {
            return;
        }
        let from = std::mem::replace(&mut self.run.position, to);
        if let Place::Implicit(field) = self.run.place {
            self.enter(field, from..from, Vec::new());
        }
        let text = self.window.slice(from, to);
        let Place::Region(region) = &mut self.run.place else {
            if self.run.options.on_unread == OnUnread::Malformed {
                self.run.outside.push_str(text);
            }
            return;
        };
        let field = &self.inner.fields[region.field];
        region.take(field, text, &self.run.options, self.on_event);
    }

    /// If a delimiter lies inside of a string of the body, takes it for text, or so much of it
    /// that the search can go on.
    fn skip_string(&mut self, hit: &Hit) -> bool {
        let Place::Region(Region {
            field,
            body,
            guard: Some(guard),
            ..
        }) = &mut self.run.place
        else {
            return false;
        };
        let content = &self.inner.fields[*field].content;
        let delims = content.string_delims().unwrap_or_default();
        guard.read(body, delims);
        // What stands at the very end may close: there is nothing after it to take instead.
        let first = self.window.char_at(hit.start);
        let Some(first) = first.filter(|_| guard.is_inside()) else {
            return false;
        };
        let text = self.window.slice(hit.start, hit.end);
        let may_end = |c: char| c == '"' || delims.iter().any(|(_, d)| d.starts_with(c));
        // If the string may end amid the delimiter, another one may begin there.
        let to = match text.is_empty() || text.contains(may_end) {
            true => hit.start + first.len_utf8(),
            false => hit.end,
        };
        self.take_text(to);
        self.run.searches.restart();
        true
    }

    /// Opens the region of a delimiter that has been found.
    fn open(&mut self, hit: &Hit) {
        let captures = self.captures(hit);
        self.enter(hit.watch.field, hit.start..hit.end, captures);
    }

    /// Opens a region behind its delimiter, which is empty for the implicit one.
    fn enter(&mut self, field: usize, span: Range<usize>, captures: Vec<Capture>) {
        let of_field = &self.inner.fields[field];
        let options = &self.run.options;
        let guards = options.body_aware_close && of_field.content.string_delims().is_some();
        let opening = match options.gives_back() {
            true => self.window.slice(span.start, span.end).to_owned(),
            false => String::new(),
        };
        (self.on_event)(Event::Open {
            field: &of_field.name,
            opening: self.run.options.spans.then_some(OpeningMatch {
                span: span.clone(),
                captures: Cow::Borrowed(&captures),
            }),
        });
        self.run.place = Place::Region(Region {
            field,
            start: span.end,
            opening,
            captures,
            body: std::mem::take(&mut self.run.spare_body),
            reported: 0,
            guard: guards.then(StringGuard::default),
        });
    }

    /// The named groups of a delimiter that has been found, those that took part.
    fn captures(&mut self, hit: &Hit) -> Vec<Capture> {
        let pattern = self.inner.delimiter(&hit.watch).compiled();
        if pattern.groups().is_empty() {
            return Vec::new();
        }
        let bounds = self.run.searches.groups(&hit.watch, pattern);
        let named = pattern.groups().iter().enumerate();
        // Those without a name are only there for references to them.
        let named = named.filter(|(_, name)| !name.is_empty());
        let captures = named.filter_map(|(index, name)| {
            let range = pattern::group(bounds, index)?;
            Some(Capture {
                name: name.clone(),
                text: self.window.slice(range.start, range.end).into(),
            })
        });
        captures.collect()
    }

    /// Adds what a closing delimiter captured to the region that it closes.
    fn capture_close(&mut self, hit: &Hit) {
        if !self.inner.language.has(Trait::ClosingGroups) {
            return;
        }
        let captures = self.captures(hit);
        if let Place::Region(region) = &mut self.run.place {
            region.captures.extend(captures);
        }
    }

    /// Closes the region that is open, if there is one, at a delimiter that lies there, or at the end of
    /// the text.
    fn close(&mut self, span: Range<usize>, at_end: bool) -> Result<(), ParseError> {
        let mut given_back = None;
        if let Place::Region(region) = &mut self.run.place {
            let field = &self.inner.fields[region.field];
            let options = &self.run.options;
            let shown = options.spans.then(|| span.clone());
            let growth = &mut self.run.growth;
            let unfinished = match at_end && field.can_be_cut_off(&region.body) {
                true => options.unfinished,
                false => Unfinished::Keep,
            };
            match region.checked_value(self.inner, &self.run.message, options, growth) {
                _ if unfinished == Unfinished::Drop => {
                    (self.on_event)(Event::Malformed {
                        field: &field.name,
                        raw: &region.body,
                        error: CUT_OFF,
                        span: shown,
                        at_end,
                    });
                }
                Ok(mut value) => {
                    if unfinished == Unfinished::Mark {
                        mark(&mut value);
                    }
                    (self.on_event)(Event::Close {
                        field: &field.name,
                        value: &value,
                        span: shown,
                        at_end,
                    });
                    match self.run.has_given_back
                        && self.inner.field_for_text() == Some(region.field)
                    {
                        true => put_behind(&mut self.run.message, field, value),
                        false => store(&mut self.run.message, field, value),
                    }
                }
                Err(error) => {
                    let Some(gives_back) = options.passes(&error) else {
                        return Err(malformed(field.name(), region, error));
                    };
                    (self.on_event)(Event::Malformed {
                        field: &field.name,
                        raw: &region.body,
                        error: &error.to_string(),
                        span: shown,
                        at_end,
                    });
                    if gives_back {
                        let closing = self.window.slice(span.start, span.end);
                        let closing = self.inner.without_end_of_turn(closing);
                        let opening = std::mem::take(&mut region.opening);
                        given_back = Some(opening + &region.body + closing);
                    }
                }
            }
        }
        self.leave();
        if let Some(text) = given_back {
            self.give_back(&text, span.end, at_end);
        }
        Ok(())
    }

    /// Deals with the text behind the last region that stands in none, if nothing but thoughts has been read: there was to be an answer. What
    /// stands around an answer or calls may belong to none.
    fn end_outside(&mut self, position: usize) -> Result<(), ParseError> {
        if self.run.outside.is_empty() {
            return Ok(());
        }
        let text = std::mem::take(&mut self.run.outside);
        let message = &self.run.message;
        let fields = self.inner.fields.iter().map(|field| field.name());
        let mut answers = fields.filter(|name| !REASONING.contains(name));
        if answers.any(|name| message.get(name).is_some_and(|value| !value.is_empty())) {
            return Ok(());
        }
        if self.run.options.unfinished == Unfinished::Drop {
            // It may have become a header.
            return Ok(());
        }
        let Err(error) = unread::check_outside(self.inner, &text) else {
            return Ok(());
        };
        let index = self.inner.field_for_text().unwrap_or_default();
        let field = self.inner.fields[index].name.as_str();
        let start = position - text.len();
        let Some(gives_back) = self.run.options.passes(&error) else {
            let (field, span) = (field.to_owned(), start..position);
            return Err(ParseError::Region { field, span, error });
        };
        let spans = self.run.options.spans;
        (self.on_event)(Event::Open {
            field,
            opening: spans.then_some(OpeningMatch {
                span: start..start,
                captures: Cow::Borrowed(&[]),
            }),
        });
        (self.on_event)(Event::Malformed {
            field,
            raw: &text,
            error: &error.to_string(),
            span: spans.then_some(position..position),
            at_end: true,
        });
        if gives_back {
            self.give_back(&text, position, true);
        }
        Ok(())
    }

    /// Ends a thought that nothing has closed where a call begins in it, if there is nothing but calls from there on.
    fn end_thought(&mut self) -> Result<(), ParseError> {
        let Some(thought) = self.run.place.region() else {
            return Ok(());
        };
        let Some(ended) = thought::ended_by_calls(self.inner, thought, &self.run.options) else {
            return Ok(());
        };
        if let Place::Region(region) = &mut self.run.place {
            region.body.truncate(ended.at);
        }
        self.close(ended.position..ended.position, false)?;
        for event in &ended.events {
            (self.on_event)(event.as_event());
            let Event::Close { field, value, .. } = event.as_event() else {
                continue;
            };
            let field = self.inner.fields.iter().find(|known| known.name == field);
            if let Some(field) = field
                && check_place(&self.run.message, field).is_ok()
            {
                store(&mut self.run.message, field, value.clone());
            }
        }
        Ok(())
    }

    /// Gives the text of a region that is malformed to the field for it, as a region of its own.
    fn give_back(&mut self, text: &str, position: usize, at_end: bool) {
        let Some(field) = self.inner.field_for_text() else {
            return;
        };
        let field = &self.inner.fields[field];
        let options = &self.run.options;
        let text = match options.stripped_chunks && field.content.is_stripped_text() {
            true => white_space::strip(text),
            false => text,
        };
        (self.on_event)(Event::Open {
            field: &field.name,
            opening: options.spans.then_some(OpeningMatch {
                span: position..position,
                captures: Cow::Borrowed(&[]),
            }),
        });
        (self.on_event)(Event::Chunk {
            field: &field.name,
            text,
            dirty: false,
        });
        let value = field.content.stripped(text).into();
        (self.on_event)(Event::Close {
            field: &field.name,
            value: &value,
            span: options.spans.then_some(position..position),
            at_end,
        });
        if check_place(&self.run.message, field).is_ok() {
            put_behind(&mut self.run.message, field, value);
            self.run.has_given_back = true;
        }
    }

    /// Goes back to where no region is open.
    fn leave(&mut self) {
        let between = Place::between_regions(self.inner);
        if let Place::Region(region) = std::mem::replace(&mut self.run.place, between) {
            self.run.spare_body = region.body;
            self.run.spare_body.clear();
        }
        self.run.searches.restart();
    }
}

/// Says of a value, or of the last of a list, that it is cut off.
fn mark(value: &mut Value) {
    match value {
        Value::Object(object) => drop(object.insert("unfinished", true)),
        Value::Array(values) => values.last_mut().into_iter().for_each(mark),
        _ => {}
    }
}

fn malformed(field: &str, region: &Region, error: RegionError) -> ParseError {
    ParseError::Region {
        field: field.to_owned(),
        span: region.start..region.start + region.body.len(),
        error,
    }
}
