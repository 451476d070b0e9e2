//! The machine that reads texts by a grammar, as they come in.
//!
//! The grammar is one for parsing expressions: of several nodes, the first that fits is taken, and nothing
//! that has fitted is taken back. What a rule makes of a place is kept, so that it is found out once.
//!
//! The nodes that are being read are kept in a stack of their own. Where the text leaves off, the machine
//! stands still, and goes on from there when more comes: nothing is read again.

use std::collections::HashMap;
use std::rc::Rc;

use super::expr::{CharClass, Chars, Expr, Members, Repeat, Tag};
use super::notation::Notation;
use super::parse::{Fault, FaultKind};
use super::{Grammar, regex};
use crate::format::shown;

/// Rules within rules are followed so deep.
const MAX_DEPTH: usize = 200;

/// So many steps may be taken, and so many more for each byte that has been read. It is not the bytes there
/// are that count: a text that comes in has to be read as far as a whole one.
const STEPS: usize = 100_000;
const STEPS_PER_BYTE: usize = 2_000;

/// So many things that could have stood at a place are named.
const MAX_EXPECTED: usize = 200;

/// Where a tag begins or ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mark<'g> {
    Open {
        tag: &'g Tag,
        at: usize,
        /// How its value is written.
        notation: Option<&'g Notation>,
    },
    Close {
        tag: &'g Tag,
        at: usize,
    },
}

