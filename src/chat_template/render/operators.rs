//! The operators that mean more in Python than in minijinja, or that could make a text explode.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

use super::kinds::{check_key, float, is_a, type_name};
use super::{budget, escape, items, made, ordering, percent, printing};

fn unsupported(operator: &str, left: &Value, right: &Value) -> Error {
    for operand in [left, right] {
        // minijinja's own error knows where the value came from.
        if let (true, Err(error)) = (operand.is_undefined(), operand.get_attr("")) {
            return error;
        }
    }
    Error::new(
        ErrorKind::InvalidOperation,
        format!(
            "`{operator}` can't take {} and {}",
            type_name(left),
            type_name(right)
        ),
    )
}

fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

pub(super) fn add(left: &Value, right: &Value) -> Result<Value, Error> {
    if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
        budget::spend(a.len() + b.len())?;
        if left.is_safe() || right.is_safe() {
            let both = [escape::escaped(left, a), escape::escaped(right, b)];
            return Ok(Value::from_safe_string(both.concat()));
        }
        return Ok(Value::from([a, b].concat()));
    }
    if is_list(left) && is_list(right) && left.is_tuple() == right.is_tuple() {
        let mut items = items::collected(left)?;
        items.extend(items::collected(right)?);
        budget::limit(items.len().saturating_mul(size_of::<Value>()))?;
        return made::noted(match left.is_tuple() {
            true => Value::from(minijinja::value::Tuple::from(items)),
            false => Value::from(items),
        });
    }
    numbers(left, right).map_or_else(
        || Err(unsupported("+", left, right)),
        |operands| match operands {
            Operands::Ints(a, b) => int(a.checked_add(b)),
            Operands::Floats(a, b) => Ok(Value::from(a + b)),
        },
    )
}

pub(super) fn concat(left: &Value, right: &Value) -> Result<Value, Error> {
    let mut text = printing::str(left)?;
    let right = printing::str(right)?;
    budget::limit(text.len() + right.len())?;
    text.push_str(&right);
    Ok(Value::from(text))
}

pub(super) fn multiply(left: &Value, right: &Value) -> Result<Value, Error> {
    let repeated = [(left, right), (right, left)];
    for (what, count) in repeated {
        let count = match count.kind() {
            ValueKind::Bool => Some(i64::from(count.is_true())),
            _ => count.as_i64().filter(|_| count.is_integer()),
        };
        let Some(count) = count else {
            continue;
        };
        let count = count.max(0) as usize;
        if let Some(text) = what.as_str() {
            budget::spend(text.len().saturating_mul(count))?;
            return Ok(escape::as_safe_as(what, Value::from(text.repeat(count))));
        }
        if is_list(what) {
            let items = items::collected(what)?;
            budget::spend_items(items.len().saturating_mul(count))?;
            let all: Vec<Value> = std::iter::repeat_n(items, count).flatten().collect();
            return made::noted(match what.is_tuple() {
                true => Value::from(minijinja::value::Tuple::from(all)),
                false => Value::from(all),
            });
        }
    }
    numbers(left, right).map_or_else(
        || Err(unsupported("*", left, right)),
        |operands| match operands {
            Operands::Ints(a, b) => int(a.checked_mul(b)),
            Operands::Floats(a, b) => Ok(Value::from(a * b)),
        },
    )
}

pub(super) fn remainder(left: &Value, right: &Value) -> Result<Value, Error> {
    if let Some(template) = left.as_str() {
        return percent::format(template, right);
    }
    match numbers(left, right) {
        Some(Operands::Ints(_, 0)) => Err(by_zero()),
        Some(Operands::Ints(a, b)) => {
            // Python's remainder has the sign of the divisor.
            int(a.checked_rem(b).map(|r| {
                if r != 0 && (r < 0) != (b < 0) {
                    r + b
                } else {
                    r
                }
            }))
        }
        Some(Operands::Floats(_, 0.0)) => Err(by_zero()),
        Some(Operands::Floats(a, b)) => {
            let r = a % b;
            let r = if r != 0.0 && (r < 0.0) != (b < 0.0) {
                r + b
            } else {
                r
            };
            Ok(Value::from(r))
        }
        None => Err(unsupported("%", left, right)),
    }
}

fn by_zero() -> Error {
    Error::new(ErrorKind::InvalidOperation, "division by zero")
}

