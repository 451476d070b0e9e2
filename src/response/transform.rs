//! Templates that reshape what a region's parser has read.

use std::sync::LazyLock;

use crate::value::{JsonString, Object, Value};

use super::allowance::{Allowance, Exhausted};
use super::event::Capture;
use super::pattern::Pattern;

/// Finds `{name}` and `{name.key}`.
static PLACEHOLDER: LazyLock<Pattern> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant that the tests compile")]
    Pattern::new(r"\{\w+(?:\.\w+)*\}").expect("the pattern of placeholders")
});

/// A shape with placeholders.
#[derive(Debug, Clone)]
pub(crate) enum Transform {
    Literal(Value),
    /// A name, and the keys to descend by from there.
    Placeholder(String, Vec<String>),
    Object(Vec<(JsonString, Transform)>),
    Array(Vec<Transform>),
}

/// Where a string mixes a placeholder with other text, as the keys that lead there.
pub(crate) type MixedString = Vec<String>;

/// What placeholders may stand for.
#[derive(Debug)]
pub(crate) struct Scope<'s> {
    pub(crate) captures: &'s [Capture],
    /// The region's value, unless the transform applies to the elements of it.
    pub(crate) content: Option<Value>,
    /// The element, when it does.
    pub(crate) element: Option<Object>,
    /// How much may still be copied.
    pub(super) allowance: &'s mut Allowance,
}

/// About how many bytes a value takes.
fn weight(value: &Value) -> usize {
    let own = size_of::<Value>();
    match value {
        Value::String(text) => own + text.len(),
        Value::Array(values) => values.iter().map(weight).sum::<usize>() + own,
        Value::Object(object) => {
            let entries = object.iter().map(|(key, value)| key.len() + weight(value));
            entries.sum::<usize>() + own
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => own,
    }
}

impl Transform {
    /// Reads a transform; the errors are the places of strings that can't be.
    pub(crate) fn read(value: &Value) -> Result<Transform, Vec<MixedString>> {
        let mut mixed = Vec::new();
        let transform = read(value, &mut Vec::new(), &mut mixed);
        if mixed.is_empty() {
            Ok(transform)
        } else {
            Err(mixed)
        }
    }

    /// The names that its placeholders look up, each as often as they do.
    pub(crate) fn roots(&self) -> Vec<&str> {
        match self {
            Transform::Literal(_) => Vec::new(),
            Transform::Placeholder(root, _) => vec![root],
            Transform::Object(entries) => entries.iter().flat_map(|(_, t)| t.roots()).collect(),
            Transform::Array(items) => items.iter().flat_map(Transform::roots).collect(),
        }
    }

    /// The shape with its placeholders filled in.
    pub(crate) fn apply(&self, mut scope: Scope<'_>) -> Result<Value, String> {
        // What is used once, and that is nearly always, can be moved out instead of copied.
        let spend = self
            .roots()
            .iter()
            .filter(|root| **root == "content")
            .count()
            <= 1;
        self.fill(&mut scope, spend)
    }

    fn fill(&self, scope: &mut Scope<'_>, spend: bool) -> Result<Value, String> {
        Ok(match self {
            Transform::Literal(value) => {
                scope.spend(weight(value))?;
                value.clone()
            }
            Transform::Placeholder(root, keys) => scope.look_up(root, keys, spend)?,
            Transform::Object(entries) => {
                let mut object = Object::new();
                for (key, transform) in entries {
                    object.insert(key.clone(), transform.fill(scope, spend)?);
                }
                object.into()
            }
            Transform::Array(items) => items
                .iter()
                .map(|transform| transform.fill(scope, spend))
                .collect::<Result<Vec<Value>, String>>()?
                .into(),
        })
    }
}

fn read(value: &Value, place: &mut Vec<String>, mixed: &mut Vec<MixedString>) -> Transform {
    match value {
        Value::Object(object) => Transform::Object(
            object
                .iter()
                .map(|(key, value)| {
                    place.push(key.to_string_lossy().into_owned());
                    let transform = read(value, place, mixed);
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
                    let transform = read(value, place, mixed);
                    place.pop();
                    transform
                })
                .collect(),
        ),
        Value::String(text) => read_string(text, place, mixed),
        literal => Transform::Literal(literal.clone()),
    }
}

fn read_string(text: &JsonString, place: &[String], mixed: &mut Vec<MixedString>) -> Transform {
    let literal = || Transform::Literal(Value::String(text.clone()));
    let string = text.to_string_lossy();
    let mut first = None;
    let searched = PLACEHOLDER.for_each_match(&string, |found| {
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

impl Scope<'_> {
    /// Counts bytes that are copied.
    fn spend(&mut self, bytes: usize) -> Result<(), String> {
        self.allowance.spend(bytes).map_err(|Exhausted| {
            "the transform repeats so much that its value would be many times \
             as long as the text: use each placeholder once"
                .to_owned()
        })
    }

    fn look_up(&mut self, root: &str, keys: &[String], spend: bool) -> Result<Value, String> {
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
            Root::Text(text) => {
                let text = text.to_string();
                self.spend(text.len())?;
                return text_has_no_keys(&text, keys, &path());
            }
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
        if spend && root == "content" {
            return Ok(std::mem::take(found));
        }
        let copied = found.clone();
        self.spend(weight(&copied))?;
        Ok(copied)
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
