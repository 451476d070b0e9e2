//! The streaming parser.

mod outlook;

use crate::value::{Object, Value};

use super::content::Parser;
use super::event::{Capture, Event, Opening, OwnedEvent};
use super::guard::StringGuard;
use super::message::{check_place, store};
use super::pattern::{self, Meter, Search, TooCostly, Verdict, Window};
use super::template::{Field, Inner, ResponseTemplate};
use super::tools::Tools;
use super::transform::{Allowance, Scope};
use super::watch::{Hit, Kind, Watch};
use super::{ParseError, RegionError};

pub use outlook::{Awaited, Outlook};

/// How much text is searched at first for all delimiters on watch, before what has been found
/// decides how much more has to be.
const FIRST_SPAN: usize = 256;

/// What a parser does beyond the language's definition. The default is to do nothing beyond it.
#[derive(Debug, Clone, Default)]
pub struct ParserOptions {
    /// The tools that the prompt offered: the arguments of calls are typed by their schemas.
    pub tools: Tools,
    /// What to do when the text of a region can't be parsed.
    pub on_malformed: OnMalformed,
    /// Whether events tell where delimiters lie in the text since the anchor, and what the
    /// opening ones captured.
    pub spans: bool,
    /// Whether closing delimiters are ignored inside of the strings of `json` regions. Arguments
    /// are code and documents, and may well hold what closes a call.
    pub body_aware_close: bool,
}

/// What to do when the text of a region can't be parsed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnMalformed {
    /// Parsing ends with an error.
    #[default]
    Fail,
    /// The region ends with an [`Event::Malformed`], the message goes without it, and parsing
    /// goes on.
    Event,
}

/// Reads the output of a model while it is written.
///
/// Text goes in by [`feed`](Self::feed) or [`feed_with`](Self::feed_with), and what happens in it
/// comes out as events; [`finalize`](Self::finalize) ends it and gives the message.
///
/// ```
/// use unjinja::{json, OwnedEvent, ParserOptions, ResponseParser, ResponseTemplate};
///
/// let template = ResponseTemplate::from_json(r#"{
///     "defaults": {"role": "assistant"},
///     "start_anchor": "<bot>",
///     "fields": {
///         "thinking": {"open": "<think>", "close": "</think>"},
///         "content": {"close": "<end>"}
///     }
/// }"#)?;
/// let mut parser = ResponseParser::new(&template, "<user>Hi<bot><think>", ParserOptions::default())?;
/// let mut thoughts = String::new();
/// for chunk in ["A greet", "ing.</th", "ink>He", "llo!<end>"] {
///     for event in parser.feed(chunk)? {
///         if let OwnedEvent::Chunk { field, text, .. } = event {
///             if field == "thinking" {
///                 thoughts.push_str(&text);
///             }
///         }
///     }
/// }
/// let (message, _last_events) = parser.finalize()?;
/// assert_eq!(thoughts, "A greeting.");
/// assert_eq!(
///     json::write(&message.into()),
///     r#"{"role":"assistant","thinking":"A greeting.","content":"Hello!"}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A clone goes on by itself. Keep one to come back to its place in the text:
///
/// ```
/// use unjinja::{ParserOptions, ResponseParser, ResponseTemplate};
///
/// let template = ResponseTemplate::from_json(
///     r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#)?;
/// let mut parser = ResponseParser::new(&template, "", ParserOptions::default())?;
/// parser.feed("A greet")?;
/// let kept = parser.clone();
///
/// for (mut parser, rest, content) in [
///     (parser, "ing.<end>", "A greeting."),
///     (kept, "ed guest.<end>", "A greeted guest."),
/// ] {
///     parser.feed(rest)?;
///     let (message, _last_events) = parser.finalize()?;
///     assert_eq!(message.get("content").and_then(|content| content.as_str()), Some(content));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ResponseParser {
    template: ResponseTemplate,
    initial_events: Vec<OwnedEvent>,
    run: Run,
}

