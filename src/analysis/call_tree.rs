//! The tree of a turn's calls, made of what was found of them.

use crate::format::{Dialect, Entry, Node, Repetition, Slot as TreeSlot};
use crate::json;
use crate::value::Value;

use super::call_shape::{CallBody, CallKeys, CallShape, Slot, Tagged, slots_in};
use super::calls::numbered;
use super::markers::is_slot;

/// The tree of a turn's calls, without what stands around all of them.
pub(super) fn of(shape: &CallShape) -> Node {
    let around = |body: Vec<Node>| {
        let nodes = [slots(&shape.open), body, slots(&shape.close)].concat();
        Node::Call(Box::new(Node::sequence(nodes)))
    };
    let at_most = (!shape.several).then_some(1);
    let each = |call: Node| {
        Node::Repetition(Box::new(Repetition {
            item: call,
            separator: Node::Sequence(Node::texts(&shape.separator)),
            at_least: 1,
            at_most,
        }))
    };
    match &shape.body {
        CallBody::Object(keys, dialect) => each(around(vec![object(keys, dialect)])),
        CallBody::Array(keys, dialect) => {
            let array = Node::Array(Box::new(Repetition {
                item: Node::Call(Box::new(object(keys, dialect))),
                separator: Node::Sequence(Vec::new()),
                at_least: 1,
                at_most,
            }));
            Node::sequence([slots(&shape.open), vec![array], slots(&shape.close)].concat())
        }
        CallBody::Arguments(dialect) => each(around(vec![Node::Arguments(dialect.clone())])),
        CallBody::Tagged(tagged) | CallBody::Python(tagged) => {
            each(around(vec![arguments_of(tagged)]))
        }
    }
}

/// Texts and slots as nodes.
fn slots(slots: &[Slot]) -> Vec<Node> {
    let nodes = slots.iter().flat_map(|slot| match slot {
        Slot::Text(text) => Node::texts(text),
        Slot::Name => vec![Node::Slot(TreeSlot::Name)],
        Slot::Id => vec![Node::Slot(TreeSlot::Id)],
        Slot::Index => vec![Node::Slot(TreeSlot::Index)],
        Slot::Key => vec![Node::Slot(TreeSlot::Key)],
    });
    nodes.collect()
}

/// A call as an object, with its parts under their keys.
fn object(keys: &CallKeys, dialect: &Dialect) -> Node {
    let object = json::read(&keys.object).unwrap_or_default();
    within(&object, &mut Vec::new(), keys, dialect)
}

fn within(value: &Value, path: &mut Vec<String>, keys: &CallKeys, dialect: &Dialect) -> Node {
    if *path == keys.arguments {
        let arguments = Node::Arguments(match keys.arguments_as_text {
            true => Dialect::default(),
            false => dialect.clone(),
        });
        return match keys.arguments_as_text {
            true => Node::JsonString(Box::new(arguments), dialect.clone()),
            false => arguments,
        };
    }
    match value {
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let key = key.to_string_lossy().into_owned();
                path.push(key.clone());
                let value = within(value, path, keys, dialect);
                path.pop();
                Entry { key, value }
            });
            Node::Object(entries.collect(), dialect.clone())
        }
        Value::String(text) if numbered(&text.to_string_lossy()).contains(is_slot) => {
            let text = slots(&slots_in(&numbered(&text.to_string_lossy())));
            Node::JsonString(Box::new(Node::sequence(text)), dialect.clone())
        }
        Value::Number(_) if numbered(&json::write(value)).starts_with(is_slot) => {
            Node::Slot(TreeSlot::Index)
        }
        other => Node::Constant(other.clone()),
    }
}

/// Arguments of which each stands between markers.
fn arguments_of(tagged: &Tagged) -> Node {
    let known = tagged
        .values
        .iter()
        .filter(|values| !values.forms.is_empty());
    let arguments = known.map(|values| {
        let mut nodes = Node::texts(&tagged.open);
        nodes.push(Node::Slot(TreeSlot::Key));
        nodes.extend(Node::texts(&values.between));
        nodes.push(Node::Value(values.forms.clone()));
        nodes.extend(slots(&tagged.close));
        Node::sequence(nodes)
    });
    let argument = Node::choice(arguments.collect());
    Node::Repetition(Box::new(Repetition {
        item: Node::Argument(Box::new(argument)),
        separator: Node::Sequence(Node::texts(&tagged.separator)),
        at_least: 0,
        at_most: None,
    }))
}
