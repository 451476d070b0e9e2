//! Arguments of content parsers, chosen by fuzz bytes.

use arbitrary::{Result, Unstructured};
use unjinja::{Object, Value};

use crate::pattern;

/// Tag patterns as templates hold them, or nearly so.
const TAG_PATTERNS: &[&str] = &[
    r"<p=(?P<key>\w+)>\s*(?P<value>.*?)\s*</p>",
    r"<p=(?P<key>\w+)>(?P<value>.*?)(?:</p>|(?=<p=)|\Z)",
    r"<(?P<key>\w+)>(?P<value>[^<]*)",
    r"(?P<key>\w+)=(?P<value>\d+)?",
    r"(?P<key>\w*)(?P<value>.)?",
    r"(?P<key>a+?)(?P<value>b*+)",
    r"(?P<key>\w)(?=(?P<value>.{0,9}))",
    r"(?P<key>\w+)",
];

/// Markers of strings, and separators of lines and of keys.
const MARKERS: &[&str] = &[
    "<|q|>", "<|\"|>", "'", "`", "<", "a", "\"", "\n", ":", "=", "é",
];

/// A marker or separator: one of the list, or any short text. It may be empty, which is refused.
pub fn marker(u: &mut Unstructured<'_>) -> Result<String> {
    if u.ratio(1, 4)? {
        return Ok(u.arbitrary::<&str>()?.chars().take(4).collect());
    }
    Ok((*u.choose(MARKERS)?).into())
}

/// Arguments of `json`.
pub fn json(u: &mut Unstructured<'_>) -> Result<Object> {
    let mut args = Object::new();
    args.insert("unquoted_keys", u.arbitrary::<bool>()?);
    args.insert("allow_non_json", u.arbitrary::<bool>()?);
    args.insert("strip", u.arbitrary::<bool>()?);
    let mut pairs = Vec::new();
    for _ in 0..u.int_in_range(0..=2)? {
        let open = marker(u)?;
        let close = if u.arbitrary()? {
            open.clone()
        } else {
            marker(u)?
        };
        pairs.push(Value::Array(vec![open.into(), close.into()]));
    }
    args.insert("string_delims", pairs);
    Ok(args)
}

/// Arguments of `xml-inline`.
pub fn xml_inline(u: &mut Unstructured<'_>) -> Result<Object> {
    let mut args = Object::new();
    let tag_pattern = if u.ratio(3, 4)? {
        (*u.choose(TAG_PATTERNS)?).to_owned()
    } else {
        pattern::any(u)?.text
    };
    args.insert("tag_pattern", tag_pattern);
    args.insert("merge_duplicates", u.arbitrary::<bool>()?);
    if let Some(parser) = value_parser(u, 2)? {
        args.insert("value_parser", parser);
    }
    Ok(args)
}

/// Arguments of `kv-lines`.
pub fn kv_lines(u: &mut Unstructured<'_>) -> Result<Object> {
    let mut args = Object::new();
    if u.arbitrary()? {
        args.insert("line_sep", marker(u)?);
    }
    if u.arbitrary()? {
        args.insert("kv_sep", marker(u)?);
    }
    args.insert("strip", u.arbitrary::<bool>()?);
    if let Some(parser) = value_parser(u, 2)? {
        args.insert("value_parser", parser);
    }
    Ok(args)
}

/// A parser for the values inside of a region, or none. Parsers nest at most this deep.
fn value_parser(u: &mut Unstructured<'_>, depth: usize) -> Result<Option<Object>> {
    if depth == 0 || u.arbitrary()? {
        return Ok(None);
    }
    let name = *u.choose(&["text", "int", "float", "bool", "json", "kv-lines"])?;
    let mut parser = Object::new();
    parser.insert("name", name);
    match name {
        "json" => {
            parser.insert("args", json(u)?);
        }
        "kv-lines" => {
            let mut args = Object::from_iter([("kv_sep", marker(u)?)]);
            if let Some(inner) = value_parser(u, depth - 1)? {
                args.insert("value_parser", inner);
            }
            parser.insert("args", args);
        }
        _ => {
            parser.insert(
                "args",
                Object::from_iter([("strip", u.arbitrary::<bool>()?)]),
            );
        }
    }
    Ok(Some(parser))
}

/// The name of a parser and arguments for it.
pub fn any(u: &mut Unstructured<'_>) -> Result<(&'static str, Object)> {
    let name = *u.choose(&[
        "text",
        "text",
        "text",
        "int",
        "float",
        "bool",
        "json",
        "json",
        "xml-inline",
        "kv-lines",
        "python-call-list",
    ])?;
    let args = match name {
        "json" => json(u)?,
        "xml-inline" => xml_inline(u)?,
        "kv-lines" => kv_lines(u)?,
        _ => Object::from_iter([("strip", u.arbitrary::<bool>()?)]),
    };
    Ok((name, args))
}
