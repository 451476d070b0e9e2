//! Reading: how values stand in each other.

use std::ops::Range;

use crate::value::{JsonString, Object, Value};

use super::scanner::Scanner;
use super::{Error, ErrorKind, MAX_DEPTH};

/// What a [`DocumentReader`] makes of a document: values, or a tree that knows where
/// they stand.
pub(super) trait Build {
    type Node;
    /// An array of which the end was not read yet.
    type Array;
    /// An object of which the end was not read yet.
    type Object;

    fn scalar(&mut self, value: Value, span: Range<usize>) -> Self::Node;

    fn begin_array(&mut self, start: usize) -> Self::Array;
    fn push_item(&mut self, array: &mut Self::Array, item: Self::Node);
    fn end_array(&mut self, array: Self::Array, end: usize) -> Self::Node;

    fn begin_object(&mut self, start: usize) -> Self::Object;
    /// Takes the key of the value that comes next.
    fn push_key(&mut self, object: &mut Self::Object, key: JsonString, span: Range<usize>);
    fn push_value(&mut self, object: &mut Self::Object, value: Self::Node);
    fn end_object(&mut self, object: Self::Object, end: usize) -> Self::Node;
}

/// Makes plain values, which is what nearly everyone wants.
pub(super) struct Values;

impl Build for Values {
    type Node = Value;
    type Array = Vec<Value>;
    /// With the key whose value comes next.
    type Object = (Object, JsonString);

    fn scalar(&mut self, value: Value, _span: Range<usize>) -> Value {
        value
    }

    fn begin_array(&mut self, _start: usize) -> Vec<Value> {
        Vec::new()
    }

    fn push_item(&mut self, array: &mut Vec<Value>, item: Value) {
        array.push(item);
    }

    fn end_array(&mut self, array: Vec<Value>, _end: usize) -> Value {
        Value::Array(array)
    }

    fn begin_object(&mut self, _start: usize) -> Self::Object {
        (Object::new(), JsonString::new())
    }

    fn push_key(&mut self, object: &mut Self::Object, key: JsonString, _span: Range<usize>) {
        object.1 = key;
    }

    fn push_value(&mut self, (object, key): &mut Self::Object, value: Value) {
        object.insert(std::mem::take(key), value);
    }

    fn end_object(&mut self, (object, _): Self::Object, _end: usize) -> Value {
        Value::Object(object)
    }
}

/// A document being read. Keeps its own stack of open arrays and objects, so
/// that deep documents do not need a deep call stack.
pub(super) struct DocumentReader<'a, B: Build> {
    scanner: Scanner<'a>,
    builder: B,
    open: Vec<Open<B>>,
}

/// An array or object of which the end was not read yet.
enum Open<B: Build> {
    Array(B::Array),
    Object(B::Object),
}

impl<'a, B: Build> DocumentReader<'a, B> {
    /// A reader of these bytes, which are those of the text if there is one.
    pub(super) fn new(bytes: &'a [u8], text: Option<&'a str>, builder: B) -> Self {
        Self {
            scanner: Scanner::new(bytes, text),
            builder,
            open: Vec::new(),
        }
    }

    /// Reads the document, and gives the builder back, too.
    pub(super) fn document(mut self) -> Result<(B::Node, B), Error> {
        if self.scanner.bytes.starts_with("\u{feff}".as_bytes()) {
            return Err(self.scanner.error(ErrorKind::ByteOrderMark, 0));
        }
        self.scanner.skip_space();
        let root = self.value()?;
        self.scanner.skip_space();
        let end = self.scanner.at;
        if end < self.scanner.bytes.len() {
            return Err(self.scanner.error(ErrorKind::TrailingData, end));
        }
        Ok((root, self.builder))
    }

    /// Reads a value with all of its parts.
    fn value(&mut self) -> Result<B::Node, Error> {
        loop {
            // Nothing here means that an array or object was opened, and its
            // first value comes next.
            if let Some(value) = self.begin()?
                && let Some(value) = self.attach(value)?
            {
                return Ok(value);
            }
        }
    }

