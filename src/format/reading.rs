//! Reading a turn by the tree: strictly, and with all slots where they stand.
//!
//! The ways of a format become one small program, which is gone through from one step to the next. What a
//! step does depends on nothing but the place in the text, so that none has to be taken at a place twice:
//! the work is at most the length of the program times the length of the text.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use super::words::shown;
use super::{Dialect, Entry, Format, Node, Repetition, Slot, ValueForm, ValueWriting};
use crate::json;
use crate::value::Value;

/// So many pairs of an instruction and a place are kept note of at most, which takes a bit each.
const MAX_NOTES: usize = 1 << 26;

/// A turn, read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reading<'t> {
    /// Which of the [ways](Format::ways) it was.
    pub way: usize,
    /// Where the turn ends: at the end of the text, or behind what ends a turn.
    pub end: usize,
    /// What stands in the slots, in the order of the text.
    pub slots: Vec<FoundSlot<'t>>,
}

/// What stands in a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundSlot<'t> {
    /// The slot.
    pub slot: Slot,
    /// What stands in it, as it is written.
    pub text: &'t str,
    /// At which byte it begins.
    pub start: usize,
    /// The number of the call that it belongs to, counted from nought.
    pub call: Option<usize>,
}

/// Why a text is no turn of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotATurn {
    /// The byte up to which it might have been one.
    pub at: usize,
    /// What could have stood there, in words.
    pub expected: Vec<String>,
    /// Whether the text is too long to be read.
    pub is_too_long: bool,
}

impl fmt::Display for NotATurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_too_long {
            return f.write_str("the text is too long to be read in one piece");
        }
        write!(
            f,
            "byte {}: expected {}",
            self.at,
            self.expected.join(" or ")
        )
    }
}

impl std::error::Error for NotATurn {}

impl Format {
    /// Reads a turn: what a prompt wrote of it after its header, and what the model wrote.
    ///
    /// # Errors
    ///
    /// If the text does not begin with a turn of this format, or goes on behind it though nothing ended it.
    pub fn read<'t>(&self, text: &'t str) -> Result<Reading<'t>, NotATurn> {
        if self.ways.is_empty() {
            return Err(NotATurn {
                at: 0,
                expected: vec!["a turn, though the chat template writes none".to_owned()],
                is_too_long: false,
            });
        }
        let mut program = Program::of(self);
        program.alternatives(self.ways.iter(), |program, at, way| {
            program.push(Step::Way(at));
            // Around the parts of a turn models write white space as they like.
            for node in way.node.parts() {
                program.any_space();
                program.node(node);
            }
            program.end(&way.end);
        });
        program.push(Step::Accept);
        let whole = Run::new(&program, text)?.run(false);
        whole.or_else(|error| Run::new(&program, text)?.run(true).map_err(|_| error))
    }
}

/// A node made ready to be looked for at many places.
#[derive(Debug)]
pub(crate) struct NodeReader(Program<'static>);

impl NodeReader {
    pub(crate) fn new(node: &Node) -> NodeReader {
        let mut program = Program::default();
        program.node(node);
        program.push(Step::Accept);
        NodeReader(program)
    }

    /// Where a text ends that begins at a place and that the node could be: of all ends, the one that lets
    /// the rest be a text that `is_rest` accepts, and what was found in slots up to there.
    pub(crate) fn read_at<'t>(
        &self,
        text: &'t str,
        from: usize,
        is_rest: impl Fn(&str) -> bool,
    ) -> Option<(usize, Vec<FoundSlot<'t>>)> {
        let first = self
            .0
            .steps
            .iter()
            .find(|step| !matches!(step, Step::OpenCall));
        if let Some(Step::Text(first)) = first
            && !text[from..].starts_with(first.as_str())
        {
            return None;
        }
        let text = &text[from..];
        let mut run = Run::new(&self.0, text).ok()?;
        let last = run.search(|end| is_rest(&text[end..]))?;
        let mut slots = run.reading(last).slots;
        for slot in &mut slots {
            slot.start += from;
        }
        Some((from + last.at, slots))
    }
}

