//! Changing values in a document, and leaving all the rest of it as it is.

use std::collections::HashSet;
use std::ops::Range;

use crate::json::{self, Style};
use crate::value::{JsonString, Object, Value, pointer_index, pointer_tokens};

use super::write::{self, STEP};
use super::{Content, Document, Entry, Language, Node};

/// A value to be put somewhere. Its key may be a new one.
#[derive(Debug, Clone)]
pub(in crate::check) struct Change {
    /// JSON pointer to the map that it is put into.
    pub(in crate::check) pointer: String,
    pub(in crate::check) key: &'static str,
    /// The key that goes for it, if there is one.
    pub(in crate::check) replaces: Option<&'static str>,
    pub(in crate::check) value: Value,
}

/// So much text is read anew at the most to find out which changes can't be made as the others are.
const MAX_READ: usize = 8 << 20;

/// A document with changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::check) struct Changed {
    pub(in crate::check) text: String,
    /// The numbers of the changes that can't be made where they would have to be: what stands there
    /// is written elsewhere, or the language can't say it.
    pub(in crate::check) impossible: Vec<usize>,
}

/// How a change is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// Only what differs is written anew.
    Finely,
    /// The value is written anew as a whole.
    Whole,
    Not,
}

/// A part of the text, and what stands there instead.
struct Edit {
    range: Range<usize>,
    text: String,
}

impl Document {
    /// The text with all of these changes that can be made.
    ///
    /// As little is written anew as possible, so that comments stay, and the order of keys. What
    /// has been written is read back; if it doesn't say what it should, it is not given away.
    pub(in crate::check) fn changed(&self, changes: &[Change]) -> Changed {
        let mut how = vec![How::Finely; changes.len()];
        let mut attempts = (MAX_READ / self.text.len().max(1)).clamp(32, 4_000);
        let settled = self.settle(changes, &mut how, 0..changes.len(), &mut attempts);
        let text = settled.or_else(|| self.attempt(changes, &how));
        let impossible = (0..changes.len()).filter(|&change| how[change] == How::Not);
        match text {
            Some(text) => Changed {
                text: self.mark.clone() + &text,
                impossible: impossible.collect(),
            },
            None => Changed {
                text: self.mark.clone() + &self.text,
                impossible: (0..changes.len()).collect(),
            },
        }
    }

    /// The text with one more item at the end of the list that a key of the whole has. Nothing else
    /// is written anew; where that can't be, there is no text.
    pub(in crate::check) fn with_item(&self, key: &'static str, item: Value) -> Option<String> {
        let list = self.root.get(key).filter(|list| !self.is_alias(list))?;
        let mut items: Vec<Value> = list.items()?.iter().map(Node::to_value).collect();
        items.push(item);
        let change = Change {
            pointer: String::new(),
            key,
            replaces: None,
            value: items.into(),
        };
        let text = self.attempt(&[change], &[How::Finely])?;
        Some(self.mark.clone() + &text)
    }

    /// Whether a value can be written in the language of the document.
    pub(in crate::check) fn can_hold(&self, value: &Value) -> bool {
        let text = match self.language {
            Language::Yaml => write::write_document(value),
            Language::Json => return true,
        };
        Document::read(&text, self.language).is_ok_and(|read| read.root.to_value().total_eq(value))
    }

    /// Finds out how each of some changes can be made, half by half until it is clear which of them
    /// need more than the others. Gives the text if all can be made finely at once. When there are no
    /// attempts left, changes are not made.
    fn settle(
        &self,
        changes: &[Change],
        how: &mut [How],
        range: Range<usize>,
        attempts: &mut usize,
    ) -> Option<String> {
        let Some(left) = attempts.checked_sub(1) else {
            how[range].fill(How::Not);
            return None;
        };
        *attempts = left;
        let of_range = |how: &[How]| {
            let all = how.iter().enumerate();
            let only = all.map(|(change, how)| match range.contains(&change) {
                true => *how,
                false => How::Not,
            });
            only.collect::<Vec<How>>()
        };
        let text = self.attempt(changes, &of_range(how));
        if text.is_some() || range.is_empty() {
            return text;
        }
        if range.len() == 1 {
            how[range.start] = How::Whole;
            if self.attempt(changes, &of_range(how)).is_none() {
                how[range.start] = How::Not;
            }
            return None;
        }
        let middle = range.start + range.len() / 2;
        self.settle(changes, how, range.start..middle, attempts);
        self.settle(changes, how, middle..range.end, attempts);
        None
    }

