//! The calls of a turn, out of what stands in their slots.

use crate::format::{Dialect, FoundSlot, Node, Slot, ValueForm, ValueType, ValueWriting};
use crate::json;
use crate::value::{Object, Value};

/// A call as it was read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReadCall {
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) arguments: Object,
    /// The arguments as they are written, if that is JSON.
    pub(super) written: Option<String>,
}

/// How the values in calls are written.
#[derive(Debug, Default)]
pub(super) struct Writings<'f> {
    dialects: Vec<&'f Dialect>,
    forms: Vec<&'f ValueForm>,
}

impl<'f> Writings<'f> {
    pub(super) fn of(calls: Option<&'f Node>) -> Writings<'f> {
        let mut writings = Writings::default();
        if let Some(calls) = calls {
            calls.visit(&mut |node| match node {
                Node::Value(forms) => writings.forms.extend(forms),
                Node::Arguments(dialect) => writings.dialects.push(dialect),
                _ => {}
            });
        }
        writings
    }

    /// The calls in these slots. `None` if arguments can't be read. Values that could be a text as well as
    /// something else are what the tools say.
    pub(super) fn calls(&self, slots: &[FoundSlot<'_>], tools: &[Value]) -> Option<Vec<ReadCall>> {
        let count = slots.iter().filter_map(|slot| slot.call).max()? + 1;
        (0..count)
            .map(|number| {
                let slots: Vec<&FoundSlot<'_>> = slots
                    .iter()
                    .filter(|slot| slot.call == Some(number))
                    .collect();
                self.call(&slots, tools)
            })
            .collect()
    }

    fn call(&self, slots: &[&FoundSlot<'_>], tools: &[Value]) -> Option<ReadCall> {
        let text = |wanted| {
            let found = slots.iter().find(|slot| slot.slot == wanted);
            found.map(|slot| slot.text.trim().to_owned())
        };
        let name = text(Slot::Name)?;
        let mut arguments = Object::new();
        let mut written = None;
        if let Some(text) = text(Slot::Arguments) {
            (arguments, written) = self.object(text)?;
        }
        let mut key = None;
        for slot in slots {
            match slot.slot {
                Slot::Key => key = Some(slot.text.trim()),
                Slot::Value => {
                    let key = key.take()?;
                    let declared = declared_types(tools, &name, key);
                    arguments.insert(key, self.value(slot.text, &declared));
                }
                _ => {}
            }
        }
        Some(ReadCall {
            name,
            id: text(Slot::Id),
            arguments,
            written,
        })
    }

    /// Arguments, and their JSON as it is written.
    fn object(&self, text: String) -> Option<(Object, Option<String>)> {
        let plain = Dialect::default();
        let mut dialects = self.dialects.iter().copied().chain([&plain]);
        match dialects.find_map(|dialect| dialect.read(&text))? {
            Value::Object(object) => {
                let is_json = json::read(&text).is_ok();
                Some((object, is_json.then_some(text)))
            }
            // JSON within a string.
            Value::String(inner) => {
                let inner = inner.to_string_lossy().into_owned();
                match json::read(&inner).ok()? {
                    Value::Object(object) => Some((object, Some(inner))),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn value(&self, text: &str, declared: &[String]) -> Value {
        let is_declared = |kind: &str| declared.iter().any(|declared| declared == kind);
        let mut can_be_raw = false;
        for form in &self.forms {
            let is_text = form.types.contains(&ValueType::String);
            match &form.writing {
                ValueWriting::Wrapped {
                    open,
                    close,
                    always,
                } => {
                    let inside = text.strip_prefix(open.as_str());
                    if let Some(inside) = inside.and_then(|text| text.strip_suffix(close.as_str()))
                    {
                        return inside.into();
                    }
                    can_be_raw |= !always;
                }
                ValueWriting::Raw => can_be_raw |= is_text,
                ValueWriting::Json(_) | ValueWriting::Python => {}
            }
        }
        let python = Dialect::python();
        if self
            .forms
            .iter()
            .any(|form| form.writing == ValueWriting::Python)
            && let Some(value @ Value::String(_)) = python.read(text)
        {
            return value;
        }
        if can_be_raw && is_declared("string") {
            return text.into();
        }
        let mut values = self.forms.iter().filter_map(|form| match &form.writing {
            ValueWriting::Json(dialect) => dialect.read(text),
            ValueWriting::Python => python.read(text),
            ValueWriting::Raw | ValueWriting::Wrapped { .. } => None,
        });
        match values.find(|value| !can_be_raw || value.as_json_string().is_none()) {
            Some(value) => value,
            None => text.into(),
        }
    }
}

/// The types that a tool declares for an argument.
fn declared_types(tools: &[Value], name: &str, key: &str) -> Vec<String> {
    let functions = tools
        .iter()
        .map(|tool| tool.get("function").unwrap_or(tool));
    let mut functions =
        functions.filter(|function| function.get("name").and_then(Value::as_str) == Some(name));
    let declared = functions.find_map(|function| {
        let parameters = function.get("parameters")?;
        parameters.get("properties")?.get(key)?.get("type").cloned()
    });
    match declared {
        Some(Value::Array(types)) => {
            let types = types.iter().filter_map(Value::as_str);
            types.map(str::to_owned).collect()
        }
        Some(one) => one.as_str().map(str::to_owned).into_iter().collect(),
        None => Vec::new(),
    }
}
