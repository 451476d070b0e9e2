//! Fixtures: a response template, and cases that say what it makes of texts.

mod load;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, write_lines};
use crate::position::Position;
use crate::remedy::Remedy;
use crate::response::{ParserOptions, ResponseTemplate, Tools, Unfinished};
use crate::value::{Object, Value};

use super::case::Failure;
use super::conversation::{Chat, CheckedConversation, ConversationCase};
use super::document::Document;

/// A file with a response template and cases.
///
/// ```
/// use unjinja::check::Fixture;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("greeting.fixture.yaml");
/// std::fs::write(&path, "
/// response_template:
///   start_anchor: <bot>
///   fields:
///     content: {close: <end>}
/// cases:
///   - name: a greeting
///     output: Hello!<end>
///     message: {content: Hello!}
/// ")?;
/// let fixture = Fixture::load(&path)?;
/// assert_eq!(fixture.cases()[0].name, "a greeting");
/// assert_eq!(fixture.cases()[0].position.line_column(), (7, 5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Fixture {
    path: PathBuf,
    pub(super) document: Document,
    template: ResponseTemplate,
    tools: Tools,
    template_file: Option<PathBuf>,
    files: Vec<PathBuf>,
    cases: Vec<Case>,
    conversations: Vec<ConversationCase>,
    /// The chat template, where conversations are read or masked.
    chat: Option<Chat>,
}

/// A text, and what is expected of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Case {
    /// What it is called. No other case of its file is called so.
    pub name: String,
    /// Where it stands in its file; the start if it stands in none.
    pub position: Position,
    /// Where each key stands under which something is expected.
    pub expectations: Vec<(&'static str, Position)>,
    /// The prompt.
    pub prefix: String,
    /// What the model writes.
    pub output: String,
    /// The tools of the prompt.
    pub tools: Tools,
    /// What is expected.
    pub expected: Expected,
    /// Whether the model had no room for more: a call that the end cuts off is no part of the message then.
    pub is_cut_off: bool,
    /// Its number among the cases of its file; 0 if it stands in none.
    pub(super) number: usize,
}

/// What a case expects.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Expected {
    /// The message.
    pub message: Option<Object>,
    /// The events, with chunks that follow each other put together.
    pub events: Option<Vec<Value>>,
    /// What the error has to say.
    pub error: Option<String>,
}

impl Case {
    /// A case that stands in no file; [`check`](Self::check) finds out whether it is right.
    pub fn new(
        name: impl Into<String>,
        prefix: impl Into<String>,
        output: impl Into<String>,
        tools: Tools,
        expected: Expected,
    ) -> Case {
        Case {
            name: name.into(),
            position: Position::START,
            expectations: Vec::new(),
            prefix: prefix.into(),
            output: output.into(),
            tools,
            expected,
            is_cut_off: false,
            number: 0,
        }
    }

    /// How the output is read.
    pub fn parser_options(&self) -> ParserOptions {
        let options = ParserOptions::default().tools(self.tools.clone());
        match self.is_cut_off {
            true => options.unfinished(Unfinished::Drop),
            false => options,
        }
    }
}

impl Expected {
    /// Whether nothing is expected, as in a case that was only just written.
    pub fn is_nothing(&self) -> bool {
        self == &Expected::default()
    }
}

impl Fixture {
    /// The JSON Schema of fixtures, by which editors complete and check them.
    pub const JSON_SCHEMA: &str = include_str!("../../schema/fixture.schema.json");

    /// Reads a fixture and whatever it names: paths in it begin at its own folder.
    ///
    /// # Errors
    ///
    /// If the file can't be read, or is no fixture, or names what can't be read. All that is wrong
    /// is reported at once.
    pub fn load(path: &Path) -> Result<Fixture, FixtureError> {
        load::load(path)
    }

    /// Reads a fixture that is at hand as text, as one would that stands at this path.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load).
    pub fn parse(path: &Path, text: String) -> Result<Fixture, FixtureError> {
        load::parse(path, text)
    }

    /// Where it stands.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The response template.
    pub fn template(&self) -> &ResponseTemplate {
        &self.template
    }

