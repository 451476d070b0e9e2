//! Problems of response templates and chat templates that are valid all the same.
//!
//! Each kind of complaint is a [`Lint`], and has a page that explains it in `pages/`. What has to
//! look into patterns stands with them; here it is weighed, by trying it out wherever that can be:
//! short texts are read as the parser reads them, and what is lost is reported.

mod anchor;
mod body;
mod catalogue;
mod chat_template;
mod delimiters;
mod effect;
mod ending;
mod model;
mod names;
mod opening;
mod overlap;
mod portability;
mod rulings;
mod schema;
mod subject;
#[cfg(test)]
mod tests;
mod white_space;

use std::fmt;

use crate::chat_template::{ChatTemplate, RenderError, RenderInput};
use crate::diagnostic::{Diagnostic, MemberPart, place_in};
use crate::profile::Target;
use crate::response::ResponseTemplate;
use crate::value::{Object, Value};

pub use catalogue::{Lint, UnknownLint};
pub(crate) use chat_template::lint_within;
pub use chat_template::{Demonstration, lint_chat_template, refused_by_transformers};
pub use rulings::{Ruling, Rulings, Selector, UnknownSelector};
pub use schema::lint_schema;

use model::Model;
use subject::Subject;

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// It may hurt, and often nothing in the template can mend it, since the model's format is so. A
    /// ruling about all lints does not make it an error; one about it does.
    Note,
    /// It may hurt, depending on what the model writes or on who reads the template.
    Warning,
    /// It surely breaks something, or is not to be let pass.
    Error,
}

impl Level {
    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// Its [`key`](Self::key).
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

/// Something about a response template or a chat template that is likely to hurt.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Complaint {
    /// What kind of complaint it is.
    pub lint: Lint,
    /// How bad it is.
    pub level: Level,
    /// What it is about, what is likely to hurt and why, and what to do about it.
    pub diagnostic: Diagnostic,
    /// Whom the template does not suit, if that is what is wrong.
    pub target: Option<Target>,
    /// Of a chat template, the smallest conversation that shows it.
    pub shown: Option<Demonstration>,
}

impl Complaint {
    /// For programs: an object of `level`, `code` and `name`, of the name of the profile that it does not suit
    /// (`for`), if it is about that, of what [`Diagnostic::to_value`] gives, and of the conversation that shows it
    /// (`shown`), if there is one.
    pub fn to_value(&self) -> Value {
        let mut out = Object::from_iter([
            ("level", self.level.key()),
            ("code", self.lint.code()),
            ("name", self.lint.name()),
        ]);
        if let Some(target) = self.target {
            out.insert("for", target.profile.name());
        }
        out.extend(self.diagnostic.to_value().into_object());
        if let Some(shown) = &self.shown {
            out.insert("shown", shown.to_value());
        }
        out.into()
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostic.write_position(f)?;
        let (level, code, name) = (self.level.key(), self.lint.code(), self.lint.name());
        write!(f, "{level}: {code} {name}: ")?;
        if !self.diagnostic.pointer.is_empty() {
            write!(f, "{}: ", self.diagnostic.pointer)?;
        }
        self.diagnostic.write_text(f)
    }
}

/// What is known beside a template, and what is to be complained of.
///
/// ```
/// use unjinja::lint::{LintOptions, TemplateText};
///
/// let text = r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#;
/// let options = LintOptions::default()
///     .document(TemplateText::new(text))
///     .turn_ends(["<end>"]);
/// assert_eq!(options.turn_ends, ["<end>"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct LintOptions<'a> {
    /// The chat template of the model whose outputs are read: it shows what prompts look like, and
    /// how turns end.
    pub chat_template: Option<&'a ChatTemplate>,
    /// What all renderings of the chat template have in common: tokens, the time, variables.
    pub base: RenderInput,
    /// Tokens that end a turn, beside those that the chat template writes.
    pub turn_ends: Vec<String>,
    /// The JSON that the template was read from: it gives complaints their places.
    pub document: Option<TemplateText<'a>>,
    /// What is allowed, and what is an error.
    pub rulings: Rulings,
    /// Whom the template is for.
    pub targets: Vec<Target>,
    /// Of a chat template, others of the same model: of a GGUF file, those in the files beside it.
    pub others: Vec<ChatTemplate>,
}

