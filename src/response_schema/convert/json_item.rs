//! Items that are JSON, or are made JSON by a substitution.

use crate::json;
use crate::response::pattern::{Node, Syntax};
use crate::response_schema::substitution::{Piece, replacement};
use crate::response_schema::transform::{Expression, Transform};
use crate::value::{Object, Value};

use super::group_context::syntax;
use super::item::Item;
use super::part::{Found, Subschema};
use super::sample::{ARGUMENTS, NAME, sample};
use super::write::{plain, written};

pub(super) fn item(part: &Subschema<'_>) -> Found<Item> {
    for key in ["x-regex", "x-regex-iterator", "x-regex-key-value"] {
        if part.has(key) {
            let message = "a pattern inside of an item that is JSON has no counterpart";
            return Err(part.refused_at(key, message));
        }
    }
    let mut item = Item {
        content: "json",
        content_args: content_args(part),
        ..Item::default()
    };
    let content = substituted(part, &mut item)?;
    item.transform = transform(part, content)?;
    put_constants(part, &mut item.transform);
    Ok(item)
}

fn content_args(part: &Subschema<'_>) -> Object {
    let mut args = Object::new();
    if part.text("x-parser") == Some("gemma4-tool-call") {
        let quote = Value::from("<|\"|>");
        let pair: Value = vec![quote.clone(), quote].into();
        args.insert("unquoted_keys", true);
        args.insert("string_delims", vec![pair]);
    }
    if part.inner("x-parser-args").value.get("allow_non_json") == Some(&true.into()) {
        args.insert("allow_non_json", true);
    }
    args
}

/// What stands for the item once its substitution is made.
fn substituted(part: &Subschema<'_>, item: &mut Item) -> Found<Value> {
    let keys = function_keys(part);
    let refused = |message| part.refused_at("x-regex-substitutions", message);
    let pair = match part.list("x-regex-substitutions") {
        [] => {
            item.samples = samples(&keys, None);
            return Ok("{content}".into());
        }
        [pair] => pair,
        _ => {
            return Err(refused(
                "several substitutions of one item have no counterpart",
            ));
        }
    };
    let unlike = || refused("this substitution has no counterpart");
    let [Some(pattern), Some(new), ..] = [0, 1].map(|at| pair.as_array()?.get(at)?.as_str()) else {
        return Err(unlike());
    };
    let parsed = syntax(pattern).ok_or_else(unlike)?;
    if let Some(built) = built_of_groups(&parsed, new) {
        item.open = built.open;
        item.close = built.close;
        item.samples = built.samples;
        return Ok(built.value);
    }
    let renamed = renamed_key(pattern, new).ok_or_else(unlike)?;
    item.samples = samples(&keys, Some(&renamed));
    let members = keys.iter().map(|(key, _)| {
        let from = if *key == renamed.new {
            &renamed.old
        } else {
            key
        };
        (key.as_str(), Value::from(format!("{{content.{from}}}")))
    });
    Ok(members.collect::<Object>().into())
}

/// The keys of the function in a call, each with whether it holds an object.
fn function_keys(part: &Subschema<'_>) -> Vec<(String, bool)> {
    let mut properties = part.properties();
    if let Some(at) = properties.iter().position(|(key, _)| key == "function") {
        properties = properties[at].1.properties();
    }
    let read = properties
        .into_iter()
        .filter(|(_, part)| part.constant().is_none());
    read.map(|(key, part)| (key, part.text("type") == Some("object")))
        .collect()
}

fn samples(keys: &[(String, bool)], renamed: Option<&Renamed>) -> Vec<String> {
    let sample = |arguments: &str| {
        let pairs = keys.iter().map(|(key, is_object)| {
            let renamed = renamed.filter(|renamed| renamed.new == *key);
            let key = renamed.map_or(key, |renamed| &renamed.old);
            let value = if *is_object { arguments } else { &quoted(NAME) };
            format!("{}: {value}", quoted(key))
        });
        format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
    };
    ARGUMENTS.map(sample).to_vec()
}

fn quoted(text: &str) -> String {
    json::write(&text.into())
}

/// JSON that a substitution builds of the groups of its pattern.
struct Built {
    open: String,
    close: String,
    value: Value,
    samples: Vec<String>,
}

