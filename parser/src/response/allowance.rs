//! How much may be made of a text, and how much work it may take.

/// How many bytes may still be parsed for one region.
///
/// Value parsers stand in each other, and each may be given the same text again and again. So a short
/// template could take a time that no text justifies.
#[derive(Debug, Clone)]
pub(super) struct Allowance {
    left: usize,
}

/// More is asked for than is allowed for the text.
#[derive(Debug)]
pub(super) struct Exhausted;

impl Allowance {
    /// The allowance of a region with a text of so many bytes.
    pub(super) fn new(bytes: usize) -> Allowance {
        Allowance {
            left: (1 << 20) + 64 * bytes,
        }
    }

    /// So much more text has come.
    pub(super) fn allow(&mut self, bytes: usize) {
        self.left = self.left.saturating_add(64 * bytes);
    }

    /// Counts bytes that are parsed.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.left = self.left.checked_sub(bytes).ok_or(Exhausted)?;
        Ok(())
    }
}

/// How many bytes a message may still get beyond what its text holds.
///
/// A transform can repeat the text of a region and has literals of its own, and `join` stands between all
/// regions of a field. So a short template could make a message that there is no memory for. Whatever
/// makes bytes takes them here first.
#[derive(Debug, Clone)]
pub(super) struct Growth {
    left: usize,
}

impl Growth {
    const BASE: usize = 1 << 20;
    const PER_BYTE: usize = 16;

    /// The growth of a message of which no text has come yet.
    pub(super) fn new() -> Growth {
        Growth { left: Growth::BASE }
    }

    /// So much more text has come.
    pub(super) fn allow(&mut self, bytes: usize) {
        self.left = self.left.saturating_add(Growth::PER_BYTE * bytes);
    }

    /// Takes bytes that are about to be made.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.left = self.left.checked_sub(bytes).ok_or(Exhausted)?;
        Ok(())
    }
}
