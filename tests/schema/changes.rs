//! What comes of a value when one place in it is changed.

use unjinja::{Object, Value};

/// All that comes of a value when one place in it is changed: a value replaced, a key taken out
/// or put in. Any of the keys may turn up anywhere.
pub(crate) fn changed(value: &Value, keys: &[&str], replacements: &[Value]) -> Vec<Value> {
    let mut all = replacements.to_vec();
    if let Some(object) = value.as_object() {
        all.extend(changed_objects(object, keys, replacements));
    } else if let Some(array) = value.as_array() {
        for (index, item) in array.iter().enumerate() {
            let items = changed(item, keys, replacements).into_iter();
            all.extend(items.map(|item| {
                let mut array = array.to_vec();
                array[index] = item;
                array.into()
            }));
        }
    }
    all
}

fn changed_objects(object: &Object, keys: &[&str], replacements: &[Value]) -> Vec<Value> {
    let with = |key: &str, value: Value| -> Value {
        let mut object = object.clone();
        object.insert(key, value);
        object.into()
    };
    let mut all = Vec::new();
    for (key, value) in object.iter() {
        let key = key.to_string_lossy();
        let mut without = object.clone();
        without.remove(&key);
        all.push(without.into());
        let values = changed(value, keys, replacements).into_iter();
        all.extend(values.map(|value| with(&key, value)));
    }
    for key in keys.iter().filter(|key| !object.contains_key(key)) {
        all.extend(replacements.iter().map(|value| with(key, value.clone())));
    }
    all
}
