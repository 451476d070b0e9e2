//! Reading and writing JSON exactly as Python's `json` module does.
//!
//! ```
//! use unjinja::json::{self, Style};
//!
//! let value = json::read(r#"{"city": "Zürich", "size": 1e16, "more": []}"#).unwrap();
//! assert_eq!(json::write(&value), r#"{"city":"Zürich","size":1e+16,"more":[]}"#);
//! assert_eq!(
//!     json::write_styled(&value, &Style::PYTHON),
//!     r#"{"city": "Z\u00fcrich", "size": 1e+16, "more": []}"#,
//! );
//!
//! let error = json::read("{\n  \"a\" 1\n}").unwrap_err();
//! assert_eq!(error.to_string(), "expected `:` at line 2, column 7");
//! ```

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use crate::number::{self, MAX_INT_DIGITS};
use crate::value::{Number, Object, Text, Value, pointer_index, pointer_tokens};

/// Arrays and objects may be nested this deep. Python's limit is its
/// recursion limit, which leaves 995 levels to a document by default.
pub const MAX_DEPTH: usize = 995;

/// Reads a JSON document.
///
/// Accepts what Python's `json.loads` accepts, which is JSON with a few
/// additions: `NaN`, `Infinity` and `-Infinity` are numbers, and strings may
/// name lone surrogates. Of equal keys the last one wins.
///
/// ```
/// use unjinja::json::{self, ErrorKind};
///
/// let value = json::read(r#"[1, {"a": "\u00e9"}]"#).unwrap();
/// assert_eq!(value.pointer("/1/a").and_then(|a| a.as_str()), Some("é"));
///
/// assert_eq!(json::read("[1, 2").unwrap_err().kind(), ErrorKind::ExpectedCommaOrBracket);
/// ```
///
/// # Errors
///
/// If the text is not JSON, nested deeper than [`MAX_DEPTH`], or holds an
/// integer of more than 4300 digits.
pub fn read(text: &str) -> Result<Value, Error> {
    Reader::new(text.as_bytes(), Some(text)).document()
}

/// Reads a JSON document that may hold lone surrogates between its quotes.
#[allow(dead_code)] // for texts that went through Python's surrogates
pub(crate) fn read_wtf8(bytes: &[u8]) -> Result<Value, Error> {
    Reader::new(bytes, None).document()
}

/// Why a text is not JSON that we can read, and where.
///
/// ```
/// let error = unjinja::json::read("[1,\n 2 3]").unwrap_err();
/// assert_eq!((error.offset(), error.line(), error.column()), (7, 2, 4));
/// assert_eq!(error.to_string(), "expected `,` or `]` at line 2, column 4");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    position: Position,
    at_end: bool,
}

impl Error {
    /// What is wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Where, in bytes from the start of the text.
    pub fn offset(&self) -> usize {
        self.position.offset
    }

    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        self.position.line
    }

    /// The column in characters, counted from 1.
    pub fn column(&self) -> usize {
        self.position.column
    }

    /// Offset, line and column together.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Whether the text ended too early: more text could have made it right.
    pub fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Whether the text is not JSON at all, as opposed to JSON that is too
    /// deep or has too long an integer. Python raises a `JSONDecodeError`
    /// for the former only.
    pub fn is_syntax(&self) -> bool {
        !matches!(self.kind, ErrorKind::IntegerTooLong | ErrorKind::TooDeep)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.kind, self.position)?;
        // A string that does not end says so itself.
        if self.at_end && self.kind != ErrorKind::UnterminatedString {
            f.write_str(", but the text ends there")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// What can be wrong with a JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no value where one has to stand.
    ExpectedValue,
    /// There is no key in quotes where one has to stand.
    ExpectedKey,
    /// No colon follows a key.
    ExpectedColon,
    /// Neither comma nor `]` follows an item of an array.
    ExpectedCommaOrBracket,
    /// Neither comma nor `}` follows a member of an object.
    ExpectedCommaOrBrace,
    /// The text ends within a string. The position is that of its opening
    /// quote.
    UnterminatedString,
    /// A string holds a control character, such as a line break, that has to
    /// be escaped.
    ControlCharacter,
    /// A backslash is followed by something that is no escape.
    InvalidEscape,
    /// `\u` is not followed by four hexadecimal digits.
    InvalidUnicodeEscape,
    /// More text follows the value.
    TrailingData,
    /// The text starts with a byte order mark.
    ByteOrderMark,
    /// An integer has more than 4300 digits. Python raises a plain
    /// `ValueError` for this, no `JSONDecodeError`.
    IntegerTooLong,
    /// Nested deeper than [`MAX_DEPTH`]. Python raises a `RecursionError`.
    TooDeep,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ExpectedValue => "expected a value",
            Self::ExpectedKey => "expected a key in double quotes",
            Self::ExpectedColon => "expected `:`",
            Self::ExpectedCommaOrBracket => "expected `,` or `]`",
            Self::ExpectedCommaOrBrace => "expected `,` or `}`",
            Self::UnterminatedString => "a string that does not end",
            Self::ControlCharacter => "control character in a string",
            Self::InvalidEscape => "invalid escape in a string",
            Self::InvalidUnicodeEscape => "`\\u` without four hexadecimal digits",
            Self::TrailingData => "unexpected text after the value",
            Self::ByteOrderMark => "unexpected byte order mark",
            Self::IntegerTooLong => "integer with more than 4300 digits",
            Self::TooDeep => "too many nested arrays and objects",
        })
    }
}

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    /// In bytes from the start.
    pub offset: usize,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
}

