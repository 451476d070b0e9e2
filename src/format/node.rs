//! The nodes of the tree.

use crate::value::Value;

/// A part of a turn.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Node {
    /// A text that is always the same.
    Literal(String),
    /// White space as the template writes it. Models write less, or more, or other.
    Space(String),
    /// What is another text each time.
    Slot(Slot),
    /// The value of an argument, written as its type is.
    Value(Vec<ValueForm>),
    /// One after the other.
    Sequence(Vec<Node>),
    /// One of several.
    Choice(Vec<Node>),
    /// This or nothing.
    Optional(Box<Node>),
    /// Several of a kind.
    Repetition(Box<Repetition>),
    /// A JSON object with these entries, in any order.
    Object(Vec<Entry>, Dialect),
    /// A JSON array.
    Array(Box<Repetition>),
    /// A JSON string that holds what the node says.
    JsonString(Box<Node>, Dialect),
    /// A JSON value that is always the same. As a member of an object it is written as the object's dialect says.
    Constant(Value),
    /// The arguments of a call as a JSON object.
    Arguments(Dialect),
    /// All calls of a turn, as the format's [`calls`](super::Format::calls) says.
    Calls,
    /// One call.
    Call(Box<Node>),
    /// One argument of a call.
    Argument(Box<Node>),
}

/// What is another text each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Slot {
    /// What the model thinks: any text up to what follows.
    Reasoning,
    /// What the model says: any text up to what follows.
    Content,
    /// The name of the tool that is called.
    Name,
    /// The id of a call.
    Id,
    /// The number of a call in its turn.
    Index,
    /// The key of an argument.
    Key,
    /// The value of an argument. It is a [`Node::Value`] in the tree.
    Value,
    /// All arguments of a call. They are [`Node::Arguments`] in the tree.
    Arguments,
}

/// Several of a kind.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Repetition {
    /// What is repeated.
    pub item: Node,
    /// What stands between two.
    pub separator: Node,
    /// How many there are at least.
    pub at_least: usize,
    /// How many there are at most, if it is known.
    pub at_most: Option<usize>,
}

/// An entry of a JSON object.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Entry {
    /// The key.
    pub key: String,
    /// What stands under it.
    pub value: Node,
}

/// How far JSON is from being JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dialect {
    /// Whether keys go without quotes.
    pub unquoted_keys: bool,
    /// What stands around strings in place of quotes.
    pub string_delimiters: Option<(String, String)>,
    /// Whether literals are Python's.
    pub python_literals: bool,
}

impl Dialect {
    /// Whether it is JSON after all.
    pub fn is_json(&self) -> bool {
        *self == Dialect::default()
    }
}

/// How values of some types are written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValueForm {
    /// The types.
    pub types: Vec<ValueType>,
    /// How they are written.
    pub writing: ValueWriting,
}

/// A type of values, as JSON Schema names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ValueType {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// Any other number.
    Number,
    /// True or false.
    Boolean,
    /// Nothing.
    Null,
    /// A list.
    Array,
    /// An object.
    Object,
}

impl ValueType {
    /// All of them.
    pub const ALL: [ValueType; 7] = [
        ValueType::String,
        ValueType::Integer,
        ValueType::Number,
        ValueType::Boolean,
        ValueType::Null,
        ValueType::Array,
        ValueType::Object,
    ];

    /// Its name in JSON Schema.
    pub fn key(self) -> &'static str {
        match self {
            ValueType::String => "string",
            ValueType::Integer => "integer",
            ValueType::Number => "number",
            ValueType::Boolean => "boolean",
            ValueType::Null => "null",
            ValueType::Array => "array",
            ValueType::Object => "object",
        }
    }
}

/// How a value is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueWriting {
    /// A text as it is.
    Raw,
    /// A text as it is between two texts; `always`, or only if it has signs in it that markers have.
    Wrapped {
        /// What stands before it.
        open: String,
        /// What stands behind it.
        close: String,
        /// Whether all texts are written so.
        always: bool,
    },
    /// As JSON.
    Json(Dialect),
    /// As Python writes it in its code.
    Python,
}

