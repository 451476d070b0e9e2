//! The field for calls, and how the body of a call becomes a name and arguments.

use crate::analysis::CallKeys;
use crate::derive::delimiter::{Delimiter, Delimiters, FieldDraft};
use crate::format::Dialect;
use crate::value::{Object, Value};

use super::call_texts::{is_named_behind, literal_open};
use super::drafter::Drafter;

impl Drafter<'_> {
    /// The field for calls.
    pub(super) fn calls(&self) -> Option<FieldDraft> {
        let calls = self.calls?;
        let mut draft = FieldDraft::new("tool_calls");
        draft.open = Delimiters::one(match literal_open(calls) {
            _ if is_named_behind(calls) => Delimiter::Expression(self.open_before_name(calls)),
            // A literal is found wherever the text is cut, and is easy to read.
            Some(open) => Delimiter::Exact(open),
            None => Delimiter::Expression(self.open_patterns(calls).swap_remove(0)),
        });
        draft.close = self.close_calls(calls);
        let field = &mut draft.rest;
        // One list holds all calls of a turn, and a region of each call only one.
        if !calls.is_array() {
            field.insert("repeats", true);
        }
        match (calls.dialect(), calls.single_arguments()) {
            (Some(dialect), _) => json_content(field, dialect),
            (None, Some(arguments)) => {
                field.insert("content", "xml-inline");
                let arguments = match arguments.in_python {
                    true => self.python(calls, &arguments),
                    false => self.tagged(&arguments),
                };
                field.insert("content_args", arguments);
            }
            (None, None) if calls.is_array() => {
                field.insert("content", "python-call-list");
            }
            (None, None) => {}
        }
        let transform = match calls.keys() {
            Some(keys) if calls.is_array() => self.transform(&keys, ""),
            Some(keys) => self.transform(&keys, "content."),
            None if calls.is_array() => Some(call_of("{name}", "{arguments}", None)),
            None => {
                let id = self.captures_id(calls).then_some("{id}");
                Some(call_of("{name}", "{content}", id))
            }
        };
        if let Some(transform) = transform {
            field.insert("transform", transform);
            if calls.is_array() {
                field.insert("transform_each", true);
            }
        }
        Some(draft)
    }

    /// The shape of a call whose parts are under keys, unless it is in shape already.
    fn transform(&self, keys: &CallKeys<'_>, root: &str) -> Option<Object> {
        let has_only = |names: &[&str]| keys.all.iter().all(|key| names.contains(key));
        // A call that is left as it is keeps its id, so nothing is left as it is if ids are not asked for.
        let keeps_id = keys.id.as_deref() == Some(&["id"]);
        if keys.name == ["function", "name"]
            && keys.arguments == ["function", "arguments"]
            && keys.all.contains(&"type")
            && has_only(&["type", "function", "id"])
            && (self.options.ids || !keeps_id)
        {
            return None;
        }
        let id = keys.id.as_ref().filter(|_| self.options.ids);
        if !root.is_empty()
            && id.is_none()
            && keys.name == ["name"]
            && keys.arguments == ["arguments"]
            && has_only(&["name", "arguments"])
        {
            let call = [("type", "function"), ("function", "{content}")];
            return Some(Object::from_iter(call));
        }
        let place = |path: &Vec<&str>| format!("{{{root}{}}}", path.join("."));
        Some(call_of(
            &place(&keys.name),
            &place(&keys.arguments),
            id.map(place).as_deref(),
        ))
    }
}

fn json_content(field: &mut Object, dialect: &Dialect) {
    field.insert("content", "json");
    let mut arguments = Object::new();
    if dialect.unquoted_keys {
        arguments.insert("unquoted_keys", true);
    }
    if let Some((open, close)) = &dialect.string_delimiters {
        let pair: Value = vec![open.as_str().into(), close.as_str().into()].into();
        arguments.insert("string_delims", vec![pair]);
    }
    if !arguments.is_empty() {
        field.insert("content_args", arguments);
    }
}

fn call_of(name: &str, arguments: &str, id: Option<&str>) -> Object {
    let mut call = Object::from_iter([("type", "function")]);
    if let Some(id) = id {
        call.insert("id", id);
    }
    let function = Object::from_iter([("name", name), ("arguments", arguments)]);
    call.insert("function", function);
    call
}
