//! The states and transitions that have been worked out so far.

use foldhash::HashMap;

use crate::response::pattern::Window;
use crate::response::pattern::alphabet::Class;
use crate::response::pattern::program::{After, Before, Program};

use super::state::{AtEnd, Key, MATCHED, Source, StateId};
use super::threads::Threads;
use super::transition::{Move, Step, Transition};

/// A cache that holds this many states forgets them all and builds anew what is still needed.
const MAX_STATES: usize = 4_096;
/// The same for the bytes that they take.
const MAX_SIZE: usize = 8 << 20;

/// So many characters in a row lead back to a state before it is found out which bytes leave it.
const LONG_STAY: usize = 64;

/// The states known so far.
#[derive(Debug, Default)]
pub(in crate::response::pattern) struct Cache {
    states: Vec<State>,
    index: HashMap<Key, StateId>,
    /// The idle states and the quiet ones that no part has come into, by what stands before them.
    idle: [Option<StateId>; 8],
    quiet: [Option<StateId>; 8],
    /// For each state, one transition for each class of characters.
    table: Vec<Transition>,
    moves: Vec<Move>,
    /// About how many bytes the states and the moves take.
    size: usize,
    /// How often all states have been forgotten.
    epoch: u32,
    threads: Threads,
}

#[derive(Debug)]
struct State {
    key: Key,
    at_end: Option<AtEnd>,
    /// For a quiet state, the one that a search begins in there.
    woken: Option<StateId>,
    /// Whether all characters lead back to it.
    is_final: Option<bool>,
    /// The bytes that leave it, once that is known; `None` if there are more than can be looked for at once,
    /// or characters beyond ASCII among them.
    left_by: Option<Option<Box<[u8]>>>,
}

impl Cache {
    /// A cache that knows but one state, as the one with the number `state` of another.
    pub(super) fn with_state_of(other: &Cache, state: StateId) -> Cache {
        let mut cache = Cache::default();
        // A search that has never begun is in no state.
        if let Some(State { key, .. }) = other.states.get(state as usize) {
            let stride = other.table.len() / other.states.len();
            cache.add(key.clone(), stride);
        }
        cache
    }

    pub(in crate::response::pattern) fn key(&self, state: StateId) -> &Key {
        &self.states[state as usize].key
    }

    /// The transition from a state, given how many classes there are.
    #[inline(always)]
    pub(super) fn transition(&self, state: StateId, class: Class, stride: usize) -> Transition {
        self.table[state as usize * stride + class as usize]
    }

    /// A move by its number.
    #[inline(always)]
    pub(super) fn step_of(&self, number: usize) -> &Move {
        &self.moves[number]
    }

    /// How much work has been done since this was last asked.
    pub(super) fn take_work(&mut self) -> u64 {
        self.threads.take_work()
    }

    /// The state in which a search begins whose program does not look at text further behind than
    /// the character before it.
    pub(super) fn idle(
        &mut self,
        program: &Program,
        window: &Window<'_>,
        position: usize,
    ) -> StateId {
        let before = before(program, window, position);
        match self.idle[before.number()] {
            Some(state) => state,
            None => self.intern(program, Key::idle(before)),
        }
    }

    /// The state from which text is read that a search looks back at.
    pub(super) fn quiet(
        &mut self,
        program: &Program,
        window: &Window<'_>,
        position: usize,
    ) -> StateId {
        let before = before(program, window, position);
        match self.quiet[before.number()] {
            Some(state) => state,
            None => self.intern(program, Key::quiet(before)),
        }
    }

    /// The state in which a search begins where a quiet one has been reached.
    pub(super) fn woken(&mut self, program: &Program, quiet: StateId) -> StateId {
        if let Some(woken) = self.states[quiet as usize].woken {
            return woken;
        }
        let woken = self.intern(program, self.key(quiet).woken());
        self.states[quiet as usize].woken = Some(woken);
        woken
    }

    /// Whether no part has begun in a quiet state.
    pub(super) fn has_no_part(&self, quiet: StateId) -> bool {
        self.states[quiet as usize].key.behind.is_empty()
    }

    /// Whether a quiet state stays the same whatever text comes, once it is known that it does.
    pub(super) fn is_final(&mut self, program: &Program, quiet: StateId) -> bool {
        if let Some(is_final) = self.states[quiet as usize].is_final {
            return is_final;
        }
        let stride = program.alphabet.len();
        let mut classes = 0..stride as Class;
        if self.states() + stride >= MAX_STATES || self.size >= MAX_SIZE / 2 {
            return false;
        }
        let is_final = classes.all(|class| {
            let (_, transition) = self.step(program, quiet, class);
            self.target(transition) == quiet
        });
        self.states[quiet as usize].is_final = Some(is_final);
        is_final
    }

