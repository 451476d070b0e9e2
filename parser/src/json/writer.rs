//! Writing.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::number;
use crate::value::{JsonString, Number, Object, Value};

use super::special::special_from;

/// How JSON is to be written.
///
/// ```
/// use unjinja::json::{self, Style};
///
/// let value = json::read(r#"{"b": [1, "é"], "a": {}}"#).unwrap();
/// let style = Style::PYTHON.sort_keys(true);
/// assert_eq!(json::write_styled(&value, &style), r#"{"a": {}, "b": [1, "\u00e9"]}"#);
/// assert_eq!(
///     json::write_styled(&value, &Style::pretty(2)),
///     "{\n  \"b\": [\n    1,\n    \"é\"\n  ],\n  \"a\": {}\n}",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Style {
    /// Starts a new line for each item, with this many spaces for each level.
    pub indent: Option<usize>,
    /// What stands between items; a new line follows it if there is an indent.
    pub item_separator: Cow<'static, str>,
    /// What stands between key and value.
    pub key_separator: Cow<'static, str>,
    /// Escapes all that is not printable ASCII.
    pub ensure_ascii: bool,
    /// Writes keys in the order of their code points.
    pub sort_keys: bool,
}

impl Style {
    /// No spaces, and characters as they are.
    pub const COMPACT: Self = Self {
        indent: None,
        item_separator: Cow::Borrowed(","),
        key_separator: Cow::Borrowed(":"),
        ensure_ascii: false,
        sort_keys: false,
    };

    /// As Python's `json.dumps` writes by default: spaces after commas and
    /// colons, ASCII only.
    pub const PYTHON: Self = Self {
        indent: None,
        item_separator: Cow::Borrowed(", "),
        key_separator: Cow::Borrowed(": "),
        ensure_ascii: true,
        sort_keys: false,
    };

    /// One line for each item, as Python's `json.dumps` does with this
    /// indent, but characters as they are.
    pub const fn pretty(indent: usize) -> Self {
        Self {
            indent: Some(indent),
            item_separator: Cow::Borrowed(","),
            key_separator: Cow::Borrowed(": "),
            ensure_ascii: false,
            sort_keys: false,
        }
    }

    /// Sets [`indent`](Self::indent).
    pub fn indent(mut self, indent: impl Into<Option<usize>>) -> Self {
        self.indent = indent.into();
        self
    }

    /// Sets [`item_separator`](Self::item_separator) and [`key_separator`](Self::key_separator).
    pub fn separators(
        mut self,
        item: impl Into<Cow<'static, str>>,
        key: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.item_separator = item.into();
        self.key_separator = key.into();
        self
    }

    /// Sets [`ensure_ascii`](Self::ensure_ascii).
    pub fn ensure_ascii(mut self, ensure_ascii: bool) -> Self {
        self.ensure_ascii = ensure_ascii;
        self
    }

    /// Sets [`sort_keys`](Self::sort_keys).
    pub fn sort_keys(mut self, sort_keys: bool) -> Self {
        self.sort_keys = sort_keys;
        self
    }
}

/// [`Style::COMPACT`].
impl Default for Style {
    fn default() -> Self {
        Self::COMPACT
    }
}

/// Writes a value as compact JSON: no spaces, characters as they are, lone
/// surrogates as escapes, floats as Python writes them.
///
/// ```
/// use unjinja::json;
///
/// let value = json::read(r#"[1.0, "\u00e9\ud800", 1e-5]"#).unwrap();
/// assert_eq!(json::write(&value), r#"[1.0,"é\ud800",1e-05]"#);
/// ```
pub fn write(value: &Value) -> String {
    write_styled(value, &Style::COMPACT)
}

/// Writes a value in a style of your own.
pub fn write_styled(value: &Value, style: &Style) -> String {
    let mut out = String::new();
    write_into(&mut out, value, style);
    out
}

/// Appends a value to a string.
///
/// Calls itself for each level of nesting, so values that were not read by
/// [`read`](super::read) should not be nested much deeper than
/// [`MAX_DEPTH`](super::MAX_DEPTH) either.
pub fn write_into(out: &mut String, value: &Value, style: &Style) {
    Writer::new(out, style, usize::MAX).value(value, 0);
}

/// Appends a string with its quotes and escapes.
///
/// ```
/// let mut out = String::from("x=");
/// unjinja::json::write_str(&mut out, "say \"é\"\n", false);
/// assert_eq!(out, r#"x="say \"é\"\n""#);
/// ```
pub fn write_str(out: &mut String, text: &str, ensure_ascii: bool) {
    out.push('"');
    match ensure_ascii {
        true => push_escaped_as::<true>(out, text),
        false => push_escaped(out, text),
    }
    out.push('"');
}

/// Appends a string that may hold lone surrogates, which are escaped.
pub fn write_json_string(out: &mut String, text: &JsonString, ensure_ascii: bool) {
    if let Some(text) = text.as_str() {
        return write_str(out, text, ensure_ascii);
    }
    out.push('"');
    for (text, surrogate) in text.pieces() {
        match ensure_ascii {
            true => push_escaped_as::<true>(out, text),
            false => push_escaped(out, text),
        }
        if let Some(surrogate) = surrogate {
            push_unit(out, surrogate);
        }
    }
    out.push('"');
}