    /// The tools of all cases that have none of their own.
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// The file that the response template stands in, if the fixture names one. There is none where
    /// the template is written out in the fixture, or derived from a chat template.
    ///
    /// ```
    /// use unjinja::check::Fixture;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// std::fs::write(folder.join("bot.json"), r#"{"start_anchor": "<bot>", "fields": {"content": {}}}"#)?;
    /// std::fs::write(folder.join("bot.fixture.yaml"), "
    /// response_template: bot.json
    /// cases:
    ///   - {name: a greeting, output: Hello!, message: {content: Hello!}}
    /// ")?;
    /// let fixture = Fixture::load(&folder.join("bot.fixture.yaml"))?;
    /// assert_eq!(fixture.template_file(), Some(folder.join("bot.json").as_path()));
    /// assert_eq!(fixture.files(), [folder.join("bot.json")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn template_file(&self) -> Option<&Path> {
        self.template_file.as_deref()
    }

    /// The files and folders that the fixture names, and that it was read from besides its own: each
    /// once, in the order in which they are read.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The cases that are outputs of a model, in their order.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The cases that are whole conversations, in their order.
    ///
    /// ```
    /// use unjinja::check::Fixture;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// std::fs::write(folder.join("chat.jinja"), "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    ///     {% if add_generation_prompt %}<assistant>{% endif %}")?;
    /// std::fs::write(folder.join("chat.fixture.yaml"), "
    /// derive: chat.jinja
    /// cases:
    ///   - name: a greeting
    ///     conversation: <user>Hi<end><assistant>Ho!<end>
    ///     written: [Ho!<end>]
    /// ")?;
    /// let fixture = Fixture::load(&folder.join("chat.fixture.yaml"))?;
    /// assert_eq!(fixture.conversations()[0].name, "a greeting");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn conversations(&self) -> &[ConversationCase] {
        &self.conversations
    }

    /// What becomes of each conversation, in their order: as far as it can be told also where nothing is expected.
    ///
    /// ```
    /// use unjinja::check::Fixture;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// std::fs::write(folder.join("chat.jinja"), "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    ///     {% if add_generation_prompt %}<assistant>{% endif %}")?;
    /// std::fs::write(folder.join("chat.fixture.yaml"), "
    /// derive: chat.jinja
    /// cases:
    ///   - name: a greeting
    ///     conversation: <user>Hi<end><assistant>Ho!<end>
    ///     written: [Ho!]
    /// ")?;
    /// let fixture = Fixture::load(&folder.join("chat.fixture.yaml"))?;
    /// let (case, checked) = fixture.checked_conversations().next().unwrap();
    /// let said = checked.read.unwrap().parts.last().unwrap().range.clone();
    /// assert_eq!(&case.text[said], "Ho!");
    /// assert_eq!(checked.failures.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checked_conversations(
        &self,
    ) -> impl Iterator<Item = (&ConversationCase, CheckedConversation)> {
        let chat = self.chat.iter();
        chat.flat_map(|chat| {
            let cases = self.conversations.iter();
            cases.map(|case| (case, CheckedConversation::of(case, chat)))
        })
    }

    /// The names of all cases, with the places at which these stand.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, Position)> {
        let outputs = self
            .cases
            .iter()
            .map(|case| (case.name.as_str(), case.position));
        let conversations = self.conversations.iter();
        outputs.chain(conversations.map(|case| (case.name.as_str(), case.position)))
    }

    /// What is wrong with a conversation.
    pub(super) fn check_conversation(&self, case: &ConversationCase) -> Vec<Failure> {
        self.chat
            .as_ref()
            .map_or(Vec::new(), |chat| case.check(chat))
    }
}

/// A file that is no fixture, or can't become what it was to become.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FixtureError {
    /// The file.
    pub path: PathBuf,
    /// All that is wrong with it, at least one fault.
    pub faults: Vec<Diagnostic>,
    /// What a remedy of theirs names as the library does.
    advised: Option<Remedy>,
}

impl FixtureError {
    pub(super) fn new(path: &Path, faults: Vec<Diagnostic>) -> FixtureError {
        FixtureError {
            path: path.to_owned(),
            faults,
            advised: None,
        }
    }

    /// The error, of which a remedy names this as the library does.
    fn advising(mut self, advised: Option<Remedy>) -> FixtureError {
        self.advised = advised;
        self
    }

    /// The error, with names of the caller for what its faults advise to make use of.
    ///
    /// ```
    /// use std::path::Path;
    /// use unjinja::check::Fixture;
    ///
    /// let error = Fixture::parse(Path::new("a.fixture.yaml"), "[]".into()).unwrap_err();
    /// assert!(error.to_string().ends_with("or make one with `check::FirstFixture`"));
    /// let error = error.explained(|_| "the button `New`");
    /// assert!(error.to_string().ends_with("or make one with the button `New`"));
    /// ```
    pub fn explained(&self, words: impl Fn(Remedy) -> &'static str) -> FixtureError {
        let mut explained = self.clone();
        if let Some(advised) = explained.advised.take() {
            for remedy in explained
                .faults
                .iter_mut()
                .flat_map(|fault| &mut fault.remedy)
            {
                *remedy = remedy.replace(advised.name(), words(advised));
            }
        }
        explained
    }
}

impl fmt::Display for FixtureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_lines(f, &self.faults, Some(&self.path.display()))
    }
}

impl std::error::Error for FixtureError {}
