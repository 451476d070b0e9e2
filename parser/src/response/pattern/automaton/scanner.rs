//! A search under way.

use std::ops::Range;

use crate::response::pattern::alphabet::Class;
use crate::response::pattern::program::{Program, Reach};
use crate::response::pattern::window::BEYOND;
use crate::response::pattern::{Meter, TooCostly, Verdict, Window};

use super::Automaton;
use super::cache::Cache;
use super::registers::{Registers, UNSET};
use super::state::{FRESH, Key, StateId};
use super::transition::Step;

/// A search under way.
#[derive(Debug)]
pub struct Scanner {
    cache: Cache,
    state: StateId,
    /// Nothing is under way, and what stands before the position has not been looked at: the state is
    /// worked out when it is needed.
    asleep: bool,
    /// How far the text has been read.
    at: usize,
    registers: Registers,
    /// Start and end of the match that has been found.
    found: Option<(usize, usize)>,
    /// Its registers.
    found_row: Vec<usize>,
    /// The registers of the match that there is if the text ends where it has been read to.
    end_row: Vec<usize>,
    /// The text has ended, and no match begins where the search did or after that.
    exhausted: bool,
    behind: Option<Behind>,
}

/// How far a search has read that looks back at all of the text.
#[derive(Debug, Clone, Copy)]
struct Behind {
    at: usize,
    /// A quiet state, while the cache is in this epoch.
    state: StateId,
    epoch: u32,
}

