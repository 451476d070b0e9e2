//! The parsers that turn a region's text into a value.
//!
//! [`CONTENT_PARSERS`] lists them. Whoever adds one writes an entry there and a variant of [`Parser`],
//! and the compiler shows every place that has to know what the new one does.

mod entries;
mod json;
mod kv_lines;
mod passed_over;
mod python_calls;
mod xml_inline;

use crate::number;
use crate::value::{Number, Object, Value};
use crate::white_space;

use super::ContentError;
use super::allowance::{Allowance, Exhausted};
use super::language::Trait;
use super::template::Loader;

pub use entries::Entries;
pub use json::{JsonArgs, quote_keys};
pub use kv_lines::KvLinesArgs;
pub use xml_inline::XmlInlineArgs;

/// What is known of a content parser.
#[derive(Debug)]
pub(crate) struct ContentParser {
    pub(crate) name: &'static str,
    /// The `content_args` that have an effect on it.
    pub(crate) arguments: &'static [&'static str],
    /// Whether each chunk of a text is already a part of its value.
    streams: bool,
    /// What a version of the language must have to know it.
    pub(super) needs: Option<Trait>,
    /// Reads its arguments, which stand at a place of the document; `None` if it can't do with them.
    pub(super) load: fn(&mut Loader, &Object, &str) -> Option<Parser>,
}

/// All content parsers. How each parses stands in [`Content::parse`].
pub(crate) static CONTENT_PARSERS: [ContentParser; 8] = [
    ContentParser {
        name: "text",
        arguments: &["strip"],
        streams: true,
        needs: None,
        load: |_, _, _| Some(Parser::Text),
    },
    ContentParser {
        name: "int",
        arguments: &["strip"],
        streams: true,
        needs: None,
        load: |_, _, _| Some(Parser::Int),
    },
    ContentParser {
        name: "float",
        arguments: &["strip"],
        streams: true,
        needs: None,
        load: |_, _, _| Some(Parser::Float),
    },
    ContentParser {
        name: "bool",
        arguments: &["strip"],
        streams: true,
        needs: None,
        load: |_, _, _| Some(Parser::Bool),
    },
    ContentParser {
        name: "json",
        arguments: &["unquoted_keys", "string_delims", "allow_non_json", "strip"],
        streams: false,
        needs: None,
        load: |loader, args, place| Some(Parser::Json(loader.json_args(args, place))),
    },
    ContentParser {
        name: "xml-inline",
        arguments: &["tag_pattern", "value_parser", "merge_duplicates"],
        streams: false,
        needs: None,
        load: |loader, args, place| {
            let tags = loader.xml_inline_args(args, place)?;
            Some(Parser::XmlInline(Box::new(tags)))
        },
    },
    ContentParser {
        name: "kv-lines",
        arguments: &["line_sep", "kv_sep", "strip", "value_parser"],
        streams: false,
        needs: None,
        load: |loader, args, place| Some(Parser::KvLines(loader.kv_lines_args(args, place))),
    },
    ContentParser {
        name: "python-call-list",
        arguments: &[],
        streams: false,
        needs: Some(Trait::PythonCallList),
        load: |_, _, _| Some(Parser::PythonCalls),
    },
];

impl ContentParser {
    /// The parser of this name.
    pub(crate) fn named(name: &str) -> Option<&'static ContentParser> {
        CONTENT_PARSERS.iter().find(|parser| parser.name == name)
    }
}

/// How the text of a region becomes a value.
#[derive(Debug)]
pub struct Content {
    pub(crate) kind: &'static ContentParser,
    #[doc(hidden)]
    pub parser: Parser,
    /// Whether white space around a text, a line, a key or a value is taken off.
    pub(crate) strip: bool,
}

/// A content parser with its arguments.
#[doc(hidden)]
#[derive(Debug)]
pub enum Parser {
    Text,
    Int,
    Float,
    Bool,
    Json(JsonArgs),
    XmlInline(Box<XmlInlineArgs>),
    KvLines(KvLinesArgs),
    PythonCalls,
}

