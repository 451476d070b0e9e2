//! The functions that templates have in Python without being given them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use minijinja::value::{Kwargs, Object, ObjectRepr, Rest, from_args};
use minijinja::{Environment, Error, ErrorKind, State, Value};

use super::error::invalid;
use super::kinds::check_key;
use super::namespaces::Namespace;
use super::{budget, dicts, items, printing};

pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_global("dict", Value::from_object(Dict { _size: 0 }));
    environment.add_function("namespace", namespace);
    environment.add_function("raise_exception", raise);
    environment.add_function("range", range);
    environment.add_function("cycler", cycler);
    environment.add_function("joiner", joiner);
}

/// The function `dict`, which has the method `fromkeys`. It has a size, since checkers of leaks find no pointer to what has none.
#[derive(Debug)]
struct Dict {
    _size: u8,
}

impl Object for Dict {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, _state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        let (positional, named) = from_args::<(Rest<Value>, Kwargs)>(args)?;
        let pairs = given_pairs(&positional, &named)?;
        budget::spend_items(pairs.len().saturating_mul(2))?;
        Ok(Value::from_pairs(pairs))
    }

    fn call_method(
        self: &Arc<Self>,
        _state: &mut State<'_, '_>,
        method: &str,
        args: &[Value],
    ) -> Result<Value, Error> {
        match method {
            "fromkeys" => dicts::from_keys(args),
            _ => Err(Error::from(ErrorKind::UnknownMethod)),
        }
    }
}

/// What a mapping, or a list of pairs, holds.
fn pairs_of(value: &Value) -> Result<Vec<(Value, Value)>, Error> {
    if let Some(map) = value
        .as_object()
        .filter(|map| map.repr() == ObjectRepr::Map)
    {
        budget::spend_items(value.len().unwrap_or(0).saturating_mul(2))?;
        let pairs = map.try_iter_pairs().into_iter().flatten();
        return pairs
            .map(|(key, item)| check_key(&key).map(|()| (key, item)))
            .collect();
    }
    if value.is_none() {
        return Err(invalid("none is not a mapping"));
    }
    let pair = |item: Value| {
        let both = items::collected(&item)?;
        match <[Value; 2]>::try_from(both) {
            Ok([key, value]) => check_key(&key).map(|()| (key, value)),
            Err(_) => Err(invalid("a mapping is made of pairs")),
        }
    };
    items::collected(value)?.into_iter().map(pair).collect()
}

/// What `dict` and `namespace` are given: at most one mapping or list of pairs, and names.
fn given_pairs(positional: &[Value], named: &Kwargs) -> Result<Vec<(Value, Value)>, Error> {
    if positional.len() > 1 {
        return Err(Error::from(ErrorKind::TooManyArguments));
    }
    let mut pairs = match positional.first() {
        Some(given) => pairs_of(given)?,
        None => Vec::new(),
    };
    for name in named.args() {
        pairs.push((Value::from(name), named.get::<Value>(name)?));
    }
    Ok(pairs)
}

fn namespace(positional: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let pairs = given_pairs(&positional, &named)?;
    Namespace::of(pairs)
}

fn raise(message: &Value) -> Result<Value, Error> {
    let message = printing::str(message)?;
    Err(invalid(format!("{}{message}", super::error::RAISED)))
}

/// The sandbox of the reference allows ranges of so many numbers.
const MAX_RANGE: i128 = 100_000;

fn range(start: i64, stop: Option<i64>, step: Option<i64>) -> Result<Value, Error> {
    let (start, stop) = match stop {
        Some(stop) => (start, stop),
        None => (0, start),
    };
    let [start, stop, step] = [start, stop, step.unwrap_or(1)].map(i128::from);
    if step == 0 {
        return Err(invalid("range takes no step of 0"));
    }
    let distance: i128 = if step > 0 { stop - start } else { start - stop };
    let count = (distance.max(0) as u128).div_ceil(step.unsigned_abs()) as i128;
    if count > MAX_RANGE {
        return Err(invalid(format!("a range has at most {MAX_RANGE} numbers")));
    }
    budget::spend_items(count as usize)?;
    let numbers = (0..count).map(|index| Value::from((start + index * step) as i64));
    Ok(numbers.collect())
}

/// Gives one value after the other, over and over.
struct Cycler {
    values: Vec<Value>,
    place: AtomicUsize,
}

fn cycler(values: Rest<Value>) -> Result<Value, Error> {
    if values.is_empty() {
        return Err(invalid("a cycler needs values"));
    }
    budget::spend_items(values.len())?;
    Ok(Value::from_object(Cycler {
        values: values.0,
        place: AtomicUsize::new(0),
    }))
}

impl Cycler {
    fn current(&self) -> Value {
        let place = self.place.load(Ordering::Relaxed);
        self.values[place % self.values.len()].clone()
    }
}

/// What it is printed as; what it holds may be large.
impl std::fmt::Debug for Cycler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cycler").finish_non_exhaustive()
    }
}

impl Object for Cycler {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        (key.as_str() == Some("current")).then(|| self.current())
    }

    fn call_method(
        self: &Arc<Self>,
        _state: &mut State<'_, '_>,
        method: &str,
        args: &[Value],
    ) -> Result<Value, Error> {
        let () = from_args(args)?;
        match method {
            "next" => {
                let value = self.current();
                self.place.fetch_add(1, Ordering::Relaxed);
                Ok(value)
            }
            "reset" => {
                self.place.store(0, Ordering::Relaxed);
                Ok(Value::from(()))
            }
            _ => Err(Error::from(ErrorKind::UnknownMethod)),
        }
    }
}

/// Gives nothing at first, and the separator from then on.
struct Joiner {
    separator: Value,
    used: AtomicBool,
}

fn joiner(separator: Option<Value>) -> Value {
    Value::from_object(Joiner {
        separator: separator.unwrap_or_else(|| Value::from(", ")),
        used: AtomicBool::new(false),
    })
}

/// What it is printed as; what it holds may be large.
impl std::fmt::Debug for Joiner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Joiner").finish_non_exhaustive()
    }
}

impl Object for Joiner {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn call(self: &Arc<Self>, _state: &mut State<'_, '_>, args: &[Value]) -> Result<Value, Error> {
        let () = from_args(args)?;
        Ok(match self.used.swap(true, Ordering::Relaxed) {
            true => self.separator.clone(),
            false => Value::from(""),
        })
    }
}
