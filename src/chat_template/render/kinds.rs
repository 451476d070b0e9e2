//! What kind of thing a value is in Python.

use minijinja::value::ValueKind;
use minijinja::{Error, Value};

use super::budget;
use super::error::invalid;

/// Whether a value is one of minijinja's own objects, which it does not name in public.
pub(super) fn is_a(value: &Value, kind: &str) -> bool {
    let object = value.as_object();
    let path = object.and_then(|object| object.type_name().strip_suffix(kind));
    path.is_some_and(|path| path.is_empty() || path.ends_with("::"))
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

/// A number as a fraction, where a truth value counts as one.
pub(super) fn float(value: &Value) -> Option<f64> {
    match value.kind() {
        ValueKind::Bool => Some(f64::from(u8::from(value.is_true()))),
        ValueKind::Number => f64::try_from(value.clone()).ok(),
        _ => None,
    }
}

/// Refuses what can't be a key: lists and mappings, also within tuples.
///
/// To find a key, minijinja goes through all that it holds, which may be the same tuple over and over.
/// So it is gone through here before, and counted.
pub(super) fn check_key(key: &Value) -> Result<(), Error> {
    match key.kind() {
        ValueKind::Seq if key.is_tuple() => {
            budget::look(key.len().unwrap_or(0))?;
            key.try_iter()?.try_for_each(|part| check_key(&part))
        }
        ValueKind::Map | ValueKind::Seq => {
            Err(invalid(format!("{} can't be a key", type_name(key))))
        }
        ValueKind::String => budget::read(key.as_str().map_or(0, str::len)),
        _ => Ok(()),
    }
}
