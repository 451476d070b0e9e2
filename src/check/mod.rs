//! Fixtures.
mod document;
