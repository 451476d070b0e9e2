//! The lines of a string.

use minijinja::{Error, Value};

use crate::chat_template::render::arguments::Arguments;
use crate::chat_template::render::budget;

/// Where Python sees the end of a line.
fn ends_line(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// The lines of a text, each with its end.
fn whole_lines(text: &str) -> Result<Vec<&str>, Error> {
    let ends = text.chars().filter(|&c| ends_line(c)).count();
    budget::spend_items(ends)?;
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some((at, end)) = rest.char_indices().find(|&(_, c)| ends_line(c)) {
        let both = rest[at..].starts_with("\r\n");
        let length = at + if both { 2 } else { end.len_utf8() };
        lines.push(&rest[..length]);
        rest = &rest[length..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    Ok(lines)
}

/// The lines of a text.
pub(in crate::chat_template::render) fn lines(text: &str) -> Result<Vec<&str>, Error> {
    let without_end = |line: &'_ str| {
        line.strip_suffix("\r\n")
            .map_or_else(|| line.trim_end_matches(ends_line).len(), str::len)
    };
    let lines = whole_lines(text)?.into_iter();
    Ok(lines.map(|line| &line[..without_end(line)]).collect())
}

pub(super) fn split_lines(text: &str, args: &[Value]) -> Result<Value, Error> {
    let args = Arguments::new(args)?;
    let keeps_ends = args.flag(0, "keepends")?;
    args.check(1)?;
    let lines = if keeps_ends {
        whole_lines(text)?
    } else {
        lines(text)?
    };
    Ok(lines.into_iter().map(Value::from).collect())
}
