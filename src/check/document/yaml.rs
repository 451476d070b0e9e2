//! Reading YAML with the places of its values.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, Tag};

use crate::diagnostic::Diagnostic;
use crate::json;
use crate::position::Position;
use crate::tree::Map;
use crate::value::{Number, Value};

use super::{Content, Entry, MAX_NODES, Node, key_stands_twice, too_many};

/// Lists and maps may be nested this deep.
const MAX_DEPTH: usize = 100;

/// What has an anchor, and what stands for it, may grow to this many bytes altogether: a few lines
/// can stand for more than there is memory.
const MAX_ALIASED: usize = 16 << 20;

/// What helps against most faults.
const QUOTING: &str = "look at this line and the one before: keys of one map stand in one column, \
     and a text that begins with a sign, or has `: ` or ` #` in it, needs quotes, or a block after \
     `|-`";

pub(super) fn read(text: &str) -> Result<Node, Diagnostic> {
    let mut builder = Builder::new(text);
    for event in Parser::new_from_str(text) {
        let (event, span) =
            event.map_err(|error| builder.not_yaml(*error.marker(), error.info()))?;
        builder.take(event, span)?;
    }
    match builder.root {
        Some(root) => Ok(root),
        None => Err(Diagnostic::new("the file is empty").at_position(Position::START)),
    }
}

/// Puts a tree together from the events of the parser.
struct Builder<'t> {
    text: &'t str,
    /// Where each character begins, if that is not plain.
    offsets: Vec<usize>,
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    aliased: usize,
    /// How many values there were.
    nodes: usize,
    root: Option<Node>,
}

/// A list or a map of which the end was not read yet.
struct Open {
    start: usize,
    anchor: usize,
    parts: Parts,
    /// The key whose value comes next.
    key: Option<(String, Range<usize>)>,
    keys: HashSet<String>,
}

/// What a list or a map holds so far.
enum Parts {
    List(Vec<Node>),
    Map(Vec<Entry>),
}

