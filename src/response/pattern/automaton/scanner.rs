//! A search under way.

use crate::response::pattern::alphabet::Class;
use crate::response::pattern::program::Program;
use crate::response::pattern::{Meter, TooCostly, Verdict, Window};

use super::Automaton;
use super::cache::Cache;
use super::registers::Registers;
use super::state::{FRESH, Key, StateId};
use super::transition::Step;

/// A search under way.
#[derive(Debug)]
pub(crate) struct Scanner {
    cache: Cache,
    state: StateId,
    /// How far the text has been read.
    at: usize,
    registers: Registers,
    /// Start and end of the match that has been found.
    found: Option<(usize, usize)>,
    /// Its registers.
    found_row: Vec<usize>,
    /// The text has ended, and no match begins where the search did or after that.
    exhausted: bool,
}

impl Scanner {
    pub(crate) fn new() -> Scanner {
        Scanner {
            cache: Cache::default(),
            state: 0,
            at: 0,
            registers: Registers::default(),
            found: None,
            found_row: Vec::new(),
            exhausted: false,
        }
    }

    /// Begins a search at a position of the window.
    pub(crate) fn start(&mut self, automaton: &Automaton, window: &Window<'_>, from: usize) {
        self.found = None;
        self.exhausted = false;
        self.at = from;
        self.state = self.cache.idle(&automaton.program, window, from);
    }

    /// Begins a search whose match may not be empty if it begins at this very position.
    pub(crate) fn start_after_empty(
        &mut self,
        automaton: &Automaton,
        window: &Window<'_>,
        from: usize,
    ) {
        self.start(automaton, window, from);
        let not_empty = Key {
            not_empty: true,
            ..Key::idle(self.key().before)
        };
        self.state = self.cache.intern(&automaton.program, not_empty);
    }

    /// How far the text has been read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Forgets what it has found, but not the automaton that it has built.
    pub(crate) fn forget(&mut self) {
        self.found = None;
        self.exhausted = false;
    }

    /// Notes what a search has come to when the text has ended.
    pub(crate) fn note_end(&mut self, verdict: Verdict) {
        self.exhausted = !matches!(verdict, Verdict::Found { .. });
    }

    /// Whether the text has ended, and no match begins where the search did or after that.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// Whether nothing further can change what has been found.
    pub(crate) fn is_finished(&self) -> bool {
        self.found.is_some() && self.key().is_dead()
    }

    /// Whether no match is under way.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.key().is_idle()
    }

    /// Where the best thread still under way began.
    #[inline]
    pub(crate) fn earliest(&self) -> Option<usize> {
        (self.key().rows() > 0).then(|| self.registers.first_start())
    }

    /// Where a match that is not the last word, or the last word, begins.
    pub(crate) fn found_start(&self) -> Option<usize> {
        self.found.map(|(start, _)| start)
    }

    fn key(&self) -> &Key {
        self.cache.key(self.state)
    }

    /// Reads on up to `limit`, a position of the window, or until the search is finished.
    pub(crate) fn advance(
        &mut self,
        automaton: &Automaton,
        window: &Window<'_>,
        limit: usize,
        meter: &mut Meter,
    ) -> Result<(), TooCostly> {
        let program = &automaton.program;
        let bytes = window.text.as_bytes();
        let end = limit - window.base;
        let stride = program.alphabet.len();
        let mut i = self.at - window.base;
        let mut cost = 0;
        while i < end {
            let key = self.key();
            if key.is_dead() {
                break;
            }
            if key.is_idle() && !key.before.at_start && !key.not_empty {
                let candidate = automaton.prefilter.find(bytes, i, end);
                if candidate > i {
                    i = candidate;
                    self.state = self.cache.idle(program, window, window.base + i);
                    if i == end {
                        break;
                    }
                }
            }
            let read_from = i;
            while i < end {
                let (class, width) = class_at(program, window.text, bytes, i);
                let mut transition = self.cache.transition(self.state, class, stride);
                if transition.is_unknown() {
                    (self.state, transition) = self.cache.step(program, self.state, class);
                    cost += self.cache.take_work();
                }
                let number = match transition.step() {
                    Step::To(state) => {
                        self.state = state;
                        i += width;
                        continue;
                    }
                    Step::Move(number) => number,
                };
                let pause = self.make_move(program.slots, number, window.base + i);
                i += width;
                cost += self.registers.len() as u64;
                if pause || cost > meter.left() {
                    break;
                }
            }
            cost += (i - read_from) as u64;
            if cost > meter.left() {
                break;
            }
        }
        self.at = window.base + i;
        meter.spend(cost)
    }

    /// Carries out a move at a position; says whether the state it leads to needs attention.
    fn make_move(&mut self, slots: usize, number: usize, position: usize) -> bool {
        let step = self.cache.step_of(number);
        if let Some(source) = step.found {
            self.registers
                .copy_to(&mut self.found_row, source, slots, position);
            self.found = Some((self.found_row[0], position));
        }
        self.registers.update(&step.rows, slots, position);
        self.state = step.next;
        step.pause
    }

    /// What the search says of the text up to here, were it to end here.
    pub(crate) fn verdict(&mut self, automaton: &Automaton) -> Verdict {
        if self.is_finished() {
            return self.verdict_of_found();
        }
        let slots = automaton.program.slots;
        let at_end = self.cache.at_end(&automaton.program, self.state);
        if let Some((source, end)) = at_end.found {
            let start = match source.row {
                FRESH => self.at,
                row => self.registers.start(row, slots),
            };
            return Verdict::Found {
                start,
                end: end.position(self.at),
            };
        }
        if self.found.is_some() {
            return self.verdict_of_found();
        }
        match at_end.live {
            Some(row) => Verdict::Partial {
                start: self.registers.start(row, slots),
            },
            None => Verdict::Nothing,
        }
    }

    fn verdict_of_found(&self) -> Verdict {
        match self.found {
            Some((start, end)) => Verdict::Found { start, end },
            None => Verdict::Nothing,
        }
    }

    /// Start and end of each named group in the match that [`Scanner::verdict`] speaks of.
    pub(crate) fn groups(&mut self, automaton: &Automaton) -> &[usize] {
        if !self.is_finished() {
            let at_end = self.cache.at_end(&automaton.program, self.state);
            if let Some((source, _)) = at_end.found {
                // A group that ends before a final newline is taken to end there: its registers
                // were set when the newline was read.
                let slots = automaton.program.slots;
                self.registers
                    .copy_to(&mut self.found_row, source, slots, self.at);
            }
        }
        &self.found_row[1..]
    }
}

/// The clone goes on from the same place with an automaton of its own, which knows the one state that
/// it is in.
impl Clone for Scanner {
    fn clone(&self) -> Scanner {
        Scanner {
            cache: Cache::with_state_of(&self.cache, self.state),
            state: 0,
            at: self.at,
            registers: self.registers.clone(),
            found: self.found,
            found_row: self.found_row.clone(),
            exhausted: self.exhausted,
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
