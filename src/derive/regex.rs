//! Writing regular expressions that every engine reads alike.

use crate::analysis::lexicon::unmarked;
use crate::analysis::markers::is_slot;

/// The expression for a slot whose value does not matter.
const SLOT: &str = r"[^\s<>]*?";

/// The expression that matches a text and nothing else.
pub(super) fn exact(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ => {
                if "\\.^$*+?{}[]|()".contains(c) {
                    out.push('\\');
                }
                match is_slot(c) {
                    true => out.push_str(SLOT),
                    false => out.push(c),
                }
            }
        }
    }
    out
}

/// The expression that matches a text whatever white space there is in its place.
pub(super) fn loose(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(char::is_whitespace) {
        out.push_str(&exact(&rest[..at]));
        rest = rest[at..].trim_start();
        out.push_str("\\s*");
    }
    out.push_str(&exact(rest));
    out
}

/// One of several expressions.
pub(super) fn any_of(alternatives: &[String]) -> String {
    match alternatives {
        [one] => one.clone(),
        several => format!("(?:{})", several.join("|")),
    }
}

/// A character that is no white space, and not the one that the text after it begins with.
pub(super) fn char_until(next: &str) -> String {
    char_until_either(next, "")
}

/// The same with two texts, either of which may follow.
pub(super) fn char_until_either(next: &str, other: &str) -> String {
    let mut class = String::from("[^\\s");
    let mut seen = Vec::new();
    for text in [next, other].map(unmarked) {
        // Where white space ends it, what stands behind must not be taken for it either.
        let first = text.chars().find(|c| !c.is_whitespace());
        let first = first.filter(|c| text.starts_with(*c) || !c.is_alphanumeric());
        if let Some(c) = first.filter(|c| !seen.contains(c)) {
            seen.push(c);
            if "\\][^-&~|".contains(c) {
                class.push('\\');
            }
            class.push(c);
        }
    }
    class.push(']');
    class
}