impl<'t> Builder<'t> {
    fn new(text: &'t str) -> Builder<'t> {
        let offsets = match text.is_ascii() {
            true => Vec::new(),
            false => text.char_indices().map(|(at, _)| at).collect(),
        };
        Builder {
            text,
            offsets,
            open: Vec::new(),
            anchors: HashMap::new(),
            aliased: 0,
            nodes: 0,
            root: None,
        }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Diagnostic> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let range = self.scalar_range(style, span);
                if self.wants_key() {
                    return self.key(text.into_owned(), range);
                }
                let value = match scalar(&text, style, tag.as_deref()) {
                    Some(value) => value,
                    None => return Err(self.fault(range.start, "this tag is not understood")),
                };
                self.value(Node::new(range, Content::Scalar(value)), anchor)
            }
            Event::SequenceStart(anchor, _) => self.step_in(span, anchor, Parts::List(Vec::new())),
            Event::MappingStart(anchor, _) => self.step_in(span, anchor, Parts::Map(Vec::new())),
            Event::SequenceEnd | Event::MappingEnd => self.step_out(span),
            Event::Alias(anchor) => self.alias(anchor, span),
            Event::DocumentStart(_) if self.root.is_some() => Err(self.fault(
                self.offset(span.start),
                "a second document begins here: write one per file",
            )),
            _ => Ok(()),
        }
    }

    fn wants_key(&self) -> bool {
        let open = self.open.last();
        open.is_some_and(|open| matches!(open.parts, Parts::Map(_)) && open.key.is_none())
    }

    fn key(&mut self, key: String, range: Range<usize>) -> Result<(), Diagnostic> {
        let is_new = match self.open.last_mut() {
            Some(open) => open.keys.insert(key.clone()),
            None => true,
        };
        if !is_new {
            let position = Position::at(self.text, range.start);
            return Err(key_stands_twice(&key, position));
        }
        if let Some(open) = self.open.last_mut() {
            open.key = Some((key, range));
        }
        Ok(())
    }

    fn step_in(&mut self, span: Span, anchor: usize, parts: Parts) -> Result<(), Diagnostic> {
        let start = self.offset(span.start);
        if self.wants_key() {
            return Err(self.fault(start, "a key has to be a text"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(self.fault(start, format!("this is nested more than {MAX_DEPTH} deep")));
        }
        self.open.push(Open {
            start,
            anchor,
            parts,
            key: None,
            keys: HashSet::new(),
        });
        Ok(())
    }

    fn step_out(&mut self, span: Span) -> Result<(), Diagnostic> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        // In the style of blocks, the parser reports the end where the next thing begins.
        let is_flow = span.start.index() < span.end.index();
        let end = match &open.parts {
            _ if is_flow => self.offset(span.end),
            Parts::List(nodes) => nodes.last().map_or(open.start, |node| node.span.end),
            Parts::Map(entries) => entries.last().map_or(open.start, |e| e.value.span.end),
        };
        // Of a list that is indented no deeper than its key, the parser reports the start behind
        // the first dash.
        let start = match &open.parts {
            Parts::List(nodes) if !is_flow && !self.text[open.start..].starts_with('-') => {
                let first = nodes.first().map_or(open.start, |node| node.span.start);
                self.text[..first].rfind('-').unwrap_or(open.start)
            }
            _ => open.start,
        };
        let content = match open.parts {
            Parts::List(nodes) => Content::List(nodes),
            Parts::Map(entries) => Content::Map(Map::new(entries)),
        };
        self.value(Node::new(start..end, content), open.anchor)
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<(), Diagnostic> {
        let range = self.offset(span.start)..self.offset(span.end);
        if self.wants_key() {
            return Err(self.fault(range.start, "a key has to be written out"));
        }
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(self.fault(
                range.start,
                "this alias refers to something that contains it",
            ));
        };
        let mut node = node.clone();
        self.count_copy(&node, range.start)?;
        move_to_alias(&mut node, &range);
        self.value(node, 0)
    }

    /// Notes that there is a copy of a node, and refuses to make ever more of them.
    fn count_copy(&mut self, node: &Node, place: usize) -> Result<(), Diagnostic> {
        self.aliased += weight(node);
        match self.aliased > MAX_ALIASED {
            true => Err(self.fault(place, "aliases expand to too much")),
            false => Ok(()),
        }
    }

    /// Puts a value where it belongs.
    fn value(&mut self, node: Node, anchor: usize) -> Result<(), Diagnostic> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(too_many(Position::at(self.text, node.span.start)));
        }
        if anchor > 0 {
            self.count_copy(&node, node.span.start)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.parts {
            Parts::List(nodes) => nodes.push(node),
            Parts::Map(entries) => {
                if let Some((key, key_span)) = open.key.take() {
                    entries.push(Entry {
                        key: key.into(),
                        key_span,
                        value: node,
                    });
                }
            }
        }
        Ok(())
    }

    fn offset(&self, marker: Marker) -> usize {
        let index = marker.index();
        let end = self.text.len();
        match self.text.is_empty() || self.offsets.is_empty() {
            true => index.min(end),
            false => self.offsets.get(index).copied().unwrap_or(end),
        }
    }

    /// Where a scalar stands. The parser reports a block without its header, and a quoted text with
    /// the comments behind it.
    fn scalar_range(&self, style: ScalarStyle, span: Span) -> Range<usize> {
        let (start, end) = (self.offset(span.start), self.offset(span.end));
        match style {
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let trimmed = self.text[..end].trim_end().len();
                let start = block_header(&self.text[..start]);
                start..trimmed.max(start)
            }
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => {
                start..quoted_end(self.text, start, end)
            }
            ScalarStyle::Plain => start..start + self.text[start..end].trim_end().len(),
        }
    }

    fn fault(&self, offset: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(message).at_position(Position::at(self.text, offset))
    }

    fn not_yaml(&self, marker: Marker, info: &str) -> Diagnostic {
        let mut offset = self.offset(marker);
        // Where a text goes on with a tab, the parser reports the start of the text.
        if info.contains("found a tab") {
            offset = indenting_tab(self.text, offset).unwrap_or(offset);
        }
        let (before, after) = self.text.split_at(offset);
        let indent = before.len() - before.trim_end_matches([' ', '\t']).len();
        let has_tab = before[before.len() - indent..].contains('\t') || after.starts_with('\t');
        let remedy = match has_tab {
            true => "indent by spaces, not by tabs",
            false if info.contains("escape") => {
                "in double quotes, a backslash is written twice: use single quotes for patterns"
            }
            false => QUOTING,
        };
        let message = format!("this is not YAML: {info}");
        self.fault(offset, message).with_remedy(remedy)
    }
}