    /// The text with some changes, if it says what it should.
    fn attempt(&self, changes: &[Change], how: &[How]) -> Option<String> {
        let mut expected = self.root.to_value();
        for (change, _) in changes.iter().zip(how).filter(|(_, how)| **how != How::Not) {
            let object = at_pointer(&mut expected, &change.pointer)?.as_object_mut()?;
            change.replaces.and_then(|key| object.remove(key));
            object.insert(change.key, change.value.clone());
        }
        let text = self.edited(changes, how)?;
        let read = Document::read(&text, self.language).ok()?;
        read.root.to_value().total_eq(&expected).then_some(text)
    }

    fn edited(&self, changes: &[Change], how: &[How]) -> Option<String> {
        let mut edits = Edits {
            document: self,
            has_lines: self.text.trim().contains('\n'),
            whole: false,
            edits: Vec::new(),
        };
        for (change, how) in changes.iter().zip(how).filter(|(_, how)| **how != How::Not) {
            let map = self
                .node_at(&change.pointer)
                .filter(|map| !self.is_alias(map))?;
            edits.whole = *how == How::Whole;
            edits.set(map, change);
        }
        let mut edits = edits.edits;
        edits.sort_by_key(|edit| edit.range.start);
        let has_windows_line_ends = self.text.contains("\r\n");
        let mut out = String::with_capacity(self.text.len());
        let mut at = 0;
        for edit in edits {
            out.push_str(&self.text[at.min(edit.range.start)..edit.range.start]);
            match has_windows_line_ends {
                true => out.push_str(&edit.text.replace('\n', "\r\n")),
                false => out.push_str(&edit.text),
            }
            at = edit.range.end;
        }
        out.push_str(&self.text[at..]);
        Some(out)
    }

    fn node_at(&self, pointer: &str) -> Option<&Node> {
        let found = self.root.follow(pointer);
        found.is_exact.then_some(found.node)
    }

    /// Whether a value stands for one that is written elsewhere, as `*name` does.
    fn is_alias(&self, node: &Node) -> bool {
        // No other value can begin with this sign, but one may be empty and stand before it.
        let text = &self.text[node.span.clone()];
        self.language == Language::Yaml && text.starts_with('*')
    }

    /// What stands last in a value.
    fn last_part<'n>(&self, node: &'n Node) -> &'n Node {
        let last = match &node.content {
            Content::Scalar(_) => None,
            Content::List(nodes) => nodes.last(),
            Content::Map(map) => map.entries().last().map(|entry| &entry.value),
        };
        last.filter(|_| !self.is_alias(node))
            .map_or(node, |last| self.last_part(last))
    }
}

fn at_pointer<'v>(value: &'v mut Value, pointer: &str) -> Option<&'v mut Value> {
    pointer_tokens(pointer)?.try_fold(value, |value, step| match value {
        Value::Object(object) => object.get_mut(&step),
        Value::Array(items) => items.get_mut(pointer_index(&step)?),
        _ => None,
    })
}

/// Where a value stands in what holds it.
#[derive(Clone, Copy)]
enum ValueHolder {
    /// Behind the colon of a key, both of which end at `end`. The key stands at an indent.
    Key { end: usize, indent: usize },
    /// Behind the dash of an item.
    Dash { end: usize, indent: usize },
    /// Within brackets.
    Flow,
}

