//! What is left of a node when a text has come already.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use super::Rule;
use super::expr::{Chars, Expr, Repeat, SchemaNode};

/// Rules within rules are followed so deep, and so many nodes are looked at.
const MAX_DEPTH: usize = 64;
const MAX_STEPS: usize = 100_000;

/// What may stand behind a text that a node begins with; never if it does not.
pub(super) fn behind(expr: &Expr, text: &str, rules: &IndexMap<String, Rule>) -> Expr {
    counted_behind(expr, text, rules, MAX_STEPS).0
}

/// The same where only so many nodes may be looked at, with how many were.
pub(super) fn counted_behind(
    expr: &Expr,
    text: &str,
    rules: &IndexMap<String, Rule>,
    most: usize,
) -> (Expr, usize) {
    let most = most.min(MAX_STEPS);
    let remainder = Remainder::new(rules, most);
    let left = remainder.step(expr, text, 0);
    let behind = Expr::choice(left.into_iter().filter_map(|left| match left {
        Left::Rest(expr) => Some(expr),
        Left::Text("") => Some(Expr::Empty),
        Left::Text(_) => None,
    }));
    (behind, most - remainder.steps.get())
}

/// Whether a node may be nothing at all.
pub(super) fn is_nullable(expr: &Expr, rules: &IndexMap<String, Rule>) -> bool {
    may_be_nothing(expr, rules, &mut HashMap::new())
}

/// The same, with what is known of rules. One that is being looked at is nothing only by another way.
fn may_be_nothing<'r>(
    expr: &'r Expr,
    rules: &'r IndexMap<String, Rule>,
    known: &mut HashMap<&'r str, bool>,
) -> bool {
    let mut is = |expr: &'r Expr| may_be_nothing(expr, rules, known);
    match expr {
        Expr::Empty | Expr::Start | Expr::End | Expr::Peek(_) | Expr::Negate(_) => true,
        Expr::Space | Expr::Until(_) | Expr::Rest | Expr::Without(_) => true,
        Expr::Literal(text) => text.is_empty(),
        Expr::Chars(chars) => chars.at_least == 0,
        Expr::Sequence(parts) => parts.iter().all(is),
        Expr::Choice(all) => all.iter().any(is),
        Expr::Repeat(repeat) => repeat.at_least == 0 || is(&repeat.item),
        Expr::Members(members) => !members.members.iter().any(|one| one.is_required),
        Expr::Schema(node) => is(&node.expr),
        Expr::Atomic(inner) | Expr::Tag(_, inner) => is(inner),
        Expr::Rule(name) => match (known.get(name.as_str()), rules.get(name)) {
            (Some(known), _) => *known,
            (None, None) => false,
            (None, Some(rule)) => {
                known.insert(name, false);
                let is = may_be_nothing(&rule.expr, rules, known);
                known.insert(name, is);
                is
            }
        },
    }
}

/// What comes of a node and a text.
#[derive(PartialEq)]
enum Left<'t> {
    /// The text has come, and this may follow.
    Rest(Expr),
    /// The node has come, and this of the text is left.
    Text(&'t str),
}

struct Remainder<'r> {
    rules: &'r IndexMap<String, Rule>,
    steps: Cell<usize>,
}

