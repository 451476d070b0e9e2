//! A list of calls as Python writes them: `[get_weather(city="Paris", days=3)]`.
//!
//! ```text
//! list      "[" [call {"," call}] "]"
//! call      name "(" [argument {"," argument}] ")"
//! argument  name "=" value
//! value     string | number | "[" [value {"," value}] "]" | "{" [pair {"," pair}] "}"
//!           | "True" | "true" | "False" | "false" | "None" | "null"
//! pair      string ":" value
//! name      a letter or `_`, then these and digits; then, any number of times, `.` or `-` with more of them
//! string    between `'` or between `"`, on one line, with the escapes of JSON and `\'`
//! number    as in JSON; a whole one of at most 2^53 - 1 on either side of zero
//! ```
//!
//! White space of JSON may stand around everything. No name comes twice in a call, and no key in an object.

use crate::value::{Number, Object, Value};

use super::{ContentError, excerpt};

/// So many lists and objects may stand in each other: each takes its share of the stack.
const MAX_DEPTH: usize = 100;

/// The largest whole number of which the next one is not rounded to it by those who count in floats.
const MAX_INTEGER: i64 = (1 << 53) - 1;

/// Reads a list of calls, each as an object of its `name` and its `arguments`.
pub(super) fn parse(text: &str) -> Result<Value, ContentError> {
    let mut reader = CallReader { text, at: 0 };
    let calls = reader.calls();
    calls.map_err(|fault| {
        let Fault { at, what } = fault;
        ContentError::new(format!(
            "this is not a list of Python calls: {what} at byte {at} of {}",
            excerpt(text)
        ))
    })
}

/// What is wrong with a text, and where.
struct Fault {
    at: usize,
    what: String,
}

