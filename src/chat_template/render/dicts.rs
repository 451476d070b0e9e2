//! Python's mappings: the methods that minijinja-contrib lacks or has otherwise.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use minijinja::value::{Object, ObjectRepr, from_args};
use minijinja::{Error, State, Value};

use super::kinds::check_key;
use super::{budget, items, made};

/// The methods that the sandbox of the reference lets templates see.
pub(super) const METHODS: [&str; 5] = ["items", "keys", "values", "get", "copy"];

/// A method that is named and not called.
struct Method {
    map: Value,
    name: String,
}

/// What it is a method of may be large.
impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Method").finish_non_exhaustive()
    }
}

impl Object for Method {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        self.map.call_method(state, &self.name, args)
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<built-in method {} of dict object>", self.name)
    }
}

/// What `map.items` is where nobody calls it: the method, even if there is a key of that name.
pub(super) fn method_or_attribute(value: &Value, name: &str) -> Result<Value, Error> {
    match is_mapping(value) {
        true => Ok(method(value, name)),
        false => value.get_attr(name),
    }
}

/// What `map['items']` is: the item, or the method if there is none.
pub(super) fn item_or_method(value: &Value, key: &str) -> Result<Value, Error> {
    let item = value.get_item(&Value::from(key))?;
    match item.is_undefined() && is_mapping(value) {
        true => Ok(method(value, key)),
        false => Ok(item),
    }
}

/// Namespaces, loops and the like have no such methods.
fn is_mapping(value: &Value) -> bool {
    value
        .downcast_object_ref::<IndexMap<Value, Value>>()
        .is_some()
}

fn method(map: &Value, name: &str) -> Value {
    Value::from_object(Method {
        map: map.clone(),
        name: name.to_owned(),
    })
}

/// Calls a method of a mapping; `None` where minijinja-contrib has it as Python does.
pub(super) fn call_method(
    map: &Value,
    method: &str,
    args: &[Value],
) -> Result<Option<Value>, Error> {
    match method {
        // This one is only to see to it that the key may be one.
        "get" => {
            args.first().map_or(Ok(()), check_key)?;
            Ok(None)
        }
        "copy" => {
            let () = from_args(args)?;
            budget::spend_items(map.len().unwrap_or(0).saturating_mul(2))?;
            // A mapping never changes, so it is as good as its copy.
            Ok(Some(map.clone()))
        }
        "fromkeys" => from_keys(args).map(Some),
        _ => Ok(None),
    }
}

/// `dict.fromkeys`
pub(super) fn from_keys(args: &[Value]) -> Result<Value, Error> {
    let (keys, value) = from_args::<(Value, Option<Value>)>(args)?;
    let value = value.unwrap_or_else(|| Value::from(()));
    let pair = |key: Value| check_key(&key).map(|()| (key, value.clone()));
    let pairs = items::collected(&keys)?.into_iter().map(pair);
    let pairs = pairs.collect::<Result<Vec<_>, Error>>()?;
    budget::spend_items(pairs.len().saturating_mul(2))?;
    Ok(Value::from_pairs(pairs))
}

/// The mapping that a template has written down: keys and values in turn.
pub(super) fn of_list(list: &Value) -> Result<Value, Error> {
    let parts = items::collected(list)?;
    let mut pairs = Vec::new();
    let mut parts = parts.into_iter();
    while let (Some(key), Some(item)) = (parts.next(), parts.next()) {
        check_key(&key)?;
        pairs.push((key, item));
    }
    made::noted(Value::from_pairs(pairs))
}
