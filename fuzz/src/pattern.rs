//! Regular expressions made from fuzz bytes.

use arbitrary::{Result, Unstructured};

/// A regular expression, and what is known of it.
#[derive(Debug, Clone)]
pub struct Pattern {
    pub text: String,
    /// Whether it may match the empty text. It may be said to when in doubt.
    pub may_be_empty: bool,
}

/// Patterns as templates hold them, or nearly so.
const KNOWN: &[(&str, bool)] = &[
    (r"<a>\s*", false),
    (r"\s*</a>", false),
    (r"<call (?P<name>\w+)>", false),
    (r"<(?P<name>\w+)>", false),
    (r"</a>|$", true),
    (r"</a>|\Z", true),
    (r"</a>(?=\s|\Z)", false),
    (r"(?=<)", true),
    (r"(?!<)", true),
    (r"(?<=x)</a>", false),
    (r"(?<!x)<a>", false),
    (r"(?<=(?P<name>a))b", false),
    (r"<a>(?!b)", false),
    (r"(?=<a>(?!.*?</a>))", true),
    (r"a(?:bc)?", false),
    (r"abc|b", false),
    (r"a+?b", false),
    (r"a++b", false),
    (r"(?>a|ab)c", false),
    (r"(?:a|ab)(?:c|bcd)", false),
    (r".*?</a>", false),
    (r"x.*", false),
    (r"\bx\b", false),
    (r"\b", true),
    (r"\B", true),
    (r"^", true),
    (r"$", true),
    (r"\Z", true),
    (r"a*", true),
    (r"a*?", true),
    (r"(?i)<A>", false),
    (r"(?m)^#", false),
    (r"(?m)a$", false),
    (r"\n\n+", false),
    (r"\n?</a>\n?", false),
    (r"[^a]b", false),
    (r"\R", false),
    (r"\p{Lu}", false),
];

/// What single characters patterns and texts are made of: few, so that they meet.
pub const CHARACTERS: &[&str] = &["a", "b", "x", "<", ">", "/", " ", "\n", "é", "1"];

const CLASSES: &[&str] = &[r"\w", r"\s", r"\d", r"\W", ".", "[ab]", "[^a]", "[a-x]"];
const LOOKS: &[&str] = &[r"\b", r"\B", "^", "$", r"\Z", r"\A", "(?m:^)", "(?m:$)"];
const AROUNDS: &[&str] = &["(?=", "(?!", "(?!.*?", "(?<=", "(?<!"];
/// Each with whether it allows for no repetition at all.
const COUNTS: &[(&str, bool)] = &[
    ("*", true),
    ("+", false),
    ("?", true),
    ("{2}", false),
    ("{1,3}", false),
    ("{,2}", true),
    ("{2,}", false),
];

/// Any pattern: a known one, one grown by the rules, or any text at all.
pub fn any(u: &mut Unstructured<'_>) -> Result<Pattern> {
    match u.int_in_range(0..=7)? {
        0..=3 => {
            let &(text, may_be_empty) = u.choose(KNOWN)?;
            Ok(Pattern {
                text: text.into(),
                may_be_empty,
            })
        }
        4..=6 => grown(u),
        _ => {
            let text: String = u.arbitrary::<&str>()?.chars().take(24).collect();
            Ok(Pattern {
                text,
                may_be_empty: true,
            })
        }
    }
}

fn grown(u: &mut Unstructured<'_>) -> Result<Pattern> {
    let mut text = String::new();
    let may_be_empty = grow(u, 3, &mut text)?;
    Ok(Pattern { text, may_be_empty })
}

/// Appends a piece of a pattern; says whether it may match the empty text.
fn grow(u: &mut Unstructured<'_>, depth: usize, out: &mut String) -> Result<bool> {
    let kind = match depth {
        0 => u.int_in_range(0..=2)?,
        _ => u.int_in_range(0..=11)?,
    };
    match kind {
        0 | 1 => {
            out.push_str(u.choose(CHARACTERS)?);
            Ok(false)
        }
        2 => {
            out.push_str(u.choose(CLASSES)?);
            Ok(false)
        }
        3 => {
            out.push_str(u.choose(LOOKS)?);
            Ok(true)
        }
        4..=6 => {
            let mut empty = true;
            for _ in 0..u.int_in_range(2..=4)? {
                empty &= grow(u, depth - 1, out)?;
            }
            Ok(empty)
        }
        7 => {
            out.push_str("(?:");
            let first = grow(u, depth - 1, out)?;
            out.push('|');
            let second = grow(u, depth - 1, out)?;
            out.push(')');
            Ok(first || second)
        }
        8 | 9 => {
            let &(count, none) = u.choose(COUNTS)?;
            let empty = bracketed(u, depth, "(?:", out)?;
            out.push_str(count);
            out.push_str(u.choose(&["", "", "?", "+"])?);
            Ok(empty || none)
        }
        10 => {
            let around = *u.choose(AROUNDS)?;
            bracketed(u, depth, around, out)?;
            Ok(true)
        }
        _ => {
            let bracket = *u.choose(&["(?P<name>", "(?P<key>", "(?P<value>", "(?>", "(?i:"])?;
            bracketed(u, depth, bracket, out)
        }
    }
}

fn bracketed(
    u: &mut Unstructured<'_>,
    depth: usize,
    bracket: &str,
    out: &mut String,
) -> Result<bool> {
    out.push_str(bracket);
    let empty = grow(u, depth - 1, out)?;
    out.push(')');
    Ok(empty)
}

/// A pattern that matches the same, but that only the backtracking engine can run.
pub fn backtracking(pattern: &str) -> String {
    format!("(?=){pattern}")
}
