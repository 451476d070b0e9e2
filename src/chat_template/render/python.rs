//! Values as Python prints and names them, and the methods they have there.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Output, State, Value};

use crate::number;

use super::filters::Group;
use super::{budget, dicts, escape, lists, strings};

/// How deeply values are printed that contain others.
const MAX_DEPTH: usize = 200;

/// Writes the value of `{{ … }}`.
pub(super) fn format(
    out: &mut Output<'_>,
    _state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    let fail = |_| Error::from(ErrorKind::WriteFailure);
    if let Some(text) = value.as_str().filter(|_| value.kind() == ValueKind::String) {
        budget::spend(text.len())?;
        return out.write_str(text).map_err(fail);
    }
    let text = str(value);
    budget::spend(text.len())?;
    out.write_str(&text).map_err(fail)
}

/// `str(value)`; undefined values print as nothing.
pub(super) fn str(value: &Value) -> String {
    if let Some(text) = value.as_str().filter(|_| value.kind() == ValueKind::String) {
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

/// Writes a value, and says whether there is enough left to go on.
fn push_repr(out: &mut String, value: &Value, depth: usize) -> bool {
    let before = out.len();
    match value.kind() {
        _ if depth > MAX_DEPTH => out.push_str("..."),
        ValueKind::Undefined => out.push_str("Undefined"),
        ValueKind::String if value.is_safe() => {
            out.push_str("Markup(");
            push_quoted(out, value.as_str().unwrap_or_default());
            out.push(')');
        }
        ValueKind::String => push_quoted(out, value.as_str().unwrap_or_default()),
        ValueKind::Bytes => push_bytes(out, value.as_bytes().unwrap_or_default()),
        ValueKind::Number if !value.is_integer() => match f64::try_from(value.clone()) {
            Ok(float) => number::push_float(out, float),
            Err(_) => out.push_str(&value.to_string()),
        },
        ValueKind::Seq | ValueKind::Iterable => return push_sequence(out, value, depth),
        ValueKind::Map => return push_map(out, value, depth),
        _ => out.push_str(&value.to_string()),
    }
    budget::spend(out.len() - before).is_ok()
}

fn push_sequence(out: &mut String, value: &Value, depth: usize) -> bool {
    let is_tuple = value.is_tuple() || value.downcast_object_ref::<Group>().is_some();
    let (open, close) = if is_tuple { ('(', ')') } else { ('[', ']') };
    out.push(open);
    let mut count = 0;
    for item in value.try_iter().into_iter().flatten() {
        if count > 0 {
            out.push_str(", ");
        }
        if !push_repr(out, &item, depth + 1) {
            return false;
        }
        count += 1;
    }
    if is_tuple && count == 1 {
        out.push(',');
    }
    out.push(close);
    budget::spend(1).is_ok()
}

fn push_map(out: &mut String, value: &Value, depth: usize) -> bool {
    out.push('{');
    for (index, key) in value.try_iter().into_iter().flatten().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        let has_key = push_repr(out, &key, depth + 1);
        out.push_str(": ");
        let item = value.get_item(&key).unwrap_or_default();
        if !has_key || !push_repr(out, &item, depth + 1) {
            return false;
        }
    }
    out.push('}');
    budget::spend(1).is_ok()
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

/// `repr` of bytes
fn push_bytes(out: &mut String, bytes: &[u8]) {
    let quote = match bytes.contains(&b'\'') && !bytes.contains(&b'"') {
        true => b'"',
        false => b'\'',
    };
    out.push('b');
    out.push(quote.into());
    for &byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            byte if byte == quote => out.extend(['\\', quote.into()]),
            b' '..=b'~' => out.push(byte.into()),
            byte => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push(quote.into());
}

/// `ascii(value)`: its `repr` with everything else escaped.
pub(super) fn ascii(value: &Value) -> String {
    let mut out = String::new();
    for c in repr(value).chars() {
        match u32::from(c) {
            ..=0x7f => out.push(c),
            code @ ..=0xff => out.push_str(&format!("\\x{code:02x}")),
            code @ ..=0xffff => out.push_str(&format!("\\u{code:04x}")),
            code => out.push_str(&format!("\\U{code:08x}")),
        }
    }
    out
}

/// Whether a value is one of minijinja's own objects, which it does not name in public.
pub(super) fn is_a(value: &Value, kind: &str) -> bool {
    let object = value.as_object();
    object.is_some_and(|object| object.type_name().rsplit("::").next() == Some(kind))
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

/// What Python iterates: the characters of a string, too, but not none.
pub(super) fn items(value: &Value) -> Result<Box<dyn Iterator<Item = Value>>, Error> {
    if let Some(text) = value.as_str() {
        budget::spend(text.len().saturating_mul(size_of::<Value>()))?;
        let characters: Vec<Value> = text.chars().map(|c| Value::from(c.to_string())).collect();
        return Ok(Box::new(characters.into_iter()));
    }
    if value.is_none() {
        let detail = "none can't be iterated";
        return Err(Error::new(ErrorKind::InvalidOperation, detail));
    }
    Ok(Box::new(value.try_iter()?))
}
