//! Outputs as the chat completions that clients of servers expect: whole, and in deltas while a model
//! writes.
//!
//! A [`Completion`] is fed the output piece by piece, as a [`ResponseParser`] is, and says what clients are
//! to be sent. What has been sent is never taken back, and put together it is the message of the
//! end.
//!
//! ```
//! use unjinja::completion::{Completion, CompletionOptions, Delta, Ending};
//! use unjinja::{ParserOptions, ResponseTemplate, json};
//!
//! let template = ResponseTemplate::from_json(r#"{
//!     "start_anchor": "<bot>",
//!     "fields": {
//!         "thinking": {"open": "<think>", "close": "</think>"},
//!         "tool_calls": {
//!             "open_pattern": "<call (?P<name>\\w+)>", "close": "</call>", "repeats": true,
//!             "content": "json",
//!             "transform": {"function": {"name": "{name}", "arguments": "{content}"}}
//!         },
//!         "content": {"close": "<end>"}
//!     }
//! }"#)?;
//! let options = CompletionOptions::default();
//! let mut completion =
//!     Completion::new(&template, "<bot><think>", ParserOptions::default(), options)?;
//! assert_eq!(completion.initial_deltas(), [Delta::Role("assistant".into())]);
//! assert_eq!(completion.feed("Rain?</th")?, [Delta::Reasoning("Rain?".into())]);
//! assert_eq!(
//!     completion.feed("ink><call weather>{\"city\": \"Ber")?,
//!     [
//!         Delta::Call { index: 0, id: "call_0".into(), name: "weather".into() },
//!         Delta::Arguments { index: 0, text: "{\"city\": \"Ber".into() },
//!     ],
//! );
//! let last = completion.feed("gen\"}</call><end>")?;
//! assert_eq!(
//!     completion.chunk(&last[0]).pointer("/choices/0/delta").map(json::write).as_deref(),
//!     Some(r#"{"tool_calls":[{"index":0,"function":{"arguments":"gen\"}"}}]}"#),
//! );
//! let finished = completion.finish(Ending::Stop)?;
//! assert_eq!(finished.finish_reason, "tool_calls");
//! assert_eq!(finished.message.tool_calls[0].arguments, r#"{"city": "Bergen"}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is sent when
//!
//! A piece is sent with the text that makes it certain, except where the template makes it wait:
//!
//! | what | when it is sent |
//! |---|---|
//! | content and reasoning | as it is written; white space around it that the template strips, when more text follows |
//! | text that may begin a delimiter | when it is known not to |
//! | a call and its name | when the name is known: as the region opens, or when the string with the name ends; where the call has an id in the text, when both are known |
//! | arguments in JSON | as they are written, if the name comes before them; else when the region closes |
//! | a text among them whose tool declares another type | when the text ends |
//! | JSON with quotes of its own, or keys without any | the same, turned into JSON; a key when its colon comes |
//! | arguments that are no object | when they end |
//! | arguments in tags or lines | each when its tag or line ends and no further text can change it, typed by the tools |
//! | JSON with several kinds of quotes of its own, or that may also be text; tags that only backtracking finds, or that are merged; calls that no transform describes | when the region closes |
//! | fields that the interface does not have | in the end |
//!
//! # Where the message differs from the parser's
//!
//! What has been sent stays. So where a later part of the text makes the parser drop or replace
//! an earlier one, the message here has what was sent:
//!
//! - A call whose text turns out not to be what its parser expects stays with those to whom it was sent, as far as it was written. The
//!   message of the end goes without it, and [`Finished::withdrawn`] has it. Its text comes as content
//!   ([`CompletionOptions::on_malformed`]).
//! - A thought that nothing closes ends where a call begins in it, if nothing but calls comes from there on
//!   ([`ParserOptions::calls_end_thoughts`]). That is known in the end: a call of it has been sent as a part of the thought by then, and is
//!   sent as a call, too. The message of the end has it once.
//! - Of equal keys beside a call's arguments, as two names, the first counts.
//! - Where `content` or reasoning closes more than once, and the template neither joins the texts
//!   nor makes a list, the parser keeps the last one; here they stand one behind the other, with the white space between them.

mod calls;
mod delta;
mod json_calls;
mod json_dialect;
mod json_walk;
mod message;
mod region;
mod writer;

