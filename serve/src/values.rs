//! JSON that somebody else has written.

use unjinja::{Value, json};

/// So many values may stand in it. Each takes some hundred bytes of memory, whether it is written in two or in two thousand.
const MOST: usize = 1_000_000;

/// Reads JSON, if it does not take too much memory.
pub(crate) fn read(text: &str) -> Result<Value, String> {
    // Each takes a byte at least.
    match text.len() > MOST && count(text) > MOST {
        true => Err(format!("it holds more than {MOST} values")),
        false => json::read(text).map_err(|error| error.to_string()),
    }
}

/// About how many values stand in a text, if it is JSON: as many as commas, and what opens lists and objects, outside of strings.
fn count(text: &str) -> usize {
    let (mut count, mut is_string, mut is_escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            b',' | b'[' | b'{' if !is_string => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_strings_is_no_value() {
        for (text, expected) in [
            (r#"{"a": [1, 2], "b": {}}"#, 5),
            (r#"["{[,,,", "\",,", "\\", 3]"#, 4),
            (r#""[,""#, 0),
        ] {
            assert_eq!(count(text), expected, "{text}");
        }
    }

    #[test]
    fn too_many_values_are_refused_before_they_are_made() {
        for (item, is_read) in [("[],", false), ("      ", true)] {
            let text = format!("[{}0]", item.repeat(MOST));
            assert_eq!(read(&text).is_ok(), is_read, "{item}");
        }
    }
}
