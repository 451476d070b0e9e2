//! What functions of JMESPath make of single values and lists.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::number;
use crate::value::{JsonString, Number, Object, Value};

use super::compare::{equal_in_python, ordering, ordering_for_sorting};
use super::{Evaluated, rounded};

pub(super) fn number_of(value: &Value) -> Option<&Number> {
    value.as_number()
}

pub(super) fn bytes(value: &Value) -> &[u8] {
    value.as_json_string().map_or(&[], JsonString::as_wtf8)
}

pub(super) fn bytes_of_keys(value: &Value) -> usize {
    let keys = value.as_object().into_iter().flat_map(Object::keys);
    keys.map(|key| 16 + key.len()).sum()
}

pub(super) fn absolute(number: &Number) -> Number {
    match number {
        Number::Float(float) => Number::Float(float.abs()),
        Number::Int(int) => match int.checked_abs() {
            Some(int) => Number::Int(int),
            None => int.unsigned_abs().into(),
        },
        Number::BigInt(digits) => Number::BigInt(digits.trim_start_matches('-').to_owned()),
    }
}

pub(super) fn whole<'v>(value: &Value, round: fn(f64) -> f64) -> Evaluated<'v> {
    let rounded = number_of(value).and_then(|number| rounded(number, round));
    let rounded = rounded.ok_or("only finite numbers can be rounded")?;
    Ok(Cow::Owned(rounded.into()))
}

/// The sum of numbers, exact as long as they are whole.
pub(super) fn sum(items: &[Value]) -> Result<Number, String> {
    let mut whole: i128 = 0;
    let mut float = None;
    for number in items.iter().filter_map(number_of) {
        match (number, &mut float) {
            (Number::Int(int), None) => whole += i128::from(*int),
            (Number::BigInt(_), None) => {
                return Err("whole numbers of more than 64 bits can't be summed".into());
            }
            (number, Some(float)) => *float += number.as_f64(),
            (number, None) => float = Some(whole as f64 + number.as_f64()),
        }
    }
    Ok(match float {
        Some(float) => Number::Float(float),
        None => match i64::try_from(whole) {
            Ok(int) => Number::Int(int),
            Err(_) => Number::BigInt(whole.to_string()),
        },
    })
}

pub(super) fn contains(subject: &Value, search: &Value) -> Result<bool, String> {
    match (subject, search) {
        (Value::Array(items), search) => Ok(items.iter().any(|item| equal_in_python(item, search))),
        (subject, Value::String(search)) => {
            let found = memchr::memmem::find(bytes(subject), search.as_wtf8());
            Ok(found.is_some())
        }
        (_, other) => {
            let found = other.type_name();
            Err(format!("a string can't contain {found}"))
        }
    }
}

pub(super) fn length(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len(),
        Value::Object(object) => object.len(),
        // Each character begins with a byte that continues none.
        value => bytes(value)
            .iter()
            .filter(|byte| *byte & 0xC0 != 0x80)
            .count(),
    }
}

pub(super) fn reversed(text: &JsonString) -> Value {
    match text.as_str() {
        Some(text) => text.chars().rev().collect::<String>().into(),
        None => text
            .to_string_lossy()
            .chars()
            .rev()
            .collect::<String>()
            .into(),
    }
}

pub(super) fn to_number(value: &Value) -> Value {
    match value {
        Value::Number(_) => value.clone(),
        Value::String(text) => text.as_str().map_or(Value::Null, |text| {
            let int = number::read_int(text).map(Value::from);
            int.or_else(|| number::read_float(text).map(Value::from))
                .unwrap_or_default()
        }),
        _ => Value::Null,
    }
}

pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The first of the items whose key is the greatest, or the least.
pub(super) fn extreme<T>(
    items: impl Iterator<Item = T>,
    key: impl Fn(&T) -> &Value,
    wanted: Ordering,
) -> Result<Option<T>, String> {
    let mut best: Option<T> = None;
    for item in items {
        let is_better = match &best {
            None => true,
            Some(best) => ordering(key(&item), key(best))? == Some(wanted),
        };
        if is_better {
            best = Some(item);
        }
    }
    Ok(best)
}

/// Sorts items by their keys; equal ones stay in their order.
pub(super) fn sort<T>(items: &mut [T], key: impl Fn(&T) -> &Value) -> Result<(), String> {
    // Only things of one kind can be sorted, and these in any order.
    if let Some((first, others)) = items.split_first() {
        for other in others {
            ordering(key(first), key(other))?;
        }
    }
    items.sort_by(|a, b| ordering_for_sorting(key(a), key(b)).unwrap_or(Ordering::Equal));
    Ok(())
}
