//! From what is known of a format to the response template that reads it.
//!
//! The only room that knows both sides. Findings leave questions open; each answer makes another
//! draft, and every draft is run, by the real parser, over all renderings of probes and over what
//! models do to such texts.

mod candidate;
mod choices;
mod conversations;
mod damage;
mod draft;
mod proof;
mod regex;
mod sample;
mod search;
mod trial;

use crate::analysis::{Analysis, Findings, analyze, with_tokens};
use crate::chat_template::{ChatTemplate, RenderError, RenderInput};
use crate::remedy::Remedy;
use crate::value::Value;

use damage::Damaged;
use sample::Samples;
use search::{Chosen, Search};

pub use candidate::{Candidate, Tally};
pub use proof::{DamageRow, DamagedText, Recovery, Row};

/// How a response template is to be derived.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeriveOptions {
    /// What all renderings have in common: tokens, the time, variables.
    pub base: RenderInput,
    /// The field for reasoning.
    pub reasoning_field: String,
    /// Whether calls keep their ids.
    pub ids: bool,
    /// Whether values that the format writes raw are read as JSON where they are JSON.
    pub guess_types: bool,
}

impl Default for DeriveOptions {
    fn default() -> Self {
        DeriveOptions {
            base: RenderInput::default(),
            reasoning_field: "thinking".into(),
            ids: false,
            guess_types: false,
        }
    }
}

/// A response template, and how it was found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Derivation {
    /// The response template.
    pub template: Value,
    /// What it was written from.
    pub findings: Findings,
    /// What it makes of the chat template's own renderings.
    pub proof: Vec<Row>,
    /// The conversations that the chat template refuses, and why.
    pub refused: Vec<(String, String)>,
    /// What it makes of damaged renderings.
    pub damaged: Vec<DamagedText>,
    /// The tools that the calls in all of these are calls of.
    pub tools: Value,
    /// How many drafts were tried.
    pub drafts: usize,
}

impl Derivation {
    /// What [`derive()`] does, and the drafts that it has tried.
    ///
    /// The one that was chosen comes first, then the others, best first: at most 24 in all, and no
    /// two of them are the same response template. How good one is is counted as [`derive()`] counts:
    /// texts that are the same are one, renderings come before texts that were made up, and these
    /// before damaged ones.
    ///
    /// Trying all of them to the end takes longer than choosing one, but some seconds at the most;
    /// what could not be tried by then is left out.
    ///
    /// ```
    /// use unjinja::{ChatTemplate, Derivation, DeriveOptions};
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>\
    ///      {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}\
    ///      {{ m.content }}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let options = DeriveOptions::default();
    /// let (derivation, candidates) = Derivation::with_candidates(&template, &options)?;
    /// assert!(candidates[0].is_chosen);
    /// assert_eq!(candidates[0].template, derivation.template);
    ///
    /// let other = &candidates[1];
    /// assert_eq!(other.differences, ["only its marker closes reasoning"]);
    /// assert!(other.damaged.recovered < candidates[0].damaged.recovered);
    /// # Ok::<(), unjinja::DeriveError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`derive()`].
    pub fn with_candidates(
        template: &ChatTemplate,
        options: &DeriveOptions,
    ) -> Result<(Derivation, Vec<Candidate>), DeriveError> {
        let material = Material::gather(template, options)?;
        let search = Search::new(&material, options);
        let chosen = search.best().map_err(DeriveError::NoDraft)?;
        let candidates = candidate::candidates(&search, &chosen);
        Ok((Derivation::of(material, chosen, options), candidates))
    }

    fn of(material: Material, chosen: Chosen, options: &DeriveOptions) -> Derivation {
        let field = options.reasoning_field.as_str();
        let samples = material.samples;
        let refused = samples.refused.iter();
        Derivation {
            proof: proof::rows(&chosen.template, field, &samples),
            damaged: proof::damaged_texts(&chosen.template, field, &samples, &material.damaged),
            tools: conversations::tools(),
            refused: refused
                .map(|(name, why)| ((*name).to_owned(), why.message().to_owned()))
                .collect(),
            template: chosen.value,
            drafts: chosen.tried.len(),
            findings: material.findings,
        }
    }

    /// Whether all that the chat template writes is recovered.
    pub fn is_whole(&self) -> bool {
        let missed = |row: &Row| matches!(row.recovery, Recovery::NotExpressed(_));
        !self.proof.iter().any(missed)
    }

    /// How many damaged renderings are recovered, for each kind of damage.
    pub fn damage(&self) -> Vec<DamageRow> {
        proof::damage_rows(&self.damaged)
    }

    /// How many renderings are recovered, as far as they were written.
    pub fn recovered(&self) -> usize {
        let missed = |row: &&Row| matches!(row.recovery, Recovery::NotExpressed(_));
        self.proof.len() - self.proof.iter().filter(missed).count()
    }
}

