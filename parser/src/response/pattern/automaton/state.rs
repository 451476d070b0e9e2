//! The states of the automaton.

use crate::response::pattern::program::{Before, Pc};

/// As a thread of [`Key::if_final`]: it has matched before the newline that was read last.
pub(super) const MATCHED: Pc = Pc::MAX;

/// As the row that a thread's registers come from: the thread begins at the current position.
pub(in crate::response::pattern) const FRESH: u16 = u16::MAX;

/// The number of a state.
pub(in crate::response::pattern) type StateId = u32;

/// What distinguishes a state from the others.
#[derive(Debug, Clone, Eq, Hash)]
#[expect(
    clippy::derived_hash_with_manual_eq,
    reason = "both go by all fields, so equal keys have equal hashes"
)]
pub(in crate::response::pattern) struct Key {
    /// Threads that have taken at least one character, best first.
    pub(in crate::response::pattern) threads: Box<[Pc]>,
    /// Threads that live only if the text ends here, because they took the newline just read for
    /// the last character; where there are any, they stand for all threads at the end.
    pub(super) if_final: Box<[Pc]>,
    /// Where the parts go on that the text is held against, in order.
    pub(super) behind: Box<[Pc]>,
    pub(super) before: Before,
    /// Only the parts are run: no match begins before the search does.
    pub(in crate::response::pattern) quiet: bool,
    /// A match has been found: no new thread begins, and those that are left would be better.
    pub(in crate::response::pattern) found: bool,
    /// A match may not be empty here.
    pub(super) not_empty: bool,
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        let flags = |key: &Key| (key.before, key.quiet, key.found, key.not_empty);
        flags(self) == flags(other)
            && are_same(&self.threads, &other.threads)
            && are_same(&self.if_final, &other.if_final)
            && are_same(&self.behind, &other.behind)
    }
}

/// Whether two lists are the same. Most are empty, and to compare what is nowhere in memory byte by byte is
/// slow where this is done with masked loads.
fn are_same(one: &[Pc], other: &[Pc]) -> bool {
    one.len() == other.len() && (one.is_empty() || one == other)
}

impl Key {
    /// A state in which no match is under way.
    pub(in crate::response::pattern) fn idle(before: Before) -> Key {
        Key {
            threads: Box::default(),
            if_final: Box::default(),
            behind: Box::default(),
            before,
            quiet: false,
            found: false,
            not_empty: false,
        }
    }

    /// The same before the search has begun.
    pub(in crate::response::pattern) fn quiet(before: Before) -> Key {
        Key {
            quiet: true,
            ..Key::idle(before)
        }
    }

    /// The state that a search begins in where this one has been reached before it.
    pub(in crate::response::pattern) fn woken(&self) -> Key {
        Key {
            quiet: false,
            ..self.clone()
        }
    }

    /// Whether no match is under way, and none has been found.
    pub(super) fn is_idle(&self) -> bool {
        !self.found && !self.quiet && self.rows() == 0
    }

    /// Whether a match has been found that nothing can better.
    pub(super) fn is_dead(&self) -> bool {
        self.found && self.rows() == 0
    }

    /// The same with these of its threads alone, where no other match begins.
    pub(in crate::response::pattern) fn with_threads(
        &self,
        rows: impl Iterator<Item = usize>,
    ) -> Key {
        Key {
            threads: rows.map(|row| self.threads[row]).collect(),
            if_final: Box::default(),
            found: true,
            ..self.clone()
        }
    }

    /// How many threads there are in both lists: each has a row of registers.
    pub(in crate::response::pattern) fn rows(&self) -> usize {
        self.threads.len() + self.if_final.len()
    }

    /// The threads that count if the text ends here, and the row of registers of the first.
    pub(in crate::response::pattern) fn at_end(&self) -> (&[Pc], usize) {
        if self.if_final.is_empty() {
            (&self.threads, 0)
        } else {
            (&self.if_final, self.threads.len())
        }
    }
}

/// What holds if the text ends in a state.
#[derive(Debug, Clone, Copy)]
pub(in crate::response::pattern) struct AtEnd {
    /// The match, by the registers of its thread and its end.
    pub(in crate::response::pattern) found: Option<(Source, MatchEnd)>,
    /// The row of the best thread that wants more text.
    pub(super) live: Option<u16>,
    /// The registers of the best thread, whether it matches or wants more text.
    pub(in crate::response::pattern) best: Option<Source>,
    /// Whether the match is that of the best thread.
    pub(in crate::response::pattern) is_best: bool,
}

/// Where a match ends that holds if the text ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::response::pattern) enum MatchEnd {
    /// At the end of the text.
    Here,
    /// Before the newline that ends it.
    BeforeNewline,
    /// Where its register says, since it has looked ahead from there.
    Noted,
}

impl MatchEnd {
    /// The position, given that of the end of the text and what the register says.
    pub(super) fn position(self, at: usize, noted: Option<usize>) -> usize {
        match (noted, self) {
            (Some(noted), _) => noted,
            (None, MatchEnd::BeforeNewline) => at - 1,
            (None, MatchEnd::Here | MatchEnd::Noted) => at,
        }
    }
}

/// Where a row of registers comes from, and which of them take the current position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::response::pattern) struct Source {
    /// The row of the same thread before, or [`FRESH`].
    pub(in crate::response::pattern) row: u16,
    /// One bit for each register that takes the position.
    pub(in crate::response::pattern) sets: u64,
}

impl Source {
    /// A row as it was.
    pub(in crate::response::pattern) fn row(row: u16) -> Source {
        Source { row, sets: 0 }
    }
}
