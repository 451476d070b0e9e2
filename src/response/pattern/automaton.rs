//! The engine that reads every character once.
//!
//! A [`Scanner`] runs a program as an automaton whose states are built when they are first needed.
//! A state is the list of threads a backtracking matcher would still have to try, best first, so
//! that what it finds is what backtracking finds: leftmost, then by priority. Beside the state
//! stand registers: for each thread where its match began, and where its named groups lie. They
//! make the automaton fit for streams: it can be stopped after any character and asked whether
//! something has matched, or from which position on the text could still grow into a match.

use std::collections::HashMap;

use super::alphabet::Class;
use super::prefilter::Prefilter;
use super::program::{After, Before, Inst, MAX_TURNS, Pc, Program, Turns};
use super::{Meter, TooCostly, Verdict, Window};

/// A scanner that knows this many states forgets them all and builds anew what it still needs.
const MAX_STATES: usize = 4_096;
/// The same for the bytes that they take.
const MAX_SIZE: usize = 8 << 20;

/// Marks a transition that has not been computed.
const UNKNOWN: u32 = u32::MAX;
/// Marks a transition that does more than to change the state; the other bits number its [`Move`].
const MOVE: u32 = 1 << 31;
/// As a thread's origin: it begins at the current position.
pub(super) const FRESH: u16 = u16::MAX;
/// As a thread of the dead end that a final newline may be: it matched before that newline.
const MATCHED: Pc = Pc::MAX;
/// As a register: not set.
pub(super) const UNSET: usize = usize::MAX;

pub(super) type StateId = u32;

/// A program ready to be scanned with.
#[derive(Debug)]
pub(crate) struct Automaton {
    pub(super) program: Program,
    prefilter: Prefilter,
}

impl Automaton {
    pub(crate) fn new(program: Program) -> Automaton {
        Automaton {
            prefilter: Prefilter::new(&program),
            program,
        }
    }
}

/// What tells a state from the others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// Threads that have taken at least one character, best first.
    pub(super) threads: Box<[Pc]>,
    /// Threads that live only if the text ends here, because they took the newline just read for
    /// the last character; where there are any, they stand for all threads at the end.
    ghosts: Box<[Pc]>,
    before: Before,
    /// A match has been found: no new thread begins, the ones left would be better.
    pub(super) found: bool,
    /// A match may not be empty here.
    not_empty: bool,
}

impl Key {
    pub(super) fn idle(before: Before) -> Key {
        Key {
            threads: Box::default(),
            ghosts: Box::default(),
            before,
            found: false,
            not_empty: false,
        }
    }

    fn is_idle(&self) -> bool {
        !self.found && self.threads.is_empty() && self.ghosts.is_empty()
    }

    fn is_dead(&self) -> bool {
        self.found && self.threads.is_empty() && self.ghosts.is_empty()
    }

    /// How many threads there are, those of the dead end included.
    pub(super) fn rows(&self) -> usize {
        self.threads.len() + self.ghosts.len()
    }

    /// The threads that count if the text ends here, and the row of registers of the first.
    pub(super) fn at_end(&self) -> (&[Pc], usize) {
        if self.ghosts.is_empty() {
            (&self.threads, 0)
        } else {
            (&self.ghosts, self.threads.len())
        }
    }
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) key: Key,
    at_end: Option<AtEnd>,
}

/// What holds if the text ends in a state.
#[derive(Debug, Clone, Copy)]
pub(super) struct AtEnd {
    pub(super) found: Option<(Source, MatchEnd)>,
    /// The row of the best thread that wants more text.
    pub(super) live: Option<u16>,
    /// The row of the best thread, whether it matches or wants more text.
    pub(super) best: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchEnd {
    Here,
    BeforeNewline,
}

/// Where a row of registers comes from, and which of them take the current position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) row: u16,
    sets: u64,
}

/// A transition that moves registers, finds something, or ends in a state that needs attention.
#[derive(Debug, Clone)]
struct Move {
    next: StateId,
    rows: Box<[Source]>,
    found: Option<Source>,
    /// Whether the next state is idle or dead.
    pause: bool,
}

/// A thread that has come to where it takes a character, or has matched.
#[derive(Debug, Clone, Copy)]
struct Leaf {
    pc: Pc,
    source: Source,
    /// How many turns of repeats have begun since the last character.
    turns: Turns,
}

impl Leaf {
    fn new(pc: Pc, source: Source) -> Leaf {
        Leaf {
            pc,
            source,
            turns: 0,
        }
    }
}

