//! What texts are by a grammar, whole or while they are written: a tree, and the message that a turn is.

use std::borrow::Cow;
use std::fmt;

use super::expr::Tag;
use super::machine::{Machine, Mark, State};
use super::notation::Notation;
use super::{Grammar, value};
use crate::position::Position;
use crate::value::{Object, Value};

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
    pub(super) notation: Option<&'g Notation>,
}

/// Where a text is not what a grammar says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The byte up to which it was.
    pub at: usize,
    /// Why reading ended there.
    pub kind: FaultKind,
    /// What could have stood there, in words.
    pub expected: Vec<String>,
}

/// Why reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// No text of the grammar goes on so.
    Unexpected,
    /// It took too long.
    TooCostly,
    /// The text turned out to be another than the differences that were handed out before.
    TakenBack,
}

/// So many things that could have stood at a place are written out.
const MAX_NAMED: usize = 12;

impl Fault {
    /// Where in the text it is.
    ///
    /// ```
    /// use unjinja::grammar::Grammar;
    ///
    /// let grammar = Grammar::build(|p| p.literal("<call>\n") + p.json() + "</call>");
    /// let text = "<call>\n[1, x]</call>";
    /// let fault = grammar.parse(text).expect_err("this is no JSON");
    /// assert_eq!(fault.position(text).line_column(), (2, 5));
    /// ```
    pub fn position(&self, text: &str) -> Position {
        Position::at(text, self.at)
    }

    /// What is wrong, without the place.
    pub fn reason(&self) -> String {
        match self.kind {
            FaultKind::TooCostly => "reading on would take too long".to_owned(),
            FaultKind::TakenBack => "what was read before is read differently now".to_owned(),
            FaultKind::Unexpected if self.expected.is_empty() => {
                "nothing can stand here".to_owned()
            }
            FaultKind::Unexpected => {
                let named = &self.expected[..self.expected.len().min(MAX_NAMED)];
                let more = self.expected.len() - named.len();
                let mut words = format!("expected {}", named.join(" or "));
                if more > 0 {
                    words += &format!(", or one of {more} others");
                }
                words
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.reason())
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
        let mut machine = Machine::new(self);
        let state = machine.run(text, true)?;
        Ok(Tree::of(&machine, text, state))
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
        let mut machine = Machine::new(self);
        let state = machine.run(text, false)?;
        Ok(Tree::of(&machine, text, state))
    }
}

impl<'g, 't> Tree<'g, 't> {
    /// What a machine has found in a text so far.
    pub(super) fn of(machine: &Machine<'g>, text: &'t str, state: State) -> Tree<'g, 't> {
        let mut found: Vec<Found<'g, 't>> = Vec::new();
        let mut open: Vec<Found<'g, 't>> = Vec::new();
        let (end, is_whole) = match state {
            State::More(end) => (end, machine.is_through()),
            State::Whole => (text.len(), true),
        };
        let mut close = |open: &mut Vec<Found<'g, 't>>, at: usize, is_partial: bool| {
            let Some(mut part) = open.pop() else {
                return;
            };
            part.text = &text[part.start..at];
            part.is_partial = is_partial;
            match open.last_mut() {
                Some(outer) => outer.children.push(part),
                None => found.push(part),
            }
        };
        for mark in &machine.marks()[..machine.sure_marks()] {
            match *mark {
                Mark::Open { tag, at, notation } => open.push(Found {
                    tag,
                    text: "",
                    start: at,
                    is_partial: false,
                    children: Vec::new(),
                    notation,
                }),
                Mark::Close { at, .. } => close(&mut open, at, false),
            }
        }
        while !open.is_empty() {
            close(&mut open, end, true);
        }
        Tree {
            found,
            needs_more: !is_whole,
        }
    }

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
            let text: String = found.clone().map(Found::said).collect();
            // White space in a string was said, and beside markers it was not.
            let text = match found.clone().any(Found::is_string) {
                true => text.as_str(),
                false => text.trim(),
            };
            (!text.is_empty()).then(|| text.to_owned())
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

