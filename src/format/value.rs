//! The tree as JSON, for programs.

use crate::value::{Object, Value, object};

use super::{Dialect, Format, Node, Repetition, Slot, ValueForm, ValueWriting};

impl Format {
    /// All of it for programs, as [`JSON_SCHEMA`](Self::JSON_SCHEMA) describes it.
    pub fn to_value(&self) -> Value {
        let ways = self.ways.iter().map(|way| {
            object! {"seen": way.is_seen, "turn": way.node.to_value(), "end": way.end.to_value()}
        });
        object! {
            "version": Self::VERSION,
            "begins_after": Value::from_iter(&self.begins_after),
            "prompts": Value::from_iter(&self.prompts),
            "ways": ways.collect::<Value>(),
            "calls": self.calls.as_ref().map(Node::to_value),
            "escaped": keys(&self.escaped),
            "json_strings": keys(&self.json_strings),
            "gaps": Value::from_iter(&self.gaps),
        }
        .into()
    }
}

impl Node {
    /// For programs: an object whose `is` says which node it is.
    pub fn to_value(&self) -> Value {
        match self {
            Node::Literal(text) => object! {"is": "literal", "text": text},
            Node::Space(text) => object! {"is": "space", "text": text},
            Node::Slot(slot) => object! {"is": "slot", "name": slot.key()},
            Node::Value(forms) => {
                let forms: Value = forms.iter().map(ValueForm::to_value).collect();
                object! {"is": "value", "forms": forms}
            }
            Node::Sequence(nodes) => object! {"is": "sequence", "of": all(nodes)},
            Node::Choice(nodes) => object! {"is": "choice", "of": all(nodes)},
            Node::Optional(of) => object! {"is": "optional", "of": of.to_value()},
            Node::Repetition(repetition) => repetition.to_object("repetition"),
            Node::Object(entries, dialect) => {
                let entries = entries
                    .iter()
                    .map(|entry| object! {"key": &entry.key, "value": entry.value.to_value()});
                object! {
                    "is": "object",
                    "entries": entries.collect::<Value>(),
                    "dialect": dialect.to_value(),
                }
            }
            Node::Array(items) => items.to_object("array"),
            Node::JsonString(of, dialect) => {
                object! {"is": "string", "of": of.to_value(), "dialect": dialect.to_value()}
            }
            Node::Constant(value) => object! {"is": "constant", "value": value.clone()},
            Node::Arguments(dialect) => {
                object! {"is": "arguments", "dialect": dialect.to_value()}
            }
            Node::Calls => object! {"is": "calls"},
            Node::Call(of) => object! {"is": "call", "of": of.to_value()},
            Node::Argument(of) => object! {"is": "argument", "of": of.to_value()},
        }
        .into()
    }
}

impl Repetition {
    fn to_object(&self, is: &str) -> Object {
        object! {
            "is": is,
            "of": self.item.to_value(),
            "separator": self.separator.to_value(),
            "at_least": self.at_least,
            "at_most": self.at_most,
        }
    }
}

impl ValueForm {
    fn to_value(&self) -> Value {
        let types: Value = self.types.iter().map(|kind| kind.key()).collect();
        match &self.writing {
            ValueWriting::Raw => object! {"types": types, "as": "raw"},
            ValueWriting::Wrapped {
                open,
                close,
                always,
            } => object! {
                "types": types,
                "as": "wrapped",
                "open": open,
                "close": close,
                "always": *always,
            },
            ValueWriting::Json(dialect) => {
                object! {"types": types, "as": "json", "dialect": dialect.to_value()}
            }
            ValueWriting::Python => object! {"types": types, "as": "python"},
        }
        .into()
    }
}

impl Dialect {
    fn to_value(&self) -> Value {
        let delimiters = self.string_delimiters.as_ref();
        let delimiters = delimiters.map(|(open, close)| Value::from_iter([open, close]));
        object! {
            "unquoted_keys": self.unquoted_keys,
            "string_delimiters": delimiters,
            "python_literals": self.python_literals,
        }
        .into()
    }
}

fn all(nodes: &[Node]) -> Value {
    nodes.iter().map(Node::to_value).collect()
}

fn keys(slots: &[Slot]) -> Value {
    slots.iter().map(|slot| slot.key()).collect()
}
