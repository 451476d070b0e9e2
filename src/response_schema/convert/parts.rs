//! Items whose parts are found by patterns of their own: a name, and arguments.

use crate::response::pattern::{Node, Syntax};
use crate::value::{Object, Value};

use super::group_context::{around, syntax, without_end};
use super::item::Item;
use super::part::{Found, Subschema};
use super::sample::{ARGUMENTS, NAME, PAIRS, sample};
use super::write::{plain, written};

const UNLIKE: &str = "this pattern has no counterpart";

pub(super) fn item(part: &Subschema<'_>) -> Found<Item> {
    let mut parts = Parts {
        item: Item {
            samples: vec![String::new(); ARGUMENTS.len()],
            ..Item::default()
        },
        has_name: false,
    };
    let transform = parts.object(part)?;
    match parts.item.content {
        "" => Err(part.refused("nothing in it reads the arguments of a call")),
        _ => Ok(Item {
            transform,
            ..parts.item
        }),
    }
}

/// The item, as far as its parts are known.
struct Parts {
    item: Item,
    has_name: bool,
}

impl Parts {
    /// The shape of an object, with placeholders for what is read.
    fn object(&mut self, part: &Subschema<'_>) -> Found<Value> {
        let mut shape = Object::new();
        for (key, property) in part.properties() {
            let value = self.property(&key, &property)?;
            shape.insert(key, value);
        }
        Ok(shape.into())
    }

    fn property(&mut self, key: &str, part: &Subschema<'_>) -> Found<Value> {
        if let Some(value) = part.constant() {
            return Ok(value.clone());
        }
        if let Some(pattern) = part.text("x-regex-key-value") {
            return self.pairs(pattern, part);
        }
        match (part.text("x-regex"), part.text("x-parser")) {
            (Some(pattern), Some("json")) => self.json(pattern, part),
            (Some(pattern), None) if part.text("type") == Some("string") => {
                self.name(key, pattern, part)
            }
            (None, None) if part.has("properties") => self.object(part),
            _ => Err(part.refused("this part of an item has no counterpart")),
        }
    }

    /// A text before the arguments, which opens the item.
    fn name(&mut self, key: &str, pattern: &str, part: &Subschema<'_>) -> Found<Value> {
        let parsed = parsed(pattern, part, "x-regex")?;
        if self.has_name || !self.item.content.is_empty() || parsed.groups.len() != 1 {
            let message = "only one text may stand before the arguments";
            return Err(part.refused_at("x-regex", message));
        }
        self.has_name = true;
        let nodes = match &parsed.node {
            Node::Concat(nodes) => nodes.as_slice(),
            other => std::slice::from_ref(other),
        };
        // Where the item begins is where its opener is looked for.
        let is_look = |node: &&Node| matches!(node, Node::Look(_));
        let looks = nodes.iter().take_while(is_look).count();
        let open = written(&nodes[looks..], &|_| Some(key.to_owned()));
        self.item.open.push_str(&open);
        self.add_to_samples(&parsed, part, [NAME; 2])?;
        Ok(format!("{{{key}}}").into())
    }

    /// Arguments that are JSON.
    fn json(&mut self, pattern: &str, part: &Subschema<'_>) -> Found<Value> {
        let parsed = parsed(pattern, part, "x-regex")?;
        let found = around(&parsed.node, 0, &|_| false);
        let found = found.ok_or_else(|| part.refused_at("x-regex", UNLIKE))?;
        self.begin_arguments("json", part)?;
        let before = plain(&found.before);
        if !before.is_empty() {
            self.item.open.push_str(".*?");
            self.item.open.push_str(&before);
        }
        self.item.close = plain(&without_end(&found.after));
        self.add_to_samples(&parsed, part, ARGUMENTS)?;
        Ok("{content}".into())
    }

    /// Arguments each of which is found by a pattern.
    fn pairs(&mut self, pattern: &str, part: &Subschema<'_>) -> Found<Value> {
        if part.has("x-regex") {
            let message = "a pattern before the pairs has no counterpart";
            return Err(part.refused_at("x-regex", message));
        }
        if !part.properties().is_empty() {
            let message = "arguments that are read by their names have no counterpart";
            return Err(part.refused_at("properties", message));
        }
        self.begin_arguments("xml-inline", part)?;
        let parsed = parsed(pattern, part, "x-regex-key-value")?;
        let group = |index: usize| parsed.groups.get(index).filter(|name| !name.is_empty());
        let tag = written(std::slice::from_ref(&parsed.node), &|index| {
            group(index).cloned()
        });
        self.item.content_args.insert("tag_pattern", tag);
        let values = value_parser(&part.inner("additionalProperties"))?;
        self.item.content_args.insert("value_parser", values);
        // One call has all of the pairs.
        let mut call = self.item.samples.swap_remove(0);
        for (key, value) in PAIRS {
            let is_key = |index: usize| group(index).is_some_and(|name| name == "key");
            let fill = |index: usize| Some(if is_key(index) { key } else { value }.to_owned());
            let text = sample(&parsed.node, &fill, true);
            let text = text.ok_or_else(|| part.refused_at("x-regex-key-value", UNLIKE))?;
            call.push_str(&format!("\n{text}"));
        }
        call.push('\n');
        self.item.samples = vec![call];
        Ok("{content}".into())
    }

    fn begin_arguments(&mut self, content: &'static str, part: &Subschema<'_>) -> Found<()> {
        match self.item.content {
            "" => self.item.content = content,
            _ => return Err(part.refused("only one part of an item may hold arguments")),
        }
        Ok(())
    }

    /// Adds what a pattern matches whose group is filled in.
    fn add_to_samples(
        &mut self,
        parsed: &Syntax,
        part: &Subschema<'_>,
        group: [&str; ARGUMENTS.len()],
    ) -> Found<()> {
        for (so_far, group) in self.item.samples.iter_mut().zip(group) {
            let text = sample(&parsed.node, &|_| Some(group.to_owned()), false);
            so_far.push_str(&text.ok_or_else(|| part.refused_at("x-regex", UNLIKE))?);
        }
        Ok(())
    }
}

fn parsed(pattern: &str, part: &Subschema<'_>, key: &str) -> Found<Syntax> {
    syntax(pattern).ok_or_else(|| part.refused_at(key, UNLIKE))
}

/// How the values of pairs are read.
fn value_parser(part: &Subschema<'_>) -> Found<Value> {
    let allows_text = part.inner("x-parser-args").value.get("allow_non_json") == Some(&true.into());
    let (name, args) = match (part.value, part.text("x-parser"), part.text("type")) {
        (Value::Bool(false), ..) => {
            return Err(part.refused("pairs that are all left out have no counterpart"));
        }
        (_, Some("json"), _) if allows_text => (
            "json",
            Object::from_iter([("allow_non_json", true), ("strip", false)]),
        ),
        (_, Some("json"), _) => ("json", Object::new()),
        (_, None, None | Some("string" | "any")) => ("text", Object::from_iter([("strip", false)])),
        (_, None, Some("integer")) => ("int", Object::new()),
        (_, None, Some("number")) => ("float", Object::new()),
        _ => return Err(part.refused("values read like this have no counterpart")),
    };
    let mut parser = Object::from_iter([("name", Value::from(name))]);
    if !args.is_empty() {
        parser.insert("args", args);
    }
    Ok(parser.into())
}
