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
            Some(open) => Delimiter::IgnoringSpace(open),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::draft::drafter::asked;
    use crate::derive::invented;
    use crate::derive::options::DeriveOptions;
    use crate::format::{Entry, Node, Slot};
    use crate::json;

    /// What the field says beside what opens and closes it, of arguments nothing.
    fn rest(calls: [&str; 4], ids: bool) -> String {
        let findings = invented::with_calls(calls);
        let options = DeriveOptions::default().ids(ids);
        let field = asked(&findings, &[], |drafter| {
            let drafter = Drafter {
                options: &options,
                ..*drafter
            };
            drafter.calls().expect("there are calls")
        });
        let mut rest = field.rest;
        rest.remove("content_args");
        json::write(&rest.into())
    }

    #[test]
    fn a_call_is_made_of_its_content_and_of_what_its_opener_captures() {
        let named = r#"{"type":"function","function":{"name":"{name}","arguments":"{content}"}}"#;
        let with_id = r#"{"type":"function","id":"{id}","function":{"name":"{name}","arguments":"{content}"}}"#;
        for (call, ids, expected) in [
            (
                "<call>OBJECT</call>",
                false,
                r#"{"repeats":true,"content":"json","transform":{"type":"function","function":"{content}"}}"#
                    .to_owned(),
            ),
            (
                "<call>NAMEARGUMENTS</call>",
                false,
                format!(r#"{{"repeats":true,"content":"json","transform":{named}}}"#),
            ),
            (
                "<call>NAME<id>ID<args>ARGUMENTS</call>",
                true,
                format!(r#"{{"repeats":true,"content":"json","transform":{with_id}}}"#),
            ),
            (
                "<call=NAME>«<arg=KEY>RAW</arg>»</call>",
                false,
                format!(r#"{{"repeats":true,"content":"xml-inline","transform":{named}}}"#),
            ),
            // One list holds all calls of a turn.
            (
                "LIST",
                false,
                r#"{"content":"json","transform":{"type":"function","function":{"name":"{name}","arguments":"{arguments}"}},"transform_each":true}"#
                    .to_owned(),
            ),
        ] {
            assert_eq!(rest(["", call, "", ""], ids), expected, "{call}");
        }
    }

    #[test]
    fn an_object_that_is_a_call_already_is_left_as_it_is() {
        let string = |slot| Node::JsonString(Box::new(Node::Slot(slot)), Dialect::default());
        let entry = |key: &str, value| Entry {
            key: key.to_owned(),
            value,
        };
        let function = || {
            let arguments = Node::Arguments(Dialect::default());
            let entries = vec![
                entry("name", string(Slot::Name)),
                entry("arguments", arguments),
            ];
            Node::Object(entries, Dialect::default())
        };
        let kind = || entry("type", Node::Constant("function".into()));
        let whole = vec![kind(), entry("function", function())];
        let without_type = vec![entry("function", function())];
        let with_id = vec![
            kind(),
            entry("id", string(Slot::Id)),
            entry("function", function()),
        ];
        let call = r#"{"type":"function","function":{"name":"{content.function.name}","arguments":"{content.function.arguments}"}}"#;
        for (entries, ids, expected) in [
            (&whole, false, None),
            (&without_type, false, Some(call)),
            (&with_id, true, None),
            // Ids are not asked for, so nothing is left that has one.
            (&with_id, false, Some(call)),
        ] {
            let mut findings = invented::with_calls(["", "OBJECT", "", ""]);
            let shape = findings.calls.as_mut().expect("there are calls");
            let object = Node::Object(entries.clone(), Dialect::default());
            shape.node = Node::Call(Box::new(object));
            let options = DeriveOptions::default().ids(ids);
            let found = asked(&findings, &[], |drafter| {
                let drafter = Drafter {
                    options: &options,
                    ..*drafter
                };
                let keys = drafter
                    .calls
                    .and_then(|calls| calls.keys())
                    .expect("it has keys");
                drafter.transform(&keys, "content.")
            });
            let found = found.map(|call| json::write(&call.into()));
            assert_eq!(found.as_deref(), expected);
        }
    }

    #[test]
    fn the_parser_of_json_is_told_of_what_is_no_json() {
        let quotes = Some(("<q>".to_owned(), "</q>".to_owned()));
        for (unquoted_keys, string_delimiters, expected) in [
            (false, None, r#"{"content":"json"}"#),
            (
                true,
                None,
                r#"{"content":"json","content_args":{"unquoted_keys":true}}"#,
            ),
            (
                true,
                quotes,
                r#"{"content":"json","content_args":{"unquoted_keys":true,"string_delims":[["<q>","</q>"]]}}"#,
            ),
        ] {
            let mut field = Object::new();
            let dialect = Dialect {
                unquoted_keys,
                string_delimiters,
                python_literals: false,
            };
            json_content(&mut field, &dialect);
            assert_eq!(json::write(&field.into()), expected);
        }
    }
}