    /// How many bytes at the beginning of a text lead a state back to itself, at least.
    #[inline]
    pub(super) fn stay(&mut self, program: &Program, state: StateId, text: &[u8]) -> usize {
        let short = &text[..text.len().min(LONG_STAY)];
        let stayed = self.stay_in_ascii(program, state, short);
        if stayed < LONG_STAY {
            return stayed;
        }
        let rest = &text[stayed..];
        let left = match self.left_by(program, state) {
            Some(&[]) => None,
            Some(&[a]) => memchr::memchr(a, rest),
            Some(&[a, b]) => memchr::memchr2(a, b, rest),
            Some(&[a, b, c]) => memchr::memchr3(a, b, c, rest),
            _ => Some(self.stay_in_ascii(program, state, rest)),
        };
        stayed + left.unwrap_or(rest.len())
    }

    /// How many bytes of ASCII at the beginning of a text are known to lead a state back to itself.
    #[inline]
    fn stay_in_ascii(&self, program: &Program, state: StateId, text: &[u8]) -> usize {
        let stride = program.alphabet.len();
        let row = &self.table[state as usize * stride..][..stride];
        let stays = |&&byte: &&u8| {
            let class = program.alphabet.class_of_ascii(byte);
            byte < 128 && row[class as usize] == Transition::to(state)
        };
        text.iter().take_while(stays).count()
    }

    /// The bytes that leave a state, if there are at most three.
    fn left_by(&mut self, program: &Program, state: StateId) -> Option<&[u8]> {
        if self.states[state as usize].left_by.is_none() {
            let stride = program.alphabet.len();
            if self.states() + stride >= MAX_STATES || self.size >= MAX_SIZE / 2 {
                return None;
            }
            let leaves = |class| self.step(program, state, class).1 != Transition::to(state);
            let leaving: Vec<bool> = (0..stride as Class).map(leaves).collect();
            let bytes = program.alphabet.ascii_of(&leaving);
            self.states[state as usize].left_by = Some(bytes.filter(|bytes| bytes.len() <= 3));
        }
        self.states[state as usize].left_by.as_ref()?.as_deref()
    }

    /// A number that changes whenever the numbers of states get other meanings.
    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The number of a state, which is added if it is new.
    pub(in crate::response::pattern) fn intern(&mut self, program: &Program, key: Key) -> StateId {
        if let Some(&id) = self.index.get(&key) {
            return id;
        }
        self.add(key, program.alphabet.len())
    }

    /// Adds a state, with unknown transitions for so many classes of characters.
    fn add(&mut self, key: Key, stride: usize) -> StateId {
        let id = self.states.len() as StateId;
        let parts = key.rows() + key.behind.len();
        self.size += size_of::<Transition>() * stride + 2 * (size_of::<State>() + 4 * parts);
        self.table
            .resize(self.table.len() + stride, Transition::UNKNOWN);
        self.index.insert(key.clone(), id);
        if key == Key::idle(key.before) {
            self.idle[key.before.number()] = Some(id);
        } else if key == Key::quiet(key.before) {
            self.quiet[key.before.number()] = Some(id);
        }
        self.states.push(State {
            key,
            at_end: None,
            woken: None,
            is_final: None,
            left_by: None,
        });
        id
    }

    /// How many states are known.
    pub(in crate::response::pattern) fn states(&self) -> usize {
        self.states.len()
    }

    pub(in crate::response::pattern) fn is_full(&self) -> bool {
        self.states() >= MAX_STATES || self.size >= MAX_SIZE
    }