/// A node that is being read.
#[derive(Debug)]
enum Frame<'g> {
    Sequence {
        left: &'g [Expr],
    },
    Choice {
        left: &'g [Expr],
        back: Back,
    },
    Repeat {
        repeat: &'g Repeat,
        count: u32,
        back: Back,
    },
    Members(Box<InMembers<'g>>),
    Look {
        is_negative: bool,
        back: Back,
    },
    Rule {
        name: &'g str,
        back: Back,
    },
    Atomic {
        back: Back,
    },
    Tag(&'g Tag),
}

/// Members, some of which have come.
#[derive(Debug)]
struct InMembers<'g> {
    all: &'g Members,
    done: Vec<bool>,
    /// What is tried now.
    trying: Trying,
    /// Where the separator begins before what is tried.
    back: Back,
    /// Where what is tried begins.
    start: Back,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Trying {
    Separator,
    Member(usize),
    Others,
}

/// Where to go on if a node does not fit.
#[derive(Debug, Clone, Copy)]
struct Back {
    at: usize,
    marks: usize,
}

/// A node that reads the text itself.
#[derive(Debug, Clone, Copy)]
enum Leaf<'g> {
    Literal(&'g str),
    Chars(&'g Chars, u32),
    Space,
    Until(&'g [String]),
    Rest,
    End,
}

/// What the machine does next.
#[derive(Debug, Clone, Copy)]
enum Next<'g> {
    Enter(&'g Expr),
    /// Reads on in a leaf, the first so many bytes of which are read.
    Read(Leaf<'g>, usize),
    Fit,
    Fail,
}

/// What could have stood at a place.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Expected<'g> {
    Literal(&'g str),
    Class(&'g CharClass),
    Member(&'g str),
    Shallower,
    End,
}

/// How far the machine has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// All that has come is read, and more may follow. What is sure ends here.
    More(usize),
    /// All has come.
    Whole,
}

/// What a rule made of a place: where it ended, with the tags that it found.
type Kept<'g> = (Option<usize>, Rc<[Mark<'g>]>);

#[derive(Debug)]
pub(super) struct Machine<'g> {
    grammar: &'g Grammar,
    frames: Vec<Frame<'g>>,
    next: Next<'g>,
    at: usize,
    /// The tags that were found.
    marks: Vec<Mark<'g>>,
    /// Of the marks that were looked at last, so many still stand.
    unchanged: usize,
    kept: HashMap<(&'g str, usize), Kept<'g>>,
    depth: usize,
    /// In so many nodes that must not fit.
    negatives: usize,
    /// How many steps were taken.
    steps: usize,
    /// The furthest place that was read up to.
    reached: usize,
    furthest: usize,
    expected: Vec<Expected<'g>>,
}

impl<'g> Machine<'g> {
    pub(super) fn new(grammar: &'g Grammar) -> Machine<'g> {
        Machine {
            grammar,
            frames: Vec::new(),
            next: Next::Enter(&grammar.root),
            at: 0,
            marks: Vec::new(),
            unchanged: 0,
            kept: HashMap::new(),
            depth: 0,
            negatives: 0,
            steps: 0,
            reached: 0,
            furthest: 0,
            expected: Vec::new(),
        }
    }

    pub(super) fn marks(&self) -> &[Mark<'g>] {
        &self.marks
    }

    /// How many of the marks still stand that there were when this was asked last.
    pub(super) fn unchanged_marks(&mut self) -> usize {
        std::mem::replace(&mut self.unchanged, self.marks.len()).min(self.marks.len())
    }

    /// Reads on in a text, which begins with all that was read until now.
    pub(super) fn run(&mut self, text: &str, is_ended: bool) -> Result<State, Fault> {
        loop {
            // To read on where a text has left off is no step of its own.
            if !matches!(self.next, Next::Read(..)) {
                self.take_steps(1)?;
            }
            match self.next {
                Next::Enter(expr) => self.enter(expr),
                Next::Read(leaf, read) => {
                    let from = self.at;
                    let next = self.read(leaf, read, text, is_ended);
                    // So much was looked at.
                    self.steps = self.steps.saturating_add(self.at - from);
                    match next {
                        Some(next) => self.next = next,
                        None => return Ok(State::More(self.sure())),
                    }
                }
                Next::Fit => match self.frames.pop() {
                    Some(frame) => self.fit(frame),
                    None if self.at == text.len() => {
                        return Ok(match is_ended {
                            true => State::Whole,
                            false => State::More(self.at),
                        });
                    }
                    None => {
                        self.expect(self.at, Expected::End);
                        return Err(self.fault());
                    }
                },
                Next::Fail => match self.frames.pop() {
                    Some(frame) => self.fail(frame),
                    None => return Err(self.fault()),
                },
            }
        }
    }

    fn take_steps(&mut self, count: usize) -> Result<(), Fault> {
        self.steps = self.steps.saturating_add(count);
        self.reached = self.reached.max(self.at);
        if self.steps <= STEPS.saturating_add(self.reached.saturating_mul(STEPS_PER_BYTE)) {
            return Ok(());
        }
        Err(Fault {
            at: self.furthest.max(self.at),
            kind: FaultKind::TooCostly,
            expected: Vec::new(),
        })
    }

    /// Whether nothing is left to read, though more may follow.
    pub(super) fn is_through(&self) -> bool {
        self.frames.is_empty() && matches!(self.next, Next::Fit)
    }

    /// Up to where it is sure what the text is: what only looks ahead does not take it.
    fn sure(&self) -> usize {
        // The outermost look ahead counts: nothing within it is read for good.
        let mut frames = self.frames.iter();
        let looks = frames.find_map(|frame| match frame {
            Frame::Look { back, .. } => Some(back.at),
            _ => None,
        });
        looks.unwrap_or(self.at)
    }

    /// Of the marks, so many count while the text has not ended: not those in what must be whole.
    pub(super) fn sure_marks(&self) -> usize {
        // Of what must be whole, the outermost counts: nothing within it is there yet.
        let mut frames = self.frames.iter();
        let held = frames.find_map(|frame| match frame {
            Frame::Atomic { back } | Frame::Look { back, .. } => Some(back.marks),
            _ => None,
        });
        held.unwrap_or(self.marks.len())
    }

    /// Whether the mark of this index opens a text that another node takes for another one, if what follows
    /// does not fit: then nothing but that tells what it is.
    pub(super) fn may_be_other_text(&self, index: usize) -> bool {
        let Some(Mark::Open { tag, at, .. }) = self.marks.get(index) else {
            return false;
        };
        let mut frames = self.frames.iter();
        frames.any(|frame| match frame {
            Frame::Choice { left, back } if back.marks == index && back.at == *at => {
                let mut firsts = left.iter().filter_map(first_text);
                firsts.any(|other| other != *tag)
            }
            _ => false,
        })
    }

    fn fault(&self) -> Fault {
        let mut expected: Vec<String> = Vec::new();
        for one in &self.expected {
            let words = match one {
                Expected::Literal(text) => shown(text),
                Expected::Class(class) => regex::class(class),
                Expected::Member(name) => format!("`{name}`, which is required"),
                Expected::Shallower => "something less deeply nested".to_owned(),
                Expected::End => "the end of the text".to_owned(),
            };
            if !expected.contains(&words) {
                expected.push(words);
            }
        }
        Fault {
            at: self.furthest,
            kind: FaultKind::Unexpected,
            expected,
        }
    }

    fn expect(&mut self, at: usize, what: Expected<'g>) {
        // What must not stand at a place is nothing to advise, and what failed earlier was given up for what came
        // further.
        if self.negatives > 0 || at < self.furthest {
            return;
        }
        if at > self.furthest {
            self.furthest = at;
            self.expected.clear();
        }
        if self.expected.len() < MAX_EXPECTED && !self.expected.contains(&what) {
            self.expected.push(what);
        }
    }

    fn here(&self) -> Back {
        Back {
            at: self.at,
            marks: self.marks.len(),
        }
    }

    fn go_back(&mut self, back: Back) {
        self.at = back.at;
        self.marks.truncate(back.marks);
        // A mark that is cut off and set again is another one.
        self.unchanged = self.unchanged.min(back.marks);
    }

    fn enter(&mut self, expr: &'g Expr) {
        let back = self.here();
        let (frame, inner) = match expr {
            Expr::Empty => return self.next = Next::Fit,
            Expr::Start => {
                return self.next = match self.at {
                    0 => Next::Fit,
                    _ => Next::Fail,
                };
            }
            Expr::End => return self.next = Next::Read(Leaf::End, 0),
            Expr::Literal(text) => return self.next = Next::Read(Leaf::Literal(text), 0),
            Expr::Chars(chars) => return self.next = Next::Read(Leaf::Chars(chars, 0), 0),
            Expr::Space => return self.next = Next::Read(Leaf::Space, 0),
            Expr::Until(all) => return self.next = Next::Read(Leaf::Until(all), 0),
            Expr::Rest => return self.next = Next::Read(Leaf::Rest, 0),
            // A look ahead says what languages without one need an automaton for.
            Expr::Without(without) => return self.next = Next::Enter(&without.expr),
            Expr::Sequence(all) => match all.split_first() {
                Some((first, left)) => (Frame::Sequence { left }, first),
                None => return self.next = Next::Fit,
            },
            Expr::Choice(all) => match all.split_first() {
                Some((first, left)) => (Frame::Choice { left, back }, first),
                None => return self.next = Next::Fail,
            },
            Expr::Repeat(repeat) if repeat.at_most == Some(0) => return self.next = Next::Fit,
            Expr::Repeat(repeat) => {
                let count = 0;
                let frame = Frame::Repeat {
                    repeat,
                    count,
                    back,
                };
                (frame, &repeat.item)
            }
            Expr::Members(all) => {
                let frame = InMembers {
                    all,
                    done: vec![false; all.members.len()],
                    trying: Trying::Separator,
                    back,
                    start: back,
                };
                return self.try_member(Box::new(frame), 0);
            }
            Expr::Peek(inner) => {
                let is_negative = false;
                (Frame::Look { is_negative, back }, &**inner)
            }
            Expr::Negate(inner) => {
                self.negatives += 1;
                let is_negative = true;
                (Frame::Look { is_negative, back }, &**inner)
            }
            Expr::Rule(name) => return self.enter_rule(name),
            Expr::Schema(node) => return self.next = Next::Enter(&node.expr),
            Expr::Atomic(inner) => (Frame::Atomic { back }, &**inner),
            Expr::Tag(tag, inner) => {
                let notation = match inner.bare() {
                    Expr::Schema(node) => Some(&node.notation),
                    _ => None,
                };
                let at = self.at;
                self.marks.push(Mark::Open { tag, at, notation });
                (Frame::Tag(tag), &**inner)
            }
        };
        self.frames.push(frame);
        self.next = Next::Enter(inner);
    }

    fn enter_rule(&mut self, name: &'g str) {
        if let Some((end, marks)) = self.kept.get(&(name, self.at)) {
            self.marks.extend_from_slice(marks);
            // Copying is work, too: a rule may have found many tags.
            self.steps = self.steps.saturating_add(marks.len());
            self.next = match end {
                Some(end) => {
                    self.at = *end;
                    Next::Fit
                }
                None => Next::Fail,
            };
            return;
        }
        self.next = Next::Fail;
        let Some(rule) = self.grammar.rules.get(name) else {
            return;
        };
        if self.depth == MAX_DEPTH {
            return self.expect(self.at, Expected::Shallower);
        }
        self.depth += 1;
        let back = self.here();
        self.frames.push(Frame::Rule { name, back });
        self.next = Next::Enter(&rule.expr);
    }

    /// What was read within a frame fits.
    fn fit(&mut self, frame: Frame<'g>) {
        self.next = Next::Fit;
        match frame {
            Frame::Sequence { left } => {
                if let Some((first, left)) = left.split_first() {
                    self.frames.push(Frame::Sequence { left });
                    self.next = Next::Enter(first);
                }
            }
            // The first way that fits is taken, whatever follows it.
            Frame::Choice { .. } | Frame::Atomic { .. } => {}
            Frame::Repeat {
                repeat,
                count,
                back,
            } => {
                let count = count + 1;
                // What takes nothing takes it as often as one likes.
                let is_all = self.at == back.at || repeat.at_most.is_some_and(|most| count >= most);
                if !is_all {
                    let back = self.here();
                    self.frames.push(Frame::Repeat {
                        repeat,
                        count,
                        back,
                    });
                    self.next = Next::Enter(&repeat.item);
                }
            }
            Frame::Members(mut members) => match members.trying {
                Trying::Separator => {
                    members.start = self.here();
                    self.try_member(members, 0);
                }
                Trying::Others | Trying::Member(_) => {
                    if let Trying::Member(which) = members.trying {
                        members.done[which] = true;
                    }
                    let has_moved = self.at > members.back.at;
                    members.back = self.here();
                    match has_moved {
                        true => {
                            members.trying = Trying::Separator;
                            let separator = &members.all.separator;
                            self.frames.push(Frame::Members(members));
                            self.next = Next::Enter(separator);
                        }
                        // What takes nothing would come again and again.
                        false => self.end_members(&members),
                    }
                }
            },
            // What was looked at is still to be read, and its tags are not there yet.
            Frame::Look { is_negative, back } => {
                self.go_back(back);
                if is_negative {
                    self.negatives -= 1;
                    self.next = Next::Fail;
                }
            }
            Frame::Rule { name, back } => self.leave_rule(name, back, Some(self.at)),
            Frame::Tag(tag) => self.marks.push(Mark::Close { tag, at: self.at }),
        }
    }

    /// What was read within a frame does not fit.
    fn fail(&mut self, frame: Frame<'g>) {
        self.next = Next::Fail;
        match frame {
            Frame::Choice { left, back } => {
                self.go_back(back);
                if let Some((first, left)) = left.split_first() {
                    self.frames.push(Frame::Choice { left, back });
                    self.next = Next::Enter(first);
                }
            }
            Frame::Repeat {
                repeat,
                count,
                back,
            } => {
                if count >= repeat.at_least {
                    self.go_back(back);
                    self.next = Next::Fit;
                }
            }
            Frame::Members(members) => {
                match members.trying {
                    Trying::Separator | Trying::Others => self.end_members(&members),
                    Trying::Member(which) => {
                        self.go_back(members.start);
                        self.try_member(members, which + 1);
                    }
                };
            }
            Frame::Look { is_negative, back } => {
                self.go_back(back);
                if is_negative {
                    self.negatives -= 1;
                    self.next = Next::Fit;
                }
            }
            Frame::Rule { name, back } => self.leave_rule(name, back, None),
            Frame::Sequence { .. } | Frame::Atomic { .. } | Frame::Tag(_) => {}
        }
    }

    /// Tries the members that have not come, from this one on.
    fn try_member(&mut self, mut members: Box<InMembers<'g>>, from: usize) {
        let all = members.all;
        let which = (from..all.members.len()).find(|which| !members.done[*which]);
        let (trying, expr) = match (which, &all.others) {
            (Some(which), _) => (Trying::Member(which), &all.members[which].expr),
            (None, Some(others)) => (Trying::Others, others),
            (None, None) => return self.end_members(&members),
        };
        members.trying = trying;
        self.frames.push(Frame::Members(members));
        self.next = Next::Enter(expr);
    }

    /// No more of the members come: those that are required must be there.
    fn end_members(&mut self, members: &InMembers<'g>) {
        // A separator without a member behind it belongs to what follows: `a, ` and then `]`.
        self.go_back(members.back);
        let mut missing = members.all.members.iter().zip(&members.done);
        self.next = match missing.find(|(member, done)| member.is_required && !**done) {
            Some((member, _)) => {
                self.expect(self.at, Expected::Member(&member.name));
                Next::Fail
            }
            None => Next::Fit,
        };
    }

    fn leave_rule(&mut self, name: &'g str, back: Back, end: Option<usize>) {
        self.depth -= 1;
        let marks = match end {
            Some(_) => &self.marks[back.marks..],
            None => &[],
        };
        self.steps = self.steps.saturating_add(marks.len());
        // Another way of a choice may ask for the same rule at the same place.
        self.kept.insert((name, back.at), (end, marks.into()));
    }

    /// Reads on in a leaf; `None` if the text leaves off there.
    fn read(
        &mut self,
        leaf: Leaf<'g>,
        read: usize,
        text: &str,
        is_ended: bool,
    ) -> Option<Next<'g>> {
        let from = self.at + read;
        let rest = &text[from..];
        let wait = |machine: &mut Self, leaf, read| {
            machine.next = Next::Read(leaf, read);
            None
        };
        match leaf {
            Leaf::End if !rest.is_empty() => {
                self.expect(from, Expected::End);
                Some(Next::Fail)
            }
            // Whether the text is over shows when no more of it comes.
            Leaf::End if !is_ended => None,
            Leaf::End => Some(Next::Fit),
            Leaf::Rest => {
                self.at = text.len();
                is_ended.then_some(Next::Fit)
            }
            Leaf::Literal(literal) => {
                let missing = &literal.as_bytes()[read..];
                if rest.as_bytes().starts_with(missing) {
                    self.at += literal.len();
                    return Some(Next::Fit);
                }
                // `</ca` may become `</call>`.
                if !is_ended && missing.starts_with(rest.as_bytes()) {
                    return wait(self, leaf, read + rest.len());
                }
                self.expect(self.at, Expected::Literal(literal));
                Some(Next::Fail)
            }
            Leaf::Space => {
                let left = rest.trim_start_matches([' ', '\t', '\r', '\n']);
                self.at = text.len() - left.len();
                // The next piece may begin with more of it.
                match left.is_empty() && !is_ended {
                    true => None,
                    false => Some(Next::Fit),
                }
            }
            Leaf::Chars(chars, mut count) => {
                let most = chars.at_most.unwrap_or(u32::MAX);
                let mut left = rest.chars();
                while count < most {
                    let before = left.as_str();
                    match left.next() {
                        Some(c) if chars.class.contains(c) => count += 1,
                        None if !is_ended => {
                            self.at = text.len();
                            return wait(self, Leaf::Chars(chars, count), 0);
                        }
                        _ => {
                            left = before.chars();
                            break;
                        }
                    }
                }
                self.at = text.len() - left.as_str().len();
                if count >= chars.at_least {
                    return Some(Next::Fit);
                }
                self.expect(self.at, Expected::Class(&chars.class));
                Some(Next::Fail)
            }
            Leaf::Until(delimiters) => {
                match find_any(rest, delimiters, is_ended) {
                    Ok(end) => {
                        self.at = from + end;
                        Some(Next::Fit)
                    }
                    // A delimiter may have begun.
                    Err(sure) => {
                        self.at = from + sure;
                        None
                    }
                }
            }
        }
    }
}

/// The tag of the text that a node begins with.
fn first_text(expr: &Expr) -> Option<&Tag> {
    match expr {
        Expr::Tag(tag @ (Tag::Reasoning | Tag::Content), _) => Some(tag),
        Expr::Sequence(all) => first_text(all.iter().find(|part| **part != Expr::Space)?),
        _ => None,
    }
}

/// Where the first of some delimiters begins, or the text ends. If it may go on: up to where none begins.
fn find_any(text: &str, delimiters: &[String], is_ended: bool) -> Result<usize, usize> {
    // Most bytes begin no delimiter, and `memchr` goes over them at once.
    let bytes = text.as_bytes();
    let mut is_first = [false; 256];
    for delimiter in delimiters {
        if let Some(first) = delimiter.as_bytes().first() {
            is_first[usize::from(*first)] = true;
        }
    }
    let mut firsts = (0..=u8::MAX).filter(|byte| is_first[usize::from(*byte)]);
    let firsts = [firsts.next(), firsts.next(), firsts.next(), firsts.next()];
    let next = |from: usize| {
        let bytes = &bytes[from..];
        let found = match firsts {
            [None, ..] => None,
            [Some(a), None, ..] => memchr::memchr(a, bytes),
            [Some(a), Some(b), None, _] => memchr::memchr2(a, b, bytes),
            [Some(a), Some(b), Some(c), None] => memchr::memchr3(a, b, c, bytes),
            _ => bytes.iter().position(|byte| is_first[usize::from(*byte)]),
        };
        found.map(|at| from + at)
    };
    let mut from = 0;
    while let Some(at) = next(from) {
        let rest = &bytes[at..];
        let mut all = delimiters.iter().map(String::as_bytes);
        if all.clone().any(|text| rest.starts_with(text)) {
            return Ok(at);
        }
        if !is_ended && all.any(|text| text.starts_with(rest)) {
            return Err(at);
        }
        from = at + 1;
    }
    match is_ended {
        true => Ok(text.len()),
        false => Err(text.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Builder;
    use super::*;

    #[test]
    fn the_first_delimiter_is_found_or_may_have_begun() {
        let one = &["<end>"][..];
        let five = &["<a", "(b", "[c", "{d", "!e"][..];
        for (text, delimiters, is_ended, expected) in [
            ("ab<end>c", one, false, Ok(2)),
            ("ab<en", one, false, Err(2)),
            ("ab<en", one, true, Ok(5)),
            ("ab<enx", one, false, Err(6)),
            ("", one, false, Err(0)),
            ("a<e<end>", one, false, Ok(3)),
            ("a<b>c", &["c", "<b>"], true, Ok(1)),
            ("x{d(b", five, false, Ok(1)),
            ("x!", five, false, Err(1)),
            ("水<end>", one, false, Ok(3)),
            ("ab", &[], true, Ok(2)),
        ] {
            let delimiters: Vec<String> = delimiters.iter().map(|one| (*one).to_owned()).collect();
            let found = find_any(text, &delimiters, is_ended);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn the_first_way_that_fits_is_taken() {
        for (make, fits, fails) in [
            // Nothing that has fitted is taken back.
            (
                (|p: &Builder| (p.literal("a") | "ab") + p.end()) as fn(&Builder) -> Expr,
                vec!["a"],
                vec!["ab"],
            ),
            (
                |p| p.zero_or_more("a") + "a" + p.end(),
                vec![],
                vec!["a", "aa"],
            ),
            (|p| p.peek("a") + p.any() + p.end(), vec!["a"], vec!["b"]),
            (|p| p.negate("a") + p.any() + p.end(), vec!["b"], vec!["a"]),
            (|p| p.any() + p.start() + p.end(), vec![], vec!["a"]),
            // What takes nothing takes it as often as one likes.
            (
                |p| p.zero_or_more(p.optional("a")) + p.end(),
                vec!["", "aa"],
                vec!["b"],
            ),
            (
                |p| p.repeat("a", 2, 3) + p.end(),
                vec!["aa", "aaa"],
                vec!["a", "aaaa"],
            ),
        ] {
            let grammar = Grammar::build(make);
            for text in fits {
                assert!(grammar.parse(text).is_ok(), "{text}");
            }
            for text in fails {
                assert!(grammar.parse(text).is_err(), "{text}");
            }
        }
    }

    #[test]
    fn members_come_once_in_any_order() {
        let member = |name: &str, is_required| super::super::Member {
            name: name.to_owned(),
            expr: name.into(),
            is_required,
        };
        let members = Expr::Members(Box::new(Members {
            members: vec![member("a", true), member("b", false)],
            others: Some("x".into()),
            separator: ",".into(),
        }));
        let grammar = Grammar::build(|p| members + p.optional(",") + p.end());
        for (text, expected) in [
            ("a", Ok(())),
            ("b,a", Ok(())),
            ("x,a,x", Ok(())),
            // A separator without a member behind it belongs to what follows.
            ("a,", Ok(())),
            ("b", Err((1, vec!["`,`", "`a`, which is required"]))),
            ("a,a", Err((2, vec!["`b`", "`x`", "the end of the text"]))),
        ] {
            let found = grammar.parse(text).map(|_| ());
            let found = found.map_err(|fault| (fault.at, fault.expected));
            let owned = |(at, all): (usize, Vec<&str>)| {
                (at, all.into_iter().map(str::to_owned).collect::<Vec<_>>())
            };
            assert_eq!(found, expected.map_err(owned), "{text}");
        }
    }

    #[test]
    fn a_fault_names_what_came_furthest() {
        let c = |p: &Builder| p.chars("[c]", 1, 1).unwrap_or(Expr::Rest);
        for (grammar, text, expected) in [
            // What failed earlier was given up for it.
            (
                Grammar::build(|p| (p.literal("ab") + c(p)) | "x"),
                "abd",
                (2, vec!["[c]"]),
            ),
            (
                Grammar::build(|p| p.literal("x") | (p.literal("ab") + c(p))),
                "abd",
                (2, vec!["[c]"]),
            ),
            // What must not stand at a place is nothing to advise.
            (
                Grammar::build(|p| p.negate("z") + "a"),
                "b",
                (0, vec!["`a`"]),
            ),
        ] {
            let fault = grammar.parse(text).expect_err(text);
            let found = (fault.at, fault.expected);
            let owned: Vec<String> = expected.1.into_iter().map(str::to_owned).collect();
            assert_eq!(found, (expected.0, owned), "{text}");
        }
    }

    #[test]
    fn what_only_looks_ahead_is_not_sure() {
        let grammar = Grammar::build(|p| p.literal("a") + p.peek("bcd") + p.until("d") + "d");
        for (text, expected) in [
            ("", State::More(0)),
            ("a", State::More(1)),
            ("abc", State::More(1)),
            ("abcd", State::More(4)),
        ] {
            let mut machine = Machine::new(&grammar);
            assert_eq!(machine.run(text, false), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_node_may_begin_with_a_text() {
        let content = || Expr::Rest.tagged(Tag::Content);
        for (expr, expected) in [
            (content(), Some(&Tag::Content)),
            (
                Expr::Sequence(vec![Expr::Space, content()]),
                Some(&Tag::Content),
            ),
            (Expr::Sequence(vec!["a".into(), content()]), None),
            (Expr::Rest.tagged(Tag::Tool), None),
        ] {
            assert_eq!(first_text(&expr), expected, "{expr:?}");
        }
    }
}
