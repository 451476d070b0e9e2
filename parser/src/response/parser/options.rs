//! What a parser can be asked for.

use crate::response::{RegionError, Tools};

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
    /// What to do when something stands in a region that nothing reads.
    pub on_unread: OnUnread,
    /// What to do with calls of tools that were not offered. Where [`tools`](Self::tools) are none, all are kept.
    pub unknown_tools: UnknownTools,
    /// Whether calls end a thought that nothing closes, as most engines have it: a region of `thinking`, `reasoning_content` or `reasoning`
    /// that the end of the text closes ends where a call begins in it, if nothing but calls comes from there on. That is known in the end, so that
    /// the chunks of the thought have its calls, too. A thought that only speaks of a call goes on behind it.
    ///
    /// ```
    /// use unjinja::{ParserOptions, ResponseTemplate, json, parse};
    ///
    /// let template = ResponseTemplate::from_json(r#"{
    ///     "start_anchor": "<bot>",
    ///     "fields": {
    ///         "thinking": {"open": "<think>", "close": "</think>"},
    ///         "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json"}
    ///     }
    /// }"#)?;
    /// let options = ParserOptions::default().calls_end_thoughts(true);
    /// let output = r#"<think>Rain? <call>{"name": "look"}</call>"#;
    /// assert_eq!(
    ///     json::write(&parse(&template, "", output, options)?.into()),
    ///     r#"{"thinking":"Rain?","tool_calls":[{"name":"look"}]}"#,
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub calls_end_thoughts: bool,
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

    /// Sets [`on_unread`](Self::on_unread).
    pub fn on_unread(mut self, on_unread: OnUnread) -> ParserOptions {
        self.on_unread = on_unread;
        self
    }

    /// Sets [`unknown_tools`](Self::unknown_tools).
    pub fn unknown_tools(mut self, unknown_tools: UnknownTools) -> ParserOptions {
        self.unknown_tools = unknown_tools;
        self
    }

    /// Sets [`calls_end_thoughts`](Self::calls_end_thoughts).
    pub fn calls_end_thoughts(mut self, calls_end_thoughts: bool) -> ParserOptions {
        self.calls_end_thoughts = calls_end_thoughts;
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

    /// Whether the text of regions that are malformed may be given back.
    pub(super) fn gives_back(&self) -> bool {
        self.on_malformed == OnMalformed::Text || self.unknown_tools == UnknownTools::Text
    }

    /// Returns nothing if parsing ends with this error of a region, and otherwise whether its text is given back.
    pub(super) fn passes(&self, error: &RegionError) -> Option<bool> {
        match (error, self.on_malformed) {
            (RegionError::UnknownTool(_), _) => Some(self.unknown_tools == UnknownTools::Text),
            (_, OnMalformed::Fail) => None,
            (_, OnMalformed::Event) => Some(false),
            (_, OnMalformed::Text) => Some(true),
        }
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
    /// The same, and its text with its delimiters goes to the field that takes all other text, or else to `content`: as a region of
    /// its own, whose text is put behind what the field has. So most engines do it. Where there is no such field of plain text,
    /// there is only the event.
    ///
    /// ```
    /// use unjinja::{OnMalformed, ParserOptions, ResponseTemplate, parse};
    ///
    /// let template = ResponseTemplate::from_json(r#"{
    ///     "start_anchor": "<bot>",
    ///     "fields": {
    ///         "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json"},
    ///         "content": {"close": "<end>"}
    ///     }
    /// }"#)?;
    /// let options = ParserOptions::default().on_malformed(OnMalformed::Text);
    /// let message = parse(&template, "", "Let me look. <call>{\"city\": </call><end>", options)?;
    /// let content = message.get("content").and_then(|content| content.as_str());
    /// assert_eq!(content, Some("Let me look.<call>{\"city\": </call>"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Text,
}

/// What to do when something stands in a region that nothing reads.
///
/// The language passes over it: what a `tag_pattern` does not match, and lines without a separator. So a call comes without an
/// argument whose tag is misspelt, and without a word; and where what ends a call is missing, two calls become one.
///
/// ```
/// use unjinja::{OnUnread, ParserOptions, ResponseTemplate, parse};
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
/// let output = "<call move><from>a.txt</from><to b.txt</to></call>";
/// assert!(parse(&template, "<bot>", output, ParserOptions::default()).is_ok());
///
/// let options = ParserOptions::default().on_unread(OnUnread::Malformed);
/// let error = parse(&template, "<bot>", output, options).err().map(|error| error.to_string());
/// assert!(error.is_some_and(|error| error.ends_with(r#"nothing reads "<to b.txt</to>" in it"#)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnUnread {
    /// It is passed over, and a call without a name is a call: so the language has it.
    #[default]
    Pass,
    /// The region is malformed, as one that can't be parsed is, if its text has more than white space that no tag, line, key or value takes; if a whole
    /// opening delimiter of its own field stands in it; or if it is a call without a name.
    Malformed,
}

/// What to do with calls of tools that were not offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnknownTools {
    /// They are calls like others: whoever runs them can tell the model best what there is.
    #[default]
    Keep,
    /// A region with such a call ends with an [`Event::Malformed`](crate::Event::Malformed), and its text is given back as that of
    /// [`OnMalformed::Text`] is.
    Text,
    /// The message goes without them. A region of which nothing else is left ends with an
    /// [`Event::Malformed`](crate::Event::Malformed).
    Drop,
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
