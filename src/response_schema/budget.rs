//! What reading may cost: neither schemas nor texts can be trusted.

use crate::response::pattern::Meter;
use crate::value::{Number, Value};

/// More is asked for than is allowed for the text.
#[derive(Debug)]
pub(super) struct Exhausted;

/// What is left of what reading one text may cost.
///
/// Each schema is given a part of the text, so all of them together are given the text once for each
/// schema, or a few times if patterns take it apart one after the other. But groups in lookaround can
/// take the rest of the text again at every character of it, substitutions can write what a group
/// matched many times over, and transforms can copy a value. Whatever reads bytes or makes some takes
/// them here first.
#[derive(Debug)]
pub(super) struct Budget {
    /// Bytes that may still be read.
    reading: usize,
    /// Bytes that may still be made.
    making: usize,
    /// Steps of patterns.
    pub(super) meter: Meter,
}

impl Budget {
    /// So much may be read or made of any text.
    const BASE: usize = 1 << 20;
    /// So often each schema may be given the whole text.
    const READINGS: usize = 8;
    /// So many bytes may be made for each byte of the text.
    const MAKING: usize = 32;

    /// The budget of a text of so many bytes, read with so many schemas inside of each other.
    pub(super) fn new(bytes: usize, schemas: usize) -> Budget {
        let times = |factor: usize| Budget::BASE.saturating_add(bytes.saturating_mul(factor));
        Budget {
            reading: times(Budget::READINGS * (schemas + 1)),
            making: times(Budget::MAKING),
            meter: Meter::new(0),
        }
    }

    /// Counts a text that is about to be read. A text takes its time even if it is empty.
    pub(super) fn read(&mut self, bytes: usize) -> Result<(), Exhausted> {
        let left = self.reading.checked_sub(16 + bytes);
        self.reading = left.ok_or(Exhausted)?;
        Ok(())
    }

    /// Counts bytes that are about to be made. Each value takes its room even if it is empty.
    pub(super) fn make(&mut self, bytes: usize) -> Result<(), Exhausted> {
        let left = self.making.checked_sub(16 + bytes);
        self.making = left.ok_or(Exhausted)?;
        Ok(())
    }

    /// Counts a copy of a value that is about to be made.
    pub(super) fn make_copy(&mut self, value: &Value) -> Result<(), Exhausted> {
        self.make(match value {
            Value::String(text) => text.len(),
            Value::Number(Number::BigInt(digits)) => digits.len(),
            _ => 0,
        })?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.make_copy(item)),
            Value::Object(object) => object.iter().try_for_each(|(key, value)| {
                self.make(key.len())?;
                self.make_copy(value)
            }),
            _ => Ok(()),
        }
    }
}
