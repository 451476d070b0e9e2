//! Values as Python prints and names them, and the methods they have there.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Output, State, Value};

use crate::number;

use super::{budget, escape, strings};

/// How deeply values are printed that contain others.
const MAX_DEPTH: usize = 200;

/// Writes the value of `{{ … }}`.
pub(super) fn format(
    out: &mut Output<'_>,
    _state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    let fail = |_| Error::from(ErrorKind::WriteFailure);
    if let Some(text) = value.as_str() {
        budget::spend(text.len())?;
        return out.write_str(text).map_err(fail);
    }
    let text = str(value);
    budget::spend(text.len())?;
    out.write_str(&text).map_err(fail)
}

/// `str(value)`; undefined values print as nothing.
pub(super) fn str(value: &Value) -> String {
    if let Some(text) = value.as_str() {
        return text.to_owned();
    }
    if value.is_undefined() {
        return String::new();
    }
    repr(value)
}

/// `repr(value)`
pub(super) fn repr(value: &Value) -> String {
    let mut out = String::new();
    push_repr(&mut out, value, 0);
    out
}

fn push_repr(out: &mut String, value: &Value, depth: usize) {
    match value.kind() {
        _ if depth > MAX_DEPTH => out.push_str("..."),
        ValueKind::Undefined => out.push_str("Undefined"),
        ValueKind::String => push_quoted(out, value.as_str().unwrap_or_default()),
        ValueKind::Number if !value.is_integer() => match f64::try_from(value.clone()) {
            Ok(float) => number::push_float(out, float),
            Err(_) => out.push_str(&value.to_string()),
        },
        ValueKind::Seq | ValueKind::Iterable => push_sequence(out, value, depth),
        ValueKind::Map => push_map(out, value, depth),
        _ => out.push_str(&value.to_string()),
    }
}

fn push_sequence(out: &mut String, value: &Value, depth: usize) {
    let is_tuple = value.is_tuple();
    let (open, close) = if is_tuple { ('(', ')') } else { ('[', ']') };
    out.push(open);
    let mut count = 0;
    for item in value.try_iter().into_iter().flatten() {
        if count > 0 {
            out.push_str(", ");
        }
        push_repr(out, &item, depth + 1);
        count += 1;
    }
    if is_tuple && count == 1 {
        out.push(',');
    }
    out.push(close);
}

fn push_map(out: &mut String, value: &Value, depth: usize) {
    out.push('{');
    for (index, key) in value.try_iter().into_iter().flatten().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        push_repr(out, &key, depth + 1);
        out.push_str(": ");
        push_repr(out, &value.get_item(&key).unwrap_or_default(), depth + 1);
    }
    out.push('}');
}

/// A string in quotes: single ones, unless only double ones need no escape.
fn push_quoted(out: &mut String, text: &str) {
    let quote = match text.contains('\'') && !text.contains('"') {
        true => '"',
        false => '\'',
    };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if strings::is_printable(c) => out.push(c),
            c => out.push_str(&match u32::from(c) {
                code @ ..=0xff => format!("\\x{code:02x}"),
                code @ ..=0xffff => format!("\\u{code:04x}"),
                code => format!("\\U{code:08x}"),
            }),
        }
    }
    out.push(quote);
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

/// Calls a method that a value has in Python.
pub(super) fn call_method(
    state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    budget::tick()?;
    if let Some(text) = value.as_str() {
        if let Some(result) = strings::call_method(text, method, args)? {
            return Ok(escape::as_safe_as(value, result));
        }
    }
    let contrib = minijinja_contrib::pycompat::unknown_method_callback;
    Ok(escape::as_safe_as(
        value,
        contrib(state, value, method, args)?,
    ))
}
