//! Bringing response schemas over: from one to the response template that reads the same.
//!
//! The schema is followed: what its patterns have around a group becomes what opens and closes a field,
//! an iterator becomes `repeats`, pairs of keys and values a parser, substitutions and transforms a
//! transform. That leaves questions open, so several templates are drafted. All of them read texts that
//! are made from the schema's own patterns, and the one is chosen that reads most of them as the schema
//! does.

// In the order in which they build upon each other: no file imports from one of a later group.
mod group_context;
mod part;

mod sample;
mod write;

mod item;
mod json_item;
mod parts;

mod plan;

mod draft;
mod texts;
mod trial;

use std::fmt;

use crate::diagnostic::{Diagnostic, write_lines};
use crate::response::{ResponseTemplate, Tools};

use super::ResponseSchema;

use texts::Text;

#[cfg(feature = "check")]
pub(crate) use trial::without_empty;
pub use trial::{Difference, Trial};

/// How closely a schema is followed where it looks at all of the text before it finds a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The template looks ahead as far as the schema does. So it reads damaged texts alike, too, such as one
    /// that breaks off in the middle of a call, but it has to be given texts as a whole.
    Exact,
    /// The template looks no further than it has to. So texts can be read while they stream, but damaged ones
    /// may be read otherwise.
    Streaming,
}

/// A response template, and how it compares with the schema that it was made of.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Conversion {
    /// The response template.
    pub template: ResponseTemplate,
    /// What both make of texts that are put together from the schema's patterns.
    pub trials: Vec<Trial>,
}

impl Conversion {
    /// The trials of texts as they should be, or of damaged ones, that are not read alike.
    pub fn parted(&self, damaged: bool) -> impl Iterator<Item = &Trial> {
        let trials = self.trials.iter();
        let trials = trials.filter(move |trial| trial.damage.is_some() == damaged);
        trials.filter(|trial| trial.difference().is_some())
    }
}

/// Why a schema can't be brought over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConvertError {
    /// What of it has no counterpart, at least one thing.
    pub faults: Vec<Diagnostic>,
}

impl ConvertError {
    fn of(message: &str) -> ConvertError {
        ConvertError {
            faults: vec![Diagnostic::new(message)],
        }
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_lines(f, &self.faults, None)
    }
}

impl std::error::Error for ConvertError {}

/// Works out the response template that reads as a schema does.
///
/// ```
/// use unjinja::response_schema::{ResponseSchema, Way, convert};
/// use unjinja::{ParserOptions, parse};
///
/// let schema = ResponseSchema::from_json(r#"{
///     "type": "object",
///     "x-regex": "^(?:<think>(?P<thinking>.*?)</think>)?(?P<content>.*?)(?:<end>|$)",
///     "properties": {
///         "role": {"const": "assistant"},
///         "thinking": {"type": "string"},
///         "content": {"type": "string"}
///     }
/// }"#)?;
/// let conversion = convert(&schema, Way::Streaming)?;
/// assert_eq!(conversion.parted(false).count(), 0);
///
/// let text = "<think>Be kind.</think>Hello!<end>";
/// let message = parse(&conversion.template, "", text, ParserOptions::default())?;
/// assert_eq!(schema.read(text)?, message.into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A schema knows nothing of prompts. So the template's anchor is the end of the prompt: it reads what the
/// model has written, as the schema does.
///
/// # Errors
///
/// If anything in the schema has no counterpart in a response template, each with its key; and if no
/// template that could be drafted reads any text as the schema does.
pub fn convert(schema: &ResponseSchema, way: Way) -> Result<Conversion, ConvertError> {
    let plan = plan::plan(schema.as_value()).map_err(|faults| ConvertError { faults })?;
    let texts = texts::texts(schema, &plan);
    if texts.is_empty() {
        return Err(ConvertError::of(
            "no text could be made that it reads, so nothing could be tried",
        ));
    }
    let mut best: Option<(usize, Conversion)> = None;
    let mut refused = None;
    for draft in draft::drafts(&plan, way) {
        match ResponseTemplate::from_value(&draft) {
            Ok(template) => {
                let conversion = tried(template, &texts);
                // Whole texts come first.
                let parted = |damaged| conversion.parted(damaged).count();
                let parted = parted(false) * 1000 + parted(true);
                if best.as_ref().is_none_or(|(least, _)| parted < *least) {
                    best = Some((parted, conversion));
                }
            }
            Err(error) => refused = Some(error.to_string()),
        }
    }
    let Some((_, conversion)) = best else {
        let why = refused.unwrap_or_default();
        let message = format!("no response template can be made of it: {why}");
        return Err(ConvertError::of(&message));
    };
    let whole = texts.iter().filter(|text| text.damage.is_none()).count();
    let parted: Vec<&Trial> = conversion.parted(false).collect();
    if parted.len() == whole {
        let text = parted.first().map_or("", |trial| &*trial.text);
        return Err(ConvertError::of(&format!(
            "what was drafted reads no text as the schema does, not even {text:?}"
        )));
    }
    Ok(conversion)
}

/// Texts that are put together from a schema's patterns.
pub(super) fn examples(schema: &ResponseSchema) -> Vec<String> {
    let plan = plan::plan(schema.as_value());
    let texts = plan.map(|plan| texts::texts(schema, &plan));
    let texts = texts.unwrap_or_default().into_iter();
    let whole = texts.filter(|text| text.damage.is_none());
    whole.map(|text| text.text).collect()
}

fn tried(template: ResponseTemplate, texts: &[Text]) -> Conversion {
    let tools = Tools::none();
    let trials = texts.iter().map(|text| Trial {
        text: text.text.clone(),
        damage: text.damage.map(str::to_owned),
        by_schema: text.by_schema.clone(),
        by_template: trial::by_template(&template, ("", &tools), &text.text),
    });
    Conversion {
        trials: trials.collect(),
        template,
    }
}
