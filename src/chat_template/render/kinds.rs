//! What kind of thing a value is in Python.

use minijinja::value::ValueKind;
use minijinja::{Error, Value};

use super::error::invalid;

/// Whether a value is one of minijinja's own objects, which it does not name in public.
pub(super) fn is_a(value: &Value, kind: &str) -> bool {
    let object = value.as_object();
    object.is_some_and(|object| object.type_name().rsplit("::").next() == Some(kind))
}

/// What a value is called in messages.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value.kind() {
        ValueKind::Undefined => "an undefined value",
        ValueKind::None => "none",
        ValueKind::Bool => "a truth value",
        ValueKind::Number => "a number",
        ValueKind::String => "a string",
        ValueKind::Seq if value.is_tuple() => "a tuple",
        ValueKind::Seq | ValueKind::Iterable => "a list",
        ValueKind::Map => "a mapping",
        _ => "an object",
    }
}

/// Refuses what can't be a key: lists and mappings.
pub(super) fn check_key(key: &Value) -> Result<(), Error> {
    let is_key = match key.kind() {
        ValueKind::Map => false,
        ValueKind::Seq => key.is_tuple(),
        _ => true,
    };
    match is_key {
        true => Ok(()),
        false => Err(invalid(format!("{} can't be a key", type_name(key)))),
    }
}
