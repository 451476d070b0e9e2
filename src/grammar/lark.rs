//! Grammars as Lark, as llguidance reads it.

use super::{Grammar, Written};

impl Grammar {
    /// The grammar as Lark, as llguidance reads it.
    pub fn to_lark(&self) -> Written {
        Written {
            text: String::new(),
            warnings: self.warnings.clone(),
        }
    }
}
