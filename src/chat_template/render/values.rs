//! Between our values and minijinja's.

use std::borrow::Borrow;

use indexmap::IndexMap;
use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind};

use crate::json::{Style, Writer};
use crate::value::{JsonString, Number, Object, Value};

use super::budget;
use super::kinds::{is_a, type_name};

/// How deeply values may nest that are turned into JSON: templates can build them without end.
const MAX_DEPTH: usize = 500;

/// So many bytes of JSON are made room for at once: tools and calls take as many.
const ORDINARY: usize = 256;

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

/// Writes minijinja's value as JSON; what JSON has no form for is an error.
pub(super) fn write_json(value: &minijinja::Value, style: &Style) -> Result<String, Error> {
    let mut text = String::with_capacity(ORDINARY);
    let mut writer = JsonWriter {
        writer: Writer::new(&mut text, style, budget::MAX_PIECE),
        sort_keys: style.sort_keys,
    };
    writer.value(value, 0)?;
    if !writer.writer.has_room(0) {
        return Err(budget::too_large());
    }
    budget::spend(text.len())?;
    Ok(text)
}

struct JsonWriter<'a> {
    writer: Writer<'a>,
    sort_keys: bool,
}

impl JsonWriter<'_> {
    fn value(&mut self, value: &minijinja::Value, depth: usize) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(unwritable("the value nests too deeply".to_owned()));
        }
        budget::look(1)?;
        if !self.writer.has_room(0) {
            return Err(budget::too_large());
        }
        match value.kind() {
            ValueKind::None => self.writer.null(),
            ValueKind::Bool => self.writer.bool(value.is_true()),
            ValueKind::Number => self.writer.number(&number(value)),
            ValueKind::String => self.text(value)?,
            // What can only be gone through, as `d.items()`, is no list.
            ValueKind::Seq => self.array(value, depth)?,
            ValueKind::Map if !is_a(value, "Namespace") => self.object(value, depth)?,
            _ => {
                let kind = type_name(value);
                return Err(unwritable(format!("{kind} can't be written as JSON")));
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &minijinja::Value) -> Result<(), Error> {
        let text = text.as_str().unwrap_or_default();
        budget::read(text.len())?;
        self.writer.str(text);
        Ok(())
    }

    fn array(&mut self, list: &minijinja::Value, depth: usize) -> Result<(), Error> {
        self.writer.open('[');
        let is_empty = match list.downcast_object_ref::<Vec<minijinja::Value>>() {
            Some(items) => self.items(items.iter(), depth + 1)?,
            None => self.items(list.try_iter()?, depth + 1)?,
        };
        self.writer.close(']', is_empty, depth);
        Ok(())
    }

    /// Writes the items of a list, and says whether there were none.
    fn items(
        &mut self,
        items: impl Iterator<Item = impl Borrow<minijinja::Value>>,
        depth: usize,
    ) -> Result<bool, Error> {
        let mut is_empty = true;
        for (index, item) in items.enumerate() {
            self.writer.separate(index, depth);
            self.value(item.borrow(), depth)?;
            is_empty = false;
        }
        Ok(is_empty)
    }

    fn object(&mut self, object: &minijinja::Value, depth: usize) -> Result<(), Error> {
        self.writer.open('{');
        let map = object.downcast_object_ref::<IndexMap<minijinja::Value, minijinja::Value>>();
        let is_empty = match (map, self.sort_keys) {
            // Almost all are such maps, which can be gone through without a clone of each value.
            (Some(map), false) => self.members(map.iter(), depth + 1)?,
            (_, false) => self.members(pairs_of(object), depth + 1)?,
            (_, true) => {
                let texts = pairs_of(object).map(|(key, item)| Ok((key_text(&key)?.into(), item)));
                let mut pairs = texts.collect::<Result<Vec<_>, Error>>()?;
                pairs.sort_by(|(a, _), (b, _)| minijinja::Value::as_str(a).cmp(&b.as_str()));
                self.members(pairs.into_iter(), depth + 1)?
            }
        };
        self.writer.close('}', is_empty, depth);
        Ok(())
    }

    /// Writes the members of an object, and says whether there were none.
    fn members<V: Borrow<minijinja::Value>>(
        &mut self,
        members: impl Iterator<Item = (V, V)>,
        depth: usize,
    ) -> Result<bool, Error> {
        let mut is_empty = true;
        for (index, (key, item)) in members.enumerate() {
            let key = key.borrow();
            self.writer.separate(index, depth);
            match key.as_str() {
                Some(_) => self.text(key)?,
                None => self.writer.str(&key_text(key)?),
            }
            self.writer.key_separator();
            self.value(item.borrow(), depth)?;
            is_empty = false;
        }
        Ok(is_empty)
    }
}

/// The keys and values of a mapping.
fn pairs_of(
    object: &minijinja::Value,
) -> impl Iterator<Item = (minijinja::Value, minijinja::Value)> + '_ {
    let pairs = object.as_object().and_then(|map| map.try_iter_pairs());
    pairs.into_iter().flatten()
}

fn unwritable(why: String) -> Error {
    Error::new(ErrorKind::BadSerialization, why)
}

/// minijinja's number as ours.
fn number(value: &minijinja::Value) -> Number {
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
            crate::json::write_number(&mut text, &number(key));
            Ok(text)
        }
        _ => Err(unwritable(
            "keys of JSON are strings, numbers, truth values or none".to_owned(),
        )),
    }
}