use crate::response::{
    OnMalformed, OnUnread, ParseError, ParserOptions, ResponseParser, ResponseTemplate, Unfinished,
    UnknownTools,
};
use crate::value::{Object, Value};

pub use delta::Delta;
pub use message::{CompletionMessage, ToolCall};

use writer::{Writer, Written};

#[doc(hidden)]
pub use crate::response::REASONING;

/// What a completion says of itself.
///
/// ```
/// use unjinja::completion::CompletionOptions;
///
/// let options = CompletionOptions::default().id("chatcmpl-7").model("small").reasoning("reasoning");
/// assert_eq!(options.reasoning, "reasoning");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CompletionOptions {
    /// Its id. Calls to which the model gives no id have it in theirs.
    pub id: String,
    /// The name of the model.
    pub model: String,
    /// When it began, in seconds since 1970.
    pub created: i64,
    /// The key of the reasoning: `reasoning_content`, unless clients expect another one.
    pub reasoning: String,
    /// What to do with a call that is cut off where there was [no room for more](Ending::Length). Whoever gets a call runs it, so that by
    /// default the message goes without it.
    pub unfinished: Unfinished,
    /// Treatment of a region that can't be parsed: by default, its text is given back as content. What has been sent of a call
    /// stays with those to whom it was sent; the message of the end goes without it.
    pub on_malformed: OnMalformed,
    /// Treatment of a call in which something stands that nothing reads: by default, the call is malformed.
    pub on_unread: OnUnread,
    /// Treatment of calls of tools that were not offered. Of those that the message goes without, nothing is sent.
    pub unknown_tools: UnknownTools,
}

impl Default for CompletionOptions {
    fn default() -> CompletionOptions {
        CompletionOptions {
            id: String::new(),
            model: String::new(),
            created: 0,
            reasoning: "reasoning_content".into(),
            unfinished: Unfinished::Drop,
            on_malformed: OnMalformed::Text,
            on_unread: OnUnread::Malformed,
            unknown_tools: UnknownTools::Keep,
        }
    }
}

impl CompletionOptions {
    /// Sets [`id`](Self::id).
    pub fn id(mut self, id: impl Into<String>) -> CompletionOptions {
        self.id = id.into();
        self
    }

    /// Sets [`model`](Self::model).
    pub fn model(mut self, model: impl Into<String>) -> CompletionOptions {
        self.model = model.into();
        self
    }

    /// Sets [`created`](Self::created).
    pub fn created(mut self, created: i64) -> CompletionOptions {
        self.created = created;
        self
    }

    /// Sets [`reasoning`](Self::reasoning).
    pub fn reasoning(mut self, key: impl Into<String>) -> CompletionOptions {
        self.reasoning = key.into();
        self
    }

    /// Sets [`unfinished`](Self::unfinished).
    pub fn unfinished(mut self, unfinished: Unfinished) -> CompletionOptions {
        self.unfinished = unfinished;
        self
    }

    /// Sets [`on_malformed`](Self::on_malformed).
    pub fn on_malformed(mut self, on_malformed: OnMalformed) -> CompletionOptions {
        self.on_malformed = on_malformed;
        self
    }

    /// Sets [`on_unread`](Self::on_unread).
    pub fn on_unread(mut self, on_unread: OnUnread) -> CompletionOptions {
        self.on_unread = on_unread;
        self
    }

    /// Sets [`unknown_tools`](Self::unknown_tools).
    pub fn unknown_tools(mut self, unknown_tools: UnknownTools) -> CompletionOptions {
        self.unknown_tools = unknown_tools;
        self
    }

    /// The id of a call to which the model gives none.
    fn call_id(&self, index: usize) -> String {
        match self.id.strip_prefix("chatcmpl-").unwrap_or(&self.id) {
            "" => format!("call_{index}"),
            id => format!("call_{id}_{index}"),
        }
    }

    fn object(&self, kind: &str, choice: Vec<(&str, Value)>) -> Value {
        let mut choice = choice;
        choice.insert(0, ("index", 0.into()));
        let choice: Value = Object::from_iter(choice).into();
        Object::from_iter([
            ("id", Value::from(self.id.as_str())),
            ("object", kind.into()),
            ("created", self.created.into()),
            ("model", self.model.as_str().into()),
            ("choices", vec![choice].into()),
        ])
        .into()
    }

