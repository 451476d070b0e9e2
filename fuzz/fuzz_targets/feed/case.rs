//! Templates and texts made from fuzz bytes.

use std::fmt;

use arbitrary::{Result, Unstructured};
use unjinja::{Object, OnMalformed, ParserOptions, Tools, Value, json};
use unjinja_fuzz::{args, pattern};

const FIELD_NAMES: &[&str] = &["content", "thinking", "tool_calls", "meta"];

/// Among them are some that begin, end or hold others.
const LITERALS: &[&str] = &[
    "<a>", "</a>", "<think>", "</think>", "<call x>", "a", "ab", "abc", "<", "\n", "\n\n", "é",
    "\"", "}", ">x<", "<|q|>",
];

const FRAGMENTS: &[&str] = &[
    "<a>",
    "</a>",
    "<think>",
    "</think>",
    "<call f>",
    "{\"a\": \"1\"}",
    "[{\"name\": \"f\", \"arguments\": {\"a\": \"1\"}}]",
    "{\"name\": \"f\", \"arguments\": {\"a\": \"</a>\", \"b\": \"\\\"\"}}",
    "{a:<|q|>1<|q|>}",
    "<p=a>1</p>",
    "a: 1\nb: true\n",
    " 12 ",
    "1.5",
    "true",
    "null",
    "\"",
    "\\",
    "<|q|>",
    "\n\n",
    "\r\n",
    " \u{1c} ",
];

const TRANSFORMS: &[&str] = &[
    r#""{content}""#,
    r#"["{content}"]"#,
    r#"{"one": "{content}", "two": "{content}"}"#,
    r#"{"function": {"name": "f", "arguments": "{content}"}}"#,
    r#"{"function": {"name": "{name}", "arguments": "{content}"}}"#,
    r#"{"function": {"name": "{content.name}", "arguments": "{content.arguments}"}}"#,
    r#"{"a": "{content.a}", "whole": "{content}"}"#,
    r#""{name}""#,
    r#"{"fixed": [1, null]}"#,
];

const EACH_TRANSFORM: &str = r#"{"function": {"name": "{name}", "arguments": "{arguments}"}}"#;

const DEFAULTS: &[&str] = &[
    r#"{}"#,
    r#"{"role": "assistant"}"#,
    r#"{"content": ""}"#,
    r#"{"content": "x"}"#,
    r#"{"content": null, "thinking": []}"#,
    r#"{"tool_calls": [], "meta": null}"#,
];

const TOOLS: &str = r#"[{"type": "function", "function": {"name": "f", "parameters": {
    "properties": {
        "a": {"type": "integer"},
        "b": {"anyOf": [{"type": "boolean"}, {"type": "object"}], "nullable": true},
        "c": {"type": ["number", "array"]}
    }
}}}]"#;

/// What the target tries out.
pub struct Case {
    pub template: Value,
    pub options: ParserOptions,
    pub has_tools: bool,
    pub prefix: String,
    pub chunks: Vec<String>,
    /// Whether one of the delimiters may match the empty text.
    pub may_match_nothing: bool,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "template: {}\nprefix: {:?}\nchunks: {:?}\n{}, tools: {}",
            self.template,
            self.prefix,
            self.chunks,
            super::shown(&self.options),
            self.has_tools
        )
    }
}

impl Case {
    pub fn new(u: &mut Unstructured<'_>) -> Result<Case> {
        let mut maker = Maker::default();
        let template = maker.template(u)?;
        let has_tools = u.ratio(1, 4)?;
        let options = ParserOptions::default()
            .tools(if has_tools {
                Tools::from_value(&constant(TOOLS))
            } else {
                Tools::none()
            })
            .on_malformed(if u.arbitrary()? {
                OnMalformed::Event
            } else {
                OnMalformed::Fail
            })
            .spans(u.arbitrary()?)
            .body_aware_close(u.arbitrary()?);
        let prefix = match u.int_in_range(0..=3)? {
            0 => maker.text(u, 4)?,
            1 => format!("{}A:{}", maker.text(u, 2)?, maker.text(u, 4)?),
            _ => String::new(),
        };
        let text = maker.text(u, 24)?;
        Ok(Case {
            template,
            options,
            has_tools,
            prefix,
            chunks: cut(u, &text)?,
            may_match_nothing: maker.may_match_nothing,
        })
    }
}

fn constant(json: &str) -> Value {
    json::read(json).expect("a constant of this file")
}

/// Makes a template, and remembers what texts for it should hold.
#[derive(Default)]
struct Maker {
    literals: Vec<&'static str>,
    may_match_nothing: bool,
}

