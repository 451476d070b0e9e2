//! What can be wrong with a response template.

use std::fmt;

/// One fault of a response template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// JSON pointer to the value or the key at fault.
    pub pointer: String,
    /// Line and column in the document, both from 1, if it was read from one.
    pub position: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.position {
            write!(f, "{line}:{column}: ")?;
        }
        if !self.pointer.is_empty() {
            write!(f, "{}: ", self.pointer)?;
        }
        f.write_str(&self.message)?;
        match &self.remedy {
            Some(remedy) => write!(f, ": {remedy}"),
            None => Ok(()),
        }
    }
}

/// A response template was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateError {
    /// The file it was read from, if it is known.
    pub origin: Option<String>,
    /// All that is wrong with it, at least one fault.
    pub faults: Vec<Fault>,
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
        for (index, fault) in self.faults.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            if let Some(origin) = &self.origin {
                let separator = if fault.position.is_some() { ":" } else { ": " };
                write!(f, "{origin}{separator}")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for TemplateError {}
