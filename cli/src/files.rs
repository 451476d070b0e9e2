//! Files that are written whole or not at all.

use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use thiserror::Error;

/// Links that lead to links are followed this far, as Linux does.
const MAX_LINKS: usize = 40;

/// How many names are tried for a temporary file.
const MAX_NAMES: usize = 100;

/// Temporary files of others that nobody has changed for this long, and nobody has open, were left
/// behind by a process that was killed.
const LEFT_BEHIND: Duration = Duration::from_secs(10);

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

/// What a file has lost that was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// Another user or group owns it now.
    Owner,
    /// Extended attributes, such as lists of who may read it.
    Attributes,
    /// The other names of the file: they keep the text that was there.
    Links,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Loss::Owner => "the file now has another owner, since its former one can't be restored",
            Loss::Attributes => "the file has lost extended attributes that can't be restored",
            Loss::Links => "the file had other hard links: these keep its former content",
        })
    }
}

/// Writes a file whole or not at all: whoever reads it sees what it was before, or all that it is
/// now. A file that is there keeps its permissions, its owner and its extended attributes where the
/// system allows it, and a link stays one; what it has lost is returned. The folder of a new file is
/// made if it is not there. Temporary files that killed processes have left in the folder are removed.
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
pub fn write_whole(path: &Path, text: &str) -> Result<Vec<Loss>, WriteError> {
    write_whole_with(path, |file| file.write_all(text.as_bytes()))
}

/// The same with a file that something else writes.
pub(crate) fn write_whole_with(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<Vec<Loss>, WriteError> {
    let attempt = || {
        let target = followed(path)?;
        let old = writable(&target)?;
        if let Some(folder) = target.parent().filter(|_| old.is_none()) {
            fs::create_dir_all(folder)?;
        }
        remove_left_behind(&target);
        let mut temporary = Temporary::beside(&target)?;
        let losses = match old {
            // First of all, or others could read what is meant to be private.
            Some(old) => handed_on(&target, &old, &temporary.file)?,
            None => Vec::new(),
        };
        write(&mut temporary.file)?;
        temporary.file.sync_all()?;
        temporary.rename(&target)?;
        Ok(losses)
    };
    attempt().map_err(|error| WriteError {
        path: path.to_owned(),
        error,
    })
}

/// Whether there may be a file at a path, as far as it can be known before it is written.
pub(crate) fn check_writable(path: &Path) -> Result<(), WriteError> {
    let checked = followed(path).and_then(|target| writable(&target));
    checked.map(drop).map_err(|error| WriteError {
        path: path.to_owned(),
        error,
    })
}

/// Gives a new file what the old one has; says what could not be given.
#[cfg(unix)]
fn handed_on(target: &Path, old: &Metadata, new: &File) -> io::Result<Vec<Loss>> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let now = new.metadata()?;
    let mut losses = Vec::new();
    // Who may not give a file away may still give it to another group.
    if now.gid() != old.gid() && fchown(new, None, Some(old.gid())).is_err()
        || now.uid() != old.uid() && fchown(new, Some(old.uid()), None).is_err()
    {
        losses.push(Loss::Owner);
    }
    new.set_permissions(old.permissions())?;
    if !attributes_handed_on(target, new) {
        losses.push(Loss::Attributes);
    }
    if old.nlink() > 1 {
        losses.push(Loss::Links);
    }
    Ok(losses)
}

/// Gives a new file what the old one has; says what could not be given.
#[cfg(not(unix))]
fn handed_on(_target: &Path, old: &Metadata, new: &File) -> io::Result<Vec<Loss>> {
    new.set_permissions(old.permissions())?;
    Ok(Vec::new())
}

