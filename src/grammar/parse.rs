//! Reading texts by a grammar: strictly, whole or while they are written.
//!
//! The grammar is one for parsing expressions: of several, the first that fits is taken, and nothing is taken
//! back. What a rule makes of a place is kept, so that it is found out once.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::rc::Rc;

use super::expr::{Chars, Expr, Members, Repeat, Tag};
use super::notation::Notation;
use super::{Grammar, value};
use crate::format::shown;
use crate::value::{Object, Value};

/// Rules within rules are followed so deep.
const MAX_DEPTH: usize = 200;

/// So many steps may be taken, and so many more for each byte of the text.
const STEPS: usize = 100_000;
const STEPS_PER_BYTE: usize = 2_000;

/// What a text is by a grammar.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tree<'g, 't> {
    /// What was found, in the order of the text.
    pub found: Vec<Found<'g, 't>>,
    /// Whether the text leaves off before its end, as far as it has come. What was found last may grow then.
    pub needs_more: bool,
}

/// A part of a text that a tag names.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Found<'g, 't> {
    /// What it is.
    pub tag: &'g Tag,
    /// The text.
    pub text: &'t str,
    /// At which byte it begins.
    pub start: usize,
    /// Whether it may grow.
    pub is_partial: bool,
    /// What was found within.
    pub children: Vec<Found<'g, 't>>,
    /// How its value is written.
    notation: Option<&'g Notation>,
}

/// Where a text is not what a grammar says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The byte up to which it was.
    pub at: usize,
    /// What could have stood there, in words.
    pub expected: Vec<String>,
    /// Whether reading was given up because it took too long.
    pub is_too_costly: bool,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_too_costly {
            true => write!(f, "byte {}: reading on would take too long", self.at),
            false => write!(
                f,
                "byte {}: expected {}",
                self.at,
                self.expected.join(" or ")
            ),
        }
    }
}

impl std::error::Error for Fault {}

impl Grammar {
    /// Reads a whole text.
    ///
    /// ```
    /// use unjinja::grammar::{Grammar, Tag};
    ///
    /// let grammar = Grammar::build(|p| {
    ///     let thought = p.reasoning(p.until("</think>"));
    ///     p.optional("<think>" + thought + "</think>") + p.content(p.rest()) + p.end()
    /// });
    /// let tree = grammar.parse("<think>Noon?</think>At noon.")?;
    /// assert_eq!((tree.found[1].tag, tree.found[1].text), (&Tag::Content, "At noon."));
    /// # Ok::<(), unjinja::grammar::Fault>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the text is not what the grammar says.
    pub fn parse<'g, 't>(&'g self, text: &'t str) -> Result<Tree<'g, 't>, Fault> {
        Matcher::new(self, text, false).run()
    }

    /// Reads the beginning of a text. If it may go on, the tree [needs more](Tree::needs_more).
    ///
    /// ```
    /// use unjinja::grammar::Grammar;
    ///
    /// let grammar = Grammar::build(|p| p.content(p.until("<end>")) + "<end>");
    /// let tree = grammar.parse_partial("At noon.<e")?;
    /// assert!(tree.needs_more);
    /// assert_eq!(tree.found[0].text, "At noon.");
    /// assert!(grammar.parse_partial("At noon.<end>more").is_err());
    /// # Ok::<(), unjinja::grammar::Fault>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If no text that begins so is what the grammar says.
    pub fn parse_partial<'g, 't>(&'g self, text: &'t str) -> Result<Tree<'g, 't>, Fault> {
        Matcher::new(self, text, true).run()
    }
}

/// What came of a node at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// It fits, up to here.
    Match(usize),
    /// It fits as far as the text has come; what is sure ends here.
    More(usize),
    Fail,
}

type Kept<'g, 't> = (Outcome, Rc<Vec<Found<'g, 't>>>);

struct Matcher<'g, 't> {
    grammar: &'g Grammar,
    text: &'t str,
    is_partial: bool,
    /// What each rule made of each place.
    kept: HashMap<(&'g str, usize), Kept<'g, 't>>,
    depth: usize,
    steps: usize,
    furthest: usize,
    expected: BTreeSet<String>,
}

impl<'g, 't> Matcher<'g, 't> {
    fn new(grammar: &'g Grammar, text: &'t str, is_partial: bool) -> Matcher<'g, 't> {
        Matcher {
            grammar,
            text,
            is_partial,
            kept: HashMap::new(),
            depth: 0,
            steps: STEPS.saturating_add(text.len().saturating_mul(STEPS_PER_BYTE)),
            furthest: 0,
            expected: BTreeSet::new(),
        }
    }

