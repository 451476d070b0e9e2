//! Python's strings: the methods that templates use and that minijinja-contrib lacks or has
//! otherwise.

use minijinja::value::from_args;
use minijinja::{Error, ErrorKind, Value};

use super::arguments::Arguments;
use super::{budget, python};

/// Calls a method of a string; `None` where minijinja-contrib has it as Python does.
pub(super) fn call_method(
    text: &str,
    method: &str,
    args: &[Value],
) -> Result<Option<Value>, Error> {
    let result = match method {
        "strip" => trim(text, args, true, true)?,
        "lstrip" => trim(text, args, true, false)?,
        "rstrip" => trim(text, args, false, true)?,
        "split" => split(text, args)?,
        "rsplit" => rsplit(text, args)?,
        "partition" => {
            let (separator,) = from_args::<(&str,)>(args)?;
            partition(
                text,
                text.split_once(nonempty(separator)?),
                separator,
                false,
            )
        }
        "rpartition" => {
            let (separator,) = from_args::<(&str,)>(args)?;
            partition(
                text,
                text.rsplit_once(nonempty(separator)?),
                separator,
                true,
            )
        }
        "removeprefix" => {
            let (prefix,) = from_args::<(&str,)>(args)?;
            Value::from(text.strip_prefix(prefix).unwrap_or(text))
        }
        "removesuffix" => {
            let (suffix,) = from_args::<(&str,)>(args)?;
            Value::from(text.strip_suffix(suffix).unwrap_or(text))
        }
        "replace" => {
            let (old, new, count) = from_args::<(&str, &str, Option<i64>)>(args)?;
            replaced(text, old, new, count)?
        }
        "ljust" => padded(text, args, |missing| (0, missing))?,
        "rjust" => padded(text, args, |missing| (missing, 0))?,
        "center" => padded(text, args, |missing| (missing / 2, missing - missing / 2))?,
        "zfill" => zero_filled(text, args)?,
        "swapcase" => text.chars().map(swapped).collect::<String>().into(),
        "casefold" => Value::from(text.to_lowercase()),
        "index" | "rindex" => found(text, method, args)?,
        "isdecimal" | "isdigit" | "isnumeric" => {
            let all = !text.is_empty() && text.chars().all(char::is_numeric);
            Value::from(all)
        }
        "istitle" => Value::from(is_title(text)),
        "isidentifier" => Value::from(is_identifier(text)),
        "isprintable" => Value::from(text.chars().all(is_printable)),
        "expandtabs" => expanded(text, args)?,
        "encode" => Value::from_bytes(text.as_bytes().to_vec()),
        "join" => return joined(text, args).map(Some),
        _ => return Ok(None),
    };
    Ok(Some(result))
}

fn invalid(detail: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, detail.into())
}

/// White space as `str.strip` and `str.split` understand it.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Whether `repr` shows a character as it is.
pub(super) fn is_printable(c: char) -> bool {
    c == ' '
        || !(c.is_control()
            || c.is_whitespace()
            || matches!(u32::from(c),
                0xad | 0x600..=0x605 | 0x61c | 0x6dd | 0x70f | 0x180e | 0x200b..=0x200f
                | 0x2028..=0x202e | 0x2060..=0x206f | 0xd800..=0xf8ff | 0xfeff | 0xfff9..=0xfffb
                | 0xe0001..=0xe007f | 0xf0000..))
}

