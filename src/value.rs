//! JSON values as Python's `json` module knows them: text may hold lone
//! surrogates, integers may have any size, objects keep their order.
//!
//! ```
//! use unjinja::{Object, Value};
//!
//! let mut arguments = Object::new();
//! arguments.insert("city", "Paris");
//! arguments.insert("days", 3);
//! let value = Value::from(arguments);
//!
//! assert_eq!(value.pointer("/city").and_then(Value::as_str), Some("Paris"));
//! assert_eq!(value.to_string(), r#"{"city":"Paris","days":3}"#);
//! ```

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use indexmap::{Equivalent, IndexMap};

use crate::json;

/// Text that may hold lone surrogates.
///
/// The JSON escape `"\ud800"` names half a character. Python keeps it, but a
/// Rust `String` cannot, so such texts are held as WTF-8: UTF-8 that allows
/// surrogates too. All other texts are plain strings.
///
/// ```
/// use unjinja::{Text, json};
///
/// let whole = Text::from("ü");
/// assert_eq!(whole, "ü");
/// assert_eq!(whole.as_str(), Some("ü"));
///
/// let value = json::read(r#""half: \ud800""#).unwrap();
/// let half = value.as_text().unwrap();
/// assert_eq!(half.as_str(), None);
/// assert_eq!(half.to_string_lossy(), "half: \u{fffd}");
/// ```
#[derive(Clone)]
pub struct Text(Repr);

/// `Wtf8` never holds bytes that are valid UTF-8, so that equal texts have
/// one form only.
#[derive(Clone)]
enum Repr {
    Utf8(String),
    Wtf8(Vec<u8>),
}

impl Text {
    /// An empty text.
    pub const fn new() -> Self {
        Self(Repr::Utf8(String::new()))
    }

    /// The text of these bytes, which are UTF-8 that may hold surrogates.
    pub(crate) fn from_wtf8(bytes: Vec<u8>) -> Self {
        Self(match String::from_utf8(bytes) {
            Ok(text) => Repr::Utf8(text),
            Err(error) => Repr::Wtf8(error.into_bytes()),
        })
    }

    /// The text as a string, unless it holds lone surrogates.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Utf8(text) => Some(text),
            Repr::Wtf8(_) => None,
        }
    }

    /// The text as a string, each lone surrogate replaced by U+FFFD.
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Utf8(text) => Cow::Borrowed(text),
            Repr::Wtf8(bytes) => Cow::Owned(lossy(bytes.clone())),
        }
    }

    /// The text as a string of its own, each lone surrogate replaced by
    /// U+FFFD. Does not copy if there are none.
    pub fn into_string_lossy(self) -> String {
        match self.0 {
            Repr::Utf8(text) => text,
            Repr::Wtf8(bytes) => lossy(bytes),
        }
    }

    /// The bytes: UTF-8, in which surrogates may stand as three bytes each.
    pub fn as_wtf8(&self) -> &[u8] {
        match &self.0 {
            Repr::Utf8(text) => text.as_bytes(),
            Repr::Wtf8(bytes) => bytes,
        }
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.as_wtf8().len()
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.as_wtf8().is_empty()
    }

    /// Appends another text.
    pub fn push(&mut self, other: &Text) {
        match (&mut self.0, &other.0) {
            (Repr::Utf8(text), Repr::Utf8(other)) => text.push_str(other),
            _ => {
                let mut bytes = std::mem::take(self).into_wtf8();
                bytes.extend_from_slice(other.as_wtf8());
                *self = Self::from_wtf8(bytes);
            }
        }
    }

    fn into_wtf8(self) -> Vec<u8> {
        match self.0 {
            Repr::Utf8(text) => text.into_bytes(),
            Repr::Wtf8(bytes) => bytes,
        }
    }

    /// The pieces of the text: strings, and the surrogates between them.
    pub(crate) fn pieces(&self) -> Pieces<'_> {
        Pieces(self.as_wtf8().utf8_chunks())
    }
}

/// What [`Text::pieces`] gives: a string each time, and the surrogate that
/// follows it, if one does.
pub(crate) struct Pieces<'a>(std::str::Utf8Chunks<'a>);

