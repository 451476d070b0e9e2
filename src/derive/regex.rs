//! Writing regular expressions that every engine reads alike.

use crate::markers::lexicon::unmarked;
use crate::markers::{closing_bracket, is_slot};

/// The expression for a slot whose value does not matter.
const SLOT: &str = r"[^\s<>]*?";

/// The same at the end of a text, where what ids consist of says how long it is.
const LAST_SLOT: &str = r"[\w.:/+\-]*";

/// The expression that matches a text and nothing else.
pub(super) fn exact(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ => {
                if "\\.^$*+?{}[]|()".contains(c) {
                    out.push('\\');
                }
                match (is_slot(c), chars.peek()) {
                    (true, Some(_)) => out.push_str(SLOT),
                    (true, None) => out.push_str(LAST_SLOT),
                    (false, _) => out.push(c),
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
pub(super) fn any_of(alternatives: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let alternatives: Vec<_> = alternatives.into_iter().collect();
    let alternatives: Vec<&str> = alternatives.iter().map(AsRef::as_ref).collect();
    match alternatives.as_slice() {
        [one] => (*one).to_owned(),
        several => format!("(?:{})", several.join("|")),
    }
}

/// A character that is no white space, and not the one that the text after it begins with.
pub(super) fn char_until(next: &str) -> String {
    char_between(&[], &[next])
}

/// A character that is no white space, and none that one of the texts before ends with, unless
/// names have it, nor one that one of the texts after begins with.
pub(super) fn char_between(before: &[&str], after: &[&str]) -> String {
    let last = |text: &&str| {
        let last = unmarked(text).chars().last();
        let last = last.filter(|c| !is_of_names(*c) && !c.is_whitespace() && !is_slot(*c));
        // With a bracket goes the one that closes it: behind `<`, `</why>f=` begins with no name.
        last.into_iter().chain(last.and_then(closing_bracket))
    };
    // Where white space ends it, what stands behind must not be taken for it either.
    let first = |text: &&str| {
        let text = unmarked(text);
        let first = text.chars().find(|c| !c.is_whitespace());
        first.filter(|c| text.starts_with(*c) || !c.is_alphanumeric())
    };
    let mut class = String::from("[^\\s");
    let mut seen = Vec::new();
    for c in after
        .iter()
        .filter_map(first)
        .chain(before.iter().flat_map(last))
    {
        if !seen.contains(&c) {
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

/// Whether names of tools have this character.
fn is_of_names(c: char) -> bool {
    c.is_alphanumeric() || "_-./".contains(c)
}
