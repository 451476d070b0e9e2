//! The engine for patterns that look around where the automaton can't, or that never reconsider.
//!
//! A backtracking matcher that remembers where it has failed: no step of the program is tried
//! twice at the same position of the text, so that nested repeats can't explode. What a look
//! ahead or an atomic group has matched is forgotten again, and may be tried anew from elsewhere;
//! the meter bounds that.
//!
//! Where the pattern refers to what a group has matched, what comes of a step depends on that, too. So all that
//! was noted is forgotten whenever such a group comes to stand for another text, and the meter bounds this as well.

use super::automaton::UNSET;
use super::prefilter::Prefilter;
use super::program::{After, Inst, MAX_TURNS, Pc, Program, Turns};
use super::window::BEYOND;
use super::{Meter, TooCostly, Verdict, Window};

/// So many bytes can be compared while a step is taken.
const BYTES_A_STEP: usize = 32;

/// How many ways there are for an instruction to be tried at a position.
const LEVELS: usize = MAX_TURNS as usize + 1;

/// What came of trying a program at a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    Matched {
        end: usize,
    },
    Failed,
    /// The text ended where another character was wanted.
    Starved,
}

/// Whether the end of the text is the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Whole,
    Partial,
}

/// Undone or gone on with when a way has failed.
#[derive(Debug)]
enum Frame {
    Try(Step),
    Restore(usize, usize),
}

/// An instruction to be tried at a position.
#[derive(Debug, Clone, Copy)]
struct Step {
    pc: Pc,
    at: usize,
    /// How many turns of repeats have begun since the last character.
    turns: Turns,
}

impl Step {
    fn new(pc: Pc, at: usize) -> Step {
        Step { pc, at, turns: 0 }
    }
}

/// The memory of a search, kept for the next one.
#[derive(Debug, Default)]
pub struct Backtracker {
    failed: Failures,
    trail: Vec<Step>,
    /// Where a match may not be empty.
    not_empty_at: Option<usize>,
    slots: Vec<usize>,
    /// What is to be gone on with when the way that is being tried fails, of all parts under way.
    frames: Vec<Frame>,
    /// The slots as they were before each of these parts.
    kept: Vec<usize>,
    steps: u64,
    most_steps: u64,
}

/// What was found last goes along; what has been tried is forgotten at the next search anyway.
impl Clone for Backtracker {
    fn clone(&self) -> Backtracker {
        Backtracker {
            not_empty_at: self.not_empty_at,
            slots: self.slots.clone(),
            ..Backtracker::default()
        }
    }
}

/// Which instructions have been tried at which positions, on either side of where a search began.
#[derive(Debug, Default)]
struct Failures {
    origin: usize,
    words: usize,
    after: Notes,
    before: Notes,
    /// Steps that making room has taken since somebody asked.
    work: u64,
}

/// Words of bits, of which those that were never asked for take no room: most of a text is passed over without
/// a trial.
#[derive(Debug, Default)]
struct Notes {
    /// For each page where it begins in the room, if it is there.
    pages: Vec<Option<usize>>,
    room: Vec<u64>,
}

/// The words of a page.
const PAGE: usize = 256;
/// So many pages can be put down as not there while a step is taken.
const PAGES_A_STEP: usize = 8;

impl Notes {
    fn clear(&mut self) {
        self.pages.clear();
        self.room.clear();
    }

    fn word(&mut self, index: usize, work: &mut u64) -> &mut u64 {
        let page = index / PAGE;
        if self.pages.len() <= page {
            *work += ((page - self.pages.len()) / PAGES_A_STEP) as u64;
            self.pages.resize(page + 1, None);
        }
        let start = *self.pages[page].get_or_insert_with(|| {
            let start = self.room.len();
            self.room.resize(start + PAGE, 0);
            start
        });
        &mut self.room[start + index % PAGE]
    }

    /// About how many bytes it takes.
    fn size(&self) -> usize {
        size_of::<Option<usize>>() * self.pages.capacity() + size_of::<u64>() * self.room.capacity()
    }
}

impl Failures {
    fn clear(&mut self, origin: usize, instructions: usize) {
        self.origin = origin;
        self.words = (instructions * LEVELS).div_ceil(64);
        self.after.clear();
        self.before.clear();
    }

