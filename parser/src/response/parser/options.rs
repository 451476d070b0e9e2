//! What a parser can be asked for.

use crate::response::Tools;

/// What a parser does beyond the language's definition. The default is to do nothing beyond it.
///
/// ```
/// use unjinja::{OnMalformed, ParserOptions};
///
/// let options = ParserOptions::default()
///     .on_malformed(OnMalformed::Event)
///     .spans(true);
/// assert!(options.spans && !options.body_aware_close);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ParserOptions {
    /// The tools that the prompt offered: the arguments of calls are typed by their schemas.
    pub tools: Tools,
    /// What to do when the text of a region can't be parsed.
    pub on_malformed: OnMalformed,
    /// What to do with a region that the end of the text has cut off.
    pub unfinished: Unfinished,
    /// Whether events say where delimiters lie in the text since the anchor, and what the
    /// opening ones captured.
    pub spans: bool,
    /// Whether closing delimiters are ignored inside of the strings of `json` regions. Arguments
    /// are code and documents, and may well hold what closes a call.
    pub body_aware_close: bool,
    /// Whether the chunks of text that is stripped for the value are stripped, too: joined, they are the
    /// value. White space is then held back until more text follows it.
    ///
    /// ```
    /// use unjinja::{OwnedEvent, ParserOptions, ResponseParser, ResponseTemplate};
    ///
    /// let template = ResponseTemplate::from_json(
    ///     r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#,
    /// )?;
    /// let options = ParserOptions::default().stripped_chunks(true);
    /// let mut parser = ResponseParser::new(&template, "<bot>", options)?;
    /// let mut events = parser.feed("\n Hello, ")?;
    /// events.extend(parser.feed("you!\n<end>")?);
    /// let text = events.iter().filter_map(|event| match event {
    ///     OwnedEvent::Chunk { text, .. } => Some(text.as_str()),
    ///     _ => None,
    /// });
    /// assert_eq!(text.collect::<Vec<_>>(), ["Hello,", " you!"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub stripped_chunks: bool,
}

impl ParserOptions {
    /// Sets [`tools`](Self::tools).
    pub fn tools(mut self, tools: Tools) -> ParserOptions {
        self.tools = tools;
        self
    }

    /// Sets [`on_malformed`](Self::on_malformed).
    pub fn on_malformed(mut self, on_malformed: OnMalformed) -> ParserOptions {
        self.on_malformed = on_malformed;
        self
    }

    /// Sets [`unfinished`](Self::unfinished).
    pub fn unfinished(mut self, unfinished: Unfinished) -> ParserOptions {
        self.unfinished = unfinished;
        self
    }

    /// Sets [`spans`](Self::spans).
    pub fn spans(mut self, spans: bool) -> ParserOptions {
        self.spans = spans;
        self
    }

    /// Sets [`body_aware_close`](Self::body_aware_close).
    pub fn body_aware_close(mut self, body_aware_close: bool) -> ParserOptions {
        self.body_aware_close = body_aware_close;
        self
    }

    /// Sets [`stripped_chunks`](Self::stripped_chunks).
    pub fn stripped_chunks(mut self, stripped_chunks: bool) -> ParserOptions {
        self.stripped_chunks = stripped_chunks;
        self
    }
}

/// What to do when the text of a region can't be parsed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnMalformed {
    /// Parsing ends with an error.
    #[default]
    Fail,
    /// The region ends with an [`Event::Malformed`](crate::Event::Malformed), the message goes
    /// without it, and parsing goes on.
    Event,
}

/// What to do with a region that the end of the text has cut off, as where a model had no room for more.
///
/// Texts are what they are, however long. JSON and lists of calls say themselves where they end: one that is whole is not cut off,
/// though nothing has closed its region. Tags and lines don't, so that a call may lack its last arguments, or have half a
/// one. Where an engine takes what ends a turn out of the text, give it to the parser, or say that the model was done as
/// [`Completion::finish`](crate::completion::Completion::finish) is told: else a call that only the end of the turn closes is one that
/// is cut off.
///
/// ```
/// use unjinja::{ParserOptions, ResponseTemplate, Unfinished, parse};
///
/// let template = ResponseTemplate::from_json(r#"{
///     "start_anchor": "<bot>",
///     "fields": {"tool_calls": {
///         "open_pattern": "<call (?P<name>\\w+)>", "close": "</call>", "repeats": true,
///         "content": "xml-inline",
///         "content_args": {"tag_pattern": "<(?P<key>\\w+)>(?P<value>.*?)</\\w+>"},
///         "transform": {"function": {"name": "{name}", "arguments": "{content}"}}
///     }}
/// }"#)?;
/// let output = "<call write_file><path>a.txt</path><text>Once upon a ti";
/// let read = |unfinished| {
///     let options = ParserOptions::default().unfinished(unfinished);
///     parse(&template, "<bot>", output, options)
/// };
/// // As the language has it, this is a call that writes no text into the file.
/// let message = read(Unfinished::Keep)?;
/// assert_eq!(message.get("tool_calls").and_then(|calls| calls.as_array()).map(<[_]>::len), Some(1));
///
/// let message = read(Unfinished::Mark)?;
/// let call = message.get("tool_calls").and_then(|calls| calls.pointer("/0"));
/// assert_eq!(call.and_then(|call| call.get("unfinished")), Some(&true.into()));
///
/// assert_eq!(read(Unfinished::Drop)?.get("tool_calls"), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unfinished {
    /// It is closed, as if it were whole: so the language has it.
    #[default]
    Keep,
    /// Its value, if that is an object, has the key `unfinished` with `true`; of a list, the last item has it. One whose text
    /// can't be parsed is malformed, as ever.
    Mark,
    /// It ends with an [`Event::Malformed`](crate::Event::Malformed), and the message goes without it.
    Drop,
}
