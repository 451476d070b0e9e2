//! Templates that reshape what a region's parser has read.

use std::sync::LazyLock;

use crate::value::{JsonString, Object, Value};

use super::allowance::{Exhausted, Growth};
use super::event::Capture;
use super::language::{Language, Trait};
use super::pattern::Pattern;

/// Finds `{name}` and `{name.key}`.
static PLACEHOLDER: LazyLock<Pattern> = LazyLock::new(|| compiled(r"\{\w+(?:\.\w+)*\}"));
/// Finds `{name}` alone.
static PLAIN_PLACEHOLDER: LazyLock<Pattern> = LazyLock::new(|| compiled(r"\{\w+\}"));

fn compiled(pattern: &str) -> Pattern {
    #[expect(clippy::expect_used, reason = "constants that the tests compile")]
    Pattern::new(pattern).expect("the pattern of placeholders")
}

/// A shape with placeholders.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub enum Transform {
    Literal(Value),
    /// A name, and the keys to descend by from there.
    Placeholder(String, Vec<String>),
    Object(Vec<(JsonString, Transform)>),
    Array(Vec<Transform>),
}

/// Where a string mixes a placeholder with other text, as the keys that lead there.
pub type MixedString = Vec<String>;

/// What placeholders may stand for.
#[derive(Debug)]
pub struct Scope<'s> {
    pub captures: &'s [Capture],
    /// The region's value, unless the transform applies to the elements of it.
    pub content: Option<Value>,
    /// The element, when it does.
    pub element: Option<Object>,
}

/// What placeholders stand for, to be looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sources<'s> {
    pub(super) captures: &'s [Capture],
    pub(super) content: Option<&'s Value>,
    pub(super) element: Option<&'s Object>,
}

