//! By what filters sort, group and choose items.

use minijinja::{Error, Value};

use crate::chat_template::render::budget;
use crate::chat_template::render::kinds::check_key;

/// What an argument such as `attribute="a.b"` or `attribute=0` finds in an item.
pub(super) fn attribute(item: &Value, path: &Value) -> Result<Value, Error> {
    let Some(path) = path.as_str() else {
        check_key(path)?;
        return item.get_item(path);
    };
    budget::look(1)?;
    budget::read(path.len())?;
    let mut found = item.clone();
    for part in path.split('.') {
        found = match part.parse::<u32>() {
            Ok(index) => found.get_item(&Value::from(index))?,
            Err(_) => found.get_attr(part)?,
        };
    }
    Ok(found)
}

/// Strings without regard to case, unless it matters.
pub(super) fn folded(value: Value, case_sensitive: bool) -> Result<Value, Error> {
    match value.as_str() {
        Some(text) if !case_sensitive => {
            budget::spend(text.len())?;
            Ok(Value::from(text.to_lowercase()))
        }
        _ => Ok(value),
    }
}
