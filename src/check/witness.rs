//! A response schema as the second witness of a derivation.

use crate::derive::Derivation;
use crate::response_schema::{ResponseSchema, Trial};

/// Lets a response schema read all that a derivation was proved on: the renderings, and the damaged texts.
///
/// ```
/// use unjinja::chat_template::ChatTemplate;
/// use unjinja::check::witness;
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
/// let trials = witness(&schema, &derivation);
/// let whole = trials.iter().filter(|trial| trial.damage.is_none());
/// assert_eq!(whole.filter(|trial| trial.difference().is_some()).count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn witness(schema: &ResponseSchema, derivation: &Derivation) -> Vec<Trial> {
    let rendered = derivation.proof.iter();
    let rendered = rendered.map(|row| (&row.prefix, &row.output, None));
    let damaged = derivation.damaged.iter();
    let damaged = damaged.map(|text| (&text.prefix, &text.output, Some(text.damage.to_string())));
    let trials = rendered.chain(damaged).map(|(prefix, output, damage)| {
        let prompt = (prefix.as_str(), &derivation.tools);
        let mut trial = Trial::with_prompt(schema, &derivation.template, prompt, output);
        trial.damage = damage;
        trial
    });
    trials.collect()
}