impl Content {
    /// The parser's name, as templates write it.
    pub fn name(&self) -> &'static str {
        self.kind.name
    }

    /// Whether each chunk of the text is already a part of the value.
    pub fn streams(&self) -> bool {
        self.kind.streams
    }

    /// Whether a text is a whole value that shows where it ends.
    pub(crate) fn ends_itself(&self, text: &str) -> bool {
        match &self.parser {
            // What is no JSON may be a text.
            Parser::Json(args) => {
                let value = self.parse(text);
                value.is_ok_and(|value| !args.allow_non_json || !matches!(value, Value::String(_)))
            }
            Parser::PythonCalls => self.parse(text).is_ok(),
            Parser::Text | Parser::Int | Parser::Float | Parser::Bool => false,
            Parser::XmlInline(_) | Parser::KvLines(_) => false,
        }
    }

    /// The markers that stand for quotes in its JSON; `None` if it is not JSON that it reads.
    pub(crate) fn string_delims(&self) -> Option<&[(String, String)]> {
        match &self.parser {
            Parser::Json(args) => Some(&args.string_delims),
            Parser::Text | Parser::Int | Parser::Float | Parser::Bool => None,
            Parser::XmlInline(_) | Parser::KvLines(_) | Parser::PythonCalls => None,
        }
    }

    /// Parses the text of a region, or of a value inside of one.
    ///
    /// ```
    /// # use unjinja::{ResponseTemplate, Value};
    /// let template = ResponseTemplate::from_json(
    ///     r#"{"start_anchor": "A:", "fields": {"n": {"content": "int"}}}"#)?;
    /// let content = template.field("n").map(|field| field.content());
    /// assert_eq!(content.map(|content| content.parse(" 42 ")), Some(Ok(Value::from(42))));
    /// # Ok::<(), unjinja::TemplateError>(())
    /// ```
    pub fn parse(&self, text: &str) -> Result<Value, ContentError> {
        self.parse_within(text, &mut Allowance::new(text.len()))
    }

    /// The same, as a part of the work on a region or a value.
    fn parse_within(&self, text: &str, allowance: &mut Allowance) -> Result<Value, ContentError> {
        // A text takes its time even if it is empty.
        allowance.spend(16 + text.len()).map_err(|Exhausted| {
            ContentError::new("its value parsers go over the same text too often")
        })?;
        match &self.parser {
            Parser::Text => Ok(self.stripped(text).into()),
            Parser::Int => number::read_int(self.stripped(text))
                .map(Value::from)
                .ok_or_else(|| not_a("a whole number", text)),
            Parser::Float => number::read_float(self.stripped(text))
                .map(|float| Value::Number(Number::Float(float)))
                .ok_or_else(|| not_a("a number", text)),
            Parser::Bool => {
                let text = self.stripped(text);
                Ok((text == "1" || text.eq_ignore_ascii_case("true")).into())
            }
            Parser::Json(args) => args.parse(text, self),
            Parser::XmlInline(args) => args.parse(text, allowance),
            Parser::KvLines(args) => args.parse(text, self, allowance),
            Parser::PythonCalls => python_calls::parse(text),
        }
    }

    /// The same for a text that is not needed afterwards: if it is the value, and long, it is not copied.
    pub(crate) fn parse_owned(&self, text: &mut String) -> Result<Value, ContentError> {
        let Parser::Text = self.parser else {
            return self.parse(text);
        };
        // A short one leaves the room to the text of the next region.
        let kept = self.stripped(text);
        if kept.len() < text.capacity() / 2 {
            return Ok(kept.into());
        }
        let mut text = std::mem::take(text);
        if self.strip {
            let kept = white_space::strip(&text);
            let start = kept.as_ptr() as usize - text.as_ptr() as usize;
            text.truncate(start + kept.len());
            text.drain(..start);
        }
        Ok(text.into())
    }

    /// Whether it makes nothing of its text.
    fn passes_on(&self) -> bool {
        matches!(self.parser, Parser::Text) && !self.strip
    }

    /// Whether the value is the text without the white space around it.
    pub(crate) fn is_stripped_text(&self) -> bool {
        matches!(self.parser, Parser::Text) && self.strip
    }

    pub(super) fn stripped<'t>(&self, text: &'t str) -> &'t str {
        if self.strip {
            white_space::strip(text)
        } else {
            text
        }
    }
}

/// Parses a value with the parser given for values, or leaves it as it is.
fn parse_value(
    parser: Option<&Content>,
    raw: &str,
    allowance: &mut Allowance,
) -> Result<Value, ContentError> {
    match parser {
        Some(parser) => parser.parse_within(raw, allowance),
        None => Ok(raw.into()),
    }
}

fn not_a(what: &str, text: &str) -> ContentError {
    ContentError::new(format!("{} is not {what}", excerpt(text)))
}

/// The beginning of a text, quoted, for messages.
pub(super) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 80;
    let end = text.floor_char_boundary(LONGEST);
    let more = if end < text.len() { "…" } else { "" };
    format!("{:?}{more}", &text[..end])
}
