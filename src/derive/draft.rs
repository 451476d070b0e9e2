//! Writing a response template from findings.

// Each builds on those above it.
mod call_texts;

mod drafter;

mod closing;
mod opening;

mod arguments;
mod calls;
mod content;
mod reasoning;

use crate::analysis::lexicon::unmarked;
use crate::analysis::markers::{NAME_SLOT, is_distinctive};
use crate::analysis::{CallBody, CallKeys, Findings, Slot, text_with_slots};
use crate::json;
use crate::value::{Object, Value};

use super::choices::Choices;
use super::options::DeriveOptions;
use drafter::{Drafter, texts};

/// A response template for findings, with some choices made.
pub(super) fn draft(findings: &Findings, choices: &Choices, options: &DeriveOptions) -> Value {
    // No transform takes a part of a string.
    let mut findings = match choices.split_objects || has_text_around_name(findings) {
        true => split_objects(findings),
        false => findings.clone(),
    };
    leave_turn_end_out(&mut findings);
    let findings = &findings;
    let drafter = Drafter {
        findings,
        choices,
        options,
    };
    let mut template = Object::new();
    template.insert("version", 1);
    template.insert("defaults", Object::from_iter([("role", "assistant")]));
    let headers = &findings.turn.headers;
    match headers.as_slice() {
        // Nothing of the prompt belongs to the turn.
        [] => template.insert("start_anchor_pattern", "\\Z"),
        [one] => template.insert("start_anchor", one.as_str()),
        several => template.insert("start_anchor", texts(several)),
    };
    let mut fields = Object::new();
    if let Some(thinking) = drafter.thinking() {
        fields.insert(options.reasoning_field.as_str(), thinking);
    }
    if let Some(calls) = drafter.calls() {
        fields.insert("tool_calls", calls);
    }
    fields.insert("content", drafter.content());
    template.insert("fields", fields);
    without_brackets(template.into())
}

/// The value without the brackets around markers that consist of several parts.
fn without_brackets(value: Value) -> Value {
    match value {
        Value::String(text) => unmarked(&text.to_string_lossy()).into(),
        Value::Array(values) => values.into_iter().map(without_brackets).collect(),
        Value::Object(object) => {
            let pairs = object.into_iter();
            let pairs = pairs.map(|(key, value)| (key, without_brackets(value)));
            pairs.collect::<Object>().into()
        }
        other => other,
    }
}

/// Takes what ends a turn out of what opens a call. Where a call has a turn of its own, as in
/// `…<end>call:`, the end is dropped wherever it stands, and what has closed a call can't be missed by the next.
fn leave_turn_end_out(findings: &mut Findings) {
    let Some(Slot::Text(text)) = findings
        .calls
        .as_mut()
        .and_then(|shape| shape.open.first_mut())
    else {
        return;
    };
    let mut ends = findings.turn.ends.iter().map(|end| end.trim());
    let own = ends.find_map(|end| {
        text.trim_start()
            .strip_prefix(end)
            .filter(|_| !end.is_empty())
    });
    if let Some(own) = own.filter(|own| is_distinctive(own)) {
        *text = own.trim_start().to_owned();
    }
}

/// The findings as if what stands around the arguments in a call's JSON were markers.
fn split_objects(findings: &Findings) -> Findings {
    let mut split = findings.clone();
    let Some(shape) = &mut split.calls else {
        return split;
    };
    let (CallBody::Object(keys, dialect) | CallBody::Array(keys, dialect)) = shape.body.clone()
    else {
        return split;
    };
    let ([name], [arguments], 2) = (
        keys.name.as_slice(),
        keys.arguments.as_slice(),
        keys.all.len(),
    ) else {
        return split;
    };
    if keys.all.first() != Some(name) || !dialect.is_json() {
        return split;
    }
    if matches!(shape.body, CallBody::Array(..)) {
        // What stands around the array stands around all calls.
        shape.section_open = format!("{}{}[", shape.section_open, text_with_slots(&shape.open));
        shape.section_close = format!("]{}{}", shape.close_text(), shape.section_close);
        shape.separator = " , ".to_owned();
        (shape.open, shape.close) = (Vec::new(), Vec::new());
    }
    let (before, after) = around_name(&keys).unwrap_or_default();
    // White space may stand wherever JSON has it, whatever the template writes.
    shape.open.extend([
        Slot::Text(format!("{{ \"{name}\" : \"{before}")),
        Slot::Name,
        Slot::Text(format!("{after}\" , \"{arguments}\" : ")),
    ]);
    shape.close.insert(0, Slot::Text("}".to_owned()));
    shape.body = CallBody::Arguments(dialect);
    split
}

/// Whether a call's JSON has more than the name under the key of the name.
fn has_text_around_name(findings: &Findings) -> bool {
    let body = findings.calls.as_ref().map(|shape| &shape.body);
    match body {
        Some(CallBody::Object(keys, _) | CallBody::Array(keys, _)) => {
            around_name(keys).is_some_and(|(before, after)| !(before + &after).is_empty())
        }
        _ => false,
    }
}

/// What stands around the name in the string that holds it.
fn around_name(keys: &CallKeys) -> Option<(String, String)> {
    let object = json::read(&keys.object).ok()?;
    let mut path = keys.name.iter();
    let text = path.try_fold(&object, |value, key| value.get(key))?;
    let (before, after) = text.as_str()?.split_once(NAME_SLOT)?;
    Some((before.to_owned(), after.to_owned()))
}
