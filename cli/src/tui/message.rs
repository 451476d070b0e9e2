//! What happens to the workbench, and what it wants to be done.

use std::path::PathBuf;
use std::time::Duration;

use crossterm::event::{KeyEvent, MouseEvent};

use unjinja::ResponseTemplate;
use unjinja::check::{Case, Failure};

use super::loaded::{Loaded, OpenError};

/// Something that happens to the workbench.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Message {
    /// A key was pressed.
    Key(KeyEvent),
    /// The mouse did something.
    Mouse(MouseEvent),
    /// A text was pasted.
    Paste(String),
    /// The terminal has so many columns and rows now.
    Resize(u16, u16),
    /// So much time has gone by.
    Tick(Duration),
    /// What was opened has been loaded anew.
    Loaded(Box<Loaded>),
    /// It could not be.
    NotLoaded(OpenError),
    /// A sample has been tried.
    Judged {
        /// Which loading it was tried with.
        generation: u64,
        /// The number of the sample.
        sample: usize,
        /// What is wrong with it.
        failures: Vec<Failure>,
    },
    /// A sample could not be tried, by a fault of the program.
    NotJudged {
        /// Which loading it was to be tried with.
        generation: u64,
        /// The number of the sample.
        sample: usize,
        /// What happened.
        why: String,
    },
    /// More of a live text has come in.
    Live(String, Duration),
    /// No more of it comes, maybe because of an error.
    LiveEnded(Option<String>),
    /// Something that was to be kept has been.
    Kept(Keep, Done),
    /// It has not, since it has to be confirmed.
    Unconfirmed(Keep, Doubt),
    /// Something could not be done.
    Failed(String),
}

/// Something that the workbench wants to be done.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Effect {
    /// Samples are to be tried; each comes back as [`Message::Judged`].
    Judge {
        /// Which loading it is.
        generation: u64,
        /// The response template.
        template: ResponseTemplate,
        /// The samples, each with its number.
        cases: Vec<(usize, Case)>,
    },
    /// What was opened is to be loaded anew.
    Load {
        /// A file with a response template that is used in place of the one that was opened.
        template: Option<PathBuf>,
    },
    /// A file is to be opened in the editor, where a field stands in it.
    Edit(PathBuf, Option<String>),
    /// A text is to be put where the terminal keeps what is copied.
    Copy(String),
    /// Something is to be kept.
    Keep(Keep),
    /// The shell is to be gone back to for a while.
    Suspend,
    /// The whole screen is to be drawn anew, whatever else has written to it.
    Redraw,
    /// This is the end.
    Quit,
}

/// Something that is to be kept in a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Keep {
    /// The file.
    pub path: PathBuf,
    /// Whether the person has been asked, where there was a doubt.
    pub is_confirmed: bool,
    /// What is to be kept.
    pub what: Kept,
}

/// Why a file is not written unasked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doubt {
    /// It is there already.
    IsThere,
    /// Its folder is not.
    NoFolder,
}

/// What was done to keep something.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Done {
    /// The same in words.
    pub words: String,
    /// How a file was changed or made, where that can be undone.
    pub change: Option<FileChange>,
}

impl Done {
    /// Something that can't be undone, in words.
    pub fn new(words: impl Into<String>) -> Done {
        Done {
            words: words.into(),
            change: None,
        }
    }
}

/// How a file was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// What it held; nothing if it was not there.
    pub before: Option<String>,
    /// What it holds since then.
    pub after: String,
    /// The folders that were made for it, the outermost first.
    pub folders: Vec<PathBuf>,
}

/// What is to be kept.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Kept {
    /// A response template; whether it is to be opened in the editor then.
    Template {
        /// The template.
        template: ResponseTemplate,
        /// Whether it is to be edited.
        then_edit: bool,
    },
    /// A case: in a fixture that is there already, or in a new one with this template.
    Case {
        /// The case.
        case: Box<Case>,
        /// The template.
        template: ResponseTemplate,
    },
    /// What comes of a fixture's case, as what is expected of it.
    Expectation {
        /// The name of the case.
        case: String,
    },
    /// What a file held before it was changed, if it has not been changed again since then.
    Undone {
        /// How it was changed.
        change: FileChange,
        /// The case that was saved in it, which is in no fixture then.
        case: Option<Box<Case>>,
    },
}
