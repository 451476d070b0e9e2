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
        let text = Reader {
            rest: &format!("{quote}{text}{quote}"),
            notation: &string,
        }
        .string()?;
        return read(&text, &outside);
    }
    if notation.is_json() {
        return json::read(text).ok();
    }
    let mut reader = Reader {
        rest: text,
        notation,
    };
    let value = reader.value(0)?;
    reader.rest.trim().is_empty().then_some(value)
}

struct Reader<'t, 'n> {
    rest: &'t str,
    notation: &'n Notation,
}

impl<'t> Reader<'t, '_> {
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
