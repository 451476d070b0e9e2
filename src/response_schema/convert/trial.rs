//! What a schema and a response template make of the same text.

use std::fmt;

use crate::response::{ParserOptions, ResponseTemplate, Tools, parse};
use crate::response_schema::ResponseSchema;
use crate::value::{Object, Value};
use crate::white_space;

/// What a schema and a response template make of a text.
///
/// ```
/// use unjinja::ResponseTemplate;
/// use unjinja::response_schema::{Difference, ResponseSchema, Trial};
///
/// let schema = ResponseSchema::from_json(r#"{
///     "type": "object",
///     "x-regex": "(?P<content>.*?)<end>",
///     "properties": {"content": {"type": "string"}}
/// }"#)?;
/// let template = ResponseTemplate::from_json(
///     r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#,
/// )?;
/// assert_eq!(Trial::new(&schema, &template, "Hello!<end>").difference(), None);
/// let trial = Trial::new(&schema, &template, "Hello!");
/// assert_eq!(trial.difference(), Some(Difference::NothingFound));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

/// In what way a text is not read alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Difference {
    /// The schema's pattern is not found, so it gives `null`. A response template makes a message of any
    /// text, so none can do the same.
    NothingFound,
    /// The schema can't read it, and the template can.
    SchemaFails,
    /// The template can't read it, and the schema can.
    TemplateFails,
    /// They make other messages of it, by white space around texts alone.
    WhiteSpace,
    /// They make other messages of it.
    Message,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Difference::NothingFound => {
                "the schema finds nothing, and a response template makes a message of any text"
            }
            Difference::SchemaFails => "only the schema can't read it",
            Difference::TemplateFails => "only the response template can't read it",
            Difference::WhiteSpace => "the messages differ in white space around texts",
            Difference::Message => "the messages differ",
        })
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
        Trial {
            text: text.to_owned(),
            damage: None,
            by_schema,
            by_template: by_template(template, (prefix, tools), text),
        }
    }

    /// How the two differ, unless they read the text alike: as the same message, or not at all. A
    /// response template leaves out what is empty, so that makes no difference.
    pub fn difference(&self) -> Option<Difference> {
        let (first, second) = match (&self.by_schema, &self.by_template) {
            (Err(_), Err(_)) => return None,
            (Err(_), Ok(_)) => return Some(Difference::SchemaFails),
            (Ok(_), Err(_)) => return Some(Difference::TemplateFails),
            (Ok(Value::Null), Ok(_)) => return Some(Difference::NothingFound),
            (Ok(first), Ok(second)) => (without_empty(first), without_empty(second)),
        };
        if first.total_eq(&second) {
            return None;
        }
        let bare = |message: &Value| without_empty(&stripped(message));
        Some(match bare(&first).total_eq(&bare(&second)) {
            true => Difference::WhiteSpace,
            false => Difference::Message,
        })
    }
}

pub(super) fn by_template(
    template: &ResponseTemplate,
    (prefix, tools): (&str, &Tools),
    text: &str,
) -> Result<Value, String> {
    let options = ParserOptions::default().tools(tools.clone());
    let message = parse(template, prefix, text, options);
    message.map(Value::from).map_err(|error| error.to_string())
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

pub(crate) fn without_empty(message: &Value) -> Value {
    match message {
        Value::Object(object) => {
            let kept = object.iter().filter(|(_, value)| !value.is_empty());
            let kept = kept.map(|(key, value)| (key.clone(), value.clone()));
            kept.collect::<Object>().into()
        }
        other => other.clone(),
    }
}
