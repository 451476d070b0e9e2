//! Files that are written whole or not at all.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;

use thiserror::Error;

/// Links that lead to links are followed this far, as Linux does.
const MAX_LINKS: usize = 40;

/// How many names are tried for a temporary file.
const MAX_NAMES: usize = 100;

/// A file that can't be written.
#[derive(Debug, Error)]
#[error("{}: can't write the file: {error}: {}", path.display(), remedy(error))]
#[non_exhaustive]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// What the system says.
    #[source]
    pub error: io::Error,
}

/// Writes a file whole or not at all: whoever reads it sees what it was before, or all that it is
/// now. A file that is there keeps its permissions, and a link stays one. The folder of a new file is
/// made if it is not there.
///
/// ```
/// use unjinja_cli::files::write_whole;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("template.json");
/// write_whole(&path, "{}\n")?;
/// assert_eq!(std::fs::read_to_string(&path)?, "{}\n");
///
/// let error = write_whole(folder.path(), "{}\n").expect_err("it is a folder");
/// assert!(error.to_string().ends_with("can't write the file: it is a folder: choose another place"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If there is no file that can be written at this path, or the disk is full.
pub fn write_whole(path: &Path, text: &str) -> Result<(), WriteError> {
    let attempt = || {
        let target = followed(path)?;
        let old = writable(&target)?;
        if let Some(folder) = target.parent().filter(|_| old.is_none()) {
            fs::create_dir_all(folder)?;
        }
        let mut temporary = Temporary::beside(&target)?;
        if let Some(old) = old {
            // First of all, or others could read what is meant to be private.
            temporary.file.set_permissions(old.permissions())?;
        }
        temporary.file.write_all(text.as_bytes())?;
        temporary.file.sync_all()?;
        temporary.rename(&target)
    };
    attempt().map_err(|error| WriteError {
        path: path.to_owned(),
        error,
    })
}

/// Whether two paths lead to the same file, whatever links are on the way.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    match (identity(one), identity(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// What no other file has.
#[cfg(unix)]
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).map(|file| (file.dev(), file.ino()))
}

/// What no other file has, but for those that are linked to it.
#[cfg(not(unix))]
fn identity(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "make the file and its folder writable, or choose another place"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room on the disk, and try again",
        _ => "choose another place",
    }
}

/// The place that a path means, which may be one where there is no file yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&target) else {
            // What is wrong with a path that can't be read shows when it is written.
            return Ok(target);
        };
        target.pop();
        target.push(next);
    }
    Err(io::Error::other("its links lead round in a circle"))
}

