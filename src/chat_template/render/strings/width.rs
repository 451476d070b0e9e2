//! Making strings wider: padding, zeros, and tabs as spaces.

use minijinja::value::from_args;
use minijinja::{Error, Value};

use crate::chat_template::render::arguments::Arguments;
use crate::chat_template::render::budget;

pub(super) fn padded(
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

pub(super) fn zero_filled(text: &str, args: &[Value]) -> Result<Value, Error> {
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
pub(super) fn centered(text: &str, args: &[Value]) -> Result<Value, Error> {
    let width = args.first().and_then(Value::as_i64).unwrap_or(0);
    padded(text, args, |missing| {
        let before = missing / 2 + usize::from(missing % 2 == 1 && width % 2 != 0);
        (before, missing - before)
    })
}

pub(super) fn expanded(text: &str, args: &[Value]) -> Result<Value, Error> {
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