    fn run(mut self) -> Result<Tree<'g, 't>, Fault> {
        let mut found = Vec::new();
        let outcome = self.node(&self.grammar.root, 0, &mut found);
        let is_too_costly = self.steps == 0;
        match outcome {
            _ if is_too_costly => {}
            Outcome::Match(end) if end == self.text.len() => {
                return Ok(Tree {
                    found,
                    needs_more: false,
                });
            }
            Outcome::More(_) => {
                return Ok(Tree {
                    found,
                    needs_more: true,
                });
            }
            Outcome::Match(end) => self.expect(end, "the end of the text".to_owned()),
            Outcome::Fail => {}
        }
        Err(Fault {
            at: self.furthest,
            expected: self.expected.into_iter().collect(),
            is_too_costly,
        })
    }

    fn rest(&self, at: usize) -> &'t str {
        &self.text[at..]
    }

    fn expect(&mut self, at: usize, what: String) {
        if at > self.furthest {
            self.furthest = at;
            self.expected.clear();
        }
        if at == self.furthest {
            self.expected.insert(what);
        }
    }

    /// At the end of a text that may go on: what is there may be the beginning.
    fn end_of_part(&self, at: usize) -> Outcome {
        match self.is_partial {
            true => Outcome::More(at),
            false => Outcome::Fail,
        }
    }

    fn node(&mut self, expr: &'g Expr, at: usize, found: &mut Vec<Found<'g, 't>>) -> Outcome {
        let Some(steps) = self.steps.checked_sub(1) else {
            return Outcome::Fail;
        };
        self.steps = steps;
        let before = found.len();
        let outcome = self.inner(expr, at, found);
        if outcome == Outcome::Fail {
            found.truncate(before);
        }
        outcome
    }

    fn inner(&mut self, expr: &'g Expr, at: usize, found: &mut Vec<Found<'g, 't>>) -> Outcome {
        match expr {
            Expr::Empty => Outcome::Match(at),
            Expr::Start if at == 0 => Outcome::Match(at),
            Expr::Start => Outcome::Fail,
            Expr::End if at < self.text.len() => {
                self.expect(at, "the end of the text".to_owned());
                Outcome::Fail
            }
            Expr::End if self.is_partial => Outcome::More(at),
            Expr::End => Outcome::Match(at),
            Expr::Literal(literal) => self.literal(literal, at),
            Expr::Chars(chars) => self.chars(chars, at),
            Expr::Space => {
                let rest = self.rest(at).trim_start_matches([' ', '\t', '\r', '\n']);
                match rest.is_empty() && self.is_partial {
                    true => Outcome::More(at),
                    false => Outcome::Match(self.text.len() - rest.len()),
                }
            }
            Expr::Until(delimiters) => self.until(delimiters, at),
            Expr::Rest => match self.is_partial {
                true => Outcome::More(self.text.len()),
                false => Outcome::Match(self.text.len()),
            },
            Expr::Sequence(parts) => {
                let mut end = at;
                for part in parts {
                    match self.node(part, end, found) {
                        Outcome::Match(next) => end = next,
                        other => return other,
                    }
                }
                Outcome::Match(end)
            }
            Expr::Choice(all) => {
                let outcomes = all.iter().map(|one| self.node(one, at, found));
                let mut outcomes = outcomes.filter(|outcome| *outcome != Outcome::Fail);
                outcomes.next().unwrap_or(Outcome::Fail)
            }
            Expr::Repeat(repeat) => self.repeat(repeat, at, found),
            Expr::Members(members) => self.members(members, at, found),
            Expr::Peek(inner) => match self.node(inner, at, &mut Vec::new()) {
                Outcome::Match(_) => Outcome::Match(at),
                Outcome::More(_) => Outcome::More(at),
                Outcome::Fail => Outcome::Fail,
            },
            Expr::Negate(inner) => match self.node(inner, at, &mut Vec::new()) {
                Outcome::Match(_) => Outcome::Fail,
                Outcome::More(_) => Outcome::More(at),
                Outcome::Fail => Outcome::Match(at),
            },
            Expr::Rule(name) => self.rule(name, at, found),
            Expr::Schema(node) => self.node(&node.expr, at, found),
            Expr::Atomic(inner) => {
                let before = found.len();
                let outcome = self.node(inner, at, found);
                if let Outcome::More(_) = outcome {
                    found.truncate(before);
                    return Outcome::More(at);
                }
                outcome
            }
            Expr::Tag(tag, inner) => {
                let mut children = Vec::new();
                let outcome = self.node(inner, at, &mut children);
                let (end, is_partial) = match outcome {
                    Outcome::Match(end) => (end, false),
                    Outcome::More(end) => (end, true),
                    Outcome::Fail => return Outcome::Fail,
                };
                found.push(Found {
                    tag,
                    text: &self.text[at..end],
                    start: at,
                    is_partial,
                    children,
                    notation: match inner.bare() {
                        Expr::Schema(node) => Some(&node.notation),
                        _ => None,
                    },
                });
                outcome
            }
        }
    }

