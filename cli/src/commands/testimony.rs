//! What the response schema that came with a chat template says of a derivation.

use unjinja::chat_template::ChatTemplate;
use unjinja::check::witness;
use unjinja::derive::Derivation;
use unjinja::response_schema::{Difference, ResponseSchema, SchemaError, Trial};
use unjinja::{Object, Value};

/// What a response schema says of a response template that was derived.
pub(super) struct Testimony(Result<Vec<Trial>, SchemaError>);

impl Testimony {
    /// Asks the schema that came with the chat template, if one did.
    pub(super) fn of(template: &ChatTemplate, derivation: &Derivation) -> Option<Testimony> {
        let schema = ResponseSchema::from_value(template.response_schema.as_ref()?);
        Some(Testimony(schema.map(|schema| witness(&schema, derivation))))
    }

    /// The renderings, or the damaged texts, that both do not read alike, and how they differ. That the
    /// white space around texts differs counts for nothing: a schema may leave it, and a derived template
    /// takes it off.
    pub(super) fn parted(&self, damaged: bool) -> impl Iterator<Item = (&Trial, Difference)> {
        let parted = self.trials(damaged);
        let parted = parted.filter_map(|trial| Some((trial, trial.difference()?)));
        parted.filter(|(_, difference)| *difference != Difference::WhiteSpace)
    }

    fn trials(&self, damaged: bool) -> impl Iterator<Item = &Trial> {
        let trials = self.0.iter().flatten();
        trials.filter(move |trial| trial.damage.is_some() == damaged)
    }

    fn counts(&self, damaged: bool) -> (usize, usize) {
        let total = self.trials(damaged).count();
        (total - self.parted(damaged).count(), total)
    }

    pub(super) fn statement(&self) -> String {
        if let Err(error) = &self.0 {
            return format!("the response schema that is there is refused: {error}");
        }
        let ((whole, all_whole), (damaged, all_damaged)) = (self.counts(false), self.counts(true));
        format!(
            "the response schema that is there reads {whole} of {all_whole} renderings alike, and {damaged} of \
             {all_damaged} damaged texts"
        )
    }

    /// For programs: an object of the `fault`, or of how many `renderings` and `damaged` texts there are,
    /// and how many of each are read `alike`.
    pub(super) fn to_value(&self) -> Value {
        let counts = |damaged| {
            let (alike, total) = self.counts(damaged);
            Value::from(Object::from_iter([("alike", alike), ("total", total)]))
        };
        let object = match &self.0 {
            Err(error) => Object::from_iter([("fault", Value::from(error.to_string()))]),
            Ok(_) => Object::from_iter([("renderings", counts(false)), ("damaged", counts(true))]),
        };
        object.into()
    }
}
