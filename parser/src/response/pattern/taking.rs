//! Patterns that take what others only look at.

use std::ops::Range;

use regex_syntax::hir::ClassUnicode;

use super::syntax::{self, Dialect, Greed, Look, Node};
use super::{Meter, Pattern, TooCostly, Verdict, Window, any_of};

impl Pattern {
    /// A pattern for what another one looks for ahead at the end of a match, in any of its alternatives; nothing if it looks for nothing
    /// there. So of `'(?P<value>.*?)(?=', )`, it is `', `, and that is text that has been seen.
    pub fn what_follows(pattern: &str) -> Option<Pattern> {
        let mut syntax = syntax::parse_as(Dialect::Regex, pattern).ok()?;
        let pattern = &syntax.node;
        let end = Node::Look(Look::TextEnd);
        let mut ahead = Vec::new();
        looked_for(pattern, false, &Plain { pattern, end }, &mut ahead);
        if ahead.is_empty() {
            return None;
        }
        syntax.node = Node::Alternation(ahead);
        syntax.groups.clear();
        Pattern::compile(syntax).ok()
    }

    /// A pattern for what may be left of a delimiter where it is not found: what it looks for behind itself, and its beginning or its end, each
    /// of them or none, up to the end of a text. `None` if it would be too large.
    pub fn remains_of(pattern: &str) -> Option<Pattern> {
        Pattern::remains(&syntax::parse_as(Dialect::Regex, pattern).ok()?.node)
    }

    /// The same of literals.
    pub fn remains_of_literals(literals: &[String]) -> Option<Pattern> {
        Pattern::remains(&any_of(&literals.iter().collect::<Vec<_>>()).node)
    }

    fn remains(node: &Node) -> Option<Pattern> {
        let end = Node::Empty;
        let plain = Plain { pattern: node, end };
        let mut behind = Vec::new();
        looked_for(node, true, &plain, &mut behind);
        let node = plain.of(node);
        let parts = vec![part(&node, Part::First), part(&node, Part::Last)];
        let mut syntax = syntax::parse_as(Dialect::Regex, r"\s*\Z").ok()?;
        let space = syntax::parse_as(Dialect::Regex, r"\s*").ok()?.node;
        syntax.node = Node::Concat(vec![
            optional(Node::Alternation(behind)),
            space,
            optional(Node::Alternation(parts)),
            syntax.node,
        ]);
        Pattern::compile(syntax).ok()
    }

    /// A pattern for a delimiter at the end of a text, whatever it looks for around itself. `None` if it could be nothing.
    pub fn at_end(pattern: &str) -> Option<Pattern> {
        let pattern = syntax::parse_as(Dialect::Regex, pattern).ok()?.node;
        let end = Node::Empty;
        let plain = Plain {
            pattern: &pattern,
            end,
        };
        Pattern::ending_text(plain.of(&pattern))
    }

    /// The same of literals.
    pub fn literals_at_end(literals: &[String]) -> Option<Pattern> {
        Pattern::ending_text(any_of(&literals.iter().collect::<Vec<_>>()).node)
    }

    fn ending_text(node: Node) -> Option<Pattern> {
        if node.can_be_empty() {
            return None;
        }
        let mut syntax = syntax::parse_as(Dialect::Regex, r"\s*\Z").ok()?;
        syntax.node = Node::Concat(vec![node, syntax.node]);
        Pattern::compile(syntax).ok()
    }

    /// A pattern without what it looks for around a match, whose matches don't end because the text does.
    pub fn ending_itself(pattern: &str) -> Option<Pattern> {
        let mut syntax = syntax::parse_as(Dialect::Regex, pattern).ok()?;
        let pattern = &syntax.node;
        let end = never();
        syntax.node = Plain { pattern, end }.of(pattern);
        syntax.groups.clear();
        Pattern::compile(syntax).ok()
    }

    /// What a pattern matches before a group, if that stands in one place and something comes before it. Its groups keep their numbers.
    pub fn before_group(pattern: &str, group: &str) -> Option<Pattern> {
        let mut syntax = syntax::parse_as(Dialect::Regex, pattern).ok()?;
        let index = syntax.groups.iter().position(|name| name == group)?;
        let Node::Concat(nodes) = &mut syntax.node else {
            return None;
        };
        let place = nodes.iter().position(|node| holds_group(node, index))?;
        nodes.truncate(place);
        if nodes.iter().all(Node::can_be_empty) {
            return None;
        }
        Pattern::compile(syntax).ok()
    }

    /// Returns the end of a match that begins at this position, in a text that is complete.
    pub fn end_of_match_at(
        &self,
        text: &str,
        start: usize,
        meter: &mut Meter,
    ) -> Result<Option<usize>, TooCostly> {
        let found = self.first_in(&Window::whole(text), start, meter)?;
        Ok(found.filter(|found| found.start == start).map(|f| f.end))
    }

