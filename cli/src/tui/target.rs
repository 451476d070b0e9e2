//! Loading what was opened, at first and whenever it has changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use unjinja::analysis::Findings;
use unjinja::chat_template::{ChatTemplate, LoadError, LoadOptions, Source};
use unjinja::check::{Fixture, FixtureError, is_fixture};
use unjinja::derive::{Derivation, DeriveOptions, ProofRow, Recovery};
use unjinja::files::read_text;
use unjinja::lint::{LintOptions, lint_chat_template};
use unjinja::response_schema::ResponseSchema;
use unjinja::{Diagnostic, Object, Position, ResponseTemplate, TemplateError, Value, json};
use unjinja_replay::cases;

use super::conversation::OpenedConversation;
use super::loaded::{Loaded, LoadedFormat, OpenError, Outlier, TemplatePlace};
use super::sample::{LEFT_OUT, Origin, Remark, Sample};
use crate::options::option_name;
use crate::tokenizer::Tokenizer;

/// Around what is wrong, so many lines are shown on each side.
const EXCERPT: usize = 2;

/// Files may be this large.
pub(crate) const MAX_FILE: u64 = 256 << 20;

/// What is to be opened, and how.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Target {
    /// The chat template, response template, configuration, model's folder or fixture, as it was named.
    pub source: String,
    /// Which of several chat templates to take.
    pub variant: Option<String>,
    /// Whether model ids are looked for in the cache only.
    pub offline: bool,
    /// The token that begins a prompt, in place of the chat template's own.
    pub bos_token: Option<String>,
    /// The token that ends a turn, in place of the chat template's own.
    pub eos_token: Option<String>,
    /// The file with a conversation that the chat template has rendered.
    pub conversation: Option<PathBuf>,
    /// How response templates are derived.
    pub derive: DeriveOptions,
}

/// What a source turns out to be.
enum SourceKind {
    Fixture(PathBuf),
    /// A file with a response template in it.
    Template(PathBuf),
    ChatTemplate,
}

impl Target {
    /// Opens what has this name.
    ///
    /// ```
    /// use unjinja_cli::tui::{Target, TemplatePlace};
    ///
    /// let loaded = Target::new("../examples/chat_template.jinja").load(None)?;
    /// assert_eq!(loaded.place, TemplatePlace::Derived);
    /// assert!(!loaded.samples.is_empty());
    /// # Ok::<(), unjinja_cli::tui::OpenError>(())
    /// ```
    pub fn new(source: impl Into<String>) -> Target {
        Target {
            source: source.into(),
            ..Target::default()
        }
    }

    /// Loads it. A file with a response template may take the place of the one that is found.
    ///
    /// # Errors
    ///
    /// If it can't be read, or is not valid, or nothing can be derived from it.
    pub fn load(&self, adopted: Option<&Path>) -> Result<Loaded, OpenError> {
        let kind = self.kind();
        if self.conversation.is_some() && !matches!(kind, SourceKind::ChatTemplate) {
            return Err(OpenError::plain(format!(
                "{}: a conversation is read with a chat template, and this is none",
                self.source
            )));
        }
        let mut loaded = match kind {
            SourceKind::Fixture(path) => self.fixture(&path)?,
            SourceKind::Template(path) => self.template(&path)?,
            SourceKind::ChatTemplate => self.chat_template()?,
        };
        match self.tokenizer() {
            Ok(tokenizer) => loaded.tokenizer = tokenizer.map(Arc::new),
            Err(trouble) => loaded.tokenizer_trouble = Some(trouble),
        }
        if let Some(path) = adopted {
            loaded.template = read_template(path)?;
            loaded.place = TemplatePlace::File(path.to_owned());
        }
        Ok(loaded)
    }

