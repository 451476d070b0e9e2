//! How calls are written: their tree, and the texts that it is made from.

use crate::format::{Node, Repetition, Row, SLOTS};

use super::certainty::Certainty;
use super::delimiters::Delimiters;
use crate::markers::{INDEX_SLOT, is_slot};

/// How calls of tools are written.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CallShape {
    /// How sure it is.
    pub certainty: Certainty,
    /// What opens a turn's calls.
    pub(crate) section_open: Row,
    /// What closes them.
    pub(crate) section_close: Row,
    /// Whether several calls have the brackets of a list around them that one has not.
    pub several_in_brackets: bool,
    /// The calls themselves, as a [`Format`](crate::format::Format) has them.
    pub node: Node,
}

impl CallShape {
    /// What opens a turn's calls, with slots as words: `<calls NUMBER>` where the template counts them.
    pub fn section_open(&self) -> String {
        self.section_open.in_words()
    }

    /// What closes a turn's calls, with slots as words.
    pub fn section_close(&self) -> String {
        self.section_close.in_words()
    }
}

/// The calls of a turn with this body: each between what opens and closes it, or all in one array.
pub(super) fn calls_of(around: &Delimiters, body: Node, several: bool) -> Node {
    let at_most = (!several).then_some(1);
    let within = |body| {
        let row = [nodes(&around.open), vec![body], nodes(&around.close)];
        Node::sequence(row.concat())
    };
    match body {
        Node::Array(mut calls) => {
            calls.at_most = at_most;
            within(Node::Array(calls))
        }
        body => Node::Repetition(Box::new(Repetition {
            item: Node::Call(Box::new(within(body))),
            separator: Node::Sequence(nodes(&around.separator)),
            at_least: 1,
            at_most,
        })),
    }
}

/// One array of all calls.
pub(super) fn array_of(call: Node) -> Node {
    Node::Array(Box::new(Repetition {
        item: Node::Call(Box::new(call)),
        separator: Node::Sequence(Vec::new()),
        at_least: 1,
        at_most: None,
    }))
}

/// The texts, white space and slots of a text in which characters that no text holds stand for slots.
pub(super) fn nodes(text: &str) -> Vec<Node> {
    let mut row = Vec::new();
    for part in text.split_inclusive(is_slot) {
        row.extend(Node::texts(part.trim_end_matches(is_slot)));
        let slot = SLOTS.iter().find(|(_, sign)| part.ends_with(*sign));
        row.extend(slot.map(|(slot, _)| Node::Slot(*slot)));
    }
    row
}

/// The same, in which no two texts follow each other.
pub(super) fn row_of(text: &str) -> Row {
    Row::of(&nodes(text))
}

/// The text with slots in place of the numbers of calls, which count from nought or one.
pub(super) fn numbered(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let is_word = |other: char| other.is_alphanumeric() || other == '_';
        let mut next = chars.clone();
        // `2nd`, `0.5` and `h1` count nothing.
        let goes_on = match next.next() {
            // It may end a number as it ends a sentence.
            Some('.') => next.next().is_some_and(is_word),
            next => next.is_some_and(is_word),
        };
        let alone = !is_word(before) && before != '.' && !goes_on;
        // Probes have two calls, so 2 is the highest number that counts them.
        out.push(if matches!(c, '0'..='2') && alone {
            INDEX_SLOT
        } else {
            c
        });
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Row, Slot};
    use crate::markers::{ID_SLOT, KEY_SLOT, NAME_SLOT};

    #[test]
    fn numbers_from_nought_to_two_that_stand_alone_count_calls() {
        for (text, expected) in [
            ("<call id=0>", "<call id=#>"),
            ("functions.f:1", "functions.f:#"),
            ("[1] and [2]", "[#] and [#]"),
            // It ends a number as it ends a sentence.
            ("Call 1.", "Call #."),
            ("1. Do", "#. Do"),
            ("<call 3>", "<call 3>"),
            ("10", "10"),
            ("<h1>", "<h1>"),
            ("call_0", "call_0"),
            ("2nd", "2nd"),
            ("0.5 and 1.2", "0.5 and 1.2"),
            ("", ""),
        ] {
            let found = numbered(text).replace(INDEX_SLOT, "#");
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn slots_in_texts_are_nodes_and_back() {
        for (text, expected) in [
            ("<call>N(", "`<call>` NAME `(`"),
            ("N", "NAME"),
            ("K=", "KEY `=`"),
            ("\n<i>I#", "`⏎` `<i>` ID INDEX"),
            // A single blank belongs to the words around it.
            ("Do it: N\n", "`Do it:` ` ` NAME `⏎`"),
            ("", ""),
        ] {
            let slots = [
                ('N', NAME_SLOT),
                ('I', ID_SLOT),
                ('#', INDEX_SLOT),
                ('K', KEY_SLOT),
            ];
            let in_slots = slots.iter().fold(text.to_owned(), |text, (letter, slot)| {
                text.replace(*letter, &slot.to_string())
            });
            let row = nodes(&in_slots);
            assert_eq!(&*Row::of(&row), in_slots, "{text:?}");
            assert_eq!(Node::Sequence(row).to_string(), expected, "{text:?}");
        }
    }

    #[test]
    fn calls_stand_each_between_their_texts_or_all_in_one_array() {
        let around = || Delimiters {
            open: "<c>".to_owned(),
            close: "</c>".to_owned(),
            separator: "\n".to_owned(),
        };
        let name = || Node::Slot(Slot::Name);
        for (body, several, expected) in [
            (name(), true, "call(`<c>` NAME `</c>`)(…`⏎`)+"),
            (name(), false, "call(`<c>` NAME `</c>`)"),
            (array_of(name()), true, "`<c>` [call(NAME)+] `</c>`"),
            (array_of(name()), false, "`<c>` [call(NAME)] `</c>`"),
        ] {
            let calls = calls_of(&around(), body, several);
            assert_eq!(calls.to_string(), expected);
        }
    }
}
