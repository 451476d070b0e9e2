//! The filters, tests and functions that chat templates have in Python.

use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Value};

use crate::json::{self, Style};

use super::arguments::Arguments;
use super::generators::Generator;
use super::values::from_template;
use super::{budget, escape, percent, python, strings};

pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter("tojson", to_json);
    environment.add_filter("from_json", from_json);
    environment.add_filter("string", |value: &Value| {
        escape::as_safe_as(value, Value::from(python::str(value)))
    });
    environment.add_filter("trim", trim);
    environment.add_filter("replace", replace);
    environment.add_filter("join", join);
    environment.add_filter("indent", indent);
    environment.add_filter("length", length);
    environment.add_filter("count", length);
    environment.add_filter("format", |template: &str, values: Rest<Value>| {
        let values = minijinja::value::Tuple::from(values.0);
        percent::format(template, &Value::from(values))
    });
    environment.add_filter("center", |text: &str, width: Option<i64>| {
        let width = Value::from(width.unwrap_or(80));
        strings::call_method(text, "center", &[width])
    });
    environment.add_test("sequence", is_sequence);
    environment.add_test("iterable", is_iterable);
    environment.add_function("raise_exception", raise);
    environment.add_function("range", range);
}

fn invalid(detail: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, detail.into())
}

/// `tojson`, with the arguments of Python's `json.dumps`.
fn to_json(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let mut style = Style {
        ensure_ascii: args.flag(0, "ensure_ascii")?,
        indent: indentation(args.integer(1, "indent")?)?,
        sort_keys: args.flag(3, "sort_keys")?,
        ..Style::PYTHON
    };
    if style.indent.is_some() {
        style.item_separator = ",".into();
    }
    if let Some(separators) = args.get(2, "separators")? {
        let both: Vec<Value> = separators.try_iter()?.collect();
        let [item, key] = both.as_slice() else {
            return Err(invalid("`separators` takes two strings"));
        };
        style.item_separator = python::str(item).into();
        style.key_separator = python::str(key).into();
    }
    args.check(4)?;
    let text = json::write_styled(&from_template(value)?, &style);
    budget::spend(text.len())?;
    Ok(Value::from(text))
}

/// Spaces of indentation; more are refused.
const MAX_INDENT: i64 = 1_000;

fn indentation(count: Option<i64>) -> Result<Option<usize>, Error> {
    match count {
        None => Ok(None),
        Some(count @ 0..=MAX_INDENT) => Ok(Some(count as usize)),
        Some(_) => Err(invalid(format!(
            "`indent` takes a number up to {MAX_INDENT}"
        ))),
    }
}

/// What `json.loads` reads; not a filter of Python's Jinja, but one that some engines have.
fn from_json(text: &str) -> Result<Value, Error> {
    json::read(text)
        .map(|value| super::values::to_template(&value))
        .map_err(|error| invalid(format!("this is not JSON: {error}")))
}

fn trim(value: &Value, characters: Option<&str>) -> Result<Value, Error> {
    let text = python::str(value);
    let args: Vec<Value> = characters.map(Value::from).into_iter().collect();
    let trimmed = strings::trim(&text, &args, true, true)?;
    Ok(escape::as_safe_as(value, trimmed))
}

fn replace(value: &Value, old: &Value, new: &Value, count: Option<i64>) -> Result<Value, Error> {
    let (text, old, new) = (python::str(value), python::str(old), python::str(new));
    strings::replaced(&text, &old, &new, count)
}

fn join(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let separator = args
        .get(0, "d")?
        .map_or_else(String::new, |d| python::str(&d));
    let attribute = args.string(1, "attribute")?;
    args.check(2)?;
    let mut out = String::new();
    for (index, item) in items(value)?.enumerate() {
        let item = match &attribute {
            Some(attribute) => item.get_attr(attribute)?,
            None => item,
        };
        let text = python::str(&item);
        budget::spend(text.len() + separator.len())?;
        if index > 0 {
            out.push_str(&separator);
        }
        out.push_str(&text);
    }
    Ok(Value::from(out))
}

/// What Python iterates: the characters of a string, too.
fn items(value: &Value) -> Result<Box<dyn Iterator<Item = Value>>, Error> {
    match value.as_str() {
        Some(text) => {
            let characters: Vec<Value> = text.chars().map(|c| Value::from(c.to_string())).collect();
            Ok(Box::new(characters.into_iter()))
        }
        None => Ok(Box::new(value.try_iter()?)),
    }
}

fn indent(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let indentation = match args.get(0, "width")? {
        Some(width) if width.as_str().is_some() => python::str(&width),
        _ => " ".repeat(indentation(args.integer(0, "width")?)?.unwrap_or(4)),
    };
    let (first, blank) = (args.flag(1, "first")?, args.flag(2, "blank")?);
    args.check(3)?;
    let text = python::str(value);
    let lines: Vec<&str> = text.split('\n').collect();
    let added = lines.len().saturating_mul(indentation.len());
    budget::spend(text.len().saturating_add(added))?;
    let mut out = String::new();
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let indented = if index == 0 {
            first
        } else {
            blank || !line.is_empty()
        };
        if indented {
            out.push_str(&indentation);
        }
        out.push_str(line);
    }
    Ok(escape::as_safe_as(value, Value::from(out)))
}

fn length(value: &Value) -> Result<usize, Error> {
    if value.is_undefined() {
        return Ok(0);
    }
    value
        .len()
        .filter(|_| !Generator::is(value))
        .ok_or_else(|| invalid(format!("{} has no length", python::type_name(value))))
}

/// Whether it has a length and items: lists, and also strings and mappings.
fn is_sequence(value: &Value) -> bool {
    value.is_undefined()
        || matches!(
            value.kind(),
            ValueKind::Seq | ValueKind::String | ValueKind::Map
        )
}

fn is_iterable(value: &Value) -> bool {
    matches!(
        value.kind(),
        ValueKind::Undefined
            | ValueKind::String
            | ValueKind::Seq
            | ValueKind::Map
            | ValueKind::Iterable
    )
}

fn raise(message: &Value) -> Result<Value, Error> {
    let message = python::str(message);
    Err(invalid(format!("{}{message}", super::error::RAISED)))
}

/// The sandbox of the reference allows ranges of so many numbers.
const MAX_RANGE: i64 = 100_000;

fn range(start: i64, stop: Option<i64>, step: Option<i64>) -> Result<Value, Error> {
    let (start, stop) = match stop {
        Some(stop) => (start, stop),
        None => (0, start),
    };
    let step = step.unwrap_or(1);
    if step == 0 {
        return Err(invalid("range takes no step of 0"));
    }
    let distance = match step > 0 {
        true => stop.saturating_sub(start),
        false => start.saturating_sub(stop),
    };
    let count = (distance.max(0) as u64).div_ceil(step.unsigned_abs());
    if count > MAX_RANGE as u64 {
        return Err(invalid(format!("a range has at most {MAX_RANGE} numbers")));
    }
    let numbers = (0..count as i64).map(|index| Value::from(start + index * step));
    Ok(numbers.collect())
}
