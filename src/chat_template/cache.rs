//! The cache of the Hugging Face hub on disk, which all of Hugging Face's tools share.
//!
//! A model has a folder `models--org--name`. In it, the file `refs/<revision>` holds a commit,
//! `snapshots/<commit>` has the files of that commit, and `.no_exist/<commit>` has empty files for
//! those that the commit is known not to have.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::model_id::ModelId;

/// What the cache has of a model.
pub(super) struct CachedModel {
    folder: PathBuf,
    revision: String,
}

/// What the cache has of one commit of a model.
pub(super) struct Snapshot {
    /// The files.
    pub(super) folder: PathBuf,
    /// Those that are known not to be there.
    absent: PathBuf,
}

impl CachedModel {
    pub(super) fn new(cache_dir: &Path, model: &ModelId) -> Self {
        let name = format!("models--{}", model.repo().replace('/', "--"));
        Self {
            folder: cache_dir.join(name),
            revision: model.revision().unwrap_or("main").to_owned(),
        }
    }

    /// The files of the revision, if it is in the cache.
    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        let commit = match fs::read_to_string(self.reference()) {
            Ok(commit) => commit.trim().to_owned(),
            // A revision may be a commit itself.
            Err(_) => self.revision.clone(),
        };
        let snapshot = is_commit(&commit).then(|| self.snapshot_of(&commit))?;
        snapshot.folder.is_dir().then_some(snapshot)
    }

    pub(super) fn snapshot_of(&self, commit: &str) -> Snapshot {
        Snapshot {
            folder: self.folder.join("snapshots").join(commit),
            absent: self.folder.join(".no_exist").join(commit),
        }
    }

    /// Notes which commit the revision is.
    pub(super) fn set_commit(&self, commit: &str) -> io::Result<()> {
        if self.revision == commit {
            return Ok(());
        }
        let reference = self.reference();
        write(&reference, commit)
    }

    fn reference(&self) -> PathBuf {
        self.folder.join("refs").join(&self.revision)
    }
}

impl Snapshot {
    /// Whether it is known if the commit has that file.
    pub(super) fn knows(&self, file: &str) -> bool {
        self.has(file) || self.absent.join(file).exists()
    }

    pub(super) fn has(&self, file: &str) -> bool {
        self.folder.join(file).exists()
    }

    /// Notes that the commit does not have that file.
    pub(super) fn set_absent(&self, file: &str) -> io::Result<()> {
        write(&self.absent.join(file), "")
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

/// Whether a text can be the name of a commit, and thus of a folder.
pub(super) fn is_commit(text: &str) -> bool {
    text.len() >= 7 && text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