    /// Reads a whole value, or opens one that has parts.
    fn begin(&mut self) -> Result<Option<B::Node>, Error> {
        let start = self.scanner.at;
        match self.scanner.bytes.get(start) {
            Some(b'{') => self.begin_object(start),
            Some(b'[') => self.begin_array(start),
            _ => {
                let value = self.scanner.scalar()?;
                Ok(Some(self.builder.scalar(value, start..self.scanner.at)))
            }
        }
    }

    fn begin_array(&mut self, start: usize) -> Result<Option<B::Node>, Error> {
        self.step_in()?;
        let array = self.builder.begin_array(start);
        if self.scanner.take(b']') {
            return Ok(Some(self.builder.end_array(array, self.scanner.at)));
        }
        self.open.push(Open::Array(array));
        Ok(None)
    }

    fn begin_object(&mut self, start: usize) -> Result<Option<B::Node>, Error> {
        self.step_in()?;
        let mut object = self.builder.begin_object(start);
        if self.scanner.take(b'}') {
            return Ok(Some(self.builder.end_object(object, self.scanner.at)));
        }
        let (key, span) = key(&mut self.scanner)?;
        self.builder.push_key(&mut object, key, span);
        self.open.push(Open::Object(object));
        Ok(None)
    }

    /// Goes past an opening bracket or brace.
    fn step_in(&mut self) -> Result<(), Error> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.scanner.error(ErrorKind::TooDeep, self.scanner.at));
        }
        self.scanner.at += 1;
        self.scanner.skip_space();
        Ok(())
    }

    /// Puts a value where it belongs, and closes what ends with it. Gives the
    /// document back when it is complete, nothing when another value follows.
    fn attach(&mut self, mut value: B::Node) -> Result<Option<B::Node>, Error> {
        loop {
            let goes_on = match self.open.last_mut() {
                None => return Ok(Some(value)),
                Some(Open::Array(array)) => {
                    self.builder.push_item(array, value);
                    comma_or(b']', &mut self.scanner, ErrorKind::ExpectedCommaOrBracket)?
                }
                Some(Open::Object(object)) => {
                    self.builder.push_value(object, value);
                    let comma = comma_or(b'}', &mut self.scanner, ErrorKind::ExpectedCommaOrBrace)?;
                    if comma {
                        let (key, span) = key(&mut self.scanner)?;
                        self.builder.push_key(object, key, span);
                    }
                    comma
                }
            };
            if goes_on {
                return Ok(None);
            }
            value = match self.open.pop() {
                Some(Open::Array(array)) => self.builder.end_array(array, self.scanner.at),
                Some(Open::Object(object)) => self.builder.end_object(object, self.scanner.at),
                None => return Ok(None), // there was one a moment ago
            };
        }
    }
}

/// Reads what follows a value within an array or object: true for a comma,
/// false for the end.
fn comma_or(end: u8, scanner: &mut Scanner<'_>, otherwise: ErrorKind) -> Result<bool, Error> {
    scanner.skip_space();
    if scanner.take(b',') {
        scanner.skip_space();
        return Ok(true);
    }
    match scanner.take(end) {
        true => Ok(false),
        false => Err(scanner.error(otherwise, scanner.at)),
    }
}

/// Reads a key, the colon, and the space after it. Gives the key with its place.
fn key(scanner: &mut Scanner<'_>) -> Result<(JsonString, Range<usize>), Error> {
    let start = scanner.at;
    if scanner.bytes.get(start) != Some(&b'"') {
        return Err(scanner.error(ErrorKind::ExpectedKey, start));
    }
    let key = scanner.string()?;
    let span = start..scanner.at;
    scanner.skip_space();
    if !scanner.take(b':') {
        return Err(scanner.error(ErrorKind::ExpectedColon, scanner.at));
    }
    scanner.skip_space();
    Ok((key, span))
}
