//! What ends a turn, and what takes it.

use crate::response::{DelimiterKind, OnMalformed, ParserOptions, parse};
use crate::value::Value;

use super::subject::Subject;
use super::{Complaints, Lint, listed, quoted};

/// What stands before the end of a turn.
const WORD: &str = "Well";

pub(super) fn check(subject: &Subject<'_>, complaints: &mut Complaints) {
    let inner = subject.inner();
    let Some(implicit) = inner.implicit else {
        return;
    };
    let name = inner.fields[implicit].name();
    let close = inner
        .watches(None)
        .iter()
        .find(|watch| watch.kind == DelimiterKind::Close);
    let place = match close {
        Some(close) => subject.delimiter_pointer(close),
        None => subject.field_pointer(implicit),
    };
    let message = match (subject.ends(), close) {
        (Some(ends), _) => {
            let ends = ends.iter().filter(|end| stays_in_text(subject, name, end));
            let ends: Vec<String> = ends.map(|end| quoted(end)).collect();
            if ends.is_empty() {
                return;
            }
            let ends = listed(&ends, "and");
            format!("nothing takes {ends} where the turn ends, so it stays in `{name}`")
        }
        (None, None) => {
            format!("nothing closes `{name}`, so whatever token ends the model's turn stays in it")
        }
        (None, Some(_)) => return,
    };
    let remedy = "close it with the tokens that end a turn, and the white space behind them: \
                  `\"close_pattern\": \"<end>\\\\s*\"`";
    complaints.add(Lint::EndInText, place, message, remedy);
}

/// Whether the end of a turn is a part of what is read.
fn stays_in_text(subject: &Subject<'_>, field: &str, end: &str) -> bool {
    let options = ParserOptions::default().on_malformed(OnMalformed::Event);
    let Ok(message) = parse(subject.template, "", &format!("{WORD}{end}"), options) else {
        return false;
    };
    let text = match message.get(field) {
        Some(Value::Array(values)) => values.first().cloned(),
        value => value.cloned(),
    };
    text.is_some_and(|value| holds(&value, end.trim()))
}

/// Whether a text stands in any string of a value, as a transform may have put it.
fn holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string.to_string_lossy().contains(text),
        Value::Array(values) => values.iter().any(|value| holds(value, text)),
        Value::Object(object) => object.values().any(|value| holds(value, text)),
        _ => false,
    }
}
