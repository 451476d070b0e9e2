//! The words of JSON: strings, numbers, and what stands between them.

use crate::number::MAX_INT_DIGITS;
use crate::position::Position;
use crate::value::{JsonString, Number, Value};

use super::special::special_from;
use super::{Error, ErrorKind};

/// A text, and how far it has been read.
pub(super) struct Scanner<'a> {
    pub(super) bytes: &'a [u8],
    /// The same as a string, unless it may hold lone surrogates. Saves
    /// checking again that its parts are UTF-8.
    text: Option<&'a str>,
    pub(super) at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(bytes: &'a [u8], text: Option<&'a str>) -> Self {
        Self { bytes, text, at: 0 }
    }

    /// Reads a value that has no parts.
    pub(super) fn scalar(&mut self) -> Result<Value, Error> {
        let Some(&byte) = self.bytes.get(self.at) else {
            return Err(self.error(ErrorKind::ExpectedValue, self.at));
        };
        match byte {
            b'"' => self.string().map(Value::String),
            b'-' | b'0'..=b'9' => self.number().map(Value::Number),
            b't' => self.word("true", true),
            b'f' => self.word("false", false),
            b'n' => self.word("null", Value::Null),
            b'N' => self.word("NaN", f64::NAN),
            b'I' => self.word("Infinity", f64::INFINITY),
            _ => Err(self.error(ErrorKind::ExpectedValue, self.at)),
        }
    }

    /// Reads a value that is a word.
    fn word(&mut self, word: &str, value: impl Into<Value>) -> Result<Value, Error> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.error(ErrorKind::ExpectedValue, self.at));
        }
        self.at += word.len();
        Ok(value.into())
    }

    fn number(&mut self) -> Result<Number, Error> {
        let start = self.at;
        let digits = start + usize::from(self.bytes[start] == b'-');
        let whole = match self.bytes.get(digits) {
            Some(b'0') => digits + 1,
            Some(b'1'..=b'9') => self.digits_end(digits),
            _ if self.bytes[digits..].starts_with(b"Infinity") => {
                self.at = digits + b"Infinity".len();
                return Ok(Number::Float(f64::NEG_INFINITY));
            }
            _ => return Err(self.error(ErrorKind::ExpectedValue, start)),
        };
        let end = self.exponent_end(self.fraction_end(whole));
        self.at = end;
        if end > whole {
            return self.float(start, end);
        }
        if whole - digits > MAX_INT_DIGITS {
            return Err(self.error(ErrorKind::IntegerTooLong, start));
        }
        Ok(self.integer(start, digits, end))
    }

    /// Where the digits from here on end.
    fn digits_end(&self, from: usize) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    /// Where a fraction from here on ends; here if there is none.
    fn fraction_end(&self, from: usize) -> usize {
        if self.bytes.get(from) != Some(&b'.') {
            return from;
        }
        let end = self.digits_end(from + 1);
        // A point without digits does not belong to the number.
        if end > from + 1 { end } else { from }
    }

    /// Where an exponent from here on ends; here if there is none.
    fn exponent_end(&self, from: usize) -> usize {
        if !matches!(self.bytes.get(from), Some(b'e' | b'E')) {
            return from;
        }
        let sign = matches!(self.bytes.get(from + 1), Some(b'+' | b'-'));
        let digits = from + 1 + usize::from(sign);
        let end = self.digits_end(digits);
        if end > digits { end } else { from }
    }

    fn integer(&self, start: usize, digits: usize, end: usize) -> Number {
        // Eighteen digits always fit.
        if end - digits <= 18 {
            let add = |sum, byte: &u8| sum * 10 + i64::from(byte - b'0');
            let absolute = self.bytes[digits..end].iter().fold(0, add);
            return Number::Int(if digits > start { -absolute } else { absolute });
        }
        let text = self.ascii(start, end);
        match text.parse() {
            Ok(small) => Number::Int(small),
            Err(_) => Number::BigInt(text.to_owned()),
        }
    }

    fn float(&self, start: usize, end: usize) -> Result<Number, Error> {
        let float = self.ascii(start, end).parse();
        // Cannot fail: Rust reads every number that JSON knows.
        float
            .map(Number::Float)
            .map_err(|_| self.error(ErrorKind::ExpectedValue, start))
    }

    /// Bytes that are known to be ASCII.
    fn ascii(&self, start: usize, end: usize) -> &'a str {
        std::str::from_utf8(&self.bytes[start..end]).unwrap_or_default()
    }

    /// Reads a string, of which the opening quote stands here.
    pub(super) fn string(&mut self) -> Result<JsonString, Error> {
        let start = self.at + 1;
        let end = special_from::<false>(self.bytes, start);
        // Nearly all strings end here, without any escape.
        if self.bytes.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(match self.text {
                Some(text) => JsonString::from(&text[start..end]),
                None => JsonString::from_wtf8(self.bytes[start..end].to_vec()),
            });
        }
        self.string_with_escapes(start, end)
    }

    /// Reads a string on from its first escape.
    fn string_with_escapes(&mut self, start: usize, mut end: usize) -> Result<JsonString, Error> {
        let quote = start - 1;
        let mut out = self.bytes[start..end].to_vec();
        loop {
            match self.bytes.get(end) {
                Some(b'"') => {
                    self.at = end + 1;
                    return Ok(JsonString::from_wtf8(out));
                }
                Some(b'\\') => {
                    let next = self.escape(&mut out, quote, end)?;
                    end = special_from::<false>(self.bytes, next);
                    out.extend_from_slice(&self.bytes[next..end]);
                }
                Some(_) => return Err(self.error(ErrorKind::ControlCharacter, end)),
                None => return Err(self.unterminated(quote)),
            }
        }
    }

    /// Reads the escape of which the backslash stands at `at`, and gives the
    /// place behind it.
    fn escape(&self, out: &mut Vec<u8>, quote: usize, at: usize) -> Result<usize, Error> {
        let Some(&letter) = self.bytes.get(at + 1) else {
            return Err(self.unterminated(quote));
        };
        out.push(match letter {
            b'"' | b'\\' | b'/' => letter,
            b'b' => 0x08,
            b'f' => 0x0C,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.unicode_escape(out, at),
            _ => return Err(self.error(ErrorKind::InvalidEscape, at)),
        });
        Ok(at + 2)
    }

    /// Reads `\uXXXX`, or two of them that make one character.
    fn unicode_escape(&self, out: &mut Vec<u8>, at: usize) -> Result<usize, Error> {
        let Some(unit) = self.hex4(at + 2) else {
            let rest = &self.bytes[at + 2..];
            let cut_off = rest.len() < 4 && rest.iter().all(u8::is_ascii_hexdigit);
            let mut error = self.error(ErrorKind::InvalidUnicodeEscape, at);
            error.at_end = cut_off;
            return Err(error);
        };
        let next = at + 6;
        if (0xD800..0xDC00).contains(&unit)
            && self.bytes[next..].starts_with(b"\\u")
            && let Some(low @ 0xDC00..0xE000) = self.hex4(next + 2)
        {
            push_code_point(out, 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
            return Ok(next + 6);
        }
        push_code_point(out, unit);
        Ok(next)
    }

    /// The value of four hexadecimal digits.
    fn hex4(&self, at: usize) -> Option<u32> {
        let digits = self.bytes.get(at..at + 4)?;
        digits.iter().try_fold(0, |sum, &digit| {
            Some(sum * 16 + char::from(digit).to_digit(16)?)
        })
    }

    pub(super) fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// Goes past this byte if it stands here.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let here = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(here);
        here
    }

    fn unterminated(&self, quote: usize) -> Error {
        let mut error = self.error(ErrorKind::UnterminatedString, quote);
        error.at_end = true;
        error
    }

    #[cold]
    pub(super) fn error(&self, kind: ErrorKind, offset: usize) -> Error {
        Error {
            kind,
            position: Position::START.after(&self.bytes[..offset.min(self.bytes.len())]),
            at_end: is_cut_off(kind, self.bytes, offset),
        }
    }
}