impl Scanner {
    pub fn new() -> Scanner {
        Scanner {
            cache: Cache::default(),
            state: 0,
            asleep: true,
            at: 0,
            registers: Registers::default(),
            found: None,
            found_row: Vec::new(),
            end_row: Vec::new(),
            exhausted: false,
            behind: None,
        }
    }

    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        size_of::<Scanner>() + self.cache.size()
    }

    /// Begins a search at a position.
    pub fn start(&mut self, from: usize) {
        self.found = None;
        self.exhausted = false;
        self.at = from;
        self.asleep = true;
    }

    /// Begins a search whose match may not be empty if it begins at this very position.
    pub fn start_after_empty(
        &mut self,
        automaton: &Automaton,
        window: &Window<'_>,
        from: usize,
        meter: &mut Meter,
    ) -> Result<(), TooCostly> {
        self.start(from);
        self.wake(automaton, window, meter)?;
        let not_empty = Key {
            not_empty: true,
            ..self.key().clone()
        };
        self.state = self.cache.intern(&automaton.program, not_empty);
        Ok(())
    }

    /// How far the text has been read.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Whether it can go on from any later position.
    #[inline]
    pub fn is_asleep(&self) -> bool {
        self.asleep
    }

    /// Passes over text in which no match begins, if none is under way.
    #[inline]
    pub fn pass(&mut self, position: usize) {
        if self.asleep && self.at < position {
            self.at = position;
        }
    }

    /// Forgets what it has found, but not the automaton that it has built.
    pub fn forget(&mut self) {
        self.start(0);
        self.behind = None;
    }

    /// Notes what a search has come to when the text has ended.
    pub fn note_end(&mut self, verdict: Verdict) {
        self.exhausted = !matches!(verdict, Verdict::Found { .. });
    }

    /// Whether the text has ended, and no match begins where the search did or after that.
    pub fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// Whether nothing further can change what has been found.
    pub fn is_finished(&self) -> bool {
        self.found.is_some() && self.key().is_dead()
    }

    /// Whether no match is under way.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.asleep || self.key().is_idle()
    }

    /// Where the best thread still under way began.
    #[inline]
    pub fn earliest(&self) -> Option<usize> {
        (!self.asleep && self.key().rows() > 0).then(|| self.registers.first_start())
    }

    /// Where a match that is not the last word, or the last word, begins.
    pub fn found_start(&self) -> Option<usize> {
        self.found.map(|(start, _)| start)
    }

    fn key(&self) -> &Key {
        self.cache.key(self.state)
    }

    /// Works out the state at the position where nothing is under way.
    fn wake(
        &mut self,
        automaton: &Automaton,
        window: &Window<'_>,
        meter: &mut Meter,
    ) -> Result<(), TooCostly> {
        let program = &automaton.program;
        if program.parts.is_empty() {
            self.asleep = false;
            self.state = self.cache.idle(program, window, self.at);
            return Ok(());
        }
        let state = self.look_behind(automaton, window, meter)?;
        self.state = self.cache.woken(program, state);
        self.asleep = false;
        Ok(())
    }

    /// Whether no part has begun, up to where it is asleep.
    pub fn has_no_part(
        &mut self,
        automaton: &Automaton,
        window: &Window<'_>,
        meter: &mut Meter,
    ) -> Result<bool, TooCostly> {
        if !self.asleep {
            return Ok(false);
        }
        let state = self.look_behind(automaton, window, meter)?;
        Ok(self.cache.has_no_part(state))
    }

    /// The quiet state at the position, which knows the text behind.
    fn look_behind(
        &mut self,
        automaton: &Automaton,
        window: &Window<'_>,
        meter: &mut Meter,
    ) -> Result<StateId, TooCostly> {
        let program = &automaton.program;
        let epoch = self.cache.epoch();
        let known = self.behind.filter(|b| b.at <= self.at && b.epoch == epoch);
        let (from, mut state) = match known.filter(|_| program.reach == Reach::Everything) {
            Some(behind) => (behind.at, behind.state),
            None => {
                let from = window.floor(program.reach.before(self.at, window.base));
                (from, self.cache.quiet(program, window, from))
            }
        };
        if program.reach == Reach::Everything {
            state = self.read_all_behind(automaton, window, from, state, meter)?;
        } else {
            state = self.read_behind(program, window, from..self.at, state, meter)?;
        }
        self.behind = Some(Behind {
            at: self.at,
            state,
            epoch: self.cache.epoch(),
        });
        Ok(state)
    }

    /// Reads text that the search looks back at, from a quiet state on.
    fn read_behind(
        &mut self,
        program: &Program,
        window: &Window<'_>,
        range: Range<usize>,
        mut state: StateId,
        meter: &mut Meter,
    ) -> Result<StateId, TooCostly> {
        let stride = program.alphabet.len();
        let bytes = window.text.as_bytes();
        let mut i = range.start - window.base;
        while i < range.end - window.base {
            let (class, width) = class_at(program, window.text, bytes, i);
            let mut transition = self.cache.transition(state, class, stride);
            if transition.is_unknown() {
                transition = self.cache.step(program, state, class).1;
                meter.spend(self.cache.take_work())?;
            }
            state = self.cache.target(transition);
            i += width;
        }
        meter.spend(range.len() as u64)?;
        Ok(state)
    }

    /// The same up to the position, where there may be much of it: skips where no part may begin, and
    /// all of it once nothing matters any more.
    fn read_all_behind(
        &mut self,
        automaton: &Automaton,
        window: &Window<'_>,
        from: usize,
        mut state: StateId,
        meter: &mut Meter,
    ) -> Result<StateId, TooCostly> {
        let program = &automaton.program;
        let (base, text) = (window.base, window.text);
        let mut at = from;
        while at < self.at {
            if self.cache.has_no_part(state) {
                let next = automaton.parts.find(text, at - base, self.at - base) + base;
                if next > at {
                    at = next;
                    state = self.cache.quiet(program, window, at);
                    continue;
                }
            } else if self.cache.is_final(program, state) {
                break;
            }
            let to = at + window.char_at(at).map_or(1, char::len_utf8);
            state = self.read_behind(program, window, at..to, state, meter)?;
            at = to;
        }
        Ok(state)
    }

    /// Reads on up to `limit`, a position of the window, or until the search is finished.
    pub fn advance(
        &mut self,
        automaton: &Automaton,
        window: &Window<'_>,
        limit: usize,
        meter: &mut Meter,
    ) -> Result<(), TooCostly> {
        let program = &automaton.program;
        let end = limit - window.base;
        while self.at < limit {
            if self.asleep {
                let i = self.at - window.base;
                if !program.looks.text_start || window.char_before(self.at).is_some() {
                    self.at = window.base + automaton.prefilter.find(window.text, i, end);
                    if self.at == limit {
                        break;
                    }
                }
                self.wake(automaton, window, meter)?;
            }
            if self.key().is_dead() {
                break;
            }
            self.read(program, window, limit, meter)?;
        }
        Ok(())
    }

    /// Reads on until nothing is under way any more, or nothing can better what has been found, or up
    /// to a limit.
    fn read(
        &mut self,
        program: &Program,
        window: &Window<'_>,
        limit: usize,
        meter: &mut Meter,
    ) -> Result<(), TooCostly> {
        let bytes = window.text.as_bytes();
        let stride = program.alphabet.len();
        let end = limit - window.base;
        let mut i = self.at - window.base;
        let from = i;
        let mut cost = 0;
        let mut state = self.state;
        while i < end {
            let (class, width) = class_at(program, window.text, bytes, i);
            let mut transition = self.cache.transition(state, class, stride);
            if transition.is_unknown() {
                (self.state, transition) = self.cache.step(program, state, class);
                meter.spend(self.cache.take_work())?;
            }
            let number = match transition.step() {
                Step::To(next) => {
                    i += width;
                    if next == state {
                        i += self.cache.stay(program, state, &bytes[i..end]);
                    }
                    state = next;
                    continue;
                }
                Step::Move(number) => number,
            };
            let pause = self.make_move(program.slots, program.end_slot, number, window.base + i);
            state = self.state;
            i += width;
            cost += self.registers.len() as u64;
            if pause || cost > meter.left() {
                break;
            }
        }
        self.state = state;
        self.at = window.base + i;
        self.asleep = self.key().is_idle();
        meter.spend(cost + (i - from) as u64)
    }

    /// Carries out a move at a position; says whether the state it leads to needs attention.
    fn make_move(
        &mut self,
        slots: usize,
        end_slot: Option<usize>,
        number: usize,
        position: usize,
    ) -> bool {
        let step = self.cache.step_of(number);
        if let Some(source) = step.found {
            self.registers
                .copy_to(&mut self.found_row, source, slots, position);
            let noted = end_slot.map(|slot| self.found_row[slot]);
            let noted = noted.filter(|&noted| noted != UNSET);
            self.found = Some((self.found_row[0], noted.unwrap_or(position)));
        }
        self.registers.update(&step.rows, slots, position);
        self.state = step.next;
        step.pause
    }

    /// What the search says of the text up to here, were it to end here.
    pub fn verdict(
        &mut self,
        automaton: &Automaton,
        window: &Window<'_>,
        meter: &mut Meter,
    ) -> Result<Verdict, TooCostly> {
        if self.asleep {
            self.wake(automaton, window, meter)?;
        }
        if self.is_finished() {
            return Ok(self.verdict_of_found());
        }
        let program = &automaton.program;
        let slots = program.slots;
        let at_end = self.cache.at_end(program, self.state);
        if let Some((source, end)) = at_end.found {
            let start = match source.row {
                FRESH => self.at,
                row => self.registers.start(row, slots),
            };
            let noted = program
                .end_slot
                .and_then(|slot| self.registers.value(source, slot, slots, self.at));
            return Ok(Verdict::Found {
                start,
                end: end.position(self.at, noted),
            });
        }
        if self.found.is_some() {
            return Ok(self.verdict_of_found());
        }
        Ok(match at_end.live {
            Some(row) => Verdict::Partial {
                start: self.registers.start(row, slots),
            },
            None => Verdict::Nothing,
        })
    }

    /// Whether a match ends where the text has been read to, or before, and no further text can change it.
    pub fn is_settled(
        &mut self,
        automaton: &Automaton,
        meter: &mut Meter,
    ) -> Result<bool, TooCostly> {
        if self.asleep || self.is_finished() {
            return Ok(!self.asleep);
        }
        let program = &automaton.program;
        let stride = program.alphabet.len();
        // A match is noted with the character behind it: here, whatever that is.
        for class in 0..stride as Class {
            let mut transition = self.cache.transition(self.state, class, stride);
            if transition.is_unknown() {
                (self.state, transition) = self.cache.step(program, self.state, class);
                meter.spend(self.cache.take_work())?;
            }
            let Step::Move(number) = transition.step() else {
                return Ok(false);
            };
            let step = self.cache.step_of(number);
            if step.found.is_none() || !self.cache.key(step.next).is_dead() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a match that the verdict spoke of, and that ends before the text does, would be another one or none if the
    /// text went on: with [`BEYOND`], and not for those that begin elsewhere.
    pub fn leans_on_end(
        &mut self,
        automaton: &Automaton,
        window: &Window<'_>,
        (start, end): (usize, usize),
        meter: &mut Meter,
    ) -> Result<bool, TooCostly> {
        if self.asleep || self.is_finished() {
            return Ok(false);
        }
        let program = &automaton.program;
        let slots = program.slots;
        let mut rows = self.registers.rows_from(start, slots);
        rows.retain(|source| usize::from(source.row) < self.key().threads.len());
        let threads = rows.iter().map(|source| usize::from(source.row));
        let key = self.key().with_threads(threads);
        let class = program.alphabet.class_of(BEYOND);
        let (before, sources, behind) = self.cache.found_beyond(program, &key, class);
        meter.spend(self.cache.take_work())?;

        let mut registers = self.registers.clone();
        registers.update(&rows, slots, self.at);
        let mut row = Vec::new();
        let mut position = self.at;
        // What was found on the way stays what it was, unless something better comes.
        let mut other = self.found.filter(|found| found.0 == start);
        if let Some(source) = behind {
            registers.update(&sources, slots, position);
            position += BEYOND.len_utf8();
            registers.copy_to(&mut row, source, slots, position);
        } else if let Some(source) = before {
            registers.copy_to(&mut row, source, slots, position);
        } else if other.is_some() {
            row.clone_from(&self.found_row);
        } else {
            return Ok(true);
        }
        if behind.or(before).is_some() {
            let noted = program.end_slot.map(|slot| row[slot]);
            let noted = noted.filter(|&noted| noted != UNSET);
            other = Some((start, noted.unwrap_or(position)));
        }
        let last = program.end_slot.unwrap_or(slots);
        let same = window.same_texts(self.groups(automaton), &row[1..last]);
        Ok(other != Some((start, end)) || !same)
    }

    fn verdict_of_found(&self) -> Verdict {
        match self.found {
            Some((start, end)) => Verdict::Found { start, end },
            None => Verdict::Nothing,
        }
    }

    /// Start and end of each named group in the match that [`Scanner::verdict`] speaks of.
    pub fn groups(&mut self, automaton: &Automaton) -> &[usize] {
        let program = &automaton.program;
        let groups = 1..program.end_slot.unwrap_or(program.slots);
        if !self.asleep && !self.is_finished() {
            let at_end = self.cache.at_end(program, self.state);
            if let Some((source, _)) = at_end.found {
                // A group that ends before a final newline is taken to end there: its registers
                // were set when the newline was read.
                self.registers
                    .copy_to(&mut self.end_row, source, program.slots, self.at);
                return &self.end_row[groups];
            }
        }
        &self.found_row[groups]
    }
}

/// The clone goes on from the same place with an automaton of its own, which knows the one state that
/// it is in.
impl Clone for Scanner {
    fn clone(&self) -> Scanner {
        Scanner {
            cache: Cache::with_state_of(&self.cache, self.state),
            state: 0,
            asleep: self.asleep,
            at: self.at,
            registers: self.registers.clone(),
            found: self.found,
            found_row: self.found_row.clone(),
            end_row: Vec::new(),
            exhausted: self.exhausted,
            behind: None,
        }
    }
}

#[inline(always)]
fn class_at(program: &Program, text: &str, bytes: &[u8], i: usize) -> (Class, usize) {
    let byte = bytes[i];
    if byte < 128 {
        return (program.alphabet.class_of_ascii(byte), 1);
    }
    let c = text[i..].chars().next().unwrap_or('\0');
    (program.alphabet.class_of(c), c.len_utf8())
}
