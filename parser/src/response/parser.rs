//! The streaming parser.
//!
//! A [`ResponseParser`] keeps its state from chunk to chunk in a [`run`]: its [`place`] in the
//! message, the text [`held`] back, its searches. A [`pass`] deals with one chunk; it [`scan`]s for
//! the next delimiter, gives the text before it to the [`region`] that is open, and goes on behind
//! the delimiter.

mod held;
mod lookout;
mod options;
mod outlook;
mod pass;
mod place;
mod region;
mod run;
mod scan;
mod thought;

use crate::value::Object;

use super::ParseError;
use super::event::{Event, OwnedEvent};
use super::template::ResponseTemplate;

use run::Run;

pub use lookout::Lookout;
pub use options::{OnMalformed, OnUnread, ParserOptions, Unfinished, UnknownTools};
pub use outlook::{Outlook, WatchedDelimiter};

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
    /// A parser for one output. What the prefix writes into the message is parsed at once, and its events are the
    /// [initial events](Self::initial_events); see [`parse`] for what a prefix is.
    pub fn new(
        template: &ResponseTemplate,
        prefix: &str,
        options: ParserOptions,
    ) -> Result<ResponseParser, ParseError> {
        let mut events = Vec::new();
        let begun = Self::new_with(template, prefix, options, |event| {
            events.push(event.into_owned());
        });
        let mut parser = begun?;
        parser.initial_events = events;
        Ok(parser)
    }

    /// A parser for one output, which hands over what the prefix has written into the message as
    /// [`feed_with`](Self::feed_with) does what follows: where a prompt ends with an opened thought, the first event is
    /// its opening. There are no initial events then.
    ///
    /// ```
    /// use unjinja::{Event, ParserOptions, ResponseParser, ResponseTemplate};
    ///
    /// let template = ResponseTemplate::from_json(r#"{
    ///     "start_anchor": "<bot>",
    ///     "fields": {"thinking": {"open": "<think>", "close": "</think>"}}
    /// }"#)?;
    /// let mut log = Vec::new();
    /// let mut on_event = |event: Event<'_>| log.push(match event {
    ///     Event::Open { field, .. } => format!("{field} begins"),
    ///     Event::Chunk { field, text, .. } => format!("{field}: {text}"),
    ///     _ => format!("{} ends", event.field()),
    /// });
    /// let options = ParserOptions::default();
    /// let mut parser = ResponseParser::new_with(&template, "<bot><think>", options, &mut on_event)?;
    /// parser.feed_with("Hm.</think>", &mut on_event)?;
    /// parser.finalize_with(&mut on_event)?;
    /// assert_eq!(log, ["thinking begins", "thinking: Hm.", "thinking ends"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new_with(
        template: &ResponseTemplate,
        prefix: &str,
        options: ParserOptions,
        on_event: impl FnMut(Event<'_>),
    ) -> Result<ResponseParser, ParseError> {
        let mut parser = ResponseParser {
            run: Run::new(&template.inner, options),
            template: template.clone(),
            initial_events: Vec::new(),
        };
        let prefix = template.after_anchor(prefix)?.unwrap_or(prefix);
        if !prefix.is_empty() {
            parser.feed_with(prefix, on_event)?;
            // What a prompt holds, nobody has to read.
            parser.run.outside.clear();
        }
        Ok(parser)
    }

    /// What the prefix has written into the message, if the parser was made by [`new`](Self::new).
    pub fn initial_events(&self) -> &[OwnedEvent] {
        &self.initial_events
    }

    /// Reads the next piece of the output, and returns what has happened.
    pub fn feed(&mut self, chunk: &str) -> Result<Vec<OwnedEvent>, ParseError> {
        // Nearly all chunks make one event.
        let mut events = Vec::with_capacity(1);
        self.feed_with(chunk, |event| events.push(event.into_owned()))?;
        Ok(events)
    }

    /// Reads the next piece of the output, and hands over what happens in it as it is found.
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
        let message = self.finalize_with(|event| events.push(event.into_owned()))?;
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

    /// What to do with a region that is cut off, which is known in the end alone.
    pub(crate) fn set_unfinished(&mut self, unfinished: Unfinished) {
        self.run.options.unfinished = unfinished;
    }

    /// Whether calls end a thought that nothing closes, which is known in the end alone.
    pub(crate) fn set_calls_end_thoughts(&mut self, calls_end_thoughts: bool) {
        self.run.options.calls_end_thoughts = calls_end_thoughts;
    }

    /// The message so far: the fields of the regions that have been closed, and the defaults.
    pub fn message_so_far(&self) -> &Object {
        &self.run.message
    }

    /// The field whose region is open.
    pub fn open_field(&self) -> Option<&str> {
        let region = self.run.place.region()?;
        Some(self.template.inner.fields[region.field].name())
    }
}

impl Drop for ResponseParser {
    fn drop(&mut self) {
        let inner = &self.template.inner;
        let searches = std::mem::take(&mut self.run.searches.each);
        for (delimiter, search) in inner.delimiters().zip(searches) {
            delimiter.compiled().give_back(search);
        }
    }
}