/// One step of the program.
#[derive(Debug)]
enum Step {
    Way(usize),
    Text(String),
    Space(String),
    /// Any character, or any that a name or a key may have.
    Any,
    AnyInTurn,
    AnyOfName,
    AnyOfId,
    AnyOfKey,
    Digit,
    /// A JSON value. Only an object if `.1`.
    Json(Dialect, bool),
    Constant(Value, Dialect),
    Python,
    /// Goes on here, and if that fails there.
    Fork(usize, usize),
    Jump(usize),
    Open(Slot),
    Close,
    OpenCall,
    CloseCall,
    /// The turn has ended, whatever follows.
    Ended,
    Accept,
}

/// The steps in which ways of a format are read.
#[derive(Debug, Default)]
struct Program<'f> {
    steps: Vec<Step>,
    /// What stands for [`Node::Calls`].
    calls: Option<&'f Node>,
    /// What ends turns, which is in no text.
    ends: Vec<&'f str>,
}

impl<'f> Program<'f> {
    fn of(format: &'f Format) -> Program<'f> {
        let ways = format.ways.iter();
        Program {
            steps: Vec::new(),
            calls: format.calls.as_ref(),
            ends: ways.filter_map(|way| way.end.first_literal()).collect(),
        }
    }

    fn push(&mut self, step: Step) -> usize {
        self.steps.push(step);
        self.steps.len() - 1
    }

    fn text(&mut self, text: &str) {
        self.push(Step::Text(text.to_owned()));
    }

    fn any_space(&mut self) {
        self.push(Step::Space(String::new()));
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Literal(text) => self.text(text),
            Node::Space(text) => {
                self.push(Step::Space(text.clone()));
            }
            Node::Slot(slot) => self.slot(*slot),
            Node::Value(forms) => self.value(forms),
            Node::Sequence(nodes) => nodes.iter().for_each(|node| self.node(node)),
            Node::Choice(nodes) => {
                self.alternatives(nodes.iter(), |program, _, node| program.node(node));
            }
            Node::Optional(node) => {
                let nothing = Node::Sequence(Vec::new());
                let both = [&**node, &nothing].into_iter();
                self.alternatives(both, |program, _, node| program.node(node));
            }
            Node::Repetition(repetition) => {
                self.repetition(repetition, |program| program.node(&repetition.separator));
            }
            Node::Object(entries, dialect) => self.object(entries, dialect),
            Node::Array(items) => {
                self.text("[");
                self.any_space();
                self.repetition(items, |program| {
                    program.any_space();
                    program.text(",");
                    program.any_space();
                });
                self.any_space();
                self.text("]");
            }
            Node::JsonString(node, dialect) => self.string(node, dialect),
            Node::Constant(value) => self.constant(value, &Dialect::default()),
            Node::Arguments(dialect) => self.within(Slot::Arguments, |program| {
                program.push(Step::Json(dialect.clone(), true));
            }),
            Node::Calls => {
                if let Some(calls) = self.calls {
                    self.node(calls);
                }
            }
            Node::Call(node) => {
                self.push(Step::OpenCall);
                self.node(node);
                self.push(Step::CloseCall);
            }
            Node::Argument(node) => self.node(node),
        }
    }

    /// What ends a turn, as far as it is there.
    fn end(&mut self, end: &Node) {
        let (mut forks, mut has_ended) = (Vec::new(), false);
        for node in end.parts() {
            forks.push(self.push(Step::Fork(0, 0)));
            self.node(node);
            if matches!(node, Node::Literal(_)) && !has_ended {
                has_ended = true;
                self.push(Step::Ended);
            }
        }
        for fork in forks {
            self.steps[fork] = Step::Fork(fork + 1, self.steps.len());
        }
        self.any_space();
    }

    /// One of several, of which the first that leads to an end is taken.
    fn alternatives<T>(
        &mut self,
        all: impl ExactSizeIterator<Item = T>,
        mut each: impl FnMut(&mut Self, usize, T),
    ) {
        let count = all.len();
        let mut jumps = Vec::new();
        for (at, one) in all.enumerate() {
            let fork = (at + 1 < count).then(|| self.push(Step::Fork(0, 0)));
            each(self, at, one);
            if let Some(fork) = fork {
                jumps.push(self.push(Step::Jump(0)));
                self.steps[fork] = Step::Fork(fork + 1, self.steps.len());
            }
        }
        let end = self.steps.len();
        for jump in jumps {
            self.steps[jump] = Step::Jump(end);
        }
    }

