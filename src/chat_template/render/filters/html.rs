//! Filters that make HTML or addresses, or take them apart.

use std::fmt::Write as _;

use minijinja::value::{Kwargs, Rest, ValueKind};
use minijinja::{Environment, Error, Value};

use crate::chat_template::render::arguments::Arguments;
use crate::chat_template::render::error::invalid;
use crate::chat_template::render::kinds::check_key;
use crate::chat_template::render::{budget, escape, items, printing};
use crate::white_space::is_space;

pub(super) fn add_to(environment: &mut Environment<'_>) {
    environment.add_filter("escape", escaped);
    environment.add_filter("e", escaped);
    environment.add_filter("forceescape", |value: &Value| {
        safe_html(&printing::str(value)?)
    });
    environment.add_filter("striptags", strip_tags);
    environment.add_filter("urlencode", url_encode);
    environment.add_filter("xmlattr", xml_attributes);
}

fn escaped(value: &Value) -> Result<Value, Error> {
    match value.is_safe() {
        true => Ok(value.clone()),
        false => safe_html(&printing::str(value)?),
    }
}

fn safe_html(text: &str) -> Result<Value, Error> {
    // No character becomes more than five.
    budget::spend(text.len())?;
    let html = escape::escape(text);
    budget::limit(html.len())?;
    Ok(Value::from_safe_string(html.into_owned()))
}

/// The text without comments and tags, with its white space made single.
fn strip_tags(value: &Value) -> Result<String, Error> {
    let text = printing::str(value)?;
    budget::spend(text.len())?;
    let text = without(&text, "<!--", "-->");
    let text = without(&text, "<", ">");
    let words = text.split(is_space).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    let text = words.join(" ");
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&#34;", "\""),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", "\u{a0}"),
        ("&amp;", "&"),
    ];
    let read = |text: String, (entity, character): (&str, &str)| text.replace(entity, character);
    Ok(entities.into_iter().fold(text, read))
}

fn without(text: &str, open: &str, close: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(open) {
        let Some((_, after)) = inside.split_once(close) else {
            break;
        };
        out.push_str(before);
        rest = after;
    }
    out + rest
}

/// Percent signs in place of what addresses can't have.
fn quoted(text: &str, kept: &[u8], space: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for &byte in text.as_bytes() {
        match byte {
            b' ' if space != "%20" => out.push_str(space),
            _ if byte.is_ascii_alphanumeric() || b"_.-~".contains(&byte) => out.push(byte as char),
            _ if kept.contains(&byte) => out.push(byte as char),
            // Writing into a string can't fail.
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

fn url_encode(value: &Value) -> Result<String, Error> {
    let is_list = matches!(
        value.kind(),
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable
    );
    if !is_list {
        let text = printing::str(value)?;
        budget::spend(text.len().saturating_mul(3))?;
        return Ok(quoted(&text, b"/", "%20"));
    }
    let mut parts = Vec::new();
    for item in value.try_iter()? {
        let both = match value.kind() {
            ValueKind::Map => {
                check_key(&item)?;
                vec![item.clone(), value.get_item(&item)?]
            }
            _ => items::collected(&item)?,
        };
        let [key, item] = both.as_slice() else {
            return Err(invalid("`urlencode` takes pairs"));
        };
        let (key, item) = (printing::str(key)?, printing::str(item)?);
        budget::spend((key.len() + item.len()).saturating_mul(3))?;
        budget::look(1)?;
        parts.push(format!(
            "{}={}",
            quoted(&key, b"", "+"),
            quoted(&item, b"", "+")
        ));
    }
    budget::spend(parts.iter().map(|part| part.len() + 1).sum())?;
    Ok(parts.join("&"))
}

fn xml_attributes(value: &Value, args: Rest<Value>, named: Kwargs) -> Result<Value, Error> {
    let args = Arguments::of_filter(args, named);
    let space = args
        .given(0, "autospace")?
        .is_none_or(|flag| flag.is_true());
    args.check(1)?;
    if value.kind() != ValueKind::Map {
        return Err(invalid("`xmlattr` takes a mapping"));
    }
    let mut out = String::new();
    for key in value.try_iter()? {
        check_key(&key)?;
        let item = value.get_item(&key)?;
        if item.is_none() || item.is_undefined() {
            continue;
        }
        let name = printing::str(&key)?;
        if name.contains(|c: char| c.is_whitespace() || "/>=".contains(c)) {
            return Err(invalid(format!(
                "`{name}` is not a valid name for an attribute"
            )));
        }
        let text = printing::str(&item)?;
        let piece = format!(
            "{}=\"{}\"",
            escape::escape(&name),
            escape::escaped(&item, &text)
        );
        budget::spend(piece.len())?;
        budget::limit(out.len())?;
        if space || !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&piece);
    }
    Ok(Value::from(out))
}
