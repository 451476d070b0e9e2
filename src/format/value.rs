//! The tree as JSON, for programs.

use crate::value::{Object, Value};

use super::{Dialect, Format, Node, Repetition, Slot, ValueForm, ValueWriting};

impl Format {
    /// All of it for programs, as [`JSON_SCHEMA`](Self::JSON_SCHEMA) describes it.
    pub fn to_value(&self) -> Value {
        let ways = self.ways.iter().map(|way| {
            Object::from_iter([
                ("seen", Value::from(way.is_seen)),
                ("turn", way.node.to_value()),
                ("end", way.end.to_value()),
            ])
            .into()
        });
        Object::from_iter([
            ("version", Value::from(i64::from(Self::VERSION))),
            ("begins_after", texts(&self.begins_after)),
            ("prompts", texts(&self.prompts)),
            ("ways", ways.collect::<Vec<Value>>().into()),
            (
                "calls",
                self.calls.as_ref().map(Node::to_value).unwrap_or_default(),
            ),
            ("escaped", keys(&self.escaped)),
            ("json_strings", keys(&self.json_strings)),
            ("gaps", texts(&self.gaps)),
        ])
        .into()
    }
}

impl Node {
    /// For programs: an object whose `is` says which node it is.
    pub fn to_value(&self) -> Value {
        match self {
            Node::Literal(text) => node("literal", [("text", text.as_str().into())]),
            Node::Space(text) => node("space", [("text", text.as_str().into())]),
            Node::Slot(slot) => node("slot", [("name", slot.key().into())]),
            Node::Value(forms) => {
                let forms: Vec<Value> = forms.iter().map(ValueForm::to_value).collect();
                node("value", [("forms", forms.into())])
            }
            Node::Sequence(nodes) => node("sequence", [("of", all(nodes))]),
            Node::Choice(nodes) => node("choice", [("of", all(nodes))]),
            Node::Optional(of) => node("optional", [("of", of.to_value())]),
            Node::Repetition(repetition) => repetition.to_value("repetition"),
            Node::Object(entries, dialect) => {
                let entries = entries.iter().map(|entry| {
                    Object::from_iter([
                        ("key", Value::from(entry.key.as_str())),
                        ("value", entry.value.to_value()),
                    ])
                    .into()
                });
                let entries = entries.collect::<Vec<Value>>();
                node(
                    "object",
                    [("entries", entries.into()), ("dialect", dialect.to_value())],
                )
            }
            Node::Array(items) => items.to_value("array"),
            Node::JsonString(of, dialect) => node(
                "string",
                [("of", of.to_value()), ("dialect", dialect.to_value())],
            ),
            Node::Constant(value) => node("constant", [("value", value.clone())]),
            Node::Arguments(dialect) => node("arguments", [("dialect", dialect.to_value())]),
            Node::Calls => node("calls", []),
            Node::Call(of) => node("call", [("of", of.to_value())]),
            Node::Argument(of) => node("argument", [("of", of.to_value())]),
        }
    }
}

impl Repetition {
    fn to_value(&self, is: &str) -> Value {
        let at_most = self.at_most.map_or(Value::Null, count);
        node(
            is,
            [
                ("of", self.item.to_value()),
                ("separator", self.separator.to_value()),
                ("at_least", count(self.at_least)),
                ("at_most", at_most),
            ],
        )
    }
}

impl ValueForm {
    fn to_value(&self) -> Value {
        let types: Vec<Value> = self.types.iter().map(|kind| kind.key().into()).collect();
        let mut out = Object::from_iter([("types", Value::from(types))]);
        match &self.writing {
            ValueWriting::Raw => out.insert("as", "raw"),
            ValueWriting::Wrapped {
                open,
                close,
                always,
            } => {
                out.insert("as", "wrapped");
                out.insert("open", open.as_str());
                out.insert("close", close.as_str());
                out.insert("always", *always)
            }
            ValueWriting::Json(dialect) => {
                out.insert("as", "json");
                out.insert("dialect", dialect.to_value())
            }
            ValueWriting::Python => out.insert("as", "python"),
        };
        out.into()
    }
}

impl Dialect {
    fn to_value(&self) -> Value {
        let delimiters = self.string_delimiters.as_ref();
        let delimiters = delimiters.map(|(open, close)| {
            Value::from(vec![Value::from(open.as_str()), close.as_str().into()])
        });
        Object::from_iter([
            ("unquoted_keys", Value::from(self.unquoted_keys)),
            ("string_delimiters", delimiters.unwrap_or_default()),
            ("python_literals", self.python_literals.into()),
        ])
        .into()
    }
}

fn node<const N: usize>(is: &str, entries: [(&str, Value); N]) -> Value {
    let mut out = Object::from_iter([("is", Value::from(is))]);
    for (key, value) in entries {
        out.insert(key, value);
    }
    out.into()
}

fn all(nodes: &[Node]) -> Value {
    nodes.iter().map(Node::to_value).collect::<Vec<_>>().into()
}

fn keys(slots: &[Slot]) -> Value {
    slots.iter().map(|slot| Value::from(slot.key())).collect()
}

fn texts(texts: &[String]) -> Value {
    let texts = texts.iter().map(|text| Value::from(text.as_str()));
    texts.collect::<Vec<_>>().into()
}

fn count(number: usize) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}