impl Maker {
    fn template(&mut self, u: &mut Unstructured<'_>) -> Result<Value> {
        let count = u.int_in_range(1..=FIELD_NAMES.len())?;
        let implicit = u.int_in_range(0..=count)?;
        let mut fields = Object::new();
        for (index, &name) in FIELD_NAMES[..count].iter().enumerate() {
            fields.insert(name, self.field(u, index == implicit)?);
        }
        let mut template = Object::new();
        template.insert("start_anchor", "A:");
        template.insert("defaults", constant(u.choose(DEFAULTS)?));
        template.insert("fields", fields);
        Ok(template.into())
    }

    fn field(&mut self, u: &mut Unstructured<'_>, implicit: bool) -> Result<Object> {
        let mut field = Object::new();
        let mut captures = false;
        if !implicit {
            captures |= self.delimiter(u, &mut field, "open")?;
        }
        if u.ratio(7, 8)? {
            captures |= self.delimiter(u, &mut field, "close")?;
        }
        let (parser, args) = args::any(u)?;
        field.insert("content", parser);
        field.insert("content_args", args);
        let repeats = u.arbitrary()?;
        field.insert("repeats", repeats);
        if repeats && u.ratio(1, 4)? {
            field.insert("join", *u.choose(&["", "\n", "ab"])?);
        }
        if u.ratio(1, 8)? {
            field.insert("optional", false);
        }
        if captures || u.ratio(1, 4)? {
            if u.ratio(1, 4)? {
                field.insert("transform", constant(EACH_TRANSFORM));
                field.insert("transform_each", true);
            } else {
                field.insert("transform", constant(u.choose(TRANSFORMS)?));
            }
        }
        Ok(field)
    }

    /// Adds a delimiter; says whether it captures anything.
    fn delimiter(
        &mut self,
        u: &mut Unstructured<'_>,
        field: &mut Object,
        key: &str,
    ) -> Result<bool> {
        if u.arbitrary()? {
            let pattern = pattern::any(u)?;
            self.may_match_nothing |= pattern.may_be_empty;
            let captures = pattern.text.contains("(?P<");
            field.insert(format!("{key}_pattern"), pattern.text);
            return Ok(captures);
        }
        let mut literals = Vec::new();
        for _ in 0..u.int_in_range(1..=3)? {
            literals.push(*u.choose(LITERALS)?);
        }
        self.literals.extend(&literals);
        match literals[..] {
            [only] => field.insert(key, only),
            _ => field.insert(
                key,
                Value::Array(literals.into_iter().map(Value::from).collect()),
            ),
        };
        Ok(false)
    }

    /// A text of some fragments, many of which mean something to the template. It is not long, since
    /// patterns that look around may take time in proportion to its square for each chunk.
    fn text(&self, u: &mut Unstructured<'_>, most: usize) -> Result<String> {
        const LONG_ENOUGH: usize = 1_000;
        let mut text = String::new();
        for _ in 0..u.int_in_range(0..=most)? {
            if text.len() > LONG_ENOUGH {
                break;
            }
            match u.int_in_range(0..=9)? {
                0..=3 if !self.literals.is_empty() => text.push_str(u.choose(&self.literals)?),
                0..=5 => text.push_str(u.choose(FRAGMENTS)?),
                6 | 7 => text.push_str(u.choose(pattern::CHARACTERS)?),
                8 => {
                    // Long enough to get past the part that is searched first.
                    let times = u.int_in_range(1..=300)?;
                    text.push_str(&u.choose(pattern::CHARACTERS)?.repeat(times));
                }
                _ => text.push(u.arbitrary()?),
            }
        }
        Ok(text)
    }
}

/// Cuts a text into chunks, some of which may be empty.
fn cut(u: &mut Unstructured<'_>, text: &str) -> Result<Vec<String>> {
    const MOST_CHUNKS: usize = 64;
    let largest = *u.choose(&[1, 3, 8, 64])?;
    let mut chunks = Vec::new();
    let mut rest = text;
    while !rest.is_empty() && chunks.len() < MOST_CHUNKS && !u.is_empty() {
        let length = u.int_in_range(0..=largest)?;
        let end = rest
            .char_indices()
            .nth(length)
            .map_or(rest.len(), |(at, _)| at);
        let (chunk, after) = rest.split_at(end);
        chunks.push(chunk.to_owned());
        rest = after;
    }
    chunks.push(rest.to_owned());
    Ok(chunks)
}
