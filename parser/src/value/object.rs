//! Objects, which keep the order of their members.
//!
//! Keys are found by *foldhash*, in half the time of the standard hasher. It is seeded at random in each process, so that nobody who
//! can't watch it can choose keys that collide.

use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use super::{JsonString, Value};

/// An object of these keys and values, in their order. A key is a literal, a name, or an expression in parentheses; a
/// value is whatever becomes a [`Value`].
#[doc(hidden)]
#[macro_export]
macro_rules! object {
    {$($key:tt: $value:expr),+ $(,)?} => {
        $crate::value::Object::from_iter([$(($key, $crate::value::Value::from($value))),+])
    };
}

#[doc(hidden)]
pub use crate::object;

type Members = IndexMap<JsonString, Value, RandomState>;

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
    pub(super) Arc<Members>,
);

impl Object {
    /// An empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// The map, to be changed: from here on it is this object's own.
    fn map_mut(&mut self) -> &mut Members {
        Arc::make_mut(&mut self.0)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// The value of a key that may hold lone surrogates, which no `&str` can.
    pub fn get_json_string(&self, key: &JsonString) -> Option<&Value> {
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
    pub fn insert(&mut self, key: impl Into<JsonString>, value: impl Into<Value>) -> Option<Value> {
        self.map_mut().insert(key.into(), value.into())
    }

    /// Takes a key out. The others keep their order, which takes time in
    /// proportion to their number.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.map_mut().shift_remove(key)
    }

    /// Keeps only the members for which `keep` is true.
    pub fn retain(&mut self, keep: impl FnMut(&JsonString, &mut Value) -> bool) {
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
    pub fn keys(&self) -> Keys<'_> {
        Keys(self.0.keys())
    }

    /// The values in order.
    pub fn values(&self) -> Values<'_> {
        Values(self.0.values())
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one is a clone of the other, and neither has been changed since.
    pub(super) fn shares_members_with(&self, other: &Object) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether both have the same content, as [`Value::total_eq`] has it.
    pub fn total_eq(&self, other: &Object) -> bool {
        if self.shares_members_with(other) {
            return true;
        }
        if self.len() != other.len() {
            return false;
        }
        self.iter()
            .zip(other)
            .all(|((key, value), (beside, there))| {
                // Most objects have their keys in the same order, and then none need be looked up.
                let there = match key == beside {
                    true => Some(there),
                    false => other.get_json_string(key),
                };
                there.is_some_and(|there| value.total_eq(there))
            })
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Into<JsonString>, V: Into<Value>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let mut object = Self::new();
        object.extend(members);
        object
    }
}

impl<K: Into<JsonString>, V: Into<Value>> Extend<(K, V)> for Object {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, members: I) {
        let members = members.into_iter();
        self.map_mut()
            .extend(members.map(|(key, value)| (key.into(), value.into())));
    }
}

/// Wraps an iterator of the map, so that the map stays our own affair.
macro_rules! map_iterator {
    ($(#[$doc:meta])* $name:ident $(<$life:lifetime>)?, $inner:ty, $item:ty) => {
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

        impl $(<$life>)? std::iter::FusedIterator for $name $(<$life>)? {}
    };
}

map_iterator!(
    /// The members of an [`Object`] in order: what [`Object::iter`] gives.
    #[derive(Clone, Debug)]
    Iter<'a>,
    indexmap::map::Iter<'a, JsonString, Value>,
    (&'a JsonString, &'a Value)
);
map_iterator!(
    /// The members of an [`Object`] in order, the values to be changed: what
    /// [`Object::iter_mut`] gives.
    #[derive(Debug)]
    IterMut<'a>,
    indexmap::map::IterMut<'a, JsonString, Value>,
    (&'a JsonString, &'a mut Value)
);
map_iterator!(
    /// The members of an [`Object`] in order, to keep.
    #[derive(Debug)]
    IntoIter,
    indexmap::map::IntoIter<JsonString, Value>,
    (JsonString, Value)
);
map_iterator!(
    /// The keys of an [`Object`] in order: what [`Object::keys`] gives.
    #[derive(Clone, Debug)]
    Keys<'a>,
    indexmap::map::Keys<'a, JsonString, Value>,
    &'a JsonString
);
map_iterator!(
    /// The values of an [`Object`] in order: what [`Object::values`] gives.
    #[derive(Clone, Debug)]
    Values<'a>,
    indexmap::map::Values<'a, JsonString, Value>,
    &'a Value
);

impl<'a> IntoIterator for &'a Object {
    type Item = (&'a JsonString, &'a Value);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Object {
    type Item = (&'a JsonString, &'a mut Value);
    type IntoIter = IterMut<'a>;

    fn into_iter(self) -> IterMut<'a> {
        self.iter_mut()
    }
}

impl IntoIterator for Object {
    type Item = (JsonString, Value);
    type IntoIter = IntoIter;

    fn into_iter(self) -> IntoIter {
        IntoIter(Arc::unwrap_or_clone(self.0).into_iter())
    }
}
