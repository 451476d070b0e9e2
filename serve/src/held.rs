//! Bytes that requests and answers hold at once. Each has a little of its own, and the rest is of a room which all share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tokio::sync::Notify;

use crate::fault::Fault;

/// So many bytes each may hold whatever others do: requests of most people are no larger.
pub(crate) const OWN: usize = 64 << 10;

/// Room for so many bytes.
#[derive(Debug)]
pub(crate) struct Room {
    most: usize,
    taken: AtomicUsize,
    /// Bytes have been given back.
    pub(crate) freed: Notify,
}

impl Room {
    pub(crate) fn new(most: usize) -> Arc<Room> {
        Arc::new(Room {
            most,
            taken: AtomicUsize::new(0),
            freed: Notify::new(),
        })
    }

    /// The part of it that is taken.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    /// The fault of something for which there is no room.
    pub(crate) fn full(&self) -> Fault {
        Fault::overloaded(format!(
            "requests and answers hold {} bytes already, and there is no room for more: see `--max-held`",
            self.most
        ))
    }

    fn take(&self, bytes: usize) -> bool {
        let more = |taken: usize| {
            let taken = taken.checked_add(bytes)?;
            (taken <= self.most).then_some(taken)
        };
        self.taken.fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    fn give_back(&self, bytes: usize) {
        if bytes > 0 {
            self.taken.fetch_sub(bytes, Relaxed);
            self.freed.notify_waiters();
        }
    }
}

/// Bytes that one of them holds. When this is dropped, it holds nothing more.
#[derive(Debug)]
pub(crate) struct Held {
    room: Arc<Room>,
    bytes: usize,
}

impl Held {
    /// Somebody who holds nothing yet.
    pub(crate) fn new(room: &Arc<Room>) -> Held {
        Held {
            room: Arc::clone(room),
            bytes: 0,
        }
    }

    /// Holds so many bytes from now on, unless there is no room for them: then it holds what it did.
    pub(crate) fn set(&mut self, bytes: usize) -> Result<(), Fault> {
        let before = self.shared();
        let after = bytes.saturating_sub(OWN);
        if after > before && !self.room.take(after - before) {
            return Err(self.room.full());
        }
        self.bytes = bytes;
        self.room.give_back(before.saturating_sub(after));
        Ok(())
    }

    /// Holds so many more.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), Fault> {
        self.set(self.bytes.saturating_add(bytes))
    }

    /// The part of it that is of the room which all share.
    fn shared(&self) -> usize {
        self.bytes.saturating_sub(OWN)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.room.give_back(self.shared());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_little_of_its_own_and_all_together_no_more_than_there_is() {
        let room = Room::new(100);
        let mut both = [Held::new(&room), Held::new(&room)];
        for (which, bytes, is_held, taken) in [
            (0, OWN, true, 0),
            (0, OWN + 90, true, 90),
            (1, OWN + 11, false, 90),
            (1, OWN + 10, true, 100),
            (0, OWN + 91, false, 100),
            (0, 0, true, 10),
            (0, usize::MAX, false, 10),
        ] {
            let is_set = both[which].set(bytes).is_ok();
            assert_eq!((is_set, room.taken()), (is_held, taken), "{bytes}");
        }
        drop(both);
        assert_eq!(room.taken(), 0);
    }
}