    fn chunk(&self, delta: Value, finish_reason: Value) -> Value {
        let choice = vec![("delta", delta), ("finish_reason", finish_reason)];
        self.object("chat.completion.chunk", choice)
    }
}

/// Why an output ended, as far as the text can't say it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// The model was done.
    #[default]
    Stop,
    /// There was no room for more.
    Length,
}

/// Turns an output into a chat completion while it is written: see the [module](self).
#[derive(Debug, Clone)]
pub struct Completion {
    parser: ResponseParser,
    writer: Writer,
    initial_deltas: Vec<Delta>,
}

impl Completion {
    /// A completion of one output; `prefix` and `parser` are those of
    /// [`ResponseParser::new`](crate::ResponseParser::new). Its chunks are not stripped and its events have spans, and what
    /// becomes of calls that can't be read or made is as `options` have it, whatever `parser` says of these.
    pub fn new(
        template: &ResponseTemplate,
        prefix: &str,
        parser: ParserOptions,
        options: CompletionOptions,
    ) -> Result<Completion, ParseError> {
        let mut deltas = Vec::new();
        let begun = Self::new_with(template, prefix, parser, options, |delta| {
            deltas.push(delta.clone());
        });
        let mut completion = begun?;
        completion.initial_deltas = deltas;
        Ok(completion)
    }

    /// A completion of one output, which hands over what is to be sent at once as [`feed_with`](Self::feed_with) does what
    /// follows: the role, and what the prefix has written into the message. There are no initial deltas then.
    pub fn new_with(
        template: &ResponseTemplate,
        prefix: &str,
        parser: ParserOptions,
        options: CompletionOptions,
        mut send: impl FnMut(&Delta),
    ) -> Result<Completion, ParseError> {
        let parser = parser.spans(true).stripped_chunks(false);
        let parser = parser
            .on_malformed(options.on_malformed)
            .on_unread(options.on_unread);
        let parser = parser.unknown_tools(match options.unknown_tools {
            // The rest of a list has to come as it was sent.
            UnknownTools::Drop => UnknownTools::Keep,
            others => others,
        });
        let mut writer = Writer::new(template, parser.tools.clone(), options);
        // Whether anything is cut off is said in the end.
        let parser = parser.unfinished(Unfinished::Keep);
        writer.begin(&mut send);
        let parser = ResponseParser::new_with(template, prefix, parser, |event| {
            writer.take(&event, &mut send);
        })?;
        Ok(Completion {
            parser,
            writer,
            initial_deltas: Vec::new(),
        })
    }

    /// What is to be sent before anything is fed, if the completion was made by [`new`](Self::new): the role, and what the
    /// prefix has written into the message.
    pub fn initial_deltas(&self) -> &[Delta] {
        &self.initial_deltas
    }

    /// Reads the next piece of the output, and returns what is to be sent.
    ///
    /// # Errors
    ///
    /// As [`ResponseParser::feed`]. What is certain of the text before the fault is only handed over by
    /// [`feed_with`](Self::feed_with).
    pub fn feed(&mut self, chunk: &str) -> Result<Vec<Delta>, ParseError> {
        let mut deltas = Vec::new();
        self.feed_with(chunk, |delta| deltas.push(delta.clone()))?;
        Ok(deltas)
    }

    /// Reads the next piece of the output, and hands over what is to be sent as it is found.
    pub fn feed_with(
        &mut self,
        chunk: &str,
        mut send: impl FnMut(&Delta),
    ) -> Result<(), ParseError> {
        let writer = &mut self.writer;
        self.parser
            .feed_with(chunk, |event| writer.take(&event, &mut send))
    }

