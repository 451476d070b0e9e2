//! What a template may spend, since anybody may have written it.
//!
//! minijinja counts instructions. What a single instruction does, whether it joins, repeats, compares
//! or searches, is counted here in one unit, bytes: those of a text or a list that is made, a share of
//! those that are only read, and a few for each value that is looked at. All of it is asked for before
//! it is done. What neither catches, the clock does.

use std::cell::Cell;
use std::time::Duration;

use super::made;
use crate::stopwatch::Stopwatch;
use minijinja::{Error, ErrorKind, Value};

/// Instructions that a template may run. Templates in use take some ten thousand.
const MAX_STEPS: u64 = 5_000_000;
/// How deeply macros and includes may call each other.
pub(super) const MAX_RECURSION: usize = 200;
/// Bytes that a template may make, with those that stand for what it reads and looks at.
const MAX_BYTES: usize = 256 << 20;
/// So many bytes are read in the time that it takes to make one.
const READ_PER_MADE: usize = 8;
/// To look at a value takes as long as to make so many bytes.
const LOOK: usize = 64;
/// Bytes of a single text or list: what takes long with more of them can't be interrupted.
pub(super) const MAX_PIECE: usize = 16 << 20;
/// Pieces from this size on are an occasion to look at the clock.
const LARGE_PIECE: usize = 16 << 10;
/// How long it may take.
const MAX_TIME: Duration = Duration::from_millis(800);
/// Conversations that are longer than this take more of all: for each byte of what is given, a step, so many bytes, and
/// so much time.
const ORDINARY: usize = 64 << 10;
const BYTES_PER_GIVEN: usize = 16;
const TIME_PER_GIVEN: Duration = Duration::from_nanos(200);
/// The clock is asked once in so many times.
const CLOCK_EVERY: u32 = 32;

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(0) };
    static STARTED: Cell<Option<Stopwatch>> = const { Cell::new(None) };
    static BEYOND_ORDINARY: Cell<usize> = const { Cell::new(0) };
    static ASKED: Cell<u32> = const { Cell::new(0) };
}

/// Stands for the rendering that is under way in this thread.
pub(super) struct Spending(());

impl Spending {
    /// Begins a rendering of so many bytes.
    pub(super) fn begin(given: usize) -> Spending {
        made::free();
        BEYOND_ORDINARY.set(given.saturating_sub(ORDINARY));
        LEFT.set(max_bytes());
        STARTED.set(Some(Stopwatch::start()));
        Spending(())
    }
}

/// How many instructions the rendering may run that is under way, or was last.
pub(super) fn max_steps() -> u64 {
    MAX_STEPS + BEYOND_ORDINARY.get() as u64
}

fn max_bytes() -> usize {
    MAX_BYTES.saturating_add(BEYOND_ORDINARY.get().saturating_mul(BYTES_PER_GIVEN))
}

fn max_time() -> Duration {
    let given = u32::try_from(BEYOND_ORDINARY.get()).unwrap_or(u32::MAX);
    MAX_TIME + TIME_PER_GIVEN * given
}

impl Drop for Spending {
    fn drop(&mut self) {
        STARTED.set(None);
        made::free();
    }
}

/// Notes that so many bytes are about to be made.
pub(super) fn spend(bytes: usize) -> Result<(), Error> {
    limit(bytes)?;
    take(bytes)?;
    match bytes < LARGE_PIECE {
        true => tick(),
        false => look_at_clock(),
    }
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
    take(bytes / READ_PER_MADE)?;
    tick()
}

/// Notes that so many values are about to be looked at.
pub(super) fn look(count: usize) -> Result<(), Error> {
    take(count.saturating_mul(LOOK))?;
    tick()
}

fn take(bytes: usize) -> Result<(), Error> {
    match LEFT.get().checked_sub(bytes) {
        Some(left) => {
            LEFT.set(left);
            Ok(())
        }
        None => Err(exhausted(format!(
            "the template makes or reads more than {} MiB",
            max_bytes() >> 20
        ))),
    }
}

/// Looks at the clock, now and then.
pub(super) fn tick() -> Result<(), Error> {
    let asked = ASKED.get().wrapping_add(1);
    ASKED.set(asked);
    match asked % CLOCK_EVERY {
        0 => look_at_clock(),
        _ => Ok(()),
    }
}

fn look_at_clock() -> Result<(), Error> {
    if STARTED
        .get()
        .is_some_and(|started| started.elapsed() > max_time())
    {
        return Err(exhausted(format!(
            "the template takes longer than {} ms",
            max_time().as_millis()
        )));
    }
    Ok(())
}

/// From then on, there is nothing left to spend.
fn exhausted(why: String) -> Error {
    LEFT.set(0);
    Error::new(ErrorKind::OutOfFuel, why)
}
