//! Python's strings: the methods that templates use and that minijinja-contrib lacks or has
//! otherwise.

use minijinja::value::{ValueKind, from_args};
use minijinja::{Error, Value};

use crate::white_space::is_space;

use super::arguments::Arguments;
use super::error::invalid;
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
        "center" => centered(text, args)?,
        "zfill" => zero_filled(text, args)?,
        "capitalize" => capitalized(text).into(),
        "title" => titled(text).into(),
        "swapcase" => swapped(text).into(),
        "casefold" => Value::from(text.replace(['ß', 'ẞ'], "ss").to_lowercase()),
        "splitlines" => split_lines(text, args)?,
        "startswith" | "endswith" => Value::from(begins_or_ends(text, method, args)?),
        "find" | "rfind" | "index" | "rindex" | "count" => found(text, method, args)?,
        "isspace" => Value::from(!text.is_empty() && text.chars().all(is_space)),
        "translate" => translated(text, args)?,
        "maketrans" => translation(args)?,
        "isdecimal" | "isdigit" | "isnumeric" => {
            let all = !text.is_empty() && text.chars().all(char::is_numeric);
            Value::from(all)
        }
        "istitle" => Value::from(is_title(text)),
        "isidentifier" => Value::from(is_identifier(text)),
        "isprintable" => Value::from(text.chars().all(is_printable)),
        "expandtabs" => expanded(text, args)?,
        "encode" => encoded(text, args)?,
        "join" => return joined(text, args).map(Some),
        _ => return Ok(None),
    };
    Ok(Some(result))
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
            parts.push(Value::from(rest));
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

/// Python puts the odd one before the text if the width is odd, and behind it otherwise.
fn centered(text: &str, args: &[Value]) -> Result<Value, Error> {
    let width = args.first().and_then(Value::as_i64).unwrap_or(0);
    padded(text, args, |missing| {
        let before = missing / 2 + usize::from(missing % 2 == 1 && width % 2 != 0);
        (before, missing - before)
    })
}

/// The form that a character has at the beginning of a word.
fn title_case(c: char) -> String {
    match c {
        // The few letters that are two in one.
        'Ǆ' | 'ǅ' | 'ǆ' => "ǅ".to_owned(),
        'Ǉ' | 'ǈ' | 'ǉ' => "ǈ".to_owned(),
        'Ǌ' | 'ǋ' | 'ǌ' => "ǋ".to_owned(),
        'Ǳ' | 'ǲ' | 'ǳ' => "ǲ".to_owned(),
        'ß' => "Ss".to_owned(),
        c => c.to_uppercase().collect(),
    }
}

pub(super) fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map_or_else(String::new, title_case);
    first + &characters.as_str().to_lowercase()
}

fn is_cased(c: char) -> bool {
    c.is_lowercase() || c.is_uppercase() || is_title_case(c)
}

fn is_title_case(c: char) -> bool {
    matches!(c, 'ǅ' | 'ǈ' | 'ǋ' | 'ǲ')
}

fn titled(text: &str) -> String {
    let mut within = false;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match within {
            true => out.extend(c.to_lowercase()),
            false => out.push_str(&title_case(c)),
        }
        within = is_cased(c);
    }
    out
}

fn swapped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_uppercase() => out.extend(c.to_lowercase()),
            c if c.is_lowercase() => out.extend(c.to_uppercase()),
            c => out.push(c),
        }
    }
    out
}