/// Appends a number.
pub fn write_number(out: &mut String, number: &Number) {
    match number {
        Number::Int(int) => {
            // Writing to a String cannot fail.
            let _ = write!(out, "{int}");
        }
        Number::BigInt(digits) => out.push_str(digits),
        Number::Float(float) if float.is_nan() => out.push_str("NaN"),
        Number::Float(f64::INFINITY) => out.push_str("Infinity"),
        Number::Float(f64::NEG_INFINITY) => out.push_str("-Infinity"),
        Number::Float(float) => number::push_float(out, *float),
    }
}

/// Writes the parts of a value one after the other, each at its depth.
pub struct Writer<'a> {
    out: &'a mut String,
    style: &'a Style,
    /// How long the text may become, and whether it was to become longer.
    most: usize,
    is_over: bool,
}

impl<'a> Writer<'a> {
    /// Appends to a text what makes it no longer than `most` bytes, but for what a single string takes.
    #[doc(hidden)]
    pub fn new(out: &'a mut String, style: &'a Style, most: usize) -> Writer<'a> {
        Writer {
            out,
            style,
            most,
            is_over: false,
        }
    }

    /// Whether so many more bytes can be written.
    #[doc(hidden)]
    pub fn has_room(&mut self, bytes: usize) -> bool {
        self.is_over |= self.out.len().saturating_add(bytes) > self.most;
        !self.is_over
    }

    fn value(&mut self, value: &Value, depth: usize) {
        if !self.has_room(0) {
            return;
        }
        match value {
            Value::Null => self.null(),
            Value::Bool(flag) => self.bool(*flag),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.json_string(text),
            Value::Array(items) => self.array(items, depth),
            Value::Object(object) => self.object(object, depth),
        }
    }

    #[doc(hidden)]
    pub fn null(&mut self) {
        self.out.push_str("null");
    }

    #[doc(hidden)]
    pub fn bool(&mut self, flag: bool) {
        self.out.push_str(if flag { "true" } else { "false" });
    }

    #[doc(hidden)]
    pub fn number(&mut self, number: &Number) {
        write_number(self.out, number);
    }

    #[cfg(feature = "internals")]
    #[doc(hidden)]
    pub fn str(&mut self, text: &str) {
        write_str(self.out, text, self.style.ensure_ascii);
    }

    fn json_string(&mut self, text: &JsonString) {
        write_json_string(self.out, text, self.style.ensure_ascii);
    }

    fn array(&mut self, items: &[Value], depth: usize) {
        self.open('[');
        for (index, item) in items.iter().enumerate() {
            self.separate(index, depth + 1);
            self.value(item, depth + 1);
        }
        self.close(']', items.is_empty(), depth);
    }

    fn object(&mut self, object: &Object, depth: usize) {
        self.open('{');
        if self.style.sort_keys {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_unstable_by_key(|&(key, _)| key);
            self.members(members.into_iter(), depth + 1);
        } else {
            self.members(object.iter(), depth + 1);
        }
        self.close('}', object.is_empty(), depth);
    }

    fn members<'v>(
        &mut self,
        members: impl Iterator<Item = (&'v JsonString, &'v Value)>,
        depth: usize,
    ) {
        for (index, (key, value)) in members.enumerate() {
            self.separate(index, depth);
            self.json_string(key);
            self.key_separator();
            self.value(value, depth);
        }
    }

    #[doc(hidden)]
    pub fn open(&mut self, bracket: char) {
        self.out.push(bracket);
    }

    /// What comes behind a key.
    #[doc(hidden)]
    pub fn key_separator(&mut self) {
        if self.has_room(self.style.key_separator.len()) {
            self.out.push_str(&self.style.key_separator);
        }
    }

    /// What comes before an item.
    #[doc(hidden)]
    pub fn separate(&mut self, index: usize, depth: usize) {
        if index > 0 && self.has_room(self.style.item_separator.len()) {
            self.out.push_str(&self.style.item_separator);
        }
        self.new_line(depth);
    }

    #[doc(hidden)]
    pub fn close(&mut self, bracket: char, empty: bool, depth: usize) {
        if !empty {
            self.new_line(depth);
        }
        self.out.push(bracket);
    }

    fn new_line(&mut self, depth: usize) {
        if let Some(indent) = self.style.indent {
            let spaces = indent.saturating_mul(depth);
            if self.has_room(spaces.saturating_add(1)) {
                self.out.push('\n');
                self.out.extend(std::iter::repeat_n(' ', spaces));
            }
        }
    }
}

/// Appends the inside of a string literal, with characters as they are where they can be.
#[inline]
pub fn push_escaped(out: &mut String, text: &str) {
    push_escaped_as::<false>(out, text);
}

#[inline]
fn push_escaped_as<const ASCII: bool>(out: &mut String, text: &str) {
    match special_from::<ASCII>(text.as_bytes(), 0) {
        end if end == text.len() => out.push_str(text),
        end => push_escapes::<ASCII>(out, text, end),
    }
}

/// The same for a text of which it is known where the first character stands that is escaped.
#[inline(never)]
fn push_escapes<const ASCII: bool>(out: &mut String, text: &str, first: usize) {
    out.reserve(text.len());
    let (mut done, mut end) = (0, first);
    loop {
        out.push_str(&text[done..end]);
        let Some(c) = text[end..].chars().next() else {
            return;
        };
        push_escape(out, c);
        done = end + c.len_utf8();
        end = special_from::<ASCII>(text.as_bytes(), done);
    }
}

fn push_escape(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        _ => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                push_unit(out, *unit);
            }
        }
    }
}

/// Appends `\uXXXX`.
fn push_unit(out: &mut String, unit: u16) {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        out.push(DIGITS[usize::from(unit >> shift & 0xF)]);
    }
}
