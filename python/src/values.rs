//! Values from Python, and back to it.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyNone, PyString, PyTuple,
};

use unjinja::{JsonString, Number, Object, Value, json};

/// A value as Python has it.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => PyNone::get(py).to_owned().into_any(),
        Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::Number(Number::Int(int)) => int.into_pyobject(py)?.into_any(),
        Value::Number(Number::BigInt(digits)) => py.get_type::<PyInt>().call1((digits,))?,
        Value::Number(Number::Float(float)) => PyFloat::new(py, *float).into_any(),
        Value::String(text) => text_to_python(py, text)?.into_any(),
        Value::Array(values) => list_to_python(py, values)?.into_any(),
        Value::Object(object) => object_to_python(py, object)?.into_any(),
    })
}

/// Values as a list.
pub(crate) fn list_to_python<'py>(
    py: Python<'py>,
    values: &[Value],
) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for value in values {
        list.append(to_python(py, value)?)?;
    }
    Ok(list)
}

/// An object as a dict.
pub(crate) fn object_to_python<'py>(
    py: Python<'py>,
    object: &Object,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in object.iter() {
        dict.set_item(key_to_python(py, key)?, to_python(py, value)?)?;
    }
    Ok(dict)
}

/// A key of an object.
pub(crate) fn key_to_python<'py>(
    py: Python<'py>,
    key: &JsonString,
) -> PyResult<Bound<'py, PyString>> {
    match usual_key(py, key) {
        Some(key) => Ok(key.clone()),
        None => text_to_python(py, key),
    }
}

/// The keys that all calls have, which are made once.
fn usual_key<'py>(py: Python<'py>, key: &JsonString) -> Option<&'py Bound<'py, PyString>> {
    Some(match key.as_str()? {
        "type" => pyo3::intern!(py, "type"),
        "function" => pyo3::intern!(py, "function"),
        "name" => pyo3::intern!(py, "name"),
        "arguments" => pyo3::intern!(py, "arguments"),
        _ => return None,
    })
}

fn text_to_python<'py>(py: Python<'py>, text: &JsonString) -> PyResult<Bound<'py, PyString>> {
    if let Some(text) = text.as_str() {
        return Ok(PyString::new(py, text));
    }
    let bytes = PyBytes::new(py, text.as_wtf8());
    let decoded = bytes.call_method1("decode", ("utf-8", "surrogatepass"))?;
    Ok(decoded.cast_into::<PyString>()?)
}

/// Whether a value of Python is this one, with the same keys in the same order. It may be where this says no: no method of it is called
/// to find out.
pub(crate) fn is_same(value: &Value, given: &Bound<'_, PyAny>) -> bool {
    match value {
        Value::Null => given.is_none(),
        Value::Bool(flag) => given.is(PyBool::new(given.py(), *flag)),
        Value::Number(Number::Int(int)) => {
            let given = given.cast_exact::<PyInt>();
            given.is_ok_and(|given| given.extract::<i64>().is_ok_and(|given| given == *int))
        }
        // They are few.
        Value::Number(_) => false,
        Value::String(text) => is_same_text(text, given),
        Value::Array(values) => given.cast::<PyList>().is_ok_and(|list| {
            let mut both = values.iter().zip(list.iter());
            values.len() == list.len() && both.all(|(value, given)| is_same(value, &given))
        }),
        Value::Object(object) => given.cast::<PyDict>().is_ok_and(|dict| {
            // What compares texts may run Python, which may change the dict.
            object.len() == dict.len()
                && dict.items().iter().zip(object.iter()).all(|(item, own)| {
                    let item = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>();
                    item.is_ok_and(|(name, given)| {
                        is_same_text(own.0, &name) && is_same(own.1, &given)
                    })
                })
        }),
    }
}

fn is_same_text(text: &JsonString, given: &Bound<'_, PyAny>) -> bool {
    let given = given.cast::<PyString>();
    given.is_ok_and(|given| given.to_str().is_ok_and(|given| *text == *given))
}

/// A value of Python, which has to be one that JSON can say.
pub(crate) fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    read(value, 0)
}

fn read(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > json::MAX_DEPTH {
        return Err(PyValueError::new_err(
            "too many nested lists and dicts, or one that holds itself",
        ));
    }
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text_from_python(text)?));
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().into());
    }
    if let Ok(int) = value.cast::<PyInt>() {
        return Ok(match int.extract::<i64>() {
            Ok(int) => int.into(),
            // A subclass may print otherwise.
            Err(_) => {
                let digits = value
                    .py()
                    .get_type::<PyInt>()
                    .call_method1("__repr__", (int,))?;
                json::read(&digits.extract::<String>()?).map_err(|error| {
                    PyValueError::new_err(format!("this number is too long: {error}"))
                })?
            }
        });
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        return Ok(Value::Number(Number::Float(float.value())));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return read_items(&dict.items(), depth);
    }
    if let Ok(list) = value.cast::<PyList>() {
        let values = list.iter().map(|value| read(&value, depth + 1));
        return Ok(values.collect::<PyResult<Vec<Value>>>()?.into());
    }
    if let Ok(list) = value.cast::<PyTuple>() {
        let values = list.iter().map(|value| read(&value, depth + 1));
        return Ok(values.collect::<PyResult<Vec<Value>>>()?.into());
    }
    if let Ok(mapping) = value.cast::<PyMapping>() {
        return read_items(&mapping.items()?, depth);
    }
    Err(PyTypeError::new_err(format!(
        "expected None, bool, int, float, str, list or dict, found {}",
        value.get_type().name()?
    )))
}

/// The items of a dict as an object. They are a list of its own: what reads one may run Python, which may change the dict.
fn read_items(items: &Bound<'_, PyList>, depth: usize) -> PyResult<Value> {
    let mut object = Object::new();
    for item in items.iter() {
        let (key, value) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        insert(&mut object, &key, &value, depth)?;
    }
    Ok(object.into())
}

fn insert(
    object: &mut Object,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    depth: usize,
) -> PyResult<()> {
    let Ok(name) = key.cast::<PyString>() else {
        return Err(PyTypeError::new_err(format!(
            "the keys of a dict have to be str, and {} is {}",
            key.repr()?,
            key.get_type().name()?
        )));
    };
    object.insert(text_from_python(name)?, read(value, depth + 1)?);
    Ok(())
}

fn text_from_python(text: &Bound<'_, PyString>) -> PyResult<JsonString> {
    if let Ok(text) = text.to_cow() {
        return Ok(text.into());
    }
    // Halves of pairs can only be written as escapes.
    let escaped = text.py().import("json")?.call_method1("dumps", (text,))?;
    match json::read(&escaped.extract::<String>()?) {
        Ok(Value::String(text)) => Ok(text),
        _ => Err(PyValueError::new_err("this text is not valid")),
    }
}