impl<'a> Iterator for Pieces<'a> {
    type Item = (&'a str, Option<u16>);

    fn next(&mut self) -> Option<Self::Item> {
        let chunk = self.0.next()?;
        if chunk.invalid().is_empty() {
            return Some((chunk.valid(), None));
        }
        // The standard library hands out the three bytes of a surrogate one
        // by one, because none of them may follow the one before.
        let rest = [self.0.next(), self.0.next()];
        let second = rest[0].as_ref().and_then(|chunk| chunk.invalid().first());
        let third = rest[1].as_ref().and_then(|chunk| chunk.invalid().first());
        let surrogate = match (second, third) {
            (Some(second), Some(third)) => {
                0xD000 | (u16::from(second & 0x3F) << 6) | u16::from(third & 0x3F)
            }
            // Not WTF-8: nobody in this crate makes such a text.
            _ => 0xFFFD,
        };
        Some((chunk.valid(), Some(surrogate)))
    }
}

/// WTF-8 as a string. A surrogate and U+FFFD both have three bytes, so the
/// one is written over the other.
fn lossy(mut bytes: Vec<u8>) -> String {
    for at in 0..bytes.len().saturating_sub(2) {
        if bytes[at] == 0xED && bytes[at + 1] >= 0xA0 {
            bytes[at..at + 3].copy_from_slice("\u{fffd}".as_bytes());
        }
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

impl Default for Text {
    fn default() -> Self {
        Self::new()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Repr::Utf8(text))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self::from(text.clone())
    }
}

impl From<Cow<'_, str>> for Text {
    fn from(text: Cow<'_, str>) -> Self {
        Self::from(text.into_owned())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_string_lossy())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.as_str() {
            return fmt::Debug::fmt(text, f);
        }
        f.write_str("\"")?;
        for (text, surrogate) in self.pieces() {
            write!(f, "{}", text.escape_debug())?;
            if let Some(surrogate) = surrogate {
                write!(f, "\\u{{{surrogate:x}}}")?;
            }
        }
        f.write_str("\"")
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_wtf8() == other.as_wtf8()
    }
}

impl Eq for Text {}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of the code points, which is the order of the bytes too.
impl Ord for Text {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.as_wtf8().cmp(other.as_wtf8())
    }
}

/// Hashes as `str` does, so that objects can be searched by `&str`.
impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Repr::Utf8(text) => text.hash(state),
            Repr::Wtf8(bytes) => bytes.hash(state),
        }
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_wtf8() == other.as_bytes()
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

impl PartialEq<Text> for str {
    fn eq(&self, other: &Text) -> bool {
        other == self
    }
}

impl PartialEq<Text> for &str {
    fn eq(&self, other: &Text) -> bool {
        other == *self
    }
}

/// A `str` finds the key of the same text in an [`Object`].
impl Equivalent<Text> for str {
    fn equivalent(&self, key: &Text) -> bool {
        key == self
    }
}

/// A JSON number.
///
/// Whole numbers and floats are told apart as in Python: `1` and `1.0` are
/// different values here.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// A whole number of 64 bits.
    Int(i64),
    /// A whole number that needs more: its decimal digits, without leading
    /// zeros, after a `-` if it is negative. Never a number that fits `Int`.
    BigInt(String),
    /// A number with a fraction or an exponent. May be NaN or infinite, as
    /// Python reads and writes these.
    Float(f64),
}

impl Number {
    /// The number if it is a whole one of 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(*int),
            _ => None,
        }
    }

    /// The number as a float; the closest one if it is a large whole number.
    pub fn as_f64(&self) -> f64 {
        match self {
            Self::Int(int) => *int as f64,
            Self::BigInt(digits) => digits.parse().unwrap_or(f64::NAN),
            Self::Float(float) => *float,
        }
    }

    /// Whether this is `Int` or `BigInt`.
    pub fn is_integer(&self) -> bool {
        !matches!(self, Self::Float(_))
    }
}

/// As in JSON.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        json::write_number(&mut out, self);
        f.pad(&out)
    }
}

macro_rules! number_from {
    ($($int:ty),*) => {$(
        impl From<$int> for Number {
            fn from(int: $int) -> Self {
                Self::Int(i64::from(int))
            }
        }
    )*};
}

number_from!(i8, i16, i32, i64, u8, u16, u32);

impl From<u64> for Number {
    fn from(int: u64) -> Self {
        i64::try_from(int).map_or_else(|_| Self::BigInt(int.to_string()), Self::Int)
    }
}

