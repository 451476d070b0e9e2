//! As much of a value as there is room for.

use unjinja::{JsonString, Value, json};

/// A value as JSON on one line, of which no more than about so many bytes are written.
pub fn preview(value: &Value, most: usize) -> String {
    let mut out = String::new();
    write(&mut out, value, most);
    out
}

fn write(out: &mut String, value: &Value, most: usize) {
    if out.len() >= most {
        return;
    }
    match value {
        Value::String(text) => write_text(out, text, most),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if out.len() >= most {
                    break;
                }
                out.push_str(if index > 0 { ", " } else { "" });
                write(out, item, most);
            }
            out.push(']');
        }
        Value::Object(object) => {
            out.push('{');
            for (index, (key, value)) in object.iter().enumerate() {
                if out.len() >= most {
                    break;
                }
                out.push_str(if index > 0 { ", " } else { "" });
                write_text(out, key, most);
                out.push_str(": ");
                write(out, value, most);
            }
            out.push('}');
        }
        other => out.push_str(&json::write(other)),
    }
}

fn write_text(out: &mut String, text: &JsonString, most: usize) {
    let bytes = text.as_wtf8();
    let room = most.saturating_sub(out.len());
    match text.as_str() {
        Some(whole) if bytes.len() > room => {
            let start = &whole[..whole.floor_char_boundary(room)];
            json::write_str(out, start, false);
        }
        Some(whole) => json::write_str(out, whole, false),
        // Half a character is rare, and such texts are short.
        None => json::write_json_string(out, text, false),
    }
}