/// Collects what has to be written anew.
struct Edits<'d> {
    document: &'d Document,
    /// Whether the document takes more than a line.
    has_lines: bool,
    /// Whether what differs is written anew as a whole.
    whole: bool,
    edits: Vec<Edit>,
}

impl Edits<'_> {
    fn set(&mut self, map: &Node, change: &Change) {
        if let Some(entry) = change.replaces.and_then(|key| map.entry(key)) {
            return self.replace_entry(map, entry, change);
        }
        match map.entry(change.key) {
            Some(entry) => {
                let place = self.place_of(map, entry);
                self.change(&entry.value, &change.value, place);
            }
            None => self.insert(map, change.key, &change.value),
        }
    }

    /// Writes another key with its value where one stands.
    fn replace_entry(&mut self, map: &Node, entry: &Entry, change: &Change) {
        let start = entry.key_span.start;
        let mut text = String::new();
        match self.is_block(map) {
            true => write::push_entry(&mut text, change.key, &change.value, self.column(start)),
            false => self.push_flow_entry(&mut text, change.key, &change.value, start),
        }
        self.push(start..entry.value.span.end.max(entry.key_span.end), text);
    }

    fn is_block(&self, node: &Node) -> bool {
        let starts = |signs: [char; 2]| self.document.text[node.span.start..].starts_with(signs);
        self.document.language == Language::Yaml
            && !starts(['{', '['])
            && !self.document.is_alias(node)
    }

    fn place_of(&self, map: &Node, entry: &Entry) -> ValueHolder {
        let rest = &self.document.text[entry.key_span.end..];
        let end = entry.key_span.end + rest.find(':').map_or(0, |at| at + 1);
        match self.is_block(map) {
            true => ValueHolder::Key {
                end,
                indent: self.column(entry.key_span.start),
            },
            false => ValueHolder::Flow,
        }
    }

    /// Where an offset stands in its line.
    fn column(&self, offset: usize) -> usize {
        let before = &self.document.text[..offset];
        before[before.rfind('\n').map_or(0, |at| at + 1)..]
            .chars()
            .count()
    }

    /// Where the line ends that an offset stands in.
    fn line_end(&self, offset: usize) -> usize {
        let rest = &self.document.text[offset..];
        let end = rest
            .find('\n')
            .map_or(self.document.text.len(), |at| offset + at);
        end - usize::from(self.document.text[..end].ends_with('\r'))
    }

    /// Makes an old value say what a new one does.
    fn change(&mut self, old: &Node, new: &Value, place: ValueHolder) {
        if old.to_value().total_eq(new) {
            return;
        }
        let went_in = !self.whole
            && !self.document.is_alias(old)
            && match (&old.content, new) {
                (Content::Map(map), Value::Object(object)) => {
                    self.change_map(old, map.entries(), object)
                }
                (Content::List(nodes), Value::Array(items)) => self.change_list(old, nodes, items),
                _ => false,
            };
        if !went_in {
            self.replace(old, new, place);
        }
    }

    /// Changes the values of a map one by one, if that can be done.
    fn change_map(&mut self, map: &Node, entries: &[Entry], object: &Object) -> bool {
        let keys: HashSet<&JsonString> = entries.iter().map(|entry| &entry.key).collect();
        if entries
            .iter()
            .any(|entry| object.get_json_string(&entry.key).is_none())
        {
            return self.is_block(map) && self.remove_and_change(map, entries, object);
        }
        for entry in entries {
            if let Some(value) = object.get_json_string(&entry.key) {
                let place = self.place_of(map, entry);
                self.change(&entry.value, value, place);
            }
        }
        for (key, value) in object {
            if !keys.contains(key) {
                self.insert(map, &key.to_string_lossy(), value);
            }
        }
        true
    }

    /// Changes a map of which some keys go. The first one stays, since what stands before it
    /// belongs to the map.
    fn remove_and_change(&mut self, map: &Node, entries: &[Entry], object: &Object) -> bool {
        let stays = |entry: &Entry| object.get_json_string(&entry.key).is_some();
        let keys: HashSet<&JsonString> = entries.iter().map(|entry| &entry.key).collect();
        let adds = object.keys().any(|key| !keys.contains(key));
        if adds || !entries.first().is_some_and(stays) {
            return false;
        }
        for entry in entries {
            match object.get_json_string(&entry.key) {
                Some(value) => {
                    let place = self.place_of(map, entry);
                    self.change(&entry.value, value, place);
                }
                None => {
                    let before = self.document.text[..entry.key_span.start].trim_end();
                    let end = self.line_end(entry.value.span.end.max(entry.key_span.end));
                    self.push(before.len()..end, String::new());
                }
            }
        }
        true
    }

    /// Changes the items of a list one by one, if that can be done.
    fn change_list(&mut self, list: &Node, nodes: &[Node], items: &[Value]) -> bool {
        let is_block = self.is_block(list);
        let grows = items.len() > nodes.len() && !nodes.is_empty();
        let shrinks = items.len() < nodes.len() && !items.is_empty() && is_block;
        if items.len() != nodes.len() && !grows && !shrinks {
            return false;
        }
        let indent = self.column(list.span.start);
        for (node, item) in nodes.iter().zip(items) {
            let place = match is_block {
                true => ValueHolder::Dash {
                    end: self.dash_before(node.span.start),
                    indent,
                },
                false => ValueHolder::Flow,
            };
            self.change(node, item, place);
        }
        if let (Some(gone), Some(last)) = (nodes.get(items.len()), nodes.last()) {
            let dash = self.dash_before(gone.span.start).saturating_sub(1);
            let before = self.document.text[..dash].trim_end().len();
            self.push(before..self.line_end(last.span.end), String::new());
        } else if let Some(last) = nodes.last() {
            let new = &items[nodes.len()..];
            match is_block {
                true => self.append_lines(nodes, last, new, indent),
                false => self.append_flow(last, new),
            }
        }
        true
    }

    /// Adds items behind the last of a block, with blank lines between them where there are some.
    fn append_lines(&mut self, nodes: &[Node], last: &Node, new: &[Value], indent: usize) {
        let keeps = self.keeps_blank_lines(self.document.last_part(last));
        let gap = match self.are_apart(nodes) && !keeps {
            true => "\n",
            false => "",
        };
        let mut text = String::new();
        for item in new {
            text.push_str(&format!("\n{gap}{}-", " ".repeat(indent)));
            write::after_dash(&mut text, item, indent);
        }
        if !keeps {
            let at = self.line_end(last.span.end);
            return self.push(at..at, text);
        }
        let rest = &self.document.text[last.span.end..];
        let blank = &rest[..rest.len() - rest.trim_start().len()];
        let at = last.span.end + blank.rfind('\n').map_or(0, |line_end| line_end + 1);
        self.push(at..at, text[1..].to_owned() + "\n");
    }

    /// Whether there is a blank line between the last two items of a block.
    fn are_apart(&self, nodes: &[Node]) -> bool {
        let [.., before, last] = nodes else {
            return false;
        };
        let between = &self.document.text[before.span.end..last.span.start];
        between.lines().skip(1).any(|line| line.trim().is_empty())
    }

    /// Adds items behind the last within brackets.
    fn append_flow(&mut self, last: &Node, new: &[Value]) {
        let space = self.space_before(last.span.start);
        let mut text = String::new();
        for item in new {
            text.push_str(&format!(",{space}"));
            text.push_str(&self.flow(item, last.span.start));
        }
        // White space before a comma may count as a part of what stands there.
        let at = self.document.text[..last.span.end].trim_end().len();
        self.push(at..at, text);
    }

    /// The white space within brackets that goes with a comma before something new, as it stands
    /// before something old.
    fn space_before(&self, start: usize) -> String {
        let before = &self.document.text[..start];
        let space = &before[before.trim_end().len()..];
        match space.contains('\n') {
            true => space.replace('\r', ""),
            false => " ".into(),
        }
    }

    /// Where the dash ends that stands before an item.
    fn dash_before(&self, start: usize) -> usize {
        let before = &self.document.text[..start];
        before.rfind('-').map_or(start, |at| at + 1)
    }

    /// Adds a key at the end of a map.
    fn insert(&mut self, map: &Node, key: &str, value: &Value) {
        let Some(last) = map.entries().and_then(<[Entry]>::last) else {
            let mut object = Object::new();
            object.insert(key, value.clone());
            return self.replace(map, &object.into(), ValueHolder::Flow);
        };
        let mut text = String::new();
        if self.is_block(map) {
            let indent = self.column(last.key_span.start);
            let line = format!("\n{}", " ".repeat(indent));
            if self.keeps_blank_lines(&last.value) {
                // What would stand behind it would become a part of it.
                write::push_entry(&mut text, key, value, indent);
                let at = last.key_span.start;
                return self.push(at..at, text + &line);
            }
            text.push_str(&line);
            write::push_entry(&mut text, key, value, indent);
            let at = self.line_end(last.value.span.end.max(last.key_span.end));
            return self.push(at..at, text);
        }
        text.push_str(&format!(",{}", self.space_before(last.key_span.start)));
        self.push_flow_entry(&mut text, key, value, last.key_span.start);
        self.push(last.value.span.end..last.value.span.end, text);
    }

    fn push_flow_entry(&self, text: &mut String, key: &str, value: &Value, at: usize) {
        json::write_str(text, key, false);
        text.push_str(": ");
        text.push_str(&self.flow(value, at));
    }

    /// Whether a value is a block of text to which the blank lines behind it belong.
    fn keeps_blank_lines(&self, node: &Node) -> bool {
        let text = &self.document.text[node.span.clone()];
        let header = text.lines().next().unwrap_or_default();
        header.starts_with(['|', '>']) && header.split('#').next().is_some_and(|h| h.contains('+'))
    }

    fn replace(&mut self, old: &Node, new: &Value, place: ValueHolder) {
        let mut text = String::new();
        let end = old.span.end;
        let range = match place {
            ValueHolder::Flow => {
                text.push_str(&self.flow(new, old.span.start));
                old.span.clone()
            }
            // Comments may stand between a key and the lines below it.
            ValueHolder::Key {
                end: key_end,
                indent,
            } if write::has_parts(new) && self.starts_line_after(key_end, old) => {
                let column = self.column(old.span.start).max(indent);
                write::block(&mut text, new, column);
                old.span.clone()
            }
            ValueHolder::Key {
                end: key_end,
                indent,
            } => {
                write::after_colon(&mut text, new, indent);
                key_end..end.max(key_end)
            }
            ValueHolder::Dash {
                end: dash_end,
                indent,
            } => {
                write::after_dash(&mut text, new, indent);
                dash_end..end.max(dash_end)
            }
        };
        self.push(range, text);
    }

    /// Whether a value begins on a line below its key, and is a list or a map.
    fn starts_line_after(&self, key_end: usize, node: &Node) -> bool {
        let between = &self.document.text[key_end..node.span.start.max(key_end)];
        between.contains('\n') && !matches!(node.content, Content::Scalar(_)) && self.is_block(node)
    }

    /// A value within brackets: in JSON over several lines, where the document is.
    fn flow(&self, value: &Value, at: usize) -> String {
        let mut text = String::new();
        if self.document.language == Language::Yaml {
            write::flow(&mut text, value);
            return text;
        }
        if !self.has_lines {
            let style = Style::COMPACT.separators(", ", ": ");
            return json::write_styled(value, &style);
        }
        let before = &self.document.text[..at];
        let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
        let indent = &line[..line.len() - line.trim_start().len()];
        let pretty = json::write_styled(value, &Style::pretty(STEP));
        pretty.replace('\n', &format!("\n{indent}"))
    }

    fn push(&mut self, range: Range<usize>, text: String) {
        self.edits.push(Edit { range, text });
    }
}
