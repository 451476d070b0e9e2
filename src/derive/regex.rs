//! Writing regular expressions that every engine reads alike.

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
                out.push(c);
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

/// Some characters, but white space and the one that the text after them begins with.
pub(super) fn up_to(next: &str) -> String {
    match next.chars().find(|c| !c.is_whitespace()) {
        Some(c) if next.starts_with(c) => format!("[^\\s{}]", in_class(c)),
        // Where white space ends it, what stands behind must not be taken for it either.
        Some(c) if !c.is_alphanumeric() => format!("[^\\s{}]", in_class(c)),
        _ => "[^\\s]".to_owned(),
    }
}

fn in_class(c: char) -> String {
    match c {
        '\\' | ']' | '[' | '^' | '-' | '&' | '~' | '|' => format!("\\{c}"),
        _ => c.to_string(),
    }
}
