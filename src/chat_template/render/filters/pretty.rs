//! `pprint`

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, Value};

use crate::chat_template::render::kinds::check_key;
use crate::chat_template::render::{budget, items, ordering, printing};

pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter("pprint", |value: &Value| {
        let text = pretty(value, 0, 0, 0)?;
        budget::spend(text.len())?;
        Ok::<String, Error>(text)
    });
}

/// How wide lines may be, and how deeply they are broken.
const WIDTH: usize = 80;
const MAX_DEPTH: usize = 50;

/// A value that begins in this column, and has so much behind it on its last line.
fn pretty(value: &Value, column: usize, behind: usize, depth: usize) -> Result<String, Error> {
    let value = &in_order(value, depth)?;
    let line = printing::repr(value)?;
    budget::spend(line.len())?;
    if depth > MAX_DEPTH || column + line.chars().count() + behind <= WIDTH {
        return Ok(line);
    }
    let is_map = value.kind() == ValueKind::Map;
    let (open, close) = match value.kind() {
        ValueKind::Map => ('{', '}'),
        ValueKind::Seq if value.is_tuple() => ('(', ')'),
        ValueKind::Seq => ('[', ']'),
        _ => return Ok(line),
    };
    let items = items::collected(value)?;
    let mut out = String::from(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(",\n");
            out.extend(std::iter::repeat_n(' ', column + 1));
        }
        let behind = if index + 1 == items.len() {
            behind + 1
        } else {
            1
        };
        let mut start = column + 1;
        let mut shown = item.clone();
        if is_map {
            let key = printing::repr(item)? + ": ";
            start += key.chars().count();
            out.push_str(&key);
            check_key(item)?;
            shown = value.get_item(item)?;
        }
        out.push_str(&pretty(&shown, start, behind, depth + 1)?);
        budget::limit(out.len())?;
    }
    if value.is_tuple() && items.len() == 1 {
        out.push(',');
    }
    out.push(close);
    Ok(out)
}

/// Mappings in the order of their keys, also those within others.
fn in_order(value: &Value, depth: usize) -> Result<Value, Error> {
    budget::spend(size_of::<Value>())?;
    match value.kind() {
        _ if depth > MAX_DEPTH => Ok(value.clone()),
        ValueKind::Map => {
            let pair = |(key, item): (Value, Value)| {
                check_key(&key)?;
                Ok((key, in_order(&item, depth + 1)?))
            };
            let pairs = value.as_object().and_then(|map| map.try_iter_pairs());
            let pairs = pairs.into_iter().flatten().map(pair);
            let pairs = pairs.collect::<Result<Vec<_>, Error>>()?;
            // Keys without an order stay in theirs.
            let sorted = ordering::sorted(pairs.clone(), false).unwrap_or(pairs);
            Ok(Value::from_pairs(sorted))
        }
        ValueKind::Seq if !value.is_tuple() => {
            let items = value.try_iter()?.map(|item| in_order(&item, depth + 1));
            Ok(Value::from(items.collect::<Result<Vec<Value>, Error>>()?))
        }
        _ => Ok(value.clone()),
    }
}
