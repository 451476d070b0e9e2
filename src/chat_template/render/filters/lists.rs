//! Filters of lists and mappings.

use std::collections::HashSet;

use minijinja::value::{Kwargs, ObjectRepr, Rest, Tuple, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Value};

use crate::chat_template::render::arguments::Arguments;
use crate::chat_template::render::error::invalid;
use crate::chat_template::render::generators::Generator;
use crate::chat_template::render::groups::Group;
use crate::chat_template::render::items::{self, collected};
use crate::chat_template::render::kinds::{check_key, type_name};
use crate::chat_template::render::{budget, operators, ordering, printing};

use super::keys::{attribute, folded};

pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter("join", join);
    environment.add_filter("length", length);
    environment.add_filter("count", length);
    environment.add_filter("list", list);
    environment.add_filter("first", first);
    environment.add_filter("last", last);
    // Python takes any item. The first is as good as any, and what is rendered stays the same.
    environment.add_filter("random", first);
    environment.add_filter("reverse", reverse);
    environment.add_filter("items", items);
    environment.add_filter("sort", sort);
    environment.add_filter("dictsort", dict_sort);
    environment.add_filter("groupby", group_by);
    environment.add_filter("unique", unique);
    environment.add_filter("sum", sum);
    environment.add_filter("min", |value: &Value, args: Rest<Value>, named: Kwargs| {
        extreme(value, Arguments::of_filter(args, named), false)
    });
    environment.add_filter("max", |value: &Value, args: Rest<Value>, named: Kwargs| {
        extreme(value, Arguments::of_filter(args, named), true)
    });
    environment.add_filter("batch", batch);
    environment.add_filter("slice", slice);
    environment.add_filter("chain", chain);
    environment.add_filter("zip", zip);
}

fn join(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let separator = args.given(0, "d")?;
    let separator = separator.map_or_else(|| Ok(String::new()), |d| printing::str(&d))?;
    let path = args.get(1, "attribute")?;
    args.check(2)?;
    let mut out = String::new();
    for (index, item) in items::items(value)?.enumerate() {
        budget::look(1)?;
        let item = match &path {
            Some(path) => attribute(&item, path)?,
            None => item,
        };
        let text = printing::str(&item)?;
        budget::spend(text.len() + separator.len())?;
        budget::limit(out.len() + text.len() + separator.len())?;
        if index > 0 {
            out.push_str(&separator);
        }
        out.push_str(&text);
    }
    Ok(Value::from(out))
}

fn length(value: &Value) -> Result<usize, Error> {
    if value.is_undefined() {
        return Ok(0);
    }
    value
        .len()
        .filter(|_| !Generator::is(value))
        .ok_or_else(|| invalid(format!("{} has no length", type_name(value))))
}

fn list(value: &Value) -> Result<Value, Error> {
    collected(value).map(Value::from)
}

fn first(value: &Value) -> Result<Value, Error> {
    Ok(items::items(value)?.next().unwrap_or(Value::UNDEFINED))
}

fn last(value: &Value) -> Result<Value, Error> {
    if Generator::is(value) {
        return Err(invalid("a generator has no last item"));
    }
    if let Some(text) = value.as_str() {
        return Ok(text
            .chars()
            .next_back()
            .map_or(Value::UNDEFINED, Value::from));
    }
    Ok(items::collected(value)?.pop().unwrap_or(Value::UNDEFINED))
}

fn reverse(value: &Value) -> Result<Value, Error> {
    if let Some(text) = value.as_str() {
        budget::spend(text.len())?;
        let reversed: Value = text.chars().rev().collect::<String>().into();
        return Ok(crate::chat_template::render::escape::as_safe_as(
            value, reversed,
        ));
    }
    let mut items = collected(value)?;
    items.reverse();
    Ok(Generator::holding(items))
}

fn items(value: &Value) -> Result<Value, Error> {
    if value.is_undefined() {
        return Ok(Generator::holding(Vec::new()));
    }
    Ok(Generator::holding(
        pairs(value)?.into_iter().map(pair).collect(),
    ))
}

fn pair((key, value): (Value, Value)) -> Value {
    Value::from(Tuple::from(vec![key, value]))
}

fn pairs(value: &Value) -> Result<Vec<(Value, Value)>, Error> {
    let map = value
        .as_object()
        .filter(|map| map.repr() == ObjectRepr::Map);
    let Some(pairs) = map.and_then(|map| map.try_iter_pairs()) else {
        let what = type_name(value);
        return Err(invalid(format!("{what} is not a mapping")));
    };
    budget::spend_items(value.len().unwrap_or(0).saturating_mul(2))?;
    Ok(pairs.collect())
}

