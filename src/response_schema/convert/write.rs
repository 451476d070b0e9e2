//! Writing parts of patterns for the dialect of response templates.

use regex_syntax::hir::ClassUnicode;

use crate::response::pattern::{Greed, Look, Node};

use super::group_context::syntax;

/// Writes nodes for the dialect of response templates. Groups that have a name keep it.
pub(super) fn written(nodes: &[Node], name: &dyn Fn(usize) -> Option<String>) -> String {
    let mut out = String::new();
    for node in nodes {
        write(&mut out, node, name);
    }
    out
}

/// The same without any names.
pub(super) fn plain(nodes: &[Node]) -> String {
    written(nodes, &|_| None)
}

fn write(out: &mut String, node: &Node, name: &dyn Fn(usize) -> Option<String>) {
    match node {
        Node::Empty => {}
        Node::Class(class) => out.push_str(&class_text(class)),
        Node::Look(look) => out.push_str(look_text(*look)),
        Node::Concat(nodes) => nodes.iter().for_each(|node| write(out, node, name)),
        Node::Alternation(nodes) => {
            out.push_str("(?:");
            for (index, node) in nodes.iter().enumerate() {
                out.push_str(if index > 0 { "|" } else { "" });
                write(out, node, name);
            }
            out.push(')');
        }
        Node::Repeat {
            node,
            min,
            max,
            greed,
        } => {
            let is_one = matches!(**node, Node::Class(_));
            out.push_str(if is_one { "" } else { "(?:" });
            write(out, node, name);
            out.push_str(if is_one { "" } else { ")" });
            out.push_str(&match (min, max) {
                (0, None) => "*".to_owned(),
                (1, None) => "+".to_owned(),
                (0, Some(1)) => "?".to_owned(),
                (min, None) => format!("{{{min},}}"),
                (min, Some(max)) => format!("{{{min},{max}}}"),
            });
            out.push_str(match greed {
                Greed::Greedy => "",
                Greed::Lazy => "?",
                Greed::Possessive => "+",
            });
        }
        Node::Group { index, node } => {
            match name(*index) {
                Some(name) => out.push_str(&format!("(?P<{name}>")),
                None => out.push_str("(?:"),
            }
            write(out, node, name);
            out.push(')');
        }
        Node::Reference { index } => {
            if let Some(name) = name(*index) {
                out.push_str(&format!("(?P={name})"));
            }
        }
        Node::Atomic(node) => {
            out.push_str("(?>");
            write(out, node, name);
            out.push(')');
        }
        Node::Around {
            behind,
            negate,
            node,
        } => {
            out.push_str(match (behind, negate) {
                (false, false) => "(?=",
                (false, true) => "(?!",
                (true, false) => "(?<=",
                (true, true) => "(?<!",
            });
            write(out, node, name);
            out.push(')');
        }
    }
}

fn look_text(look: Look) -> &'static str {
    match look {
        Look::TextStart => "^",
        Look::TextEnd => r"\Z",
        Look::TextEndOrFinalNewline => "$",
        Look::LineStart => "(?m:^)",
        Look::LineEnd => "(?m:$)",
        Look::WordBoundary => r"\b",
        Look::NotWordBoundary => r"\B",
        Look::WordStart => r"\m",
        Look::WordEnd => r"\M",
    }
}

fn class_text(class: &ClassUnicode) -> String {
    for known in [".", r"\s", r"\S", r"\w", r"\W", r"\d", r"\D"] {
        if let Some(Node::Class(same)) = syntax(known).map(|syntax| syntax.node)
            && same == *class
        {
            return known.to_owned();
        }
    }
    let ranges: Vec<(char, char)> = class.iter().map(|r| (r.start(), r.end())).collect();
    if let [(first, last)] = ranges[..]
        && first == last
    {
        return escaped(first, r"\.^$*+?{}[]|()");
    }
    // What is excluded is shorter to say.
    let is_negated = ranges.last().is_some_and(|(_, last)| *last == char::MAX);
    let mut shown = class.clone();
    if is_negated {
        shown.negate();
    }
    let mut out = String::from(if is_negated { "[^" } else { "[" });
    for range in shown.iter() {
        out.push_str(&escaped(range.start(), r"\[]^-&~|"));
        if range.start() != range.end() {
            out.push('-');
            out.push_str(&escaped(range.end(), r"\[]^-&~|"));
        }
    }
    out.push(']');
    out
}

fn escaped(c: char, special: &str) -> String {
    match c {
        '\n' => r"\n".into(),
        '\t' => r"\t".into(),
        '\r' => r"\r".into(),
        c if c.is_control() => format!(r"\x{:02x}", u32::from(c)),
        c if special.contains(c) => format!(r"\{c}"),
        c => c.into(),
    }
}
