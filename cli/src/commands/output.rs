//! Files that commands write.

use std::path::Path;

use crate::files;

use super::Failure;

/// Writes a file whole or not at all.
pub(crate) fn write_whole(path: &Path, text: &str) -> Result<(), Failure> {
    files::write_whole(path, text).map_err(|error| Failure::Input(error.to_string()))
}
