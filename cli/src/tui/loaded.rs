//! What has been loaded from the files that were opened.

use std::path::PathBuf;
use std::sync::Arc;

use unjinja::ResponseTemplate;
use unjinja::analysis::{Evidence, Findings, Statement};
use unjinja::check::Case;
use unjinja::derive::Candidate;
use unjinja::lint::Complaint;

use super::conversation::OpenedConversation;
use super::sample::{Remark, Sample};
use crate::tokenizer::Tokenizer;

/// All that the workbench knows of what was opened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Loaded {
    /// What was opened, for people.
    pub name: String,
    /// The response template that texts are read with.
    pub template: ResponseTemplate,
    /// Where it comes from.
    pub place: TemplatePlace,
    /// The files that this was loaded from, as far as they are on this machine: when one of them
    /// changes, all is to be loaded anew.
    pub files: Vec<PathBuf>,
    /// The texts of the files that were opened.
    pub samples: Vec<Sample>,
    /// What the chat template says, if there is one.
    pub format: Option<Arc<LoadedFormat>>,
    /// The conversations that were opened: one that the chat template has rendered, or those of a fixture.
    pub conversations: Vec<Arc<OpenedConversation>>,
    /// The texts that are single tokens of the model, as far as files beside the template say so.
    pub tokens: Vec<String>,
    /// The model's tokenizer, if there is one beside the template and the program can read it.
    pub(crate) tokenizer: Option<Arc<Tokenizer>>,
    /// Why one that is there can't be used.
    pub(crate) tokenizer_trouble: Option<String>,
}

/// Where a response template comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplatePlace {
    /// It was derived from a chat template, and is in no file.
    Derived,
    /// It stands in a file, which may be a configuration.
    File(PathBuf),
    /// It is the one of a fixture.
    Fixture {
        /// The fixture.
        path: PathBuf,
        /// The file with the response template, if that is not written out in the fixture.
        template: Option<PathBuf>,
    },
}

impl TemplatePlace {
    /// The file that an editor would have to open.
    pub fn file(&self) -> Option<&PathBuf> {
        match self {
            TemplatePlace::Derived => None,
            TemplatePlace::File(path) => Some(path),
            TemplatePlace::Fixture { path, template } => Some(template.as_ref().unwrap_or(path)),
        }
    }
}

/// What a chat template says of a format.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoadedFormat {
    /// The chat template, for people.
    pub name: String,
    /// The findings.
    pub findings: Findings,
    /// The same in words.
    pub statements: Vec<Statement>,
    /// The renderings that show them.
    pub evidence: Vec<Evidence>,
    /// The drafts that were tried, the best first.
    pub candidates: Vec<Candidate>,
    /// The texts that the derived template does not read back, or of which the chat template has left
    /// something out.
    pub outliers: Vec<Outlier>,
    /// What is wrong with the chat template.
    pub complaints: Vec<Complaint>,
}

/// A text that does not mean what was said.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outlier {
    /// What kind of text it is, in few words: `not recovered`, `left out`, `damaged`.
    pub kind: &'static str,
    /// Why it is one.
    pub why: String,
    /// The text, with what should come back.
    pub case: Case,
    /// What stays true of the text whatever reads it.
    pub(crate) remark: Option<Remark>,
}

/// Why something could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenError {
    /// What is wrong, with its file, place and remedy.
    pub message: String,
    /// The file, and line and column in it, both from 1.
    pub place: Option<(PathBuf, (usize, usize))>,
    /// The lines around that place, each with its number.
    pub excerpt: Vec<(usize, String)>,
}