    fn bit(&mut self, step: Step) -> (&mut u64, u64) {
        let position = step.at;
        let number = LEVELS * step.pc as usize + usize::from(step.turns);
        let (side, distance) = if position >= self.origin {
            (&mut self.after, position - self.origin)
        } else {
            (&mut self.before, self.origin - position)
        };
        let word = side.word(distance * self.words + number / 64, &mut self.work);
        (word, 1 << (number % 64))
    }

    /// Notes a trial; says whether it is the first of its kind.
    fn insert(&mut self, step: Step) -> bool {
        let (word, bit) = self.bit(step);
        let first = *word & bit == 0;
        *word |= bit;
        first
    }

    fn contains(&mut self, pc: Pc, at: usize) -> bool {
        (0..=MAX_TURNS).any(|turns| {
            let (word, bit) = self.bit(Step { pc, at, turns });
            *word & bit != 0
        })
    }

    fn remove(&mut self, step: Step) {
        let (word, bit) = self.bit(step);
        *word &= !bit;
    }
}

impl Backtracker {
    /// Searches the window from a position for the leftmost match; where there is none, and the
    /// text may go on, for the leftmost place where one may be growing.
    pub fn search(
        &mut self,
        program: &Program,
        prefilter: &Prefilter,
        window: &Window<'_>,
        from: usize,
        may_grow: bool,
        meter: &mut Meter,
    ) -> Result<Verdict, TooCostly> {
        self.steps = 0;
        self.most_steps = meter.left();
        let mut verdict = self.search_in(program, prefilter, window, from, Mode::Whole)?;
        if verdict == Verdict::Nothing && may_grow {
            verdict = self.search_in(program, prefilter, window, from, Mode::Partial)?;
        }
        meter.spend(self.steps)?;
        Ok(verdict)
    }

