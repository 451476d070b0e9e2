//! Reading values that a grammar has let through, in their notation.

use super::notation::{Notation, Quotes};
use crate::json;
use crate::value::{Object, Value};

/// The value that a text is.
pub(super) fn read(text: &str, notation: &Notation) -> Option<Value> {
    if let Some(quote) = &notation.within {
        // The value of the string is the text of the value.
        let outside = Notation {
            within: None,
            ..notation.clone()
        };
        let string = Notation {
            strings: vec![Quotes::escaping(quote)],
            ..Notation::json()
        };
        let text = ValueReader {
            rest: &format!("{quote}{text}{quote}"),
            notation: &string,
        }
        .string()?;
        return read(&text, &outside);
    }
    if notation.is_json() {
        return json::read(text).ok();
    }
    let mut reader = ValueReader {
        rest: text,
        notation,
    };
    let value = reader.value(0)?;
    reader.rest.trim().is_empty().then_some(value)
}

/// What the beginning of a text within the quotes of a string of JSON says, and how much of it that is: an escape that has not
/// come whole says nothing yet.
pub(super) fn said_by(within: &str) -> (String, usize) {
    let length = length_of_whole_signs(within);
    let said = json::read(&format!("\"{}\"", &within[..length])).ok();
    let said = said.as_ref().and_then(Value::as_json_string);
    let said = said.map(|said| said.to_string_lossy().into_owned());
    (said.unwrap_or_default(), length)
}

/// How much of a text within quotes consists of whole signs: up to its end, to a quote, or to an escape of which the rest
/// is missing. The two halves of a character beyond `\uffff` are one sign.
fn length_of_whole_signs(text: &str) -> usize {
    const ESCAPE: usize = "\\u0000".len();
    let mut at = 0;
    while let Some(found) = text[at..].find(['"', '\\']) {
        at += found;
        let rest = &text[at..];
        let length = match rest.as_bytes() {
            [b'\\', b'u', ..] if is_first_half(rest) => 2 * ESCAPE,
            [b'\\', b'u', ..] => ESCAPE,
            [b'\\', ..] => 2,
            _ => return at,
        };
        // No grammar lets an escape through that is no escape.
        if !rest.is_char_boundary(length) {
            return at;
        }
        at += length;
    }
    text.len()
}

/// Whether an escape is the first half of a character of two, as far as one can see.
fn is_first_half(escape: &str) -> bool {
    let mut signs = escape.chars().skip(2);
    let is_high = matches!(signs.next(), Some('d' | 'D'))
        && matches!(signs.next(), Some('8' | '9' | 'a' | 'b' | 'A' | 'B'));
    let behind: String = signs.skip(2).take(2).collect();
    is_high && "\\u".starts_with(&behind)
}

struct ValueReader<'t, 'n> {
    rest: &'t str,
    notation: &'n Notation,
}

impl<'t> ValueReader<'t, '_> {
    fn takes(&mut self, text: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > json::MAX_DEPTH {
            return None;
        }
        if self.takes("{") {
            let mut object = Object::new();
            while !self.takes("}") {
                let key = self.key()?;
                self.takes(":").then_some(())?;
                object.insert(key, self.value(depth + 1)?);
                // The grammar has seen to it that commas stand where they should.
                self.takes(",");
            }
            return Some(object.into());
        }
        if self.takes("[") {
            let mut items = Vec::new();
            while !self.takes("]") {
                items.push(self.value(depth + 1)?);
                self.takes(",");
            }
            return Some(items.into());
        }
        if let Some(text) = self.string() {
            return Some(text.into());
        }
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        let words = [Some(true), Some(false), None];
        let known = words
            .into_iter()
            .find(|value| self.notation.word(*value) == word);
        match known {
            Some(value) => Some(value.map_or(Value::Null, Value::Bool)),
            None => json::read(word).ok(),
        }
    }

    fn key(&mut self) -> Option<String> {
        if !self.notation.bare_keys {
            return self.string();
        }
        self.rest = self.rest.trim_start();
        let (key, _) = self.rest.split_once(':')?;
        self.rest = &self.rest[key.len()..];
        Some(key.trim_end().to_owned())
    }

    fn string(&mut self) -> Option<String> {
        let notation = self.notation;
        let quotes = notation
            .strings
            .iter()
            .find(|quotes| self.takes(&quotes.open))?;
        // In other quotes than JSON's a text stands as it is: so response templates read it.
        if !quotes.escapes || quotes.close != "\"" {
            let (text, rest) = self.rest.split_once(&quotes.close)?;
            self.rest = rest;
            return Some(text.to_owned());
        }
        let mut is_escaped = false;
        let end = self.rest.find(|c| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        })?;
        let (text, rest) = self.rest.split_at(end);
        self.rest = &rest[1..];
        let string = json::read(&format!("\"{text}\"")).ok()?;
        Some(string.as_json_string()?.to_string_lossy().into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Dialect;

    fn dialect(unquoted_keys: bool, quotes: Option<(&str, &str)>) -> Notation {
        Notation::of(&Dialect {
            unquoted_keys,
            string_delimiters: quotes.map(|(open, close)| (open.to_owned(), close.to_owned())),
            python_literals: false,
        })
    }

    #[test]
    fn values_are_read_in_their_notation() {
        for (text, notation, expected) in [
            (
                r#"{"a": [1, true, null]}"#,
                Notation::json(),
                Some(r#"{"a":[1,true,null]}"#),
            ),
            (
                "{'a': 'it\"s', 'b': [1.5]}",
                Notation::python(),
                Some(r#"{"a":"it\"s","b":[1.5]}"#),
            ),
            ("True", Notation::python(), Some("true")),
            ("None", Notation::python(), Some("null")),
            ("True", dialect(true, None), None),
            (
                r#"{a: 1, b_2 : "x"}"#,
                dialect(true, None),
                Some(r#"{"a":1,"b_2":"x"}"#),
            ),
            // Between other quotes than JSON's, a backslash is one.
            (
                r"{a:<q>\n</q>}",
                dialect(true, Some(("<q>", "</q>"))),
                Some(r#"{"a":"\\n"}"#),
            ),
            (
                r#"{\"a\": \"b\\\"\"}"#,
                Notation::json().escaped("\""),
                Some(r#"{"a":"b\""}"#),
            ),
            ("[1", Notation::python(), None),
            ("1 2", Notation::python(), None),
            ("'a", Notation::python(), None),
        ] {
            let found = read(text, &notation);
            let found = found.as_ref().map(json::write);
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn half_an_escape_says_nothing_yet() {
        for (text, said, length) in [
            ("so", "so", 2),
            (r"a\n", "a\n", 3),
            (r"a\", "a", 1),
            (r"a\u00", "a", 1),
            (r"\u0041b", "Ab", 7),
            // No grammar lets through what is no escape.
            (r"a\水", "a", 1),
            // A wave is a character of two halves.
            (r"\uD83C", "", 0),
            (r"\uD83C\uDF", "", 0),
            (r"\ud83c\udf0a!", "🌊!", 13),
            (r#"so" and more"#, "so", 2),
        ] {
            assert_eq!(said_by(text), (said.to_owned(), length), "{text}");
        }
    }
}
