//! What outputs are read with, in either language.

use crate::diagnostic::Diagnostic;
use crate::profile::{Malformed, Target};
use crate::response::{
    Language, OnMalformed, ParseError, ParserOptions, ResponseParser, ResponseTemplate,
    TemplateError, Tools, parse,
};
use crate::response_schema::ResponseSchema;
use crate::value::{Object, Value};

use super::compare::ComparisonInput;

/// What outputs are read with: a response template, or a response schema.
///
/// ```
/// use unjinja::Tools;
/// use unjinja::check::Reader;
/// use unjinja::response_schema::ResponseSchema;
///
/// let schema = ResponseSchema::from_json(r#"{"type": "string", "x-regex": "(.*?)<end>"}"#)?;
/// let reader = Reader::from(&schema);
/// assert_eq!(reader.read("", "Hello!<end>", &Tools::none()), Ok("Hello!".into()));
/// # Ok::<(), unjinja::response_schema::SchemaError>(())
/// ```
#[derive(Debug, Clone)]
pub enum Reader {
    /// A response template.
    Template(ResponseTemplate),
    /// A response schema, the older language, which looks at neither prompts nor tools.
    Schema(ResponseSchema),
}

impl Reader {
    /// What of it has no effect.
    pub fn warnings(&self) -> &[Diagnostic] {
        match self {
            Reader::Template(template) => template.warnings(),
            Reader::Schema(schema) => schema.warnings(),
        }
    }

    /// The same in a version of the language of response templates; a response schema is the same in all.
    ///
    /// # Errors
    ///
    /// Those of [`ResponseTemplate::in_language`].
    pub fn in_language(&self, language: Language) -> Result<Reader, TemplateError> {
        match self {
            Reader::Template(template) => template.in_language(language).map(Reader::Template),
            Reader::Schema(_) => Ok(self.clone()),
        }
    }

    /// What it makes of an output, or why it can't read it.
    pub fn read(&self, prefix: &str, output: &str, tools: &Tools) -> Result<Value, String> {
        match self {
            Reader::Template(template) => {
                let options = ParserOptions::default().tools(tools.clone());
                let message = parse(template, prefix, output, options);
                message.map(Value::from).map_err(|error| error.to_string())
            }
            Reader::Schema(schema) => schema.read(output).map_err(|error| error.to_string()),
        }
    }
}

impl Reader {
    /// What a target hands on of an output, or why it can't read it.
    pub(super) fn read_for(&self, target: Target, text: &ComparisonInput) -> Result<Value, String> {
        let malformed = target.profile.malformed();
        let read = match self {
            Reader::Template(template) => {
                let mut options = ParserOptions::default().tools(text.tools.clone());
                if malformed == Malformed::Drop {
                    options.on_malformed = OnMalformed::Event;
                }
                let message = read_in_pieces(template, text, options);
                message.map(Value::from).map_err(|error| error.to_string())
            }
            Reader::Schema(_) => self.read(&text.prefix, &text.output, &text.tools),
        };
        let message = match (read, malformed) {
            (Err(_), Malformed::Text) => {
                Object::from_iter([("content", text.output.as_str())]).into()
            }
            (read, _) => read?,
        };
        Ok(match message {
            Value::Object(message) => target.handed_on(message).into(),
            other => other,
        })
    }
}

/// The message of a text, which comes as a whole or character by character.
fn read_in_pieces(
    template: &ResponseTemplate,
    text: &ComparisonInput,
    options: ParserOptions,
) -> Result<Object, ParseError> {
    let mut parser = ResponseParser::new(template, &text.prefix, options)?;
    match text.by_character {
        true => {
            for piece in text.output.split_inclusive(|_| true) {
                parser.feed(piece)?;
            }
        }
        false => drop(parser.feed(&text.output)?),
    }
    parser.finalize_with(|_| {})
}

impl From<&ResponseTemplate> for Reader {
    fn from(template: &ResponseTemplate) -> Reader {
        Reader::Template(template.clone())
    }
}

impl From<&ResponseSchema> for Reader {
    fn from(schema: &ResponseSchema) -> Reader {
        Reader::Schema(schema.clone())
    }
}

impl From<&Reader> for Reader {
    fn from(reader: &Reader) -> Reader {
        reader.clone()
    }
}
