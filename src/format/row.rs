//! Texts and slots in a row, such as what opens a call.

use std::ops::Deref;

use super::{Node, Slot};
use crate::markers::{ID_SLOT, INDEX_SLOT, KEY_SLOT, NAME_SLOT};

/// Texts and slots in a row. No two texts follow each other.
///
/// [Markers](crate::markers) may have slots in them, as `</NAME>` has. Who asks for these goes by the row as a text, in which
/// a character that no text holds stands for each slot; no text becomes a row by such characters.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Row {
    nodes: Vec<Node>,
    text: String,
}

/// The characters that stand for slots in a text.
pub(crate) const SLOTS: [(Slot, char); 4] = [
    (Slot::Name, NAME_SLOT),
    (Slot::Id, ID_SLOT),
    (Slot::Index, INDEX_SLOT),
    (Slot::Key, KEY_SLOT),
];

impl Row {
    /// The texts and slots among nodes.
    pub(crate) fn of<'n>(nodes: impl IntoIterator<Item = &'n Node>) -> Row {
        let mut row = Row::default();
        for node in nodes {
            match node {
                Node::Literal(text) | Node::Space(text) => row.push_text(text),
                Node::Slot(slot) => {
                    let known = SLOTS.iter().find(|(known, _)| known == slot);
                    row.text.extend(known.map(|(_, sign)| *sign));
                    row.nodes.extend(known.map(|_| node.clone()));
                }
                _ => {}
            }
        }
        row
    }

    fn push_text(&mut self, text: &str) {
        self.text.push_str(text);
        match self.nodes.last_mut() {
            _ if text.is_empty() => {}
            Some(Node::Literal(before)) => before.push_str(text),
            _ => self.nodes.push(Node::Literal(text.to_owned())),
        }
    }

    /// The whole texts, and the slots between them.
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Slots, and what stands between them as [texts and white space](Node::texts).
    pub(crate) fn split(&self) -> Vec<Node> {
        let split = self.nodes.iter().map(|node| match node {
            Node::Literal(text) => Node::texts(text),
            node => vec![node.clone()],
        });
        split.flatten().collect()
    }

    pub(crate) fn has(&self, slot: Slot) -> bool {
        self.nodes.contains(&Node::Slot(slot))
    }

    pub(crate) fn has_slots(&self) -> bool {
        self.nodes.iter().any(|node| !node.is_text())
    }

    /// Slots as words in a text.
    pub(crate) fn in_words(&self) -> String {
        let words = self.nodes.iter().map(|node| match node {
            Node::Literal(text) => text.clone(),
            Node::Slot(Slot::Index) => "NUMBER".to_owned(),
            node => node.to_string(),
        });
        words.collect()
    }

    /// Goes through all texts, which may change.
    pub(crate) fn each_text(&mut self, visit: &mut dyn FnMut(&mut String)) {
        for node in &mut self.nodes {
            if let Node::Literal(text) = node {
                visit(text);
            }
        }
        *self = Row::of(&self.nodes);
    }

    /// The texts before, between and behind slots.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter_map(Node::as_literal)
    }

    /// The text before the first slot.
    pub(crate) fn first_text(&self) -> &str {
        let first = self.nodes.first().and_then(Node::as_literal);
        first.unwrap_or_default()
    }

    /// The text behind the last slot, if there are slots.
    pub(crate) fn last_text(&self) -> Option<&str> {
        let last = self.nodes.last().and_then(Node::as_literal);
        self.has_slots().then(|| last.unwrap_or_default())
    }

    /// What stands behind so many bytes of the first text.
    pub(crate) fn behind(&self, length: usize) -> Row {
        let first = Node::Literal(self.first_text()[length..].to_owned());
        let rest = self.nodes.iter().skip_while(|node| node.is_text());
        Row::of([&first].into_iter().chain(rest))
    }

    /// What stands before so many bytes at the end of the last text.
    pub(crate) fn without_end(&self, length: usize) -> Row {
        let mut row = self.clone();
        row.text.truncate(row.text.len() - length);
        if let Some(Node::Literal(last)) = row.nodes.last_mut() {
            last.truncate(last.len() - length);
        }
        row.nodes
            .retain(|node| *node != Node::Literal(String::new()));
        row
    }
}

/// A row of one text.
impl From<&str> for Row {
    fn from(text: &str) -> Row {
        let mut row = Row::default();
        row.push_text(text);
        row
    }
}

/// The row as a text, as [markers](crate::markers) know it.
impl Deref for Row {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Row {
        Row::of(Node::row(text).parts())
    }

    /// A row with slots in capitals.
    fn shown(row: &Row) -> String {
        let parts = row.nodes().iter().map(|node| match node {
            Node::Literal(text) => text.clone(),
            node => node.to_string(),
        });
        parts.collect()
    }

    #[test]
    fn texts_that_follow_each_other_are_one_and_nothing_else_is_in_a_row() {
        for (text, expected) in [
            ("\n<call>\n<id>ID\n", 3),
            ("<call>NAME:INDEX", 4),
            ("<call>ARGUMENTS</call>", 1),
            ("", 0),
        ] {
            let found = row(text);
            assert_eq!(found.nodes().len(), expected, "{text:?}");
            assert_eq!(shown(&found), text.replace("ARGUMENTS", ""), "{text:?}");
        }
    }

    #[test]
    fn a_row_begins_and_ends_with_texts_around_its_slots() {
        for (text, first, last) in [
            ("<call>NAME>\n", "<call>", Some(">\n")),
            ("NAME:ID", "", Some("")),
            ("<call>", "<call>", None),
            ("", "", None),
        ] {
            let found = row(text);
            assert_eq!(
                (found.first_text(), found.last_text()),
                (first, last),
                "{text:?}"
            );
            assert_eq!(found.has_slots(), last.is_some(), "{text:?}");
            assert_eq!(found.has(Slot::Name), text.contains("NAME"), "{text:?}");
        }
        assert_eq!(
            row("<a>NAME<b>ID").texts().collect::<Vec<_>>(),
            ["<a>", "<b>"]
        );
    }

    #[test]
    fn slots_are_words_and_texts_may_change() {
        let mut found = row("<call>NAME:INDEX");
        assert_eq!(found.in_words(), "<call>NAME:NUMBER");
        found.each_text(&mut |text| *text = text.replace("call", "do").replace(':', ""));
        assert_eq!(found, row("<do>NAMEINDEX"));
    }

    #[test]
    fn rows_are_cut_at_both_ends() {
        for (text, behind, without_end, expected) in [
            ("<call>NAME>", 6, 1, "NAME"),
            ("<call>NAME>", 2, 0, "all>NAME>"),
            ("<call>", 1, 1, "call"),
            ("<call>", 6, 0, ""),
        ] {
            let found = row(text).behind(behind).without_end(without_end);
            assert_eq!(shown(&found), expected, "{text}");
            assert_eq!(found, row(expected), "{text}");
        }
        assert_eq!(Row::from("<a>"), row("<a>"));
    }
}
