//! The work that one rendering may spend, since anybody may have written the template.
//!
//! minijinja counts instructions. What a single instruction does, whether it joins, repeats, compares
//! or searches, is counted here in one unit, bytes: those of a text or a list that is made, a share of
//! those that are only read, and a few for each value that is looked at. All of it is asked for before
//! it is done. Instructions and bytes together are the work that is taken from the template's budget.

use std::cell::Cell;

use super::made;
use crate::budget::{BYTES, BYTES_IN_A_STEP, Budget, INSTRUCTIONS};
use minijinja::{Error, ErrorKind, State, Value};

/// How deeply macros and includes may call each other.
pub(super) const MAX_RECURSION: usize = 200;
/// So many bytes are read in the time that it takes to make one.
const READ_PER_MADE: usize = 8;
/// A byte is changed in the time that it takes to make so many.
const CHANGE: usize = 8;
/// To look at a value takes as long as to make so many bytes.
const LOOK: usize = 64;
/// Bytes of a single text or list: what takes long with more of them can't be interrupted.
pub(super) const MAX_PIECE: usize = 16 << 20;
/// Conversations that are longer than this take more of all: for each byte of what is given, a step and so many bytes.
const ORDINARY: usize = 64 << 10;
const BYTES_PER_GIVEN: usize = 16;

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(0) };
    static LIMITS: Cell<Limits> = const { Cell::new(Limits { instructions: 0, bytes: 0, is_rest: false }) };
    static RUN: Cell<u64> = const { Cell::new(0) };
}

/// The most that a rendering may take.
#[derive(Clone, Copy)]
struct Limits {
    instructions: u64,
    bytes: usize,
    /// Less is left of the template's budget than a rendering may take.
    is_rest: bool,
}

impl Limits {
    /// The limits of a rendering of so many bytes, for which so many steps are left.
    fn of(given: usize, left: u64) -> Limits {
        let beyond = given.saturating_sub(ORDINARY);
        let bytes = BYTES.saturating_add(beyond.saturating_mul(BYTES_PER_GIVEN));
        let instructions = INSTRUCTIONS + beyond as u64;
        let rest = usize::try_from(left).unwrap_or(usize::MAX);
        let rest = rest.saturating_mul(BYTES_IN_A_STEP);
        Limits {
            instructions: instructions.min(left),
            bytes: bytes.min(rest),
            is_rest: left < instructions || rest < bytes,
        }
    }
}

/// Stands for the rendering that is under way in this thread.
pub(super) struct Spending<'b>(&'b Budget);

impl Spending<'_> {
    /// Begins a rendering of so many bytes.
    pub(super) fn begin(given: usize, budget: &Budget) -> Spending<'_> {
        made::free();
        let limits = Limits::of(given, budget.left());
        LIMITS.set(limits);
        LEFT.set(limits.bytes);
        RUN.set(0);
        Spending(budget)
    }
}

impl Drop for Spending<'_> {
    fn drop(&mut self) {
        let made = LIMITS.get().bytes - LEFT.get();
        self.0.spend(RUN.get() + (made / BYTES_IN_A_STEP) as u64);
        made::free();
    }
}

/// How many instructions the rendering may run that is under way, or was last.
pub(super) fn max_steps() -> u64 {
    LIMITS.get().instructions
}

/// The error of a rendering that has run all instructions that it may.
pub(super) fn too_many_steps() -> String {
    match LIMITS.get().is_rest {
        true => NOTHING_LEFT.to_owned(),
        false => format!("the template takes more than {} steps", max_steps()),
    }
}

/// The message where one rendering would do, but not after all those before it.
pub(super) const NOTHING_LEFT: &str = "the renderings so far have taken too much work to go on";

/// Notes how many instructions have been run, where a loop or a macro begins and where the rendering ends. What fails in between
/// has run a few more, at most as many as the template has.
pub(super) fn note_run(state: &State<'_, '_>) {
    if let Some((run, _)) = state.fuel_levels() {
        RUN.set(run);
    }
}

/// Notes that so many bytes are about to be made.
pub(super) fn spend(bytes: usize) -> Result<(), Error> {
    limit(bytes)?;
    take(bytes)
}

/// Refuses a text or a list that is too large.
pub(super) fn limit(bytes: usize) -> Result<(), Error> {
    match bytes > MAX_PIECE {
        true => Err(too_large()),
        false => Ok(()),
    }
}

/// The error of a text or a list that is too large.
pub(super) fn too_large() -> Error {
    exhausted(format!(
        "the template makes a text or a list of more than {} MiB",
        MAX_PIECE >> 20
    ))
}

/// Notes that so many items are about to be made, or copied.
pub(super) fn spend_items(count: usize) -> Result<(), Error> {
    spend(count.saturating_mul(size_of::<Value>()))
}

/// Notes that a text of so many bytes is about to be read.
pub(super) fn read(bytes: usize) -> Result<(), Error> {
    take(bytes / READ_PER_MADE)
}

/// Notes that each character of a text of so many bytes is about to be changed.
pub(super) fn change(bytes: usize) -> Result<(), Error> {
    limit(bytes)?;
    take(bytes.saturating_mul(CHANGE))
}

/// Notes that so many values are about to be looked at.
pub(super) fn look(count: usize) -> Result<(), Error> {
    take(count.saturating_mul(LOOK))
}

fn take(bytes: usize) -> Result<(), Error> {
    match LEFT.get().checked_sub(bytes) {
        Some(left) => {
            LEFT.set(left);
            Ok(())
        }
        None => Err(exhausted(match LIMITS.get() {
            Limits { is_rest: true, .. } => NOTHING_LEFT.to_owned(),
            limits => format!(
                "the template makes or reads more than {} MiB",
                limits.bytes >> 20
            ),
        })),
    }
}

/// From then on, there is nothing left to spend.
fn exhausted(why: String) -> Error {
    LEFT.set(0);
    Error::new(ErrorKind::OutOfFuel, why)
}
