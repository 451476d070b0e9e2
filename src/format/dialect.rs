//! Reading values that are written in JSON, or nearly so.

use crate::json::{self, MAX_DEPTH};
use crate::markers;
use crate::value::{Object, Value};

use super::Dialect;

impl Dialect {
    /// As Python prints its values.
    pub(crate) fn python() -> Dialect {
        Dialect {
            string_delimiters: Some(("'".to_owned(), "'".to_owned())),
            python_literals: true,
            unquoted_keys: false,
        }
    }

    /// What stands around strings that are written as they are, line breaks too: markers, as `<|"|>`. Between quotes, they are escaped.
    pub(crate) fn raw_delimiters(&self) -> Option<(&str, &str)> {
        let (open, close) = self.string_delimiters.as_ref()?;
        markers::is_marker(open.trim()).then_some((open, close))
    }

    /// The value that a text begins with, and its length.
    pub(crate) fn read_start(&self, text: &str) -> Option<(Value, usize)> {
        let mut reader = DialectReader {
            text,
            at: 0,
            dialect: self,
        };
        let value = reader.value(0)?;
        Some((value, reader.at))
    }

    /// The value that a text is, but for white space around it.
    pub(crate) fn read(&self, text: &str) -> Option<Value> {
        let text = text.trim();
        let (value, length) = self.read_start(text)?;
        (length == text.len()).then_some(value)
    }
}

struct DialectReader<'t, 'd> {
    text: &'t str,
    at: usize,
    dialect: &'d Dialect,
}

impl<'t> DialectReader<'t, '_> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn takes(&mut self, text: &str) -> bool {
        let is_there = self.rest().starts_with(text);
        if is_there {
            self.at += text.len();
        }
        is_there
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        if self.takes("{") {
            return self.object(depth);
        }
        if self.takes("[") {
            return self.array(depth);
        }
        if let Some(text) = self.string() {
            return Some(text.into());
        }
        let rest = self.rest();
        let is_scalar = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
        let length = rest.find(|c| !is_scalar(c)).unwrap_or(rest.len());
        let scalar = &rest[..length];
        let value = match scalar {
            "True" if self.dialect.python_literals => true.into(),
            "False" if self.dialect.python_literals => false.into(),
            "None" if self.dialect.python_literals => Value::Null,
            scalar => json::read(scalar).ok()?,
        };
        self.at += length;
        Some(value)
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        let mut object = Object::new();
        self.space();
        if self.takes("}") {
            return Some(object.into());
        }
        loop {
            self.space();
            let key = match self.string() {
                Some(key) => key,
                None if self.dialect.unquoted_keys => self.bare_key()?,
                None => return None,
            };
            self.space();
            if !self.takes(":") {
                return None;
            }
            self.space();
            let value = self.value(depth + 1)?;
            object.insert(key, value);
            self.space();
            if self.takes("}") {
                return Some(object.into());
            }
            if !self.takes(",") {
                return None;
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        self.space();
        if self.takes("]") {
            return Some(items.into());
        }
        loop {
            self.space();
            items.push(self.value(depth + 1)?);
            self.space();
            if self.takes("]") {
                return Some(items.into());
            }
            if !self.takes(",") {
                return None;
            }
        }
    }

    fn bare_key(&mut self) -> Option<String> {
        let rest = self.rest();
        let length = rest.find(|c: char| c == ':' || c == '\n' || "{}[]\"'".contains(c))?;
        self.at += length;
        (length > 0).then(|| rest[..length].trim().to_owned())
    }

    fn string(&mut self) -> Option<String> {
        let own = self.dialect.string_delimiters.as_ref();
        let own = own.map(|(open, close)| (open.as_str(), close.as_str()));
        let mut delimiters = own.into_iter().chain([("\"", "\"")]);
        let rest = self.rest();
        let (open, close) = delimiters.find(|(open, _)| rest.starts_with(open))?;
        let inside = &rest[open.len()..];
        if close.chars().count() > 1 {
            // Between marks of their own, texts stand as they are.
            let end = inside.find(close)?;
            self.at += open.len() + end + close.len();
            return Some(inside[..end].to_owned());
        }
        let mut end = 0;
        loop {
            let c = inside[end..].chars().next()?;
            if inside[end..].starts_with(close) {
                break;
            }
            end += c.len_utf8();
            if c == '\\' {
                end += inside[end..].chars().next()?.len_utf8();
            }
        }
        self.at += open.len() + end + close.len();
        unescaped(&inside[..end])
    }
}

