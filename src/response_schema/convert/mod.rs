//! Bringing response schemas over: from one to the response template that reads the same.
//!
//! The schema is followed: what its patterns have around a group becomes what opens and closes a field,
//! an iterator becomes `repeats`, pairs of keys and values a parser, substitutions and transforms a
//! transform. That leaves questions open, so several templates are drafted. All of them read texts that
//! are made from the schema's own patterns, and the one is chosen that reads most of them as the schema
//! does.

mod calls;
mod draft;
mod pattern;
mod texts;

use std::fmt;

use crate::diagnostic::{Diagnostic, write_lines};
use crate::response::{ParserOptions, ResponseTemplate, Tools, parse};
use crate::value::{Object, Value};
use crate::white_space;

use super::ResponseSchema;

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

/// What a schema and a template make of a text.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Trial {
    /// The text.
    pub text: String,
    /// What was done to it, if it was.
    pub damage: Option<String>,
    /// What the schema makes of it, or why it can't read it.
    pub by_schema: Result<Value, String>,
    /// What the template makes of it, or why it can't read it.
    pub by_template: Result<Value, String>,
}

impl Conversion {
    /// The trials of texts as they should be, or of damaged ones, that are not read alike.
    pub fn parted(&self, damaged: bool) -> impl Iterator<Item = &Trial> {
        let trials = self.trials.iter();
        trials.filter(move |trial| trial.damage.is_some() == damaged && !trial.agrees())
    }
}

impl Trial {
    /// Lets both read a text.
    pub fn new(schema: &ResponseSchema, template: &ResponseTemplate, text: &str) -> Trial {
        Trial::with_prompt(schema, template, ("", &Tools::none()), text)
    }

    /// The same for a text that follows a prompt with tools, which only the template reads.
    pub fn with_prompt(
        schema: &ResponseSchema,
        template: &ResponseTemplate,
        (prefix, tools): (&str, &Tools),
        text: &str,
    ) -> Trial {
        let by_schema = schema.read(text).map_err(|error| error.to_string());
        let options = ParserOptions::default().tools(tools.clone());
        let by_template = parse(template, prefix, text, options);
        Trial {
            text: text.to_owned(),
            damage: None,
            by_schema,
            by_template: by_template
                .map(Value::from)
                .map_err(|error| error.to_string()),
        }
    }

    /// Whether both read it alike: as the same message, or not at all. A response template leaves out
    /// what is empty, so that makes no difference.
    pub fn agrees(&self) -> bool {
        self.agrees_in(without_empty)
    }

    /// The same, if white space around texts counts for nothing.
    pub fn agrees_but_for_white_space(&self) -> bool {
        self.agrees_in(|message| without_empty(&stripped(message)))
    }

    fn agrees_in(&self, seen: impl Fn(&Value) -> Value) -> bool {
        match (&self.by_schema, &self.by_template) {
            (Ok(first), Ok(second)) => seen(first).total_eq(&seen(second)),
            (Err(_), Err(_)) => true,
            _ => false,
        }
    }
}

fn stripped(message: &Value) -> Value {
    match message {
        Value::Object(object) => {
            let stripped = object.iter().map(|(key, value)| {
                let text = value.as_str().map(|text| white_space::strip(text).into());
                (key.clone(), text.unwrap_or_else(|| value.clone()))
            });
            stripped.collect::<Object>().into()
        }
        other => other.clone(),
    }
}

fn without_empty(message: &Value) -> Value {
    match message {
        Value::Object(object) => {
            let kept = object.iter().filter(|(_, value)| !value.is_empty());
            let kept = kept.map(|(key, value)| (key.clone(), value.clone()));
            kept.collect::<Object>().into()
        }
        other => other.clone(),
    }
}

/// Why a schema can't be brought over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConvertError {
    /// What of it has no counterpart, at least one thing.
    pub faults: Vec<Diagnostic>,
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
    let plan = draft::plan(schema.as_value()).map_err(|faults| ConvertError { faults })?;
    let texts = texts::texts(schema, &plan);
    let fail = |message: String| ConvertError {
        faults: vec![Diagnostic::new(message)],
    };
    let mut best: Option<(usize, Conversion)> = None;
    let mut refused = None;
    for draft in plan.drafts(way) {
        let template = match ResponseTemplate::from_value(&draft) {
            Ok(template) => template,
            Err(error) => {
                refused = Some(error.to_string());
                continue;
            }
        };
        let trials = texts.iter().map(|(text, damage)| Trial {
            damage: damage.map(str::to_owned),
            ..Trial::new(schema, &template, text)
        });
        let trials: Vec<Trial> = trials.collect();
        let conversion = Conversion { template, trials };
        // Whole texts come first.
        let parted = conversion.parted(false).count() * 1000 + conversion.parted(true).count();
        if best.as_ref().is_none_or(|(least, _)| parted < *least) {
            best = Some((parted, conversion));
        }
    }
    let Some((_, conversion)) = best else {
        let why = refused.unwrap_or_default();
        return Err(fail(format!(
            "no response template can be made of it: {why}"
        )));
    };
    let whole = conversion
        .trials
        .iter()
        .filter(|trial| trial.damage.is_none());
    let whole = whole.count();
    if whole == 0 {
        return Err(fail(
            "no text could be made that it reads, so nothing could be tried".into(),
        ));
    }
    if conversion.parted(false).count() == whole {
        let text = conversion.parted(false).next().map(|trial| &*trial.text);
        return Err(fail(format!(
            "what was drafted reads no text as the schema does, not even {:?}",
            text.unwrap_or_default()
        )));
    }
    Ok(conversion)
}
