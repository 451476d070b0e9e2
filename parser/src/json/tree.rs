//! Reading a document with the places of its values and keys.

use std::ops::Range;

use crate::position::{LineIndex, Position};
use crate::tree::{Content, Entry, Map, Node};
use crate::value::{JsonString, Value, pointer_tokens};

use super::Error;
use super::reader::{Build, DocumentReader};

/// What of a document becomes part of its tree. All of it is read and has to
/// be JSON.
#[derive(Clone, Copy)]
pub struct TreeLimits {
    /// Values may stand this deep in others; the document itself stands at 0.
    pub depth: usize,
    /// So many values.
    pub nodes: usize,
}

impl TreeLimits {
    /// What these pointers lead to, and what is on the way.
    fn of<'p>(pointers: impl IntoIterator<Item = &'p str>) -> TreeLimits {
        let depths = pointers
            .into_iter()
            .map(|pointer| pointer_tokens(pointer).map_or(0, Iterator::count));
        TreeLimits {
            depth: depths.max().unwrap_or(0),
            nodes: usize::MAX,
        }
    }
}

/// Reads a document as a tree. Gives the place of the first value that is one
/// too many as well, if there is any.
pub fn read_tree(text: &str, limits: TreeLimits) -> Result<(Node, Option<usize>), Error> {
    let builder = TreeBuilder {
        limits,
        depth: 0,
        nodes: 0,
        first_beyond: None,
    };
    let (root, builder) = DocumentReader::new(text.as_bytes(), Some(text), builder).document()?;
    // The document itself is within all limits but that of no values at all.
    let root = root.unwrap_or_else(|| Node::new(0..text.len(), Content::Scalar(Value::Null)));
    Ok((root, builder.first_beyond))
}

/// Knows where the values and keys of a document stand that some pointers name.
pub struct Places<'t> {
    text: &'t str,
    lines: LineIndex,
    root: Node,
}

impl<'t> Places<'t> {
    /// Reads a document once for all these pointers. Gives nothing if it is not JSON.
    pub(crate) fn of<'p>(
        text: &'t str,
        pointers: impl IntoIterator<Item = &'p str>,
    ) -> Option<Places<'t>> {
        let (root, _) = read_tree(text, TreeLimits::of(pointers)).ok()?;
        Some(Places {
            text,
            lines: LineIndex::new(text),
            root,
        })
    }

    /// Where the value starts.
    fn value(&self, pointer: &str) -> Option<Position> {
        let found = self.root.follow(pointer);
        let start = found.is_exact.then_some(found.node.span.start)?;
        Some(self.lines.position(self.text, start))
    }

    /// Where the value starts, or, if it is not there, the nearest that would
    /// hold it.
    pub(crate) fn nearest_value(&self, pointer: &str) -> Position {
        let found = self.root.follow(pointer);
        self.lines.position(self.text, found.node.span.start)
    }

    /// Where the key stands that the last step of the pointer names.
    pub(crate) fn key(&self, pointer: &str) -> Option<Position> {
        let found = self.root.follow(pointer);
        let key = found.key.filter(|_| found.is_exact)?;
        Some(self.lines.position(self.text, key.start))
    }
}

/// Where in a JSON document the value at a pointer (RFC 6901) starts. Of
/// equal keys the last one counts, as when reading. `None` if there is no
/// such value, or if the text is not JSON.
///
/// ```
/// use unjinja::json::locate;
///
/// let text = "{\n  \"a\": [1, 22]\n}";
/// let place = locate(text, "/a/1").unwrap();
/// assert_eq!((place.line, place.column), (2, 12));
/// assert!(text[place.offset..].starts_with("22"));
/// ```
pub fn locate(text: &str, pointer: &str) -> Option<Position> {
    Places::of(text, [pointer])?.value(pointer)
}

/// Where in a JSON document the key stands that the last step of a pointer
/// names: its opening quote. `None` also if that step is none into an object.
///
/// ```
/// use unjinja::json::locate_key;
///
/// let place = locate_key(r#"{"a": {"b": 1}}"#, "/a/b").unwrap();
/// assert_eq!(place.column, 8);
/// ```
pub fn locate_key(text: &str, pointer: &str) -> Option<Position> {
    Places::of(text, [pointer])?.key(pointer)
}

/// Makes a tree, and drops what is beyond its limits.
struct TreeBuilder {
    limits: TreeLimits,
    /// How many arrays and objects are open.
    depth: usize,
    /// How many values there were.
    nodes: usize,
    /// Where the first value stands that is one too many.
    first_beyond: Option<usize>,
}

impl TreeBuilder {
    /// Counts a value; whether it is within the limits.
    fn keeps(&mut self, start: usize) -> bool {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            self.first_beyond.get_or_insert(start);
            return false;
        }
        self.depth <= self.limits.depth
    }
}

/// An array or object that is open.
struct OpenNode<P> {
    start: usize,
    is_kept: bool,
    parts: Vec<P>,
    /// In an object, the key whose value comes next, and its place.
    key: Option<(JsonString, Range<usize>)>,
}

impl<P> OpenNode<P> {
    fn begin(builder: &mut TreeBuilder, start: usize) -> OpenNode<P> {
        let is_kept = builder.keeps(start);
        builder.depth += 1;
        OpenNode {
            start,
            is_kept,
            parts: Vec::new(),
            key: None,
        }
    }

    fn end(
        self,
        builder: &mut TreeBuilder,
        end: usize,
        content: impl FnOnce(Vec<P>) -> Content,
    ) -> Option<Node> {
        builder.depth -= 1;
        self.is_kept
            .then(|| Node::new(self.start..end, content(self.parts)))
    }
}

impl Build for TreeBuilder {
    /// Nothing where a value is beyond the limits.
    type Node = Option<Node>;
    type Array = OpenNode<Node>;
    type Object = OpenNode<Entry>;

    fn scalar(&mut self, value: Value, span: Range<usize>) -> Option<Node> {
        self.keeps(span.start)
            .then(|| Node::new(span, Content::Scalar(value)))
    }

    fn begin_array(&mut self, start: usize) -> OpenNode<Node> {
        OpenNode::begin(self, start)
    }

    fn push_item(&mut self, array: &mut OpenNode<Node>, item: Option<Node>) {
        array.parts.extend(item);
    }

    fn end_array(&mut self, array: OpenNode<Node>, end: usize) -> Option<Node> {
        array.end(self, end, Content::List)
    }

    fn begin_object(&mut self, start: usize) -> OpenNode<Entry> {
        OpenNode::begin(self, start)
    }

    fn push_key(&mut self, object: &mut OpenNode<Entry>, key: JsonString, span: Range<usize>) {
        object.key = Some((key, span));
    }

    fn push_value(&mut self, object: &mut OpenNode<Entry>, value: Option<Node>) {
        let key = object.key.take();
        object
            .parts
            .extend(key.zip(value).map(|((key, key_span), value)| Entry {
                key,
                key_span,
                value,
            }));
    }

    fn end_object(&mut self, object: OpenNode<Entry>, end: usize) -> Option<Node> {
        object.end(self, end, |entries| Content::Map(Map::new(entries)))
    }
}