impl<'a> LintOptions<'a> {
    /// Sets [`chat_template`](Self::chat_template).
    pub fn chat_template(mut self, template: impl Into<Option<&'a ChatTemplate>>) -> Self {
        self.chat_template = template.into();
        self
    }

    /// Sets [`base`](Self::base).
    pub fn base(mut self, base: RenderInput) -> Self {
        self.base = base;
        self
    }

    /// Sets [`turn_ends`](Self::turn_ends).
    pub fn turn_ends(mut self, tokens: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.turn_ends = tokens.into_iter().map(Into::into).collect();
        self
    }

    /// Sets [`document`](Self::document).
    pub fn document(mut self, document: TemplateText<'a>) -> Self {
        self.document = Some(document);
        self
    }

    /// Sets [`others`](Self::others).
    ///
    /// ```
    /// use unjinja::chat_template::ChatTemplate;
    /// use unjinja::lint::{Lint, LintOptions, lint_chat_template};
    ///
    /// let one = ChatTemplate::from_jinja("{{ messages[0].content }}\n{{ bos_token }}");
    /// let other = ChatTemplate::from_jinja("{{ messages[0].content }}\n{{ eos_token }}");
    /// let options = LintOptions::default().others([other]);
    /// let complaints = lint_chat_template(&one, &options)?;
    /// let differs = complaints.iter().find(|c| c.lint == Lint::OtherTemplateBeside);
    /// let place = differs.and_then(|complaint| complaint.diagnostic.position);
    /// assert_eq!(place.map(|place| place.line), Some(2));
    /// # Ok::<(), unjinja::chat_template::RenderError>(())
    /// ```
    pub fn others(mut self, templates: impl IntoIterator<Item = ChatTemplate>) -> Self {
        self.others = templates.into_iter().collect();
        self
    }

    /// Sets [`rulings`](Self::rulings).
    pub fn rulings(mut self, rulings: Rulings) -> Self {
        self.rulings = rulings;
        self
    }

    /// Sets [`targets`](Self::targets).
    ///
    /// ```
    /// use unjinja::ResponseTemplate;
    /// use unjinja::lint::{Lint, LintOptions, lint};
    ///
    /// let template = ResponseTemplate::from_json(
    ///     r#"{"start_anchor": "<bot>", "fields": {"content": {"content": "json"}}}"#,
    /// )?;
    /// let options = LintOptions::default().targets(["vllm".parse()?]);
    /// let complaints = lint(&template, &options)?;
    /// assert!(complaints.iter().any(|complaint| complaint.lint == Lint::NotSuited));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn targets(mut self, targets: impl IntoIterator<Item = Target>) -> Self {
        self.targets = targets.into_iter().collect();
        self
    }
}

/// The JSON that a response template was read from, and where in there it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemplateText<'a> {
    /// The whole text.
    pub text: &'a str,
    /// The JSON pointer to the template; empty where it is the whole.
    pub pointer: &'a str,
}

impl<'a> TemplateText<'a> {
    /// A text that is a template as a whole.
    pub fn new(text: &'a str) -> Self {
        TemplateText { text, pointer: "" }
    }

    /// The text, with the template at this JSON pointer.
    pub fn at(mut self, pointer: &'a str) -> Self {
        self.pointer = pointer;
        self
    }
}

