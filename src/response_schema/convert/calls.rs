//! Calls: what opens one, how its body is read, and the shape that it gets.

use crate::diagnostic::Diagnostic;
use crate::json;
use crate::response::pattern::{Node, Syntax};
use crate::response_schema::substitution::{Piece, replacement};
use crate::response_schema::transform::{Expression, Transform};
use crate::value::{Object, Value, pointer_below as below};

use super::pattern::{around, inside, plain, sample, syntax, without_end, written};

/// How an item of a list is read.
#[derive(Debug, Default)]
pub(super) struct Item {
    /// What it begins with, behind what the iterator wants before it.
    pub(super) open: String,
    /// What ends it, before what the iterator wants after it.
    pub(super) close: String,
    pub(super) content: &'static str,
    pub(super) content_args: Object,
    pub(super) transform: Value,
    /// Texts of such items.
    pub(super) samples: Vec<String>,
}

/// What stands for the arguments of a call in texts that are made up.
const ARGUMENTS: [&str; 2] = [r#"{"city": "Ystad", "n": 2}"#, "{}"];

type Found<T> = Result<T, Diagnostic>;

fn refused(pointer: &str, key: &str, message: &str) -> Diagnostic {
    let pointer = match key {
        "" => pointer.to_owned(),
        key => below(pointer, key),
    };
    Diagnostic::new(message).at(pointer)
}

/// How items are read that have this schema.
pub(super) fn item(schema: &Value, pointer: &str) -> Found<Item> {
    match schema.get("x-parser") {
        Some(parser) => json_item(schema, parser, pointer),
        None if schema.get("properties").is_some() => parts_item(schema, pointer),
        None => Err(refused(
            pointer,
            "",
            "items that are neither JSON nor objects of parts have no counterpart",
        )),
    }
}

fn json_item(schema: &Value, parser: &Value, pointer: &str) -> Found<Item> {
    for key in ["x-regex", "x-regex-iterator", "x-regex-key-value"] {
        if schema.get(key).is_some() {
            return Err(refused(
                pointer,
                key,
                "a pattern inside of an item that is JSON has no counterpart",
            ));
        }
    }
    let mut content_args = Object::new();
    if parser.as_str() == Some("gemma4-tool-call") {
        let quote = Value::from("<|\"|>");
        let pair: Value = vec![quote.clone(), quote].into();
        content_args.insert("unquoted_keys", true);
        content_args.insert("string_delims", vec![pair]);
    }
    let args = schema.get("x-parser-args");
    if args.and_then(|args| args.get("allow_non_json")) == Some(&true.into()) {
        content_args.insert("allow_non_json", true);
    }
    let mut item = Item {
        content: "json",
        content_args,
        ..Item::default()
    };
    let keys = function_keys(schema);
    let mut content: Value = "{content}".into();
    let place = below(pointer, "x-regex-substitutions");
    match schema
        .get("x-regex-substitutions")
        .and_then(Value::as_array)
    {
        None | Some([]) => item.samples = json_samples(&keys, &[]),
        Some([one]) => {
            let unlike = || refused(&place, "", "this substitution has no counterpart");
            let (written, replaced) = pair(one).ok_or_else(unlike)?;
            let parsed = syntax(written).ok_or_else(unlike)?;
            if let Some(built) = built_of_groups(&parsed, replaced) {
                item.open = built.open;
                item.close = built.close;
                item.samples = built.samples;
                content = built.value;
            } else if let Some((old, new)) = renamed_key(written, replaced) {
                let renamed = keys.iter().map(|(key, _)| {
                    let from = if *key == new { &old } else { key };
                    (key.as_str(), Value::from(format!("{{content.{from}}}")))
                });
                content = renamed.collect::<Object>().into();
                item.samples = json_samples(&keys, &[(new, old)]);
            } else {
                return Err(unlike());
            }
        }
        Some(_) => {
            return Err(refused(
                &place,
                "",
                "several substitutions of one item have no counterpart",
            ));
        }
    }
    let transform = args.and_then(|args| args.get("transform")?.as_str());
    item.transform = match transform {
        None => content,
        Some(expression) => {
            let place = below(&below(pointer, "x-parser-args"), "transform");
            let transform =
                Transform::new(expression).map_err(|error| refused(&place, "", &error))?;
            reshaped(&transform.expression, &content)
                .ok_or_else(|| refused(&place, "", "this expression has no counterpart: a response template puts values in their places, and decides nothing"))?
        }
    };
    if let (Some(shape), Some(properties)) = (
        item.transform.as_object_mut(),
        schema.get("properties").and_then(Value::as_object),
    ) {
        for (key, property) in properties.iter() {
            if let Some(value) = property.get("const") {
                shape.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(item)
}

fn pair(pair: &Value) -> Option<(&str, &str)> {
    match pair.as_array()? {
        [written, replaced, ..] => Some((written.as_str()?, replaced.as_str()?)),
        _ => None,
    }
}

/// The keys of the function in a call, each with whether it holds an object.
fn function_keys(schema: &Value) -> Vec<(String, bool)> {
    let function = schema.pointer("/properties/function").unwrap_or(schema);
    let properties = function.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flat_map(Object::iter);
    properties
        .filter(|(_, property)| property.get("const").is_none())
        .map(|(key, property)| {
            let is_object = property.get("type").and_then(Value::as_str) == Some("object");
            (key.to_string_lossy().into_owned(), is_object)
        })
        .collect()
}

fn json_samples(keys: &[(String, bool)], renamed: &[(String, String)]) -> Vec<String> {
    let sample = |arguments: &str| {
        let pairs = keys.iter().map(|(key, is_object)| {
            let old = renamed.iter().find(|(new, _)| new == key);
            let key = old.map_or(key, |(_, old)| old);
            let value = if *is_object { arguments } else { "\"go\"" };
            format!("\"{key}\": {value}")
        });
        format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
    };
    ARGUMENTS.map(sample).to_vec()
}

/// JSON that a substitution builds of the groups of its pattern.
struct Built {
    open: String,
    close: String,
    value: Value,
    samples: Vec<String>,
}

fn built_of_groups(parsed: &Syntax, replaced: &str) -> Option<Built> {
    let pieces = replacement(replaced, &parsed.groups).ok()?;
    // Each group stands for itself: between quotes for a text, otherwise for JSON.
    let mut skeleton = String::new();
    let mut body = None;
    let mut texts = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => skeleton.push_str(text),
            Piece::Group(0) => return None,
            Piece::Group(group) => {
                let quoted_after = matches!(pieces.get(index + 1), Some(Piece::Text(text)) if text.starts_with('"'));
                if skeleton.ends_with('"') && quoted_after {
                    texts.push(*group);
                    skeleton.push_str(&format!("{{group{group}}}"));
                } else if body.replace(*group).is_none() {
                    skeleton.push_str("\"{content}\"");
                } else {
                    return None;
                }
            }
        }
    }
    let value = json::read(&skeleton).ok()?;
    let body = body?;
    let Node::Concat(nodes) = &parsed.node else {
        return None;
    };
    let at = nodes
        .iter()
        .position(|node| matches!(node, Node::Group { index, .. } if index + 1 == body))?;
    let name = |index: usize| {
        texts
            .contains(&(index + 1))
            .then(|| format!("group{}", index + 1))
    };
    let samples = ARGUMENTS.iter().filter_map(|arguments| {
        let fill =
            |index: usize| Some(if index + 1 == body { *arguments } else { "go" }.to_owned());
        sample(&parsed.node, &fill, false)
    });
    Some(Built {
        open: written(&nodes[..at], &name),
        close: plain(&nodes[at + 1..]),
        value,
        samples: samples.collect(),
    })
}

/// The key that a substitution renames, and its new name.
fn renamed_key(written: &str, replaced: &str) -> Option<(String, String)> {
    let old = last_key(written)?;
    let new = last_key(replaced)?;
    (replaced.starts_with("\\1") && old != new).then_some((old, new))
}

/// The last `"key":` in a text.
fn last_key(text: &str) -> Option<String> {
    let end = text.rfind("\":")?;
    let start = text[..end].rfind('"')? + 1;
    let key = &text[start..end];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    (!key.is_empty() && key.chars().all(is_word)).then(|| key.to_owned())
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

/// An item whose parts are found by patterns of their own: a name, and arguments.
fn parts_item(schema: &Value, pointer: &str) -> Found<Item> {
    let mut item = Item::default();
    let mut parts = Parts {
        item: &mut item,
        names: 0,
        samples: vec![String::new(); ARGUMENTS.len()],
    };
    let transform = parts.object(schema, pointer)?;
    let samples = std::mem::take(&mut parts.samples);
    if item.content.is_empty() {
        return Err(refused(
            pointer,
            "",
            "nothing in it reads the arguments of a call",
        ));
    }
    item.transform = transform;
    item.samples = samples;
    Ok(item)
}

struct Parts<'i> {
    item: &'i mut Item,
    /// How many names have been found.
    names: usize,
    samples: Vec<String>,
}

impl Parts<'_> {
    fn object(&mut self, schema: &Value, pointer: &str) -> Found<Value> {
        let mut shape = Object::new();
        let place = below(pointer, "properties");
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, property) in properties.into_iter().flat_map(Object::iter) {
            let key = key.to_string_lossy();
            let value = self.property(&key, property, &below(&place, &key))?;
            shape.insert(&*key, value);
        }
        Ok(shape.into())
    }

    fn property(&mut self, key: &str, schema: &Value, pointer: &str) -> Found<Value> {
        if let Some(value) = schema.get("const") {
            return Ok(value.clone());
        }
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        if let Some(pattern) = text("x-regex-key-value") {
            return self.pairs(pattern, schema, pointer);
        }
        match (text("x-regex"), text("x-parser")) {
            (Some(pattern), Some("json")) => self.json(pattern, pointer),
            (Some(pattern), None) if text("type") == Some("string") => {
                self.name(key, pattern, pointer)
            }
            (None, None) if schema.get("properties").is_some() => self.object(schema, pointer),
            _ => Err(refused(
                pointer,
                "",
                "this part of an item has no counterpart",
            )),
        }
    }

    fn name(&mut self, key: &str, pattern: &str, pointer: &str) -> Found<Value> {
        let unlike = || refused(pointer, "x-regex", "this pattern has no counterpart");
        let parsed = syntax(pattern).ok_or_else(unlike)?;
        self.names += 1;
        if self.names > 1 || !self.item.content.is_empty() || parsed.groups.len() != 1 {
            return Err(refused(
                pointer,
                "x-regex",
                "only one text may stand before the arguments",
            ));
        }
        let nodes = match &parsed.node {
            Node::Concat(nodes) => nodes.as_slice(),
            other => std::slice::from_ref(other),
        };
        let looks = nodes
            .iter()
            .take_while(|node| matches!(node, Node::Look(_)));
        let nodes = &nodes[looks.count()..];
        self.item
            .open
            .push_str(&written(nodes, &|_| Some(key.to_owned())));
        let text = sample(&parsed.node, &|_| Some("go".into()), false).ok_or_else(unlike)?;
        self.samples
            .iter_mut()
            .for_each(|sample| sample.push_str(&text));
        Ok(format!("{{{key}}}").into())
    }

    fn json(&mut self, pattern: &str, pointer: &str) -> Found<Value> {
        let unlike = || refused(pointer, "x-regex", "this pattern has no counterpart");
        let parsed = syntax(pattern).ok_or_else(unlike)?;
        let found = around(&parsed.node, 0, &|_| false).ok_or_else(unlike)?;
        self.begin("json", pointer)?;
        let before = plain(&found.before);
        self.item
            .open
            .push_str(if before.is_empty() { "" } else { ".*?" });
        self.item.open.push_str(&before);
        self.item.close = plain(&without_end(&found.after));
        for (text, arguments) in self.samples.iter_mut().zip(ARGUMENTS) {
            let fill = |_| Some(arguments.to_owned());
            text.push_str(&sample(&parsed.node, &fill, false).ok_or_else(unlike)?);
        }
        Ok("{content}".into())
    }

    fn pairs(&mut self, pattern: &str, schema: &Value, pointer: &str) -> Found<Value> {
        let unlike = || {
            refused(
                pointer,
                "x-regex-key-value",
                "this pattern has no counterpart",
            )
        };
        if schema.get("x-regex").is_some() {
            return Err(refused(
                pointer,
                "x-regex",
                "a pattern before the pairs has no counterpart",
            ));
        }
        if let Some(named) = schema.get("properties").and_then(Value::as_object)
            && !named.is_empty()
        {
            return Err(refused(
                pointer,
                "properties",
                "arguments that are read by their names have no counterpart",
            ));
        }
        self.begin("xml-inline", pointer)?;
        let parsed = syntax(pattern).ok_or_else(unlike)?;
        let names = parsed.groups.clone();
        let name = |index: usize| names.get(index).filter(|name| !name.is_empty()).cloned();
        let tag = written(std::slice::from_ref(&parsed.node), &name);
        let values = schema.get("additionalProperties");
        let place = below(pointer, "additionalProperties");
        self.item.content_args.insert("tag_pattern", tag);
        self.item
            .content_args
            .insert("value_parser", value_parser(values, &place)?);
        let is_key = |index: usize| names.get(index).is_some_and(|name| name == "key");
        for (key, value) in [("city", "Ystad"), ("n", "2")] {
            let fill = |index: usize| Some(if is_key(index) { key } else { value }.to_owned());
            let text = sample(&parsed.node, &fill, true).ok_or_else(unlike)?;
            self.samples[0].push_str(&format!("\n{text}"));
        }
        self.samples[0].push('\n');
        self.samples.truncate(1);
        Ok("{content}".into())
    }

    fn begin(&mut self, content: &'static str, pointer: &str) -> Found<()> {
        match self.item.content {
            "" => self.item.content = content,
            _ => {
                return Err(refused(
                    pointer,
                    "",
                    "only one part of an item may hold arguments",
                ));
            }
        }
        Ok(())
    }
}

