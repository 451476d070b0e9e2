//! Between our values and minijinja's.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind};

use crate::value::{JsonString, Number, Object, Value};

use super::budget;
use super::kinds::{is_a, type_name};

/// How deeply values may nest that are turned into JSON: templates can build them without end.
const MAX_DEPTH: usize = 500;

/// What a list takes beside its items: room for the first ones is made at once.
const LIST: usize = 128;
/// What an object takes beside its members, which are found by their hashes.
const OBJECT: usize = 256;
/// What a member of an object takes beside its value and the text of its key.
const MEMBER: usize = 64;

/// Our value as minijinja's. Lone surrogates, which Rust's strings can't hold, are replaced.
pub(super) fn to_template(value: &Value) -> minijinja::Value {
    match value {
        Value::Null => minijinja::Value::from(()),
        Value::Bool(flag) => minijinja::Value::from(*flag),
        Value::Number(Number::Int(n)) => minijinja::Value::from(*n),
        Value::Number(Number::BigInt(digits)) => match digits.parse::<i128>() {
            Ok(n) => minijinja::Value::from(n),
            // Templates do not calculate with such numbers; they print them.
            Err(_) => minijinja::Value::from(digits.as_str()),
        },
        Value::Number(Number::Float(n)) => minijinja::Value::from(*n),
        Value::String(text) => minijinja::Value::from(&*text.to_string_lossy()),
        Value::Array(values) => values.iter().map(to_template).collect(),
        Value::Object(object) => minijinja::Value::from_pairs(pairs(object)),
    }
}

/// The members of an object, as minijinja has them.
pub(super) fn pairs(
    object: &Object,
) -> impl Iterator<Item = (minijinja::Value, minijinja::Value)> + '_ {
    let text = |key: &JsonString| minijinja::Value::from(&*key.to_string_lossy());
    object
        .iter()
        .map(move |(key, value)| (text(key), to_template(value)))
}

/// minijinja's value as ours; what JSON has no form for is an error.
pub(super) fn from_template(value: &minijinja::Value) -> Result<Value, Error> {
    convert(value, 0)
}

fn convert(value: &minijinja::Value, depth: usize) -> Result<Value, Error> {
    if depth > MAX_DEPTH {
        return Err(Error::new(
            ErrorKind::BadSerialization,
            "the value nests too deeply",
        ));
    }
    budget::spend(size_of::<Value>() + value.as_bytes().map_or(0, <[u8]>::len))?;
    match value.kind() {
        ValueKind::None => Ok(Value::Null),
        ValueKind::Bool => Ok(value.is_true().into()),
        ValueKind::Number => Ok(convert_number(value).into()),
        ValueKind::String => Ok(value.as_str().unwrap_or_default().into()),
        // What can only be gone through, as `d.items()`, is no list.
        ValueKind::Seq => {
            budget::spend(LIST)?;
            let items = value.try_iter()?.map(|item| convert(&item, depth + 1));
            Ok(items.collect::<Result<Vec<Value>, Error>>()?.into())
        }
        ValueKind::Map if !is_a(value, "Namespace") => {
            budget::spend(OBJECT)?;
            let mut object = Object::new();
            let pairs = value.as_object().and_then(|map| map.try_iter_pairs());
            for (key, item) in pairs.into_iter().flatten() {
                budget::spend(MEMBER + key.as_str().map_or(0, str::len))?;
                object.insert(key_text(&key)?, convert(&item, depth + 1)?);
            }
            Ok(object.into())
        }
        _ => Err(Error::new(
            ErrorKind::BadSerialization,
            format!("{} can't be written as JSON", type_name(value)),
        )),
    }
}

fn convert_number(value: &minijinja::Value) -> Number {
    if let Some(n) = value.as_i64().filter(|_| value.is_integer()) {
        return Number::Int(n);
    }
    match i128::try_from(value.clone()) {
        Ok(n) if value.is_integer() => Number::BigInt(n.to_string()),
        _ => Number::Float(f64::try_from(value.clone()).unwrap_or(f64::NAN)),
    }
}

/// A key as Python writes it in JSON.
fn key_text(key: &minijinja::Value) -> Result<String, Error> {
    match key.kind() {
        ValueKind::String => Ok(key.as_str().unwrap_or_default().to_owned()),
        ValueKind::Bool => Ok(if key.is_true() { "true" } else { "false" }.to_owned()),
        ValueKind::None => Ok("null".to_owned()),
        ValueKind::Number => {
            let mut text = String::new();
            crate::json::write_number(&mut text, &convert_number(key));
            Ok(text)
        }
        _ => Err(Error::new(
            ErrorKind::BadSerialization,
            "keys of JSON are strings, numbers, truth values or none",
        )),
    }
}