/// A text without the escapes of JSON and of Python.
pub(crate) fn unescaped(text: &str) -> Option<String> {
    if !text.contains('\\') {
        return Some(text.to_owned());
    }
    let mut as_json = String::with_capacity(text.len() + 2);
    as_json.push('"');
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                '\'' => as_json.push('\''),
                'x' => as_json.push_str("\\u00"),
                c => as_json.extend(['\\', c]),
            },
            '"' => as_json.push_str("\\\""),
            '\n' => as_json.push_str("\\n"),
            '\t' => as_json.push_str("\\t"),
            '\r' => as_json.push_str("\\r"),
            c => as_json.push(c),
        }
    }
    as_json.push('"');
    let value = json::read(&as_json).ok()?;
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialect(kind: &str) -> Dialect {
        let mut dialect = Dialect::default();
        for word in kind.split(' ') {
            match word {
                "python" => dialect = Dialect::python(),
                "bare" => dialect.unquoted_keys = true,
                "marks" => dialect.string_delimiters = Some(("<q>".to_owned(), "<q>".to_owned())),
                _ => {}
            }
        }
        dialect
    }

    #[test]
    fn strings_stand_as_they_are_between_markers_alone() {
        for (kind, is_raw) in [
            ("json", false),
            ("bare", false),
            ("python", false),
            ("marks", true),
            ("bare marks", true),
        ] {
            let dialect = dialect(kind);
            assert_eq!(dialect.raw_delimiters().is_some(), is_raw, "{kind}");
        }
    }

    #[test]
    fn values_are_read_in_their_dialect_as_far_as_they_go() {
        for (kind, text, expected) in [
            (
                "json",
                r#"{"a": [1, "x"]} and so on"#,
                Some((r#"{"a": [1, "x"]}"#, 15)),
            ),
            ("json", "-1.5e3, 2", Some(("-1500.0", 6))),
            ("json", "[ ]", Some(("[]", 3))),
            ("json", "{ }", Some(("{}", 3))),
            ("json", r#""a\"b\n""#, Some((r#""a\"b\n""#, 8))),
            ("json", "{'a': 1}", None),
            ("json", "True", None),
            ("json", "{a: 1}", None),
            ("json", "[1,]", None),
            ("json", "[1 2]", None),
            ("json", "{\"a\" 1}", None),
            ("json", "[1", None),
            ("json", "", None),
            (
                "python",
                "{'a': True, 'b': None}",
                Some((r#"{"a": true, "b": null}"#, 22)),
            ),
            // Python writes a text with an apostrophe in double quotes.
            (
                "python",
                "[\"it's\", 'a\\'b']",
                Some((r#"["it's", "a'b"]"#, 16)),
            ),
            ("python", "true", Some(("true", 4))),
            (
                "bare",
                "{a b: 1, \"c\": 2}",
                Some((r#"{"a b": 1, "c": 2}"#, 16)),
            ),
            ("bare", "{: 1}", None),
            ("bare", "{a\nb: 1}", None),
            // Between marks of their own, texts stand as they are.
            (
                "marks",
                "[<q>a \"b\\n\n<q>, \"c\"]",
                Some((r#"["a \"b\\n\n", "c"]"#, 20)),
            ),
            ("marks", "<q>a", None),
            ("marks bare", "{a:<q>b<q>}", Some((r#"{"a": "b"}"#, 11))),
        ] {
            let found = dialect(kind).read_start(text);
            let expected = expected.map(|(value, length)| {
                let value: Value = value.parse().expect("it is JSON");
                (value, length)
            });
            assert_eq!(found, expected, "{kind} {text}");
        }
    }

    #[test]
    fn a_text_is_a_value_if_nothing_else_is_in_it() {
        for (text, expected) in [
            (" [1]\n", true),
            ("[1] 2", false),
            ("x", false),
            (&"[".repeat(MAX_DEPTH + 2), false),
        ] {
            assert_eq!(Dialect::default().read(text).is_some(), expected, "{text}");
        }
        let deep = "[".repeat(MAX_DEPTH + 1) + &"]".repeat(MAX_DEPTH + 1);
        assert!(Dialect::default().read(&deep).is_some());
        assert!(Dialect::default().read(&format!("[{deep}]")).is_none());
    }

    #[test]
    fn escapes_of_json_and_of_python_are_taken_back() {
        for (text, expected) in [
            ("plain", Some("plain")),
            (r"a\nb", Some("a\nb")),
            (r"it\'s", Some("it's")),
            (r"\x41\u0042", Some("AB")),
            // What needs an escape in JSON may stand here without one.
            ("\\t\"\n\t\r", Some("\t\"\n\t\r")),
            (r"\", None),
            (r"\q", None),
            (r"\xg1", None),
        ] {
            assert_eq!(unescaped(text).as_deref(), expected, "{text}");
        }
    }
}