impl Position {
    fn new(bytes: &[u8], offset: usize) -> Self {
        let before = &bytes[..offset.min(bytes.len())];
        let line_start = before
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |newline| newline + 1);
        let newlines = before[..line_start].iter().filter(|&&byte| byte == b'\n');
        let characters = before[line_start..]
            .iter()
            .filter(|&&byte| starts_char(byte));
        Self {
            offset,
            line: newlines.count() + 1,
            column: characters.count() + 1,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Not one of the bytes that continue a character.
fn starts_char(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// Line and column, counted from 1, of a byte offset in a text. Columns count
/// characters. An offset past the end means the end; one within a character
/// means that character.
///
/// ```
/// use unjinja::json::line_column;
///
/// assert_eq!(line_column("ä\nöx", 5), (2, 2));
/// ```
pub fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let position = Position::new(text.as_bytes(), text.floor_char_boundary(offset));
    (position.line, position.column)
}

// ---------------------------------------------------------------------------
// Reading

/// A document being read. Keeps its own stack of open arrays and objects, so
/// that deep documents do not need a deep call stack.
struct Reader<'a> {
    bytes: &'a [u8],
    /// The same as a string, unless it may hold lone surrogates. Saves
    /// checking again that its parts are UTF-8.
    text: Option<&'a str>,
    at: usize,
    open: Vec<Open>,
}

/// An array or object of which the end was not read yet.
enum Open {
    Array(Vec<Value>),
    /// With the key whose value comes next.
    Object(Object, Text),
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], text: Option<&'a str>) -> Self {
        Self {
            bytes,
            text,
            at: 0,
            open: Vec::new(),
        }
    }

    fn document(mut self) -> Result<Value, Error> {
        if self.bytes.starts_with("\u{feff}".as_bytes()) {
            return Err(self.error(ErrorKind::ByteOrderMark, 0));
        }
        self.skip_space();
        let value = loop {
            // Nothing here means that an array or object was opened, and its
            // first value comes next.
            if let Some(value) = self.begin()?
                && let Some(value) = self.attach(value)?
            {
                break value;
            }
        };
        self.skip_space();
        if self.at < self.bytes.len() {
            return Err(self.error(ErrorKind::TrailingData, self.at));
        }
        Ok(value)
    }

    /// Reads a whole value, or opens one that has parts.
    fn begin(&mut self) -> Result<Option<Value>, Error> {
        let Some(&byte) = self.bytes.get(self.at) else {
            return Err(self.error(ErrorKind::ExpectedValue, self.at));
        };
        match byte {
            b'"' => self.string().map(|text| Some(Value::String(text))),
            b'{' => self.begin_object(),
            b'[' => self.begin_array(),
            b'-' | b'0'..=b'9' => self.number().map(|number| Some(Value::Number(number))),
            b't' => self.word("true", true),
            b'f' => self.word("false", false),
            b'n' => self.word("null", Value::Null),
            b'N' => self.word("NaN", f64::NAN),
            b'I' => self.word("Infinity", f64::INFINITY),
            _ => Err(self.error(ErrorKind::ExpectedValue, self.at)),
        }
    }

    fn begin_array(&mut self) -> Result<Option<Value>, Error> {
        self.step_in()?;
        if self.take(b']') {
            return Ok(Some(Value::Array(Vec::new())));
        }
        self.open.push(Open::Array(Vec::new()));
        Ok(None)
    }

    fn begin_object(&mut self) -> Result<Option<Value>, Error> {
        self.step_in()?;
        if self.take(b'}') {
            return Ok(Some(Value::Object(Object::new())));
        }
        let key = self.key()?;
        self.open.push(Open::Object(Object::new(), key));
        Ok(None)
    }

    /// Goes past an opening bracket or brace.
    fn step_in(&mut self) -> Result<(), Error> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.error(ErrorKind::TooDeep, self.at));
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    /// Puts a value where it belongs, and closes what ends with it. Gives the
    /// document back when it is complete, nothing when another value follows.
    fn attach(&mut self, mut value: Value) -> Result<Option<Value>, Error> {
        loop {
            let Some(open) = self.open.last_mut() else {
                return Ok(Some(value));
            };
            let in_object = match open {
                Open::Array(items) => {
                    items.push(value);
                    false
                }
                Open::Object(object, key) => {
                    object.insert(std::mem::take(key), value);
                    true
                }
            };
            if self.goes_on(in_object)? {
                return Ok(None);
            }
            value = match self.open.pop() {
                Some(Open::Array(items)) => Value::Array(items),
                Some(Open::Object(object, _)) => Value::Object(object),
                None => return Ok(None), // there was one a moment ago
            };
        }
    }

    /// Reads what follows a value within an array or object: true for a
    /// comma (and the next key), false for the end.
    fn goes_on(&mut self, in_object: bool) -> Result<bool, Error> {
        self.skip_space();
        if self.take(b',') {
            self.skip_space();
            if in_object {
                let next = self.key()?;
                if let Some(Open::Object(_, key)) = self.open.last_mut() {
                    *key = next;
                }
            }
            return Ok(true);
        }
        let (end, kind) = if in_object {
            (b'}', ErrorKind::ExpectedCommaOrBrace)
        } else {
            (b']', ErrorKind::ExpectedCommaOrBracket)
        };
        if self.take(end) {
            return Ok(false);
        }
        Err(self.error(kind, self.at))
    }

    /// Reads a key, the colon, and the space after it.
    fn key(&mut self) -> Result<Text, Error> {
        if self.bytes.get(self.at) != Some(&b'"') {
            return Err(self.error(ErrorKind::ExpectedKey, self.at));
        }
        let key = self.string()?;
        self.skip_space();
        if !self.take(b':') {
            return Err(self.error(ErrorKind::ExpectedColon, self.at));
        }
        self.skip_space();
        Ok(key)
    }

    /// Reads a value that is a word.
    fn word(&mut self, word: &str, value: impl Into<Value>) -> Result<Option<Value>, Error> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.error(ErrorKind::ExpectedValue, self.at));
        }
        self.at += word.len();
        Ok(Some(value.into()))
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
    fn string(&mut self) -> Result<Text, Error> {
        let start = self.at + 1;
        let end = special_from::<false>(self.bytes, start);
        // Nearly all strings end here, without any escape.
        if self.bytes.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(match self.text {
                Some(text) => Text::from(&text[start..end]),
                None => Text::from_wtf8(self.bytes[start..end].to_vec()),
            });
        }
        self.string_with_escapes(start, end)
    }

    /// Reads a string on from its first escape.
    fn string_with_escapes(&mut self, start: usize, mut end: usize) -> Result<Text, Error> {
        let quote = start - 1;
        let mut out = self.bytes[start..end].to_vec();
        loop {
            match self.bytes.get(end) {
                Some(b'"') => {
                    self.at = end + 1;
                    return Ok(Text::from_wtf8(out));
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

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// Goes past this byte if it stands here.
    fn take(&mut self, byte: u8) -> bool {
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
    fn error(&self, kind: ErrorKind, offset: usize) -> Error {
        Error {
            kind,
            position: Position::new(self.bytes, offset),
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

// ---------------------------------------------------------------------------
// Looking for special bytes

/// Where the next byte stands that cannot be copied as it is: a quote, a
/// backslash or a control character, and all but printable ASCII if `ASCII`
/// is set. The end if there is none.
///
/// Looks at eight bytes at a time, which is where most of the speed of
/// reading and writing comes from.
fn special_from<const ASCII: bool>(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let (words, tail) = rest.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let marks = special_marks::<ASCII>(u64::from_le_bytes(*word));
        if marks != 0 {
            return from + index * 8 + marks.trailing_zeros() as usize / 8;
        }
    }
    let special =
        |&byte: &u8| byte == b'"' || byte == b'\\' || byte < 0x20 || (ASCII && byte >= 0x7F);
    let in_tail = tail.iter().position(special).unwrap_or(tail.len());
    from + words.len() * 8 + in_tail
}

/// Sets the top bit of each special byte in a word. The lowest mark is always
/// right; those above it may be wrong, because subtracting borrows from them.
fn special_marks<const ASCII: bool>(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = ONES << 7;
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word & TOPS;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let marks = below(word, 0x20) | equal(b'"') | equal(b'\\');
    if ASCII {
        marks | equal(0x7F) | (word & TOPS)
    } else {
        marks
    }
}

// ---------------------------------------------------------------------------
// Writing

/// How JSON is to be written.
///
/// ```
/// use unjinja::json::{self, Style};
///
/// let value = json::read(r#"{"b": [1, "é"], "a": {}}"#).unwrap();
/// let style = Style { sort_keys: true, ..Style::PYTHON };
/// assert_eq!(json::write_styled(&value, &style), r#"{"a": {}, "b": [1, "\u00e9"]}"#);
/// assert_eq!(
///     json::write_styled(&value, &Style::pretty(2)),
///     "{\n  \"b\": [\n    1,\n    \"é\"\n  ],\n  \"a\": {}\n}",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
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
/// [`read`] should not be nested much deeper than [`MAX_DEPTH`] either.
pub fn write_into(out: &mut String, value: &Value, style: &Style) {
    Writer { out, style }.value(value, 0);
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
    push_escaped(out, text, ensure_ascii);
    out.push('"');
}

/// Appends a string that may hold lone surrogates, which are escaped.
pub fn write_text(out: &mut String, text: &Text, ensure_ascii: bool) {
    if let Some(text) = text.as_str() {
        return write_str(out, text, ensure_ascii);
    }
    out.push('"');
    for (text, surrogate) in text.pieces() {
        push_escaped(out, text, ensure_ascii);
        if let Some(surrogate) = surrogate {
            push_unit(out, surrogate);
        }
    }
    out.push('"');
}

/// Appends a number.
pub(crate) fn write_number(out: &mut String, number: &Number) {
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

struct Writer<'a> {
    out: &'a mut String,
    style: &'a Style,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Number(number) => write_number(self.out, number),
            Value::String(text) => self.text(text),
            Value::Array(items) => self.array(items, depth),
            Value::Object(object) => self.object(object, depth),
        }
    }

    fn text(&mut self, text: &Text) {
        write_text(self.out, text, self.style.ensure_ascii);
    }

    fn array(&mut self, items: &[Value], depth: usize) {
        self.out.push('[');
        for (index, item) in items.iter().enumerate() {
            self.separate(index, depth + 1);
            self.value(item, depth + 1);
        }
        self.close(']', items.is_empty(), depth);
    }

    fn object(&mut self, object: &Object, depth: usize) {
        self.out.push('{');
        if self.style.sort_keys {
            let mut members: Vec<_> = object.iter().collect();
            members.sort_unstable_by_key(|&(key, _)| key);
            self.members(members.into_iter(), depth + 1);
        } else {
            self.members(object.iter(), depth + 1);
        }
        self.close('}', object.is_empty(), depth);
    }

    fn members<'v>(&mut self, members: impl Iterator<Item = (&'v Text, &'v Value)>, depth: usize) {
        for (index, (key, value)) in members.enumerate() {
            self.separate(index, depth);
            self.text(key);
            self.out.push_str(&self.style.key_separator);
            self.value(value, depth);
        }
    }

    /// What comes before an item.
    fn separate(&mut self, index: usize, depth: usize) {
        if index > 0 {
            self.out.push_str(&self.style.item_separator);
        }
        self.new_line(depth);
    }

    fn close(&mut self, bracket: char, empty: bool, depth: usize) {
        if !empty {
            self.new_line(depth);
        }
        self.out.push(bracket);
    }

    fn new_line(&mut self, depth: usize) {
        if let Some(indent) = self.style.indent {
            self.out.push('\n');
            let spaces = indent.saturating_mul(depth);
            self.out.extend(std::iter::repeat_n(' ', spaces));
        }
    }
}

/// Appends the inside of a string literal.
fn push_escaped(out: &mut String, text: &str, ensure_ascii: bool) {
    if ensure_ascii {
        push_escaped_as::<true>(out, text);
    } else {
        push_escaped_as::<false>(out, text);
    }
}

fn push_escaped_as<const ASCII: bool>(out: &mut String, text: &str) {
    out.reserve(text.len());
    let mut done = 0;
    loop {
        let end = special_from::<ASCII>(text.as_bytes(), done);
        out.push_str(&text[done..end]);
        let Some(c) = text[end..].chars().next() else {
            return;
        };
        push_escape(out, c);
        done = end + c.len_utf8();
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

// ---------------------------------------------------------------------------
// Finding places

/// Where in a JSON document the value at a pointer (RFC 6901) starts. Of
/// equal keys the last one counts, as when reading. `None` if there is no
/// such value, or if the text is not JSON.
///
/// ```
/// use unjinja::json::locate;
///
/// let text = "{\n  \"a\": [1, 22]\n}";
/// let place = locate(text, "/a/1").unwrap();
/// assert_eq!((place.line, place.column), (2, 12));
/// assert!(text[place.offset..].starts_with("22"));
/// ```
pub fn locate(text: &str, pointer: &str) -> Option<Position> {
    let place = Locator::find(text, pointer)?;
    Some(Position::new(text.as_bytes(), place.value))
}

/// Where in a JSON document the key stands that the last step of a pointer
/// names: its opening quote. `None` also if that step is none into an object.
///
/// ```
/// use unjinja::json::locate_key;
///
/// let place = locate_key(r#"{"a": {"b": 1}}"#, "/a/b").unwrap();
/// assert_eq!(place.column, 8);
/// ```
pub fn locate_key(text: &str, pointer: &str) -> Option<Position> {
    let place = Locator::find(text, pointer)?;
    Some(Position::new(text.as_bytes(), place.key?))
}

/// Goes through a document once, noting where the values on the way to a
/// pointer stand.
struct Locator<'a> {
    steps: Vec<Cow<'a, str>>,
    /// The places of the document, of the value of the first step, and so on,
    /// as far as they were found.
    found: Vec<Place>,
    levels: Vec<Level>,
}

#[derive(Clone, Copy)]
struct Place {
    key: Option<usize>,
    value: usize,
}

/// An array or object that is open.
struct Level {
    /// Whether the pointer goes through it.
    on_path: bool,
    /// Whether the next string is a key; never so in arrays.
    wants_key: bool,
    is_object: bool,
    /// The number of items before this one, in an array.
    index: usize,
    /// Where the last key stands, if it is the one the pointer names.
    key: Option<usize>,
}

impl<'a> Locator<'a> {
    fn find(text: &str, pointer: &'a str) -> Option<Place> {
        // Reading it first lets the rest of this trust what it sees.
        read(text).ok()?;
        let mut locator = Self {
            steps: pointer_tokens(pointer)?.collect(),
            found: Vec::new(),
            levels: Vec::new(),
        };
        locator.walk(Reader::new(text.as_bytes(), Some(text)))?;
        locator.found.get(locator.steps.len()).copied()
    }

    fn walk(&mut self, mut reader: Reader<'_>) -> Option<()> {
        while let Some(&byte) = reader.bytes.get(reader.at) {
            let at = reader.at;
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b':' => reader.at += 1,
                b',' => {
                    reader.at += 1;
                    self.next_item()?;
                }
                b'[' | b'{' => {
                    reader.at += 1;
                    self.open(at, byte == b'{');
                }
                b']' | b'}' => {
                    reader.at += 1;
                    self.levels.pop();
                }
                b'"' => {
                    let text = reader.string().ok()?;
                    self.string(at, &text);
                }
                _ => {
                    self.value(at);
                    reader.at = scalar_end(reader.bytes, at);
                }
            }
        }
        Some(())
    }

    fn next_item(&mut self) -> Option<()> {
        let level = self.levels.last_mut()?;
        level.index += 1;
        level.wants_key = level.is_object;
        Some(())
    }

    fn open(&mut self, at: usize, is_object: bool) {
        let on_path = self.value(at);
        self.levels.push(Level {
            on_path,
            wants_key: is_object,
            is_object,
            index: 0,
            key: None,
        });
    }

    fn string(&mut self, at: usize, text: &Text) {
        let depth = self.levels.len();
        match self.levels.last_mut() {
            Some(level) if level.wants_key => {
                level.wants_key = false;
                // One step leads into each level.
                let step = self.steps.get(depth - 1);
                let named = step.is_some_and(|step| *text == **step);
                level.key = named.then_some(at);
            }
            _ => {
                self.value(at);
            }
        }
    }

    /// Notes a value, if it is on the way; says whether it is.
    fn value(&mut self, at: usize) -> bool {
        let depth = self.levels.len();
        let Some(key) = self.step_taken() else {
            return false;
        };
        // What was found under an earlier key of the same name is gone.
        self.found.truncate(depth);
        self.found.push(Place { key, value: at });
        true
    }

    /// Nothing if the value that comes now is not the one the pointer steps
    /// to; otherwise its key, if it has one.
    fn step_taken(&self) -> Option<Option<usize>> {
        let Some(level) = self.levels.last() else {
            return Some(None);
        };
        if !level.on_path {
            return None;
        }
        if level.is_object {
            return level.key.map(Some);
        }
        let step = self.steps.get(self.levels.len() - 1)?;
        (pointer_index(step) == Some(level.index)).then_some(None)
    }
}

/// Where a number or word ends.
fn scalar_end(bytes: &[u8], from: usize) -> usize {
    let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
    let length = bytes[from..].iter().position(ends);
    length.map_or(bytes.len(), |length| from + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> Result<String, ErrorKind> {
        match read(text) {
            Ok(value) => Ok(write(&value)),
            Err(error) => Err(error.kind()),
        }
    }

    #[test]
    fn reads_what_python_reads() {
        for (text, expected) in [
            (" \t\r\nnull \t\r\n", "null"),
            ("[true,false]", "[true,false]"),
            ("NaN", "NaN"),
            ("[Infinity,-Infinity]", "[Infinity,-Infinity]"),
            ("-0", "0"),
            ("-0.0", "-0.0"),
            ("0e5", "0.0"),
            ("1E+5", "100000.0"),
            ("1e-5", "1e-05"),
            ("1e16", "1e+16"),
            ("-1.50", "-1.5"),
            ("1e400", "Infinity"),
            ("-1e400", "-Infinity"),
            ("1e-400", "0.0"),
            ("123456789012345678", "123456789012345678"),
            ("9223372036854775807", "9223372036854775807"),
            ("-9223372036854775809", "-9223372036854775809"),
            ("[ ]", "[]"),
            ("{ }", "{}"),
            ("[[],{},[{}]]", "[[],{},[{}]]"),
            (r#"{"a" : 1 , "b":[1 ,2]}"#, r#"{"a":1,"b":[1,2]}"#),
            (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
            (r#""\"\\\/\b\f\n\r\t\u00e9""#, r#""\"\\/\b\f\n\r\té""#),
            ("\"\u{7f}\u{2028}é😀\"", "\"\u{7f}\u{2028}é😀\""),
            (r#""\u0000\u001f""#, r#""\u0000\u001f""#),
            (r#""\ud83d\ude00""#, "\"😀\""),
            (r#""\uD83D\uDE00""#, "\"😀\""),
            (r#""\ud83d\ud83d\ude00""#, "\"\\ud83d😀\""),
            (r#""\ude00\ud83d""#, r#""\ude00\ud83d""#),
            (r#""\ud83d\u0041é""#, r#""\ud83dAé""#),
            (r#""\ud83d\n""#, r#""\ud83d\n""#),
            (r#"{"\ud800":1,"\ud800":2}"#, r#"{"\ud800":2}"#),
        ] {
            assert_eq!(rewritten(text).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(read("1"), Ok(Number::Int(1).into()));
        assert_eq!(read("1.0"), Ok(Number::Float(1.0).into()));
    }

    #[test]
    fn refuses_what_python_refuses() {
        use ErrorKind::*;
        for (text, kind, offset) in [
            ("", ExpectedValue, 0),
            ("  ", ExpectedValue, 2),
            ("\u{a0}1", ExpectedValue, 0),
            ("\u{c}1", ExpectedValue, 0),
            ("\u{feff}1", ByteOrderMark, 0),
            ("nul", ExpectedValue, 0),
            ("True", ExpectedValue, 0),
            ("nan", ExpectedValue, 0),
            ("-", ExpectedValue, 0),
            ("-NaN", ExpectedValue, 0),
            ("-Inf", ExpectedValue, 0),
            ("+1", ExpectedValue, 0),
            (".5", ExpectedValue, 0),
            ("01", TrailingData, 1),
            ("1.", TrailingData, 1),
            ("1.5e", TrailingData, 3),
            ("1e+", TrailingData, 1),
            ("1 2", TrailingData, 2),
            ("nullx", TrailingData, 4),
            ("[1,]", ExpectedValue, 3),
            ("[,1]", ExpectedValue, 1),
            ("[1 2]", ExpectedCommaOrBracket, 3),
            ("[1}", ExpectedCommaOrBracket, 2),
            ("[", ExpectedValue, 1),
            ("[1", ExpectedCommaOrBracket, 2),
            ("[01]", ExpectedCommaOrBracket, 2),
            ("{", ExpectedKey, 1),
            ("{a:1}", ExpectedKey, 1),
            ("{'a':1}", ExpectedKey, 1),
            ("{\"a\"}", ExpectedColon, 4),
            ("{\"a\":}", ExpectedValue, 5),
            ("{\"a\":1,}", ExpectedKey, 7),
            ("{\"a\":1]", ExpectedCommaOrBrace, 6),
            ("{\"a\":1 \"b\":2}", ExpectedCommaOrBrace, 7),
            ("[\"abc", UnterminatedString, 1),
            ("\"abc\\", UnterminatedString, 0),
            ("\"a\\\"", UnterminatedString, 0),
            ("\"a\nb\"", ControlCharacter, 2),
            ("\"0123456789\u{1f}\"", ControlCharacter, 11),
            ("\"\\n\u{0}\"", ControlCharacter, 3),
            ("\"\\x41\"", InvalidEscape, 1),
            ("\"\\'\"", InvalidEscape, 1),
            ("\"\\é\"", InvalidEscape, 1),
            ("\"\\u12", InvalidUnicodeEscape, 1),
            ("\"\\u12\"", InvalidUnicodeEscape, 1),
            ("\"\\u+123\"", InvalidUnicodeEscape, 1),
            ("\"\\u1_23\"", InvalidUnicodeEscape, 1),
            ("\"\\u\u{ff11}234\"", InvalidUnicodeEscape, 1),
            ("\"\\ud83d\\u12g4\"", InvalidUnicodeEscape, 7),
        ] {
            let error = read(text).expect_err(text);
            assert_eq!((error.kind(), error.offset()), (kind, offset), "{text}");
            assert!(error.is_syntax());
        }
    }

    #[test]
    fn long_integers_have_an_error_of_their_own() {
        let long = "1".repeat(4300);
        assert_eq!(rewritten(&long), Ok(long.clone()));
        assert_eq!(rewritten(&format!("-{long}")), Ok(format!("-{long}")));
        for text in [format!("{long}1"), format!("-{long}1"), format!("{long}1.")] {
            let error = read(&text).expect_err("too long");
            assert_eq!(error.kind(), ErrorKind::IntegerTooLong);
            assert!(!error.is_syntax() && error.is_at_end());
            assert!(
                !read(&format!("[{text}]"))
                    .expect_err("too long")
                    .is_at_end()
            );
        }
        // A float may have as many digits as it likes.
        assert_eq!(rewritten(&format!("{long}1.0")).as_deref(), Ok("Infinity"));
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |open: &str, close: &str, depth| open.repeat(depth) + &close.repeat(depth);
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let most = MAX_DEPTH;
            // Everything that goes down into a value works at that depth,
            // even on the small stacks that tests get.
            let text = nested(open, close, most).replace(":}", ":null}");
            let value = read(&text).expect("just fits");
            assert_eq!(write(&value), text);
            assert_eq!(
                read(&write_styled(&value, &Style::pretty(1))),
                Ok(value.clone())
            );
            assert!(locate(&text, "").is_some());
            assert!(format!("{value:?}").len() > most);
            let error = read(&nested(open, close, most + 1)).expect_err("too deep");
            assert_eq!(error.kind(), ErrorKind::TooDeep);
        }
        assert_eq!(rewritten(&"[".repeat(1_000_000)), Err(ErrorKind::TooDeep));
        assert_eq!(
            rewritten(&"[".repeat(MAX_DEPTH)),
            Err(ErrorKind::ExpectedValue)
        );
        let wide = format!("[{}[]]", "[],".repeat(5000));
        assert_eq!(rewritten(&wide), Ok(wide.clone()));
    }

    #[test]
    fn errors_say_where() {
        for (text, shown) in [
            (
                "{\"é\":\n\"ü\" 1}",
                "expected `,` or `}` at line 2, column 5",
            ),
            (
                "[1",
                "expected `,` or `]` at line 1, column 3, but the text ends there",
            ),
            ("[\n\"a", "unterminated string starting at line 2, column 1"),
            ("\n\n x", "expected a value at line 3, column 2"),
        ] {
            assert_eq!(read(text).expect_err(text).to_string(), shown);
        }
    }

    #[test]
    fn errors_know_whether_more_text_could_help() {
        for text in [
            "",
            "[",
            "[1",
            "[1,",
            "{\"a\"",
            "{\"a\":",
            "\"a",
            "\"a\\",
            "\"\\u1",
            "\"\\u",
            "t",
            "nul",
            "[-",
            "-Infinit",
            "1.",
            "[-12.",
            "1.5e",
            "[1,2E+",
            "{\"a\": 0e-",
        ] {
            assert!(read(text).expect_err(text).is_at_end(), "{text}");
        }
        for text in [
            "x", "[}", "[1 x", "\"\\u1g", "\"\\x", "\"a\n", "nup", "[1 t", "1.5.", "1e5.", "1e5e",
            "1 .", "\"a\"e", "01",
        ] {
            assert!(!read(text).expect_err(text).is_at_end(), "{text}");
        }
    }

    #[test]
    fn reads_raw_surrogates() {
        let value = read_wtf8(b"[\"a\xed\xa0\xbd\",\"\xed\xa0\xbd\\ude00\"]").expect("is JSON");
        // Half of the pair escaped, half of it not: Python keeps both apart.
        assert_eq!(write(&value), r#"["a\ud83d","\ud83d\ude00"]"#);
        assert_eq!(read_wtf8("{\"é\":1}".as_bytes()), read("{\"é\":1}"));
        let error = read_wtf8(b"\"\xed\xa0\xbd\" x").expect_err("trailing");
        assert_eq!((error.offset(), error.column()), (6, 5));
        assert!(read_wtf8(b"\"\xff\"").is_ok() && read_wtf8(b"\xed\xa0\xbd").is_err());
    }

    #[test]
    fn writes_strings_as_python_does() {
        let cases = [
            ("", "\"\"", "\"\""),
            ("plain", "\"plain\"", "\"plain\""),
            ("\"\\/", r#""\"\\/""#, r#""\"\\/""#),
            ("\n\r\t\u{8}\u{c}", r#""\n\r\t\b\f""#, r#""\n\r\t\b\f""#),
            (
                "\0\u{1b}\u{1f}",
                r#""\u0000\u001b\u001f""#,
                r#""\u0000\u001b\u001f""#,
            ),
            ("\u{7f}", "\"\u{7f}\"", r#""\u007f""#),
            ("é\u{2028}", "\"é\u{2028}\"", r#""\u00e9\u2028""#),
            (
                "0123456é89😀",
                "\"0123456é89😀\"",
                r#""0123456\u00e989\ud83d\ude00""#,
            ),
        ];
        for (text, as_is, ascii) in cases {
            let mut out = String::new();
            write_str(&mut out, text, false);
            assert_eq!(out, as_is);
            out.clear();
            write_str(&mut out, text, true);
            assert_eq!(out, ascii);
            assert_eq!(read(as_is), Ok(text.into()));
            assert_eq!(read(ascii), Ok(text.into()));
        }
    }

    #[test]
    fn every_byte_is_found_at_every_place() {
        for byte in 0..=0xFF_u8 {
            let special = byte < 0x20 || byte == b'"' || byte == b'\\';
            for place in 0..20 {
                // Neighbours on both sides of the limits try the borrows.
                for filler in [b' ', b'a', b'!', b'#', b'[', b']', b'~', 0x80, 0xFF] {
                    let mut bytes = [filler; 21];
                    bytes[place] = byte;
                    let expected = if special { place } else { 21 };
                    assert_eq!(special_from::<false>(&bytes, 0), expected);
                    let plain = bytes.iter().position(|&b| !(0x20..0x7F).contains(&b));
                    let expected = plain.unwrap_or(21).min(expected);
                    assert_eq!(special_from::<true>(&bytes, 0), expected);
                }
            }
        }
        assert_eq!(special_from::<false>(b"ab", 2), 2);
    }

    #[test]
    fn styles_are_pythons() {
        let value = read(r#"{"b":[],"a":{},"c":[1,{"é":2.0}]}"#).expect("is JSON");
        let zero = Style::pretty(0);
        let odd = Style {
            indent: Some(1),
            item_separator: " ;".into(),
            key_separator: "=".into(),
            sort_keys: true,
            ensure_ascii: true,
        };
        for (style, expected) in [
            (Style::default(), r#"{"b":[],"a":{},"c":[1,{"é":2.0}]}"#),
            (
                Style::PYTHON,
                r#"{"b": [], "a": {}, "c": [1, {"\u00e9": 2.0}]}"#,
            ),
            (
                Style::pretty(2),
                "{\n  \"b\": [],\n  \"a\": {},\n  \"c\": [\n    1,\n    {\n      \"é\": 2.0\n    }\n  ]\n}",
            ),
            (
                zero,
                "{\n\"b\": [],\n\"a\": {},\n\"c\": [\n1,\n{\n\"é\": 2.0\n}\n]\n}",
            ),
            (
                odd,
                "{\n \"a\"={} ;\n \"b\"=[] ;\n \"c\"=[\n  1 ;\n  {\n   \"\\u00e9\"=2.0\n  }\n ]\n}",
            ),
        ] {
            assert_eq!(write_styled(&value, &style), expected);
        }
        let mut out = String::from("x = ");
        write_into(&mut out, &Value::Null, &Style::COMPACT);
        assert_eq!(out, "x = null");
    }

    #[test]
    fn sorts_by_code_point() {
        let value = read(r#"{"\ue000":1,"\ud800":2,"😀":3,"a":4,"B":5}"#).expect("is JSON");
        let style = Style {
            sort_keys: true,
            ..Style::COMPACT
        };
        let expected = "{\"B\":5,\"a\":4,\"\\ud800\":2,\"\u{e000}\":1,\"😀\":3}";
        assert_eq!(write_styled(&value, &style), expected);
    }

    #[test]
    fn locates_values_and_keys() {
        let text =
            " {\"a\": {\"b\": 1}, \"c/d\": [true, \"x]\", [2]],\n\"a\": {\"e\": -1.5}, \"\": null}";
        let at = |needle: &str| text.find(needle);
        let cases = [
            ("", Some(1), None),
            ("/c~1d", at("[true"), at("\"c/d")),
            ("/c~1d/0", at("true"), None),
            ("/c~1d/1", at("\"x]"), None),
            ("/c~1d/2/0", at("2]]"), None),
            ("/c~1d/3", None, None),
            ("/c~1d/00", None, None),
            ("/a", at("{\"e"), at("\"a\": {\"e")),
            ("/a/e", at("-1.5"), at("\"e")),
            ("/a/b", None, None),
            ("/a/e/f", None, None),
            ("/", at("null"), at("\"\": n")),
            ("/x", None, None),
            ("a", None, None),
        ];
        let offset = |position: Position| position.offset;
        for (pointer, value, key) in cases {
            assert_eq!(locate(text, pointer).map(offset), value, "{pointer}");
            assert_eq!(locate_key(text, pointer).map(offset), key, "{pointer}");
        }
        let place = locate(text, "/a/e").expect("is there");
        assert_eq!((place.line, place.column), (2, 12));
        assert_eq!(locate("[1,", "/0"), None);
        assert_eq!(locate(" 7 ", "").map(offset), Some(1));
    }

    #[test]
    fn later_keys_hide_what_earlier_ones_held() {
        let text = r#"{"a":{"b":1},"a":2,"c":[{"d":1,"d":[5]}]}"#;
        assert_eq!(locate(text, "/a/b"), None);
        assert_eq!(locate(text, "/a").map(|place| place.column), Some(18));
        assert_eq!(locate(text, "/c/0/d/0").map(|place| place.column), Some(37));
    }

    #[test]
    fn lines_and_columns() {
        let text = "aé\n\nü😀x";
        for (offset, expected) in [
            (0, (1, 1)),
            (1, (1, 2)),
            (2, (1, 2)),
            (3, (1, 3)),
            (4, (2, 1)),
            (5, (3, 1)),
            (7, (3, 2)),
            (9, (3, 2)),
            (11, (3, 3)),
            (12, (3, 4)),
            (99, (3, 4)),
        ] {
            assert_eq!(line_column(text, offset), expected, "{offset}");
        }
    }
}
