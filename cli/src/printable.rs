//! Texts from anyone, where people look at them.

/// A text without what would move a cursor or turn the direction of writing: such characters come
/// out as escapes. Line ends and tabs stay.
///
/// Whatever shows people a text that it has not written itself should send it through here, or a
/// model could paint over what stands above its answer.
///
/// ```
/// use unjinja_cli::printable;
///
/// assert_eq!(printable("two\n\tlines"), "two\n\tlines");
/// assert_eq!(printable("\u{1b}[2Jgone?"), r"\u{1b}[2Jgone?");
/// assert_eq!(printable("at \u{202e}thgir"), r"at \u{202e}thgir");
/// ```
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if is_dangerous(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// Whether a terminal would obey a character instead of showing it.
pub(crate) fn is_dangerous(c: char) -> bool {
    c.is_control() || turns(c)
}

/// Whether a character turns the direction of writing, or keeps it from being turned.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_terminal_would_obey_is_escaped() {
        for (text, shown) in [
            ("plain, größer, 漢字, אבג 👍", "plain, größer, 漢字, אבג 👍"),
            ("a\r\nb\u{8}\u{7f}", "a\\r\nb\\u{8}\\u{7f}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{61c}\u{200f}\u{2067}", "\\u{61c}\\u{200f}\\u{2067}"),
            ("e\u{301} a\u{200d}b", "e\u{301} a\u{200d}b"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }

    #[test]
    fn what_turns_the_direction_is_what_unicode_says() {
        let class = regex_syntax::parse(r"\p{Bidi_Control}").expect("a property of Unicode");
        let regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(class)) =
            class.kind()
        else {
            panic!("a property is a class of characters");
        };
        for c in '\0'..=char::MAX {
            let is_said = class
                .iter()
                .any(|range| (range.start()..=range.end()).contains(&c));
            assert_eq!(turns(c), is_said, "{}", c.escape_unicode());
        }
    }
}