impl Node {
    /// Texts and white space, as a text that a template writes is made of.
    pub(crate) fn texts(text: &str) -> Vec<Node> {
        let mut nodes = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let space = rest.len() - rest.trim_start().len();
            let (node, length) = match space {
                0 => {
                    let end = end_of_literal(rest);
                    (Node::Literal(rest[..end].to_owned()), end)
                }
                space => (Node::Space(rest[..space].to_owned()), space),
            };
            nodes.push(node);
            rest = &rest[length..];
        }
        nodes
    }

    /// A sequence, or the only node of it.
    pub(crate) fn sequence(nodes: Vec<Node>) -> Node {
        let mut flat = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node {
                Node::Sequence(inner) => flat.extend(inner),
                node => flat.push(node),
            }
        }
        match <[Node; 1]>::try_from(flat) {
            Ok([only]) => only,
            Err(nodes) => Node::Sequence(nodes),
        }
    }

    /// The nodes of a sequence, or the node itself.
    pub(crate) fn parts(&self) -> &[Node] {
        match self {
            Node::Sequence(nodes) => nodes,
            node => std::slice::from_ref(node),
        }
    }

    /// Whether it is a text or white space.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Node::Literal(_) | Node::Space(_))
    }

    /// The text that it is, if it is one.
    pub(crate) fn as_literal(&self) -> Option<&str> {
        match self {
            Node::Literal(text) => Some(text),
            _ => None,
        }
    }

    /// The first text among its parts that is no white space.
    pub(crate) fn first_literal(&self) -> Option<&str> {
        self.parts().iter().find_map(Node::as_literal)
    }

    /// The nodes of a choice, or the node itself.
    pub(crate) fn alternatives(&self) -> &[Node] {
        match self {
            Node::Choice(nodes) => nodes,
            node => std::slice::from_ref(node),
        }
    }

    /// Of several ways to write a call the one that calls with arguments have, or the node itself.
    pub(crate) fn usual(&self) -> &Node {
        self.alternatives().first().unwrap_or(self)
    }

    /// Goes through the node and all that it consists of.
    pub(crate) fn visit<'n>(&'n self, visit: &mut dyn FnMut(&'n Node)) {
        visit(self);
        match self {
            Node::Sequence(nodes) | Node::Choice(nodes) => {
                nodes.iter().for_each(|node| node.visit(visit));
            }
            Node::Repetition(repetition) | Node::Array(repetition) => {
                repetition.item.visit(visit);
                repetition.separator.visit(visit);
            }
            Node::Object(entries, _) => entries.iter().for_each(|entry| entry.value.visit(visit)),
            Node::Optional(node)
            | Node::JsonString(node, _)
            | Node::Call(node)
            | Node::Argument(node) => node.visit(visit),
            _ => {}
        }
    }

    /// The same to change it.
    pub(crate) fn visit_mut(&mut self, visit: &mut dyn FnMut(&mut Node)) {
        visit(self);
        match self {
            Node::Sequence(nodes) | Node::Choice(nodes) => {
                nodes.iter_mut().for_each(|node| node.visit_mut(visit));
            }
            Node::Repetition(repetition) | Node::Array(repetition) => {
                repetition.item.visit_mut(visit);
                repetition.separator.visit_mut(visit);
            }
            Node::Object(entries, _) => {
                entries
                    .iter_mut()
                    .for_each(|entry| entry.value.visit_mut(visit));
            }
            Node::Optional(node)
            | Node::JsonString(node, _)
            | Node::Call(node)
            | Node::Argument(node) => node.visit_mut(visit),
            _ => {}
        }
    }

    /// One of several, or the only one.
    pub(crate) fn choice(nodes: Vec<Node>) -> Node {
        match <[Node; 1]>::try_from(nodes) {
            Ok([only]) => only,
            Err(nodes) => Node::Choice(nodes),
        }
    }
}