    /// As few as can be.
    fn repetition(&mut self, repetition: &Repetition, separate: impl Fn(&mut Self)) {
        let leave = (repetition.at_least == 0).then(|| self.push(Step::Fork(0, 0)));
        let start = self.steps.len();
        self.node(&repetition.item);
        if repetition.at_most != Some(1) {
            let again = self.push(Step::Fork(0, 0));
            separate(self);
            self.push(Step::Jump(start));
            self.steps[again] = Step::Fork(self.steps.len(), again + 1);
        }
        if let Some(leave) = leave {
            self.steps[leave] = Step::Fork(self.steps.len(), leave + 1);
        }
    }

    fn within(&mut self, slot: Slot, inside: impl FnOnce(&mut Self)) {
        self.push(Step::Open(slot));
        inside(self);
        self.push(Step::Close);
    }

    /// As few of these characters as can be, but one.
    fn run_of(&mut self, step: fn() -> Step) {
        let start = self.push(step());
        self.push(Step::Fork(self.steps.len() + 1, start));
    }

    /// As few characters as can be, or none.
    fn any_text(&mut self, character: Step) {
        let start = self.push(Step::Fork(0, 0));
        self.push(character);
        self.push(Step::Jump(start));
        self.steps[start] = Step::Fork(self.steps.len(), start + 1);
    }

    fn slot(&mut self, slot: Slot) {
        self.within(slot, |program| match slot {
            Slot::Reasoning | Slot::Content => program.any_text(Step::AnyInTurn),
            Slot::Name => program.run_of(|| Step::AnyOfName),
            Slot::Id => program.run_of(|| Step::AnyOfId),
            Slot::Index => program.run_of(|| Step::Digit),
            Slot::Key => program.run_of(|| Step::AnyOfKey),
            Slot::Value => program.any_text(Step::Any),
            Slot::Arguments => {
                program.push(Step::Json(Dialect::default(), true));
            }
        });
    }

    fn value(&mut self, forms: &[ValueForm]) {
        self.within(Slot::Value, |program| {
            program.alternatives(forms.iter(), |program, _, form| {
                program.writing(&form.writing);
            });
        });
    }

    fn writing(&mut self, writing: &ValueWriting) {
        match writing {
            ValueWriting::Raw => self.any_text(Step::Any),
            ValueWriting::Wrapped {
                open,
                close,
                always,
            } => {
                let bare = (!always).then_some(None);
                let ways: Vec<_> = [Some((open, close))].into_iter().chain(bare).collect();
                self.alternatives(ways.into_iter(), |program, _, around| {
                    if let Some((open, _)) = around {
                        program.text(open);
                    }
                    program.any_text(Step::Any);
                    if let Some((_, close)) = around {
                        program.text(close);
                    }
                });
            }
            ValueWriting::Json(dialect) => {
                self.push(Step::Json(dialect.clone(), false));
            }
            ValueWriting::Python => {
                self.push(Step::Python);
            }
        }
    }

    fn object(&mut self, entries: &[Entry], dialect: &Dialect) {
        self.text("{");
        for (at, entry) in entries.iter().enumerate() {
            if at > 0 {
                self.any_space();
                self.text(",");
            }
            self.any_space();
            self.key(&entry.key, dialect);
            self.any_space();
            self.text(":");
            self.any_space();
            match &entry.value {
                Node::Constant(value) => self.constant(value, dialect),
                node => self.node(node),
            }
        }
        self.any_space();
        self.text("}");
    }

    fn constant(&mut self, value: &Value, dialect: &Dialect) {
        self.push(Step::Constant(value.clone(), dialect.clone()));
    }

    /// A key, in the quotes that strings have or in those of JSON.
    fn key(&mut self, key: &str, dialect: &Dialect) {
        if dialect.unquoted_keys {
            return self.text(key);
        }
        let mut writings = vec![json::write(&Value::from(key))];
        let delimiters = dialect.string_delimiters.iter();
        writings.extend(delimiters.map(|(open, close)| format!("{open}{key}{close}")));
        self.alternatives(writings.iter(), |program, _, text| program.text(text));
    }