/// Works out the response template of a chat template.
///
/// The chat template renders probe conversations, and what comes out tells how the model writes
/// its turn. What that leaves open is decided by trials: every draft is run over all renderings,
/// and over what models do to such texts.
///
/// ```
/// use unjinja::{ChatTemplate, DeriveOptions, ParserOptions, ResponseTemplate, derive, parse};
///
/// let template = ChatTemplate::from_jinja(
///     "{% for m in messages %}<{{ m.role }}>\
///      {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}\
///      {{ m.content }}<end>{% endfor %}\
///      {% if add_generation_prompt %}<assistant>{% endif %}",
/// );
/// let derived = derive(&template, &DeriveOptions::default())?;
/// assert!(derived.is_whole());
///
/// let template = ResponseTemplate::from_value(&derived.template)?;
/// let output = "<think>Be kind.</think>Hello!<end>";
/// let message = parse(&template, "<user>Hi<end><assistant>", output, ParserOptions::default())?;
/// assert_eq!(message.get("thinking").and_then(|t| t.as_str()), Some("Be kind."));
/// assert_eq!(message.get("content").and_then(|t| t.as_str()), Some("Hello!"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the chat template is not valid, does not even render a question, or renders nothing of what
/// the assistant says; and if nothing that could be drafted is a valid response template.
pub fn derive(template: &ChatTemplate, options: &DeriveOptions) -> Result<Derivation, DeriveError> {
    let material = Material::gather(template, options)?;
    let chosen = Search::new(&material, options).best();
    let chosen = chosen.map_err(DeriveError::NoDraft)?;
    Ok(Derivation::of(material, chosen, options))
}

/// What drafts are written from, and what they are tried on.
struct Material {
    findings: Findings,
    samples: Samples,
    damaged: Vec<Damaged>,
}

impl Material {
    fn gather(template: &ChatTemplate, options: &DeriveOptions) -> Result<Material, DeriveError> {
        check_field(&options.reasoning_field)?;
        let prepared = template.prepare();
        let base = with_tokens(template, &options.base);
        let Analysis {
            mut asking,
            openings,
            findings,
        } = analyze(template, &prepared, base)?;
        let samples = sample::take(&mut asking, &openings, &findings);
        if !samples.hold_something() {
            return Err(DeriveError::NoTurn(samples.refusal()));
        }
        let damaged = damage::all(&findings, &samples.all);
        Ok(Material {
            findings,
            samples,
            damaged,
        })
    }
}

/// Refuses a field for reasoning that is taken by something else.
fn check_field(name: &str) -> Result<(), DeriveError> {
    match name {
        "" | "role" | "content" | "tool_calls" => Err(DeriveError::Field(name.to_owned())),
        _ => Ok(()),
    }
}

/// Why no response template could be derived.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DeriveError {
    /// The chat template does not even render a question.
    #[error("not even a question can be rendered: {0}")]
    Render(RenderError),
    /// The chat template renders no turn of the assistant, and how it refuses the first one; or
    /// nothing of what is said in it.
    #[error("{}", no_turn(.0.as_ref(), Remedy::name))]
    NoTurn(Option<RenderError>),
    /// The field for reasoning can't have this name.
    #[error(
        "reasoning can't go to the field `{0}`, which is taken or empty: choose another name, such \
         as `reasoning_content`"
    )]
    Field(String),
    /// Nothing that was drafted is a response template.
    #[error("nothing that was drafted is a response template: {0}")]
    NoDraft(String),
}

impl DeriveError {
    /// The message, with names of the caller for what it advises to make use of.
    pub fn explain(&self, words: impl Fn(Remedy) -> &'static str) -> String {
        match self {
            Self::NoTurn(refusal) => no_turn(refusal.as_ref(), words),
            other => other.to_string(),
        }
    }
}

impl From<RenderError> for DeriveError {
    fn from(error: RenderError) -> Self {
        Self::Render(error)
    }
}

/// Says why no turn is rendered, and what may help.
fn no_turn(refusal: Option<&RenderError>, words: impl Fn(Remedy) -> &'static str) -> String {
    let Some(error) = refusal else {
        return "the assistant's turn is never rendered, not even its text: is this the template \
                of a chat model?"
            .to_owned();
    };
    let why = error.message();
    let token = match error.undefined() {
        Some("bos_token") => Remedy::BosToken,
        Some("eos_token") => Remedy::EosToken,
        _ => return format!("no turn of the assistant can be rendered: {why}"),
    };
    format!(
        "no turn of the assistant can be rendered: {why}: give it with {}, or put the model's \
         tokenizer_config.json beside the template",
        words(token)
    )
}