pub(super) fn trim(text: &str, args: &[Value], start: bool, end: bool) -> Result<Value, Error> {
    let (characters,) = from_args::<(Option<&str>,)>(args)?;
    let off = |c: char| match characters {
        Some(characters) => characters.contains(c),
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

fn split(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (separator, limit) = split_args(args)?;
    let Some(separator) = separator else {
        return Ok(split_at_space(text, limit));
    };
    Ok(text
        .splitn(limit, separator.as_str())
        .map(Value::from)
        .collect())
}

fn split_at_space(text: &str, limit: usize) -> Value {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        if parts.len() + 1 == limit {
            parts.push(Value::from(rest.trim_end_matches(is_space)));
            break;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        parts.push(Value::from(&rest[..end]));
        rest = rest[end..].trim_start_matches(is_space);
    }
    Value::from(parts)
}

fn rsplit(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (separator, limit) = split_args(args)?;
    let mut parts: Vec<Value> = match separator {
        Some(separator) => text
            .rsplitn(limit, separator.as_str())
            .map(Value::from)
            .collect(),
        None => {
            let mut parts = Vec::new();
            let mut rest = text.trim_end_matches(is_space);
            while !rest.is_empty() {
                if parts.len() + 1 == limit {
                    parts.push(Value::from(rest.trim_start_matches(is_space)));
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

fn nonempty(separator: &str) -> Result<&str, Error> {
    match separator {
        "" => Err(invalid("the separator can't be empty")),
        _ => Ok(separator),
    }
}

fn partition(text: &str, found: Option<(&str, &str)>, separator: &str, from_end: bool) -> Value {
    let parts = match found {
        Some((before, after)) => [before, separator, after],
        None if from_end => ["", "", text],
        None => [text, "", ""],
    };
    let parts: Vec<Value> = parts.into_iter().map(Value::from).collect();
    Value::from(minijinja::value::Tuple::from(parts))
}

/// `text.replace(old, new, count)`, also for the filter of that name.
pub(super) fn replaced(
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
    let growth = places.min(count).saturating_mul(new.len());
    budget::spend(text.len().saturating_add(growth))?;
    Ok(Value::from(text.replacen(old, new, count)))
}

fn padded(
    text: &str,
    args: &[Value],
    sides: impl Fn(usize) -> (usize, usize),
) -> Result<Value, Error> {
    let (width, fill) = from_args::<(i64, Option<char>)>(args)?;
    let fill = fill.unwrap_or(' ');
    let width = usize::try_from(width).unwrap_or(0);
    let missing = width.saturating_sub(text.chars().count());
    budget::spend(
        missing
            .saturating_mul(fill.len_utf8())
            .saturating_add(text.len()),
    )?;
    let (before, after) = sides(missing);
    let fill = |count| std::iter::repeat_n(fill, count).collect::<String>();
    Ok(Value::from([&fill(before), text, &fill(after)].concat()))
}

fn zero_filled(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (width,) = from_args::<(i64,)>(args)?;
    let width = usize::try_from(width).unwrap_or(0);
    let missing = width.saturating_sub(text.chars().count());
    budget::spend(missing.saturating_add(text.len()))?;
    let zeros = "0".repeat(missing);
    let (sign, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => text.split_at(text.len() - digits.len()),
        None => ("", text),
    };
    Ok(Value::from([sign, &zeros, digits].concat()))
}

fn swapped(c: char) -> char {
    let mut other: Box<dyn Iterator<Item = char>> = match c.is_uppercase() {
        true => Box::new(c.to_lowercase()),
        false => Box::new(c.to_uppercase()),
    };
    other.next().unwrap_or(c)
}

fn found(text: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (part,) = from_args::<(&str,)>(args)?;
    let at = if method == "index" {
        text.find(part)
    } else {
        text.rfind(part)
    };
    let at = at.ok_or_else(|| invalid("there is no such part in the string"))?;
    Ok(Value::from(text[..at].chars().count()))
}

fn is_title(text: &str) -> bool {
    let mut cased = false;
    let mut any = false;
    for c in text.chars() {
        if c.is_uppercase() == cased && (c.is_uppercase() || c.is_lowercase()) {
            return false;
        }
        cased = c.is_uppercase() || c.is_lowercase();
        any |= cased;
    }
    any
}

fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    let first = characters
        .next()
        .is_some_and(|c| c == '_' || c.is_alphabetic());
    first && characters.all(|c| c == '_' || c.is_alphanumeric())
}

fn expanded(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (size,) = from_args::<(Option<i64>,)>(args)?;
    let size = usize::try_from(size.unwrap_or(8)).unwrap_or(0);
    let tabs = text.matches('\t').count();
    budget::spend(text.len().saturating_add(tabs.saturating_mul(size)))?;
    let mut out = String::new();
    let mut column = 0;
    for c in text.chars() {
        match c {
            '\t' if size > 0 => {
                let missing = size - column % size;
                out.extend(std::iter::repeat_n(' ', missing));
                column += missing;
            }
            '\t' => {}
            '\n' | '\r' => {
                out.push(c);
                column = 0;
            }
            c => {
                out.push(c);
                column += 1;
            }
        }
    }
    Ok(Value::from(out))
}

fn joined(separator: &str, args: &[Value]) -> Result<Value, Error> {
    let (items,) = from_args::<(Value,)>(args)?;
    let mut out = String::new();
    for (index, item) in items.try_iter()?.enumerate() {
        let Some(text) = item.as_str() else {
            return Err(invalid(format!(
                "str.join takes strings, and item {index} is {}",
                python::type_name(&item)
            )));
        };
        budget::spend(text.len() + separator.len())?;
        if index > 0 {
            out.push_str(separator);
        }
        out.push_str(text);
    }
    Ok(Value::from(out))
}
