//! What commands print and write.

use std::path::Path;

use crate::files;

use unjinja::{Value, json};

use super::Failure;

/// JSON for programs that people can read, too.
pub(crate) fn pretty(value: &Value) -> String {
    json::write_styled(value, &json::Style::pretty(2)) + "\n"
}

/// Writes a file whole or not at all.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    files::write_whole(path, text).map_err(|error| Failure::Input(error.to_string()))
}
