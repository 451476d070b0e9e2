//! Where threads began, and where their groups lie.

use super::state::{FRESH, Source};

/// The value of a register that has not been set.
pub(in crate::response::pattern) const UNSET: usize = usize::MAX;

/// One row of registers for each thread of a state: where its match began, then start and end of
/// each group.
#[derive(Debug, Default)]
pub(super) struct Registers {
    rows: Vec<usize>,
    /// The rows before, whose room the next ones take.
    spare: Vec<usize>,
}

impl Registers {
    /// How many registers are set or could be.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Where the best thread began.
    #[inline]
    pub(super) fn first_start(&self) -> usize {
        self.rows[0]
    }

    /// Where the thread with a row began.
    pub(super) fn start(&self, row: u16, slots: usize) -> usize {
        self.rows[row as usize * slots]
    }

    /// What a register of a row has, or takes at a position.
    pub(super) fn value(
        &self,
        source: Source,
        slot: usize,
        slots: usize,
        position: usize,
    ) -> Option<usize> {
        if source.sets >> slot & 1 == 1 {
            return Some(position);
        }
        match source.row {
            FRESH => None,
            row => Some(self.rows[row as usize * slots + slot]).filter(|&value| value != UNSET),
        }
    }

    /// The rows of the threads that began at a position.
    pub(super) fn rows_from(&self, start: usize, slots: usize) -> Vec<Source> {
        let rows = self.rows.chunks_exact(slots).enumerate();
        let rows = rows.filter(|(_, row)| row[0] == start);
        rows.map(|(row, _)| Source::row(row as u16)).collect()
    }

    /// Replaces all rows by those that the threads of the next state have.
    #[inline]
    pub(super) fn update(&mut self, sources: &[Source], slots: usize, position: usize) {
        self.spare.clear();
        for &source in sources {
            copy_row(&mut self.spare, &self.rows, slots, source, position);
        }
        std::mem::swap(&mut self.spare, &mut self.rows);
    }

    /// Copies a row out, in place of what was there.
    #[inline]
    pub(super) fn copy_to(
        &self,
        to: &mut Vec<usize>,
        source: Source,
        slots: usize,
        position: usize,
    ) {
        to.clear();
        copy_row(to, &self.rows, slots, source, position);
    }
}

/// Adds a row to others.
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

/// The copy has the same rows, without the spare room.
impl Clone for Registers {
    fn clone(&self) -> Registers {
        Registers {
            rows: self.rows.clone(),
            spare: Vec::new(),
        }
    }
}
