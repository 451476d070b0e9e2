//! The tree in words, for people.

use std::fmt;

use super::{Dialect, Node, Repetition, Slot, ValueForm, ValueWriting, Way};

/// The row of texts and slots.
impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node.fmt(f)?;
        if self.end != Node::Sequence(Vec::new()) {
            write!(f, ", {}", self.end)?;
        }
        match self.is_seen {
            true => Ok(()),
            false => f.write_str(" (begun by prompts, never rendered)"),
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key().to_uppercase())
    }
}

impl Slot {
    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            Slot::Reasoning => "reasoning",
            Slot::Content => "content",
            Slot::Name => "name",
            Slot::Id => "id",
            Slot::Index => "index",
            Slot::Key => "key",
            Slot::Value => "value",
            Slot::Arguments => "arguments",
        }
    }
}

/// Texts in backquotes, slots in capitals, parts that may be missing with `?`, those that repeat
/// with `*` and `+`.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Literal(text) | Node::Space(text) => f.write_str(&shown(text)),
            Node::Slot(slot) => slot.fmt(f),
            Node::Value(forms) => values(f, forms),
            Node::Sequence(nodes) => joined(f, nodes, " "),
            Node::Choice(nodes) => {
                f.write_str("(")?;
                joined(f, nodes, " | ")?;
                f.write_str(")")
            }
            Node::Optional(node) => write!(f, "({node})?"),
            Node::Repetition(repetition) => repetition.fmt(f),
            Node::Object(entries, dialect) => {
                f.write_str("{")?;
                for (at, entry) in entries.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}{}: {}", entry.key, entry.value)?;
                }
                write!(f, "}}{}", suffix(dialect))
            }
            Node::Array(items) => write!(f, "[{items}]"),
            Node::JsonString(node, _) => write!(f, "string({node})"),
            Node::Constant(value) => f.write_str(&crate::json::write(value)),
            Node::Arguments(dialect) => write!(f, "ARGUMENTS{}", suffix(dialect)),
            Node::Calls => f.write_str("CALLS"),
            Node::Call(node) => write!(f, "call({node})"),
            Node::Argument(node) => write!(f, "argument({node})"),
        }
    }
}

impl fmt::Display for Repetition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.item.fmt(f)?;
        let is_bare = self.separator == Node::Sequence(Vec::new());
        if !is_bare && self.at_most != Some(1) {
            write!(f, "(…{})", self.separator)?;
        }
        match (self.at_least, self.at_most) {
            (1, Some(1)) => Ok(()),
            (0, Some(1)) => f.write_str("?"),
            (0, _) => f.write_str("*"),
            _ => f.write_str("+"),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, nodes: &[Node], by: &str) -> fmt::Result {
    for (at, node) in nodes.iter().enumerate() {
        if at > 0 {
            f.write_str(by)?;
        }
        write!(f, "{node}")?;
    }
    Ok(())
}

fn values(f: &mut fmt::Formatter<'_>, forms: &[ValueForm]) -> fmt::Result {
    f.write_str("VALUE")?;
    let [first, rest @ ..] = forms else {
        return Ok(());
    };
    write!(f, "[")?;
    form(f, first)?;
    for other in rest {
        f.write_str("; ")?;
        form(f, other)?;
    }
    f.write_str("]")
}

fn form(f: &mut fmt::Formatter<'_>, form: &ValueForm) -> fmt::Result {
    let types: Vec<&str> = form.types.iter().map(|kind| kind.key()).collect();
    write!(f, "{} ", types.join(", "))?;
    match &form.writing {
        ValueWriting::Raw => f.write_str("as it is"),
        ValueWriting::Wrapped {
            open,
            close,
            always,
        } => {
            let when = if *always { "" } else { " if it has marks" };
            write!(f, "between {} and {}{when}", shown(open), shown(close))
        }
        ValueWriting::Json(dialect) => write!(f, "as JSON{}", suffix(dialect)),
        ValueWriting::Python => f.write_str("as in Python"),
    }
}

fn suffix(dialect: &Dialect) -> String {
    match dialect.in_words() {
        words if words.is_empty() => words,
        words => format!("<{words}>"),
    }
}