    /// About how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        self.size + self.threads.size()
    }

    fn forget_states(&mut self) {
        self.states.clear();
        self.index.clear();
        self.idle = [None; 8];
        self.quiet = [None; 8];
        self.table.clear();
        self.moves.clear();
        self.size = 0;
        self.epoch += 1;
    }

    /// The transitions from a state, one for each class of characters that it distinguishes; `None` if there is no room for
    /// them.
    pub(in crate::response::pattern) fn distinct_transitions(
        &mut self,
        program: &Program,
        state: StateId,
    ) -> Option<Vec<Transition>> {
        let looks = program.looks;
        if looks.word || looks.line || looks.final_newline {
            let classes = 0..program.alphabet.len() as Class;
            let step = |class| {
                self.known_or(program, state, class, |cache| {
                    cache.step(program, state, class).1
                })
            };
            return classes.map(step).collect();
        }
        // The threads come to the same leaves whatever character follows.
        let key = self.key(state).clone();
        self.threads
            .follow(program, &key.threads, 0, &key, After::Class(0));
        let sets = self.threads.sets(program);
        let classes = program.alphabet.distinguished_by(sets).into_iter();
        let take = |class| {
            self.known_or(program, state, class, |cache| {
                cache.take(program, state, &key, class)
            })
        };
        classes.map(take).collect()
    }

    /// A transition, found out unless it is known; `None` if there is no room for it.
    fn known_or(
        &mut self,
        program: &Program,
        state: StateId,
        class: Class,
        find_out: impl FnOnce(&mut Self) -> Transition,
    ) -> Option<Transition> {
        match self.transition(state, class, program.alphabet.len()) {
            Transition::UNKNOWN if self.is_full() => None,
            Transition::UNKNOWN => Some(find_out(self)),
            known => Some(known),
        }
    }

    /// Works out a transition. Returns it with the state's number, which changes when a full cache
    /// had to be emptied.
    pub(in crate::response::pattern) fn step(
        &mut self,
        program: &Program,
        state: StateId,
        class: Class,
    ) -> (StateId, Transition) {
        let key = self.key(state).clone();
        let mut state = state;
        if self.is_full() {
            self.forget_states();
            state = self.intern(program, key.clone());
        }
        self.threads
            .follow(program, &key.threads, 0, &key, After::Class(class));
        let transition = self.take(program, state, &key, class);
        (state, transition)
    }

    /// Lets the threads of a state, which have been followed, take a character of the class.
    fn take(&mut self, program: &Program, state: StateId, key: &Key, class: Class) -> Transition {
        let (next, sources, found) = self.next_key(program, key, class);
        // Each thread is written down, compared and kept, several times over.
        let written = sources.len() + next.behind.len();
        self.threads.add_work(8 * written as u64);
        let pause = next.is_idle() || next.is_dead();
        let next = self.intern(program, next);
        let mut rows = sources.iter().enumerate();
        let stays = rows.all(|(row, s)| s.row as usize == row && s.sets == 0);
        let transition = if stays && found.is_none() && !pause {
            Transition::to(next)
        } else {
            self.add_move(Move {
                next,
                rows: sources.into(),
                found,
                pause,
            })
        };
        self.table[state as usize * program.alphabet.len() + class as usize] = transition;
        transition
    }

    /// The state after a character of the class, where the registers of its threads come from, and
    /// the registers of a match that ends before the character.
    fn next_key(
        &mut self,
        program: &Program,
        key: &Key,
        class: Class,
    ) -> (Key, Vec<Source>, Option<Source>) {
        let mut sources = Vec::new();
        let mut threads = Vec::new();
        let walker = &mut self.threads;
        let found = walker.take(program, class, &mut threads, &mut sources);
        let behind = walker.take_parts(program, class);
        let mut if_final = Vec::new();
        if program.looks.final_newline && program.is_newline(class) {
            walker.follow(program, &key.threads, 0, key, After::FinalNewline);
            let rows = sources.len();
            if let Some(source) = walker.take(program, class, &mut if_final, &mut sources) {
                if_final.push(MATCHED);
                sources.push(source);
            }
            // Where they have captured something else, they are others.
            if if_final == threads && sources[..rows] == sources[rows..] {
                if_final.clear();
                sources.truncate(rows);
            }
        }
        let next = Key {
            threads: threads.into(),
            if_final: if_final.into(),
            behind,
            before: program.after_class(class),
            quiet: key.quiet,
            found: key.found || found.is_some(),
            not_empty: false,
        };
        (next, sources, found)
    }

    /// What threads of a state have found where a character of the class is the last one: registers of a match that ends
    /// before it, those of the threads behind it, and the match of these that there is at the end.
    pub(in crate::response::pattern) fn found_beyond(
        &mut self,
        program: &Program,
        key: &Key,
        class: Class,
    ) -> (Option<Source>, Vec<Source>, Option<Source>) {
        self.threads
            .follow(program, &key.threads, 0, key, After::Class(class));
        let (next, sources, found) = self.next_key(program, key, class);
        self.threads
            .follow(program, &next.threads, 0, &next, After::End);
        let at_end = self.threads.at_end(program).found;
        (found, sources, at_end.map(|(source, _)| source))
    }

    fn add_move(&mut self, step: Move) -> Transition {
        self.size += size_of::<Move>() + size_of::<Source>() * step.rows.len();
        self.moves.push(step);
        Transition::with_move(self.moves.len() - 1)
    }

    /// What holds if the text ends in a state.
    pub(in crate::response::pattern) fn at_end(
        &mut self,
        program: &Program,
        state: StateId,
    ) -> AtEnd {
        if let Some(at_end) = self.states[state as usize].at_end {
            return at_end;
        }
        let key = self.key(state).clone();
        let (threads, first_row) = key.at_end();
        self.threads
            .follow(program, threads, first_row, &key, After::End);
        let at_end = self.threads.at_end(program);
        self.states[state as usize].at_end = Some(at_end);
        at_end
    }

    /// What a transition does with a thread of the next state: where its registers come from.
    pub(in crate::response::pattern) fn origin(
        &self,
        transition: Transition,
        next_row: usize,
    ) -> Source {
        match transition.step() {
            Step::To(_) => Source::row(next_row as u16),
            Step::Move(number) => self.moves[number].rows[next_row],
        }
    }

    /// The registers of a match that ends before the character of a transition.
    pub(in crate::response::pattern) fn found(&self, transition: Transition) -> Option<Source> {
        match transition.step() {
            Step::To(_) => None,
            Step::Move(number) => self.moves[number].found,
        }
    }

    /// The state that a transition leads to.
    pub(in crate::response::pattern) fn target(&self, transition: Transition) -> StateId {
        match transition.step() {
            Step::To(state) => state,
            Step::Move(number) => self.moves[number].next,
        }
    }
}

/// What a program can know of the text before a position by the character that stands there.
fn before(program: &Program, window: &Window<'_>, position: usize) -> Before {
    match program.looks.at_characters() {
        true => program.before(window.char_before(position)),
        false => Before::default(),
    }
}