impl From<usize> for Number {
    fn from(int: usize) -> Self {
        i64::try_from(int).map_or_else(|_| Self::BigInt(int.to_string()), Self::Int)
    }
}

impl From<f64> for Number {
    fn from(float: f64) -> Self {
        Self::Float(float)
    }
}

/// A JSON object: keys and values in the order in which the keys came first.
///
/// Two objects with the same members are equal whatever their order. Clones
/// share their members until one of them is changed, so that a clone costs
/// next to nothing.
///
/// ```
/// use unjinja::{Object, Value};
///
/// let mut object = Object::new();
/// object.insert("b", 1);
/// object.insert("a", 2);
/// // A key that is there already keeps its place.
/// assert_eq!(object.insert("b", 3), Some(Value::from(1)));
/// assert_eq!(object.get("b"), Some(&Value::from(3)));
/// assert!(object.keys().eq(&["b", "a"]));
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Object(
    /// Elsewhere, because a map is several times the size of all other values,
    /// and each item of an array would have to have room for it.
    Arc<IndexMap<Text, Value>>,
);

impl Object {
    /// An empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// The map, to be changed: from here on it is this object's own.
    fn map_mut(&mut self) -> &mut IndexMap<Text, Value> {
        Arc::make_mut(&mut self.0)
    }

    /// The map, to keep.
    fn into_map(self) -> IndexMap<Text, Value> {
        Arc::unwrap_or_clone(self.0)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// The value of a key that may hold lone surrogates.
    pub fn get_text(&self, key: &Text) -> Option<&Value> {
        self.0.get(key)
    }

    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.map_mut().get_mut(key)
    }

    /// Whether the key is there.
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Sets the value of a key and gives back the one it had before. A new
    /// key comes last; one that is there already keeps its place.
    pub fn insert(&mut self, key: impl Into<Text>, value: impl Into<Value>) -> Option<Value> {
        self.map_mut().insert(key.into(), value.into())
    }

    /// Takes a key out. The others keep their order, which takes time in
    /// proportion to their number.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.map_mut().shift_remove(key)
    }

    /// Keeps only the members for which `keep` says true.
    pub fn retain(&mut self, keep: impl FnMut(&Text, &mut Value) -> bool) {
        self.map_mut().retain(keep);
    }

    /// The members in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.0.iter())
    }

    /// The members in order, the values to be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_> {
        IterMut(self.map_mut().iter_mut())
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Text> + ExactSizeIterator {
        self.0.keys()
    }

    /// The values in order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
        self.0.values()
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both say the same, as [`Value::says_same`] tells.
    pub fn says_same(&self, other: &Object) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        // Most objects have their keys in the same order, and then none need be looked up.
        let mut pairs = self.iter().zip(other);
        let is_same = |((key, value), (beside, there)): ((&Text, &Value), (&Text, &Value))| {
            let there = match key == beside {
                true => Some(there),
                false => other.get_text(key),
            };
            there.is_some_and(|there| value.says_same(there))
        };
        self.len() == other.len() && pairs.all(is_same)
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Into<Text>, V: Into<Value>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let mut object = Self::new();
        object.extend(members);
        object
    }
}

impl<K: Into<Text>, V: Into<Value>> Extend<(K, V)> for Object {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, members: I) {
        let members = members.into_iter();
        self.map_mut()
            .extend(members.map(|(key, value)| (key.into(), value.into())));
    }
}

/// Wraps the iterators of the map, so that the map stays our own affair.
macro_rules! member_iterator {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)?, $inner:ty, $item:ty, $object:ty, $($make:tt)+) => {
        $(#[$doc])*
        pub struct $name $(<$life>)? ($inner);

        impl $(<$life>)? Iterator for $name $(<$life>)? {
            type Item = $item;

            fn next(&mut self) -> Option<Self::Item> {
                self.0.next()
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.0.size_hint()
            }
        }

        impl $(<$life>)? DoubleEndedIterator for $name $(<$life>)? {
            fn next_back(&mut self) -> Option<Self::Item> {
                self.0.next_back()
            }
        }

        impl $(<$life>)? ExactSizeIterator for $name $(<$life>)? {}

        impl $(<$life>)? IntoIterator for $object {
            type Item = $item;
            type IntoIter = $name $(<$life>)?;

            fn into_iter(self) -> Self::IntoIter {
                $name(self.$($make)+())
            }
        }
    };
}

