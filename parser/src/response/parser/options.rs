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
