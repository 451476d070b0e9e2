//! Strings that are written down in a template, and their meaning.
//!
//! Jinja hands them to Python's codec `unicode_escape`, with all that is beyond ASCII written as escapes before. minijinja
//! reads them as JSON does, which is another language: `\/` is two characters here, `\a` is one, and a
//! backslash at the end of a line takes the line's end with it.

/// A string can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiteralError {
    /// The place in the string.
    pub(crate) at: usize,
    pub(crate) length: usize,
    pub(crate) message: String,
}

/// The character in place of half a one, which no text of ours can hold.
const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// The characters of a string, given what stands between its quotes, each with where it is written.
pub(crate) fn characters(written: &str) -> Result<Vec<(usize, char)>, LiteralError> {
    let mut characters = Vec::new();
    let mut at = 0;
    while let Some(c) = written[at..].chars().next() {
        let rest = &written[at..];
        let length = match c {
            '\\' => escape(rest, at, &mut characters)?,
            _ => {
                characters.push((at, c));
                c.len_utf8()
            }
        };
        at += length;
    }
    Ok(characters)
}

/// The text of a string, given what stands between its quotes.
pub(crate) fn text(written: &str) -> Result<String, LiteralError> {
    Ok(characters(written)?.into_iter().map(|(_, c)| c).collect())
}

/// A text as a string that minijinja reads as just that text.
pub(super) fn spelled(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len() + 2);
    spelled.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => spelled.extend(['\\', c]),
            '\n' => spelled.push_str("\\n"),
            c => spelled.push(c),
        }
    }
    spelled.push('"');
    spelled
}

/// Tells if minijinja reads a string alike, given what stands between its quotes, which can be read.
pub(super) fn is_read_alike(written: &str) -> bool {
    let mut rest = written;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at + 1..];
        let kind = escape.chars().next();
        let is_alike = match kind {
            Some('4'..='7') => !escape.bytes().take(3).all(|b| (b'0'..=b'7').contains(&b)),
            Some('u') => !escape[1..].starts_with(['d', 'D']),
            Some('\n' | 'a' | 'v' | 'U' | '/') => false,
            Some(c) => c.is_ascii(),
            None => true,
        };
        if !is_alike {
            return false;
        }
        rest = &escape[kind.map_or(0, char::len_utf8)..];
    }
    true
}

/// Reads an escape that a text begins with; says how long it is.
fn escape(
    rest: &str,
    at: usize,
    characters: &mut Vec<(usize, char)>,
) -> Result<usize, LiteralError> {
    let Some(kind) = rest[1..].chars().next() else {
        characters.push((at, '\\'));
        return Ok(1);
    };
    let short = match kind {
        // The end of the line goes with it.
        '\n' => return Ok(2),
        '\\' | '\'' | '"' => kind,
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        '0'..='7' => {
            let digits = rest[1..].bytes().take(3);
            let digits = digits.take_while(|b| (b'0'..=b'7').contains(b)).count();
            let code = u32::from_str_radix(&rest[1..=digits], 8).unwrap_or(0);
            characters.push((at, char::from_u32(code).unwrap_or(REPLACEMENT)));
            return Ok(1 + digits);
        }
        'x' => return coded(rest, at, 2, characters),
        'u' => return coded(rest, at, 4, characters),
        'U' => return coded(rest, at, 8, characters),
        'N' => return Err(named(rest, at)),
        // Anything else is just what it is, and its backslash, too.
        c => {
            characters.push((at, '\\'));
            match c.is_ascii() {
                true => characters.push((at + 1, c)),
                // It has been written as an escape, of which this backslash has taken the meaning.
                false => characters.extend(as_escaped(c).chars().map(|part| (at + 1, part))),
            }
            return Ok(1 + c.len_utf8());
        }
    };
    characters.push((at, short));
    Ok(2)
}

/// A character as Python writes it in ASCII, without the backslash.
fn as_escaped(c: char) -> String {
    match c as u32 {
        code @ ..=0xff => format!("x{code:02x}"),
        code @ ..=0xffff => format!("u{code:04x}"),
        code => format!("U{code:08x}"),
    }
}

/// Reads a character that is given by its number.
fn coded(
    rest: &str,
    at: usize,
    digits: usize,
    characters: &mut Vec<(usize, char)>,
) -> Result<usize, LiteralError> {
    let length = 2 + digits;
    let code = number(rest, digits).ok_or_else(|| {
        let found = rest[2..].bytes().take(digits);
        let found = found.take_while(u8::is_ascii_hexdigit).count();
        let kind = &rest[..2];
        LiteralError {
            at,
            length: 2 + found,
            message: format!(
                "`{kind}` takes {digits} hexadecimal digits, and {found} follow; write `\\\\` for a backslash"
            ),
        }
    })?;
    if code > char::MAX as u32 {
        return Err(LiteralError {
            at,
            length,
            message: format!(
                "there is no character with the number of `{}`",
                &rest[..length]
            ),
        });
    }
    // Two halves are taken for the character that they make.
    let next = &rest[length..];
    if let (0xd800..=0xdbff, 4) = (code, digits)
        && next.starts_with("\\u")
        && let Some(low @ 0xdc00..=0xdfff) = number(next, 4)
    {
        let both = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        characters.push((at, char::from_u32(both).unwrap_or(REPLACEMENT)));
        return Ok(2 * length);
    }
    characters.push((at, char::from_u32(code).unwrap_or(REPLACEMENT)));
    Ok(length)
}

/// The hexadecimal number behind two characters.
fn number(rest: &str, digits: usize) -> Option<u32> {
    let written = rest.get(2..2 + digits)?;
    let is_number = written.bytes().all(|b| b.is_ascii_hexdigit());
    is_number.then(|| u32::from_str_radix(written, 16).ok())?
}

/// Characters have 34 thousand names in Unicode, which would be most of what this program weighs.
fn named(rest: &str, at: usize) -> LiteralError {
    let name = rest[2..]
        .strip_prefix('{')
        .and_then(|name| name.split_once('}'));
    let (length, message) = match name {
        Some((name, _)) if !name.is_empty() => (
            4 + name.len(),
            format!(
                "the names of characters are not known here, as `\\N{{{name}}}`; write the character itself, or \
                 its number, as in `\\u2022`"
            ),
        ),
        _ => (
            2,
            "`\\N` takes the name of a character in braces; write `\\\\` for a backslash"
                .to_owned(),
        ),
    };
    LiteralError {
        at,
        length,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::{spelled, text};

    #[test]
    fn what_is_spelled_means_the_same() {
        for meant in [
            "",
            "a",
            "\"'\\",
            "\\n\n\r\t\0",
            "é\u{7}\u{10ffff}",
            "\\\"\\",
        ] {
            let spelled = spelled(meant);
            assert_eq!(text(&spelled[1..spelled.len() - 1]).as_deref(), Ok(meant));
        }
    }

    #[test]
    fn errors_say_where() {
        for (written, place, part) in [
            (r"ab\x4", 2..5, "2 hexadecimal digits, and 1 follow"),
            (r"\u12é4", 0..4, "4 hexadecimal digits, and 2 follow"),
            (r"é\U00110000", 2..12, "no character"),
            (r"\N{BULLET} ", 0..10, r"`\N{BULLET}`"),
            (r"\N{BULLET", 0..2, "in braces"),
        ] {
            let error = text(written).expect_err(written);
            assert_eq!(error.at..error.at + error.length, place, "{written}");
            assert!(error.message.contains(part), "{}", error.message);
        }
    }
}
