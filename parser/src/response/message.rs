//! What becomes of the values of regions in a message.

use crate::value::{Object, Value};

use super::RegionError;
use super::template::Field;

/// Whether a message has a place for another value of a field.
pub fn check_place(message: &Object, field: &Field) -> Result<(), RegionError> {
    let Some(present) = message.get(&field.name) else {
        return Ok(());
    };
    let made = match (&field.join, present) {
        (Some(_), Value::Null | Value::String(_)) => return Ok(()),
        (Some(_), _) => "`join` makes a string",
        (None, Value::Array(_)) => return Ok(()),
        (None, _) if !field.repeats => return Ok(()),
        (None, _) => "`repeats` makes a list",
    };
    let kind = present.type_name();
    Err(RegionError::Store(format!(
        "{made}, and the default of the field is {kind}"
    )))
}

/// Puts a value into the message, after [`check_place`] has let it pass.
pub fn store(message: &mut Object, field: &Field, value: Value) {
    let name = field.name.as_str();
    match (message.get_mut(name), value, &field.join) {
        (Some(Value::String(before)), Value::String(text), Some(join)) => {
            before.push(&join.as_str().into());
            before.push(&text);
        }
        (Some(Value::Array(values)), value, None) if field.repeats => values.push(value),
        (None, value, None) if field.repeats => {
            message.insert(name, vec![value]);
        }
        (_, value, _) => {
            message.insert(name, value);
        }
    }
}

/// Puts a text behind what the message has of a field, also where the last value would count.
pub fn put_behind(message: &mut Object, field: &Field, value: Value) {
    if field.repeats || field.join.is_some() {
        return store(message, field, value);
    }
    match (message.get_mut(field.name.as_str()), value) {
        (Some(Value::String(before)), Value::String(text)) => before.push(&text),
        (_, value) => drop(message.insert(field.name.as_str(), value)),
    }
}