/// Parses a whole output at once.
///
/// `prefix` is the prompt, of which the part after the last anchor belongs to the message; `""`
/// says that the output is the whole message.
///
/// ```
/// use unjinja::{parse, ParserOptions, ResponseTemplate};
///
/// let template = ResponseTemplate::from_json(
///     r#"{"start_anchor": "A:", "fields": {"content": {"close": "<end>"}}}"#)?;
/// let message = parse(&template, "Q: Hi A:", " Hello!<end>", ParserOptions::default())?;
/// assert_eq!(message.get("content").and_then(|content| content.as_str()), Some("Hello!"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parse(
    template: &ResponseTemplate,
    prefix: &str,
    text: &str,
    options: ParserOptions,
) -> Result<Object, ParseError> {
    let mut parser = ResponseParser::new(template, prefix, options)?;
    parser.feed_with(text, |_| {})?;
    parser.finalize_with(|_| {})
}

impl ResponseParser {
    /// A parser for one output. What the prefix writes into the message is parsed at once; see
    /// [`parse`] for what a prefix is.
    pub fn new(
        template: &ResponseTemplate,
        prefix: &str,
        options: ParserOptions,
    ) -> Result<ResponseParser, ParseError> {
        let mut parser = ResponseParser {
            run: Run::new(&template.inner, options),
            template: template.clone(),
            initial_events: Vec::new(),
        };
        let prefix = template.after_anchor(prefix)?.unwrap_or(prefix);
        if !prefix.is_empty() {
            let mut events = Vec::new();
            parser.feed_with(prefix, |event| events.push(event.to_owned()))?;
            parser.initial_events = events;
        }
        Ok(parser)
    }

    /// What the prefix has written into the message.
    pub fn initial_events(&self) -> &[OwnedEvent] {
        &self.initial_events
    }

    /// Reads the next piece of the output, and returns what has happened.
    pub fn feed(&mut self, chunk: &str) -> Result<Vec<OwnedEvent>, ParseError> {
        let mut events = Vec::new();
        self.feed_with(chunk, |event| events.push(event.to_owned()))?;
        Ok(events)
    }

