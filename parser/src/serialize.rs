//! Values, templates, tools and events in the formats that serde knows.

use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{self, Serialize, Serializer};

use crate::diagnostic::Diagnostic;
use crate::json::MAX_DEPTH;
use crate::position::Position;
use crate::response::{Event, OwnedEvent, ResponseTemplate, Tools};
use crate::value::{JsonString, Number, Object, Value};

/// Serializes what has a JSON form as that form.
macro_rules! serialize_as_value {
    ($($type:ty),* $(,)?) => {$(
        /// What `to_value` gives.
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.to_value().serialize(serializer)
            }
        }
    )*};
}

serialize_as_value!(Diagnostic, Event<'_>, OwnedEvent, Position);

/// A lone surrogate becomes U+FFFD, since the strings of serde can't hold it, and an integer of
/// more than 128 bits is an error. [`json::write`](crate::json::write) keeps both. What becomes of
/// NaN and infinities depends on the format; `serde_json` makes `null` of them.
///
/// ```
/// use unjinja::json;
///
/// let value = json::read(r#"{"city": "Paris", "half": "\ud800", "days": 3}"#)?;
/// assert_eq!(
///     serde_json::to_string(&value)?,
///     "{\"city\":\"Paris\",\"half\":\"\u{fffd}\",\"days\":3}",
/// );
/// assert_eq!(json::write(&value), r#"{"city":"Paris","half":"\ud800","days":3}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(bool) => serializer.serialize_bool(*bool),
            Value::Number(number) => number.serialize(serializer),
            Value::String(text) => text.serialize(serializer),
            Value::Array(items) => serializer.collect_seq(items),
            Value::Object(object) => object.serialize(serializer),
        }
    }
}

/// The members in their order.
impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

/// An integer of more than 128 bits is an error; [`json::write`](crate::json::write) takes them of
/// any size.
impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digits = match self {
            Number::Int(int) => return serializer.serialize_i64(*int),
            Number::Float(float) => return serializer.serialize_f64(*float),
            Number::BigInt(digits) => digits,
        };
        // The smallest type that holds it, since not every format knows the larger ones.
        if let Ok(int) = digits.parse() {
            serializer.serialize_u64(int)
        } else if let Ok(int) = digits.parse() {
            serializer.serialize_i128(int)
        } else if let Ok(int) = digits.parse() {
            serializer.serialize_u128(int)
        } else {
            let count = digits.trim_start_matches('-').len();
            Err(ser::Error::custom(format!(
                "an integer of {count} digits has more than 128 bits, which serde can't hold: \
                 write it with `unjinja::json::write`"
            )))
        }
    }
}

/// Each lone surrogate becomes U+FFFD, since the strings of serde can't hold it;
/// [`json::write`](crate::json::write) keeps it.
impl Serialize for JsonString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string_lossy())
    }
}

/// The template as it was read.
impl Serialize for ResponseTemplate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_value().serialize(serializer)
    }
}

/// The list that they were read from.
impl Serialize for Tools {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_value().serialize(serializer)
    }
}

/// From any format that says itself what it holds, with keys in their order and of equal ones the
/// last. As by [`json::read`](crate::json::read), arrays and objects are refused that are nested
/// deeper than [`MAX_DEPTH`]; the format may have a limit that is lower.
///
/// ```
/// use unjinja::Value;
///
/// let value: Value = serde_json::from_str(r#"{"b": [1, 2.5], "a": null}"#)?;
/// assert_eq!(value.to_string(), r#"{"b":[1,2.5],"a":null}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        ValueVisitor { levels: MAX_DEPTH }.deserialize(deserializer)
    }
}

/// As a [`Value`], which has to be an object.
impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Object(object) => Ok(object),
            other => Err(unexpected("an object", &other)),
        }
    }
}

/// As a [`Value`], which has to be a number.
impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Number(number) => Ok(number),
            other => Err(unexpected("a number", &other)),
        }
    }
}

impl<'de> Deserialize<'de> for JsonString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonString, D::Error> {
        String::deserialize(deserializer).map(JsonString::from)
    }
}

/// A template that is refused is an error, whose text has all that is wrong with it.
///
/// ```
/// use unjinja::ResponseTemplate;
///
/// let text = r#"{"start_anchor": "A:", "fields": {"content": {"clsoe": "<end>"}}}"#;
/// let error = serde_json::from_str::<ResponseTemplate>(text).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "/fields/content/clsoe: unknown key `clsoe`: did you mean `close`?",
/// );
/// ```
impl<'de> Deserialize<'de> for ResponseTemplate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ResponseTemplate, D::Error> {
        let value = Value::deserialize(deserializer)?;
        ResponseTemplate::from_value(&value).map_err(de::Error::custom)
    }
}

/// From a list of tools.
impl<'de> Deserialize<'de> for Tools {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tools, D::Error> {
        match Value::deserialize(deserializer)? {
            list @ Value::Array(_) => Ok(Tools::from_value(&list)),
            other => Err(unexpected("a list of tools", &other)),
        }
    }
}

/// From the object that [`Event::to_value`] makes.
impl<'de> Deserialize<'de> for OwnedEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OwnedEvent, D::Error> {
        let value = Value::deserialize(deserializer)?;
        OwnedEvent::try_from(&value).map_err(de::Error::custom)
    }
}

fn unexpected<E: de::Error>(expected: &str, found: &Value) -> E {
    let found = found.type_name();
    E::custom(format_args!("expected {expected}, found {found}"))
}

/// Makes a value of what stands in a document.
#[derive(Clone, Copy)]
struct ValueVisitor {
    /// How many levels of arrays and objects may be there.
    levels: usize,
}

impl ValueVisitor {
    /// What reads the items of an array or an object.
    fn below<E: de::Error>(self) -> Result<ValueVisitor, E> {
        match self.levels.checked_sub(1) {
            Some(levels) => Ok(ValueVisitor { levels }),
            None => Err(E::custom(crate::json::ErrorKind::TooDeep)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for ValueVisitor {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Value, E> {
        Ok(bool.into())
    }

    fn visit_i64<E>(self, int: i64) -> Result<Value, E> {
        Ok(int.into())
    }

    fn visit_u64<E>(self, int: u64) -> Result<Value, E> {
        Ok(Number::from(int).into())
    }

    fn visit_i128<E>(self, int: i128) -> Result<Value, E> {
        let small = i64::try_from(int).map(Number::Int);
        Ok(small
            .unwrap_or_else(|_| Number::BigInt(int.to_string()))
            .into())
    }

    fn visit_u128<E>(self, int: u128) -> Result<Value, E> {
        let small = i64::try_from(int).map(Number::Int);
        Ok(small
            .unwrap_or_else(|_| Number::BigInt(int.to_string()))
            .into())
    }

    fn visit_f64<E>(self, float: f64) -> Result<Value, E> {
        Ok(float.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        // How many there are is not asked for: that may be anything in a hostile document.
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(below)? {
            array.push(item);
        }
        Ok(array.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut object = Object::new();
        while let Some(key) = members.next_key::<JsonString>()? {
            object.insert(key, members.next_value_seed(below)?);
        }
        Ok(object.into())
    }
}
