//! Comparing values as Python does.

use std::cmp::Ordering;

use jmespath::ast::Comparator;

use crate::number;
use crate::value::{Number, Value};

/// Whether JMESPath takes a value for false.
pub(super) fn is_false(value: &Value) -> bool {
    value.is_empty() || *value == Value::Bool(false)
}

/// What `==` says in an expression: other than in Python, `1` is not `true`.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Bool(_), Value::Number(_)) | (Value::Number(_), Value::Bool(_)) => false,
        (a, b) => equal_in_python(a, b),
    }
}

/// What Python's own `==` says: `1` is `1.0`, and `true`.
pub(super) fn equal_in_python(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => number_ordering(a, b) == Some(Ordering::Equal),
        (Value::Bool(bool), Value::Number(number)) | (Value::Number(number), Value::Bool(bool)) => {
            number.as_f64() == f64::from(u8::from(*bool))
        }
        (Value::Array(a), Value::Array(b)) => {
            let pairs = || a.iter().zip(b);
            a.len() == b.len() && pairs().all(|(a, b)| equal_in_python(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |key, value: &Value| {
                b.get_json_string(key)
                    .is_some_and(|other| equal_in_python(value, other))
            };
            a.len() == b.len() && a.iter().all(|(key, value)| same(key, value))
        }
        (a, b) => a == b,
    }
}

/// How two numbers or two strings are ordered; `None` for what is no number. The error says that they
/// can't be ordered.
pub(super) fn ordering(a: &Value, b: &Value) -> Result<Option<Ordering>, String> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Ok(number_ordering(a, b)),
        (Value::String(a), Value::String(b)) => Ok(Some(a.as_wtf8().cmp(b.as_wtf8()))),
        (a, b) => {
            let (a, b) = (a.type_name(), b.type_name());
            Err(format!("{a} and {b} can't be ordered"))
        }
    }
}

/// The same for sorting: what is no number comes last.
pub(super) fn ordering_for_sorting(a: &Value, b: &Value) -> Result<Ordering, String> {
    let is_nan = |value: &Value| {
        value
            .as_number()
            .is_some_and(|number| number.as_f64().is_nan())
    };
    Ok(ordering(a, b)?.unwrap_or_else(|| is_nan(a).cmp(&is_nan(b))))
}

fn number_ordering(a: &Number, b: &Number) -> Option<Ordering> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(b)),
        (Number::BigInt(a), Number::BigInt(b)) => {
            let key = |digits: &str| match digits.strip_prefix('-') {
                Some(digits) => (-1, digits.len() as i64, digits.to_owned()),
                None => (1, digits.len() as i64, digits.to_owned()),
            };
            let (a, b) = (key(a), key(b));
            Some(match (a.0, b.0) {
                (-1, -1) => b.cmp(&a),
                (1, 1) => a.cmp(&b),
                (a, b) => a.cmp(&b),
            })
        }
        (Number::Float(a), Number::Float(b)) => a.partial_cmp(b),
        (Number::Float(a), b) if is_whole(*a) => number_ordering(&number::int_of_float(*a), b),
        (a, Number::Float(b)) if is_whole(*b) => number_ordering(a, &number::int_of_float(*b)),
        (a, b) => a.as_f64().partial_cmp(&b.as_f64()),
    }
}

/// Whether a float is so large that it is a whole number, which others next to it would be rounded to.
fn is_whole(float: f64) -> bool {
    const TWO_TO_THE_53: f64 = 9_007_199_254_740_992.0;
    float.is_finite() && float.abs() >= TWO_TO_THE_53
}

/// What a comparison of JMESPath gives: `null` for values that have no order.
pub(super) fn compared(
    comparator: &Comparator,
    first: &Value,
    second: &Value,
) -> Result<Value, String> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let wanted = match comparator {
        Comparator::Equal => return Ok(equal(first, second).into()),
        Comparator::NotEqual => return Ok((!equal(first, second)).into()),
        Comparator::LessThan => [Less, Less],
        Comparator::LessThanEqual => [Less, Equal],
        Comparator::GreaterThan => [Greater, Greater],
        Comparator::GreaterThanEqual => [Greater, Equal],
    };
    let is_comparable = |value| matches!(value, &Value::Number(_) | &Value::String(_));
    if !is_comparable(first) || !is_comparable(second) {
        return Ok(Value::Null);
    }
    let found = ordering(first, second)?;
    Ok(found.is_some_and(|found| wanted.contains(&found)).into())
}