    /// Whether it is what stands between the quotes of a string.
    fn is_string(&self) -> bool {
        self.notation
            .is_some_and(|notation| notation.within.is_some())
    }

    /// The text of an answer or a thought.
    fn said(&self) -> Cow<'_, str> {
        match self.is_string() {
            true => value::said_by(self.text).0.into(),
            false => self.text.into(),
        }
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
                    Some(found) => {
                        let notation = found.notation.map(|notation| notation.line_breaks);
                        notation.unwrap_or_default().strip(found.text).into()
                    }
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

#[cfg(test)]
mod tests {
    use super::super::Builder;
    use super::*;
    use crate::json;

    #[test]
    fn a_fault_says_what_could_have_stood_there() {
        let fault = |kind, count: usize| Fault {
            at: 3,
            kind,
            expected: (0..count).map(|at| format!("`{at}`")).collect(),
        };
        for (fault, expected) in [
            (
                fault(FaultKind::Unexpected, 2),
                "byte 3: expected `0` or `1`",
            ),
            (
                fault(FaultKind::Unexpected, 0),
                "byte 3: nothing can stand here",
            ),
            (
                fault(FaultKind::TooCostly, 2),
                "byte 3: reading on would take too long",
            ),
            (
                fault(FaultKind::TakenBack, 0),
                "byte 3: what was read before is read differently now",
            ),
        ] {
            assert_eq!(fault.to_string(), expected);
        }
        let many = fault(FaultKind::Unexpected, MAX_NAMED + 2).reason();
        assert!(many.ends_with(" or `11`, or one of 2 others"), "{many}");
    }

    #[test]
    fn a_message_has_what_tags_name() {
        let arguments = |p: &Builder| {
            let name = p.tool_arg_name(p.literal("at"));
            let value = p.tool_arg_string_value(p.until("]")) | p.tool_arg_json_value("7");
            let argument = p.tool_arg("[" + name + "=" + value + "]");
            let id = p.optional("#" + p.tool_id(p.literal("x1")));
            p.tool("<" + p.tool_name(p.literal("read")) + id + p.zero_or_more(argument) + ">")
        };
        let grammar = Grammar::build(|p| {
            let thought = p.optional("(" + p.reasoning(p.until(")")) + ")");
            thought + p.content(p.until("<")) + p.zero_or_more(arguments(p)) + p.end()
        });
        for (text, expected) in [
            ("Yes. ", r#"{"role":"assistant","content":"Yes."}"#),
            (
                "(Hm. )Yes.",
                r#"{"role":"assistant","thinking":"Hm.","content":"Yes."}"#,
            ),
            // Nothing was said.
            (" ", r#"{"role":"assistant"}"#),
            (
                "<read#x1[at=Brest]>",
                r#"{"role":"assistant","tool_calls":[{"id":"x1","type":"function","function":{"name":"read","arguments":{"at":"Brest"}}}]}"#,
            ),
            (
                "<read>",
                r#"{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"read","arguments":{}}}]}"#,
            ),
        ] {
            let message = grammar.parse(text).expect(text).message();
            assert_eq!(json::write(&message.into()), expected, "{text}");
        }
    }

    #[test]
    fn what_was_found_last_may_grow() {
        let grammar = Grammar::build(|p| p.content(p.until("<end>")) + p.optional("<end>"));
        for (text, expected) in [
            ("", ("", true)),
            ("Yes", ("Yes", true)),
            // It may become what ends the text.
            ("Yes<en", ("Yes", true)),
            ("Yes<end>", ("Yes", false)),
        ] {
            let tree = grammar.parse_partial(text).expect(text);
            let found = &tree.found[0];
            assert_eq!((found.text, found.is_partial), expected, "{text}");
        }
    }
}
