//! What outputs are read with, in either language.

use crate::diagnostic::Diagnostic;
use crate::response::{ParserOptions, ResponseTemplate, Tools, parse};
use crate::response_schema::ResponseSchema;
use crate::value::Value;

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
