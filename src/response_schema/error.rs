//! Why a response schema is refused, and why a text can't be read with one.

use std::fmt;

use thiserror::Error;

use crate::diagnostic::{Diagnostic, write_lines};

/// A response schema was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaError {
    /// The file it was read from, if it is known.
    pub origin: Option<String>,
    /// All that is wrong with it, at least one fault.
    pub faults: Vec<Diagnostic>,
}

impl SchemaError {
    /// The error, with the file that the schema came from.
    pub fn in_file(mut self, file: impl Into<String>) -> SchemaError {
        self.origin = Some(file.into());
        self
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.origin.as_ref().map(|file| file as &dyn fmt::Display);
        write_lines(f, &self.faults, file)
    }
}

impl std::error::Error for SchemaError {}

impl From<Diagnostic> for SchemaError {
    fn from(fault: Diagnostic) -> SchemaError {
        SchemaError {
            origin: None,
            faults: vec![fault],
        }
    }
}

/// A text could not be read with a response schema.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {message}", place(pointer))]
#[non_exhaustive]
pub struct ReadError {
    /// JSON pointer to the schema, inside of the whole, at which reading failed.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
}

fn place(pointer: &str) -> &str {
    match pointer {
        "" => "the schema",
        inner => inner,
    }
}