    /// Ends the output. Where there was no room for more, a call that is cut off is dealt with as
    /// [`CompletionOptions::unfinished`] says; what has been sent of it stays with those to whom it was sent.
    ///
    /// ```
    /// use unjinja::completion::{Completion, CompletionOptions, Ending};
    /// use unjinja::{ParserOptions, ResponseTemplate};
    ///
    /// let template = ResponseTemplate::from_json(r#"{
    ///     "start_anchor": "<bot>",
    ///     "fields": {"tool_calls": {
    ///         "open_pattern": "<call (?P<name>\\w+)>", "close": "</call>", "repeats": true,
    ///         "content": "json",
    ///         "transform": {"function": {"name": "{name}", "arguments": "{content}"}}
    ///     }}
    /// }"#)?;
    /// let options = CompletionOptions::default();
    /// let mut completion = Completion::new(&template, "<bot>", ParserOptions::default(), options)?;
    /// completion.feed("<call look>{}</call><call write_file>{\"text\": \"Once upon a ti")?;
    /// let finished = completion.finish(Ending::Length)?;
    /// assert_eq!(finished.finish_reason, "length");
    /// assert_eq!(finished.message.tool_calls.len(), 1);
    /// assert_eq!(finished.unfinished[0].name, "write_file");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(self, ending: Ending) -> Result<Finished, ParseError> {
        let (mut parser, mut writer) = (self.parser, self.writer);
        let mut deltas = Vec::new();
        let mut send = |delta: &Delta| deltas.push(delta.clone());
        // Where there was no room for more, a thought may only have come to speak of a call.
        parser.set_calls_end_thoughts(ending == Ending::Stop);
        let policy = writer.options().unfinished;
        if ending == Ending::Length && policy != Unfinished::Keep {
            parser.set_unfinished(Unfinished::Drop);
            writer.set_cut();
        }
        // Kept, a call stays as far as it has come, unless its text is content.
        let is_event = writer.options().on_malformed == OnMalformed::Event;
        if ending == Ending::Length && policy == Unfinished::Keep && is_event {
            writer.set_cut();
        }
        let message = parser.finalize_with(|event| writer.take(&event, &mut send))?;
        writer.end(&message, &mut send);
        let cut_off = writer.cut_off();
        let Written {
            mut message,
            malformed,
            withdrawn,
            options,
        } = writer.into_written();
        let mut unfinished = Vec::new();
        match (policy, cut_off) {
            (Unfinished::Drop, Some(call)) => unfinished = message.tool_calls.split_off(call),
            (Unfinished::Mark, Some(call)) => {
                let cut_off = message.tool_calls.get_mut(call);
                cut_off
                    .into_iter()
                    .for_each(|call| call.is_unfinished = true);
            }
            _ => {}
        }
        let withdrawn = message.without_calls(&withdrawn);
        let finish_reason = match ending {
            Ending::Length => "length",
            Ending::Stop if message.tool_calls.is_empty() => "stop",
            Ending::Stop => "tool_calls",
        };
        Ok(Finished {
            deltas,
            message,
            unfinished,
            malformed,
            withdrawn,
            finish_reason,
            options,
        })
    }

    /// The message so far: what has been sent, put together.
    pub fn message_so_far(&self) -> &CompletionMessage {
        self.writer.message()
    }

    /// A delta as the `chat.completion.chunk` that clients are sent.
    pub fn chunk(&self, delta: &Delta) -> Value {
        let options = self.writer.options();
        options.chunk(delta.to_value(&options.reasoning), Value::Null)
    }
}

/// What comes of an output in the end.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Finished {
    /// What is to be sent last, before the reason.
    pub deltas: Vec<Delta>,
    /// The whole message.
    pub message: CompletionMessage,
    /// The calls that are cut off, and no part of the message.
    pub unfinished: Vec<ToolCall>,
    /// The fields with regions that could not be parsed, where
    /// [`on_malformed`](CompletionOptions::on_malformed) lets these pass, or with calls of
    /// [unknown tools](CompletionOptions::unknown_tools) that are not kept.
    pub malformed: Vec<String>,
    /// The calls of which something was sent before they turned out to be malformed. They are no part of the message.
    pub withdrawn: Vec<ToolCall>,
    /// Why the model ended: `stop`, `tool_calls` or `length`.
    pub finish_reason: &'static str,
    options: CompletionOptions,
}

impl Finished {
    /// The last `chat.completion.chunk`s: one for each of the last deltas, and one with the reason.
    pub fn chunks(&self) -> Vec<Value> {
        let options = &self.options;
        let chunks = self.deltas.iter();
        let chunks =
            chunks.map(|delta| options.chunk(delta.to_value(&options.reasoning), Value::Null));
        let last = options.chunk(Object::new().into(), self.finish_reason.into());
        chunks.chain([last]).collect()
    }

    /// The whole as a `chat.completion`.
    pub fn to_value(&self) -> Value {
        let message = self.message.to_value(&self.options.reasoning);
        let reason = Value::from(self.finish_reason);
        let choice = vec![("message", message), ("finish_reason", reason)];
        self.options.object("chat.completion", choice)
    }
}