    /// Whether the match that was found last, and that ends before the text does, would be another one or none if the text went
    /// on, with [`BEYOND`].
    pub fn leans_on_end(
        &mut self,
        program: &Program,
        window: &Window<'_>,
        (start, end): (usize, usize),
        meter: &mut Meter,
    ) -> Result<bool, TooCostly> {
        let text = format!("{}{BEYOND}", window.text);
        let longer = Window {
            text: &text,
            ..*window
        };
        self.steps = 0;
        self.most_steps = meter.left();
        let slots = std::mem::take(&mut self.slots);
        let trial = self.try_at(program, &longer, start, Mode::Whole)?;
        let others = std::mem::replace(&mut self.slots, slots);
        meter.spend(self.steps + text.len() as u64)?;
        let same = window.same_texts(&self.slots[1..], &others[1..]);
        Ok(trial != Trial::Matched { end } || !same)
    }

    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        let notes = self.failed.after.size() + self.failed.before.size();
        let steps = self.trail.capacity() * size_of::<Step>();
        notes + steps + self.frames.capacity() * size_of::<Frame>()
    }

    /// Sees to it that the next search finds no empty match at a position, or that it may again.
    pub fn forbid_empty(&mut self, at: Option<usize>) {
        self.not_empty_at = at;
    }

    /// Start and end of each named group in the match found last.
    pub fn groups(&self) -> &[usize] {
        &self.slots[1..]
    }

    fn search_in(
        &mut self,
        program: &Program,
        prefilter: &Prefilter,
        window: &Window<'_>,
        from: usize,
        mode: Mode,
    ) -> Result<Verdict, TooCostly> {
        self.forget_all(from, program);
        let text = window.text;
        let mut start = from;
        loop {
            if start > 0 || !prefilter.allows_at_start(text.as_bytes().first()) {
                // The end is never passed over: looks may see something there that no character
                // shows.
                let next = prefilter.find(text, start - window.base, text.len());
                start = window.base + next;
            }
            if program.has_references() {
                self.failed.clear(start, program.insts.len());
            }
            match self.run_at(program, window, start, mode)? {
                Trial::Matched { end } => return Ok(Verdict::Found { start, end }),
                Trial::Starved => return Ok(Verdict::Partial { start }),
                Trial::Failed => {}
            }
            match window.char_at(start) {
                Some(c) => start += c.len_utf8(),
                None => return Ok(Verdict::Nothing),
            }
        }
    }

    /// Tries the program at a position alone.
    fn try_at(
        &mut self,
        program: &Program,
        window: &Window<'_>,
        start: usize,
        mode: Mode,
    ) -> Result<Trial, TooCostly> {
        self.forget_all(start, program);
        self.run_at(program, window, start, mode)
    }

    /// Forgets what has been tried, and all that a search which wanted more text was about.
    fn forget_all(&mut self, origin: usize, program: &Program) {
        self.failed.clear(origin, program.insts.len());
        self.trail.clear();
        self.frames.clear();
        self.kept.clear();
    }

    fn run_at(
        &mut self,
        program: &Program,
        window: &Window<'_>,
        start: usize,
        mode: Mode,
    ) -> Result<Trial, TooCostly> {
        self.slots.clear();
        self.slots.resize(program.slots, UNSET);
        self.run(program, window, program.start, start, false, mode)
    }

    /// Runs a program, or the part of one that a look or an atomic group asks about, to its first
    /// match. The recursion is as deep as the pattern nests such parts.
    fn run(
        &mut self,
        program: &Program,
        window: &Window<'_>,
        start: Pc,
        from: usize,
        backward: bool,
        mode: Mode,
    ) -> Result<Trial, TooCostly> {
        let trail = self.trail.len();
        let others = self.frames.len();
        self.frames.push(Frame::Try(Step::new(start, from)));
        while self.frames.len() > others
            && let Some(frame) = self.frames.pop()
        {
            let Step {
                mut pc,
                mut at,
                mut turns,
            } = match frame {
                Frame::Try(step) => step,
                Frame::Restore(slot, position) => {
                    self.set(program, slot, position);
                    continue;
                }
            };
            loop {
                self.spend()?;
                let step = Step { pc, at, turns };
                if !self.failed.insert(step) {
                    break;
                }
                self.trail.push(step);
                match program.insts[pc as usize] {
                    Inst::Match if start == program.start && self.not_empty_at == Some(at) => break,
                    Inst::Match => {
                        self.forget(trail);
                        self.frames.truncate(others);
                        return Ok(Trial::Matched { end: at });
                    }
                    Inst::Set { set, next } => {
                        match self.take(program, window, set, at, backward) {
                            Some(Ok(there)) => (pc, at, turns) = (next, there, 0),
                            Some(Err(())) if mode == Mode::Partial => return Ok(Trial::Starved),
                            Some(Err(())) | None => break,
                        }
                    }
                    Inst::Split { first, second } => {
                        self.frames.push(Frame::Try(Step {
                            pc: second,
                            at,
                            turns,
                        }));
                        pc = first;
                    }
                    Inst::Again { split, next } => {
                        if self.failed.contains(split, at) {
                            pc = next;
                        } else {
                            pc = split;
                            turns = (turns + 1).min(MAX_TURNS);
                        }
                    }
                    Inst::Save { slot, next } => {
                        self.frames.push(Frame::Restore(slot, self.slots[slot]));
                        self.set(program, slot, at);
                        pc = next;
                    }
                    Inst::Reference { index, next } => match self.take_again(window, index, at)? {
                        Some(Ok(0)) => pc = next,
                        Some(Ok(length)) => (pc, at, turns) = (next, at + length, 0),
                        Some(Err(())) if mode == Mode::Partial => return Ok(Trial::Starved),
                        Some(Err(())) | None => break,
                    },
                    Inst::Look { look, next } => {
                        let before = program.before(window.char_before(at));
                        if !program.sees(look, before, after(program, window, at)) {
                            break;
                        }
                        pc = next;
                    }
                    Inst::Around {
                        start,
                        behind,
                        negate,
                        next,
                    } => {
                        let kept = self.keep_slots();
                        let trial = self.run(program, window, start, at, behind, mode)?;
                        if trial == Trial::Starved {
                            return Ok(trial);
                        }
                        let holds = matches!(trial, Trial::Matched { .. });
                        match holds && !negate {
                            true => self.restore_on_failure(kept),
                            false => self.restore(program, kept),
                        }
                        if holds == negate {
                            break;
                        }
                        pc = next;
                    }
                    Inst::Behind { .. } | Inst::Fail => {
                        unreachable!("only programs for the automaton have these")
                    }
                    Inst::Atomic { start, next } => {
                        let kept = self.keep_slots();
                        match self.run(program, window, start, at, backward, mode)? {
                            Trial::Matched { end } => {
                                self.restore_on_failure(kept);
                                turns = if at == end { turns } else { 0 };
                                (pc, at) = (next, end);
                            }
                            Trial::Failed => {
                                self.restore(program, kept);
                                break;
                            }
                            Trial::Starved => return Ok(Trial::Starved),
                        }
                    }
                }
            }
        }
        self.trail.truncate(trail);
        Ok(Trial::Failed)
    }

    fn spend(&mut self) -> Result<(), TooCostly> {
        self.spend_more(1)
    }

    fn spend_more(&mut self, steps: u64) -> Result<(), TooCostly> {
        self.steps += steps + std::mem::take(&mut self.failed.work);
        if self.steps > self.most_steps {
            return Err(TooCostly);
        }
        Ok(())
    }

    /// Keeps the slots as they are before a part is run; says where.
    fn keep_slots(&mut self) -> usize {
        let kept = self.kept.len();
        self.kept.extend_from_slice(&self.slots);
        kept
    }

    /// Takes the slots back that were kept.
    fn restore(&mut self, program: &Program, kept: usize) {
        for slot in 0..self.slots.len() {
            self.set(program, slot, self.kept[kept + slot]);
        }
        self.kept.truncate(kept);
    }

    /// Sets a slot. What has failed with another text in it may not fail now.
    fn set(&mut self, program: &Program, slot: usize, position: usize) {
        let old = std::mem::replace(&mut self.slots[slot], position);
        if old != position && program.is_referred_to(slot) {
            let origin = if position == UNSET { old } else { position };
            self.failed.clear(origin, program.insts.len());
        }
    }

    /// Takes the text again that a group has matched: its length, an error where the text ends before, or nothing where another
    /// text stands.
    fn take_again(
        &mut self,
        window: &Window<'_>,
        index: usize,
        at: usize,
    ) -> Result<Option<Result<usize, ()>>, TooCostly> {
        let Some(group) = super::group(&self.slots[1..], index) else {
            return Ok(None);
        };
        let of = |range: std::ops::Range<usize>| {
            window
                .text
                .get(range.start - window.base..range.end - window.base)
        };
        let (wanted, rest) = (of(group), of(at..window.end()));
        let (wanted, rest) = (wanted.unwrap_or_default(), rest.unwrap_or_default());
        self.spend_more((wanted.len() / BYTES_A_STEP) as u64)?;
        Ok(match rest.starts_with(wanted) {
            true => Some(Ok(wanted.len())),
            false => wanted.starts_with(rest).then_some(Err(())),
        })
    }

    /// Sees to it that slots set by a part of the pattern are taken back when what follows it fails.
    fn restore_on_failure(&mut self, kept: usize) {
        for (slot, (&old, &new)) in self.kept[kept..].iter().zip(&self.slots).enumerate() {
            if old != new {
                self.frames.push(Frame::Restore(slot, old));
            }
        }
        self.kept.truncate(kept);
    }

    /// Takes back what was noted as tried since the trail had this length: it did not all fail.
    fn forget(&mut self, trail: usize) {
        for step in self.trail.drain(trail..) {
            self.failed.remove(step);
        }
    }

    /// Takes a character of the set: the position after it, an error where the text ends, or
    /// nothing where another character stands.
    fn take(
        &self,
        program: &Program,
        window: &Window<'_>,
        set: usize,
        at: usize,
        backward: bool,
    ) -> Option<Result<usize, ()>> {
        let next = if backward {
            window.char_before(at)?
        } else {
            match window.char_at(at) {
                Some(c) => c,
                None => return Some(Err(())),
            }
        };
        let held = program.alphabet.holds(set, program.alphabet.class_of(next));
        let width = next.len_utf8();
        held.then(|| Ok(if backward { at - width } else { at + width }))
    }
}

fn after(program: &Program, window: &Window<'_>, at: usize) -> After {
    match window.char_at(at) {
        None => After::End,
        Some('\n') if at + 1 == window.end() => After::FinalNewline,
        Some(c) => After::Class(program.alphabet.class_of(c)),
    }
}
