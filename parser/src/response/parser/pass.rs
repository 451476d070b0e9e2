//! One pass over a chunk: from delimiter to delimiter, as far as it is known what they are.

use std::borrow::Cow;
use std::ops::Range;

use crate::response::event::{Capture, Event, OpeningMatch};
use crate::response::guard::StringGuard;
use crate::response::language::Trait;
use crate::response::message::store;
use crate::response::pattern::{self, Window};
use crate::response::template::Inner;
use crate::response::watch::{DelimiterKind, Hit};
use crate::response::{ParseError, RegionError};
use crate::value::Value;

use super::options::{OnMalformed, Unfinished};
use super::place::Place;
use super::region::Region;
use super::run::Run;
use super::scan::{Scan, Scanned};

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
        self.close(end..end, true)
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
        let Place::Region(region) = &mut self.run.place else {
            return;
        };
        let field = &self.inner.fields[region.field];
        let text = self.window.slice(from, to);
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
        let guards =
            self.run.options.body_aware_close && of_field.content.string_delims().is_some();
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
        if let Place::Region(region) = &mut self.run.place {
            let field = &self.inner.fields[region.field];
            let options = &self.run.options;
            let span = options.spans.then_some(span);
            let growth = &mut self.run.growth;
            let typing = (&options.tools, self.inner.language);
            let unfinished = match at_end && field.can_be_cut_off(&region.body) {
                true => options.unfinished,
                false => Unfinished::Keep,
            };
            match region.value(field, &self.run.message, typing, growth) {
                _ if unfinished == Unfinished::Drop => {
                    (self.on_event)(Event::Malformed {
                        field: &field.name,
                        raw: &region.body,
                        error: CUT_OFF,
                        span,
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
                        span,
                        at_end,
                    });
                    store(&mut self.run.message, field, value);
                }
                Err(error) if options.on_malformed == OnMalformed::Event => {
                    (self.on_event)(Event::Malformed {
                        field: &field.name,
                        raw: &region.body,
                        error: &error.to_string(),
                        span,
                        at_end,
                    });
                }
                Err(error) => return Err(malformed(field.name(), region, error)),
            }
        }
        self.leave();
        Ok(())
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