    /// Reads the next piece of the output, and hands over what happens while it does.
    ///
    /// Nothing is allocated for chunks: they are slices of the text.
    pub fn feed_with(
        &mut self,
        chunk: &str,
        mut on_event: impl FnMut(Event<'_>),
    ) -> Result<(), ParseError> {
        self.run
            .feed(&self.template.inner, chunk, false, &mut on_event)
    }

    /// Ends the output: what is still open is closed. Returns the message and the last events.
    pub fn finalize(self) -> Result<(Object, Vec<OwnedEvent>), ParseError> {
        let mut events = Vec::new();
        let message = self.finalize_with(|event| events.push(event.to_owned()))?;
        Ok((message, events))
    }

    /// Ends the output, and hands over the last events. Returns the message.
    pub fn finalize_with(
        mut self,
        mut on_event: impl FnMut(Event<'_>),
    ) -> Result<Object, ParseError> {
        let inner = &*self.template.inner;
        self.run.feed(inner, "", true, &mut on_event)?;
        self.run.message(inner)
    }

    /// The message so far: the fields of the regions that have been closed, and the defaults.
    pub fn message_so_far(&self) -> &Object {
        &self.run.message
    }

    /// The field whose region is open.
    pub fn open_field(&self) -> Option<&str> {
        let field = self.run.current.filter(|_| self.run.opened)?;
        Some(self.template.inner.fields[field].name())
    }
}

impl Drop for ResponseParser {
    fn drop(&mut self) {
        let inner = &self.template.inner;
        let searches = std::mem::take(&mut self.run.searches);
        for (delimiter, search) in inner.delimiters().zip(searches) {
            delimiter.compiled().give_back(search);
        }
    }
}

enum Scanned {
    Hit(Hit),
    /// Nothing counts yet; from here on the text is held back.
    Hold(usize),
}

/// The state of a parser.
#[derive(Debug, Clone)]
struct Run {
    options: ParserOptions,
    message: Object,
    /// A search for each delimiter of the template.
    searches: Vec<Search>,
    /// What they may still cost.
    meter: Meter,
    /// Whether the searches for what is on watch have begun.
    armed: bool,
    /// How much of the text since the anchor has been dealt with.
    position: usize,
    /// Text that has not, or that patterns may still look back at.
    held: String,
    /// Where that text begins, and the character before it.
    held_from: usize,
    before: Option<char>,
    /// The field whose region the text goes to.
    current: Option<usize>,
    /// Whether that region has begun: the implicit one does with its first character.
    opened: bool,
    region_start: usize,
    captures: Vec<Capture>,
    body: String,
    guard: Option<StringGuard>,
    failed: bool,
}

impl Run {
    fn new(inner: &Inner, options: ParserOptions) -> Run {
        Run {
            options,
            message: inner.defaults.clone(),
            searches: inner
                .delimiters()
                .map(|delimiter| delimiter.compiled().search())
                .collect(),
            meter: Meter::new(0),
            armed: false,
            position: 0,
            held: String::new(),
            held_from: 0,
            before: None,
            current: inner.implicit,
            opened: false,
            region_start: 0,
            captures: Vec::new(),
            body: String::new(),
            guard: None,
            failed: false,
        }
    }

    fn feed(
        &mut self,
        inner: &Inner,
        chunk: &str,
        is_last: bool,
        on_event: &mut impl FnMut(Event<'_>),
    ) -> Result<(), ParseError> {
        if self.failed {
            return Err(ParseError::AfterFailure);
        }
        self.meter.grow(chunk.len());
        let result = if self.held.is_empty() {
            // Nothing is held back: the chunk need not be copied to be looked at.
            let window = Window {
                text: chunk,
                base: self.position,
                before: self.before,
            };
            let result = self.process(inner, &window, is_last, on_event);
            self.hold(inner, &window);
            result
        } else {
            let mut held = std::mem::take(&mut self.held);
            held.push_str(chunk);
            let window = Window {
                text: &held,
                base: self.held_from,
                before: self.before,
            };
            let result = self.process(inner, &window, is_last, on_event);
            self.held = held;
            self.release(inner);
            result
        };
        self.failed = result.is_err();
        result
    }

    /// Keeps what of a chunk has not been dealt with.
    fn hold(&mut self, inner: &Inner, window: &Window<'_>) {
        if inner.looks_behind {
            self.held_from = window.base;
            self.held.push_str(window.text);
            return;
        }
        self.held_from = self.position;
        self.before = window.char_before(self.position);
        self.held
            .push_str(window.slice(self.position, window.end()));
    }

    /// Lets go of held text that has been dealt with, when there is more of it than of the rest.
    fn release(&mut self, inner: &Inner) {
        let done = self.position - self.held_from;
        if inner.looks_behind || done < self.held.len() - done {
            return;
        }
        self.before = self.held[..done].chars().next_back().or(self.before);
        self.held_from = self.position;
        self.held.drain(..done);
    }

    fn process(
        &mut self,
        inner: &Inner,
        window: &Window<'_>,
        is_last: bool,
        on_event: &mut impl FnMut(Event<'_>),
    ) -> Result<(), ParseError> {
        // Where a region last opened without taking any text.
        let mut opened_on_nothing = None;
        loop {
            let hit = match self.scan(inner, window, is_last)? {
                Scanned::Hit(hit) => hit,
                Scanned::Hold(hold) => {
                    let to = if is_last { window.end() } else { hold };
                    self.take_text(inner, window, to, on_event);
                    if is_last {
                        self.close(inner, to..to, on_event)?;
                    }
                    return Ok(());
                }
            };
            self.take_text(inner, window, hit.start, on_event);
            if self.skip_string(inner, window, &hit, on_event) {
                continue;
            }
            self.position = hit.end;
            match hit.watch.kind {
                Kind::Open => {
                    if hit.start == hit.end && opened_on_nothing.replace(hit.end) == Some(hit.end) {
                        return Err(self.stuck(inner, &hit));
                    }
                    let groups = self.groups(inner, window, &hit);
                    self.close(inner, hit.start..hit.start, on_event)?;
                    self.open(inner, &hit, groups, on_event);
                }
                Kind::Close => {
                    let had_text = self.opened;
                    let groups = self.groups(inner, window, &hit);
                    self.captures.extend(groups);
                    self.close(inner, hit.start..hit.end, on_event)?;
                    if !had_text && hit.start == hit.end {
                        // It would be found again right away; there is nothing more to it.
                        return Ok(());
                    }
                }
            }
        }
    }

    fn stuck(&self, inner: &Inner, hit: &Hit) -> ParseError {
        ParseError::Stuck {
            field: inner.fields[hit.watch.field].name.clone(),
            position: hit.end,
        }
    }

    /// Looks for the next delimiter that counts.
    fn scan(
        &mut self,
        inner: &Inner,
        window: &Window<'_>,
        is_last: bool,
    ) -> Result<Scanned, ParseError> {
        let watches = inner.watches(self.current);
        let position = self.position;
        for watch in watches {
            let pattern = inner.delimiter(watch).compiled();
            let search = &mut self.searches[watch.delimiter];
            if is_last && search.is_exhausted() {
                continue;
            }
            if self.armed {
                search.forget_before(pattern, window, position);
            } else {
                search.start(pattern, window, position);
            }
        }
        self.armed = true;
        self.search(inner, window, is_last)?;
        self.decide(inner, window, is_last)
    }

    /// Reads on for all delimiters on watch, no further than it takes to know which comes first:
    /// text that is searched for a delimiter again and again, because others come before it, would
    /// cost more than its length.
    fn search(
        &mut self,
        inner: &Inner,
        window: &Window<'_>,
        is_last: bool,
    ) -> Result<(), ParseError> {
        let watches = inner.watches(self.current);
        let end = window.end();
        let mut span = FIRST_SPAN;
        loop {
            let limit = match end - self.position <= span {
                true => end,
                false => window.floor(self.position + span),
            };
            let mut first: Option<usize> = None;
            for watch in watches {
                let search = &mut self.searches[watch.delimiter];
                search
                    .advance(
                        inner.delimiter(watch).compiled(),
                        window,
                        limit,
                        &mut self.meter,
                    )
                    .map_err(|TooCostly| too_costly(inner, watch, self.position))?;
                if let Some(start) = search.found_start() {
                    first = Some(first.map_or(start, |first| first.min(start)));
                }
            }
            if limit == end {
                return Ok(());
            }
            if let Some(first) = first
                && !watches.iter().any(|watch| {
                    let search = &self.searches[watch.delimiter];
                    !(is_last && search.is_exhausted()) && search.is_open_before(first, window)
                })
            {
                return Ok(());
            }
            span = span.saturating_mul(2);
        }
    }

    /// Of all that has been found, what counts?
    fn decide(
        &mut self,
        inner: &Inner,
        window: &Window<'_>,
        is_last: bool,
    ) -> Result<Scanned, ParseError> {
        let end = window.end();
        let mut hold = end;
        let mut best: Option<Hit> = None;
        for watch in inner.watches(self.current) {
            let delimiter = inner.delimiter(watch);
            let search = &mut self.searches[watch.delimiter];
            // Where nothing is under way, at most nothing at all can match at the end, and that
            // counts for nothing while the text may go on.
            let says_nothing = match is_last {
                true => search.is_exhausted(),
                false => search.is_idle(),
            };
            if says_nothing || !search.has_read(window) {
                continue;
            }
            let verdict = search
                .verdict(delimiter.compiled(), window, is_last, &mut self.meter)
                .map_err(|TooCostly| too_costly(inner, watch, self.position))?;
            match verdict {
                Verdict::Found {
                    start,
                    end: match_end,
                } => {
                    let may_change =
                        match_end == end && (start == match_end || !delimiter.commits_at_end);
                    if may_change && !is_last {
                        hold = hold.min(start);
                        continue;
                    }
                    let hit = Hit {
                        watch: *watch,
                        start,
                        end: match_end,
                    };
                    if best.is_none_or(|best| hit.key() < best.key()) {
                        best = Some(hit);
                    }
                }
                Verdict::Partial { start } if !is_last => hold = hold.min(start),
                Verdict::Partial { .. } | Verdict::Nothing => {}
            }
        }
        Ok(match best {
            Some(hit) if hit.start < hold => Scanned::Hit(hit),
            _ => Scanned::Hold(hold),
        })
    }

    /// The named groups of a delimiter that has been found, those that took part.
    fn groups(&mut self, inner: &Inner, window: &Window<'_>, hit: &Hit) -> Vec<Capture> {
        let pattern = inner.delimiter(&hit.watch).compiled();
        if pattern.groups().is_empty() {
            return Vec::new();
        }
        let bounds = self.searches[hit.watch.delimiter].groups(pattern);
        let named = pattern.groups().iter().enumerate();
        named
            .filter_map(|(index, name)| {
                let range = pattern::group(bounds, index)?;
                Some(Capture {
                    name: name.clone(),
                    text: window.slice(range.start, range.end).into(),
                })
            })
            .collect()
    }

    /// Gives the text up to a position to the region that is open.
    #[inline]
    fn take_text(
        &mut self,
        inner: &Inner,
        window: &Window<'_>,
        to: usize,
        on_event: &mut impl FnMut(Event<'_>),
    ) {
        if to <= self.position {
            return;
        }
        let from = std::mem::replace(&mut self.position, to);
        let Some(current) = self.current else {
            return;
        };
        let field = &inner.fields[current];
        if !self.opened {
            self.begin(field, from);
            on_event(Event::Open {
                field: &field.name,
                opening: self.options.spans.then_some(Opening {
                    span: from..from,
                    captures: &[],
                }),
            });
        }
        let text = window.slice(from, to);
        self.body.push_str(text);
        on_event(Event::Chunk {
            field: &field.name,
            text,
            dirty: !field.content.streams(),
        });
    }

    /// If a delimiter lies inside of a string of the body, takes it for text, or so much of it
    /// that the search can go on.
    fn skip_string(
        &mut self,
        inner: &Inner,
        window: &Window<'_>,
        hit: &Hit,
        on_event: &mut impl FnMut(Event<'_>),
    ) -> bool {
        let Some(mut guard) = self.guard.take() else {
            return false;
        };
        let parser = self
            .current
            .map(|field| &inner.fields[field].content.parser);
        let delims = match parser {
            Some(Parser::Json(args)) => args.string_delims.as_slice(),
            _ => &[],
        };
        guard.read(&self.body, delims);
        // What stands at the very end may close: there is nothing after it to take instead.
        let first = window.char_at(hit.start);
        let inside = guard.is_inside() && first.is_some();
        if inside {
            let text = window.slice(hit.start, hit.end);
            let may_end = |c: char| c == '"' || delims.iter().any(|(_, d)| d.starts_with(c));
            // If the string may end amid the delimiter, another one may begin there.
            let to = match text.is_empty() || text.contains(may_end) {
                true => hit.start + first.map_or(0, char::len_utf8),
                false => hit.end,
            };
            self.take_text(inner, window, to, on_event);
            self.armed = false;
        }
        self.guard = Some(guard);
        inside
    }

    fn begin(&mut self, field: &Field, at: usize) {
        self.opened = true;
        self.region_start = at;
        let is_json = matches!(field.content.parser, Parser::Json(_));
        self.guard = (self.options.body_aware_close && is_json).then(StringGuard::default);
    }

    fn open(
        &mut self,
        inner: &Inner,
        hit: &Hit,
        captures: Vec<Capture>,
        on_event: &mut impl FnMut(Event<'_>),
    ) {
        let field = &inner.fields[hit.watch.field];
        self.current = Some(hit.watch.field);
        self.captures = captures;
        self.begin(field, hit.end);
        on_event(Event::Open {
            field: &field.name,
            opening: self.options.spans.then_some(Opening {
                span: hit.start..hit.end,
                captures: &self.captures,
            }),
        });
    }

    /// Closes the region that is open, and goes back to the implicit one.
    fn close(
        &mut self,
        inner: &Inner,
        span: std::ops::Range<usize>,
        on_event: &mut impl FnMut(Event<'_>),
    ) -> Result<(), ParseError> {
        if let Some(current) = self.current.filter(|_| self.opened) {
            let field = &inner.fields[current];
            let span = self.options.spans.then_some(span);
            match self.region_value(field) {
                Ok(value) => {
                    on_event(Event::Close {
                        field: &field.name,
                        value: &value,
                        span,
                    });
                    store(&mut self.message, field, value);
                }
                Err(error) if self.options.on_malformed == OnMalformed::Event => {
                    on_event(Event::Malformed {
                        field: &field.name,
                        raw: &self.body,
                        error: &error.to_string(),
                        span,
                    });
                }
                Err(error) => {
                    return Err(ParseError::Region {
                        field: field.name.clone(),
                        span: self.region_start..self.region_start + self.body.len(),
                        error,
                    });
                }
            }
        }
        self.current = inner.implicit;
        self.opened = false;
        self.armed = false;
        self.captures.clear();
        self.body.clear();
        self.guard = None;
        Ok(())
    }

    /// What the text of the open region means.
    fn region_value(&mut self, field: &Field) -> Result<Value, RegionError> {
        // Before the text is given away: what goes wrong later has to tell it.
        check_place(&self.message, field)?;
        let mut value = match &field.transform {
            None => field.content.parse_owned(&mut self.body),
            Some(_) => field.content.parse(&self.body),
        }
        .map_err(RegionError::Content)?;
        if field.transform.is_some() {
            value = self.transformed(field, value)?;
        }
        self.options.tools.cast(&mut value);
        if field.join.is_some() && value.as_json_string().is_none() {
            return Err(RegionError::Store(format!(
                "`join` wants strings, and this is {}",
                value.type_name()
            )));
        }
        Ok(value)
    }

    fn transformed(&self, field: &Field, value: Value) -> Result<Value, RegionError> {
        let Some(transform) = &field.transform else {
            return Ok(value);
        };
        let captured: usize = self.captures.iter().map(|c| c.text.len()).sum();
        let mut allowance = Allowance::new(self.body.len() + captured);
        let mut apply = |content, element| {
            let scope = Scope {
                captures: &self.captures,
                content,
                element,
                allowance: &mut allowance,
            };
            transform.apply(scope).map_err(RegionError::Transform)
        };
        if !field.transform_each {
            return apply(Some(value), None);
        }
        let Value::Array(values) = value else {
            let kind = value.type_name();
            return Err(RegionError::Transform(format!(
                "`transform_each` wants a list, and this is {kind}"
            )));
        };
        let transformed = values.into_iter().map(|element| match element {
            Value::Object(element) => apply(None, Some(element)),
            other => Err(RegionError::Transform(format!(
                "`transform_each` wants a list of objects, and this holds {}",
                other.type_name()
            ))),
        });
        Ok(transformed.collect::<Result<Vec<Value>, _>>()?.into())
    }

    /// The message, when all of the text has been read.
    fn message(&mut self, inner: &Inner) -> Result<Object, ParseError> {
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
}

fn too_costly(inner: &Inner, watch: &Watch, position: usize) -> ParseError {
    ParseError::TooCostly {
        field: inner.fields[watch.field].name.clone(),
        position,
    }
}
