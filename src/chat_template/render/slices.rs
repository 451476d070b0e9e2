//! `value[start:stop:step]`

use minijinja::value::{Tuple, ValueKind};
use minijinja::{Error, Value};

use super::error::invalid;
use super::kinds::type_name;
use super::{budget, escape, items};

/// A part of a string, a list or a tuple.
pub(super) fn slice(
    value: &Value,
    start: &Value,
    stop: &Value,
    step: &Value,
) -> Result<Value, Error> {
    let bounds = [bound(start)?, bound(stop)?, bound(step)?];
    if let Some(text) = value.as_str() {
        budget::spend(text.len())?;
        let characters: Vec<char> = text.chars().collect();
        let part = places(bounds, characters.len())?;
        let part: String = part.map(|index| characters[index]).collect();
        return Ok(escape::as_safe_as(value, Value::from(part)));
    }
    if value.kind() != ValueKind::Seq {
        let what = type_name(value);
        return Err(invalid(format!("{what} can't be sliced")));
    }
    let items = items::collected(value)?;
    let part = places(bounds, items.len())?;
    let part: Vec<Value> = part.map(|index| items[index].clone()).collect();
    Ok(match value.is_tuple() {
        true => Value::from(Tuple::from(part)),
        false => Value::from(part),
    })
}

fn bound(value: &Value) -> Result<Option<i64>, Error> {
    if value.is_none() {
        return Ok(None);
    }
    let is_whole = value.is_integer() || value.kind() == ValueKind::Bool;
    match i128::try_from(value.clone()) {
        // Where a bound lies beyond the end, it does not matter how far.
        Ok(number) if is_whole => Ok(Some(number.clamp(-MOST, MOST) as i64)),
        _ => Err(invalid("the bounds of a slice are whole numbers")),
    }
}

/// Larger than any length, and small enough to be calculated with.
const MOST: i128 = i64::MAX as i128 / 4;

/// The indices that a slice takes, in its order.
fn places(
    [start, stop, step]: [Option<i64>; 3],
    length: usize,
) -> Result<impl Iterator<Item = usize>, Error> {
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(invalid("the step of a slice can't be 0"));
    }
    let length = length as i64;
    let (least, most) = match step > 0 {
        true => (0, length),
        false => (-1, length - 1),
    };
    let place = |bound: Option<i64>, default: i64| match bound {
        Some(bound) if bound < 0 => (bound + length).clamp(least, most),
        Some(bound) => bound.clamp(least, most),
        None => default,
    };
    let (first, end) = match step > 0 {
        true => (place(start, least), place(stop, most)),
        false => (place(start, most), place(stop, least)),
    };
    let distance = if step > 0 { end - first } else { first - end };
    let count = (distance.max(0) as u64).div_ceil(step.unsigned_abs());
    Ok((0..count as i64).map(move |index| (first + index * step) as usize))
}