impl<'r> Remainder<'r> {
    fn new(rules: &'r IndexMap<String, Rule>, most: usize) -> Remainder<'r> {
        Remainder {
            rules,
            steps: Cell::new(most),
        }
    }

    fn step<'t>(&self, expr: &Expr, text: &'t str, depth: usize) -> Vec<Left<'t>> {
        let steps = self.steps.get();
        if depth > MAX_DEPTH || steps == 0 {
            return Vec::new();
        }
        self.steps.set(steps - 1);
        match expr {
            Expr::Empty | Expr::Start | Expr::End | Expr::Peek(_) | Expr::Negate(_) => {
                vec![Left::Text(text)]
            }
            Expr::Literal(literal) => match (
                text.strip_prefix(literal.as_str()),
                literal.strip_prefix(text),
            ) {
                (Some(rest), _) => vec![Left::Text(rest)],
                (None, Some(rest)) if !text.is_empty() => vec![Left::Rest(rest.into())],
                _ => Vec::new(),
            },
            Expr::Space => {
                let rest = text.trim_start_matches([' ', '\t', '\r', '\n']);
                match (rest.len() == text.len(), rest.is_empty()) {
                    (true, _) => vec![Left::Text(text)],
                    // More of it may follow what has come.
                    (false, true) => vec![Left::Rest(Expr::Space)],
                    (false, false) => vec![Left::Text(rest)],
                }
            }
            Expr::Chars(chars) => chars_step(chars, text),
            // Any text may stand there, so that nothing of it is known.
            Expr::Until(_) | Expr::Rest => match text.is_empty() {
                true => vec![Left::Text(text)],
                false => Vec::new(),
            },
            Expr::Sequence(parts) => self.sequence(parts, text, depth),
            Expr::Choice(all) => all
                .iter()
                .flat_map(|one| self.step(one, text, depth + 1))
                .collect(),
            Expr::Repeat(repeat) => self.repeat(repeat, text, depth),
            // What is left of it does not know what has come.
            Expr::Without(without) => self.step(&without.expr, text, depth + 1),
            Expr::Members(members) => {
                match text.is_empty() && !members.members.iter().any(|one| one.is_required) {
                    true => vec![Left::Text(text)],
                    false => Vec::new(),
                }
            }
            Expr::Rule(name) => match self.rules.get(name) {
                Some(rule) => self.step(&rule.expr, text, depth + 1),
                None => Vec::new(),
            },
            Expr::Schema(node) => self.within(&node.expr, text, depth, |expr| {
                // What has begun is no JSON value by itself any more.
                Expr::Schema(Box::new(SchemaNode {
                    expr,
                    notation: node.notation.begun(),
                    ..(**node).clone()
                }))
            }),
            Expr::Atomic(inner) => self.within(inner, text, depth, |expr| expr),
            Expr::Tag(tag, inner) => {
                self.within(inner, text, depth, |expr| expr.tagged(tag.clone()))
            }
        }
    }

    fn within<'t>(
        &self,
        inner: &Expr,
        text: &'t str,
        depth: usize,
        wrap: impl Fn(Expr) -> Expr,
    ) -> Vec<Left<'t>> {
        let left = self.step(inner, text, depth + 1).into_iter();
        left.map(|left| match left {
            Left::Rest(expr) => Left::Rest(wrap(expr)),
            left => left,
        })
        .collect()
    }

    fn sequence<'t>(&self, parts: &[Expr], text: &'t str, depth: usize) -> Vec<Left<'t>> {
        let Some((first, rest)) = parts.split_first() else {
            return vec![Left::Text(text)];
        };
        let mut all = Vec::new();
        for left in distinct(self.step(first, text, depth + 1)) {
            match left {
                Left::Rest(expr) => {
                    let parts = [expr].into_iter().chain(self.copied(rest));
                    all.push(Left::Rest(Expr::sequence(parts)));
                }
                Left::Text("") if !text.is_empty() => {
                    all.push(Left::Rest(Expr::sequence(self.copied(rest))));
                }
                Left::Text(text) => all.extend(self.sequence(rest, text, depth + 1)),
            }
        }
        all
    }

    /// What is left of a row, which counts as so many nodes looked at.
    fn copied(&self, rest: &[Expr]) -> Vec<Expr> {
        let nodes: usize = rest.iter().map(Expr::size).sum();
        self.steps.set(self.steps.get().saturating_sub(nodes));
        rest.to_vec()
    }

    fn repeat<'t>(&self, repeat: &Repeat, text: &'t str, depth: usize) -> Vec<Left<'t>> {
        let mut all = Vec::new();
        if repeat.at_least == 0 {
            all.push(Left::Text(text));
        }
        if text.is_empty() || repeat.at_most == Some(0) {
            return all;
        }
        let again = repeat.item.clone().repeat(
            repeat.at_least.saturating_sub(1),
            repeat.at_most.map(|most| most - 1),
        );
        for left in distinct(self.step(&repeat.item, text, depth + 1)) {
            match left {
                Left::Rest(expr) => all.push(Left::Rest(Expr::sequence([expr, again.clone()]))),
                Left::Text("") => all.push(Left::Rest(again.clone())),
                // What takes nothing of the text would do so for ever.
                Left::Text(rest) if rest.len() < text.len() => {
                    all.extend(self.step(&again, rest, depth + 1));
                }
                Left::Text(_) => {}
            }
        }
        all
    }
}

/// The same with each text that is left once, since what follows is the same for all of them.
fn distinct<'t>(all: Vec<Left<'t>>) -> impl Iterator<Item = Left<'t>> {
    let mut lengths: HashSet<usize> = HashSet::new();
    all.into_iter().filter(move |left| match left {
        Left::Rest(_) => true,
        Left::Text(text) => lengths.insert(text.len()),
    })
}