/// Takes about as many bytes as a value takes.
fn weigh(value: &Value, growth: &mut Growth) -> Result<(), Exhausted> {
    growth.take(size_of::<Value>())?;
    match value {
        Value::String(text) => growth.take(text.len()),
        Value::Array(values) => values.iter().try_for_each(|value| weigh(value, growth)),
        Value::Object(object) => object.iter().try_for_each(|(key, value)| {
            growth.take(key.len())?;
            weigh(value, growth)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

impl Transform {
    /// Reads a transform; the errors are the places of strings that can't be.
    pub fn read(value: &Value, language: Language) -> Result<Transform, Vec<MixedString>> {
        let mut mixed = Vec::new();
        let placeholder = match language.has(Trait::DottedPlaceholders) {
            true => &*PLACEHOLDER,
            false => &*PLAIN_PLACEHOLDER,
        };
        let transform = read(value, placeholder, &mut Vec::new(), &mut mixed);
        if mixed.is_empty() {
            Ok(transform)
        } else {
            Err(mixed)
        }
    }

    /// The names that its placeholders look up, each as often as they do.
    pub fn roots(&self) -> Vec<&str> {
        match self {
            Transform::Literal(_) => Vec::new(),
            Transform::Placeholder(root, _) => vec![root],
            Transform::Object(entries) => entries.iter().flat_map(|(_, t)| t.roots()).collect(),
            Transform::Array(items) => items.iter().flat_map(Transform::roots).collect(),
        }
    }

    /// How many placeholders stand for the content, or for a part of it.
    fn uses_of_content(&self) -> usize {
        match self {
            Transform::Literal(_) => 0,
            Transform::Placeholder(root, _) => usize::from(root == "content"),
            Transform::Object(entries) => entries.iter().map(|(_, t)| t.uses_of_content()).sum(),
            Transform::Array(items) => items.iter().map(Transform::uses_of_content).sum(),
        }
    }

    /// Whether the content can be moved out instead of copied: it is used once, as nearly always.
    fn moves_content(&self) -> bool {
        self.uses_of_content() <= 1
    }

    /// Takes the bytes that the shape will have, before any of them are made.
    pub(super) fn weigh(&self, sources: Sources<'_>, growth: &mut Growth) -> Result<(), Exhausted> {
        self.weigh_filled(sources, self.moves_content(), growth)
    }

    fn weigh_filled(
        &self,
        sources: Sources<'_>,
        moves: bool,
        growth: &mut Growth,
    ) -> Result<(), Exhausted> {
        match self {
            Transform::Literal(value) => weigh(value, growth),
            Transform::Placeholder(root, _) if moves && root == "content" => Ok(()),
            Transform::Placeholder(root, keys) => sources.weigh(root, keys, growth),
            Transform::Object(entries) => entries.iter().try_for_each(|(key, transform)| {
                growth.take(size_of::<Value>() + key.len())?;
                transform.weigh_filled(sources, moves, growth)
            }),
            Transform::Array(items) => items.iter().try_for_each(|transform| {
                growth.take(size_of::<Value>())?;
                transform.weigh_filled(sources, moves, growth)
            }),
        }
    }

    /// The shape with its placeholders filled in, after [`Transform::weigh`].
    pub fn apply(&self, mut scope: Scope<'_>) -> Result<Value, String> {
        self.fill(&mut scope, self.moves_content())
    }

    fn fill(&self, scope: &mut Scope<'_>, moves: bool) -> Result<Value, String> {
        Ok(match self {
            Transform::Literal(value) => value.clone(),
            Transform::Placeholder(root, keys) => scope.look_up(root, keys, moves)?,
            Transform::Object(entries) => {
                let mut object = Object::new();
                for (key, transform) in entries {
                    object.insert(key.clone(), transform.fill(scope, moves)?);
                }
                object.into()
            }
            Transform::Array(items) => items
                .iter()
                .map(|transform| transform.fill(scope, moves))
                .collect::<Result<Vec<Value>, String>>()?
                .into(),
        })
    }
}

fn read(
    value: &Value,
    placeholder: &Pattern,
    place: &mut Vec<String>,
    mixed: &mut Vec<MixedString>,
) -> Transform {
    match value {
        Value::Object(object) => Transform::Object(
            object
                .iter()
                .map(|(key, value)| {
                    place.push(key.to_string_lossy().into_owned());
                    let transform = read(value, placeholder, place, mixed);
                    place.pop();
                    (key.clone(), transform)
                })
                .collect(),
        ),
        Value::Array(items) => Transform::Array(
            items
                .iter()
                .enumerate()
                .map(|(index, value)| {
                    place.push(index.to_string());
                    let transform = read(value, placeholder, place, mixed);
                    place.pop();
                    transform
                })
                .collect(),
        ),
        Value::String(text) => read_string(text, placeholder, place, mixed),
        literal => Transform::Literal(literal.clone()),
    }
}

fn read_string(
    text: &JsonString,
    placeholder: &Pattern,
    place: &[String],
    mixed: &mut Vec<MixedString>,
) -> Transform {
    let literal = || Transform::Literal(Value::String(text.clone()));
    let string = text.to_string_lossy();
    let mut first = None;
    let searched = placeholder.for_each_match(&string, |found| {
        first = Some(found.start..found.end);
        std::ops::ControlFlow::Break(())
    });
    match first {
        None if searched.is_ok() => literal(),
        Some(range) if range == (0..string.len()) => {
            let mut path = string[1..string.len() - 1].split('.').map(str::to_owned);
            let root = path.next().unwrap_or_default();
            Transform::Placeholder(root, path.collect())
        }
        // What can't be searched to its end may be mixed, too.
        _ => {
            mixed.push(place.to_vec());
            literal()
        }
    }
}

impl Sources<'_> {
    /// Takes the bytes of what a placeholder stands for; if there is nothing, filling it in says so.
    fn weigh(&self, root: &str, keys: &[String], growth: &mut Growth) -> Result<(), Exhausted> {
        let content = self.content.filter(|_| root == "content");
        let value = content.or_else(|| self.element?.get(root));
        if let Some(value) = value {
            let found = keys.iter().try_fold(value, |value, key| value.get(key));
            return found.map_or(Ok(()), |found| weigh(found, growth));
        }
        match self.captures.iter().rev().find(|c| c.name == root) {
            Some(capture) => growth.take(size_of::<Value>() + capture.text.len()),
            None => Ok(()),
        }
    }
}

impl Scope<'_> {
    fn look_up(&mut self, root: &str, keys: &[String], moves: bool) -> Result<Value, String> {
        let path = || {
            let mut path = root.to_owned();
            for key in keys {
                path.push('.');
                path.push_str(key);
            }
            path
        };
        let Some(mut value) = self.root(root) else {
            return Err(format!(
                "the transform's placeholder `{{{}}}` is not defined; there are {}",
                path(),
                self.names()
            ));
        };
        let mut found = match &mut value {
            Root::Text(text) => return text_has_no_keys(text, keys, &path()),
            Root::Value(value) => &mut **value,
        };
        for key in keys {
            let kind = found.type_name();
            let Value::Object(object) = found else {
                return Err(format!(
                    "the transform's placeholder `{{{}}}` looks for `{key}` in {kind}",
                    path()
                ));
            };
            found = object.get_mut(key).ok_or_else(|| {
                format!(
                    "the transform's placeholder `{{{}}}` finds no `{key}`",
                    path()
                )
            })?;
        }
        Ok(match moves && root == "content" {
            true => std::mem::take(found),
            false => found.clone(),
        })
    }

    fn root(&mut self, name: &str) -> Option<Root<'_>> {
        if let Some(content) = self.content.as_mut().filter(|_| name == "content") {
            return Some(Root::Value(content));
        }
        if let Some(value) = self.element.as_mut().and_then(|e| e.get_mut(name)) {
            return Some(Root::Value(value));
        }
        // The last of several groups with one name is that of the closing delimiter.
        let capture = self.captures.iter().rev().find(|c| c.name == name)?;
        Some(Root::Text(&capture.text))
    }

    fn names(&self) -> String {
        let mut names: Vec<String> = self.captures.iter().map(|c| c.name.clone()).collect();
        names.extend(self.content.iter().map(|_| "content".to_owned()));
        let keys = self.element.iter().flat_map(Object::keys);
        names.extend(keys.map(|key| key.to_string_lossy().into_owned()));
        if names.is_empty() {
            return "none".into();
        }
        let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        quoted.join(", ")
    }
}

enum Root<'s> {
    Value(&'s mut Value),
    Text(&'s str),
}

fn text_has_no_keys(text: &str, keys: &[String], path: &str) -> Result<Value, String> {
    match keys.first() {
        None => Ok(text.into()),
        Some(key) => Err(format!(
            "the transform's placeholder `{{{path}}}` looks for `{key}` in a string"
        )),
    }
}
