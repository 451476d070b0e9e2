//! A response schema as the second witness of a derivation.

use crate::derive::Derivation;
use crate::response_schema::{ResponseSchema, Trial};
use crate::value::{Object, Value};

/// What a response schema says of a response template that was derived. Where the schema calls the field
/// for reasoning otherwise, its messages get the name of the derivation.
///
/// ```
/// use unjinja::chat_template::ChatTemplate;
/// use unjinja::check::SchemaComparison;
/// use unjinja::derive::{DeriveOptions, derive};
/// use unjinja::response_schema::ResponseSchema;
///
/// let template = ChatTemplate::from_jinja(
///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
///      {% if add_generation_prompt %}<assistant>{% endif %}",
/// );
/// let schema = ResponseSchema::from_json(r#"{
///     "type": "object",
///     "x-regex": "^(?P<content>.*?)(?:<end>|$)",
///     "properties": {"role": {"const": "assistant"}, "content": {"type": "string"}}
/// }"#)?;
/// let derivation = derive(&template, &DeriveOptions::default())?;
/// let comparison = SchemaComparison::of(&schema, &derivation);
/// assert!(!comparison.renderings.is_empty());
/// assert!(comparison.renderings.iter().all(|trial| trial.difference().is_none()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SchemaComparison {
    /// What both make of the renderings that the derivation was proved on.
    pub renderings: Vec<Trial>,
    /// What both make of the damaged ones.
    pub damaged: Vec<Trial>,
    /// What both make of the [texts of the schema's own patterns](ResponseSchema::examples): they may show
    /// what no rendering does.
    pub own: Vec<Trial>,
}

impl SchemaComparison {
    /// Lets a schema and a derived template read the same texts.
    pub fn of(schema: &ResponseSchema, derivation: &Derivation) -> SchemaComparison {
        let name = schema.reasoning_field();
        let tried = |prefix: &str, output: &str| {
            let prompt = (prefix, &derivation.tools);
            let mut trial = Trial::with_prompt(schema, &derivation.template, prompt, output);
            if let (Some(name), Ok(Value::Object(message))) = (&name, &mut trial.by_schema) {
                rename(message, name, &derivation.reasoning_field);
            }
            trial
        };
        let renderings = derivation.proof.iter();
        let damaged = derivation.damaged.iter();
        let own = schema.examples().into_iter();
        SchemaComparison {
            renderings: renderings
                .map(|row| tried(&row.prefix, &row.output))
                .collect(),
            damaged: damaged
                .map(|text| Trial {
                    damage: Some(text.damage.to_string()),
                    ..tried(&text.prefix, &text.output)
                })
                .collect(),
            own: own.map(|text| tried("", &text)).collect(),
        }
    }
}

/// Gives a key another name, in its place.
fn rename(object: &mut Object, from: &str, to: &str) {
    let renamed = object
        .iter()
        .map(|(key, value)| match key.as_str() == Some(from) {
            true => (to.into(), value.clone()),
            false => (key.clone(), value.clone()),
        });
    *object = renamed.collect();
}