    fn string(&mut self, node: &Node, dialect: &Dialect) {
        if let Node::Arguments(inner) = node {
            let inner = inner.clone();
            // JSON within a string.
            return self.within(Slot::Arguments, |program| {
                program.push(Step::Json(inner, false));
            });
        }
        let (open, close) = match &dialect.string_delimiters {
            Some((open, close)) => (open.as_str(), close.as_str()),
            None => ("\"", "\""),
        };
        self.text(open);
        self.node(node);
        self.text(close);
    }
}

/// A run of a program over a text.
///
/// Of several readings, the one is looked for that takes the least for free text, which is the one that
/// finds the most structure. So states are gone through in the order of what they cost: a character of
/// free text costs one, all else nothing.
struct Run<'p, 't> {
    program: &'p Program<'p>,
    text: &'t str,
    /// For each step and each place, whether it has been gone through.
    seen: Vec<u64>,
    /// The states to go through next, the cheapest first.
    states: VecDeque<State>,
    /// What states went through on the way: a step, where, and what was gone through before.
    trail: Vec<(usize, usize, Option<usize>)>,
    /// Whether the text may go on behind the end of the turn.
    may_go_on: bool,
    furthest: usize,
    /// The steps that could not be taken there. They are put into words only where somebody reads them: most runs fail,
    /// and the next one is tried.
    expected: Vec<usize>,
}

/// A step at a place, and the last that was noted on the way to it.
#[derive(Clone, Copy)]
struct State {
    step: usize,
    at: usize,
    before: Option<usize>,
}

impl<'p, 't> Run<'p, 't> {
    fn new(program: &'p Program<'p>, text: &'t str) -> Result<Run<'p, 't>, NotATurn> {
        let notes = program.steps.len().saturating_mul(text.len() + 1);
        if notes > MAX_NOTES {
            return Err(NotATurn {
                at: 0,
                expected: Vec::new(),
                is_too_long: true,
            });
        }
        Ok(Run {
            program,
            text,
            seen: vec![0; notes / 64 + 1],
            states: VecDeque::new(),
            trail: Vec::new(),
            may_go_on: false,
            furthest: 0,
            expected: Vec::new(),
        })
    }

