//! What a call consists of: a JSON object, tagged arguments, or a call as in Python.

use std::ops::Range;

use crate::json;
use crate::value::Value;

use super::arguments::{self, Quoting};
use super::call_probe::CallWords;
use super::call_renderings::{ArgumentSpan, CallRenderings};
use super::call_shape::{CallBody, CallKeys, Tagged};
use super::markers::{ID_SLOT, NAME_SLOT};
use super::written_values;

/// The body of the call in the rendering of one call, and where it stands.
pub(super) struct LocatedBody {
    pub(super) body: CallBody,
    pub(super) range: Range<usize>,
}

impl LocatedBody {
    pub(super) fn find(renderings: &CallRenderings) -> Option<LocatedBody> {
        let span = renderings.string_span()?;
        let quoting = arguments::quoting(renderings, &span);
        let quoted = quoting
            .as_ref()
            .and_then(|quoting| quoted_body(renderings, &span, quoting));
        if quoted.is_some() {
            return quoted;
        }
        // No object holds them: values stand between markers, be they raw or JSON.
        let (tagged, range) = arguments::tagged(renderings, &span, quoting.as_ref())?;
        Some(LocatedBody {
            body: CallBody::Tagged(tagged),
            range,
        })
    }
}

fn quoted_body(
    renderings: &CallRenderings,
    span: &ArgumentSpan,
    quoting: &Quoting,
) -> Option<LocatedBody> {
    let text = renderings.one_call.as_str();
    if quoting.is_python_call {
        let end = span.value.end + quoting.close.len();
        let between = &text[span.key.end..span.value.start - quoting.open.len()];
        let arguments = Tagged {
            open: String::new(),
            close: Vec::new(),
            separator: separator(renderings, quoting).unwrap_or_else(|| ", ".to_owned()),
            values: written_values::texts(between, quoting.wrapped()),
        };
        return Some(LocatedBody {
            body: CallBody::Python(arguments),
            range: span.key.start..end,
        });
    }
    let arguments = quoting.object_range(text, span)?;
    let dialect = quoting.dialect();
    for (range, value) in quoting.containers(text, &arguments) {
        let (call, is_list) = match &value {
            Value::Array(calls) => (calls.first(), true),
            call => (Some(call), false),
        };
        let Some(keys) = call.and_then(|call| call_keys(call, &renderings.words)) else {
            continue;
        };
        if !is_list {
            let body = CallBody::Object(keys, dialect);
            return Some(LocatedBody { body, range });
        }
        if calls_share_list(renderings, quoting) {
            let body = CallBody::Array(keys, dialect);
            return Some(LocatedBody { body, range });
        }
    }
    Some(LocatedBody {
        body: CallBody::Arguments(dialect),
        range: arguments,
    })
}

/// What stands between two arguments of a Python call.
fn separator(renderings: &CallRenderings, quoting: &Quoting) -> Option<String> {
    let text = renderings.two_arguments.as_deref()?;
    let (first, second) = (
        renderings.first_argument(text)?,
        renderings.second_argument(text)?,
    );
    let between = text.get(first.value.end..second.key.start)?;
    Some(between.strip_prefix(quoting.close.as_str())?.to_owned())
}

/// Whether two calls stand in one list, as far as two were rendered.
fn calls_share_list(renderings: &CallRenderings, quoting: &Quoting) -> bool {
    let Some(text) = renderings.two_calls.as_deref() else {
        return true;
    };
    let first = renderings.first_argument(text);
    let Some(range) = first.and_then(|first| quoting.object_range(text, &first)) else {
        return false;
    };
    let second = renderings.words.values[1].as_str();
    let mut containers = quoting.containers(text, &range).into_iter();
    containers.any(|(range, value)| value.as_array().is_some() && text[range].contains(second))
}

/// Where the parts of a call are in a JSON value, if it is a call.
fn call_keys(call: &Value, words: &CallWords) -> Option<CallKeys> {
    let entries = call.as_object()?;
    let is = |slot: char| move |value: &Value| value.as_str().is_some_and(|s| s.contains(slot));
    let arguments = |value: &Value| match value {
        Value::Object(object) => object.contains_key(&words.keys[0]),
        Value::String(text) => text.to_string_lossy().contains(words.keys[0].as_str()),
        _ => false,
    };
    let arguments_path = path(call, &arguments)?;
    let found = arguments_path
        .iter()
        .try_fold(call, |value, key| value.get(key))?;
    Some(CallKeys {
        name: path(call, &is(NAME_SLOT))?,
        arguments_as_text: found.as_str().is_some(),
        arguments: arguments_path,
        id: path(call, &is(ID_SLOT)),
        object: json::write(call),
        all: entries
            .keys()
            .map(|key| key.to_string_lossy().into_owned())
            .collect(),
    })
}

/// The keys that lead to the first value of a kind.
fn path(value: &Value, is: &dyn Fn(&Value) -> bool) -> Option<Vec<String>> {
    for (key, inner) in value.as_object()?.iter() {
        let key = key.to_string_lossy().into_owned();
        if is(inner) {
            return Some(vec![key]);
        }
        if let Some(mut rest) = path(inner, is) {
            rest.insert(0, key);
            return Some(rest);
        }
    }
    None
}
