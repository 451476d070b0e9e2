//! Grammars as structural tags, as xgrammar reads them.

use crate::value::Value;

use super::Grammar;

/// A grammar as a structural tag.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StructuralTag {
    /// What xgrammar, vLLM and SGLang take.
    pub value: Value,
    /// What the grammar says and the tag does not hold, and what the grammar itself does not hold.
    pub warnings: Vec<String>,
}

impl Grammar {
    /// The grammar as a structural tag.
    pub fn to_structural_tag(&self) -> StructuralTag {
        StructuralTag {
            value: Value::Null,
            warnings: self.warnings.clone(),
        }
    }
}
