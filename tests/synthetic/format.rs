//! What a format is.

use crate::synthetic::random::Pair;

/// A way of writing a model's turn that a careful author could have chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Format {
    pub turns: Turns,
    pub reasoning: Option<Reasoning>,
    pub content: Content,
    /// What stands between a text and the calls after it.
    pub gap: &'static str,
    pub calls: Option<Calls>,
    /// Whether calls stand before the text.
    pub calls_first: bool,
    /// What stands between two parts of a turn, where each part has a header of its own.
    pub joint: Option<String>,
}

/// What stands around the message of each role.
#[derive(Debug, Clone, PartialEq)]
pub struct Turns {
    /// The system's; without it, its text goes before the first question.
    pub system: Option<Pair>,
    pub user: Pair,
    pub tool: Pair,
    pub assistant: Pair,
    /// What ends a turn with calls, if it is not what ends the others.
    pub calls_end: Option<String>,
    /// What stands behind the turn's header, but is no part of a prompt.
    pub lead: &'static str,
    pub tools: Pair,
    /// Whether the system's turn shows what a call looks like.
    pub instructions: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reasoning {
    /// Nothing if the turn just begins with it.
    pub open: Option<String>,
    pub close: String,
    pub after_close: &'static str,
    pub opened_by_prompt: bool,
    /// Whether a prompt closes it at once if thinking is switched off.
    pub closed_when_off: bool,
    /// Whether a turn without thoughts has the empty markers.
    pub empty: bool,
    pub kept: Kept,
    /// The key that the template reads.
    pub key: &'static str,
    /// The variable that switches it.
    pub switch: &'static str,
}

impl Reasoning {
    /// The markers without anything between.
    pub fn nothing(&self) -> String {
        let open = self.open.as_deref().unwrap_or_default();
        format!("{open}{}{}", self.close, self.after_close)
    }
}

/// In which turns thoughts are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    Always,
    /// Only after the last question.
    LastTurn,
    /// A past turn is written without, even the last.
    Never,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Plain,
    Wrapped(Pair),
    BesideReasoning(Pair),
    BesideCalls(Pair),
    /// The first beside calls, the second elsewhere.
    Either(Pair, Pair),
    /// As a string of JSON.
    Json(Pair),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Calls {
    /// Around all calls of a turn.
    pub section: Pair,
    /// Around each call.
    pub each: Pair,
    pub separator: Separator,
    pub body: Body,
    pub several: bool,
    pub ids: Ids,
}

/// The ids that the template takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// Nine letters; others are refused.
    Nine,
    Prefixed,
    /// `functions.NAME:INDEX`
    Named,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A JSON object for each call, all of them in one array if `array`.
    Object { keys: Keys, array: bool, json: Json },
    /// The name, and then the arguments.
    Named {
        /// The texts around the name and the id.
        head: Vec<Part>,
        arguments: Arguments,
        close: String,
    },
    /// `[name(key="value"), other()]`
    Python {
        /// Whether True and False are as in Python.
        literals: bool,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Text(String),
    Name,
    Id,
    /// The number of the call in its turn.
    Index,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Keys {
    /// The name is the only key, and the arguments its value.
    NameAsKey,
    Plain {
        name: &'static str,
        arguments: &'static str,
        id: Option<(&'static str, Place)>,
        /// The key of an object that name and arguments stand in.
        nested: Option<&'static str>,
        /// Whether it has `"type": "function"`.
        typed: bool,
        /// Whether the arguments are JSON within a string.
        as_text: bool,
        /// Whether the arguments stand before the name.
        arguments_first: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    First,
    Last,
}

/// How JSON is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Plain,
    Compact,
    Indented,
    Ascii,
    /// Keys without quotes, and strings between markers.
    Dialect(Pair),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    Json(Json),
    Tagged(Tagged),
}

/// The types of values, as formats that have one text for each order them.
pub const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];

/// Stands for the name of a call, or the key of an argument, in what closes it.
pub const KEY: char = '\u{E100}';

/// What stands between parts of one kind, and where else.
#[derive(Debug, Clone, PartialEq)]
pub struct Separator {
    pub text: String,
    pub stands: Stands,
}

/// Where a separator stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// Between two parts.
    Between,
    /// Before each part, the first too.
    BeforeEach,
    /// Behind each part, the last too.
    BehindEach,
}

impl Separator {
    pub fn between(text: impl Into<String>) -> Separator {
        Separator {
            text: text.into(),
            stands: Stands::Between,
        }
    }
}

/// What stands around some texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Wrapping {
    pub pair: Pair,
    /// Whether only texts with `<` or `&` in them are wrapped.
    pub only_markup: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Tagged {
    pub before_key: String,
    /// What stands between key and value: the same for all; or one for texts and one for JSON; or one for
    /// each of [`TYPES`].
    pub between: Vec<String>,
    /// What closes a value. The key stands in it where [`KEY`] does.
    pub after_value: String,
    pub separator: Separator,
    /// What stands around some texts within the markers of a value.
    pub wrapping: Option<Wrapping>,
    /// Whether True and False are as in Python.
    pub literals: bool,
    /// Whether texts are JSON, too.
    pub quoted: bool,
}

/// Whether nothing but a word shows where calls begin.
pub fn begins_with_word(calls: &Calls) -> bool {
    first_text(calls).starts_with(|c: char| c.is_alphabetic() || c == '`')
}

/// The first text of a turn's calls.
pub fn first_text(calls: &Calls) -> &str {
    let head = match &calls.body {
        Body::Named { head, .. } => match head.first() {
            Some(Part::Text(text)) => text.as_str(),
            _ => "",
        },
        _ => "",
    };
    let texts = [calls.section.open.as_str(), calls.each.open.as_str(), head];
    let first = texts.into_iter().find(|text| !text.is_empty());
    first.unwrap_or_default()
}

/// Whether a text stands behind the last call.
pub fn has_end(calls: &Calls) -> bool {
    let close = match &calls.body {
        Body::Named { close, .. } => close.as_str(),
        _ => "",
    };
    let texts = [
        close,
        calls.each.close.as_str(),
        calls.section.close.as_str(),
    ];
    texts.into_iter().any(|text| !text.trim().is_empty())
}
