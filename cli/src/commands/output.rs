//! What commands print, and the files that they write.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::files::{self, is_same_file};
use crate::printing;
use crate::signals;

use unjinja::chat_template::Source;
use unjinja::{Value, json};

use super::Failure;

/// JSON for programs that people can read, too.
pub(crate) fn pretty(value: &Value) -> String {
    json::write_styled(value, &json::Style::pretty(2)) + "\n"
}

/// Whether `-o` names the standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-") || path == Path::new("/dev/stdout")
}

/// What must not be replaced when a command writes a file of its own.
#[derive(Debug)]
pub(crate) struct Output {
    /// What the command reads. It is not replaced even by force.
    pub(crate) sources: Vec<PathBuf>,
    /// Whether another file may be.
    pub(crate) force: bool,
}

impl Output {
    /// What is made of these sources replaces none of them.
    pub(crate) fn of_sources<'s>(
        sources: impl IntoIterator<Item = &'s str>,
        force: bool,
    ) -> Output {
        let sources = sources
            .into_iter()
            .filter_map(|source| Source::parse(source).ok());
        Output {
            sources: sources.flat_map(|source| source.files()).collect(),
            force,
        }
    }

    /// Prints what a command has made, or writes it to the file that `-o` names. What is there already
    /// stays, unless it is to be replaced by force, or is the same.
    pub(crate) fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        if is_stdout(path) {
            return printing::print(text);
        }
        self.check(path)?;
        if path.is_file() && !self.force {
            return match fs::read(path) {
                Ok(there) if there == text.as_bytes() => Ok(()),
                _ => Err(is_there(path)),
            };
        }
        change(path, text)
    }

    /// Refuses to write to what is there or is read, or can't be written.
    pub(crate) fn check_new(&self, path: &Path) -> Result<(), Failure> {
        self.check(path)?;
        if path.is_file() && !self.force {
            return Err(is_there(path));
        }
        files::check_writable(path).map_err(|error| Failure::Input(error.to_string()))
    }

    /// Refuses to write to what is read. Nobody has to wait for that.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Failure> {
        match self.sources.iter().any(|source| is_same_file(source, path)) {
            true => Err(Failure::Input(format!(
                "{}: this file is an input, so it is not replaced: choose another with `-o FILE`",
                path.display()
            ))),
            false => Ok(()),
        }
    }
}

/// The files that are read where a path is given: of a folder all that belong to a template.
pub(crate) fn files_of(path: &Path) -> Vec<PathBuf> {
    match path.is_dir() {
        true => Source::from(path).files(),
        false => vec![path.to_owned()],
    }
}

fn is_there(path: &Path) -> Failure {
    Failure::Input(format!(
        "{}: the file already exists: choose another with `-o FILE`, or replace it with `--force`",
        path.display()
    ))
}

/// Writes a file that the command was asked to change in its place, whole or not at all.
pub(crate) fn change(path: &Path, text: &str) -> Result<(), Failure> {
    change_with(path, |file| file.write_all(text.as_bytes()))
}

/// The same with a file that something else writes.
pub(crate) fn change_with(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), Failure> {
    let written = signals::deferred(|| files::write_whole_with(path, write));
    let losses = written.map_err(|error| Failure::Input(error.to_string()))?;
    for loss in losses {
        printing::tell(format_args!("warning: {}: {loss}\n", path.display()));
    }
    Ok(())
}
