//! JSON values as Python's `json` module knows them: strings may hold lone
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

mod json_string;
mod number;
pub(crate) mod object;
mod pointer;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::json;

pub use json_string::JsonString;
pub use number::Number;
pub use object::Object;
pub use object::object;
pub use pointer::{pointer_below, pointer_index, pointer_tokens};

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
    String(JsonString),
    /// An array.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

impl Value {
    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether there is nothing in it: whether it is `null`, or an empty string, array or object.
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
        self.as_json_string().and_then(JsonString::as_str)
    }

    /// The string, if this is one.
    pub fn as_json_string(&self) -> Option<&JsonString> {
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

    /// The members, if this is an object; otherwise there are none.
    ///
    /// ```
    /// use unjinja::{Object, Value};
    ///
    /// let rest: Value = r#"{"b": 2, "c": 3}"#.parse()?;
    /// let mut object = Object::from_iter([("a", 1)]);
    /// object.extend(rest.into_object());
    /// assert_eq!(Value::from(object).to_string(), r#"{"a":1,"b":2,"c":3}"#);
    /// # Ok::<(), unjinja::json::Error>(())
    /// ```
    pub fn into_object(self) -> Object {
        match self {
            Self::Object(object) => object,
            _ => Object::new(),
        }
    }

    /// What this is, in the words of error messages: `a string`, `null`.
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

    /// Whether both have the same content, whatever the order of their keys:
    /// whether they would be written alike, but for that. As with
    /// [`f64::total_cmp`], NaN equals itself, and `0.0` is not `-0.0`.
    ///
    /// ```
    /// use unjinja::json;
    ///
    /// let value = json::read(r#"{"a": NaN, "b": [1]}"#)?;
    /// assert!(value.total_eq(&json::read(r#"{"b": [1], "a": NaN}"#)?));
    /// assert!(!value.total_eq(&json::read(r#"{"a": NaN, "b": [1.0]}"#)?));
    /// # Ok::<(), json::Error>(())
    /// ```
    pub fn total_eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Self::Object(a), Self::Object(b)) => a.total_eq(b),
            (Self::Array(a), Self::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.total_eq(b))
            }
            (Self::Number(a), Self::Number(b)) => a.total_eq(b),
            (a, b) => a == b,
        }
    }

    /// Whether both are the same without a look into their objects: one is a clone of the other, and so are its items.
    #[cfg(feature = "internals")]
    #[doc(hidden)]
    pub fn shares_all_with(&self, other: &Value) -> bool {
        match (self, other) {
            (Self::Object(a), Self::Object(b)) => a.shares_members_with(b),
            (Self::Array(a), Self::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.shares_all_with(b))
            }
            (a, b) => a.total_eq(b),
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

/// As compact JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&json::write(self))
    }
}

/// Reads JSON, as [`json::read`] does.
///
/// ```
/// use unjinja::Value;
///
/// let value: Value = r#"{"a": [1]}"#.parse()?;
/// assert_eq!(value.pointer("/a/0"), Some(&1.into()));
/// # Ok::<(), unjinja::json::Error>(())
/// ```
impl FromStr for Value {
    type Err = json::Error;

    fn from_str(text: &str) -> Result<Value, json::Error> {
        json::read(text)
    }
}

impl AsRef<Value> for Value {
    fn as_ref(&self) -> &Value {
        self
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

/// Makes an array.
///
/// ```
/// use unjinja::Value;
///
/// let squares: Value = (1..4).map(|n| n * n).collect();
/// assert_eq!(squares.to_string(), "[1,4,9]");
/// ```
impl<V: Into<Value>> FromIterator<V> for Value {
    fn from_iter<I: IntoIterator<Item = V>>(items: I) -> Self {
        Self::Array(items.into_iter().map(V::into).collect())
    }
}

/// Nothing is `null`.
impl<V: Into<Value>> From<Option<V>> for Value {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::Null, V::into)
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
value_from!(String: JsonString, String, &str, &String, Cow<'_, str>);
