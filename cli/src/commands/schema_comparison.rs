//! What the response schema that came with a chat template says of a derivation.

use unjinja::chat_template::ChatTemplate;
use unjinja::check::SchemaComparison;
use unjinja::derive::Derivation;
use unjinja::response_schema::{Difference, ResponseSchema, SchemaError, Trial};
use unjinja::{Object, Value};

/// What the schema says, or why it is refused; `None` if there is none.
pub(super) fn of(
    template: &ChatTemplate,
    derivation: &Derivation,
) -> Option<Result<SchemaComparison, SchemaError>> {
    let schema = ResponseSchema::from_value(template.response_schema.as_ref()?);
    Some(schema.map(|schema| SchemaComparison::of(&schema, derivation)))
}

/// The texts that are not read alike, and how they differ. That the white space around texts differs counts
/// for nothing: a schema may leave it, and a derived template takes it off.
pub(super) fn parted(trials: &[Trial]) -> impl Iterator<Item = (&Trial, Difference)> {
    let parted = trials.iter();
    let parted = parted.filter_map(|trial| Some((trial, trial.difference()?)));
    parted.filter(|(_, difference)| *difference != Difference::WhiteSpace)
}

/// How many are read alike.
fn alike(trials: &[Trial]) -> usize {
    trials.len() - parted(trials).count()
}

pub(super) fn statement(comparison: &Result<SchemaComparison, SchemaError>) -> String {
    let comparison = match comparison {
        Ok(comparison) => comparison,
        Err(error) => return format!("the existing response schema is refused: {error}"),
    };
    let count = |trials: &[Trial]| format!("{} of {}", alike(trials), trials.len());
    format!(
        "the existing response schema reads {} renderings alike, {} damaged texts, and {} texts of its \
         own patterns",
        count(&comparison.renderings),
        count(&comparison.damaged),
        count(&comparison.own)
    )
}

/// For programs: an object of the `fault` for which the schema is refused; or for each kind of texts of how
/// many there are, and how many of them are read `alike`.
pub(super) fn to_value(comparison: &Result<SchemaComparison, SchemaError>) -> Value {
    let comparison = match comparison {
        Ok(comparison) => comparison,
        Err(error) => return Object::from_iter([("fault", error.to_string())]).into(),
    };
    let kinds = [
        ("renderings", &comparison.renderings),
        ("damaged", &comparison.damaged),
        ("own", &comparison.own),
    ];
    let kinds = kinds.map(|(kind, trials)| {
        let counts = [("alike", alike(trials)), ("total", trials.len())];
        (kind, Object::from_iter(counts))
    });
    Object::from_iter(kinds).into()
}
