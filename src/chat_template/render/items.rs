//! What a loop over a value goes through in Python.

use minijinja::value::ObjectRepr;
use minijinja::{Error, Value};

use super::error::invalid;
use super::{budget, made};

/// What Python iterates: the characters of a string, too, but not none.
pub(super) fn items(value: &Value) -> Result<Box<dyn Iterator<Item = Value>>, Error> {
    if let Some(text) = value.as_str() {
        budget::spend_items(text.len())?;
        let characters: Vec<Value> = text.chars().map(|c| Value::from(c.to_string())).collect();
        return Ok(Box::new(characters.into_iter()));
    }
    if value.is_none() {
        return Err(invalid("none can't be iterated"));
    }
    Ok(Box::new(value.try_iter()?))
}

/// All items, each counted before it is copied.
pub(super) fn collected(value: &Value) -> Result<Vec<Value>, Error> {
    let mut collected = Vec::new();
    if value.as_str().is_none()
        && let Some(length) = value.len()
    {
        budget::spend_items(length)?;
        collected.extend(items(value)?);
        return Ok(collected);
    }
    for item in items(value)? {
        budget::look(1)?;
        collected.push(item);
    }
    budget::limit(collected.len().saturating_mul(size_of::<Value>()))?;
    Ok(collected)
}

/// The same where Python does not even look for items in what is none, false, or zero.
pub(super) fn collected_if_true(value: &Value) -> Result<Vec<Value>, Error> {
    match value.is_true() {
        true => collected(value),
        false => Ok(Vec::new()),
    }
}

/// Counts all that a value holds.
pub(super) fn count_all(value: &Value) -> Result<(), Error> {
    count_at(value, 0)
}

fn count_at(value: &Value, depth: usize) -> Result<(), Error> {
    budget::look(1)?;
    if let Some(text) = value.as_bytes() {
        return budget::read(text.len());
    }
    if depth > made::MAX_DEPTH {
        return Err(invalid("the value nests too deeply"));
    }
    match value.as_object().map(|object| (object, object.repr())) {
        Some((object, ObjectRepr::Map)) => {
            for (key, item) in object.try_iter_pairs().into_iter().flatten() {
                count_at(&key, depth + 1)?;
                count_at(&item, depth + 1)?;
            }
        }
        Some((object, ObjectRepr::Seq | ObjectRepr::Iterable)) => {
            for item in object.try_iter().into_iter().flatten() {
                count_at(&item, depth + 1)?;
            }
        }
        _ => {}
    }
    Ok(())
}
