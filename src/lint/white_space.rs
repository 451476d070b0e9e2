//! White space between regions, which may become a region of its own.

use crate::response::{DelimiterKind, Example, OnMalformed, ParserOptions, Watch, parse};
use crate::value::Value;

use super::subject::Subject;
use super::{Complaints, Lint, listed, quoted};

/// What the field without an opening delimiter says first.
const WORD: &str = "Well";

/// So many of the closes are shown.
const MAX_SHOWN: usize = 3;

/// So many delimiters are tried: each takes a parser or two.
const MAX_TRIED: usize = 200;

pub(super) fn check(subject: &Subject<'_>, complaints: &mut Complaints) {
    let inner = subject.inner();
    let Some(implicit) = inner.implicit else {
        return;
    };
    let name = inner.fields[implicit].name();
    let mut closes: Vec<String> = Vec::new();
    for watch in subject.watched().into_iter().take(MAX_TRIED) {
        if closes.len() == MAX_SHOWN {
            break;
        }
        if let (DelimiterKind::Close, Some(close)) =
            (watch.kind, losing_close(subject, name, &watch))
        {
            closes.push(quoted(&close));
        }
    }
    if closes.is_empty() {
        return;
    }
    closes.dedup();
    complaints.add(
        Lint::WhiteSpaceReplaces,
        subject.field_pointer(implicit),
        format!(
            "white space behind {} is a new region of `{name}`, and its empty text replaces the \
             one before",
            listed(&closes, "or")
        ),
        "let what closes regions take white space along, as in `</call>\\s*`, or add \
         `\"repeats\": true` and `\"join\": \"\"`",
    );
}

/// What closes a region, if a newline behind it replaces the text before the region.
fn losing_close(subject: &Subject<'_>, name: &str, close: &Watch) -> Option<String> {
    let of_field = |watch: &&Watch| watch.kind == DelimiterKind::Open && watch.field == close.field;
    let open = subject.inner().watches(None).iter().find(of_field);
    let opened = open.map(|open| subject.examples(open).first());
    let opened = match opened {
        // The implicit region is open as soon as there is text.
        None => "",
        Some(example) => example.map(|example| example.text.as_str())?,
    };
    let loses = |example: &&Example| {
        let text = format!("{WORD}{opened}{}", example.text);
        let reads = |text: &str| value_of(subject, name, text).is_some_and(|text| text == WORD);
        !example.matched().is_empty() && reads(&text) && !reads(&format!("{text}\n"))
    };
    let example = subject.examples(close).iter().find(loses)?;
    Some(example.text.clone())
}

/// What a field says in the message that a text means.
fn value_of(subject: &Subject<'_>, field: &str, text: &str) -> Option<String> {
    let options = ParserOptions::default().on_malformed(OnMalformed::Event);
    let message = parse(subject.template, "", text, options).ok()?;
    let value = message.get(field).and_then(Value::as_str);
    value.map(str::to_owned)
}
