//! The field for calls, and how the body of a call becomes a name and arguments.

use crate::analysis::{CallBody, CallKeys};
use crate::format::Dialect;
use crate::value::{Object, Value};

use super::call_texts::literal_open;
use super::drafter::Drafter;

impl Drafter<'_> {
    /// The field for calls.
    pub(super) fn calls(&self) -> Option<Object> {
        let shape = self.findings.calls.as_ref()?;
        let mut field = Object::new();
        match literal_open(shape) {
            Some(open) => field.insert("open", open),
            None => field.insert("open_pattern", self.open_pattern(shape)),
        };
        self.close_calls(shape, &mut field);
        let is_array = matches!(shape.body, CallBody::Array(..));
        if !is_array {
            field.insert("repeats", true);
        }
        let with_id = self.captures_id(shape);
        match &shape.body {
            CallBody::Object(keys, dialect) => {
                json_content(&mut field, dialect);
                if let Some(transform) = self.transform(keys, "content.") {
                    field.insert("transform", transform);
                }
            }
            CallBody::Array(keys, dialect) => {
                json_content(&mut field, dialect);
                if let Some(transform) = self.transform(keys, "") {
                    field.insert("transform", transform);
                    field.insert("transform_each", true);
                }
            }
            CallBody::Arguments(dialect) => {
                json_content(&mut field, dialect);
                field.insert("transform", call_of("{name}", "{content}", with_id));
            }
            CallBody::Tagged(tagged) => {
                field.insert("content", "xml-inline");
                field.insert("content_args", self.tagged(tagged));
                field.insert("transform", call_of("{name}", "{content}", with_id));
            }
            CallBody::Python(tagged) => {
                field.insert("content", "xml-inline");
                field.insert("content_args", self.python(shape, tagged));
                field.insert("transform", call_of("{name}", "{content}", with_id));
            }
        }
        Some(field)
    }

    /// The shape of a call whose parts are under keys, unless it is in shape already.
    fn transform(&self, keys: &CallKeys, root: &str) -> Option<Value> {
        let is = |path: &[String], names: &[&str]| {
            path.iter().map(String::as_str).eq(names.iter().copied())
        };
        let has_only = |names: &[&str]| keys.all.iter().all(|key| names.contains(&key.as_str()));
        let nested = is(&keys.name, &["function", "name"])
            && is(&keys.arguments, &["function", "arguments"]);
        let keeps_id = keys.id.as_deref().is_some_and(|id| is(id, &["id"]));
        if nested
            && keys.all.iter().any(|key| key == "type")
            && has_only(&["type", "function", "id"])
            && (self.options.ids || !keeps_id)
        {
            return None;
        }
        let with_id = self.options.ids && keys.id.is_some();
        if !root.is_empty()
            && !with_id
            && is(&keys.name, &["name"])
            && is(&keys.arguments, &["arguments"])
            && has_only(&["name", "arguments"])
        {
            let call = [("type", "function"), ("function", "{content}")];
            return Some(Object::from_iter(call).into());
        }
        let place = |path: &[String]| format!("{{{root}{}}}", path.join("."));
        let function = Object::from_iter([
            ("name", place(&keys.name)),
            ("arguments", place(&keys.arguments)),
        ]);
        let mut call = Object::from_iter([("type", "function")]);
        if let (true, Some(id)) = (self.options.ids, &keys.id) {
            call.insert("id", place(id));
        }
        call.insert("function", function);
        Some(call.into())
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

fn call_of(name: &str, arguments: &str, with_id: bool) -> Object {
    let function = Object::from_iter([("name", name), ("arguments", arguments)]);
    let mut call = Object::from_iter([("type", "function")]);
    if with_id {
        call.insert("id", "{id}");
    }
    call.insert("function", function);
    call
}
