//! What comes before what, as Python has it: unlike kinds of values have no order.

use std::cmp::Ordering;

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

use super::budget;
use super::kinds::{check_key, float, type_name};

/// How deeply lists are compared that contain others.
const MAX_DEPTH: usize = 100;

/// `left < right` and its kin.
pub(super) fn compare(left: &Value, right: &Value) -> Result<Ordering, Error> {
    compare_at(left, right, 0)
}

/// `left == right`
pub(super) fn equal(left: &Value, right: &Value) -> Result<bool, Error> {
    equal_at(left, right, 0)
}

fn equal_at(left: &Value, right: &Value, depth: usize) -> Result<bool, Error> {
    budget::look(1)?;
    if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
        budget::read(a.len().min(b.len()))?;
        return Ok(a == b);
    }
    let is_list = |value: &Value| matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable);
    let are_lists = is_list(left) && is_list(right);
    let are_maps = left.kind() == ValueKind::Map && right.kind() == ValueKind::Map;
    if !are_lists && !are_maps {
        return Ok(left == right);
    }
    if depth > MAX_DEPTH {
        let detail = "the values nest too deeply to be compared";
        return Err(Error::new(ErrorKind::InvalidOperation, detail));
    }
    if left.len() != right.len() || left.is_tuple() != right.is_tuple() {
        return Ok(false);
    }
    for (a, b) in left.try_iter()?.zip(right.try_iter()?) {
        let same = match are_lists {
            true => equal_at(&a, &b, depth + 1)?,
            // Mappings are equal whatever the order of their keys.
            false => {
                // The key is hashed twice.
                budget::look(2)?;
                check_key(&a)?;
                equal_at(&left.get_item(&a)?, &right.get_item(&a)?, depth + 1)?
            }
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

fn compare_at(left: &Value, right: &Value, depth: usize) -> Result<Ordering, Error> {
    budget::look(1)?;
    if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
        budget::read(a.len().min(b.len()))?;
        return Ok(a.cmp(b));
    }
    if is_number(left) && is_number(right) {
        return Ok(compare_numbers(left, right));
    }
    let are_lists = left.kind() == ValueKind::Seq && right.kind() == ValueKind::Seq;
    if are_lists && left.is_tuple() == right.is_tuple() && depth < MAX_DEPTH {
        for (a, b) in left.try_iter()?.zip(right.try_iter()?) {
            if !equal_at(&a, &b, depth + 1)? {
                return compare_at(&a, &b, depth + 1);
            }
        }
        return Ok(left.len().cmp(&right.len()));
    }
    Err(unordered(left, right))
}

fn unordered(left: &Value, right: &Value) -> Error {
    let kind = match left.is_undefined() || right.is_undefined() {
        true => ErrorKind::UndefinedError,
        false => ErrorKind::InvalidOperation,
    };
    let (left, right) = (type_name(left), type_name(right));
    Error::new(kind, format!("{left} and {right} can't be ordered"))
}

fn is_number(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Number | ValueKind::Bool)
}

fn compare_numbers(left: &Value, right: &Value) -> Ordering {
    let int = |value: &Value| {
        let is_int = value.is_integer() || value.kind() == ValueKind::Bool;
        is_int.then(|| i128::try_from(value.clone()).ok()).flatten()
    };
    if let (Some(a), Some(b)) = (int(left), int(right)) {
        return a.cmp(&b);
    }
    let float = |value: &Value| float(value).unwrap_or(f64::NAN);
    let (a, b) = (float(left), float(right));
    a.partial_cmp(&b).unwrap_or_else(|| a.total_cmp(&b))
}

/// Whether two numbers are such that no comparison of them holds.
pub(super) fn is_nan(value: &Value) -> bool {
    value.kind() == ValueKind::Number && f64::try_from(value.clone()).is_ok_and(f64::is_nan)
}

/// The items in the order of their keys; those with equal keys stay as they are.
pub(super) fn sorted(
    mut keyed: Vec<(Value, Value)>,
    reverse: bool,
) -> Result<Vec<(Value, Value)>, Error> {
    if reverse {
        keyed.reverse();
    }
    budget::spend_items(keyed.len().saturating_mul(2))?;
    let mut sorted = merge_sorted(keyed)?;
    if reverse {
        sorted.reverse();
    }
    Ok(sorted)
}

/// Sorts by halves: the standard library's ways don't allow comparisons to fail.
fn merge_sorted(mut items: Vec<(Value, Value)>) -> Result<Vec<(Value, Value)>, Error> {
    if items.len() < 2 {
        return Ok(items);
    }
    let right = merge_sorted(items.split_off(items.len() / 2))?;
    let mut left = merge_sorted(items)?.into_iter().peekable();
    let mut right = right.into_iter().peekable();
    let mut merged = Vec::new();
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = match compare(&b.0, &a.0)? {
            Ordering::Less => right.next(),
            _ => left.next(),
        };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    Ok(merged)
}
