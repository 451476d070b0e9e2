//! Schemas inside of the whole.

use std::sync::LazyLock;

use crate::diagnostic::Diagnostic;
use crate::value::{Object, Value, pointer_below as below};

/// A schema, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Subschema<'s> {
    pub(super) value: &'s Value,
    pointer: String,
}

pub(super) type Found<T> = Result<T, Diagnostic>;

/// The schema of one that is not there.
static ANYTHING: LazyLock<Value> = LazyLock::new(|| Object::new().into());

impl<'s> Subschema<'s> {
    pub(super) fn whole(value: &'s Value) -> Subschema<'s> {
        Subschema {
            value,
            pointer: String::new(),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.value.get(key).is_some_and(|value| !value.is_null())
    }

    pub(super) fn text(&self, key: &str) -> Option<&'s str> {
        self.value.get(key)?.as_str()
    }

    pub(super) fn list(&self, key: &str) -> &'s [Value] {
        let list = self.value.get(key).and_then(Value::as_array);
        list.unwrap_or_default()
    }

    /// The only value that it gives, if that is so.
    pub(super) fn constant(&self) -> Option<&'s Value> {
        self.value.get("const")
    }

    /// The schema at a key, or the one that takes anything.
    pub(super) fn inner(&self, key: &str) -> Subschema<'s> {
        Subschema {
            value: self.value.get(key).unwrap_or(&ANYTHING),
            pointer: below(&self.pointer, key),
        }
    }

    pub(super) fn properties(&self) -> Vec<(String, Subschema<'s>)> {
        let place = below(&self.pointer, "properties");
        let properties = self.value.get("properties").and_then(Value::as_object);
        let properties = properties.into_iter().flat_map(Object::iter);
        let properties = properties.map(|(key, value)| {
            let key = key.to_string_lossy().into_owned();
            let pointer = below(&place, &key);
            (key, Subschema { value, pointer })
        });
        properties.collect()
    }

    /// Says that this has no counterpart.
    pub(super) fn refused(&self, message: &str) -> Diagnostic {
        Diagnostic::new(message).at(self.pointer.clone())
    }

    /// Says that what stands at a key has none.
    pub(super) fn refused_at(&self, key: &str, message: &str) -> Diagnostic {
        Diagnostic::new(message).at(below(&self.pointer, key))
    }
}