    /// The first match within a text that stands amid another one, at or after a position.
    pub fn find_within(
        &self,
        text: &str,
        from: usize,
        meter: &mut Meter,
    ) -> Result<Option<Range<usize>>, TooCostly> {
        // What begins with all of the text does not begin here.
        let window = Window {
            text,
            base: 1,
            before: Some(super::window::BEYOND),
        };
        let found = self.first_in(&window, from + 1, meter)?;
        Ok(found.map(|found| found.start - 1..found.end - 1))
    }

    fn first_in(
        &self,
        window: &Window<'_>,
        from: usize,
        meter: &mut Meter,
    ) -> Result<Option<Range<usize>>, TooCostly> {
        let mut search = self.search();
        search.start(window, from);
        let advanced = search.advance(self, window, window.end(), meter);
        let verdict = advanced.and_then(|()| search.verdict(self, window, true, meter));
        self.give_back(search);
        Ok(match verdict? {
            Verdict::Found { start, end } => Some(start..end),
            Verdict::Partial { .. } | Verdict::Nothing => None,
        })
    }
}

fn holds_group(node: &Node, index: usize) -> bool {
    group(node, index).is_some()
}

/// The node of a group.
fn group(node: &Node, index: usize) -> Option<&Node> {
    match node {
        Node::Group { index: own, node } if *own == index => Some(node),
        Node::Concat(nodes) | Node::Alternation(nodes) => {
            nodes.iter().find_map(|node| group(node, index))
        }
        Node::Group { node, .. } | Node::Repeat { node, .. } => group(node, index),
        Node::Atomic(node) | Node::Around { node, .. } => group(node, index),
        Node::Empty | Node::Class(_) | Node::Look(_) | Node::Reference { .. } => None,
    }
}

/// Collects what a pattern looks for before a match, or behind it, in each of its alternatives.
fn looked_for(node: &Node, before: bool, plain: &Plain<'_>, found: &mut Vec<Node>) {
    match node {
        Node::Around {
            behind,
            negate: false,
            node,
        } if *behind == before => found.push(plain.of(node)),
        Node::Concat(nodes) => {
            let outermost = if before { nodes.first() } else { nodes.last() };
            outermost
                .into_iter()
                .for_each(|n| looked_for(n, before, plain, found));
        }
        Node::Alternation(nodes) => nodes
            .iter()
            .for_each(|n| looked_for(n, before, plain, found)),
        Node::Group { node, .. } | Node::Atomic(node) => looked_for(node, before, plain, found),
        Node::Empty | Node::Class(_) | Node::Look(_) | Node::Reference { .. } => {}
        Node::Repeat { .. } | Node::Around { .. } => {}
    }
}

/// A pattern that never matches.
fn never() -> Node {
    Node::Class(ClassUnicode::empty())
}

/// The characters of a pattern, without its conditions and its groups. What asks for the end of the text is replaced; what was to be the text
/// of a group again may be any that the group matches.
struct Plain<'a> {
    pattern: &'a Node,
    end: Node,
}

impl Plain<'_> {
    fn of(&self, node: &Node) -> Node {
        let all = |nodes: &[Node]| nodes.iter().map(|node| self.of(node)).collect();
        match node {
            Node::Look(Look::TextEnd | Look::TextEndOrFinalNewline) => self.end.clone(),
            Node::Empty | Node::Look(_) | Node::Around { .. } => Node::Empty,
            Node::Class(class) => Node::Class(class.clone()),
            Node::Concat(nodes) => Node::Concat(all(nodes)),
            Node::Alternation(nodes) => Node::Alternation(all(nodes)),
            Node::Repeat {
                node,
                min,
                max,
                greed,
            } => Node::Repeat {
                node: Box::new(self.of(node)),
                min: *min,
                max: *max,
                greed: *greed,
            },
            Node::Group { node, .. } | Node::Atomic(node) => self.of(node),
            // Groups close before they are referred to, so that this ends.
            Node::Reference { index } => {
                let group = group(self.pattern, *index);
                group.map_or(Node::Empty, |node| self.of(node))
            }
        }
    }
}

/// The part of a delimiter that is left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    First,
    Last,
}

/// A pattern for all that it begins with, or all that it ends with: of `abc`, `a(?:bc?)?` or `(?:a?b)?c`.
fn part(node: &Node, which: Part) -> Node {
    match node {
        Node::Alternation(nodes) => {
            Node::Alternation(nodes.iter().map(|node| part(node, which)).collect())
        }
        Node::Concat(nodes) if which == Part::First => {
            nodes.iter().rev().fold(Node::Empty, |rest, node| {
                optional(Node::Concat(vec![node.clone(), rest]))
            })
        }
        Node::Concat(nodes) => nodes.iter().fold(Node::Empty, |before, node| {
            optional(Node::Concat(vec![before, node.clone()]))
        }),
        other => other.clone(),
    }
}

