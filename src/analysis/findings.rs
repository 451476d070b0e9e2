//! All that is known of a format, complete enough to write any kind of parser from.

use crate::format::ValueWriting;

use super::assumed::AssumedVariable;
use super::call_shape::{CallBody, CallShape, Slot};
use super::content::ContentShape;
use super::lexicon::unmarked;
use super::markers;
use super::missing_tokens::MissingToken;
use super::reasoning::ReasoningShape;
use super::turn::TurnShape;

/// How a model writes its turn, as far as its chat template shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// Where a turn begins and ends.
    pub turn: TurnShape,
    /// How reasoning is written.
    pub reasoning: Option<ReasoningShape>,
    /// How text is written.
    pub content: ContentShape,
    /// How calls of tools are written.
    pub calls: Option<CallShape>,
    /// Why no calls were rendered, in the template's words.
    pub calls_refused: Option<String>,
    /// The variables that nobody gave and the template can't do without, and what they were taken to
    /// be: all else holds for these values only.
    pub assumed: Vec<AssumedVariable>,
    /// The tokens that the template writes into a turn or at its end, and that nobody has given: with
    /// any of them, what else was found is not what the model writes.
    pub missing_tokens: Vec<MissingToken>,
    /// What prompts write of the turn itself.
    pub prompt_remainders: Vec<String>,
    /// Whether turns of the assistant are rendered, and nothing of what is said in them, not even their text:
    /// then nothing else that was found is about a model.
    pub is_silent: bool,
}

impl Findings {
    /// The same without the brackets around [markers that consist of several parts](super::lexicon).
    pub(super) fn unmarked(&self) -> Findings {
        let mut findings = self.clone();
        for text in findings.texts() {
            *text = unmarked(text);
        }
        findings
    }

    /// The markers of the format: none of them belongs into a message.
    pub(crate) fn markers(&self) -> Vec<String> {
        let mut findings = self.clone();
        let texts = findings.texts();
        let found = texts.iter().flat_map(|text| markers::markers(text));
        let mut found: Vec<String> = found.map(str::to_owned).collect();
        markers::dedup(&mut found);
        found
    }

    /// All texts in which markers stand.
    fn texts(&mut self) -> Vec<&mut String> {
        let content = &mut self.content;
        let mut texts = Vec::new();
        texts.extend(self.turn.headers.iter_mut().chain(&mut self.turn.ends));
        texts.extend(content.open.iter_mut().chain(&mut content.close));
        texts.extend(&mut content.beside_reasoning);
        texts.extend(&mut self.prompt_remainders);
        if let Some(shape) = &mut self.reasoning {
            texts.extend(shape.open.iter_mut().chain(&mut shape.close));
        }
        if let Some(shape) = &mut self.calls {
            texts.extend(call_texts(shape));
        }
        texts
    }
}

fn call_texts(shape: &mut CallShape) -> Vec<&mut String> {
    let mut texts = vec![
        &mut shape.section_open,
        &mut shape.section_close,
        &mut shape.separator,
    ];
    let mut slots: Vec<&mut Slot> = shape.open.iter_mut().chain(&mut shape.close).collect();
    if let CallBody::Tagged(tagged) | CallBody::Python(tagged) = &mut shape.body {
        texts.extend([&mut tagged.open, &mut tagged.separator]);
        for values in &mut tagged.values {
            texts.push(&mut values.between);
            for form in &mut values.forms {
                if let ValueWriting::Wrapped { open, close, .. } = &mut form.writing {
                    texts.extend([open, close]);
                }
            }
        }
        slots.extend(&mut tagged.close);
    }
    texts.extend(slots.into_iter().filter_map(|slot| match slot {
        Slot::Text(text) => Some(text),
        _ => None,
    }));
    texts
}
