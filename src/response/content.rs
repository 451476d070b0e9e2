//! The seven parsers that turn a region's text into a value.

mod json;
mod kv_lines;
mod xml_inline;

use crate::number;
use crate::value::{Number, Value};
use crate::white_space;

pub(crate) use json::JsonArgs;
pub(crate) use kv_lines::KvLinesArgs;
pub(crate) use xml_inline::XmlInlineArgs;

/// The names of the parsers.
pub(crate) const PARSER_NAMES: &[&str] = &[
    "text",
    "int",
    "float",
    "bool",
    "json",
    "xml-inline",
    "kv-lines",
];

/// The `content_args` that have an effect on each parser.
pub(crate) const ARGUMENT_NAMES: &[(&str, &[&str])] = &[
    ("text", &["strip"]),
    ("int", &["strip"]),
    ("float", &["strip"]),
    ("bool", &["strip"]),
    (
        "json",
        &["unquoted_keys", "string_delims", "allow_non_json", "strip"],
    ),
    (
        "xml-inline",
        &["tag_pattern", "value_parser", "merge_duplicates"],
    ),
    ("kv-lines", &["line_sep", "kv_sep", "strip", "value_parser"]),
];

/// How the text of a region becomes a value.
#[derive(Debug)]
pub struct Content {
    pub(crate) parser: Parser,
    /// Whether white space around a text, a line, a key or a value is taken off.
    pub(crate) strip: bool,
}

#[derive(Debug)]
pub(crate) enum Parser {
    Text,
    Int,
    Float,
    Bool,
    Json(JsonArgs),
    XmlInline(Box<XmlInlineArgs>),
    KvLines(KvLinesArgs),
}

impl Content {
    /// The parser's name, as templates write it.
    pub fn name(&self) -> &'static str {
        match self.parser {
            Parser::Text => "text",
            Parser::Int => "int",
            Parser::Float => "float",
            Parser::Bool => "bool",
            Parser::Json(_) => "json",
            Parser::XmlInline(_) => "xml-inline",
            Parser::KvLines(_) => "kv-lines",
        }
    }

    /// Whether each chunk of the text is already a part of the value.
    pub fn streams(&self) -> bool {
        matches!(
            self.parser,
            Parser::Text | Parser::Int | Parser::Float | Parser::Bool
        )
    }

    /// The markers that stand for quotes in its JSON; `None` if it is not JSON that it reads.
    pub(crate) fn string_delims(&self) -> Option<&[(String, String)]> {
        match &self.parser {
            Parser::Json(args) => Some(&args.string_delims),
            _ => None,
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
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        self.parse_within(text, &mut Work::new(text))
    }

    /// The same, as a part of the work on a region.
    fn parse_within(&self, text: &str, work: &mut Work) -> Result<Value, String> {
        work.spend(text)?;
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
            Parser::XmlInline(args) => args.parse(text, work),
            Parser::KvLines(args) => args.parse(text, self, work),
        }
    }

    /// The same for a text that is not needed afterwards: where it is the value, it is not copied.
    pub(crate) fn parse_owned(&self, text: &mut String) -> Result<Value, String> {
        let Parser::Text = self.parser else {
            return self.parse(text);
        };
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

    fn stripped<'t>(&self, text: &'t str) -> &'t str {
        if self.strip {
            white_space::strip(text)
        } else {
            text
        }
    }
}

/// How much text may be parsed for one region: parsers of values stand in each other, and each may
/// be given the same text again and again.
struct Work {
    left: usize,
}

impl Work {
    fn new(text: &str) -> Work {
        Work {
            left: (1 << 20) + 64 * text.len(),
        }
    }

    fn spend(&mut self, text: &str) -> Result<(), String> {
        // A text takes its time even if it is empty.
        match self.left.checked_sub(16 + text.len()) {
            Some(left) => self.left = left,
            None => return Err("its value parsers go over the same text too often".into()),
        }
        Ok(())
    }
}

/// Parses a value with the parser given for values, or leaves it as it is.
fn parse_value(parser: Option<&Content>, raw: &str, work: &mut Work) -> Result<Value, String> {
    match parser {
        Some(parser) => parser.parse_within(raw, work),
        None => Ok(raw.into()),
    }
}

fn not_a(what: &str, text: &str) -> String {
    format!("{} is not {what}", excerpt(text))
}

/// The beginning of a text, quoted, for messages.
fn excerpt(text: &str) -> String {
    const LONGEST: usize = 80;
    let end = text.floor_char_boundary(LONGEST);
    let more = if end < text.len() { "…" } else { "" };
    format!("{:?}{more}", &text[..end])
}
