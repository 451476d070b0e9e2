//! Putting other characters in the place of some.

use minijinja::value::from_args;
use minijinja::{Error, Value};

use crate::chat_template::render::error::invalid;
use crate::chat_template::render::kinds::check_key;
use crate::chat_template::render::{budget, items};

/// `text.replace(old, new, count)`, also for the filter of that name.
pub(in crate::chat_template::render) fn replaced(
    text: &str,
    old: &str,
    new: &str,
    count: Option<i64>,
) -> Result<Value, Error> {
    let count = match count {
        Some(count) if count >= 0 => count as usize,
        _ => usize::MAX,
    };
    let places = match old {
        "" => text.chars().count() + 1,
        _ => text.matches(old).count(),
    };
    budget::look(places)?;
    let growth = places.min(count).saturating_mul(new.len());
    budget::spend(text.len().saturating_add(growth))?;
    Ok(Value::from(text.replacen(old, new, count)))
}

/// `translate`: what stands for characters, by their numbers.
pub(super) fn translated(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (table,) = from_args::<(&Value,)>(args)?;
    let mut out = String::new();
    for c in text.chars() {
        budget::look(1)?;
        let other = table.get_item(&Value::from(u32::from(c)))?;
        let added = other.as_str().map_or(c.len_utf8(), str::len);
        budget::spend(added)?;
        budget::limit(out.len() + added)?;
        match (other.as_str(), other.as_i64()) {
            _ if other.is_undefined() => out.push(c),
            _ if other.is_none() => {}
            (Some(text), _) => out.push_str(text),
            (None, Some(code)) => {
                let code = u32::try_from(code).ok().and_then(char::from_u32);
                out.push(code.ok_or_else(|| invalid("this is not the number of a character"))?);
            }
            _ => return Err(invalid("characters become strings, numbers or none")),
        }
    }
    Ok(Value::from(out))
}

/// `maketrans`: the table for `translate`.
pub(super) fn translation(args: &[Value]) -> Result<Value, Error> {
    let (from, to, dropped) = from_args::<(Value, Option<&str>, Option<&str>)>(args)?;
    let code = |c: char| Value::from(u32::from(c));
    let Some(to) = to else {
        let key = |key: &Value| match key.as_str().map(|text| text.chars().collect::<Vec<_>>()) {
            Some(text) if text.len() == 1 => Ok(code(text[0])),
            Some(_) => Err(invalid("what is to be translated are single characters")),
            None => Ok(key.clone()),
        };
        let pair = |item: Value| {
            check_key(&item)?;
            Ok((key(&item)?, from.get_item(&item)?))
        };
        let pairs = items::collected(&from)?.into_iter().map(pair);
        return Ok(Value::from_pairs(pairs.collect::<Result<Vec<_>, Error>>()?));
    };
    let from = from
        .as_str()
        .ok_or_else(|| invalid("`maketrans` takes strings"))?;
    if from.chars().count() != to.chars().count() {
        return Err(invalid("`maketrans` takes strings of the same length"));
    }
    let pairs = from
        .chars()
        .zip(to.chars())
        .map(|(from, to)| (code(from), code(to)));
    let gone = dropped
        .unwrap_or("")
        .chars()
        .map(|c| (code(c), Value::from(())));
    let dropped = dropped.map_or(0, str::len);
    budget::spend_items((to.len() + dropped).saturating_mul(2))?;
    let pairs: Vec<(Value, Value)> = pairs.chain(gone).collect();
    Ok(Value::from_pairs(pairs))
}