    fn literal(&mut self, literal: &str, at: usize) -> Outcome {
        let rest = self.rest(at);
        if rest.starts_with(literal) {
            return Outcome::Match(at + literal.len());
        }
        if literal.starts_with(rest)
            && let more @ Outcome::More(_) = self.end_of_part(at)
        {
            return more;
        }
        self.expect(at, shown(literal));
        Outcome::Fail
    }

    fn chars(&mut self, chars: &Chars, at: usize) -> Outcome {
        let (mut count, mut end) = (0, at);
        let most = chars.at_most.unwrap_or(u32::MAX);
        while count < most {
            let Some(c) = self.rest(end).chars().next() else {
                if self.is_partial {
                    return Outcome::More(end);
                }
                break;
            };
            if !chars.class.contains(c) {
                break;
            }
            end += c.len_utf8();
            count += 1;
        }
        match count >= chars.at_least {
            true => Outcome::Match(end),
            false => {
                self.expect(end, super::regex::class(&chars.class));
                Outcome::Fail
            }
        }
    }

    fn until(&self, delimiters: &[String], at: usize) -> Outcome {
        let rest = self.rest(at);
        let found = delimiters
            .iter()
            .filter_map(|text| rest.find(text.as_str()));
        if let Some(end) = found.min() {
            return Outcome::Match(at + end);
        }
        if !self.is_partial {
            return Outcome::Match(self.text.len());
        }
        // A delimiter may have begun.
        let longest = delimiters.iter().map(String::len).max().unwrap_or(0);
        let mut starts = rest.char_indices().map(|(start, _)| start);
        let held = starts.find(|start| {
            rest.len() - start < longest
                && delimiters
                    .iter()
                    .any(|text| text.starts_with(&rest[*start..]))
        });
        Outcome::More(at + held.unwrap_or(rest.len()))
    }

    fn repeat(&mut self, repeat: &'g Repeat, at: usize, found: &mut Vec<Found<'g, 't>>) -> Outcome {
        let (mut count, mut end) = (0_u32, at);
        while repeat.at_most.is_none_or(|most| count < most) {
            match self.node(&repeat.item, end, found) {
                // What takes nothing takes it as often as one likes.
                Outcome::Match(next) if next == end => {
                    count = count.max(repeat.at_least);
                    break;
                }
                Outcome::Match(next) => end = next,
                more @ Outcome::More(_) => return more,
                Outcome::Fail => break,
            }
            count += 1;
        }
        match count >= repeat.at_least {
            true => Outcome::Match(end),
            false => Outcome::Fail,
        }
    }

    fn members(&mut self, all: &'g Members, at: usize, found: &mut Vec<Found<'g, 't>>) -> Outcome {
        let mut done = vec![false; all.members.len()];
        let (mut end, mut is_first) = (at, true);
        loop {
            let mut start = end;
            if !is_first {
                match self.node(&all.separator, end, found) {
                    Outcome::Match(next) => start = next,
                    more @ Outcome::More(_) => return more,
                    Outcome::Fail => break,
                }
            }
            let left = all.members.iter().enumerate().filter(|(at, _)| !done[*at]);
            let mut outcome = Outcome::Fail;
            let mut which = None;
            for (index, member) in left.collect::<Vec<_>>() {
                outcome = self.node(&member.expr, start, found);
                if outcome != Outcome::Fail {
                    which = Some(index);
                    break;
                }
            }
            if let (Outcome::Fail, Some(others)) = (outcome, &all.others) {
                outcome = self.node(others, start, found);
            }
            match outcome {
                Outcome::Match(next) => end = next,
                more @ Outcome::More(_) => return more,
                Outcome::Fail => break,
            }
            if let Some(index) = which {
                done[index] = true;
            }
            is_first = false;
        }
        let mut missing = all.members.iter().zip(&done);
        match missing.find(|(member, done)| member.is_required && !**done) {
            Some((member, _)) => {
                self.expect(end, format!("`{}`, which is required", member.name));
                Outcome::Fail
            }
            None => Outcome::Match(end),
        }
    }

