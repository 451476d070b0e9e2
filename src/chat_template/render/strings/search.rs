//! Finding a part of a string.

use minijinja::value::{ValueKind, from_args};
use minijinja::{Error, Value};

use crate::chat_template::render::error::invalid;
use crate::chat_template::render::{budget, items};

/// The part of a text between two bounds, as slices have them, and how many characters are before
/// it; `None` where it would begin beyond the end.
fn within(text: &str, start: Option<i64>, end: Option<i64>) -> Option<(&str, usize)> {
    if start.is_none() && end.is_none() {
        return Some((text, 0));
    }
    let length = text.chars().count() as i64;
    let place = |bound: i64| match bound < 0 {
        true => bound.saturating_add(length).max(0),
        false => bound,
    };
    let (start, end) = (
        place(start.unwrap_or(0)),
        place(end.unwrap_or(length)).min(length),
    );
    if start > end {
        return None;
    }
    let offset = |index: i64| {
        let place = text.char_indices().nth(index as usize);
        place.map_or(text.len(), |(offset, _)| offset)
    };
    Some((&text[offset(start)..offset(end)], start as usize))
}

pub(super) fn begins_or_ends(text: &str, method: &str, args: &[Value]) -> Result<bool, Error> {
    let (parts, start, end) = from_args::<(Value, Option<i64>, Option<i64>)>(args)?;
    let wanted = || invalid(format!("`{method}` takes a string, or a tuple of them"));
    let parts: Vec<Value> = match parts.kind() {
        ValueKind::String => vec![parts],
        ValueKind::Seq => items::collected(&parts)?,
        _ => return Err(wanted()),
    };
    let Some((text, _)) = within(text, start, end) else {
        return Ok(false);
    };
    for part in parts {
        budget::look(1)?;
        let part = part.as_str().ok_or_else(wanted)?;
        let holds = match method {
            "startswith" => text.starts_with(part),
            _ => text.ends_with(part),
        };
        if holds {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `find` and its kin, and `count`.
pub(super) fn found(text: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (part, start, end) = from_args::<(&str, Option<i64>, Option<i64>)>(args)?;
    let place = within(text, start, end);
    if method == "count" {
        let count = place.map_or(0, |(text, _)| text.matches(part).count());
        return Ok(Value::from(count));
    }
    let at = place.and_then(|(text, before)| {
        let at = match method.starts_with('r') {
            true => text.rfind(part),
            false => text.find(part),
        };
        at.map(|at| before + text[..at].chars().count())
    });
    match at {
        Some(at) => Ok(Value::from(at)),
        None if method.ends_with("find") => Ok(Value::from(-1)),
        None => Err(invalid("there is no such part in the string")),
    }
}
