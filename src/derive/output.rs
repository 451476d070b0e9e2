//! Outputs of the model, which drafts are tried on.

use crate::analysis::Findings;
use crate::analysis::assistant_turn::AssistantTurn;
use crate::response::{ResponseTemplate, Tools};
use crate::value::{Object, Value};

use super::options::DeriveOptions;
use super::sample::Samples;
use super::trial::{Expected, TrialReader};

/// An output of the model, and what is to come of it.
pub(super) struct OutputCase {
    pub(super) prefix: String,
    pub(super) text: String,
    /// What it means, if that is known.
    pub(super) said: Option<AssistantTurn>,
    /// The markers of which none may be left in the message.
    markers: Vec<String>,
    /// Whether the model had no room for more.
    is_cut_off: bool,
    pub(super) tools: Tools,
}

/// What a response template makes of an output of the model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct OutputRow {
    /// The prompt, or what it is taken to have written of the turn.
    pub prefix: String,
    /// What the model has written.
    pub output: String,
    /// What it means, as a message, if that is known.
    pub message: Option<Object>,
    /// How what comes of it differs from that; or, where no message is given, the marker that is left in
    /// it.
    pub difference: Option<String>,
}

impl OutputRow {
    /// For programs: an object of `prefix`, `output`, `message` and `difference`, the latter two of which may be
    /// null.
    pub fn to_value(&self) -> Value {
        Object::from_iter([
            ("prefix", Value::from(&self.prefix)),
            ("output", Value::from(&self.output)),
            (
                "message",
                self.message.clone().map_or(Value::Null, Value::from),
            ),
            (
                "difference",
                self.difference.as_deref().map_or(Value::Null, Value::from),
            ),
        ])
        .into()
    }
}

/// The outputs that are known. Where no prompt is given, it ends as a plain one does.
pub(super) fn cases(
    findings: &Findings,
    samples: &Samples,
    options: &DeriveOptions,
) -> Vec<OutputCase> {
    let plain = samples.all.first().map(|sample| sample.prefilled.as_str());
    let outputs = options.outputs.iter().map(|output| OutputCase {
        prefix: match &output.prefix {
            Some(prefix) => prefix.clone(),
            None => plain.unwrap_or_default().to_owned(),
        },
        text: output.text.clone(),
        said: output.said(&options.reasoning_field),
        markers: findings.markers(),
        is_cut_off: output.is_cut_off,
        tools: output
            .tools
            .as_ref()
            .map_or_else(|| samples.tools.clone(), Tools::from_value),
    });
    outputs.collect()
}

impl OutputCase {
    /// What is to come of it.
    pub(super) fn expected(&self) -> Expected<'_> {
        match &self.said {
            Some(said) => Expected::Turn(said),
            None => Expected::NoMarkers {
                markers: &self.markers,
                is_cut_off: self.is_cut_off,
            },
        }
    }

    /// What a response template makes of it.
    pub(super) fn row(&self, template: &ResponseTemplate, reasoning_field: &str) -> OutputRow {
        let reader = TrialReader::new(template, reasoning_field, &self.tools);
        OutputRow {
            prefix: self.prefix.clone(),
            output: self.text.clone(),
            message: self
                .said
                .as_ref()
                .map(|said| said.to_message(reasoning_field)),
            difference: reader
                .difference(&self.prefix, &self.text, self.expected())
                .map(|difference| difference.words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::ModelOutput;
    use crate::derive::invented;

    #[test]
    fn an_output_without_a_prompt_stands_behind_a_plain_one() {
        let findings = invented::findings(["<t>", "</t>"], [""; 2], [""; 4]);
        let mut sample = invented::sample("Yes.<end>", AssistantTurn::content("Yes."));
        sample.prefilled = "<t>".to_owned();
        let samples = Samples {
            all: vec![sample],
            tools: Tools::none(),
            refused: Vec::new(),
            stem: String::new(),
        };
        let given = ModelOutput::new("Hm.</t>Yes.<end>");
        for (prefix, message, expected) in [
            (None, None, ("<t>", None)),
            (Some("<assistant>"), None, ("<assistant>", None)),
            (None, Some("Yes."), ("<t>", Some("Yes."))),
        ] {
            let mut output = given.clone();
            output.prefix = prefix.map(str::to_owned);
            output.message = message.map(|text| Object::from_iter([("content", text)]));
            let options = DeriveOptions::default().outputs(vec![output]);
            let cases = cases(&findings, &samples, &options);
            let case = &cases[0];
            assert_eq!(case.prefix, expected.0);
            match (case.expected(), expected.1) {
                (Expected::Turn(said), Some(text)) => {
                    assert_eq!(*said, AssistantTurn::content(text));
                }
                // Nothing is known of it but that no marker of the format belongs into a message.
                (Expected::NoMarkers { markers, .. }, None) => {
                    assert_eq!(markers, ["<assistant>", "<end>", "<t>", "</t>"]);
                }
                (found, _) => panic!("{found:?} is to come of {output}", output = case.text),
            }
        }
    }
}
