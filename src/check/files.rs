//! Files that fixtures stand in, and those that they name.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::files::{self, ReadFault};

/// Files may be this large. Fixtures are written by hand, and their places are kept in memory.
const MAX_FILE: u64 = 32 << 20;

/// Folders are searched this deep.
const MAX_DEPTH: usize = 64;

/// How the names of fixtures end.
const ENDINGS: [&str; 3] = [".fixture.yaml", ".fixture.yml", ".fixture.json"];

/// Reads a file of text.
pub(super) fn read_text(path: &Path) -> Result<String, Diagnostic> {
    read_text_up_to(path, MAX_FILE)
}

/// Reads a file of text that may have so many bytes.
pub(super) fn read_text_up_to(path: &Path, most: u64) -> Result<String, Diagnostic> {
    files::read_text(path, most).map_err(|error| match error.fault {
        ReadFault::System(error) => refused(&error),
        ReadFault::TooLarge { .. } => {
            Diagnostic::new(error.fault.to_string()).with_remedy("divide it into several")
        }
        ReadFault::NotUtf8 { position } => Diagnostic::new("the file is not valid UTF-8")
            .at_position(position)
            .with_remedy("save it as UTF-8"),
    })
}

/// What the error of the system means, for people.
fn refused(error: &io::Error) -> Diagnostic {
    match error.kind() {
        io::ErrorKind::NotFound => Diagnostic::new("there is no such file")
            .with_remedy("check the path; in a fixture, it is relative to the fixture's folder"),
        _ => Diagnostic::new(format!("can't be read: {error}")),
    }
}

/// Whether a file is a fixture by its name, so that it is found in a folder.
///
/// ```
/// use std::path::Path;
/// use unjinja::check::is_fixture;
///
/// assert!(is_fixture(Path::new("fixtures/calls.fixture.yaml")));
/// assert!(!is_fixture(Path::new("fixtures/calls.yaml")));
/// ```
pub fn is_fixture(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    name.is_some_and(|name| ENDINGS.iter().any(|ending| name.ends_with(ending)))
}

/// The fixtures among some paths and below them, in order and none twice. A file that is named
/// counts whatever its name is. What can't be searched comes along as it is: reading it is an error
/// that says why.
pub fn find(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => search(path, 0, &mut found),
            false => found.push(path.clone()),
        }
    }
    found.sort();
    let mut known = HashSet::new();
    found.retain(|path| known.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
    found
}

/// Links to folders are not followed, since they may lead round in circles. What is hidden is left
/// alone, as are pipes and devices, of which nobody knows when they come to an end.
fn search(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return found.push(folder.to_owned());
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // In the current folder, paths are written without a dot before them.
        let path = match folder == Path::new(".") {
            true => PathBuf::from(&*name),
            false => entry.path(),
        };
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_special = || fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file());
        if name.starts_with('.') {
            continue;
        } else if is_folder && depth < MAX_DEPTH {
            search(&path, depth + 1, found);
        } else if !is_folder && is_fixture(&path) && !is_special() {
            found.push(path);
        }
    }
}