    fn kind(&self) -> SourceKind {
        let Ok(Source::Path(path)) = Source::parse(&self.source) else {
            // A file that has vanished, or whose name is misspelled.
            let path = PathBuf::from(&self.source);
            return match self.source.ends_with(".json") {
                _ if is_fixture(&path) || is_yaml(&path) => SourceKind::Fixture(path),
                true => SourceKind::Template(path),
                false => SourceKind::ChatTemplate,
            };
        };
        if path.is_file() && (is_fixture(&path) || is_yaml(&path)) {
            return SourceKind::Fixture(path);
        }
        let file = match path.is_dir() {
            true => path.join("tokenizer_config.json"),
            false => path,
        };
        if file.extension().is_none_or(|extension| extension != "json") {
            return SourceKind::ChatTemplate;
        }
        // What can't be read is reported by whoever reads it in the end.
        let Ok(text) = read_text(&file, MAX_FILE) else {
            return SourceKind::ChatTemplate;
        };
        let has_cases = json::read(&text).is_ok_and(|value| value.get("cases").is_some());
        match ResponseTemplate::find_in(&text) {
            _ if has_cases => SourceKind::Fixture(file),
            Ok(_) => SourceKind::Template(file),
            // Reading it says why a response schema can't be replayed.
            Err(_) if ResponseSchema::find_in(&text) == Some("") => SourceKind::Template(file),
            Err(_) => SourceKind::ChatTemplate,
        }
    }

    fn fixture(&self, path: &Path) -> Result<Loaded, OpenError> {
        let fixture = Fixture::load(path).map_err(|error| of_fixture(&error))?;
        let cases = fixture.cases().iter();
        let samples = cases.map(|case| Sample::new(Origin::Fixture, case.clone()));
        let conversations = fixture.checked_conversations();
        let conversations = conversations
            .map(|(case, checked)| Arc::new(OpenedConversation::of_case(case, &checked)));
        Ok(Loaded {
            name: self.source.clone(),
            template: fixture.template().clone(),
            place: TemplatePlace::Fixture {
                path: path.to_owned(),
                template: fixture.template_file().map(Path::to_owned),
            },
            files: [path.to_owned()]
                .into_iter()
                .chain(fixture.files().to_owned())
                .collect(),
            samples: samples.collect(),
            format: None,
            conversations: conversations.collect(),
            tokens: Vec::new(),
            tokenizer: None,
            tokenizer_trouble: None,
        })
    }

    fn template(&self, path: &Path) -> Result<Loaded, OpenError> {
        let template = read_template(path)?;
        // Nobody has asked for the chat template, so what is wrong with it is no reason to stop.
        let beside = self.with_options(|options| ChatTemplate::beside(path, options));
        let beside = beside.ok().flatten().map(|chat| self.with_tokens(chat));
        let tokens = beside.as_ref().map(|chat| chat.added_tokens.clone());
        let derived = beside.and_then(|chat| self.derived(&chat).ok());
        let (samples, format) = match derived {
            Some((derivation, format)) => (samples(&derivation, &template), Some(Arc::new(format))),
            None => (Vec::new(), None),
        };
        Ok(Loaded {
            name: self.source.clone(),
            template,
            place: TemplatePlace::File(path.to_owned()),
            files: self.files(),
            samples,
            format,
            conversations: Vec::new(),
            tokens: tokens.unwrap_or_default(),
            tokenizer: None,
            tokenizer_trouble: None,
        })
    }

    fn chat_template(&self) -> Result<Loaded, OpenError> {
        let source = Source::parse(&self.source).map_err(of_loading)?;
        let chat = self.with_options(|options| ChatTemplate::load(&source, options));
        let chat = self.with_tokens(chat.map_err(of_loading)?);
        let base = &self.derive.base;
        let load = |path: &PathBuf| OpenedConversation::load(path, &chat, base).map(Arc::new);
        let conversation = self.conversation.as_ref().map(load).transpose()?;
        let (derivation, format) = self.derived(&chat)?;
        let template = derivation.template.clone();
        Ok(Loaded {
            name: self.source.clone(),
            samples: samples(&derivation, &template),
            template,
            place: TemplatePlace::Derived,
            files: self
                .files()
                .into_iter()
                .chain(self.conversation.clone())
                .collect(),
            format: Some(Arc::new(format)),
            conversations: conversation.into_iter().collect(),
            tokens: chat.added_tokens,
            tokenizer: None,
            tokenizer_trouble: None,
        })
    }