member_iterator!(
    /// The members of an [`Object`] in order.
    #[derive(Clone)]
    Iter<'a>,
    indexmap::map::Iter<'a, Text, Value>,
    (&'a Text, &'a Value),
    &'a Object,
    0.iter
);
member_iterator!(
    /// The members of an [`Object`] in order, the values to be changed.
    IterMut<'a>,
    indexmap::map::IterMut<'a, Text, Value>,
    (&'a Text, &'a mut Value),
    &'a mut Object,
    map_mut().iter_mut
);
member_iterator!(
    /// The members of an [`Object`] in order, to keep.
    IntoIter,
    indexmap::map::IntoIter<Text, Value>,
    (Text, Value),
    Object,
    into_map().into_iter
);

/// A JSON value.
///
/// Values that [`json::read`] gives are nested at most [`json::MAX_DEPTH`]
/// deep, so cloning, comparing, writing and dropping them is safe on any
/// ordinary stack.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(Text),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

impl AsRef<Value> for Value {
    fn as_ref(&self) -> &Value {
        self
    }
}

impl Value {
    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether there is nothing in it: whether it is `null`, or an empty text, array or object.
    ///
    /// ```
    /// use unjinja::Value;
    ///
    /// assert!(Value::from("").is_empty());
    /// assert!(!Value::from(0).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Null => true,
            Self::String(text) => text.is_empty(),
            Self::Array(items) => items.is_empty(),
            Self::Object(object) => object.is_empty(),
            Self::Bool(_) | Self::Number(_) => false,
        }
    }

    /// The boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(bool) => Some(*bool),
            _ => None,
        }
    }

    /// The number, if this is one.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The string, if this is one and holds no lone surrogates.
    pub fn as_str(&self) -> Option<&str> {
        self.as_text().and_then(Text::as_str)
    }

    /// The string, if this is one.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if this is an array.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The items to be changed, if this is an array.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Value>> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The object, if this is one.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The object to be changed, if this is one.
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// What this is, as error messages say it: `a string`, `null`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// Whether both say the same, whatever the order of their keys: whether
    /// they would be written alike, but for that. So a number that is none
    /// says the same as itself, though it is not equal to itself.
    ///
    /// ```
    /// use unjinja::json;
    ///
    /// let value = json::read(r#"{"a": NaN, "b": [1]}"#)?;
    /// assert!(value.says_same(&json::read(r#"{"b": [1], "a": NaN}"#)?));
    /// assert!(!value.says_same(&json::read(r#"{"a": NaN, "b": [1.0]}"#)?));
    /// # Ok::<(), json::Error>(())
    /// ```
    pub fn says_same(&self, other: &Value) -> bool {
        match (self, other) {
            (Self::Object(a), Self::Object(b)) => a.says_same(b),
            (Self::Array(a), Self::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.says_same(b))
            }
            (Self::Number(_), Self::Number(_)) => json::write(self) == json::write(other),
            (a, b) => a == b,
        }
    }

    /// The value of a key, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// The value at a JSON pointer (RFC 6901): `/a/b/0`. The empty pointer
    /// is the value itself; in keys, `~1` stands for `/` and `~0` for `~`.
    ///
    /// ```
    /// let value = unjinja::json::read(r#"{"a": [1, {"b/c": 2}]}"#).unwrap();
    /// assert_eq!(value.pointer("/a/1/b~1c"), Some(&2.into()));
    /// assert_eq!(value.pointer("/a/01"), None);
    /// ```
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        pointer_tokens(pointer)?.try_fold(self, |value, token| match value {
            Self::Object(object) => object.get(&token),
            Self::Array(items) => items.get(pointer_index(&token)?),
            _ => None,
        })
    }
}

/// The pointer to a key or an element below another pointer.
pub(crate) fn pointer_below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// The steps of a JSON pointer, or `None` if it is none.
pub(crate) fn pointer_tokens(pointer: &str) -> Option<impl Iterator<Item = Cow<'_, str>>> {
    let well_formed = pointer.is_empty() || pointer.starts_with('/');
    well_formed.then(|| pointer.split('/').skip(1).map(unescape_token))
}

