//! Text that is marked as safe, and what is escaped when it is joined with other text.
//!
//! Nothing is escaped on its own in chat templates. But the filter `safe` marks a text, and what
//! is added to it in Python is escaped as for HTML, whether that was meant or not.

use std::borrow::Cow;

use minijinja::Value;

/// The text of a value, escaped unless the value is safe.
pub(super) fn escaped<'t>(value: &Value, text: &'t str) -> Cow<'t, str> {
    match value.is_safe() {
        true => Cow::Borrowed(text),
        false => escape(text),
    }
}

/// A text as HTML.
pub(super) fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '\'', '"']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Makes a result as safe as the text that it came from: a string, or a list of strings.
pub(super) fn as_safe_as(original: &Value, result: Value) -> Value {
    if !original.is_safe() {
        return result;
    }
    if let Some(text) = result.as_str() {
        return Value::from_safe_string(text.to_owned());
    }
    match result.try_iter() {
        Ok(items) if result.as_object().is_some() && !result.is_tuple() => {
            items.map(|item| as_safe_as(original, item)).collect()
        }
        _ => result,
    }
}