    fn derived(&self, chat: &ChatTemplate) -> Result<(Derivation, LoadedFormat), OpenError> {
        let fail = |error: String| OpenError::plain(format!("{}: {error}", chat.name));
        let derived = Derivation::with_candidates(chat, &self.derive);
        let (derivation, candidates) = derived.map_err(|error| fail(error.explain(option_name)))?;
        let found = Findings::with_evidence(chat, &self.derive.base);
        let (findings, evidence) = found.map_err(|error| fail(error.to_string()))?;
        let linting = LintOptions::default().base(self.derive.base.clone());
        let complaints = lint_chat_template(chat, &linting);
        let format = LoadedFormat {
            name: chat.name.clone(),
            complaints: complaints.map_err(|error| fail(error.to_string()))?,
            statements: findings.statements(),
            findings,
            evidence,
            candidates,
            outliers: outliers(&derivation),
        };
        Ok((derivation, format))
    }

    /// The tokenizer in the folder of the model, or beside the configuration that was opened. Without the
    /// feature for it, none is looked for.
    fn tokenizer(&self) -> Result<Option<Tokenizer>, String> {
        let Ok(Source::Path(path)) = Source::parse(&self.source) else {
            return Ok(None);
        };
        let folder = if path.is_dir() {
            Some(path.as_path())
        } else {
            path.parent()
        };
        let file = folder.map(|folder| folder.join("tokenizer.json"));
        let file = file.filter(|file| cfg!(feature = "tokenizers") && file.is_file());
        file.map(|file| Tokenizer::load(&file)).transpose()
    }

    fn with_options<T>(&self, load: impl FnOnce(&LoadOptions<'_>) -> T) -> T {
        let mut options = LoadOptions::default();
        options.variant.clone_from(&self.variant);
        options.offline = self.offline;
        load(&options)
    }

    fn with_tokens(&self, mut chat: ChatTemplate) -> ChatTemplate {
        for (own, given) in [
            (&mut chat.bos_token, &self.bos_token),
            (&mut chat.eos_token, &self.eos_token),
        ] {
            if let Some(token) = given {
                *own = Some(token.clone());
            }
        }
        chat
    }

    /// The files that are there by the source's name, or could be.
    fn files(&self) -> Vec<PathBuf> {
        let Ok(Source::Path(path)) = Source::parse(&self.source) else {
            return Vec::new();
        };
        match path.is_dir() {
            true => ["tokenizer_config.json", "chat_template.jinja"]
                .map(|name| path.join(name))
                .to_vec(),
            false => vec![path],
        }
    }
}

fn is_yaml(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["yaml", "yml"].contains(&extension))
}

/// The probe conversations that the chat template has rendered, each text once, with what is to be
/// remarked of it.
fn samples(derivation: &Derivation, template: &ResponseTemplate) -> Vec<Sample> {
    let rendered = cases::rendered(derivation, template).into_iter();
    rendered
        .map(|rendered| {
            let mut sample = Sample::new(Origin::Rendered, rendered.case);
            let outliers = rendered.rows.into_iter();
            let outliers = outliers.filter_map(|row| outlier(row, derivation));
            for remark in outliers.filter_map(|outlier| outlier.remark) {
                add(&mut sample.remarks, remark);
            }
            sample
        })
        .collect()
}

/// Of the same remark, only the names are added.
fn add(remarks: &mut Vec<Remark>, remark: Remark) {
    let same = remarks
        .iter_mut()
        .find(|known| (&known.why, &known.lost) == (&remark.why, &remark.lost));
    match same {
        Some(known) => {
            let is_new = |name: &String| !known.names.contains(name);
            let names: Vec<String> = remark.names.into_iter().filter(is_new).collect();
            known.names.extend(names);
        }
        None => remarks.push(remark),
    }
}

