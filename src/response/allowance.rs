//! How much work the value of a region may take.

/// How many bytes may still be parsed or copied for one region.
///
/// Value parsers stand in each other, and each may be given the same text again and again; a
/// transform can ask for the same text as often as it likes. So a short template could make a value,
/// or take a time, that no text justifies.
#[derive(Debug)]
pub(super) struct Allowance {
    left: usize,
}

/// A region's value takes more than is allowed for its text.
#[derive(Debug)]
pub(super) struct Exhausted;

impl Allowance {
    /// The allowance of a region with a text of so many bytes.
    pub(super) fn new(bytes: usize) -> Allowance {
        Allowance {
            left: (1 << 20) + 64 * bytes,
        }
    }

    /// Counts bytes that are parsed or copied.
    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Exhausted> {
        self.left = self.left.checked_sub(bytes).ok_or(Exhausted)?;
        Ok(())
    }
}
