//! `tokenizer.json`, of which a few lines matter here, and which is large.

use crate::json;
use crate::value::Value;

/// The `added_tokens` in the text of a `tokenizer.json`; nothing of what follows them is read.
pub(super) fn added_tokens(text: &str) -> Option<Vec<Value>> {
    match json::read(member(text, "added_tokens")?) {
        Ok(Value::Array(tokens)) => Some(tokens),
        Ok(_) => Some(Vec::new()),
        Err(_) => None,
    }
}

/// The text of the value that a key has in the outermost object of a JSON document. Only looks at
/// what comes before, and at that only as far as finding the way takes: a file of many megabytes
/// need not become a tree in memory for a few lines of it.
fn member<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    // Where the value begins, once its key was met.
    let mut start = None;
    // The last string at the top, which a colon makes a key.
    let mut last = "";
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at)?;
                if depth == 1 {
                    last = text.get(at + 1..end)?;
                }
                at = end;
            }
            b':' if depth == 1 && start.is_none() && last == key => start = Some(at + 1),
            b',' if depth == 1 && start.is_some() => return text.get(start?..at),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return text.get(start?..at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the closing quote of a string stands, if the opening one stands at `start`.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_without_reading_the_rest() {
        let text = r#"{"a": {"x": [1, "}"]}, "b\"": ":,", "x": [{"y": "]\\"}, 2] , "z": broken"#;
        for (key, value) in [
            ("a", Some(r#" {"x": [1, "}"]}"#)),
            ("x", Some(r#" [{"y": "]\\"}, 2] "#)),
            ("y", None),
            ("z", None),
        ] {
            assert_eq!(member(text, key), value, "{key}");
        }
        assert_eq!(member(r#"{"x":1}"#, "x"), Some("1"));
        for broken in [
            "",
            "{",
            "}",
            "]",
            r#"{"x"#,
            r#"{"x\"#,
            r#"{"x":"#,
            r#"{"x":"\"#,
            "[1]",
        ] {
            assert_eq!(member(broken, "x"), None, "{broken}");
        }
    }
}