    fn rule(&mut self, name: &'g str, at: usize, found: &mut Vec<Found<'g, 't>>) -> Outcome {
        if let Some((outcome, nodes)) = self.kept.get(&(name, at)) {
            found.extend(nodes.iter().cloned());
            return *outcome;
        }
        let Some(rule) = self.grammar.rules.get(name) else {
            return Outcome::Fail;
        };
        if self.depth == MAX_DEPTH {
            self.expect(at, "something that nests less deep".to_owned());
            return Outcome::Fail;
        }
        self.depth += 1;
        let mut nodes = Vec::new();
        let outcome = self.node(&rule.expr, at, &mut nodes);
        self.depth -= 1;
        let nodes = Rc::new(nodes);
        found.extend(nodes.iter().cloned());
        self.kept.insert((name, at), (outcome, nodes));
        outcome
    }
}

impl Tree<'_, '_> {
    /// The message that a turn is, with `thinking`, `content` and `tool_calls` as far as it has them.
    ///
    /// ```
    /// use unjinja::grammar::Grammar;
    /// use unjinja::json;
    ///
    /// let grammar = Grammar::build(|p| {
    ///     let name = p.json_member("name", "\"" + p.tool_name("wait") + "\"");
    ///     let arguments = p.json_member("arguments", p.tool_args(p.json()));
    ///     let call = p.tool("{" << name << "," << arguments << "}");
    ///     p.content(p.until("<call>")) + "<call>" + call + "</call>"
    /// });
    /// let tree = grammar.parse(r#"Wait.<call>{"name": "wait", "arguments": {"s": 3}}</call>"#)?;
    /// assert_eq!(
    ///     json::write(&tree.message().into()),
    ///     r#"{"role":"assistant","content":"Wait.","tool_calls":[{"type":"function","function":{"name":"wait","arguments":{"s":3}}}]}"#,
    /// );
    /// # Ok::<(), unjinja::grammar::Fault>(())
    /// ```
    pub fn message(&self) -> Object {
        let mut message = Object::from_iter([("role", Value::from("assistant"))]);
        let text = |tag: &Tag| {
            let found = self.found.iter().filter(|found| found.tag == tag);
            let text: String = found.map(|found| found.text).collect();
            (!text.trim().is_empty()).then(|| text.trim().to_owned())
        };
        if let Some(thought) = text(&Tag::Reasoning) {
            message.insert("thinking", thought);
        }
        if let Some(content) = text(&Tag::Content) {
            message.insert("content", content);
        }
        let calls = self.found.iter().filter(|found| *found.tag == Tag::Tool);
        let calls: Vec<Value> = calls.map(|call| call.call().into()).collect();
        if !calls.is_empty() {
            message.insert("tool_calls", calls);
        }
        message
    }
}

impl Found<'_, '_> {
    /// The first part below it with this tag.
    pub fn find(&self, tag: &Tag) -> Option<&Self> {
        let mut children = self.children.iter();
        children.find_map(|child| match child.tag == tag {
            true => Some(child),
            false => child.find(tag),
        })
    }

    /// A call as a message has it.
    fn call(&self) -> Object {
        let mut call = Object::new();
        if let Some(id) = self.find(&Tag::ToolId) {
            call.insert("id", id.text);
        }
        call.insert("type", "function");
        let mut function = Object::new();
        if let Some(name) = self.find(&Tag::ToolName) {
            function.insert("name", name.text);
        }
        let arguments = match self.find(&Tag::ToolArgs) {
            Some(arguments) => arguments.value(),
            None => self.arguments().into(),
        };
        function.insert("arguments", arguments);
        call.insert("function", function);
        call
    }

    /// The arguments that stand by themselves.
    fn arguments(&self) -> Object {
        let mut all = Object::new();
        for argument in &self.children {
            if *argument.tag != Tag::ToolArg {
                all.extend(argument.arguments());
                continue;
            }
            let Some(name) = argument.find(&Tag::ToolArgName) else {
                continue;
            };
            let value = match argument.find(&Tag::ToolArgJson) {
                Some(json) => json.value(),
                None => match argument.find(&Tag::ToolArgString) {
                    Some(found) if found.notation.is_some_and(|notation| notation.in_lines) => {
                        let text = found.text;
                        let text = text.strip_prefix('\n').unwrap_or(text);
                        text.strip_suffix('\n').unwrap_or(text).into()
                    }
                    Some(found) => found.text.into(),
                    None => continue,
                },
            };
            all.insert(name.text, value);
        }
        all
    }

    /// The value that it is written for; the text as it is, as long as it is no whole value.
    fn value(&self) -> Value {
        let json = Notation::json();
        let notation = self.notation.unwrap_or(&json);
        value::read(self.text, notation).unwrap_or_else(|| self.text.into())
    }
}
