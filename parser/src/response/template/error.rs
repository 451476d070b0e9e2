//! Why a response template is refused.

use std::fmt;

use crate::diagnostic::{Diagnostic, write_lines};

/// A response template was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemplateError {
    /// The file it was read from, if it is known.
    pub origin: Option<String>,
    /// All that is wrong with it, at least one fault.
    pub faults: Vec<Diagnostic>,
}

impl TemplateError {
    /// The error, with the file that the template came from.
    pub fn in_file(mut self, file: impl Into<String>) -> TemplateError {
        self.origin = Some(file.into());
        self
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.origin.as_ref().map(|file| file as &dyn fmt::Display);
        write_lines(f, &self.faults, file)
    }
}

impl std::error::Error for TemplateError {}

impl From<Diagnostic> for TemplateError {
    fn from(fault: Diagnostic) -> TemplateError {
        TemplateError {
            origin: None,
            faults: vec![fault],
        }
    }
}