/// Gives a new file all extended attributes of the old one; says whether it has them all.
#[cfg(unix)]
fn attributes_handed_on(target: &Path, new: &File) -> bool {
    use rustix::fs::{XattrFlags, fgetxattr, fsetxattr, getxattr, listxattr};
    /// The largest that Linux knows, for the names together and for each value.
    const MAX_SIZE: usize = 64 << 10;
    let mut names = vec![0; MAX_SIZE];
    // Where there are no attributes, none are lost.
    let Ok(length) = listxattr(target, &mut names[..]) else {
        return true;
    };
    let names = names[..length].split(|&byte| byte == 0);
    let mut value = vec![0; MAX_SIZE];
    let mut given = vec![0; MAX_SIZE];
    names.filter(|name| !name.is_empty()).all(|name| {
        let Ok(length) = getxattr(target, name, &mut value[..]) else {
            return false;
        };
        // The system may have given it the same already.
        let has = fgetxattr(new, name, &mut given[..]);
        has.is_ok_and(|has| given[..has] == value[..length])
            || fsetxattr(new, name, &value[..length], XattrFlags::empty()).is_ok()
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
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free space on the disk, and try again"
        }
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
    Err(io::Error::other("its links form a circle"))
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

/// What the names of temporary files begin with.
const TEMPORARY: &str = ".unjinja-";

/// Removes the temporary files in the folder of a file whose processes are gone. That it can't is no
/// reason not to write.
fn remove_left_behind(target: &Path) {
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(TEMPORARY) && name.ends_with(".tmp") && is_left_behind(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_left_behind(path: &Path) -> bool {
    let age = || {
        let metadata = fs::symlink_metadata(path).ok()?;
        let changed = metadata.modified().ok()?;
        let age = SystemTime::now().duration_since(changed).ok()?;
        metadata.is_file().then_some(age)
    };
    age().is_some_and(|age| age > LEFT_BEHIND)
        && File::open(path).is_ok_and(|file| file.try_lock().is_ok())
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
        // Processes may have the same number, one after the other, or in containers.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |time| time.as_nanos());
        for number in 0..MAX_NAMES {
            let name = format!("{TEMPORARY}{}-{now}-{number}.tmp", process::id());
            let path = target.with_file_name(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    // As long as it is open, it is not taken for one that was left behind.
                    let _can_be_locked = file.try_lock();
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
    fn temporary_files_that_were_left_behind_are_removed() {
        let folder = folder();
        let temporary = |name: &str, age: u64| {
            let file = File::create(folder.path().join(name)).expect("is made");
            let changed = SystemTime::now() - Duration::from_secs(age);
            file.set_modified(changed).expect("is set");
            file
        };
        drop(temporary(".unjinja-1-2-0.tmp", 60));
        drop(temporary(".unjinja-1-0.tmp", 100_000));
        drop(temporary(".unjinja-new.tmp", 0));
        drop(temporary(".other.tmp", 60));
        let open = temporary(".unjinja-open.tmp", 60);
        open.lock().expect("is locked");
        write_whole(&folder.path().join("a"), "new").expect("is written");
        let left = [".other.tmp", ".unjinja-new.tmp", ".unjinja-open.tmp", "a"];
        assert_eq!(names(folder.path()), left);
    }

    #[cfg(unix)]
    #[test]
    fn what_a_file_has_lost_is_said() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "old").expect("is written");
        assert_eq!(write_whole(&at("a"), "new").expect("is written"), []);
        fs::hard_link(at("a"), at("b")).expect("a link");
        let losses = write_whole(&at("a"), "newer").expect("is written");
        assert_eq!(losses, [Loss::Links]);
        assert_eq!(fs::read_to_string(at("b")).expect("a file"), "new");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn extended_attributes_stay() {
        use rustix::fs::{XattrFlags, getxattr, setxattr};
        let folder = folder();
        let path = folder.path().join("a");
        fs::write(&path, "old").expect("is written");
        if setxattr(&path, "user.note", b"kept", XattrFlags::empty()).is_err() {
            return; // not all file systems have them
        }
        assert_eq!(write_whole(&path, "new").expect("is written"), []);
        let mut value = [0; 8];
        let length = getxattr(&path, "user.note", &mut value[..]).expect("is there");
        assert_eq!(&value[..length], b"kept");
    }

    #[cfg(unix)]
    #[test]
    fn the_owner_stays_where_the_system_allows_it() {
        use std::os::unix::fs::{MetadataExt, chown};
        let folder = folder();
        let path = folder.path().join("a");
        fs::write(&path, "old").expect("is written");
        if chown(&path, Some(12_345), Some(12_345)).is_err() {
            return; // only the superuser can give files away
        }
        assert_eq!(write_whole(&path, "new").expect("is written"), []);
        let now = fs::metadata(&path).expect("a file");
        assert_eq!((now.uid(), now.gid()), (12_345, 12_345));
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
        assert_eq!(message, "its links form a circle: choose another place");
    }
}
