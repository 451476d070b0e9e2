//! Files of text, read whole up to a limit.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::files::{ReadFault, read_all};

use super::error::LoadError;

/// Texts may be this large. The largest files that are read, those of tokenizers, have half of it.
pub(super) const MAX_TEXT: u64 = 64 << 20;

/// Reads a whole file of text.
pub(super) fn read_text(path: &Path) -> Result<String, LoadError> {
    let name = path.display().to_string();
    let fail = |error| LoadError::Read {
        name: name.clone(),
        error,
    };
    let file = File::open(path).map_err(fail)?;
    if file.metadata().map_err(fail)?.len() > MAX_TEXT {
        return Err(too_large(&name));
    }
    read_limited(&name, file)
}

/// Reads all there is, which may be more than a file said it has.
pub(super) fn read_limited(name: &str, source: impl Read) -> Result<String, LoadError> {
    let name = name.to_owned();
    read_all(source, MAX_TEXT).map_err(|fault| match fault {
        ReadFault::System(error) => LoadError::Read { name, error },
        ReadFault::TooLarge { limit } => LoadError::TooLarge { name, limit },
        ReadFault::NotUtf8 { position } => LoadError::NotUtf8 {
            name,
            offset: position.offset as u64,
        },
    })
}

/// Whether there is a file. One that can't be looked at is there, too: reading it says why.
pub(super) fn is_there(path: &Path) -> bool {
    match path.metadata() {
        Ok(metadata) => metadata.is_file(),
        Err(error) => !is_missing(&error),
    }
}

/// Whether an error of the system says that there is nothing of that name.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

pub(super) fn too_large(name: &str) -> LoadError {
    LoadError::TooLarge {
        name: name.to_owned(),
        limit: MAX_TEXT,
    }
}

/// The name of a file without its folders.
pub(super) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