/// The first tab behind an offset that indents a line.
fn indenting_tab(text: &str, from: usize) -> Option<usize> {
    let breaks = text[from..]
        .match_indices('\n')
        .map(|(at, _)| from + at + 1);
    let mut indents = breaks.map(|line| {
        let indent = text[line..].trim_start_matches(' ');
        text.len() - indent.len()
    });
    indents.find(|&at| text[at..].starts_with('\t'))
}

/// About how many bytes a node and an entry of a map take. They are fixed, so that the same
/// fixtures are refused whatever the layout of these types is.
const NODE_WEIGHT: usize = 56;
const ENTRY_WEIGHT: usize = 96;

/// How many bytes a copy of a node takes, about.
fn weight(node: &Node) -> usize {
    NODE_WEIGHT
        + match &node.content {
            Content::Scalar(Value::String(text)) => text.len(),
            Content::Scalar(_) => 0,
            Content::List(nodes) => nodes.iter().map(weight).sum(),
            Content::Map(map) => {
                let weights = map
                    .entries()
                    .iter()
                    .map(|e| ENTRY_WEIGHT + e.key.len() + weight(&e.value));
                weights.sum()
            }
        }
}

/// Puts a node and all that it holds where the alias stands.
fn move_to_alias(node: &mut Node, range: &Range<usize>) {
    node.span = range.clone();
    match &mut node.content {
        Content::Scalar(_) => {}
        Content::List(nodes) => nodes.iter_mut().for_each(|node| move_to_alias(node, range)),
        Content::Map(map) => {
            for entry in map.entries_mut() {
                entry.key_span = range.clone();
                move_to_alias(&mut entry.value, range);
            }
        }
    }
}

/// Where the header of a block of text stands, such as `|-`, which is the last thing but a comment
/// on the line before the text.
fn block_header(before: &str) -> usize {
    let before = before.trim_end();
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let is_header = |at: usize| {
        let rest =
            before[at + 1..].trim_start_matches(|c: char| c.is_ascii_digit() || "+-".contains(c));
        rest.is_empty() || rest.starts_with([' ', '\t'])
    };
    let signs = before[line..].match_indices(['|', '>']);
    let mut places = signs.map(|(at, _)| line + at);
    places
        .find(|&at| before[..at].ends_with([' ', '\t', '\n']) && is_header(at))
        .unwrap_or(before.len())
}

/// Where the quoted text ends that begins at an offset, perhaps behind a tag.
fn quoted_end(text: &str, start: usize, limit: usize) -> usize {
    let Some(open) = text[start..limit].find(['"', '\'']) else {
        return limit;
    };
    let bytes = text.as_bytes();
    let quote = bytes[start + open];
    let mut at = start + open + 1;
    while at < limit {
        match bytes[at] {
            b'\\' if quote == b'"' => at += 1,
            byte if byte == quote && quote == b'\'' && bytes.get(at + 1) == Some(&quote) => at += 1,
            byte if byte == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    limit
}

/// The value of a scalar, or nothing if its tag is not understood.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Option<Value> {
    let plain = match style {
        ScalarStyle::Plain => core_value(text),
        _ => text.into(),
    };
    let Some(tag) = tag else {
        return Some(plain);
    };
    match tag.suffix.as_str() {
        "str" => Some(text.into()),
        "null" | "bool" | "int" | "float" => Some(core_value(text)),
        _ => None,
    }
}

/// What a word without quotes means in YAML 1.2.
pub(super) fn core_value(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => f64::INFINITY.into(),
        "-.inf" | "-.Inf" | "-.INF" => f64::NEG_INFINITY.into(),
        ".nan" | ".NaN" | ".NAN" => f64::NAN.into(),
        _ => number(text).map_or_else(|| text.into(), Value::Number),
    }
}

fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let first = unsigned.bytes().next()?;
    if !first.is_ascii_digit() && first != b'.' {
        return None;
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let is_signed = digits.starts_with(['+', '-']);
            let value = i64::from_str_radix(digits, radix).ok();
            return value.filter(|_| !is_signed).map(Number::Int);
        }
    }
    if let Ok(Value::Number(number)) = json::read(text) {
        return Some(number);
    }
    let allowed = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let is_whole = unsigned.bytes().all(|byte| byte.is_ascii_digit());
    match text.bytes().all(allowed) {
        true if is_whole => match text.parse::<i64>() {
            Ok(whole) => Some(Number::Int(whole)),
            Err(_) => text.parse().ok().map(Number::Float),
        },
        true => text.parse().ok().map(Number::Float),
        false => None,
    }
}