/// What is known of the file that is to be replaced. Fails if it could not be written into: a new
/// file would get by its protection.
fn writable(target: &Path) -> io::Result<Option<Metadata>> {
    let old = match fs::metadata(target) {
        Ok(old) => old,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if old.is_dir() {
        return Err(io::Error::other("it is a folder"));
    }
    if !old.is_file() {
        return Err(io::Error::other("it is a device or a pipe"));
    }
    OpenOptions::new().write(true).open(target)?;
    Ok(Some(old))
}

/// A file that goes away unless it gets its final name.
struct Temporary {
    path: PathBuf,
    file: File,
    is_renamed: bool,
}

impl Temporary {
    /// Files can only be renamed at once within a file system, hence in the same folder.
    fn beside(target: &Path) -> io::Result<Self> {
        for number in 0..MAX_NAMES {
            let name = format!(".unjinja-{}-{number}.tmp", process::id());
            let path = target.with_file_name(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    return Ok(Self {
                        path,
                        file,
                        is_renamed: false,
                    });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(
            "its folder is full of temporary files, `.unjinja-*.tmp`, which can be deleted",
        ))
    }

    fn rename(mut self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_renamed {
            // Whatever went wrong before is the error to be reported.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use tempfile::{TempDir, tempdir};

    use super::*;

    fn folder() -> TempDir {
        tempdir().expect("a folder")
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().display().to_string())
            .collect();
        names.sort();
        names
    }

    fn refusal(path: &Path) -> String {
        let error = write_whole(path, "new").expect_err("can't be written");
        let message = error.to_string();
        let place = format!("{}: can't write the file: ", path.display());
        let rest = message.strip_prefix(&place);
        rest.expect("the message begins with the place").to_owned()
    }

    #[test]
    fn files_are_made_and_replaced() {
        let folder = folder();
        let path = folder.path().join("a.json");
        for text in ["{}\r\n", "", "long\n".repeat(100_000).as_str()] {
            write_whole(&path, text).expect("is written");
            assert_eq!(fs::read_to_string(&path).expect("a file"), text);
        }
        assert_eq!(names(folder.path()), ["a.json"]);
    }

    #[test]
    fn other_temporary_files_are_left_alone() {
        let folder = folder();
        let other = format!(".unjinja-{}-0.tmp", process::id());
        fs::write(folder.path().join(&other), "other").expect("is written");
        write_whole(&folder.path().join("a"), "new").expect("is written");
        assert_eq!(names(folder.path()), [other.as_str(), "a"]);
        let text = fs::read_to_string(folder.path().join(&other)).expect("a file");
        assert_eq!(text, "other");
        for number in 1..MAX_NAMES {
            let name = format!(".unjinja-{}-{number}.tmp", process::id());
            fs::write(folder.path().join(name), "").expect("is written");
        }
        let message = refusal(&folder.path().join("a"));
        assert!(message.contains("which can be deleted"), "{message}");
    }

    #[test]
    fn what_can_not_be_written_is_reported_with_a_remedy() {
        let folder = folder();
        let message = refusal(folder.path());
        assert_eq!(message, "it is a folder: choose another place");
        fs::write(folder.path().join("file"), "").expect("is written");
        let message = refusal(&folder.path().join("file/a.json"));
        assert!(message.ends_with(": choose another place"), "{message}");
        assert_eq!(names(folder.path()), ["file"]);
    }

    #[test]
    fn folders_are_made() {
        let folder = folder();
        let path = folder.path().join("some/where/a.json");
        write_whole(&path, "new").expect("is written");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "new");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_the_same_by_each_of_its_names() {
        use std::os::unix::fs::symlink;
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        for name in ["a", "b"] {
            fs::write(at(name), "").expect("is written");
        }
        fs::create_dir(at("deep")).expect("a folder");
        symlink("a", at("soft")).expect("a link");
        fs::hard_link(at("a"), at("hard")).expect("a link");
        for (name, is_same) in [
            ("a", true),
            ("./a", true),
            ("deep/../a", true),
            ("soft", true),
            ("hard", true),
            ("b", false),
            ("none", false),
        ] {
            assert_eq!(is_same_file(&at("a"), &at(name)), is_same, "{name}");
        }
        assert!(!is_same_file(&at("none"), &at("none")));
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_left_behind_by_a_failure() {
        let folder = folder();
        // Only when the file gets its name does it turn out that this is none for a file.
        refusal(&folder.path().join("a/"));
        refusal(&folder.path().join("a".repeat(300)));
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_not_replaced() {
        let message = refusal(Path::new("/dev/null"));
        assert_eq!(message, "it is a device or a pipe: choose another place");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder();
        let path = folder.path().join("a");
        for mode in [0o600, 0o664, 0o755] {
            fs::write(&path, "old").expect("is written");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("is set");
            write_whole(&path, "new").expect("is written");
            let now = fs::metadata(&path).expect("a file").permissions().mode();
            assert_eq!(now & 0o777, mode);
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_protected_stays_as_it_is() {
        use std::os::unix::fs::PermissionsExt;
        let folder = folder();
        let path = folder.path().join("a");
        fs::write(&path, "old").expect("is written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("is set");
        if OpenOptions::new().write(true).open(&path).is_ok() {
            return; // the superuser may write everything
        }
        let message = refusal(&path);
        assert!(message.contains("writable, or choose"), "{message}");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "old");
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links() {
        use std::os::unix::fs::symlink;
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("far")).expect("a folder");
        symlink("far/second", at("first")).expect("a link");
        symlink("../real", at("far/second")).expect("a link");
        for text in ["made", "replaced"] {
            write_whole(&at("first"), text).expect("is written");
            assert_eq!(fs::read_to_string(at("real")).expect("a file"), text);
        }
        assert!(at("first").is_symlink() && at("far/second").is_symlink());
        assert_eq!(names(folder.path()), ["far", "first", "real"]);
        assert_eq!(names(&at("far")), ["second"]);

        symlink("circle", at("circle")).expect("a link");
        let message = refusal(&at("circle"));
        assert_eq!(
            message,
            "its links lead round in a circle: choose another place"
        );
    }
}