/// What a loop goes through; none is nothing that it could, and a string has a length there.
pub(super) fn iterable(value: &Value) -> Result<Value, Error> {
    if value.is_none() {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "none can't be iterated",
        ));
    }
    unpackable(value)
}

/// A string as the list of its characters; everything else as it is.
pub(super) fn unpackable(value: &Value) -> Result<Value, Error> {
    let Some(text) = value.as_str() else {
        return Ok(value.clone());
    };
    budget::spend_items(text.len())?;
    Ok(text.chars().map(String::from).collect())
}

/// A list that has all its items at hand.
pub(super) fn in_full(list: &Value) -> Result<Value, Error> {
    items::collected(list).map(Value::from)
}

/// The items of several lists, one after the other: what a call is given with `*`.
pub(super) fn spread(lists: &Value) -> Result<Value, Error> {
    let mut all = Vec::new();
    for list in lists.try_iter()? {
        all.extend(items::collected(&list)?);
        budget::limit(all.len().saturating_mul(size_of::<Value>()))?;
    }
    Ok(Value::from(all))
}

/// The mappings that a call is given with `**`, counted, and from the last to the first, as they are
/// taken apart again.
pub(super) fn named(maps: &Value) -> Result<Value, Error> {
    let mut all = items::collected(maps)?;
    for map in &all {
        budget::spend_items(map.len().unwrap_or(0).saturating_mul(2))?;
        let pairs = map.as_object().and_then(|map| map.try_iter());
        pairs
            .into_iter()
            .flatten()
            .try_for_each(|key| check_key(&key))?;
    }
    all.reverse();
    Ok(Value::from(all))
}

/// Two values that minijinja is about to compare, counted, from the last to the first.
pub(super) fn compared(left: &Value, right: &Value) -> Result<Value, Error> {
    items::count_all(left)?;
    items::count_all(right)?;
    Ok(Value::from(vec![right.clone(), left.clone()]))
}

pub(super) fn cyclable(count: usize) -> Result<(), Error> {
    match count {
        ..2 => Err(Error::new(
            ErrorKind::InvalidOperation,
            "there is nothing to cycle through",
        )),
        _ => Ok(()),
    }
}

pub(super) fn negate(value: &Value) -> Result<Value, Error> {
    match numbers(&Value::from(0), value) {
        Some(Operands::Ints(_, n)) => int(n.checked_neg()),
        Some(Operands::Floats(_, n)) => Ok(Value::from(-n)),
        None => Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("{} has no sign: it is no number", type_name(value)),
        )),
    }
}

/// `item in container`
pub(super) fn contained(item: &Value, container: &Value) -> Result<bool, Error> {
    budget::look(1)?;
    if container.is_undefined() {
        return Ok(false);
    }
    if let Some(text) = container.as_str() {
        let wanted = "only strings can be in a string";
        let part = item
            .as_str()
            .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, wanted))?;
        budget::read(text.len() + part.len())?;
        return Ok(text.contains(part));
    }
    match container.kind() {
        ValueKind::Map if !is_a(container, "Namespace") => {
            check_key(item)?;
            let found = container.as_object().and_then(|map| map.get_value(item));
            Ok(found.is_some())
        }
        ValueKind::Seq | ValueKind::Iterable => {
            for one in container.try_iter()? {
                if ordering::equal(&one, item)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        _ => Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("`in` can't search {}", type_name(container)),
        )),
    }
}

enum Operands {
    Ints(i128, i128),
    Floats(f64, f64),
}

/// Two numbers, where a truth value counts as one.
fn numbers(left: &Value, right: &Value) -> Option<Operands> {
    let is_number = |value: &Value| value.is_number() || value.kind() == ValueKind::Bool;
    if !is_number(left) || !is_number(right) {
        return None;
    }
    let int = |value: &Value| {
        let is_int = value.is_integer() || value.kind() == ValueKind::Bool;
        is_int.then(|| i128::try_from(value.clone()).ok()).flatten()
    };
    if let (Some(a), Some(b)) = (int(left), int(right)) {
        return Some(Operands::Ints(a, b));
    }
    Some(Operands::Floats(float(left)?, float(right)?))
}

fn int(result: Option<i128>) -> Result<Value, Error> {
    let too_large = || Error::new(ErrorKind::InvalidOperation, "the number is too large");
    let result = result.ok_or_else(too_large)?;
    Ok(match i64::try_from(result) {
        Ok(small) => Value::from(small),
        Err(_) => Value::from(result),
    })
}