/// Where a literal ends that a text begins with: before white space with a line break in it, or at the
/// end of the text. Single blanks belong to it, as in `Final Answer:`.
fn end_of_literal(text: &str) -> usize {
    let end = text.trim_end().len();
    let mut at = 0;
    while let Some(found) = text[at..end].find(char::is_whitespace) {
        let start = at + found;
        let length = text[start..].len() - text[start..].trim_start().len();
        if text[start..start + length].contains('\n') {
            return start;
        }
        at = start + length;
    }
    end
}

/// Nodes as tests write them.
#[cfg(test)]
impl Node {
    /// A row in which words in capitals are slots, values and objects. What stands between `«` and `»` is an argument that
    /// repeats, with what separates two of them behind `·`, as in `<call>NAME(«KEY=QUOTED·, »)`.
    pub(crate) fn row(text: &str) -> Node {
        const WORDS: [&str; 16] = [
            "REASONING",
            "CONTENT",
            "CALLS",
            "NAME",
            "ID",
            "INDEX",
            "KEY",
            "ARGUMENTS",
            "OBJECT",
            "LIST",
            "RAW",
            "VALUE",
            "JSON",
            "QUOTED",
            "PYTHON",
            "«",
        ];
        let mut nodes = Vec::new();
        let mut rest = text;
        let found = |rest: &str| {
            let places = WORDS
                .iter()
                .filter_map(|word| Some((rest.find(word)?, *word)));
            places.min()
        };
        while let Some((at, word)) = found(rest) {
            nodes.extend(Node::texts(&rest[..at]));
            rest = &rest[at + word.len()..];
            nodes.push(match word {
                "«" => {
                    let (argument, behind) = rest.split_once('»').expect("`»` closes `«`");
                    rest = behind;
                    let (way, separator) = argument.split_once('·').unwrap_or((argument, ""));
                    Node::repetition(Node::Argument(Box::new(Node::row(way))), separator)
                }
                word => Node::of_word(word),
            });
        }
        nodes.extend(Node::texts(rest));
        Node::sequence(nodes)
    }

    /// Calls of such a row, with another between two of them.
    pub(crate) fn calls(call: &str, separator: &str) -> Node {
        match Node::row(call) {
            list @ Node::Array(_) => list,
            call => Node::repetition(Node::Call(Box::new(call)), separator),
        }
    }

    fn repetition(item: Node, separator: &str) -> Node {
        Node::Repetition(Box::new(Repetition {
            item,
            separator: Node::Sequence(Node::row(separator).parts().to_vec()),
            at_least: 1,
            at_most: None,
        }))
    }