    /// Reads the text, which may go on behind the end of the turn or not.
    fn run(mut self, may_go_on: bool) -> Result<Reading<'t>, NotATurn> {
        self.may_go_on = may_go_on;
        let length = self.text.len();
        match self.search(|end| end == length) {
            Some(last) => Ok(self.reading(last)),
            None => Err(NotATurn {
                at: self.furthest,
                expected: self.expected(),
                is_too_long: false,
            }),
        }
    }

    /// Goes through the program, up to an end that is accepted.
    fn search(&mut self, accepts: impl Fn(usize) -> bool) -> Option<State> {
        let first = State {
            step: 0,
            at: 0,
            before: None,
        };
        self.states.push_back(first);
        while let Some(state) = self.states.pop_front() {
            if self.is_new(state) && self.go_on(state, &accepts) {
                return Some(state);
            }
        }
        None
    }

    /// Adds the states that follow one. Says whether it is the end.
    fn go_on(&mut self, state: State, accepts: &impl Fn(usize) -> bool) -> bool {
        let State { step, at, before } = state;
        let to = |step, at| State { step, at, before };
        match &self.program.steps[step] {
            Step::Ended if self.may_go_on => return true,
            Step::Ended => self.states.push_front(to(step + 1, at)),
            Step::Accept if accepts(at) => return true,
            Step::Accept => self.expect(step, at),
            Step::Fork(first, second) => {
                self.states.push_front(to(*second, at));
                self.states.push_front(to(*first, at));
            }
            Step::Jump(target) => self.states.push_front(to(*target, at)),
            Step::Open(_) | Step::Close | Step::OpenCall | Step::CloseCall | Step::Way(_) => {
                self.trail.push((step, at, before));
                self.states.push_front(State {
                    step: step + 1,
                    at,
                    before: Some(self.trail.len() - 1),
                });
            }
            Step::Space(written) => {
                // As it is written, as much as there is, or none.
                let rest = &self.text[at..];
                let all = rest.len() - rest.trim_start().len();
                let exact = rest.starts_with(written.as_str()).then_some(written.len());
                for length in [0, all, exact.unwrap_or(all)] {
                    self.states.push_front(to(step + 1, at + length));
                }
            }
            Step::AnyInTurn if self.ends_at(at) => {}
            other => match other.length(&self.text[at..]) {
                Some(length) if other.is_free() => {
                    self.states.push_back(to(step + 1, at + length));
                }
                Some(length) => self.states.push_front(to(step + 1, at + length)),
                None => self.expect(step, at),
            },
        }
        false
    }

    /// Whether a turn ends at a place.
    fn ends_at(&self, at: usize) -> bool {
        let mut ends = self.program.ends.iter();
        ends.any(|end| self.text[at..].starts_with(end))
    }

    fn is_new(&mut self, state: State) -> bool {
        let note = state.step * (self.text.len() + 1) + state.at;
        let (word, bit) = (note / 64, 1_u64 << (note % 64));
        let is_new = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        is_new
    }

    fn expect(&mut self, step: usize, at: usize) {
        if at > self.furthest {
            self.furthest = at;
            self.expected.clear();
        }
        if at == self.furthest {
            self.expected.push(step);
        }
    }

    /// What could have stood at the furthest place, in words, each once.
    fn expected(&self) -> Vec<String> {
        let steps = self.expected.iter();
        let words: BTreeSet<String> = steps
            .map(|step| self.program.steps[*step].to_string())
            .collect();
        words.into_iter().collect()
    }

    /// What was gone through on the way to a state.
    fn reading(&self, last: State) -> Reading<'t> {
        let mut steps = Vec::new();
        let mut before = last.before;
        while let Some((step, at, earlier)) = before.map(|note| self.trail[note]) {
            steps.push((step, at));
            before = earlier;
        }
        let mut reading = Reading {
            way: 0,
            end: last.at,
            slots: Vec::new(),
        };
        let (mut opened, mut calls, mut in_call) = (Vec::new(), 0, false);
        for &(step, at) in steps.iter().rev() {
            match self.program.steps[step] {
                Step::Way(way) => reading.way = way,
                Step::Open(slot) => opened.push((slot, at)),
                Step::Close => {
                    if let Some((slot, start)) = opened.pop() {
                        reading.slots.push(FoundSlot {
                            slot,
                            text: &self.text[start..at],
                            start,
                            call: in_call.then_some(calls),
                        });
                    }
                }
                Step::OpenCall => in_call = true,
                Step::CloseCall => {
                    in_call = false;
                    calls += 1;
                }
                _ => {}
            }
        }
        reading
    }
}

impl Step {
    /// Whether it takes a character of free text.
    fn is_free(&self) -> bool {
        matches!(
            self,
            Step::Any | Step::AnyInTurn | Step::AnyOfName | Step::AnyOfId | Step::AnyOfKey
        )
    }

    /// How much of the text the step takes, if it can go on.
    fn length(&self, rest: &str) -> Option<usize> {
        let character = |is: fn(char) -> bool| {
            let c = rest.chars().next()?;
            is(c).then_some(c.len_utf8())
        };
        match self {
            Step::Text(text) => rest.starts_with(text.as_str()).then_some(text.len()),
            Step::Any | Step::AnyInTurn => character(|_| true),
            Step::AnyOfName => character(|c| c.is_alphanumeric() || "_-.:/".contains(c)),
            Step::AnyOfId => character(|c| !c.is_whitespace() && !"\"'{}()".contains(c)),
            Step::AnyOfKey => character(|c| c != '\n' && !"\"'{}()".contains(c)),
            Step::Digit => character(|c| c.is_ascii_digit()),
            Step::Json(dialect, only_object) => match *only_object && !rest.starts_with('{') {
                true => None,
                false => value_length(rest, dialect),
            },
            Step::Constant(value, dialect) => {
                let (found, length) = dialect.read_start(rest)?;
                (found == *value).then_some(length)
            }
            Step::Python => value_length(rest, &Dialect::python()),
            _ => None,
        }
    }
}

