//! Filters that make numbers, or calculate with them.

use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Value};

use crate::chat_template::render::arguments::Arguments;
use crate::chat_template::render::budget;
use crate::chat_template::render::error::invalid;
use crate::chat_template::render::kinds::type_name;

pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter("int", int);
    environment.add_filter("float", float);
    environment.add_filter("abs", abs);
    environment.add_filter("round", round);
    environment.add_filter("filesizeformat", file_size);
}

fn undefined() -> Error {
    Error::new(
        ErrorKind::UndefinedError,
        "an undefined value is not a number",
    )
}

fn int(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let default = args.given(0, "default")?.unwrap_or_else(|| Value::from(0));
    let base = args.integer(1, "base")?.unwrap_or(10);
    args.check(2)?;
    if value.is_undefined() {
        return Err(undefined());
    }
    if let Some(text) = value.as_str() {
        budget::spend(text.len())?;
        let number = read_int(text, base).or_else(|| read_float(text).and_then(truncated));
        return Ok(number.map_or(default, shortest));
    }
    if value.is_integer() || value.kind() == ValueKind::Bool {
        return Ok(i128::try_from(value.clone()).map_or_else(|_| value.clone(), shortest));
    }
    match f64::try_from(value.clone()) {
        Ok(number) if number.is_infinite() => Err(invalid("an infinite number is not whole")),
        Ok(number) => Ok(truncated(number).map_or(default, shortest)),
        Err(_) => Ok(default),
    }
}

/// A whole number in the form that others of its size have.
fn shortest(number: i128) -> Value {
    i64::try_from(number).map_or_else(|_| Value::from(number), Value::from)
}

fn truncated(number: f64) -> Option<i128> {
    let fits = number.is_finite() && number.abs() < i128::MAX as f64;
    fits.then_some(number as i128)
}

/// Digits without the underscores that may stand between them.
fn plain_digits(text: &str) -> Option<String> {
    let between = |at: usize| {
        let is_digit = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        is_digit(text[..at].chars().next_back()) && is_digit(text[at + 1..].chars().next())
    };
    let all = text.match_indices('_').all(|(at, _)| between(at));
    all.then(|| text.replace('_', ""))
}

/// What Python's `int(text, base)` reads.
fn read_int(text: &str, base: i64) -> Option<i128> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_lowercase();
    let prefixed = [(16, "0x"), (8, "0o"), (2, "0b")];
    let prefix = prefixed
        .iter()
        .find(|(number, prefix)| (base == 0 || base == *number) && lower.starts_with(prefix));
    let (base, digits) = match prefix {
        // An underscore may follow the prefix.
        Some((number, prefix)) => {
            let digits = &lower[prefix.len()..];
            (*number, digits.strip_prefix('_').unwrap_or(digits))
        }
        None if base == 0 => (10, lower.as_str()),
        None => (base, lower.as_str()),
    };
    let base = u32::try_from(base)
        .ok()
        .filter(|base| (2..=36).contains(base))?;
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let number = i128::from_str_radix(&plain_digits(digits)?, base).ok()?;
    Some(sign * number)
}

/// What Python's `float(text)` reads.
fn read_float(text: &str) -> Option<f64> {
    plain_digits(text.trim())?.parse().ok()
}

fn float(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let default = args
        .given(0, "default")?
        .unwrap_or_else(|| Value::from(0.0));
    args.check(1)?;
    if value.is_undefined() {
        return Err(undefined());
    }
    budget::spend(value.as_str().map_or(0, str::len))?;
    let number = match value.as_str() {
        Some(text) => read_float(text),
        None if value.kind() == ValueKind::Bool => Some(f64::from(u8::from(value.is_true()))),
        None => f64::try_from(value.clone()).ok(),
    };
    Ok(number.map_or(default, Value::from))
}

fn abs(value: &Value) -> Result<Value, Error> {
    if value.is_integer() || value.kind() == ValueKind::Bool {
        let number = i128::try_from(value.clone())
            .ok()
            .and_then(i128::checked_abs);
        return number
            .map(shortest)
            .ok_or_else(|| invalid("the number is too large"));
    }
    match f64::try_from(value.clone()) {
        Ok(number) => Ok(Value::from(number.abs())),
        Err(_) => Err(invalid(format!("{} has no size", type_name(value)))),
    }
}

/// minijinja rounds as Python does, but keeps whole numbers whole.
fn round(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let precision = args.integer(0, "precision")?.unwrap_or(0);
    let method = args
        .string(1, "method")?
        .unwrap_or_else(|| "common".to_owned());
    args.check(2)?;
    let value = match value.kind() {
        ValueKind::Bool => Value::from(i64::from(value.is_true())),
        ValueKind::Number if method != "common" => Value::from(f64::try_from(value.clone())?),
        _ => value.clone(),
    };
    let precision = precision.clamp(-400, 400) as i32;
    let no_names = Kwargs::from_iter(std::iter::empty::<(&str, Value)>());
    minijinja::filters::round(value, Some(precision), Some(&method), no_names)
}

fn file_size(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<String, Error> {
    let args = Arguments::of_filter(args, named);
    let binary = args.flag(0, "binary")?;
    args.check(1)?;
    budget::spend(value.as_str().map_or(0, str::len))?;
    let size = match value.as_str() {
        Some(text) => read_float(text),
        None => f64::try_from(value.clone()).ok(),
    };
    let size = size.ok_or_else(|| invalid("the size has to be a number"))?;
    let (base, units) = match binary {
        true => (
            1024.0,
            ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"],
        ),
        false => (1000.0, ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"]),
    };
    if size == 1.0 {
        return Ok("1 Byte".to_owned());
    }
    if size < base {
        return Ok(format!("{} Bytes", size as i64));
    }
    let mut unit = base;
    for name in &units[..units.len() - 1] {
        if size < unit * base {
            return Ok(format!("{:.1} {name}", size / unit));
        }
        unit *= base;
    }
    Ok(format!("{:.1} {}", size / unit, units[units.len() - 1]))
}
