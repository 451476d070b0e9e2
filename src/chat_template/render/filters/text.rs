//! Filters of text.

use minijinja::value::{Kwargs, Rest, Tuple};
use minijinja::{Environment, Error, Value};

use crate::chat_template::render::arguments::Arguments;
use crate::chat_template::render::error::invalid;
use crate::chat_template::render::kinds::type_name;
use crate::chat_template::render::{budget, escape, percent, printing, strings};

pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter("string", |value: &Value| {
        let text = Value::from(printing::str(value)?);
        Ok::<Value, Error>(escape::as_safe_as(value, text))
    });
    environment.add_filter("trim", trim);
    environment.add_filter("replace", replace);
    environment.add_filter("indent", indent);
    environment.add_filter("format", format);
    environment.add_filter("center", center);
    environment.add_filter("capitalize", capitalize);
    environment.add_filter("wordcount", word_count);
    environment.add_filter("truncate", truncate);
}

fn trim(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let characters: Vec<Value> = args.get(0, "chars")?.into_iter().collect();
    args.check(1)?;
    let trimmed = strings::trim(&printing::str(value)?, &characters, true, true)?;
    Ok(escape::as_safe_as(value, trimmed))
}

fn replace(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let (old, new) = (args.needed(0, "old")?, args.needed(1, "new")?);
    let count = args.integer(2, "count")?;
    args.check(3)?;
    let (text, old, new) = (
        printing::str(value)?,
        printing::str(&old)?,
        printing::str(&new)?,
    );
    strings::replaced(&text, &old, &new, count)
}

/// `"%s" | format(…)`, where what is formatted may also be named.
fn format(template: &Value, values: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let template = printing::str(template)?;
    let names: Vec<&str> = named.args().collect();
    if names.is_empty() {
        return percent::format(&template, &Value::from(Tuple::from(values.0)));
    }
    if !values.is_empty() {
        return Err(invalid(
            "`format` takes values by place or by name, not both",
        ));
    }
    let pair = |name: &str| Ok((Value::from(name), named.get::<Value>(name)?));
    let pairs = names.into_iter().map(pair);
    let pairs = pairs.collect::<Result<Vec<_>, Error>>()?;
    percent::format(&template, &Value::from_pairs(pairs))
}

fn center(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let width = args.integer(0, "width")?.unwrap_or(80);
    args.check(1)?;
    let centered = strings::call_method(&printing::str(value)?, "center", &[Value::from(width)])?;
    Ok(escape::as_safe_as(value, centered.unwrap_or_default()))
}

fn capitalize(value: &Value) -> Result<Value, Error> {
    let text = printing::str(value)?;
    budget::change(text.len())?;
    Ok(escape::as_safe_as(
        value,
        strings::capitalized(&text).into(),
    ))
}

/// Spaces of indentation; more are refused.
const MAX_INDENT: i64 = 1_000;

fn indent(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let indentation = match args.get(0, "width")? {
        Some(width) if width.as_str().is_some() => printing::str(&width)?,
        _ => match args.integer(0, "width")?.unwrap_or(4) {
            count @ ..=MAX_INDENT => " ".repeat(count.max(0) as usize),
            _ => return Err(invalid(format!("`indent` takes up to {MAX_INDENT} spaces"))),
        },
    };
    let (first, blank) = (args.flag(1, "first")?, args.flag(2, "blank")?);
    args.check(3)?;
    let text = match value.is_undefined() {
        true => "",
        false => needs_text(value, "indent")?,
    };
    let mut lines = strings::lines(text)?;
    if lines.is_empty() || text.ends_with('\n') {
        lines.push("");
    }
    let added = lines.len().saturating_mul(indentation.len() + 1);
    budget::spend(text.len().saturating_add(added))?;
    let mut out = String::new();
    for (index, line) in lines.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let indented = match index {
            0 => first,
            _ => blank || !line.is_empty(),
        };
        if indented {
            out.push_str(&indentation);
        }
        out.push_str(line);
    }
    Ok(escape::as_safe_as(value, Value::from(out)))
}

fn word_count(value: &Value) -> Result<usize, Error> {
    let text = printing::str(value)?;
    budget::spend(text.len())?;
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    Ok(text
        .split(|c| !is_part(c))
        .filter(|word| !word.is_empty())
        .count())
}

fn truncate(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let length = args.integer(0, "length")?.unwrap_or(255);
    let within_words = args.flag(1, "killwords")?;
    let end = args.string(2, "end")?.unwrap_or_else(|| "...".to_owned());
    let leeway = args.integer(3, "leeway")?.unwrap_or(5);
    args.check(4)?;
    let end_length = end.chars().count() as i64;
    if leeway < 0 || length < end_length {
        return Err(invalid(
            "`truncate` leaves less than what it puts at the end",
        ));
    }
    let most = length.saturating_add(leeway);
    // What is short enough need be no text.
    if value.as_str().is_none() && value.len().is_some_and(|length| length as i64 <= most) {
        return Ok(value.clone());
    }
    let text = needs_text(value, "truncate")?;
    budget::spend(text.len() + end.len())?;
    if text.chars().count() as i64 <= most {
        return Ok(value.clone());
    }
    let kept: String = text.chars().take((length - end_length) as usize).collect();
    let kept = match within_words {
        true => kept.as_str(),
        false => kept
            .rsplit_once(' ')
            .map_or(kept.as_str(), |(words, _)| words),
    };
    Ok(Value::from([kept, &end].concat()))
}

fn needs_text<'v>(value: &'v Value, filter: &str) -> Result<&'v str, Error> {
    let what = || format!("`{filter}` takes a string, not {}", type_name(value));
    value.as_str().ok_or_else(|| invalid(what()))
}