/// In words, for what was expected.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Text(text) => f.write_str(&shown(text)),
            Step::Digit => f.write_str("a digit"),
            Step::Json(_, true) => f.write_str("a JSON object"),
            Step::Json(_, false) => f.write_str("a JSON value"),
            Step::Constant(value, _) => f.write_str(&json::write(value)),
            Step::Python => f.write_str("a Python value"),
            Step::AnyOfName => f.write_str("a name"),
            Step::AnyOfId => f.write_str("an id"),
            Step::AnyOfKey => f.write_str("a key"),
            Step::Accept => f.write_str("the end of the turn"),
            _ => f.write_str("a text"),
        }
    }
}

/// The length of the JSON value that a text begins with, in a dialect. Brackets are counted; what stands
/// between them is not looked at but for strings.
fn value_length(text: &str, dialect: &Dialect) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let c = rest.chars().next()?;
        if let Some(length) = string_length(rest, dialect) {
            at += length;
        } else {
            match c {
                '{' | '[' if depth < json::MAX_DEPTH => depth += 1,
                '{' | '[' => return None,
                '}' | ']' => depth = depth.checked_sub(1)?,
                _ if depth == 0 => {
                    let is_scalar = |c: char| c.is_ascii_alphanumeric() || "+-._".contains(c);
                    let end = rest.find(|c| !is_scalar(c)).unwrap_or(rest.len());
                    let has_some = end > 0 && is_scalar_value(&rest[..end], dialect);
                    return has_some.then_some(at + end);
                }
                _ => {}
            }
            at += c.len_utf8();
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

fn is_scalar_value(text: &str, dialect: &Dialect) -> bool {
    let python = dialect.python_literals && matches!(text, "True" | "False" | "None");
    python || json::read(text).is_ok()
}

/// The length of a string that a text begins with.
fn string_length(text: &str, dialect: &Dialect) -> Option<usize> {
    let own = dialect.string_delimiters.as_ref();
    let own = own.map(|(open, close)| (open.as_str(), close.as_str()));
    let mut delimiters = own.into_iter().chain([("\"", "\"")]);
    let (open, close) = delimiters.find(|(open, _)| text.starts_with(open))?;
    let mut at = open.len();
    let escapes = close.len() == 1;
    loop {
        let rest = &text[at..];
        if rest.starts_with(close) {
            return Some(at + close.len());
        }
        let c = rest.chars().next()?;
        at += c.len_utf8();
        if c == '\\' && escapes {
            at += text[at..].chars().next()?.len_utf8();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::format;

    fn shown(slots: &[FoundSlot<'_>]) -> String {
        let slots = slots.iter().map(|found| match found.call {
            Some(call) => format!("{call}.{}={:?}", found.slot.key(), found.text),
            None => format!("{}={:?}", found.slot.key(), found.text),
        });
        slots.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn turns_are_read_in_the_way_that_leaves_least_to_free_text() {
        let format = format(&[("C", "<end>\n"), ("<m>\nR\n</m>\nC", "<end>\n")]);
        for (text, expected) in [
            ("Yes.<end>\n", "0 up to 10: content=\"Yes.\""),
            (
                "<m>\nHm.\n</m>\nYes.<end>",
                "1 up to 22: reasoning=\"Hm.\" content=\"Yes.\"",
            ),
            // White space around parts is written as models like; before an end, it is what is said.
            (
                "<m> Hm.</m> Yes. <end>",
                "1 up to 22: reasoning=\"Hm.\" content=\"Yes. \"",
            ),
            // Engines cut off the token that ends a turn.
            ("Yes.", "0 up to 4: content=\"Yes.\""),
            ("", "0 up to 0: content=\"\""),
            // The turn has ended, whatever follows.
            ("Yes.<end>\n<user>So?", "0 up to 9: content=\"Yes.\""),
            // A thought that nothing closes is what is said.
            ("<m>Hm.", "0 up to 6: content=\"<m>Hm.\""),
        ] {
            let found = format.read(text).expect("it is a turn");
            let found = format!("{} up to {}: {}", found.way, found.end, shown(&found.slots));
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_turn_is_told_with_its_place() {
        for (ways, text, expected) in [
            (
                &[("<m>R</m>C", "<end>")][..],
                "<m>Hm.",
                "byte 6: expected `</m>` or a text",
            ),
            (&[("<m>R</m>C", "<end>")], "Hm.", "byte 0: expected `<m>`"),
            (
                &[("<m>R</m>C", "<end>")],
                "<m><end>",
                "byte 3: expected `</m>`",
            ),
            (
                &[("<a>", "")],
                "<a>y",
                "byte 3: expected the end of the turn",
            ),
            (
                &[],
                "",
                "byte 0: expected a turn, though the chat template writes none",
            ),
        ] {
            let error = format(ways).read(text).expect_err("it is no turn");
            assert_eq!(error.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn nodes_are_found_up_to_an_end_that_is_accepted() {
        let row = |texts: &[&str], slot: Slot| {
            let [open, close] = texts else {
                panic!("two texts")
            };
            let mut row = Node::texts(open);
            row.push(Node::Slot(slot));
            row.extend(Node::texts(close));
            Node::Sequence(row)
        };
        let calls = Node::Repetition(Box::new(Repetition {
            item: Node::Call(Box::new(row(&["<", ">"], Slot::Name))),
            separator: Node::Literal(",".to_owned()),
            at_least: 1,
            at_most: None,
        }));
        for (node, text, from, end, expected) in [
            (&calls, "x<a>,<b>y", 1, 8, "0.name=\"a\" 1.name=\"b\""),
            (&calls, "x<a>,<b>y", 1, 4, "0.name=\"a\""),
            (&calls, "x<a>,<b>y", 0, 8, "none"),
            (&calls, "<a b>", 0, 5, "none"),
            (&calls, "<a.b:c/d-e_f>", 0, 13, "0.name=\"a.b:c/d-e_f\""),
            (&row(&["#", ";"], Slot::Index), "#12;", 0, 4, "index=\"12\""),
            (&row(&["#", ";"], Slot::Index), "#a;", 0, 3, "none"),
            (&row(&["#", ";"], Slot::Id), "#é+1;", 0, 6, "id=\"é+1\""),
            (&row(&["#", ";"], Slot::Id), "#a b;", 0, 5, "none"),
            (&row(&["#", "="], Slot::Key), "#a b=", 0, 5, "key=\"a b\""),
            (&row(&["#", "="], Slot::Key), "#a\nb=", 0, 5, "none"),
            (&row(&["#", ";"], Slot::Value), "#;", 0, 2, "value=\"\""),
            (
                &row(&["#", ";"], Slot::Arguments),
                "#{\"a\": 1};",
                0,
                10,
                "arguments=\"{\\\"a\\\": 1}\"",
            ),
            (&row(&["#", ";"], Slot::Arguments), "#[1];", 0, 5, "none"),
        ] {
            let found =
                NodeReader::new(node).read_at(text, from, |rest| text.len() - rest.len() == end);
            let found = found.map_or_else(
                || "none".to_owned(),
                |(at, slots)| {
                    assert_eq!(at, end, "{text}");
                    shown(&slots)
                },
            );
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn values_are_as_long_as_their_brackets_and_strings_say() {
        let (json, python) = (Dialect::default(), Dialect::python());
        let marks = Dialect {
            string_delimiters: Some(("<q>".to_owned(), "<q>".to_owned())),
            ..Dialect::default()
        };
        for (dialect, text, expected) in [
            (&json, "{\"a\": [1, 2]}}", Some(13)),
            // Brackets and quotes in strings are none.
            (&json, "[\"]\\\"]\"]", Some(8)),
            (&json, "\"a\" b", Some(3)),
            (&json, "-1.5, 2", Some(4)),
            (&json, "True", None),
            (&python, "True)", Some(4)),
            (&python, "'it\\'s'", Some(7)),
            (&marks, "<q>a\\<q>, 1", Some(8)),
            (&json, "[1", None),
            (&json, "]", None),
            (&json, "x", None),
            (&json, "", None),
        ] {
            assert_eq!(value_length(text, dialect), expected, "{text}");
        }
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(value_length(&deep(json::MAX_DEPTH), &json).is_some());
        assert!(value_length(&deep(json::MAX_DEPTH + 1), &json).is_none());
    }
}