impl Dialect {
    /// How far it is from being JSON; nothing if it is.
    pub(crate) fn in_words(&self) -> String {
        let mut parts = Vec::new();
        if self.unquoted_keys {
            parts.push("keys without quotes".to_owned());
        }
        if let Some((open, close)) = &self.string_delimiters {
            let (open, close) = (shown(open), shown(close));
            parts.push(format!("strings between {open} and {close}"));
        }
        if self.python_literals {
            parts.push("literals as in Python".to_owned());
        }
        parts.join(", ")
    }
}

/// A text with its white space made visible, in backquotes.
pub(crate) fn shown(text: &str) -> String {
    let visible: String = text
        .chars()
        .map(|c| match c {
            '\n' => "⏎".to_owned(),
            '\t' => "→".to_owned(),
            c if c.is_control() => c.escape_default().to_string(),
            c => c.to_string(),
        })
        .collect();
    format!("`{visible}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Entry, ValueType};

    #[test]
    fn white_space_and_control_characters_are_made_visible() {
        for (text, expected) in [
            ("a\n\tb ", "`a⏎→b `"),
            ("\u{1b}[1m", "`\\u{1b}[1m`"),
            ("é", "`é`"),
            ("", "``"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn dialects_are_told_by_how_far_they_are_from_json() {
        for (dialect, expected) in [
            (Dialect::default(), ""),
            (
                Dialect::python(),
                "strings between `'` and `'`, literals as in Python",
            ),
            (
                Dialect {
                    unquoted_keys: true,
                    ..Dialect::default()
                },
                "keys without quotes",
            ),
        ] {
            assert_eq!(dialect.in_words(), expected);
        }
    }

    #[test]
    fn nodes_are_shown_with_what_repeats_or_may_be_missing() {
        let name = || Node::Slot(Slot::Name);
        let several = |at_least, at_most, separator: &str| {
            Node::Repetition(Box::new(Repetition {
                item: name(),
                separator: Node::Sequence(Node::texts(separator)),
                at_least,
                at_most,
            }))
        };
        let wrapped = |always| ValueWriting::Wrapped {
            open: "<q>".to_owned(),
            close: "</q>".to_owned(),
            always,
        };
        let value = |writing| {
            Node::Value(vec![ValueForm {
                types: vec![ValueType::String, ValueType::Null],
                writing,
            }])
        };
        let entry = Entry {
            key: "f".to_owned(),
            value: Node::JsonString(Box::new(name()), Dialect::default()),
        };
        for (node, expected) in [
            (several(0, None, ", "), "NAME(…`,` ` `)*"),
            (several(1, None, ""), "NAME+"),
            (several(0, Some(1), ", "), "NAME?"),
            (several(1, Some(1), ", "), "NAME"),
            (Node::Optional(Box::new(name())), "(NAME)?"),
            (Node::Choice(vec![name(), Node::Calls]), "(NAME | CALLS)"),
            (
                Node::Object(vec![entry.clone(), entry], Dialect::default()),
                "{f: string(NAME), f: string(NAME)}",
            ),
            (
                Node::Arguments(Dialect::python()),
                "ARGUMENTS<strings between `'` and `'`, literals as in Python>",
            ),
            (Node::Value(Vec::new()), "VALUE"),
            (value(ValueWriting::Raw), "VALUE[string, null as it is]"),
            (
                value(wrapped(true)),
                "VALUE[string, null between `<q>` and `</q>`]",
            ),
            (
                value(wrapped(false)),
                "VALUE[string, null between `<q>` and `</q>` if it has marks]",
            ),
            (
                value(ValueWriting::Python),
                "VALUE[string, null as in Python]",
            ),
        ] {
            assert_eq!(node.to_string(), expected);
        }
    }

    #[test]
    fn ways_are_shown_with_their_ends_and_whether_they_were_seen() {
        for (end, is_seen, expected) in [
            ("<end>", true, "CONTENT, `<end>`"),
            ("", true, "CONTENT"),
            ("", false, "CONTENT (begun by prompts, never rendered)"),
        ] {
            let way = Way {
                node: Node::Slot(Slot::Content),
                end: Node::sequence(Node::texts(end)),
                is_seen,
            };
            assert_eq!(way.to_string(), expected);
        }
    }
}