/// The states known so far.
#[derive(Debug, Default)]
pub(super) struct Cache {
    pub(super) states: Vec<State>,
    index: HashMap<Key, StateId>,
    /// The idle states, by what stands before them.
    idle: [Option<StateId>; 8],
    table: Vec<u32>,
    moves: Vec<Move>,
    /// For each instruction, by the turns begun: when it was last followed.
    seen: Vec<[u32; MAX_TURNS as usize + 1]>,
    /// For each instruction: when a thread last came to it by taking a character.
    taken: Vec<u32>,
    generation: u32,
    /// Instructions followed since somebody asked.
    work: u64,
    /// About how many bytes the states and the moves take.
    size: usize,
    stack: Vec<Leaf>,
    leaves: Vec<Leaf>,
}

/// A search under way.
#[derive(Debug)]
pub(crate) struct Scanner {
    cache: Cache,
    state: StateId,
    /// How far the text has been read.
    at: usize,
    registers: Vec<usize>,
    spare: Vec<usize>,
    found: Option<(usize, usize)>,
    found_slots: Vec<usize>,
    /// The text has ended, and no match begins where the search did or after that.
    exhausted: bool,
}

impl Scanner {
    pub(crate) fn new() -> Scanner {
        Scanner {
            cache: Cache::default(),
            state: 0,
            at: 0,
            registers: Vec::new(),
            spare: Vec::new(),
            found: None,
            found_slots: Vec::new(),
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
        let key = self.key();
        (!key.threads.is_empty() || !key.ghosts.is_empty()).then(|| self.registers[0])
    }

    /// Where a match that is not the last word, or the last word, begins.
    pub(crate) fn found_start(&self) -> Option<usize> {
        self.found.map(|(start, _)| start)
    }

    fn key(&self) -> &Key {
        &self.cache.states[self.state as usize].key
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
                let mut step = self.cache.table[self.state as usize * stride + class as usize];
                if step == UNKNOWN {
                    (self.state, step) = self.cache.step(program, self.state, class);
                    cost += std::mem::take(&mut self.cache.work);
                }
                if step & MOVE == 0 {
                    self.state = step;
                    i += width;
                    continue;
                }
                let number = (step & !MOVE) as usize;
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
        let step = &self.cache.moves[number];
        if let Some(source) = step.found {
            self.found_slots.clear();
            copy_row(
                &mut self.found_slots,
                &self.registers,
                slots,
                source,
                position,
            );
            self.found = Some((self.found_slots[0], position));
        }
        self.spare.clear();
        for &source in &step.rows {
            copy_row(&mut self.spare, &self.registers, slots, source, position);
        }
        std::mem::swap(&mut self.spare, &mut self.registers);
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
                row => self.registers[row as usize * slots],
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
                start: self.registers[row as usize * slots],
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
                self.found_slots.clear();
                copy_row(
                    &mut self.found_slots,
                    &self.registers,
                    automaton.program.slots,
                    source,
                    self.at,
                );
            }
        }
        &self.found_slots[1..]
    }
}