/// How the values of pairs are read.
fn value_parser(schema: Option<&Value>, pointer: &str) -> Found<Value> {
    let empty = Value::from(Object::new());
    let schema = match schema {
        None | Some(Value::Bool(true)) => &empty,
        Some(Value::Bool(false)) => {
            return Err(refused(
                pointer,
                "",
                "pairs that are all left out have no counterpart",
            ));
        }
        Some(schema) => schema,
    };
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let plain = Object::from_iter([("strip", false)]);
    let (name, args) = match (text("x-parser"), text("type")) {
        (Some("json"), _) => {
            let allow = schema.pointer("/x-parser-args/allow_non_json") == Some(&true.into());
            let args = [("allow_non_json", allow), ("strip", false)];
            (
                "json",
                Object::from_iter(args.into_iter().filter(|(_, given)| *given || allow)),
            )
        }
        (None, None | Some("string" | "any")) => ("text", plain),
        (None, Some("integer")) => ("int", Object::new()),
        (None, Some("number")) => ("float", Object::new()),
        _ => {
            return Err(refused(
                pointer,
                "",
                "values read like this have no counterpart",
            ));
        }
    };
    let mut parser = Object::from_iter([("name", Value::from(name))]);
    if !args.is_empty() {
        parser.insert("args", args);
    }
    Ok(parser.into())
}

/// What a list is found by that is one text, given its iterator: the inside of the group.
pub(super) fn body(parsed: &Syntax) -> Option<&Node> {
    inside(&parsed.node, 0)
}