fn optional(node: Node) -> Node {
    Node::Repeat {
        node: Box::new(node),
        min: 0,
        max: Some(1),
        greed: Greed::Greedy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_for_behind_a_match_is_a_pattern() {
        for (pattern, text, expected) in [
            (r"(?P<v>\w+)(?=, )", ", b", Some(2)),
            (r"'(?P<v>.*?(?=',|'\Z))", "','b'", Some(2)),
            (r"'(?P<v>.*?(?=',|'\Z))", "'b'", None),
            (r"(?:x|a(?=(?:b|c)+))", "bcd", Some(2)),
            // Only one of the alternatives looks for it.
            (r#"\w=(?:"\w*"|\w+(?=,))"#, ", b", Some(1)),
            (r"<(?P<k>\w)>(?=</(?P=k)>)", "</a>", Some(4)),
            // Nothing is looked for, something comes after, or it must not come.
            (r"\w+", ", b", None),
            (r"a(?=b)b", "b", None),
            (r"a(?!b)", "c", None),
        ] {
            let following = Pattern::what_follows(pattern);
            let end = following.and_then(|following| {
                let found = following.end_of_match_at(text, 0, &mut Meter::new(100));
                found.expect("little to do")
            });
            assert_eq!(end, expected, "{pattern}");
        }
    }

    #[test]
    fn what_comes_before_a_group_is_a_pattern() {
        for (pattern, text, expected) in [
            (r"<(?P<k>\w+)>\n?(?P<value>.*?)</", "a <b>\n", Some(2..6)),
            (r"(?P<k>\w+)=(?:'(?P<value>.*?)'|\d)", "a=1", Some(0..2)),
            // Nothing has to come before it, or it stands in several places.
            (r"\s*(?P<value>.*?);", " ;", None),
            (r"a(?P<value>x)|b(?P<value>y)", "ax", None),
            (r"<(?P<k>\w+)>", "<a>", None),
        ] {
            let before = Pattern::before_group(pattern, "value");
            let found = before.and_then(|before| {
                let found = before.find_within(text, 0, &mut Meter::new(100));
                found.expect("little to do")
            });
            assert_eq!(found, expected, "{pattern}");
        }
    }

    #[test]
    fn matches_that_end_themselves_do_not_end_with_the_text() {
        for (text, expected) in [
            ("<a>1</a>", Some(8)),
            ("<a>1</a>.", Some(8)),
            ("<a>1</", None),
            ("<a>1", None),
        ] {
            let pattern = r"<(?P<k>\w)>(?P<v>.*?)(?:</(?P=k)>(?=\s*(?:<|\Z))|\s*\Z)";
            let pattern = Pattern::ending_itself(pattern).expect("a pattern");
            let end = pattern.end_of_match_at(text, 0, &mut Meter::new(100));
            assert_eq!(end.expect("little to do"), expected, "{text}");
        }
    }

    #[test]
    fn what_is_left_of_a_delimiter_is_known() {
        let pattern = |text: &str| Pattern::remains_of(text).expect("a pattern");
        let literals = ["</a>".to_owned(), "</b>".to_owned()];
        let literals = Pattern::remains_of_literals(&literals).expect("a pattern");
        let call = pattern(r"</f>\s*</call>\s*");
        let python = pattern(r"(?<=\))\s*\]\s*(?:<end>|(?=<stop>))|(?<=\))(?=, \w+\()");
        for (remains, text, expected) in [
            (&call, "</f>", true),
            (&call, "</call>", true),
            (&call, "</f>\n</ca", true),
            (&call, "/call>\n", true),
            (&call, "", true),
            (&call, "</f> and", false),
            (&call, "<f></f>", false),
            (&call, "</call></f>", false),
            (&python, ")", true),
            (&python, ") ]", true),
            (&python, "x)", false),
            (&python, "))", false),
            (&literals, "/b>", true),
            (&literals, "</", true),
            (&literals, "</a></b>", false),
        ] {
            let found = remains.find_within(text, 0, &mut Meter::new(100));
            let is_all = found
                .expect("little to do")
                .is_some_and(|found| found.start == 0);
            assert_eq!(is_all, expected, "{text:?}");
        }
    }

    #[test]
    fn a_delimiter_is_found_at_the_end_of_a_text_whatever_stands_before_it() {
        for (pattern, text, expected) in [
            (r"(?<=</a>\s*)</call>\s*", "Brest</call>\n", Some(5)),
            (r"(?<=</a>\s*)(?:</call>|<end>)\s*", "Brest<end>", Some(5)),
            (r"</call>", "Brest</call>.", None),
            // It could be nothing.
            (r"</call>|(?=, \w+\()", "Brest</call>", None),
        ] {
            let found = Pattern::at_end(pattern).and_then(|pattern| {
                let found = pattern.find_within(text, 0, &mut Meter::new(100));
                found.expect("little to do")
            });
            assert_eq!(found.map(|found| found.start), expected, "{pattern}");
        }
    }

    #[test]
    fn a_text_amid_another_one_does_not_begin_it() {
        for (pattern, text, expected) in [
            (r"<call (?P<n>\w+)>", "a<call b>", Some(1..9)),
            (r"\A\s*\[", "[", None),
            (r"(?<=x)\[", "[", None),
            (r"(?<=x)\[", "x[", Some(1..2)),
        ] {
            let compiled = Pattern::new(pattern).expect("a pattern");
            let found = compiled.find_within(text, 0, &mut Meter::new(100));
            assert_eq!(found.expect("little to do"), expected, "{pattern}");
        }
    }
}