impl MatchEnd {
    fn position(self, at: usize) -> usize {
        match self {
            MatchEnd::Here => at,
            MatchEnd::BeforeNewline => at - 1,
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

#[inline]
fn copy_row(to: &mut Vec<usize>, from: &[usize], slots: usize, source: Source, position: usize) {
    let row = to.len();
    if source.row == FRESH {
        to.push(position);
        to.resize(row + slots, UNSET);
    } else {
        let first = source.row as usize * slots;
        to.extend_from_slice(&from[first..first + slots]);
    }
    let mut sets = source.sets;
    while sets != 0 {
        to[row + sets.trailing_zeros() as usize] = position;
        sets &= sets - 1;
    }
}

/// As far as the original, with an automaton of its own: it knows the one state that it is in.
impl Clone for Scanner {
    fn clone(&self) -> Scanner {
        let mut cache = Cache::default();
        // A search that has never begun is in no state.
        if let Some(State { key, .. }) = self.cache.states.get(self.state as usize) {
            let stride = self.cache.table.len() / self.cache.states.len();
            cache.add(key.clone(), stride);
        }
        Scanner {
            cache,
            state: 0,
            at: self.at,
            registers: self.registers.clone(),
            spare: Vec::new(),
            found: self.found,
            found_slots: self.found_slots.clone(),
            exhausted: self.exhausted,
        }
    }
}

impl Cache {
    /// The state in which a search begins, or goes on where nothing is under way.
    fn idle(&mut self, program: &Program, window: &Window<'_>, position: usize) -> StateId {
        let before = match program.looks.at_characters() {
            true => program.before(window.char_before(position)),
            false => Before::default(),
        };
        match self.idle[before.number()] {
            Some(state) => state,
            None => self.intern(program, Key::idle(before)),
        }
    }

    pub(super) fn intern(&mut self, program: &Program, key: Key) -> StateId {
        if let Some(&id) = self.index.get(&key) {
            return id;
        }
        self.add(key, program.alphabet.len())
    }

    /// Adds a state, with unknown transitions for so many classes of characters.
    fn add(&mut self, key: Key, stride: usize) -> StateId {
        let id = self.states.len() as StateId;
        self.size += size_of::<u32>() * stride + 2 * (size_of::<State>() + 4 * key.rows());
        self.table.resize(self.table.len() + stride, UNKNOWN);
        self.index.insert(key.clone(), id);
        if key.is_idle() && !key.not_empty {
            self.idle[key.before.number()] = Some(id);
        }
        self.states.push(State { key, at_end: None });
        id
    }

    pub(super) fn is_full(&self) -> bool {
        self.states.len() >= MAX_STATES || self.size >= MAX_SIZE
    }

    /// Computes a transition. Returns it with the state's number, which changes when a full cache
    /// had to be emptied.
    pub(super) fn step(
        &mut self,
        program: &Program,
        state: StateId,
        class: Class,
    ) -> (StateId, u32) {
        let key = self.states[state as usize].key.clone();
        let mut state = state;
        if self.is_full() {
            self.states.clear();
            self.index.clear();
            self.idle = [None; 8];
            self.table.clear();
            self.moves.clear();
            self.size = 0;
            state = self.intern(program, key.clone());
        }
        let mut sources = Vec::new();
        let mut threads = Vec::new();
        self.close(program, &key.threads, 0, &key, After::Class(class));
        let found = self.take(program, class, &mut threads, &mut sources);
        let mut ghosts = Vec::new();
        if program.looks.final_newline && program.is_newline(class) {
            self.close(program, &key.threads, 0, &key, After::FinalNewline);
            let rows = sources.len();
            if let Some(source) = self.take(program, class, &mut ghosts, &mut sources) {
                ghosts.push(MATCHED);
                sources.push(source);
            }
            if ghosts == threads {
                ghosts.clear();
                sources.truncate(rows);
            }
        }
        // Each thread is written down, compared and kept, several times over.
        self.work += 8 * sources.len() as u64;
        let next = Key {
            threads: threads.into(),
            ghosts: ghosts.into(),
            before: program.after_class(class),
            found: key.found || found.is_some(),
            not_empty: false,
        };
        let pause = next.is_idle() || next.is_dead();
        let next = self.intern(program, next);
        let stays = sources
            .iter()
            .enumerate()
            .all(|(row, s)| s.row as usize == row && s.sets == 0);
        let step = if stays && found.is_none() && !pause {
            next
        } else {
            self.size += size_of::<Move>() + size_of::<Source>() * sources.len();
            self.moves.push(Move {
                next,
                rows: sources.into(),
                found,
                pause,
            });
            (self.moves.len() - 1) as u32 | MOVE
        };
        self.table[state as usize * program.alphabet.len() + class as usize] = step;
        (state, step)
    }

    pub(super) fn at_end(&mut self, program: &Program, state: StateId) -> AtEnd {
        if let Some(at_end) = self.states[state as usize].at_end {
            return at_end;
        }
        let key = self.states[state as usize].key.clone();
        let (threads, first_row) = key.at_end();
        self.close(program, threads, first_row, &key, After::End);
        let at_end = self.read_end(program);
        self.states[state as usize].at_end = Some(at_end);
        at_end
    }

    /// Reads what the leaves of a closure at the end of the text say.
    fn read_end(&self, program: &Program) -> AtEnd {
        let is_match = |leaf: &Leaf| {
            leaf.pc == MATCHED || matches!(program.insts[leaf.pc as usize], Inst::Match)
        };
        let found = self.leaves.iter().find(|leaf| is_match(leaf));
        let live = |leaf: &&Leaf| !is_match(leaf) && leaf.source.row != FRESH;
        AtEnd {
            found: found.map(|leaf| match leaf.pc {
                MATCHED => (leaf.source, MatchEnd::BeforeNewline),
                _ => (leaf.source, MatchEnd::Here),
            }),
            live: self.leaves.iter().find(live).map(|leaf| leaf.source.row),
            best: self.leaves.first().map(|leaf| leaf.source.row),
        }
    }

    /// Follows threads, and unless a match has been found a fresh one, to where they take a
    /// character or match, best first; leaves them in `self.leaves`.
    fn close(
        &mut self,
        program: &Program,
        threads: &[Pc],
        first_row: usize,
        key: &Key,
        after: After,
    ) {
        self.leaves.clear();
        if self.seen.len() < program.insts.len() {
            self.seen.resize(program.insts.len(), Default::default());
            self.taken.resize(program.insts.len(), 0);
        }
        if self.generation == u32::MAX {
            self.seen.fill(Default::default());
            self.taken.fill(0);
            self.generation = 0;
        }
        self.generation += 1;
        for (row, &pc) in threads.iter().enumerate() {
            let source = Source {
                row: (first_row + row) as u16,
                sets: 0,
            };
            if pc == MATCHED {
                self.leaves.push(Leaf::new(pc, source));
            } else {
                self.follow(program, Leaf::new(pc, source), key.before, after);
            }
        }
        let ended = after == After::End && key.ghosts.last() == Some(&MATCHED);
        if !key.found && !ended {
            let source = Source {
                row: FRESH,
                sets: 0,
            };
            let pc = program.start;
            let others = self.leaves.len();
            self.follow(program, Leaf::new(pc, source), key.before, after);
            if key.not_empty {
                let mut index = 0;
                self.leaves.retain(|leaf| {
                    index += 1;
                    let is_match = matches!(program.insts[leaf.pc as usize], Inst::Match);
                    index <= others || !is_match
                });
            }
        }
    }

    /// What a transition does with the threads: for each in the next state, the row it comes from.
    pub(super) fn origins(&self, step: u32, next_rows: usize) -> Vec<u16> {
        match step & MOVE {
            0 => (0..next_rows as u16).collect(),
            _ => {
                let step = &self.moves[(step & !MOVE) as usize];
                step.rows.iter().map(|source| source.row).collect()
            }
        }
    }

    /// The state that a transition leads to.
    pub(super) fn target(&self, step: u32) -> StateId {
        match step & MOVE {
            0 => step,
            _ => self.moves[(step & !MOVE) as usize].next,
        }
    }

    fn follow(&mut self, program: &Program, thread: Leaf, before: Before, after: After) {
        self.stack.push(thread);
        while let Some(leaf) = self.stack.pop() {
            self.work += 1;
            let Leaf {
                pc,
                mut source,
                turns,
            } = leaf;
            let seen = &mut self.seen[pc as usize][usize::from(turns)];
            if std::mem::replace(seen, self.generation) == self.generation {
                continue;
            }
            let on = |pc, source| Leaf { pc, source, turns };
            match program.insts[pc as usize] {
                Inst::Set { .. } | Inst::Match => self.leaves.push(leaf),
                Inst::Split { first, second } => {
                    self.stack.push(on(second, source));
                    self.stack.push(on(first, source));
                }
                Inst::Again { split, next } => {
                    let tried = self.seen[split as usize].contains(&self.generation);
                    self.stack.push(match tried {
                        true => on(next, source),
                        false => Leaf {
                            pc: split,
                            source,
                            turns: (turns + 1).min(MAX_TURNS),
                        },
                    });
                }
                Inst::Save { slot, next } => {
                    source.sets |= 1 << slot;
                    self.stack.push(on(next, source));
                }
                Inst::Look { look, next } => {
                    if program.sees(look, before, after) {
                        self.stack.push(on(next, source));
                    }
                }
                Inst::Around { .. } | Inst::Atomic { .. } => {
                    unreachable!("programs that need backtracking are not run as automata")
                }
            }
        }
    }

    /// Lets the leaves take a character of the class: the threads that can, up to the first match,
    /// which is returned.
    fn take(
        &mut self,
        program: &Program,
        class: Class,
        threads: &mut Vec<Pc>,
        sources: &mut Vec<Source>,
    ) -> Option<Source> {
        for leaf in &self.leaves {
            match program.insts[leaf.pc as usize] {
                Inst::Match => return Some(leaf.source),
                Inst::Set { set, next } if program.alphabet.holds(set, class) => {
                    let taken = &mut self.taken[next as usize];
                    if std::mem::replace(taken, self.generation) != self.generation {
                        threads.push(next);
                        sources.push(leaf.source);
                    }
                }
                _ => {}
            }
        }
        None
    }
}
