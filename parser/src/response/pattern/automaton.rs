//! The engine that reads every character once.
//!
//! A [`Scanner`] runs a program as an automaton whose states are built when they are first needed
//! and kept in a [`Cache`]. A state is the list of threads that a backtracking matcher would still
//! have to try, best first, so that what it finds is what backtracking finds: leftmost, then by
//! priority. Beside the state stand registers: for each thread where its match began, and where its
//! named groups lie. They make the automaton fit for streams: it can be stopped after any character
//! and asked whether something has matched, or from which position on the text could still grow
//! into a match.
//!
//! # Registers
//!
//! The pattern `<(?P<n>\w+)>` has three registers for each thread: the start of the match, and the
//! start and the end of `n`. In the text `<a>` they are moved as follows.
//!
//! ```text
//! read   threads                  registers of the one thread
//!        none: idle
//! <      before the first \w      0  -  -
//! a      before \w or >           0  1  -
//! >      at the end               0  1  2
//! ```
//!
//! A transition says for each thread of the next state from which row of registers its own come,
//! and which of them take the current position. Most transitions leave them all where they are and
//! are but the number of the next state; see [`transition`].
//!
//! # Holding back
//!
//! The pattern is `\s*</x>`, and the text so far is `a <`. The best thread that wants more text began
//! at the space, as its register says: so the text from position 1 on is held back
//! ([`Verdict::Partial`]). If the next character is `b`, the thread dies, the state is idle, and all
//! of the text may go. If it is `/`, the register still says 1.
//!
//! # Matches are found with the character behind them
//!
//! Whether a thread has matched is known when the next character is read, or when somebody asks
//! what holds if the text ends here ([`Cache::at_end`]). With `ab?` the text `a` has a match, 0 to 1,
//! if it ends; if a `b` comes, the better thread goes on, and the match is 0 to 2.
//!
//! # A final newline
//!
//! `$` also matches before a newline that ends the text. When a newline is read, nobody knows whether
//! it is the last character. So a state has a second list of threads, [`Key::if_final`], those
//! that there are if it is. For the pattern `a$`:
//!
//! ```text
//! read   threads    if it was the final newline
//! a      before $
//! \n     none       a match, 0 to 1
//! b      none
//! ```
//!
//! Where the text ends in such a state, the second list counts in place of the first; the next
//! character drops it.

//!
//! # Looking ahead
//!
//! A look ahead at a match's end is run as if it belonged to the match; a register notes where the match
//! has ended. For the pattern `a(?=bc)`:
//!
//! ```text
//! read   threads                  registers: the start of the match, and its end
//! a      before b                 0  -
//! b      before c                 0  1
//! c      at the end               0  1: a match, 0 to 1
//! ```
//!
//! # Looking behind
//!
//! What is looked for behind is run beside the threads, from every position: [`Key::behind`] is where it
//! has got to. For the pattern `(?<!ab)c`:
//!
//! ```text
//! read   threads    what is looked for behind
//! a      none       before b
//! b      none       at its end: the next c is no match
//! c      none       none
//! ```

mod cache;
mod registers;
mod scanner;
mod state;
mod threads;
mod transition;

#[cfg(doc)]
use super::Verdict;
use super::prefilter::Prefilter;
use super::program::Program;

pub(super) use cache::Cache;
pub(super) use registers::UNSET;
pub use scanner::Scanner;
pub(super) use state::{AtEnd, FRESH, Key, MatchEnd, Source, StateId};
pub(super) use transition::Transition;

/// A program ready to be scanned with.
#[derive(Debug)]
pub struct Automaton {
    pub(super) program: Program,
    prefilter: Prefilter,
    /// Where a match or a part may begin as long as no part has begun, if that is known any better.
    before_parts: Option<Prefilter>,
    /// Where the parts may begin that the text behind a position is held against.
    parts: Prefilter,
}

impl Automaton {
    pub fn new(program: Program) -> Automaton {
        Automaton {
            prefilter: Prefilter::new(&program),
            before_parts: Prefilter::before_parts(&program),
            parts: Prefilter::for_parts(&program),
            program,
        }
    }

    pub(super) fn prefilter(&self) -> &Prefilter {
        &self.prefilter
    }

    pub(super) fn before_parts(&self) -> Option<&Prefilter> {
        self.before_parts.as_ref()
    }
}