struct CallReader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> CallReader<'t> {
    fn calls(&mut self) -> Result<Value, Fault> {
        self.expect(b'[')?;
        let mut calls = Vec::new();
        self.items(b']', |reader| {
            calls.push(reader.call()?);
            Ok(())
        })?;
        self.skip_space();
        match self.at == self.text.len() {
            true => Ok(calls.into()),
            false => Err(self.fault("something follows the list")),
        }
    }

    fn call(&mut self) -> Result<Value, Fault> {
        let name = self.name("the name of a function")?;
        self.expect(b'(')?;
        let mut arguments = Object::new();
        self.items(b')', |reader| {
            let key = reader.name("an argument with its name")?;
            reader.expect(b'=')?;
            let value = reader.value(0)?;
            reader.insert(&mut arguments, key.to_owned(), value)
        })?;
        Ok(
            Object::from_iter([("name", Value::from(name)), ("arguments", arguments.into())])
                .into(),
        )
    }

    /// What stands between commas, up to what closes it.
    fn items(
        &mut self,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if self.take(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.take(close) {
                return Ok(());
            }
            self.expect(b',')?;
        }
    }

    fn insert(&self, object: &mut Object, key: String, value: Value) -> Result<(), Fault> {
        match object.insert(key, value) {
            None => Ok(()),
            Some(_) => Err(self.fault("a name comes twice")),
        }
    }

    /// A value that stands in so many lists and objects.
    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        self.skip_space();
        match self.peek() {
            Some(b'\'' | b'"') => Ok(self.string()?.into()),
            Some(b'[' | b'{') if depth >= MAX_DEPTH => Err(self.fault(format!(
                "more than {MAX_DEPTH} lists and objects stand in each other"
            ))),
            Some(b'[') => {
                self.at += 1;
                let mut items = Vec::new();
                self.items(b']', |reader| {
                    items.push(reader.value(depth + 1)?);
                    Ok(())
                })?;
                Ok(items.into())
            }
            Some(b'{') => {
                self.at += 1;
                let mut object = Object::new();
                self.items(b'}', |reader| {
                    reader.skip_space();
                    let key = reader.string()?;
                    reader.expect(b':')?;
                    let value = reader.value(depth + 1)?;
                    reader.insert(&mut object, key, value)
                })?;
                Ok(object.into())
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.constant(),
        }
    }

    fn constant(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let value = match self.name("a value")? {
            "True" | "true" => true.into(),
            "False" | "false" => false.into(),
            "None" | "null" => Value::Null,
            _ => {
                self.at = start;
                return Err(self.fault("expected a value: write texts in quotes"));
            }
        };
        Ok(value)
    }

    fn name(&mut self, what: &str) -> Result<&'t str, Fault> {
        self.skip_space();
        let start = self.at;
        if !matches!(self.peek(), Some(b'a'..=b'z' | b'A'..=b'Z' | b'_')) {
            return Err(self.fault(format!("expected {what}")));
        }
        self.skip(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        while let Some(b'-' | b'.') = self.peek() {
            let before = self.at;
            self.at += 1;
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            self.skip(is_part);
            if self.at == before + 1 {
                self.at = before;
                break;
            }
        }
        Ok(&self.text[start..self.at])
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let digits = |byte: u8| byte.is_ascii_digit();
        self.at += usize::from(self.peek() == Some(b'-'));
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.skip(digits),
            _ => {
                self.at = start;
                return Err(self.fault("expected a number"));
            }
        }
        let whole = self.at;
        for begins in [&b"."[..], b"eE"] {
            let before = self.at;
            if !self.peek().is_some_and(|byte| begins.contains(&byte)) {
                continue;
            }
            self.at += 1;
            if begins != b"." && matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            let first = self.at;
            self.skip(digits);
            if self.at == first {
                self.at = before;
            }
        }
        let text = &self.text[start..self.at];
        let number = match self.at == whole {
            true => {
                let number = text.parse::<i64>().ok();
                number.filter(|n| n.abs() <= MAX_INTEGER).map(Number::Int)
            }
            false => {
                let number = text.parse::<f64>().ok();
                number.filter(|n| n.is_finite()).map(Number::Float)
            }
        };
        number.map(Value::from).ok_or_else(|| {
            self.at = start;
            self.fault("this number is too large: write it as a text")
        })
    }

    /// What stands between quotes.
    fn string(&mut self) -> Result<String, Fault> {
        let Some(quote @ (b'\'' | b'"')) = self.peek() else {
            return Err(self.fault("expected a text in quotes"));
        };
        let start = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let stop = |&byte: &u8| byte == quote || matches!(byte, b'\\' | b'\n' | b'\r');
            let length = rest.iter().position(stop).unwrap_or(rest.len());
            out.push_str(&self.text[self.at..self.at + length]);
            self.at += length;
            match self.peek() {
                Some(byte) if byte == quote => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escaped()?),
                Some(_) => return Err(self.fault("a text continues on another line: write `\\n`")),
                None => {
                    self.at = start;
                    return Err(self.fault("a text has no end"));
                }
            }
        }
    }

    /// What a backslash and what follows it stand for.
    fn escaped(&mut self) -> Result<char, Fault> {
        let start = self.at;
        self.at += 1;
        let escaped = match self.peek() {
            Some(quote @ (b'\\' | b'\'' | b'"' | b'/')) => Some(quote.into()),
            Some(b'b') => Some('\u{8}'),
            Some(b'f') => Some('\u{c}'),
            Some(b'n') => Some('\n'),
            Some(b'r') => Some('\r'),
            Some(b't') => Some('\t'),
            Some(b'u') => {
                self.at += 1;
                return self
                    .unit()
                    .and_then(|unit| self.character(unit))
                    .ok_or_else(|| {
                        self.at = start;
                        self.fault("`\\u` stands for no character: write four hexadecimal digits")
                    });
            }
            _ => None,
        };
        let Some(escaped) = escaped else {
            self.at = start;
            return Err(self.fault("this escape is neither one of JSON's nor `\\'`"));
        };
        self.at += 1;
        Ok(escaped)
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let is_hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.at += 4;
        u32::from_str_radix(digits, 16)
            .ok()
            .filter(|_| is_hexadecimal)
    }

    /// The character of a unit of UTF-16, and of a second one that follows if it takes two.
    fn character(&mut self, unit: u32) -> Option<char> {
        if !(0xd800..0xdc00).contains(&unit) {
            return char::from_u32(unit);
        }
        let second = self.text[self.at..].starts_with("\\u");
        self.at += 2 * usize::from(second);
        let low = self
            .unit()
            .filter(|low| second && (0xdc00..0xe000).contains(low))?;
        char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, skips: impl Fn(u8) -> bool) {
        let rest = &self.text.as_bytes()[self.at..];
        let stop = |&byte: &u8| !skips(byte);
        self.at += rest.iter().position(stop).unwrap_or(rest.len());
    }

    fn skip_space(&mut self) {
        self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    }

    /// Takes a byte behind white space, if it is there.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        match self.take(byte) {
            true => Ok(()),
            false => Err(self.fault(format!("expected `{}`", char::from(byte)))),
        }
    }

    fn fault(&self, what: impl Into<String>) -> Fault {
        Fault {
            at: self.at,
            what: what.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::json;

    use super::*;

    #[test]
    fn calls_become_objects_of_names_and_arguments() {
        for (text, expected) in [
            ("[]", "[]"),
            (" [ \n] ", "[]"),
            ("[f()]", r#"[{"name":"f","arguments":{}}]"#),
            (
                "[f(a=1, b='x'), g.h-i_2 ( c = [ ] )]",
                r#"[{"name":"f","arguments":{"a":1,"b":"x"}},{"name":"g.h-i_2","arguments":{"c":[]}}]"#,
            ),
            (
                r#"[f(a=True,b=true,c=False,d=false,e=None,f=null)]"#,
                r#"[{"name":"f","arguments":{"a":true,"b":true,"c":false,"d":false,"e":null,"f":null}}]"#,
            ),
            (
                r#"[f(a=-0, b=1.50, c=1e3, d=-9007199254740991, e=0.0)]"#,
                r#"[{"name":"f","arguments":{"a":0,"b":1.5,"c":1000.0,"d":-9007199254740991,"e":0.0}}]"#,
            ),
            (
                r#"[f(a={'k': [1, {"l": 'm'}], "n": {}})]"#,
                r#"[{"name":"f","arguments":{"a":{"k":[1,{"l":"m"}],"n":{}}}}]"#,
            ),
            (
                r#"[f(a='it\'s "q" \" \\ \/ \n\t', b="é\u00e9\ud83d\ude00", c='(),=]')]"#,
                r#"[{"name":"f","arguments":{"a":"it's \"q\" \" \\ / \n\t","b":"éé😀","c":"(),=]"}}]"#,
            ),
        ] {
            let found = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(json::write(&found), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_call_is_a_fault_with_its_place() {
        for (text, what, at) in [
            ("", "expected `[`", 0),
            ("f()", "expected `[`", 0),
            ("[f()", "expected `,`", 4),
            ("[f(),]", "expected the name of a function", 5),
            ("[f()] x", "something follows the list", 6),
            ("[1f()]", "expected the name of a function", 1),
            ("[f.()]", "expected `(`", 2),
            ("[f(1)]", "expected an argument with its name", 3),
            ("[f(a)]", "expected `=`", 4),
            ("[f(a=1,)]", "expected an argument with its name", 7),
            ("[f(a=1, a=2)]", "a name comes twice", 11),
            ("[f(a={'b': 1, 'b': 2})]", "a name comes twice", 20),
            ("[f(a={b: 1})]", "expected a text in quotes", 6),
            ("[f(a={1: 1})]", "expected a text in quotes", 6),
            ("[f(a=[1,])]", "expected a value", 8),
            ("[f(a=x)]", "expected a value: write", 5),
            ("[f(a=True.x)]", "expected a value: write", 5),
            ("[f(a=01)]", "expected `,`", 6),
            ("[f(a=1.)]", "expected `,`", 6),
            ("[f(a=+1)]", "expected a value", 5),
            ("[f(a=-)]", "expected a number", 5),
            ("[f(a=9007199254740992)]", "this number is too large", 5),
            ("[f(a=1e999)]", "this number is too large", 5),
            ("[f(a='x)]", "a text has no end", 5),
            ("[f(a='x\n')]", "a text continues on another line", 7),
            (r"[f(a='\x41')]", "this escape is neither one of JSON's", 6),
            (r"[f(a='\ud83d')]", "`\\u` stands for no character", 6),
            (r"[f(a='\ud83d\u0041')]", "`\\u` stands for no character", 6),
            (r"[f(a='\ude00')]", "`\\u` stands for no character", 6),
            (r"[f(a='\u00+1')]", "`\\u` stands for no character", 6),
            (r"[f(a='\u00é')]", "`\\u` stands for no character", 6),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(what), "{text}: {error}");
            assert!(
                error.contains(&format!("at byte {at} of")),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn lists_and_objects_nest_up_to_a_limit() {
        let nested = |depth: usize| format!("[f(a={}{})]", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        assert!(parse(&nested(MAX_DEPTH + 1)).is_err());
        assert!(parse(&nested(1_000_000)).is_err());
        assert!(parse(&format!("[f(a={}", "{'a':".repeat(1_000_000))).is_err());
    }
}
