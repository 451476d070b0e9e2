//! What searches may cost in all: neither patterns nor texts can be trusted.

/// A search has used up what it may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooCostly;

/// Steps that may be taken whatever the text.
const BASE: u64 = 8_000_000;
/// Steps that may be taken beyond that for each byte of the text. Patterns in use take less than
/// ten; those that go over the same text again and again take ever more, the longer it is.
const PER_BYTE: u64 = 256;

/// Counts the steps of all searches in one text.
#[derive(Debug, Clone)]
pub struct Meter {
    left: u64,
}

impl Meter {
    /// A meter for a text of so many bytes, which [`Meter::grow`] may make longer.
    pub fn new(bytes: usize) -> Meter {
        let mut meter = Meter { left: BASE };
        meter.grow(bytes);
        meter
    }

    /// The text has got longer.
    pub fn grow(&mut self, bytes: usize) {
        self.left += PER_BYTE * bytes as u64;
    }

    /// How many steps may still be taken.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Counts steps.
    pub fn spend(&mut self, steps: u64) -> Result<(), TooCostly> {
        self.left = self.left.checked_sub(steps).ok_or(TooCostly)?;
        Ok(())
    }
}
