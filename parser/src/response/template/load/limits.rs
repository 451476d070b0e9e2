//! How large a template may be: anything up to here loads in a moment.

use std::sync::Arc;

use foldhash::HashMap;

use crate::diagnostic::{Diagnostic, MemberPart};
use crate::response::delimiter::Spelling;
use crate::response::pattern::{Pattern, PatternError};

use super::Loader;

/// So many fields a template may have.
pub(super) const MAX_FIELDS: usize = 1_000;
/// So many literals a delimiter may have.
pub(super) const MAX_LITERALS: usize = 1_000;
/// So many characters the literals of a delimiter may have together.
pub(super) const MAX_LITERAL_CHARACTERS: usize = 8_000;
/// So many steps all patterns and literals of a template may unroll to together; each character of a
/// literal is one.
pub(super) const MAX_STEPS: usize = 100_000;

/// Counts the steps of the patterns that have been compiled.
#[derive(Debug, Default)]
pub(super) struct Steps {
    taken: usize,
}

impl Steps {
    /// Whether there have been too many.
    pub(super) fn are_too_many(&self) -> bool {
        self.taken > MAX_STEPS
    }
}

/// Patterns that have been compiled, for templates that have many in common.
#[derive(Debug, Default)]
pub struct Patterns {
    known: HashMap<Spelling, Arc<Pattern>>,
}

impl Patterns {
    fn compiled(&mut self, spelling: &Spelling) -> Result<Arc<Pattern>, PatternError> {
        if let Some(known) = self.known.get(spelling) {
            return Ok(known.clone());
        }
        let compiled = Arc::new(match spelling {
            Spelling::Literals(literals) => Pattern::literals(literals)?,
            Spelling::Pattern(pattern) => Pattern::new(pattern)?,
        });
        self.known.insert(spelling.clone(), compiled.clone());
        Ok(compiled)
    }
}

impl Loader<'_> {
    /// Compiles a pattern, unless the template has proved too large before.
    pub(super) fn compiled(&mut self, pointer: &str, spelling: &Spelling) -> Option<Arc<Pattern>> {
        if self.steps.are_too_many() || self.faults.is_full() {
            return None;
        }
        let error = match self.patterns.compiled(spelling) {
            Ok(pattern) => {
                self.steps.taken += pattern.steps();
                if !self.steps.are_too_many() {
                    return Some(pattern);
                }
                self.fault_with(
                    pointer,
                    format!(
                        "the patterns and literals up to here unroll to more than {MAX_STEPS} steps together"
                    ),
                    "use fewer fields, shorter literals or smaller repeats",
                );
                return None;
            }
            Err(error) => error,
        };
        // To have read it so far has taken its time.
        self.steps.taken += error.offset;
        let message = format!(
            "the pattern can't have {}, as at its byte {}",
            error.message, error.offset
        );
        let mut fault = Diagnostic::new(message).at(pointer);
        fault.remedy = error.remedy;
        self.faults.add(fault, MemberPart::Value);
        None
    }

    /// Reports if there are more of something than there may be; says whether there are.
    pub(super) fn refuse_more_than(
        &mut self,
        most: usize,
        (count, what): (usize, &str),
        pointer: &str,
        remedy: &str,
    ) -> bool {
        if count > most {
            let message = format!("{count} {what}, where at most {most} are allowed");
            self.fault_with(pointer, message, remedy);
        }
        count > most
    }
}
