//! Values as Python prints them: `str`, `repr` and `ascii`.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Output, State, Value};

use crate::number;

use super::budget;
use super::characters::is_printable;
use super::generators::Generator;
use super::groups::Group;

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
    let text = str(value)?;
    budget::spend(text.len())?;
    out.write_str(&text).map_err(fail)
}

/// `str(value)`; undefined values print as nothing.
pub(super) fn str(value: &Value) -> Result<String, Error> {
    if let Some(text) = value.as_str().filter(|_| value.kind() == ValueKind::String) {
        budget::spend(text.len())?;
        return Ok(text.to_owned());
    }
    if value.is_undefined() {
        return Ok(String::new());
    }
    repr(value)
}

/// `repr(value)`
pub(super) fn repr(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    push_repr(&mut out, value, 0)?;
    Ok(out)
}

/// What a value takes beside its text.
const MARKS: usize = 8;

fn push_repr(out: &mut String, value: &Value, depth: usize) -> Result<(), Error> {
    budget::look(1)?;
    let bytes = value.as_bytes().map_or(0, <[u8]>::len);
    budget::spend(bytes.saturating_add(MARKS))?;
    match value.kind() {
        _ if depth > MAX_DEPTH => out.push_str("..."),
        // Python says where it lies in memory, which differs from run to run.
        _ if Generator::is(value) => out.push_str("<generator object at 0x7f0000000000>"),
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
        ValueKind::Seq | ValueKind::Iterable => push_sequence(out, value, depth)?,
        ValueKind::Map => push_map(out, value, depth)?,
        _ => out.push_str(&value.to_string()),
    }
    budget::limit(out.len())
}

fn push_sequence(out: &mut String, value: &Value, depth: usize) -> Result<(), Error> {
    let is_tuple = value.is_tuple() || value.downcast_object_ref::<Group>().is_some();
    let (open, close) = if is_tuple { ('(', ')') } else { ('[', ']') };
    out.push(open);
    let mut count = 0;
    for item in value.try_iter().into_iter().flatten() {
        if count > 0 {
            out.push_str(", ");
        }
        push_repr(out, &item, depth + 1)?;
        count += 1;
    }
    if is_tuple && count == 1 {
        out.push(',');
    }
    out.push(close);
    Ok(())
}

fn push_map(out: &mut String, value: &Value, depth: usize) -> Result<(), Error> {
    out.push('{');
    for (index, key) in value.try_iter().into_iter().flatten().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        push_repr(out, &key, depth + 1)?;
        out.push_str(": ");
        push_repr(out, &value.get_item(&key).unwrap_or_default(), depth + 1)?;
    }
    out.push('}');
    Ok(())
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
            c if is_printable(c) => out.push(c),
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
pub(super) fn ascii(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    let printed = repr(value)?;
    budget::spend(printed.len())?;
    for c in printed.chars() {
        match u32::from(c) {
            ..=0x7f => out.push(c),
            code @ ..=0xff => out.push_str(&format!("\\x{code:02x}")),
            code @ ..=0xffff => out.push_str(&format!("\\u{code:04x}")),
            code => out.push_str(&format!("\\U{code:08x}")),
        }
    }
    Ok(out)
}