/// By what an item is sorted: itself, or the attributes that are named.
/// The key that an item is sorted by: always a list, so that keys without an order may be equal.
fn sort_key(item: &Value, path: Option<&Value>, case_sensitive: bool) -> Result<Value, Error> {
    let by = match (path, path.and_then(Value::as_str)) {
        (None, _) => vec![item.clone()],
        (Some(path), None) => vec![attribute(item, path)?],
        (Some(_), Some(paths)) => {
            let paths = paths.split(',');
            let by = paths.map(|path| attribute(item, &Value::from(path)));
            by.collect::<Result<Vec<Value>, Error>>()?
        }
    };
    let keys = by.into_iter().map(|key| folded(key, case_sensitive));
    Ok(Value::from(keys.collect::<Result<Vec<Value>, Error>>()?))
}

fn sort(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let reverse = args.flag(0, "reverse")?;
    let case_sensitive = args.flag(1, "case_sensitive")?;
    let path = args.get(2, "attribute")?;
    args.check(3)?;
    let keyed = collected(value)?
        .into_iter()
        .map(|item| Ok((sort_key(&item, path.as_ref(), case_sensitive)?, item)));
    let sorted = ordering::sorted(keyed.collect::<Result<_, Error>>()?, reverse)?;
    Ok(sorted.into_iter().map(|(_, item)| item).collect())
}

fn dict_sort(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let case_sensitive = args.flag(0, "case_sensitive")?;
    let by = args.string(1, "by")?.unwrap_or_else(|| "key".to_owned());
    let reverse = args.flag(2, "reverse")?;
    args.check(3)?;
    if by != "key" && by != "value" {
        return Err(invalid("a mapping is sorted by `key` or by `value`"));
    }
    let keyed = pairs(value)?.into_iter().map(|(key, item)| {
        let by = if by == "key" { &key } else { &item };
        Ok((folded(by.clone(), case_sensitive)?, pair((key, item))))
    });
    let sorted = ordering::sorted(keyed.collect::<Result<_, Error>>()?, reverse)?;
    Ok(sorted.into_iter().map(|(_, pair)| pair).collect())
}

fn group_by(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let path = args.needed(0, "attribute")?;
    let default = args.given(1, "default")?;
    let case_sensitive = args.flag(2, "case_sensitive")?;
    args.check(3)?;
    let mut keyed = Vec::new();
    for item in collected(value)? {
        let found = attribute(&item, &path)?;
        let found = match (found.is_undefined(), &default) {
            (true, Some(default)) => default.clone(),
            (true, None) => return Err(undefined("an item lacks what it is grouped by")),
            _ => found,
        };
        let shown = found.clone();
        keyed.push((folded(found, case_sensitive)?, pair((shown, item))));
    }
    let mut groups: Vec<(Value, Value, Vec<Value>)> = Vec::new();
    for (key, pair) in ordering::sorted(keyed, false)? {
        let item = pair.get_item(&Value::from(1))?;
        let same = match groups.last() {
            Some(group) => ordering::equal(&group.0, &key)?,
            None => false,
        };
        match groups.last_mut().filter(|_| same) {
            Some(group) => group.2.push(item),
            None => groups.push((key, pair.get_item(&Value::from(0))?, vec![item])),
        }
    }
    let group = |(_, grouper, list): (Value, Value, Vec<Value>)| {
        let list = Value::from(list);
        Value::from_object(Group { grouper, list })
    };
    Ok(groups.into_iter().map(group).collect())
}

fn undefined(detail: &'static str) -> Error {
    Error::new(ErrorKind::UndefinedError, detail)
}

/// Numbers that are equal, as one of them.
fn hashed(value: Value) -> Result<Value, Error> {
    check_key(&value)?;
    Ok(match value.kind() {
        ValueKind::Bool => Value::from(i64::from(value.is_true())),
        _ => value,
    })
}

fn unique(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let case_sensitive = args.flag(0, "case_sensitive")?;
    let path = args.get(1, "attribute")?;
    args.check(2)?;
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for item in collected(value)? {
        let key = match &path {
            Some(path) => attribute(&item, path)?,
            None => item.clone(),
        };
        budget::look(1)?;
        if seen.insert(hashed(folded(key, case_sensitive)?)?) {
            kept.push(item);
        }
    }
    Ok(Value::from(kept))
}

