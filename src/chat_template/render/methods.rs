//! The methods that values have in Python.

use minijinja::value::ValueKind;
use minijinja::{Error, State, Value};

use super::{budget, dicts, escape, lists, strings};

/// Calls a method that a value has in Python.
pub(super) fn call(
    state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    budget::look(1)?;
    if let Some(text) = value.as_str() {
        count(text, method, args)?;
    }
    if let Some(text) = value.as_str().filter(|_| value.kind() == ValueKind::String)
        && let Some(result) = strings::call_method(text, method, args)?
    {
        return Ok(escape::as_safe_as(value, result));
    }
    let other = match value.kind() {
        ValueKind::Bytes => strings::call_bytes_method(value, method, args)?,
        ValueKind::Map => dicts::call_method(value, method, args)?,
        ValueKind::Seq => lists::call_method(value, method, args)?,
        _ => None,
    };
    if let Some(result) = other {
        return Ok(result);
    }
    if method == "format" {
        strings::check_format(value, args)?;
    }
    let contrib = minijinja_contrib::pycompat::unknown_method_callback;
    Ok(escape::as_safe_as(
        value,
        contrib(state, value, method, args)?,
    ))
}

/// Counts what a method of a string reads and makes; what is made beyond its text, it counts itself.
fn count(text: &str, method: &str, args: &[Value]) -> Result<(), Error> {
    let given = args
        .iter()
        .map(|value| value.as_bytes().map_or(0, <[u8]>::len));
    budget::read(given.sum())?;
    match method {
        "startswith" | "endswith" if args.len() == 1 => Ok(()),
        "startswith" | "endswith" | "find" | "rfind" | "index" | "rindex" | "count" => {
            budget::read(text.len())
        }
        "upper" | "lower" | "title" | "capitalize" | "swapcase" | "casefold" => {
            budget::change(text.len())
        }
        _ if method.starts_with("is") => budget::read(text.len()),
        _ => budget::spend(text.len()),
    }
}