/// Whether an error at this place may only mean that the text ends too early.
fn is_cut_off(kind: ErrorKind, bytes: &[u8], offset: usize) -> bool {
    let (before, rest) = bytes.split_at(offset.min(bytes.len()));
    match kind {
        _ if rest.is_empty() => true,
        ErrorKind::ExpectedValue => ["true", "false", "null", "NaN", "Infinity", "-Infinity"]
            .iter()
            .any(|word| word.as_bytes().starts_with(rest)),
        ErrorKind::TrailingData
        | ErrorKind::ExpectedCommaOrBracket
        | ErrorKind::ExpectedCommaOrBrace => is_cut_off_number(before, rest),
        // A fraction or an exponent would make a float of it.
        ErrorKind::IntegerTooLong => {
            let is_whole = |byte: &&u8| byte.is_ascii_digit() || **byte == b'-';
            let whole = rest.iter().take_while(is_whole).count();
            whole == rest.len() || is_cut_off_number(&rest[..whole], &rest[whole..])
        }
        _ => false,
    }
}

/// Whether the rest starts a fraction or an exponent of the number before it,
/// but lacks the digits.
fn is_cut_off_number(before: &[u8], rest: &[u8]) -> bool {
    if !before.last().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let in_number = |byte: &&u8| byte.is_ascii_digit() || b".eE+-".contains(byte);
    let mut number = before.iter().rev().take_while(in_number);
    match rest {
        b"." => number.all(|byte| !b".eE".contains(byte)),
        [b'e' | b'E'] | [b'e' | b'E', b'+' | b'-'] => number.all(|byte| !b"eE".contains(byte)),
        _ => false,
    }
}

/// Appends a code point, which may be a surrogate.
fn push_code_point(out: &mut Vec<u8>, code: u32) {
    match char::from_u32(code) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out.extend([
            0xE0 | (code >> 12) as u8,
            0x80 | (code >> 6 & 0x3F) as u8,
            0x80 | (code & 0x3F) as u8,
        ]),
    }
}