fn sum(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let path = args.get(0, "attribute")?;
    let start = args.given(1, "start")?.unwrap_or_else(|| Value::from(0));
    args.check(2)?;
    if start.as_str().is_some() {
        return Err(invalid("strings can't be summed up"));
    }
    items::items(value)?.try_fold(start, |sum, item| {
        budget::look(1)?;
        match &path {
            Some(path) => operators::add(&sum, &attribute(&item, path)?),
            None => operators::add(&sum, &item),
        }
    })
}

fn extreme(value: &Value, args: Arguments, largest: bool) -> Result<Value, Error> {
    let case_sensitive = args.flag(0, "case_sensitive")?;
    let path = args.get(1, "attribute")?;
    args.check(2)?;
    let mut best: Option<(Value, Value)> = None;
    for item in items::items(value)? {
        budget::look(1)?;
        let found = match &path {
            Some(path) => attribute(&item, path)?,
            None => item.clone(),
        };
        let key = folded(found, case_sensitive)?;
        let is_better = match &best {
            Some((known, _)) => {
                let order = ordering::compare(&key, known)?;
                if largest {
                    order.is_gt()
                } else {
                    order.is_lt()
                }
            }
            None => true,
        };
        if is_better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Value::UNDEFINED, |(_, item)| item))
}

/// The most that `batch` and `slice` fill up with.
const MAX_FILL: i64 = 100_000;

fn batch(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let count = args.integer(0, "linecount")?;
    let fill = args.get(1, "fill_with")?;
    args.check(2)?;
    let count = count.ok_or_else(|| invalid("`batch` takes a number"))?;
    if count > MAX_FILL {
        return Err(invalid("the number of a `batch` is too large"));
    }
    let mut batches = Vec::new();
    let mut current: Vec<Value> = Vec::new();
    for item in collected(value)? {
        if current.len() as i64 == count {
            batches.push(Value::from(std::mem::take(&mut current)));
        }
        current.push(item);
    }
    if !current.is_empty() {
        if let Some(fill) = fill {
            let missing = (count - current.len() as i64).max(0) as usize;
            budget::spend_items(missing)?;
            current.extend(std::iter::repeat_n(fill, missing));
        }
        batches.push(Value::from(current));
    }
    Ok(Value::from(batches))
}

fn slice(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let count = args.integer(0, "slices")?;
    let fill = args.get(1, "fill_with")?;
    args.check(2)?;
    let count = match count {
        Some(count @ 1..=MAX_FILL) => count as usize,
        _ => {
            return Err(invalid(
                "`slice` takes a number above 0 that is not too large",
            ));
        }
    };
    let items = collected(value)?;
    budget::spend_items(count.saturating_mul(2))?;
    let (size, longer) = (items.len() / count, items.len() % count);
    let mut rest = items.into_iter();
    let mut slices = Vec::new();
    for index in 0..count {
        let length = size + usize::from(index < longer);
        let mut part: Vec<Value> = rest.by_ref().take(length).collect();
        if index >= longer {
            part.extend(fill.clone());
        }
        slices.push(Value::from(part));
    }
    Ok(Value::from(slices))
}

/// Several mappings as one, in which the last one wins, or several lists as one; not a filter of
/// Python's Jinja, but one that some engines have.
fn chain(value: &Value, others: Rest<Value>) -> Result<Value, Error> {
    let all = || std::iter::once(value).chain(others.iter());
    if all().all(|value| value.kind() == ValueKind::Map) {
        let mut chained = Vec::new();
        for map in all() {
            for (key, item) in pairs(map)? {
                check_key(&key)?;
                chained.push((key, item));
            }
        }
        return Ok(Value::from_pairs(chained));
    }
    let mut chained = Vec::new();
    for list in all() {
        chained.extend(collected(list)?);
    }
    budget::limit(chained.len().saturating_mul(size_of::<Value>()))?;
    Ok(match all().all(|list| list.kind() == ValueKind::Seq) {
        true => Value::from(chained),
        false => Generator::holding(chained),
    })
}

/// Items of several lists side by side; not a filter of Python's Jinja, but one that some engines
/// have.
fn zip(value: &Value, others: Rest<Value>) -> Result<Value, Error> {
    let mut lists = Vec::new();
    for list in std::iter::once(value).chain(others.iter()) {
        lists.push(collected(list)?.into_iter());
    }
    let mut zipped = Vec::new();
    while let Some(items) = lists.iter_mut().map(Iterator::next).collect() {
        budget::spend_items(lists.len())?;
        zipped.push(Value::from(Tuple::new(items)));
    }
    Ok(Generator::holding(zipped))
}
