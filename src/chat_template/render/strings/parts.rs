//! Taking strings apart, and putting them together.

use std::collections::HashSet;

use minijinja::value::{Tuple, from_args};
use minijinja::{Error, Value};

use crate::chat_template::render::arguments::Arguments;
use crate::chat_template::render::error::invalid;
use crate::chat_template::render::kinds::type_name;
use crate::chat_template::render::{budget, items};
use crate::white_space::is_space;

pub(in crate::chat_template::render) fn trim(
    text: &str,
    args: &[Value],
    start: bool,
    end: bool,
) -> Result<Value, Error> {
    let (characters,) = from_args::<(Option<&str>,)>(args)?;
    let characters = characters.map(|all| all.chars().collect::<HashSet<char>>());
    let off = |c: char| match &characters {
        Some(characters) => characters.contains(&c),
        None => is_space(c),
    };
    let mut text = text;
    if start {
        text = text.trim_start_matches(off);
    }
    if end {
        text = text.trim_end_matches(off);
    }
    Ok(Value::from(text))
}

/// The arguments of `split` and `rsplit`: what to split at, and into how many parts at most.
fn split_args(args: &[Value]) -> Result<(Option<String>, usize), Error> {
    let args = Arguments::new(args)?;
    let separator = args.string(0, "sep")?;
    let count = args.integer(1, "maxsplit")?.unwrap_or(-1);
    args.check(2)?;
    if separator.as_deref() == Some("") {
        return Err(invalid("the separator of a split can't be empty"));
    }
    let limit = usize::try_from(count).map_or(usize::MAX, |count| count.saturating_add(1));
    Ok((separator, limit))
}

pub(super) fn split(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (separator, limit) = split_args(args)?;
    let Some(separator) = separator else {
        return split_at_space(text, limit);
    };
    budget::spend_items(text.matches(separator.as_str()).count().min(limit))?;
    Ok(text
        .splitn(limit, separator.as_str())
        .map(Value::from)
        .collect())
}

fn split_at_space(text: &str, limit: usize) -> Result<Value, Error> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        budget::spend_items(1)?;
        if parts.len() + 1 == limit {
            parts.push(Value::from(rest));
            break;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        parts.push(Value::from(&rest[..end]));
        rest = rest[end..].trim_start_matches(is_space);
    }
    budget::limit(parts.len().saturating_mul(size_of::<Value>()))?;
    Ok(Value::from(parts))
}

pub(super) fn rsplit(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (separator, limit) = split_args(args)?;
    let mut parts: Vec<Value> = match separator {
        Some(separator) => {
            budget::spend_items(text.matches(separator.as_str()).count().min(limit))?;
            let parts = text.rsplitn(limit, separator.as_str());
            parts.map(Value::from).collect()
        }
        None => {
            let mut parts = Vec::new();
            let mut rest = text.trim_end_matches(is_space);
            while !rest.is_empty() {
                budget::spend_items(1)?;
                if parts.len() + 1 == limit {
                    parts.push(Value::from(rest));
                    break;
                }
                let last = rest.char_indices().rev().find(|&(_, c)| is_space(c));
                let start = last.map_or(0, |(at, c)| at + c.len_utf8());
                parts.push(Value::from(&rest[start..]));
                rest = rest[..start].trim_end_matches(is_space);
            }
            parts
        }
    };
    parts.reverse();
    Ok(Value::from(parts))
}

pub(super) fn nonempty(separator: &str) -> Result<&str, Error> {
    match separator {
        "" => Err(invalid("the separator can't be empty")),
        _ => Ok(separator),
    }
}

pub(super) fn partition(
    text: &str,
    found: Option<(&str, &str)>,
    separator: &str,
    from_end: bool,
) -> Value {
    let parts = match found {
        Some((before, after)) => [before, separator, after],
        None if from_end => ["", "", text],
        None => [text, "", ""],
    };
    let parts: Vec<Value> = parts.into_iter().map(Value::from).collect();
    Value::from(Tuple::from(parts))
}

pub(super) fn joined(separator: &str, args: &[Value]) -> Result<Value, Error> {
    let (items,) = from_args::<(Value,)>(args)?;
    let mut out = String::new();
    for (index, item) in items::items(&items)?.enumerate() {
        let Some(text) = item.as_str() else {
            return Err(invalid(format!(
                "str.join takes strings, and item {index} is {}",
                type_name(&item)
            )));
        };
        budget::spend(text.len() + separator.len())?;
        budget::limit(out.len() + text.len() + separator.len())?;
        if index > 0 {
            out.push_str(separator);
        }
        out.push_str(text);
    }
    Ok(Value::from(out))
}
