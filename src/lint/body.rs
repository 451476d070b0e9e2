//! Closes that can stand inside of what they close.

use std::ops::ControlFlow;

use crate::json;
use crate::response::pattern::{Draft, Meter, drafts};
use crate::response::{Content, DelimiterKind, Parser, Watch, XmlInlineArgs};
use crate::value::Value;

use super::subject::Subject;
use super::{Complaints, Lint, listed, quoted};

/// So many of the closes are shown.
const MAX_SHOWN: usize = 3;

pub(super) fn check(subject: &Subject<'_>, complaints: &mut Complaints) {
    for watch in subject.watched() {
        if watch.kind != DelimiterKind::Close {
            continue;
        }
        let closes = closes_inside(subject, &watch);
        if closes.is_empty() {
            continue;
        }
        let content = subject.inner().fields[watch.field].content();
        let shown: Vec<String> = closes.iter().take(MAX_SHOWN).map(|c| quoted(c)).collect();
        complaints.add(
            Lint::CloseInBody,
            subject.delimiter_pointer(&watch),
            format!(
                "{} can stand within {} in a region of `{}`, as it does where models write of \
                 such formats or quote them, and the region ends there",
                listed(&shown, "or"),
                value_of(content),
                subject.inner().fields[watch.field].name(),
            ),
            remedy(content),
        );
    }
}

fn value_of(content: &Content) -> &'static str {
    match content.parser {
        Parser::Json(_) | Parser::PythonCalls => "a string",
        Parser::Text | Parser::Int | Parser::Float | Parser::Bool => "a value",
        Parser::XmlInline(_) | Parser::KvLines(_) => "a value",
    }
}

fn remedy(content: &Content) -> &'static str {
    match content.parser {
        Parser::Json(_) => {
            "let it begin with what no string of JSON holds, such as the newline that the model \
             writes before it, or read with `body_aware_close` where the engine has that"
        }
        Parser::KvLines(_) => "let it begin with what ends a line",
        Parser::PythonCalls => {
            "let it begin with what no string of a call holds, such as the `]` that ends the list"
        }
        Parser::XmlInline(_) | Parser::Text | Parser::Int | Parser::Float | Parser::Bool => {
            "let it begin with what ends a value, which a value can't hold"
        }
    }
}

/// Texts of the delimiter that a value in the region's text may hold, and that close there.
fn closes_inside(subject: &Subject<'_>, watch: &Watch) -> Vec<String> {
    let inner = subject.inner();
    let content = inner.fields[watch.field].content();
    let pattern = inner.delimiter(watch).compiled();
    let holders = holders(subject, watch.field);
    let mut meter = Meter::new(1 << 16);
    let mut closes: Vec<String> = Vec::new();
    for example in subject.examples(watch) {
        let text = example.text.trim();
        if text.is_empty() || subject.holds_token(text) || closes.iter().any(|c| c == text) {
            continue;
        }
        // As it stands, and as a string of JSON would have it.
        let written = [example.text.clone(), escaped(&example.text)];
        let mut closes_there = |(before, after): &(String, String)| {
            written.iter().any(|held| {
                let body = [before.as_str(), held, after].concat();
                let found = pattern.find(&body, 0, &mut meter).ok().flatten();
                let within = before.len()..=before.len() + held.len();
                let ends_inside =
                    found.is_some_and(|f| within.contains(&f.start) && within.contains(&f.end));
                ends_inside && is_one_value(content, &body, &example.text)
            })
        };
        if holders.iter().any(&mut closes_there) {
            closes.push(text.to_owned());
        }
    }
    closes
}

/// A text as it is written within a string of JSON.
fn escaped(text: &str) -> String {
    let written = json::write(&text.into());
    written[1..written.len() - 1].to_owned()
}

/// Whether a text of a region is one key with a value that holds this.
fn is_one_value(content: &Content, body: &str, held: &str) -> bool {
    let arguments = |call: &Value| call.get("arguments")?.as_object().cloned();
    let object = match content.parse(body) {
        Ok(Value::Object(object)) => Some(object),
        Ok(Value::Array(calls)) if matches!(content.parser, Parser::PythonCalls) => calls
            .first()
            .filter(|_| calls.len() == 1)
            .and_then(arguments),
        _ => None,
    };
    let Some(object) = object else {
        return false;
    };
    let mut values = object.iter().map(|(_, value)| value);
    let first = values.next().and_then(Value::as_str);
    values.next().is_none() && first.is_some_and(|text| text.contains(held))
}

/// What stands before and after a piece of a value in the text of a field's region.
fn holders(subject: &Subject<'_>, field: usize) -> Vec<(String, String)> {
    match &subject.inner().fields[field].content().parser {
        Parser::Json(json) => {
            let quotes = ("\"".to_owned(), "\"".to_owned());
            let marks = std::iter::once(&quotes).chain(&json.string_delims);
            let around = |(open, close): &(String, String)| {
                (format!("{{\"a\":{open}b"), format!("b{close}}}"))
            };
            marks.map(around).collect()
        }
        Parser::PythonCalls => ['\'', '"']
            .map(|quote| (format!("[a(b={quote}c"), format!("d{quote})]")))
            .into(),
        Parser::KvLines(lines) => vec![(format!("a{}b", lines.kv_sep), "b".to_owned())],
        Parser::XmlInline(tags) => {
            let texts = drafts(subject.tag_spelling(field).unwrap_or_default());
            let texts = texts.iter().map(Draft::whole);
            texts.filter_map(|text| around_value(tags, &text)).collect()
        }
        Parser::Text | Parser::Int | Parser::Float | Parser::Bool => Vec::new(),
    }
}

/// A tag with a value, cut in two in the middle of it.
fn around_value(tags: &XmlInlineArgs, text: &str) -> Option<(String, String)> {
    let mut value = None;
    let searched = tags.pattern.for_each_match(text, |found| {
        let group = tags.value.and_then(|value| found.group(value));
        value = group.filter(|value| !value.is_empty());
        ControlFlow::Break(())
    });
    let value = value.filter(|_| searched.is_ok())?;
    Some((
        text[..value.end].to_owned(),
        format!("b{}", &text[value.end..]),
    ))
}
