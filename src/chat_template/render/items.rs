//! What a loop over a value goes through in Python.

use minijinja::{Error, Value};

use super::budget;
use super::error::invalid;

/// What Python iterates: the characters of a string, too, but not none.
pub(super) fn items(value: &Value) -> Result<Box<dyn Iterator<Item = Value>>, Error> {
    if let Some(text) = value.as_str() {
        budget::spend(text.len().saturating_mul(size_of::<Value>()))?;
        let characters: Vec<Value> = text.chars().map(|c| Value::from(c.to_string())).collect();
        return Ok(Box::new(characters.into_iter()));
    }
    if value.is_none() {
        return Err(invalid("none can't be iterated"));
    }
    Ok(Box::new(value.try_iter()?))
}
