//! What a template may spend, since anybody may have written it.
//!
//! minijinja counts instructions. What a single instruction may do (to join, to repeat, to
//! replace) is bounded by the bytes that it makes, and what neither catches by the clock.

use std::cell::Cell;
use std::time::{Duration, Instant};

use minijinja::{Error, ErrorKind};

/// Instructions that a template may run. Templates in use take some ten thousand.
pub(super) const MAX_STEPS: u64 = 5_000_000;
/// How deeply macros and includes may call each other.
pub(super) const MAX_RECURSION: usize = 200;
/// Bytes of text and of list items that a template may make, all of them counted.
const MAX_BYTES: usize = 256 << 20;
/// Bytes of a single text or list: what takes long with more of them can't be interrupted.
const MAX_PIECE: usize = 16 << 20;
/// Pieces from this size on are an occasion to look at the clock.
const LARGE_PIECE: usize = 16 << 10;
/// How long it may take.
const MAX_TIME: Duration = Duration::from_millis(800);
/// The clock is asked once in so many times.
const CLOCK_EVERY: u32 = 32;

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(0) };
    static ENDS: Cell<Option<Instant>> = const { Cell::new(None) };
    static ASKED: Cell<u32> = const { Cell::new(0) };
}

/// Stands for the rendering that is under way in this thread.
pub(super) struct Spending(());

impl Spending {
    pub(super) fn begin() -> Spending {
        LEFT.set(MAX_BYTES);
        ENDS.set(Some(Instant::now() + MAX_TIME));
        Spending(())
    }
}

impl Drop for Spending {
    fn drop(&mut self) {
        ENDS.set(None);
    }
}

/// Notes that so many bytes are about to be made.
pub(super) fn spend(bytes: usize) -> Result<(), Error> {
    if bytes > MAX_PIECE {
        return Err(exhausted(format!(
            "the template makes a text or a list of more than {} MiB",
            MAX_PIECE >> 20
        )));
    }
    match LEFT.get().checked_sub(bytes) {
        Some(left) => LEFT.set(left),
        None => {
            return Err(exhausted(format!(
                "the template makes more than {} MiB of text",
                MAX_BYTES >> 20
            )));
        }
    }
    match bytes < LARGE_PIECE {
        true => tick(),
        false => look_at_clock(),
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
    if ENDS.get().is_some_and(|ends| Instant::now() > ends) {
        return Err(exhausted(format!(
            "the template takes longer than {} ms",
            MAX_TIME.as_millis()
        )));
    }
    Ok(())
}

/// From then on, there is nothing left to spend.
fn exhausted(why: String) -> Error {
    LEFT.set(0);
    Error::new(ErrorKind::OutOfFuel, why)
}