fn built_of_groups(parsed: &Syntax, new: &str) -> Option<Built> {
    let (skeleton, body, names) = skeleton(parsed, new)?;
    let Node::Concat(nodes) = &parsed.node else {
        return None;
    };
    let is_body = |node: &Node| matches!(node, Node::Group { index, .. } if *index == body);
    let at = nodes.iter().position(is_body)?;
    let name = |index: usize| names.contains(&index).then(|| group_name(index));
    let samples = ARGUMENTS.iter().filter_map(|arguments| {
        let fill = |index: usize| Some(if index == body { *arguments } else { NAME }.to_owned());
        sample(&parsed.node, &fill, false)
    });
    Some(Built {
        open: written(&nodes[..at], &name),
        close: plain(&nodes[at + 1..]),
        value: json::read(&skeleton).ok()?,
        samples: samples.collect(),
    })
}

/// What a substitution writes, with placeholders: a group between quotes is a text that opens the item,
/// the one group without quotes is the JSON in it. With the number of that one, and of the others.
fn skeleton(parsed: &Syntax, new: &str) -> Option<(String, usize, Vec<usize>)> {
    let pieces = replacement(new, &parsed.groups).ok()?;
    let mut skeleton = String::new();
    let mut body = None;
    let mut names = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => skeleton.push_str(text),
            Piece::Group(group) => {
                let index = group.checked_sub(1)?;
                let quoted_after =
                    matches!(pieces.get(at + 1), Some(Piece::Text(text)) if text.starts_with('"'));
                if skeleton.ends_with('"') && quoted_after {
                    names.push(index);
                    skeleton.push_str(&format!("{{{}}}", group_name(index)));
                } else if body.replace(index).is_none() {
                    skeleton.push_str("\"{content}\"");
                } else {
                    return None;
                }
            }
        }
    }
    Some((skeleton, body?, names))
}

fn group_name(index: usize) -> String {
    format!("group{}", index + 1)
}

/// A key that a substitution renames.
struct Renamed {
    old: String,
    new: String,
}

/// The key that is renamed, if the substitution keeps what stands before it.
fn renamed_key(pattern: &str, new: &str) -> Option<Renamed> {
    let renamed = Renamed {
        old: last_key(pattern)?,
        new: last_key(new)?,
    };
    (new.starts_with("\\1") && renamed.old != renamed.new).then_some(renamed)
}

/// The last `"key":` in a text.
fn last_key(text: &str) -> Option<String> {
    let end = text.rfind("\":")?;
    let start = text[..end].rfind('"')? + 1;
    let key = &text[start..end];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    (!key.is_empty() && key.chars().all(is_word)).then(|| key.to_owned())
}

/// What the schema's own transform makes of placeholders.
fn transform(part: &Subschema<'_>, content: Value) -> Found<Value> {
    let args = part.inner("x-parser-args");
    let Some(expression) = args.text("transform") else {
        return Ok(content);
    };
    let refused = |message: &str| args.refused_at("transform", message);
    let transform = Transform::new(expression).map_err(|error| refused(&error))?;
    reshaped(&transform.expression, &content).ok_or_else(|| {
        refused(
            "this expression has no counterpart: a response template puts values in their places, and \
             decides nothing",
        )
    })
}

/// What an expression makes of placeholders, as far as it only puts values in their places.
fn reshaped(expression: &Expression, content: &Value) -> Option<Value> {
    Some(match expression {
        Expression::Current => content.clone(),
        Expression::Literal(value) => value.clone(),
        Expression::Field(name) => match content {
            Value::Object(object) => object.get(name)?.clone(),
            placeholder => {
                let inner = placeholder.as_str()?.strip_suffix('}')?;
                format!("{inner}.{name}}}").into()
            }
        },
        Expression::Then(first, second) => reshaped(second, &reshaped(first, content)?)?,
        Expression::Hash(pairs) => {
            let pairs = pairs.iter();
            let pairs = pairs.map(|(key, value)| Some((key.as_str(), reshaped(value, content)?)));
            pairs.collect::<Option<Object>>()?.into()
        }
        _ => return None,
    })
}

/// Puts the properties that are constants into the shape of an item.
fn put_constants(part: &Subschema<'_>, transform: &mut Value) {
    let Some(shape) = transform.as_object_mut() else {
        return;
    };
    for (key, property) in part.properties() {
        if let Some(value) = property.constant() {
            shape.insert(key, value.clone());
        }
    }
}