/// Reports what is likely to hurt about a response template, in the order in which it stands there.
///
/// ```
/// use unjinja::lint::{Lint, LintOptions, TemplateText, lint};
/// use unjinja::ResponseTemplate;
///
/// let text = r#"{
///     "start_anchor": "<bot>",
///     "fields": {
///         "thinking": {"open": "<think>", "close": "</think>\n\n"},
///         "tool_calls": {"open": "\n<call>", "close": "\n</call>", "content": "json"},
///         "content": {"close_pattern": "<end>\\s*"}
///     }
/// }"#;
/// let template = ResponseTemplate::from_json(text)?;
/// let options = LintOptions::default().document(TemplateText::new(text));
/// let complaints = lint(&template, &options)?;
/// assert_eq!(complaints[0].lint, Lint::DelimitersOverlap);
/// assert_eq!(
///     complaints[0].to_string(),
///     "4:50: warning: U001 delimiters-overlap: /fields/thinking/close: \
///      in \"</think>\\n\\n<call>\", what closes `thinking` takes \"</think>\\n\\n\", and \
///      what opens `tool_calls`, which needs \"\\n\" of it, is not found any more: \
///      let the one take less, for example by a lookahead for what the other needs, or let the \
///      other do without \"\\n\"",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If there is a chat template that is not valid, or does not even render a question.
pub fn lint(
    template: &ResponseTemplate,
    options: &LintOptions<'_>,
) -> Result<Vec<Complaint>, RenderError> {
    let model = match options.chat_template {
        Some(chat_template) => Some(Model::of(chat_template, &options.base)?),
        None => None,
    };
    let pointer = options.document.map_or("", |document| document.pointer);
    let subject = Subject::new(template, pointer, model, options);
    let mut complaints = Complaints::default();
    for check in CHECKS {
        check(&subject, &mut complaints);
    }
    Ok(complaints.ruled(&options.rulings, options.document))
}

/// What is checked: one file a kind of question.
const CHECKS: &[fn(&Subject<'_>, &mut Complaints)] = &[
    overlap::check,
    ending::check,
    delimiters::check,
    body::check,
    opening::check,
    anchor::check,
    portability::check,
    names::check,
    names::check_targets,
    effect::check,
    white_space::check,
];

/// What has been found so far.
#[derive(Debug, Default)]
struct Complaints(Vec<Complaint>);

impl Complaints {
    fn add(
        &mut self,
        lint: Lint,
        pointer: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> &mut Complaint {
        let diagnostic = Diagnostic::new(message).at(pointer);
        self.push(lint, diagnostic.with_remedy(remedy))
    }

    /// All that is not allowed, each with its place in the document, in their order there.
    fn ruled(self, rulings: &Rulings, document: Option<TemplateText<'_>>) -> Vec<Complaint> {
        let mut complaints = self.0;
        complaints.retain_mut(|complaint| {
            match rulings.on_complaint(complaint.lint, complaint.level) {
                Some(Ruling::Allow) => false,
                Some(Ruling::Deny) => {
                    complaint.level = Level::Error;
                    true
                }
                None => true,
            }
        });
        if let Some(document) = document {
            let diagnostics = complaints.iter_mut().map(|found| &mut found.diagnostic);
            place_in(
                document.text,
                diagnostics.map(|found| (found, MemberPart::Value)),
            );
        }
        complaints.sort_by_key(|complaint| (complaint.diagnostic.position, complaint.lint));
        complaints
    }

    fn push(&mut self, lint: Lint, diagnostic: Diagnostic) -> &mut Complaint {
        self.0.push_mut(Complaint {
            lint,
            level: lint.level(),
            diagnostic,
            target: None,
            shown: None,
        })
    }
}

/// A text in quotes, of which the middle may be left out.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 40;
    let count = text.chars().count();
    if count <= 2 * SHOWN {
        return format!("{text:?}");
    }
    let start: String = text.chars().take(SHOWN).collect();
    let end: String = text.chars().skip(count - SHOWN).collect();
    format!("{start:?}…{end:?}")
}

/// Words with commas, and a last one with `and` or `or`.
fn listed(words: &[String], joint: &str) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} {joint} {last}", others.join(", ")),
    }
}
