//! From what is known of a format to the response template that reads it.
//!
//! The only room that knows both sides. Findings leave questions open; each answer makes another
//! draft, and every draft is run, by the real parser, over all renderings of probes and over what
//! models do to such texts.

mod damage;
mod draft;
mod regex;
mod sample;
mod search;
mod trial;

use crate::analysis::{Analysis, Findings, analyze, with_tokens};
use crate::chat_template::{ChatTemplate, RenderError, RenderInput};
use crate::value::Value;

use search::Search;

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
    /// Scenes that the chat template refuses, and why.
    pub refused: Vec<(String, String)>,
    /// How many damaged texts it recovers, of how many.
    pub damaged: (usize, usize),
    /// Of each kind of damage: how many texts it recovers, of how many.
    pub damage: Vec<(String, usize, usize)>,
    /// How many drafts were tried.
    pub drafts: usize,
}

/// What a response template makes of a rendering.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Row {
    /// What the conversation is about.
    pub name: String,
    /// The prompt.
    pub prefix: String,
    /// What the model would write.
    pub output: String,
    /// What the chat template itself leaves out.
    pub lost: Vec<String>,
    /// What is wrong with the message; `None` if it is recovered.
    pub wrong: Option<String>,
}

/// Works out the response template of a chat template.
pub fn derive(template: &ChatTemplate, options: &DeriveOptions) -> Result<Derivation, DeriveError> {
    let prepared = template.prepare();
    let base = with_tokens(template, &options.base);
    let Analysis {
        mut asking,
        openings,
        findings,
    } = analyze(template, &prepared, base)?;
    let samples = sample::take(&mut asking, &openings, &findings);
    let damaged = damage::all(&findings, &samples.all);
    let search = Search {
        findings: &findings,
        options,
        samples: &samples,
        damaged: &damaged,
    };
    let chosen = search.best().map_err(DeriveError::NoDraft)?;
    let field = options.reasoning_field.as_str();
    let proof = samples.all.iter().map(|sample| Row {
        name: sample.name.to_owned(),
        prefix: sample.prefix.clone(),
        output: sample.output.clone(),
        lost: sample.lost().into_iter().map(str::to_owned).collect(),
        wrong: trial::differs(
            &chosen.template,
            field,
            &samples,
            &sample.prefix,
            &sample.output,
            &trial::expected(sample),
        ),
    });
    let mut kinds: Vec<(String, usize, usize)> = Vec::new();
    for damaged in &damaged {
        let wrong = trial::differs(
            &chosen.template,
            field,
            &samples,
            &damaged.prefix,
            &damaged.output,
            &damaged.expected,
        );
        let at = kinds
            .iter()
            .position(|(how, ..)| how == damaged.how)
            .unwrap_or_else(|| {
                kinds.push((damaged.how.to_owned(), 0, 0));
                kinds.len() - 1
            });
        kinds[at].1 += usize::from(wrong.is_none());
        kinds[at].2 += 1;
    }
    Ok(Derivation {
        proof: proof.collect(),
        template: chosen.value,
        refused: samples
            .refused
            .iter()
            .map(|(name, why)| ((*name).to_owned(), why.clone()))
            .collect(),
        damaged: (chosen.score.damaged, damaged.len()),
        damage: kinds,
        drafts: chosen.tried,
        findings,
    })
}

/// Why no response template could be derived.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DeriveError {
    /// The chat template does not even render a question.
    #[error("not even a question can be rendered: {0}")]
    Render(#[from] RenderError),
    /// Nothing that was drafted is a response template.
    #[error("nothing that was drafted is a response template: {0}")]
    NoDraft(String),
}