/// Where Python sees the end of a line.
fn ends_line(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// The lines of a text, each with its end.
fn whole_lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some((at, end)) = rest.char_indices().find(|&(_, c)| ends_line(c)) {
        let both = rest[at..].starts_with("\r\n");
        let length = at + if both { 2 } else { end.len_utf8() };
        lines.push(&rest[..length]);
        rest = &rest[length..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

/// The lines of a text.
pub(super) fn lines(text: &str) -> Vec<&str> {
    let without_end = |line: &'_ str| {
        line.strip_suffix("\r\n")
            .map_or_else(|| line.trim_end_matches(ends_line).len(), str::len)
    };
    whole_lines(text)
        .into_iter()
        .map(|line| &line[..without_end(line)])
        .collect()
}

fn split_lines(text: &str, args: &[Value]) -> Result<Value, Error> {
    let args = Arguments::new(args)?;
    let keeps_ends = args.flag(0, "keepends")?;
    args.check(1)?;
    let lines = if keeps_ends {
        whole_lines(text)
    } else {
        lines(text)
    };
    budget::spend(lines.len().saturating_mul(size_of::<Value>()))?;
    Ok(lines.into_iter().map(Value::from).collect())
}

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

fn begins_or_ends(text: &str, method: &str, args: &[Value]) -> Result<bool, Error> {
    let (parts, start, end) = from_args::<(Value, Option<i64>, Option<i64>)>(args)?;
    let wanted = || invalid(format!("`{method}` takes a string, or a tuple of them"));
    let parts: Vec<Value> = match parts.kind() {
        ValueKind::String => vec![parts],
        ValueKind::Seq => parts.try_iter()?.collect(),
        _ => return Err(wanted()),
    };
    let Some((text, _)) = within(text, start, end) else {
        return Ok(false);
    };
    for part in parts {
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
fn found(text: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
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

/// `translate`: what stands for characters, by their numbers.
fn translated(text: &str, args: &[Value]) -> Result<Value, Error> {
    let (table,) = from_args::<(&Value,)>(args)?;
    let mut out = String::new();
    for c in text.chars() {
        let other = table.get_item(&Value::from(u32::from(c)))?;
        let before = out.len();
        match (other.as_str(), other.as_i64()) {
            _ if other.is_undefined() => out.push(c),
            _ if other.is_none() => {}
            (Some(text), _) => out.push_str(text),
            (None, Some(code)) => {
                let code = u32::try_from(code).ok().and_then(char::from_u32);
                out.push(code.ok_or_else(|| invalid("this is no number of a character"))?);
            }
            _ => return Err(invalid("characters become strings, numbers or none")),
        }
        budget::spend(out.len() - before)?;
    }
    Ok(Value::from(out))
}

/// `maketrans`: the table for `translate`.
fn translation(args: &[Value]) -> Result<Value, Error> {
    let (from, to, dropped) = from_args::<(Value, Option<&str>, Option<&str>)>(args)?;
    let code = |c: char| Value::from(u32::from(c));
    let Some(to) = to else {
        let key = |key: &Value| match key.as_str().map(|text| text.chars().collect::<Vec<_>>()) {
            Some(text) if text.len() == 1 => Ok(code(text[0])),
            Some(_) => Err(invalid("what is to be translated are single characters")),
            None => Ok(key.clone()),
        };
        let pair = |item: Value| Ok((key(&item)?, from.get_item(&item)?));
        let pairs = from.try_iter()?.map(pair);
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
    let pairs: Vec<(Value, Value)> = pairs.chain(gone).collect();
    budget::spend(pairs.len().saturating_mul(2 * size_of::<Value>()))?;
    Ok(Value::from_pairs(pairs))
}

fn is_title(text: &str) -> bool {
    let mut cased = false;
    let mut any = false;
    for c in text.chars() {
        let begins = c.is_uppercase() || is_title_case(c);
        if is_cased(c) && begins == cased {
            return false;
        }
        cased = is_cased(c);
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
    let args = Arguments::new(args)?;
    let size = args.integer(0, "tabsize")?.unwrap_or(8);
    args.check(1)?;
    let size = usize::try_from(size).unwrap_or(0);
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

/// Widths with more digits than this are refused.
const MAX_WIDTH_DIGITS: usize = 4;

/// Sees to it that `str.format` makes no more than may be spent, before it is done.
pub(super) fn check_format(template: &Value, args: &[Value]) -> Result<(), Error> {
    let template = template.as_str().unwrap_or_default();
    let is_long = |digits: &str| digits.len() > MAX_WIDTH_DIGITS;
    if template.split(|c: char| !c.is_ascii_digit()).any(is_long) {
        return Err(invalid("a number in the format is too large"));
    }
    let longest = args.iter().map(|value| python::str(value).len()).max();
    let fields = template.matches('{').count();
    let padding = 10_usize.pow(MAX_WIDTH_DIGITS as u32);
    let padded = if template.contains(':') { padding } else { 0 };
    let most = fields.saturating_mul(longest.unwrap_or(0).saturating_add(padded));
    budget::spend(template.len().saturating_add(most))
}

/// An encoding by one of its names.
enum Encoding {
    Utf8,
    /// The ones that have only the first so many characters.
    Bytes(u32),
}

fn encoding(name: Option<String>) -> Result<Encoding, Error> {
    let name = name.unwrap_or_else(|| "utf-8".to_owned()).to_lowercase();
    match name.replace('_', "-").as_str() {
        "utf-8" | "utf8" => Ok(Encoding::Utf8),
        "ascii" | "us-ascii" => Ok(Encoding::Bytes(0x80)),
        "latin-1" | "latin1" | "iso-8859-1" => Ok(Encoding::Bytes(0x100)),
        other => Err(invalid(format!("the encoding `{other}` is unknown"))),
    }
}

fn encoded(text: &str, args: &[Value]) -> Result<Value, Error> {
    let args = Arguments::new(args)?;
    let encoding = encoding(args.string(0, "encoding")?)?;
    let errors = args
        .string(1, "errors")?
        .unwrap_or_else(|| "strict".to_owned());
    args.check(2)?;
    budget::spend(text.len())?;
    let Encoding::Bytes(most) = encoding else {
        return Ok(Value::from_bytes(text.as_bytes().to_vec()));
    };
    let mut bytes = Vec::new();
    for c in text.chars() {
        match (u32::from(c), errors.as_str()) {
            (code, _) if code < most => bytes.push(code as u8),
            (_, "ignore") => {}
            (_, "replace") => bytes.push(b'?'),
            _ => return Err(invalid(format!("{c:?} can't be encoded"))),
        }
    }
    Ok(Value::from_bytes(bytes))
}

/// Calls a method of bytes.
pub(super) fn call_bytes_method(
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Option<Value>, Error> {
    if method != "decode" {
        return Ok(None);
    }
    let args = Arguments::new(args)?;
    let encoding = encoding(args.string(0, "encoding")?)?;
    args.check(1)?;
    let bytes = value.as_bytes().unwrap_or_default();
    budget::spend(bytes.len().saturating_mul(2))?;
    let text = match encoding {
        Encoding::Utf8 => std::str::from_utf8(bytes).ok().map(str::to_owned),
        Encoding::Bytes(most) => {
            let fit = bytes.iter().all(|&byte| u32::from(byte) < most);
            fit.then(|| bytes.iter().map(|&byte| char::from(byte)).collect())
        }
    };
    let text = text.ok_or_else(|| invalid("the bytes can't be decoded"))?;
    Ok(Some(Value::from(text)))
}

fn joined(separator: &str, args: &[Value]) -> Result<Value, Error> {
    let (items,) = from_args::<(Value,)>(args)?;
    let mut out = String::new();
    for (index, item) in python::items(&items)?.enumerate() {
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