    fn of_word(word: &str) -> Node {
        let json = || ValueWriting::Json(Dialect::default());
        let quoted = || ValueWriting::Wrapped {
            open: "'".to_owned(),
            close: "'".to_owned(),
            always: true,
        };
        let values = |texts, others| {
            let (text, rest) = ValueType::ALL.split_at(1);
            let forms = [(text, texts), (rest, others)];
            Node::Value(
                forms
                    .map(|(types, writing)| ValueForm {
                        types: types.to_vec(),
                        writing,
                    })
                    .to_vec(),
            )
        };
        match word {
            "REASONING" => Node::Slot(Slot::Reasoning),
            "CONTENT" => Node::Slot(Slot::Content),
            "CALLS" => Node::Calls,
            "NAME" => Node::Slot(Slot::Name),
            "ID" => Node::Slot(Slot::Id),
            "INDEX" => Node::Slot(Slot::Index),
            "KEY" => Node::Slot(Slot::Key),
            "ARGUMENTS" => Node::Arguments(Dialect::default()),
            "OBJECT" => {
                let name = Node::JsonString(Box::new(Node::Slot(Slot::Name)), Dialect::default());
                let entries = [("name", name), ("arguments", Node::of_word("ARGUMENTS"))];
                let entries = entries.map(|(key, value)| Entry {
                    key: key.to_owned(),
                    value,
                });
                Node::Object(entries.to_vec(), Dialect::default())
            }
            "LIST" => Node::Array(Box::new(Repetition {
                item: Node::Call(Box::new(Node::of_word("OBJECT"))),
                separator: Node::Sequence(Vec::new()),
                at_least: 1,
                at_most: None,
            })),
            "RAW" => values(ValueWriting::Raw, ValueWriting::Raw),
            "VALUE" => values(ValueWriting::Raw, json()),
            "JSON" => values(json(), json()),
            "QUOTED" => values(quoted(), json()),
            "PYTHON" => values(quoted(), ValueWriting::Python),
            word => panic!("{word} stands for no node"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_line_breaks_and_at_their_ends() {
        for (text, expected) in [
            ("<a>", "`<a>`"),
            ("\n<a>\n\n<b> ", "`⏎` `<a>` `⏎⏎` `<b>` ` `"),
            // Single blanks belong to a text.
            ("Final Answer:", "`Final Answer:`"),
            ("Final Answer: \nSo", "`Final Answer:` ` ⏎` `So`"),
            (" ", "` `"),
            ("", ""),
        ] {
            let found = Node::Sequence(Node::texts(text));
            assert_eq!(found.to_string(), expected, "{text:?}");
        }
    }

    #[test]
    fn sequences_and_choices_of_one_are_that_one() {
        let [a, b] = ["a", "b"].map(|text| Node::Literal(text.to_owned()));
        let row =
            |nodes: &[&Node]| Node::Sequence(nodes.iter().map(|node| (*node).clone()).collect());
        for (nodes, sequence, choice) in [
            (vec![a.clone()], a.clone(), a.clone()),
            (
                vec![a.clone(), b.clone()],
                row(&[&a, &b]),
                Node::Choice(vec![a.clone(), b.clone()]),
            ),
            // Sequences within one are one.
            (
                vec![row(&[&a, &b]), a.clone()],
                row(&[&a, &b, &a]),
                Node::Choice(vec![row(&[&a, &b]), a.clone()]),
            ),
            (vec![row(&[&a])], a.clone(), row(&[&a])),
            (vec![], row(&[]), Node::Choice(vec![])),
        ] {
            assert_eq!(Node::choice(nodes.clone()), choice, "{nodes:?}");
            assert_eq!(Node::sequence(nodes.clone()), sequence, "{nodes:?}");
        }
    }

    #[test]
    fn the_first_text_is_no_white_space() {
        for (text, expected) in [("\n<a> b", Some("<a> b")), ("\n", None), ("", None)] {
            let node = Node::Sequence(Node::texts(text));
            assert_eq!(node.first_literal(), expected, "{text:?}");
        }
    }

    #[test]
    fn all_that_a_node_consists_of_is_gone_through() {
        let literal = |text: &str| Node::Literal(text.to_owned());
        let several = |item, separator| {
            Box::new(Repetition {
                item,
                separator,
                at_least: 1,
                at_most: None,
            })
        };
        let entry = |value| Entry {
            key: "k".to_owned(),
            value,
        };
        for (node, expected) in [
            (Node::Choice(vec![literal("a"), literal("b")]), 2),
            (Node::Optional(Box::new(literal("a"))), 1),
            (Node::Repetition(several(literal("a"), literal(","))), 2),
            (
                Node::Array(several(Node::Call(Box::new(literal("a"))), literal(","))),
                2,
            ),
            (
                Node::Object(
                    vec![entry(literal("a")), entry(literal("b"))],
                    Dialect::default(),
                ),
                2,
            ),
            (
                Node::JsonString(
                    Box::new(Node::Argument(Box::new(literal("a")))),
                    Dialect::default(),
                ),
                1,
            ),
            (Node::Calls, 0),
        ] {
            let (mut read, mut changed, mut node) = (0, 0, node);
            node.visit(&mut |node| read += usize::from(matches!(node, Node::Literal(_))));
            node.visit_mut(&mut |node| changed += usize::from(matches!(node, Node::Literal(_))));
            assert_eq!((read, changed), (expected, expected), "{node}");
        }
    }
}
