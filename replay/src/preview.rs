//! As much of a value as there is room for.

use std::borrow::Cow;

use unjinja::{JsonString, Value, json};

/// A value as JSON on one line, of which no more than about so many bytes are written.
pub fn preview(value: &Value, most: usize) -> String {
    let mut out = String::new();
    write(&mut out, value, most);
    out
}

/// Longer texts are taken for no other value.
const SHORT: usize = 1024;

/// Whether a text by itself would look like nothing, or like another value: it is empty, a blank stands at one of
/// its ends, or it can be read as JSON.
pub fn needs_quotes(text: &str) -> bool {
    text.trim().is_empty()
        || text.starts_with(' ')
        || text.ends_with(' ')
        || text.len() <= SHORT && json::read(text).is_ok()
}

/// A text where only texts stand: in quotes, as in JSON, where its ends would not be seen.
pub fn with_ends(text: &str) -> Cow<'_, str> {
    match text.trim() == text && !text.is_empty() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(json::write(&text.into())),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_looks_like_nothing_or_like_another_value() {
        for (text, shown) in [
            ("", r#""""#),
            (" ", r#"" ""#),
            ("\n", r#""\n""#),
            ("\t ", r#""\t ""#),
            ("a ", r#""a ""#),
            (" a", r#"" a""#),
            ("25", r#""25""#),
            ("null", r#""null""#),
            ("[1]", r#""[1]""#),
            // Two quotes are not the empty text.
            (r#""""#, r#""\"\"""#),
            ("a b", "a b"),
            ("\"a\" b", "\"a\" b"),
            // An end of a line is seen by its sign.
            ("a\n", "a\n"),
        ] {
            let told_apart = match needs_quotes(text) {
                true => json::write(&text.into()),
                false => text.to_owned(),
            };
            assert_eq!(told_apart, shown);
        }
    }
}
