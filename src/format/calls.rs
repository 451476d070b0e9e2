//! What stands around the calls of a turn and around their arguments, as their tree has it.

use super::{Node, Slot, ValueForm};

/// A call, and what stands around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallView<'n> {
    /// What it begins with: texts and slots up to its body.
    pub(crate) open: &'n [Node],
    /// What it consists of, or the array.
    pub(crate) body: &'n Node,
    /// What stands behind that.
    pub(crate) close: &'n [Node],
    /// What stands between two calls.
    pub(crate) separator: &'n [Node],
    /// Whether a turn may hold several calls.
    pub(crate) several: bool,
}

impl<'n> CallView<'n> {
    /// Of the calls of a turn. `None` if they consist of nothing but texts and slots.
    pub(crate) fn of(calls: &'n Node) -> Option<CallView<'n>> {
        let (item, separator, at_most) = match calls {
            Node::Repetition(calls) => (&calls.item, calls.separator.parts(), calls.at_most),
            array => (array, [].as_slice(), None),
        };
        let row = match item {
            // A call without arguments may be written otherwise: `args: {}`.
            Node::Call(call) => call.usual().parts(),
            row => row.parts(),
        };
        let is_around = |node: &Node| node.is_text() || matches!(node, Node::Slot(_));
        let at = row.iter().position(|node| !is_around(node))?;
        let at_most = match &row[at] {
            Node::Array(calls) => calls.at_most,
            _ => at_most,
        };
        Some(CallView {
            open: &row[..at],
            body: &row[at],
            close: &row[at + 1..],
            separator,
            several: at_most != Some(1),
        })
    }
}

/// One way in which an argument is written that stands by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArgumentView<'n> {
    /// What stands before its key.
    pub(crate) open: &'n [Node],
    /// What stands between its key and its value.
    pub(crate) between: &'n [Node],
    /// How the value is written.
    pub(crate) forms: &'n [ValueForm],
    /// What stands behind it.
    pub(crate) close: &'n [Node],
}

impl<'n> ArgumentView<'n> {
    /// Of a way whose key stands before its value.
    pub(crate) fn of(way: &'n Node) -> Option<ArgumentView<'n>> {
        let row = way.parts();
        let is_value = |node: &Node| matches!(node, Node::Value(_));
        let value = row.iter().position(is_value)?;
        let (before, [Node::Value(forms), close @ ..]) = row.split_at(value) else {
            return None;
        };
        let is_key = |node: &Node| *node == Node::Slot(Slot::Key);
        let key = before.iter().position(is_key)?;
        Some(ArgumentView {
            open: &before[..key],
            between: &before[key + 1..],
            forms,
            close,
        })
    }
}

impl Node {
    /// The ways in which an argument is written, if the node is arguments that stand one by one.
    pub(crate) fn argument_ways(&self) -> Option<&[Node]> {
        match self {
            Node::Repetition(all) => match &all.item {
                Node::Argument(ways) => Some(ways.alternatives()),
                _ => None,
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(row: &[Node]) -> String {
        let parts: Vec<String> = row.iter().map(ToString::to_string).collect();
        parts.join(" ")
    }

    #[test]
    fn texts_and_slots_stand_around_the_body_of_a_call() {
        for (call, separator, expected) in [
            (
                "<call>NAMEARGUMENTS</call>",
                ", ",
                Some(["`<call>` NAME", "ARGUMENTS", "`</call>`", "`,` ` `"]),
            ),
            (
                "OBJECT",
                "",
                Some(["", "{name: string(NAME), arguments: ARGUMENTS}", "", ""]),
            ),
            ("<call>NAME", "", None),
        ] {
            let calls = Node::calls(call, separator);
            let found = CallView::of(&calls).map(|call| {
                let body = call.body.to_string();
                assert!(call.several, "{call:?}");
                [
                    shown(call.open),
                    body,
                    shown(call.close),
                    shown(call.separator),
                ]
            });
            assert_eq!(
                found,
                expected.map(|parts| parts.map(str::to_owned)),
                "{call}"
            );
        }
        // One array holds all calls: no call has a text of its own around it.
        let list = Node::row("<calls>LIST</calls>");
        let found = CallView::of(&list).expect("it has a body");
        assert_eq!(
            (shown(found.open), shown(found.close)),
            ("`<calls>`".into(), "`</calls>`".into())
        );
        assert!(matches!(found.body, Node::Array(_)));
    }

    #[test]
    fn an_argument_is_a_key_before_a_value() {
        for (argument, expected) in [
            (
                "<arg KEY>RAW</arg>",
                Some(["`<arg` ` `", "`>`", "`</arg>`"]),
            ),
            ("KEY=RAW", Some(["", "`=`", ""])),
            ("RAW is KEY", None),
            ("KEY", None),
        ] {
            let way = Node::row(argument);
            let found = ArgumentView::of(&way);
            let found = found.map(|way| [way.open, way.between, way.close].map(shown));
            assert_eq!(
                found,
                expected.map(|parts| parts.map(str::to_owned)),
                "{argument}"
            );
        }
        for (node, is_arguments) in [("«KEY=RAW»", true), ("KEY=RAW", false), ("LIST", false)] {
            assert_eq!(
                Node::row(node).argument_ways().is_some(),
                is_arguments,
                "{node}"
            );
        }
    }
}
