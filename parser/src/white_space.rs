//! White space as Python's strings see it.

/// The white space of everyday texts.
pub const BLANKS: [char; 4] = ['\t', '\n', '\r', ' '];

/// Whether `str.isspace()` holds for a character: it does for all that Unicode calls white space, and
/// for the four separators U+001C to U+001F.
pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The text without the white space around it, as `str.strip()` returns it.
///
/// This is not for numbers: `int()` and `float()` refuse the four separators, so that
/// [`str::trim`] does what they do.
pub fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_as_python_does() {
        for (text, expected) in [
            ("\u{1c}\u{1f} a b\t\r\n\u{b}\u{c}", "a b"),
            ("\u{85}\u{a0}\u{1680}\u{2000}\u{200a}x\u{2028}\u{2029}", "x"),
            ("\u{202f}\u{205f}\u{3000}x", "x"),
            ("\u{200b}x\u{feff}\u{180e}", "\u{200b}x\u{feff}\u{180e}"),
            (" \u{1d}", ""),
        ] {
            assert_eq!(strip(text), expected);
        }
    }
}
