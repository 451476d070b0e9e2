//! Documents as trees of which it is known where everything stands.

use std::ops::Range;

use crate::value::{JsonString, Value, pointer_index, pointer_tokens};

/// A value, and where it stands.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its place in the text, in bytes.
    pub span: Range<usize>,
    pub content: Content,
}

#[derive(Debug, Clone)]
pub enum Content {
    /// What has no parts.
    Scalar(Value),
    List(Vec<Node>),
    Map(Map),
}

/// Keys and their values as they stand in the text, each as often as it stands there.
#[derive(Debug, Clone, Default)]
pub struct Map {
    entries: Vec<Entry>,
    /// The numbers of the entries, sorted by their keys; equal ones as they stand in the text.
    by_key: Vec<usize>,
}

/// A key of a map, and its value.
#[derive(Debug, Clone)]
pub struct Entry {
    pub key: JsonString,
    pub key_span: Range<usize>,
    pub value: Node,
}

/// Where a pointer leads.
pub struct Destination<'t> {
    pub node: &'t Node,
    /// Where the key stands that it has in a map.
    pub key: Option<&'t Range<usize>>,
    /// Whether the pointer leads no further: otherwise, what it names is missing in here.
    pub is_exact: bool,
}

impl Node {
    pub fn new(span: Range<usize>, content: Content) -> Node {
        Node { span, content }
    }

    /// The value, without its places.
    pub fn to_value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(nodes) => Value::Array(nodes.iter().map(Node::to_value).collect()),
            Content::Map(map) => {
                let entries = map.entries().iter();
                let members = entries.map(|entry| (entry.key.clone(), entry.value.to_value()));
                Value::Object(members.collect())
            }
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// A key with its value.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.content {
            Content::Map(map) => map.get(key),
            _ => None,
        }
    }

    /// The entries of an object.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.content {
            Content::Map(map) => Some(map.entries()),
            _ => None,
        }
    }

    /// The items of an array.
    pub fn items(&self) -> Option<&[Node]> {
        match &self.content {
            Content::List(nodes) => Some(nodes),
            _ => None,
        }
    }

    /// Follows a pointer as far as it leads.
    pub fn follow(&self, pointer: &str) -> Destination<'_> {
        let mut reached = Destination {
            node: self,
            key: None,
            is_exact: false,
        };
        let Some(mut steps) = pointer_tokens(pointer) else {
            return reached;
        };
        reached.is_exact = steps.all(|step| {
            let next = match &reached.node.content {
                Content::Map(map) => map
                    .get(&step)
                    .map(|entry| (&entry.value, Some(&entry.key_span))),
                Content::List(nodes) => pointer_index(&step)
                    .and_then(|index| nodes.get(index))
                    .map(|node| (node, None)),
                Content::Scalar(_) => None,
            };
            if let Some((node, key)) = next {
                (reached.node, reached.key) = (node, key);
            }
            next.is_some()
        });
        reached
    }
}

impl Map {
    pub fn new(entries: Vec<Entry>) -> Map {
        let mut by_key: Vec<usize> = (0..entries.len()).collect();
        by_key.sort_by_key(|&number| &entries[number].key);
        Map { entries, by_key }
    }

    /// The entries as they stand in the text.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The same, to be moved; the keys must stay what they are.
    #[cfg(feature = "internals")]
    pub fn entries_mut(&mut self) -> &mut [Entry] {
        &mut self.entries
    }

    /// The same, to keep.
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }

    /// The entries whose key an earlier one has already.
    #[cfg(feature = "internals")]
    pub fn repeated(&self) -> impl Iterator<Item = &Entry> {
        self.by_key.windows(2).filter_map(|pair| {
            let [first, second] = [pair[0], pair[1]].map(|number| &self.entries[number]);
            (first.key == second.key).then_some(second)
        })
    }

    /// The entry of a key; of several the last, as when values are read.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        let key_of = |number: &usize| self.entries[*number].key.as_wtf8();
        let end = self
            .by_key
            .partition_point(|number| key_of(number) <= key.as_bytes());
        let number = end.checked_sub(1).map(|last| self.by_key[last])?;
        let entry = &self.entries[number];
        (entry.key == *key).then_some(entry)
    }
}
