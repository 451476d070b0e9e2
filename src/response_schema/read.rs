//! Reading a text with a schema.

mod shape;

use std::borrow::Cow;
use std::ops::ControlFlow;

use crate::json;
use crate::response::pattern::{Match, Pattern, TooCostly};
use crate::value::{Object, Value};

use super::ReadError;
use super::budget::{Budget, Exhausted};
use super::schema::{Inner, JsonParser, Node, NodeKind, Parser, Shape, Steps};
use super::substitution;
use super::unquoted_keys;

pub(super) fn read(schema: &Inner, text: &str) -> Result<Value> {
    let mut reader = SchemaReader {
        budget: Budget::new(text.len(), schema.schemas),
    };
    reader.node(&schema.root, Content::Text(text))
}

/// What a schema is given.
#[derive(Debug, Clone, Copy)]
enum Content<'c> {
    Text(&'c str),
    /// Anything but a text.
    Value(&'c Value),
}

impl<'c> Content<'c> {
    fn of(value: &'c Value) -> Content<'c> {
        match value.as_str() {
            Some(text) => Content::Text(text),
            None => Content::Value(value),
        }
    }

    fn type_name(self) -> &'static str {
        match self {
            Content::Text(_) => "a text",
            // Only a string with lone surrogates is no text.
            Content::Value(Value::String(_)) => "a string with lone surrogates",
            Content::Value(value) => value.type_name(),
        }
    }

    /// Whether it is true as Python has it.
    fn is_true(self) -> bool {
        match self {
            Content::Text(text) => !text.is_empty(),
            Content::Value(Value::Bool(bool)) => *bool,
            Content::Value(Value::Number(number)) => number.as_f64() != 0.0,
            Content::Value(value) => !value.is_empty(),
        }
    }

    /// How many bytes of text it holds, without what stands deeper in it.
    fn bytes(self) -> usize {
        match self {
            Content::Text(text) => text.len(),
            Content::Value(_) => 0,
        }
    }
}

struct SchemaReader {
    budget: Budget,
}

type Result<T> = std::result::Result<T, ReadError>;

impl Node {
    fn error(&self, message: impl Into<String>) -> ReadError {
        ReadError {
            pointer: self.pointer.clone(),
            message: message.into(),
        }
    }

    fn expected(&self, what: &str, found: Content<'_>) -> ReadError {
        match found {
            Content::Text(text) => {
                self.error(format!("expected {what}, found the text {}", excerpt(text)))
            }
            Content::Value(_) => {
                self.error(format!("expected {what}, found {}", found.type_name()))
            }
        }
    }

    fn too_costly(&self, _: TooCostly) -> ReadError {
        self.error(
            "a pattern takes too many steps: replace its lookaround, its large repeats, or what makes it \
             read the same text again",
        )
    }

    fn too_large(&self, _: Exhausted) -> ReadError {
        self.error(
            "the schemas go over the same text too often, or make many times as much of it as there is",
        )
    }
}

impl SchemaReader {
    fn node(&mut self, node: &Node, content: Content<'_>) -> Result<Value> {
        let counted = self.budget.read(content.bytes());
        counted.map_err(|exhausted| node.too_large(exhausted))?;
        let steps = match &node.kind {
            NodeKind::Const(value) => return self.copied(node, value),
            NodeKind::Read(steps) => steps,
        };
        if let Content::Value(Value::Null) = content {
            return Ok(Value::Null);
        }
        if !steps.wants_text {
            return self.parsed(node, steps, content);
        }
        match content {
            Content::Text(text) => self.found(node, steps, text),
            other => Err(node.expected("a text for its patterns", other)),
        }
    }

    /// Goes on with what the patterns find in a text, if they find any.
    fn found(&mut self, node: &Node, steps: &Steps, text: &str) -> Result<Value> {
        let mut text = Cow::Borrowed(text);
        for substitution in &steps.substitutions {
            self.budget.meter.grow(text.len());
            let substituted = substitution.apply(&text, &mut self.budget);
            text = Cow::Owned(substituted.map_err(|fault| match fault {
                substitution::Fault::TooCostly => node.too_costly(TooCostly),
                substitution::Fault::TooLarge => node.too_large(Exhausted),
            })?);
        }
        let matched;
        let mut content = Content::Text(&text);
        if let Some(regex) = &steps.regex {
            matched = match self.first_match(node, regex, &text)? {
                Some(found) => found,
                None => return Ok(Value::Null),
            };
            content = Content::of(&matched);
        }
        let items;
        if let Some(iterator) = &steps.iterator {
            if !matches!(steps.shape, Shape::Array(_)) {
                return Err(node.error("`x-regex-iterator` is for an `array`, but this is not one"));
            }
            let Content::Text(text) = content else {
                return Err(node.expected("a text for `x-regex-iterator`", content));
            };
            let found = self.all_matches(node, iterator, text)?;
            if found.is_empty() {
                return Ok(Value::Null);
            }
            items = Value::Array(found);
            content = Content::Value(&items);
        }
        let pairs;
        if let Some(key_value) = &steps.key_value {
            if !matches!(steps.shape, Shape::Object(_)) {
                return Err(
                    node.error("`x-regex-key-value` is for an `object`, but this is not one")
                );
            }
            let Content::Text(text) = content else {
                return Err(node.expected("a text for `x-regex-key-value`", content));
            };
            let found = self.key_values(node, key_value, text)?;
            if found.is_empty() {
                return Ok(Value::Null);
            }
            pairs = Value::Object(found);
            content = Content::Value(&pairs);
        }
        self.parsed(node, steps, content)
    }

    /// What the first match of a pattern gives, if there is one.
    fn first_match(&mut self, node: &Node, pattern: &Pattern, text: &str) -> Result<Option<Value>> {
        let mut first = None;
        self.matches(node, pattern, text, |_, value| {
            first = Some(value);
            Ok(ControlFlow::Break(()))
        })?;
        Ok(first)
    }

    fn all_matches(&mut self, node: &Node, pattern: &Pattern, text: &str) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        self.matches(node, pattern, text, |_, value| {
            all.push(value);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(all)
    }

    fn key_values(&mut self, node: &Node, pattern: &Pattern, text: &str) -> Result<Object> {
        let mut object = Object::new();
        self.matches(node, pattern, text, |_, value| {
            let part = |name| value.get(name).and_then(Value::as_json_string);
            let (Some(key), Some(value)) = (part("key"), part("value")) else {
                return Err(node.error(
                    "a match of `x-regex-key-value` lacks the group `key` or the group `value`",
                ));
            };
            object.insert(key.clone(), Value::String(value.clone()));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(object)
    }

    /// Visits the matches of a pattern with what each of them gives.
    fn matches(
        &mut self,
        node: &Node,
        pattern: &Pattern,
        text: &str,
        mut visit: impl FnMut(&mut Budget, Value) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut meter = self.budget.meter.clone();
        meter.grow(text.len());
        let mut failed = None;
        let searched = pattern.for_each_match_within(text, &mut meter, |found| {
            let value = self.match_value(node, pattern, text, &found);
            match value.and_then(|value| visit(&mut self.budget, value)) {
                Ok(flow) => flow,
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        self.budget.meter = meter;
        searched.map_err(|costly| node.too_costly(costly))?;
        failed.map_or(Ok(()), Err)
    }

    /// What a match gives: an object of the groups that have names and took part, or else the text of
    /// the one group that there has to be.
    fn match_value(
        &mut self,
        node: &Node,
        pattern: &Pattern,
        text: &str,
        found: &Match<'_>,
    ) -> Result<Value> {
        let groups = pattern.groups();
        let mut copied = |index| -> Result<Option<Value>> {
            let Some(range) = found.group(index) else {
                return Ok(None);
            };
            let counted = self.budget.make(range.len());
            counted.map_err(|exhausted| node.too_large(exhausted))?;
            Ok(Some(text[range].into()))
        };
        if groups.iter().any(|name| !name.is_empty()) {
            let mut object = Object::new();
            for (index, name) in groups.iter().enumerate() {
                if !name.is_empty()
                    && let Some(value) = copied(index)?
                {
                    object.insert(name.as_str(), value);
                }
            }
            return Ok(object.into());
        }
        match groups.len() {
            0 => Err(node.error(
                "the pattern is found, and has no group: put what is to be read into one `(…)`",
            )),
            1 => Ok(copied(0)?.unwrap_or_default()),
            count => Err(node.error(format!(
                "the pattern is found, and has {count} groups without names, where one is to be read: \
                 write `(?:…)` for the others"
            ))),
        }
    }

    /// Goes on with what the parser makes of the content.
    fn parsed(&mut self, node: &Node, steps: &Steps, content: Content<'_>) -> Result<Value> {
        let parser = match &steps.parser {
            None => return self.shaped(node, &steps.shape, content),
            Some(Parser::Unknown(name)) => {
                return Err(node.error(format!("there is no parser `{name}`")));
            }
            Some(Parser::Json(parser)) => parser,
        };
        let Content::Text(text) = content else {
            return Err(node.expected("a text for its parser", content));
        };
        let value = self.json(node, parser, text)?;
        self.shaped(node, &steps.shape, Content::of(&value))
    }

    fn json(&mut self, node: &Node, parser: &JsonParser, text: &str) -> Result<Value> {
        // What a value takes beyond its text is a multiple of it.
        let counted = self.budget.make(text.len());
        counted.map_err(|exhausted| node.too_large(exhausted))?;
        let mut text = Cow::Borrowed(text);
        if parser.unquoted_keys {
            self.budget.meter.grow(text.len());
            let rewritten = unquoted_keys::to_json(&text, &mut self.budget.meter);
            text = Cow::Owned(rewritten.map_err(|fault| match fault {
                unquoted_keys::Fault::Nul => {
                    node.error("the text contains a NUL, which no JSON does")
                }
                unquoted_keys::Fault::TooCostly => node.too_costly(TooCostly),
            })?);
        }
        let value = match json::read(&text) {
            Ok(value) => value,
            Err(error) if parser.allow_non_json && error.is_syntax() => text.into_owned().into(),
            Err(error) => {
                let text = excerpt(&text);
                return Err(node.error(format!("this is not JSON: {error}, in {text}")));
            }
        };
        match &parser.transform {
            None => Ok(value),
            Some(transform) => transform
                .apply(&value, &mut self.budget)
                .map_err(|error| node.error(format!("the transform fails: {error}"))),
        }
    }
}

/// The beginning of a text, quoted, for messages.
fn excerpt(text: &str) -> String {
    const LONGEST: usize = 80;
    let end = text.floor_char_boundary(LONGEST);
    let more = if end < text.len() { "…" } else { "" };
    format!("{:?}{more}", &text[..end])
}
