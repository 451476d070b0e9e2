//! What all of these tests need.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use unjinja::chat_template::{ChatTemplate, LoadOptions, Source};

/// A folder with some files, which goes away with this.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(tempfile::tempdir().expect("a folder"));
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        match name {
            "" => self.path().to_owned(),
            name => self.path().join(name),
        }
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, bytes).expect("written");
        path
    }

    /// Loads a file of the folder, or the folder itself, whose name is empty.
    pub(crate) fn load(&self, name: &str) -> ChatTemplate {
        load(&self.file(name), None).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Loads a variant.
    pub(crate) fn load_variant(&self, name: &str, variant: &str) -> ChatTemplate {
        load(&self.file(name), Some(variant)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The message of loading what can't be loaded, in which the folder is called `DIR`.
    pub(crate) fn error(&self, name: &str, variant: Option<&str>) -> String {
        let error = load(&self.file(name), variant).expect_err(name);
        let dir = self.path().display().to_string();
        error
            .replace(&format!("{dir}/"), "DIR/")
            .replace(&dir, "DIR")
    }
}

pub(crate) fn load(path: &Path, variant: Option<&str>) -> Result<ChatTemplate, String> {
    let mut options = LoadOptions::default();
    options.variant = variant.map(str::to_owned);
    ChatTemplate::load(&Source::Path(path.to_owned()), &options).map_err(|error| error.to_string())
}