/// The texts that one may want to look at: what was not read back, what the chat template has left out,
/// and damaged texts that were not read as far as they could be.
fn outliers(derivation: &Derivation) -> Vec<Outlier> {
    let rows = derivation.proof.iter();
    let of_rows = rows.filter_map(|row| outlier(row, derivation));
    let damaged = derivation.damaged.iter().filter(|text| !text.is_recovered);
    let of_damaged = damaged.map(|text| Outlier {
        kind: "damaged",
        why: match text.is_lost {
            true => "something of what is left of what was said is lost without a word".into(),
            false => "not all that is left of what was said comes back".into(),
        },
        case: cases::damaged(text, derivation),
        remark: Some(Remark {
            kind: "damaged",
            names: Vec::new(),
            why: format!("{}; what is left of what was said is expected", text.damage),
            lost: Object::new(),
        }),
    });
    of_rows.chain(of_damaged).collect()
}

/// A rendering that does not mean all of what was said.
fn outlier(row: &ProofRow, derivation: &Derivation) -> Option<Outlier> {
    let (kind, why, lost) = match &row.recovery {
        Recovery::LostByTemplate(lost) => {
            let why = format!("the chat template does not write {}", lost.join(", "));
            let given = row.given.iter();
            let lost = given.filter(|(key, value)| {
                let written = row.message.get_json_string(key);
                !written.is_some_and(|written| written.total_eq(value))
            });
            let lost = lost.map(|(key, value)| (key.clone(), value.clone()));
            (LEFT_OUT, why, Some(lost.collect()))
        }
        Recovery::NotRecovered(difference) => ("not recovered", difference.clone(), None),
        Recovery::NotExpressible { difference, .. } => {
            let why = "the very same text stands for another message as well";
            let why = format!("{difference}: {why}");
            ("not recovered", why, Some(Object::new()))
        }
        _ => return None,
    };
    let remark = lost.map(|lost| Remark {
        kind,
        names: vec![row.name.clone()],
        why: why.clone(),
        lost,
    });
    Some(Outlier {
        kind,
        why,
        case: cases::case(row, derivation),
        remark,
    })
}

/// Reads a response template out of a file, which may be a configuration.
pub(crate) fn read_template(path: &Path) -> Result<ResponseTemplate, OpenError> {
    let text = read_text(path, MAX_FILE).map_err(OpenError::plain)?;
    ResponseTemplate::from_config(&text).map_err(|error| of_template(path, error))
}

fn of_loading(error: LoadError) -> OpenError {
    OpenError::plain(error.explain(option_name))
}

impl OpenError {
    pub(crate) fn plain(error: impl ToString) -> OpenError {
        OpenError {
            message: error.to_string(),
            place: None,
            excerpt: Vec::new(),
        }
    }

    fn at(path: &Path, faults: &[Diagnostic], message: String) -> OpenError {
        let position = faults.iter().find_map(|fault| fault.position);
        let position = position.map(Position::line_column);
        OpenError {
            message,
            place: position.map(|position| (path.to_owned(), position)),
            excerpt: position.map_or(Vec::new(), |(line, _)| excerpt(path, line)),
        }
    }
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OpenError {}

fn of_template(path: &Path, error: TemplateError) -> OpenError {
    let error = error.in_file(path.display().to_string());
    OpenError::at(path, &error.faults, error.to_string())
}

fn of_fixture(error: &FixtureError) -> OpenError {
    let error = error.explained(option_name);
    OpenError::at(&error.path, &error.faults, error.to_string())
}

/// The lines around one, each with its number.
fn excerpt(path: &Path, line: usize) -> Vec<(usize, String)> {
    let text = read_text(path, MAX_FILE).unwrap_or_default();
    let lines = (1..).zip(text.lines());
    let near = lines.filter(|(number, _)| usize::abs_diff(*number, line) <= EXCERPT);
    near.map(|(number, text)| (number, text.to_owned()))
        .collect()
}

/// A response template as it is written to a file.
pub(crate) fn written(template: &Value) -> String {
    json::write_styled(template, &json::Style::pretty(2)) + "\n"
}