fn chars_step<'t>(chars: &Chars, text: &'t str) -> Vec<Left<'t>> {
    let mut all = Vec::new();
    let (mut least, mut most) = (chars.at_least, chars.at_most);
    let mut rest = text;
    loop {
        if least == 0 {
            all.push(Left::Text(rest));
        }
        let fits = |c: &char| most != Some(0) && chars.class.contains(*c);
        let Some(c) = rest.chars().next().filter(fits) else {
            return all;
        };
        rest = &rest[c.len_utf8()..];
        least = least.saturating_sub(1);
        most = most.map(|most| most - 1);
        if rest.is_empty() {
            all.push(Left::Rest(Expr::Chars(Chars {
                class: chars.class.clone(),
                at_least: least,
                at_most: most,
            })));
            return all;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::regex::of_regular;
    use super::super::{Builder, Grammar};
    use super::*;

    #[test]
    fn what_is_left_stands_behind_what_has_come() {
        let letters = |p: &Builder| p.chars("[a-c]", 1, None).unwrap_or(Expr::Rest);
        for (make, text, expected) in [
            (
                (|p: &Builder| p.literal("<call>x")) as fn(&Builder) -> Expr,
                "<call>",
                Some("x"),
            ),
            (|p| p.literal("<call>"), "<call>", Some("")),
            (|p| p.literal("<call>"), "<calls", None),
            (|p| p.literal("<call>"), "<call>x", None),
            (|p| p.literal("ab") | "ac" | "b", "a", Some("(?:b|c)")),
            (|p| p.space() + "a", " \n", Some(r"[ \t\r\n]*a")),
            (|p| p.space() + "a", " a", Some("")),
            (|p| p.optional("a") + "b", "b", Some("")),
            (|p| p.optional("a") + "b", "a", Some("b")),
            (|p| p.zero_or_more("ab") + "c", "aba", Some("b(?:ab)*c")),
            (|p| p.repeat("ab", 2, 3), "ab", Some("(?:ab){1,2}")),
            (|p| p.tag("x", p.literal("ab")), "a", Some("b")),
            // Any text may stand there, so nothing of it is known.
            (|p| p.until("<") + "<", "a", None),
            (|p| p.until("<") + "<", "", Some("")),
        ] {
            let grammar = Grammar::build(make);
            let left = behind(&grammar.root, text, &grammar.rules);
            let found = match left.is_never() {
                true => None,
                false => of_regular(&left),
            };
            match expected {
                // A text is no regular expression.
                Some("") if text.is_empty() => assert_eq!(found, None),
                expected => assert_eq!(found.as_deref(), expected, "{text}"),
            }
        }
        let grammar = Grammar::build(letters);
        let left = behind(&grammar.root, "ab", &grammar.rules);
        assert_eq!(of_regular(&left).as_deref(), Some("[a-c]*"));
    }

    #[test]
    fn what_leads_back_to_itself_comes_to_an_end() {
        let grammar = Grammar::build(|p| p.rule("a", (p.rule_ref("a") + "a") | "a"));
        // So deep is it followed that not all of what is left is known.
        let left = behind(&grammar.root, "aa", &grammar.rules);
        assert!(is_nullable(&left, &grammar.rules) && !left.is_never());
        // What takes nothing of the text would do so for ever.
        let grammar = Grammar::build(|p| p.zero_or_more(p.optional("b")) + "a");
        assert_eq!(behind(&grammar.root, "a", &grammar.rules), Expr::Empty);
        let (left, nodes) = counted_behind(&grammar.root, "a", &grammar.rules, 1);
        assert_eq!((left, nodes), (Expr::NEVER, 1));
    }

    #[test]
    fn some_nodes_may_be_nothing() {
        for (make, expected) in [
            ((|p: &Builder| p.space()) as fn(&Builder) -> Expr, true),
            (|p| p.until("a"), true),
            (|p| p.negate("a"), true),
            (|p| p.literal("a") | p.optional("b"), true),
            (|p| p.space() + "a", false),
            (|p| p.one_or_more(p.optional("a")), true),
            (|p| p.one_or_more("a"), false),
            (|p| p.rule("a", p.rule_ref("a") | p.eps()), true),
            (|p| p.rule("a", p.rule_ref("a") + "b"), false),
            (|p| p.rule_ref("unknown"), false),
            (|p| p.json_object(), false),
        ] {
            let grammar = Grammar::build(make);
            let found = is_nullable(&grammar.root, &grammar.rules);
            assert_eq!(found, expected, "{:?}", grammar.root);
        }
    }
}
