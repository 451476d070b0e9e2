//! Writing YAML that people like to read: texts of several lines as blocks, words without quotes.

use crate::json;
use crate::value::{Number, Object, Value};

use super::yaml::core_value;

/// How much deeper each level stands.
pub(super) const STEP: usize = 2;

/// Words that some readers of YAML take for something else than a text.
const OTHER_WORDS: [&str; 8] = ["yes", "no", "on", "off", "y", "n", "nan", "inf"];

/// Writes a fixture: a comment, what stands before the cases, and the cases, with a line between
/// each and the next.
pub(in crate::check) fn write_fixture(comment: &str, head: &Object, cases: &[Object]) -> String {
    let mut out = String::new();
    for line in comment.lines() {
        out.push_str(format!("# {line}").trim_end());
        out.push('\n');
    }
    for (key, value) in head {
        push_entry(&mut out, &key.to_string_lossy(), value, 0);
        out.push('\n');
    }
    out.push_str("cases:\n");
    for (index, case) in cases.iter().enumerate() {
        out.push_str(if index > 0 { "\n  -" } else { "  -" });
        after_dash(&mut out, &Value::Object(case.clone()), STEP);
        out.push('\n');
    }
    out
}

/// Writes a value as a document of YAML.
pub(super) fn write_document(value: &Value) -> String {
    let mut out = String::new();
    match has_parts(value) {
        true => block(&mut out, value, 0),
        false => out.push_str(&scalar(value, 0)),
    }
    out.push('\n');
    out
}

/// Appends what follows the colon of a key that stands at this indent.
pub(super) fn after_colon(out: &mut String, value: &Value, indent: usize) {
    match has_parts(value) {
        true => {
            out.push('\n');
            out.push_str(&" ".repeat(indent + STEP));
            block(out, value, indent + STEP);
        }
        false => {
            out.push(' ');
            out.push_str(&scalar(value, indent));
        }
    }
}

/// Appends what follows the dash of an item that stands at this indent.
pub(super) fn after_dash(out: &mut String, value: &Value, indent: usize) {
    out.push(' ');
    match has_parts(value) {
        true => block(out, value, indent + STEP),
        false => out.push_str(&scalar(value, indent)),
    }
}

/// Appends a list or a map of which the first line is indented already.
pub(super) fn block(out: &mut String, value: &Value, indent: usize) {
    let line = format!("\n{}", " ".repeat(indent));
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { &line } else { "" });
                out.push('-');
                after_dash(out, item, indent);
            }
        }
        Value::Object(object) => {
            for (index, (key, value)) in object.iter().enumerate() {
                out.push_str(if index > 0 { &line } else { "" });
                push_entry(out, &key.to_string_lossy(), value, indent);
            }
        }
        _ => {}
    }
}

/// Appends a key and its value.
pub(super) fn push_entry(out: &mut String, key: &str, value: &Value, indent: usize) {
    match is_plain(key) {
        true => out.push_str(key),
        false => push_quoted(out, key),
    }
    out.push(':');
    after_colon(out, value, indent);
}

/// Whether a value takes lines of its own.
pub(super) fn has_parts(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(object) => !object.is_empty(),
        _ => false,
    }
}

/// A value that has no lines of its own, but may be a block of text.
fn scalar(value: &Value, indent: usize) -> String {
    let mut out = String::new();
    match value {
        Value::Array(_) => out.push_str("[]"),
        Value::Object(_) => out.push_str("{}"),
        Value::Number(Number::Float(number)) if !number.is_finite() => {
            let sign = if *number < 0.0 { "-" } else { "" };
            out.push_str(sign);
            out.push_str(if number.is_nan() { ".nan" } else { ".inf" });
        }
        Value::String(text) => {
            let text = text.to_string_lossy();
            if is_plain(&text) {
                out.push_str(&text);
            } else if is_block(&text) {
                push_block(&mut out, &text, indent + STEP);
            } else {
                push_quoted(&mut out, &text);
            }
        }
        other => out.push_str(&json::write(other)),
    }
    out
}

/// Appends a value on one line, as it may stand within brackets.
pub(super) fn flow(out: &mut String, value: &Value) {
    let mut separator = "";
    match value {
        Value::Array(items) => {
            out.push('[');
            for item in items {
                out.push_str(separator);
                flow(out, item);
                separator = ", ";
            }
            out.push(']');
        }
        Value::Object(object) => {
            out.push('{');
            push_members(out, object);
            out.push('}');
        }
        Value::String(text) => push_quoted(out, &text.to_string_lossy()),
        other => out.push_str(&scalar(other, 0)),
    }
}

fn push_members(out: &mut String, object: &Object) {
    let mut separator = "";
    for (key, value) in object {
        out.push_str(separator);
        push_quoted(out, &key.to_string_lossy());
        out.push_str(": ");
        flow(out, value);
        separator = ", ";
    }
}

/// Whether a text may stand without quotes, whoever reads it.
fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else {
        return false;
    };
    let lower = text.to_ascii_lowercase();
    let inside = |c: char| c.is_alphanumeric() || " _-./()+=,;!?<>$^".contains(c);
    (first.is_alphabetic() || "_/<".contains(first))
        && !text.ends_with(' ')
        && text.chars().all(inside)
        && !OTHER_WORDS.contains(&lower.as_str())
        && matches!(core_value(&lower), Value::String(_))
}

/// Whether a text can be written as it is, line by line. Editors take away spaces at the ends of
/// lines, so there must be none.
fn is_block(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.contains('\n')
        && !body.ends_with('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && body.split('\n').all(|line| !line.ends_with([' ', '\t']))
        && text
            .chars()
            .all(|c| c == '\n' || c == '\t' || is_printable(c))
}

fn push_block(out: &mut String, text: &str, indent: usize) {
    let body = text.strip_suffix('\n');
    out.push_str(if body.is_some() { "|" } else { "|-" });
    for line in body.unwrap_or(text).split('\n') {
        out.push('\n');
        if !line.is_empty() {
            out.push_str(&" ".repeat(indent));
            out.push_str(line);
        }
    }
}

fn push_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_printable(c) => out.push(c),
            c => match u32::from(c) {
                code @ ..=0xff => out.push_str(&format!("\\x{code:02x}")),
                code @ ..=0xffff => out.push_str(&format!("\\u{code:04x}")),
                code => out.push_str(&format!("\\U{code:08x}")),
            },
        }
    }
    out.push('"');
}

/// Whether a character can be seen, and breaks no line.
fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        )
}