/// `~1` comes first: `~01` means `~1` and not `/`.
fn unescape_token(token: &str) -> Cow<'_, str> {
    if token.contains('~') {
        Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(token)
    }
}

/// The place in an array that a step of a pointer means: digits only, no
/// leading zero.
pub(crate) fn pointer_index(token: &str) -> Option<usize> {
    let digits = token.bytes().all(|byte| byte.is_ascii_digit());
    let canonical = digits && (token == "0" || !token.starts_with('0'));
    canonical.then(|| token.parse().ok()).flatten()
}

/// As compact JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&json::write(self))
    }
}

impl From<bool> for Value {
    fn from(bool: bool) -> Self {
        Self::Bool(bool)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::Array(items)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

macro_rules! value_from {
    ($variant:ident: $($source:ty),*) => {$(
        impl From<$source> for Value {
            fn from(source: $source) -> Self {
                Self::$variant(source.into())
            }
        }
    )*};
}

value_from!(Number: i8, i16, i32, i64, u8, u16, u32, u64, usize, f64);
value_from!(String: Text, String, &str, &String, Cow<'_, str>);

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    fn half() -> Text {
        Text::from_wtf8(b"a\xed\xa0\x80\xed\xbf\xbfb\xed\xa0\xbd".to_vec())
    }

    #[test]
    fn text_with_surrogates() {
        let text = half();
        assert_eq!(text.as_str(), None);
        assert_eq!(text.to_string_lossy(), "a\u{fffd}\u{fffd}b\u{fffd}");
        assert_eq!(text.to_string(), text.clone().into_string_lossy());
        assert_eq!(format!("{text:?}"), r#""a\u{d800}\u{dfff}b\u{d83d}""#);
        assert_eq!(text.len(), 11);
        let pieces: Vec<_> = text.pieces().collect();
        assert_eq!(
            pieces,
            [("a", Some(0xd800)), ("", Some(0xdfff)), ("b", Some(0xd83d))]
        );
        let hangul = Text::from_wtf8("\u{d7ff}x".into());
        assert_eq!(hangul.as_str(), Some("\u{d7ff}x"));
        let broken = Text::from_wtf8(vec![b'a', 0xff]);
        assert_eq!(broken.to_string(), "a\u{fffd}");
        assert_eq!(format!("{broken:?}"), r#""a\u{fffd}""#);
    }

    #[test]
    fn lossy_keeps_neighbours_of_surrogates() {
        let text = Text::from_wtf8("\u{d7ff}\u{e000}ab".into());
        assert_eq!(text.to_string_lossy(), "\u{d7ff}\u{e000}ab");
        let mut bytes = "\u{d7ff}".as_bytes().to_vec();
        bytes.extend(b"\xed\xa0\x80");
        bytes.extend("\u{e000}é".as_bytes());
        let text = Text::from_wtf8(bytes);
        assert_eq!(text.to_string_lossy(), "\u{d7ff}\u{fffd}\u{e000}é");
    }

    #[test]
    fn text_compares_and_hashes_as_str() {
        let text = Text::from("aé");
        assert_eq!(text, "aé");
        assert_eq!("aé", text);
        assert_ne!(half(), "a");
        assert_ne!(half(), *half().to_string_lossy());
        let state = std::hash::RandomState::new();
        assert_eq!(state.hash_one(&text), state.hash_one("aé"));
        assert_eq!(state.hash_one(half()), state.hash_one(half()));
        // In the order of code points, surrogates stand before U+E000.
        let texts = [Text::from("a\u{d7ff}"), half(), Text::from("a\u{e000}")];
        assert!(texts.is_sorted());
        assert!(Text::new().is_empty() && Text::default().as_str() == Some(""));
    }

    #[test]
    fn objects_keep_their_order() {
        let mut object: Object = [("b", 1), ("a", 2), ("b", 3)].into_iter().collect();
        object.insert(half(), true);
        let shown = |object: &Object| json::write(&object.clone().into());
        let expected = r#"{"b":3,"a":2,"a\ud800\udfffb\ud83d":true}"#;
        assert_eq!(shown(&object), expected);
        assert_eq!(object.get_text(&half()), Some(&Value::from(true)));
        assert_eq!(object.get("a"), Some(&Value::from(2)));
        assert_eq!(object.get("c"), None);
        assert_eq!(object.remove("b"), Some(Value::from(3)));
        assert_eq!(object.remove("b"), None);
        assert!(object.contains_key("a") && !object.contains_key("b"));
        object.retain(|key, _| key.as_str().is_some());
        object.extend([("c", Value::Null)]);
        for (_, value) in &mut object {
            *value = vec![value.clone()].into();
        }
        if let Some(value) = object.get_mut("a") {
            *value = "x".into();
        }
        assert_eq!(shown(&object), r#"{"a":"x","c":[null]}"#);
        assert_eq!(object.iter().rev().len(), 2);
        let reversed: Object = object.clone().into_iter().rev().collect();
        assert_eq!(reversed, object);
        assert_eq!(reversed.values().count(), 2);
        assert_eq!(format!("{object:?}").chars().next(), Some('{'));
    }

    #[test]
    fn clones_share_their_members_until_one_is_changed() {
        let original: Object = [("a", Value::from(1)), ("b", Object::new().into())]
            .into_iter()
            .collect();
        let share = |a: &Object, b: &Object| Arc::ptr_eq(&a.0, &b.0);
        type Change = fn(&mut Object);
        let changes: [(Change, &str); 7] = [
            (|o| drop(o.insert("c", 2)), r#"{"a":1,"b":{},"c":2}"#),
            (|o| drop(o.remove("a")), r#"{"b":{}}"#),
            (|o| o.retain(|key, _| *key == "a"), r#"{"a":1}"#),
            (|o| o.extend([("a", 2)]), r#"{"a":2,"b":{}}"#),
            (|o| *o.get_mut("a").unwrap() = 3.into(), r#"{"a":3,"b":{}}"#),
            (
                |o| o.iter_mut().for_each(|(_, value)| *value = Value::Null),
                r#"{"a":null,"b":null}"#,
            ),
            (
                |o| *o = o.clone().into_iter().rev().collect(),
                r#"{"b":{},"a":1}"#,
            ),
        ];
        for (change, expected) in changes {
            let mut clone = original.clone();
            assert!(share(&original, &clone));
            change(&mut clone);
            assert_eq!(json::write(&clone.into()), expected);
            assert_eq!(json::write(&original.clone().into()), r#"{"a":1,"b":{}}"#);
        }
    }

    #[test]
    fn pointers_follow_the_rfc() {
        let text = r#"{"foo":["bar","baz"],"":0,"a/b":1,"m~n":8,"~1":9,"x":{"0":{"00":7}}}"#;
        let value = json::read(text).expect("is JSON");
        let cases: [(&str, Option<Value>); 15] = [
            ("", Some(value.clone())),
            ("/foo/0", Some("bar".into())),
            ("/foo/1", Some("baz".into())),
            ("/foo/2", None),
            ("/foo/01", None),
            ("/foo/+1", None),
            ("/foo/-", None),
            ("/foo/", None),
            ("/", Some(0.into())),
            ("/a~1b", Some(1.into())),
            ("/m~0n", Some(8.into())),
            ("/~01", Some(9.into())),
            ("/x/0/00", Some(7.into())),
            ("/x/0/00/1", None),
            ("foo", None),
        ];
        for (pointer, expected) in cases {
            assert_eq!(value.pointer(pointer), expected.as_ref(), "{pointer}");
        }
    }

    #[test]
    fn values_from_rust() {
        for (value, shown, name) in [
            (Value::default(), "null", "null"),
            (true.into(), "true", "a boolean"),
            (i64::MIN.into(), "-9223372036854775808", "a number"),
            (u64::MAX.into(), "18446744073709551615", "a number"),
            (7_usize.into(), "7", "a number"),
            (1e16.into(), "1e+16", "a number"),
            (String::from("x").into(), "\"x\"", "a string"),
            (Vec::new().into(), "[]", "an array"),
            (Object::new().into(), "{}", "an object"),
        ] {
            assert_eq!(value.to_string(), shown);
            assert_eq!(value.type_name(), name);
        }
        assert_eq!(Number::from(u64::MAX).as_f64(), 18446744073709551616.0);
        assert_eq!(Number::from(3).as_i64(), Some(3));
        assert_ne!(Value::from(1), Value::from(1.0));
        assert_eq!(Number::Float(f64::INFINITY).to_string(), "Infinity");
    }
}
