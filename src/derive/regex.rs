//! Writing regular expressions that every engine reads alike.

use std::iter::Peekable;
use std::str::Chars;

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
pub(super) fn ignoring_space(text: &str) -> String {
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
    match joined(alternatives) {
        (1, one) => one,
        (_, several) => format!("(?:{several})"),
    }
}

/// The place before one of several expressions.
pub(super) fn before_any_of(alternatives: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    format!("(?={})", joined(alternatives).1)
}

/// How many expressions there are, and all of them.
fn joined(alternatives: impl IntoIterator<Item = impl AsRef<str>>) -> (usize, String) {
    let alternatives: Vec<_> = alternatives.into_iter().collect();
    let texts: Vec<&str> = alternatives.iter().map(AsRef::as_ref).collect();
    (texts.len(), texts.join("|"))
}

/// A text without which the expression matches nothing, the longest that is easily found: `</a>` of `</a>\\s*|(?=</a>)` is
/// not, since either alternative will do.
pub(super) fn needed_text(expression: &str) -> Option<String> {
    let mut runs = vec![String::new()];
    let mut chars = expression.chars().peekable();
    // For each open group, how many runs were known before it.
    let mut groups: Vec<usize> = Vec::new();
    while let Some(c) = chars.next() {
        let literal = match c {
            '\\' => match chars.next()? {
                'n' => Some('\n'),
                't' => Some('\t'),
                'r' => Some('\r'),
                // `\s` and `\A` stand for no text.
                escaped if escaped.is_alphanumeric() => None,
                escaped => Some(escaped),
            },
            '[' => {
                skip_class(&mut chars);
                None
            }
            '(' => {
                groups.push(runs.len());
                // What must not follow is not needed, and a name is no text.
                let is_negative = skip_group_head(&mut chars);
                runs.push(String::new());
                if is_negative {
                    skip_group(&mut chars);
                    runs.truncate(groups.pop()?);
                    runs.push(String::new());
                }
                continue;
            }
            ')' => {
                let before = groups.pop()?;
                if matches!(chars.peek(), Some('?' | '*' | '{')) {
                    runs.truncate(before);
                }
                None
            }
            '|' => {
                // Nothing in a choice is needed.
                let before = *groups.last()?;
                skip_group(&mut chars);
                groups.pop();
                runs.truncate(before);
                None
            }
            '.' | '^' | '$' | '?' | '*' | '+' => None,
            '{' => {
                chars.by_ref().find(|c| *c == '}');
                None
            }
            other => Some(other),
        };
        // A character that need not be there is in no run.
        let is_optional = matches!(chars.peek(), Some('?' | '*' | '{'));
        match literal.filter(|_| !is_optional) {
            Some(literal) => runs.last_mut()?.push(literal),
            None => runs.push(String::new()),
        }
    }
    let longest = runs.into_iter().max_by_key(String::len);
    longest.filter(|run| !run.is_empty())
}

/// Goes behind the end of a class.
fn skip_class(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            ']' => return,
            _ => {}
        }
    }
}

/// Goes behind what a group begins with, and says whether it must not match.
fn skip_group_head(chars: &mut Peekable<Chars<'_>>) -> bool {
    if chars.next_if_eq(&'?').is_none() {
        return false;
    }
    let is_named = chars.next_if_eq(&'P').is_some();
    let is_behind = chars.next_if_eq(&'<').is_some();
    match chars.next_if(|c| "!=:".contains(*c)) {
        Some(sign) => sign == '!',
        None => {
            if is_named || is_behind {
                chars.by_ref().find(|c| *c == '>');
            }
            false
        }
    }
}

/// Goes behind the end of the group that one is in, with what says how often it matches.
fn skip_group(chars: &mut Peekable<Chars<'_>>) {
    let mut depth = 1;
    while let Some(c) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' => skip_class(chars),
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return;
        }
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
            // Within a class, engines may take `--`, `&&`, `~~` and `||` for operations on sets.
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
pub(super) fn is_of_names(c: char) -> bool {
    c.is_alphanumeric() || "_-./".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markers::{ID_SLOT, NAME_SLOT};

    #[test]
    fn needed_texts() {
        for (expression, needed) in [
            ("</a>", Some("</a>")),
            (r"<\|a\|>\s*", Some("<|a|>")),
            (r"\A\s*<think>", Some("<think>")),
            (r"(?:<s>\s*)?<call>(?P<name>[^\s>]+)>", Some("<call>")),
            (r"</a>|</bcd>", None),
            (r"(?:</a>|</b>)\s*</call>", Some("</call>")),
            (r"(?:</a>|</call>)\s*", None),
            (r"(?<![ `(]|</aaaaaaaa>)(?=<call>)", Some("<call>")),
            (r"(?<=\))\s*\]<end>", Some("]<end>")),
            (r"<ab?c*>", Some("<a")),
            (r"[<>]{2}", None),
        ] {
            assert_eq!(needed_text(expression).as_deref(), needed, "{expression}");
        }
    }

    #[test]
    fn texts_become_expressions_of_themselves() {
        let tag = format!("<{NAME_SLOT}>");
        let id = format!("id:{ID_SLOT}");
        for (text, exactly, ignoring) in [
            ("<|a|>", r"<\|a\|>", r"<\|a\|>"),
            ("f(x)[0]", r"f\(x\)\[0\]", r"f\(x\)\[0\]"),
            // Some engines take an escaped `-` or `/` for something else.
            ("--a/b", "--a/b", "--a/b"),
            ("<a>\n\t<b> ", r"<a>\n\t<b> ", r"<a>\s*<b>\s*"),
            (" <a>", " <a>", r"\s*<a>"),
            // In a tag, what follows a slot ends it; at the end nothing does.
            (&tag, r"<[^\s<>]*?>", r"<[^\s<>]*?>"),
            (&id, r"id:[\w.:/+\-]*", r"id:[\w.:/+\-]*"),
        ] {
            assert_eq!(exact(text), exactly, "{text}");
            assert_eq!(ignoring_space(text), ignoring, "{text}");
        }
    }

    #[test]
    fn alternatives_are_grouped() {
        let none: [&str; 0] = [];
        assert_eq!(any_of(["a|b"]), "a|b");
        assert_eq!(any_of(["a", "b"]), "(?:a|b)");
        assert_eq!(any_of(none), "(?:)");
        assert_eq!(before_any_of(["a"]), "(?=a)");
        assert_eq!(before_any_of(["a", "b"]), "(?=a|b)");
    }

    #[test]
    fn characters_between_texts_are_none_that_these_begin_and_end_with() {
        let slot = NAME_SLOT.to_string();
        for (before, after, expected) in [
            ("", "", r"[^\s]"),
            ("", ">", r"[^\s>]"),
            // Behind `<`, `</why>f=` begins with no name.
            ("<", "=", r"[^\s=<>]"),
            ("call:", "{", r"[^\s{:]"),
            // Tools have such names, as `read-tide`.
            ("-", "]", r"[^\s\]]"),
            ("", "\n@", r"[^\s@]"),
            // A word behind a blank may begin with a letter of the name.
            ("", " at", r"[^\s]"),
            ("", "at", r"[^\sa]"),
            // Signs of operations on sets.
            ("&", "^", r"[^\s\^\&]"),
            ("~", "||", r"[^\s\|\~]"),
            (&slot, "=", r"[^\s=]"),
        ] {
            let found = char_between(&[before], &[after]);
            assert_eq!(found, expected, "{before:?} {after:?}");
        }
    }
}
