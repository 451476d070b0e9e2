//! Choosing among drafts by trying them.

use std::time::{Duration, Instant};

use indexmap::IndexSet;

use crate::analysis::CallBody;
use crate::response::{ResponseTemplate, TemplateError};
use crate::value::Value;

use super::choices::{Choices, ContentPlace, ThinkingEnd, ThinkingOpen};
use super::draft::draft;
use super::material::Material;
use super::options::DeriveOptions;
use super::score::{Score, Trials};

/// How long drafts are tried. Ordinary formats take some milliseconds; what an unusual template
/// writes can make every trial slow.
pub(super) const MAX_TRYING: Duration = Duration::from_secs(5);

/// The template that was chosen.
pub(super) struct Chosen {
    pub(super) template: ResponseTemplate,
    pub(super) choices: Choices,
    /// The choices of all drafts that were tried, in order.
    pub(super) tried: IndexSet<Choices>,
}

/// A draft that was tried to the end.
struct Tried {
    template: ResponseTemplate,
    choices: Choices,
    score: Score,
}

pub(super) struct Search<'a> {
    material: &'a Material,
    options: &'a DeriveOptions,
    pub(super) trials: Trials<'a>,
}

impl<'a> Search<'a> {
    pub(super) fn new(material: &'a Material, options: &'a DeriveOptions) -> Search<'a> {
        Search {
            material,
            options,
            trials: Trials::new(material, &options.reasoning_field),
        }
    }

    /// Goes from the simplest draft to better ones, one choice at a time, until none is better.
    ///
    /// # Errors
    ///
    /// If not even the simplest drafts are response templates.
    pub(super) fn best(&self) -> Result<Chosen, TemplateError> {
        let start = Instant::now();
        let mut tried = IndexSet::new();
        let mut best = self.first(&mut tried, start)?;
        loop {
            let before = best.score;
            for choices in self.neighbours(&best.choices) {
                if start.elapsed() > MAX_TRYING {
                    break;
                }
                if tried.insert(choices.clone())
                    && let Some(better) = self.better(choices, best.score, start)
                {
                    best = better;
                }
            }
            if best.score == before {
                return Ok(Chosen {
                    template: best.template,
                    choices: best.choices,
                    tried,
                });
            }
        }
    }

    /// Where to begin: text is what is left over, or stands between markers if there are any.
    fn first(&self, tried: &mut IndexSet<Choices>, start: Instant) -> Result<Tried, TemplateError> {
        let plain = Choices::default();
        tried.insert(plain.clone());
        let first = self.try_to_the_end(plain.clone());
        let is_late = first.is_ok() && start.elapsed() > MAX_TRYING;
        if self.material.findings.content.open.is_none() || is_late {
            return first;
        }
        let marked = Choices {
            content: ContentPlace::Marked,
            ..plain
        };
        tried.insert(marked.clone());
        match first {
            Ok(first) => Ok(self.better(marked, first.score, start).unwrap_or(first)),
            Err(error) => self.try_to_the_end(marked).map_err(|_| error),
        }
    }

    /// The choices that differ in one thing.
    fn neighbours(&self, from: &Choices) -> Vec<Choices> {
        let mut all = Vec::new();
        let mut add = |change: &dyn Fn(&mut Choices)| {
            let mut next = from.clone();
            change(&mut next);
            if next != *from {
                all.push(next);
            }
        };
        if let Some(reasoning) = &self.material.findings.reasoning {
            let opens: &[ThinkingOpen] = match reasoning.open {
                Some(_) => &[ThinkingOpen::Marker, ThinkingOpen::MarkerIfClosed],
                None => &[ThinkingOpen::StartIfClosed],
            };
            for &open in opens {
                add(&|choices| choices.thinking_open = open);
            }
            let ends = [
                ThinkingEnd::Marker,
                ThinkingEnd::OrTurn,
                ThinkingEnd::OrCall,
            ];
            for end in ends {
                add(&|choices| choices.thinking_end = end);
            }
        }
        if self.material.findings.content.open.is_some() {
            add(&|choices| choices.content = ContentPlace::Leftover);
            add(&|choices| choices.content = ContentPlace::Marked);
            if from.content == ContentPlace::Marked {
                add(&|choices| choices.calls_close_content = !choices.calls_close_content);
            }
        }
        if self.material.findings.calls.is_some() {
            add(&|choices| choices.next_call_closes = !choices.next_call_closes);
            add(&|choices| choices.calls_anywhere = !choices.calls_anywhere);
            if self.has_bare_objects() {
                add(&|choices| choices.split_objects = !choices.split_objects);
                // Neither helps where calls follow upon a text, and upon each other.
                add(&|choices| (choices.split_objects, choices.calls_anywhere) = (true, true));
            }
            add(&|choices| choices.loose_header = !choices.loose_header);
            add(&|choices| choices.optional_lead = !choices.optional_lead);
            if self.has_text_behind_calls() {
                add(&|choices| choices.text_follows = !choices.text_follows);
            }
        }
        all
    }

    pub(super) fn draft(&self, choices: &Choices) -> Value {
        draft(&self.material.marked, choices, self.options)
    }

    fn try_to_the_end(&self, choices: Choices) -> Result<Tried, TemplateError> {
        let template = ResponseTemplate::from_value(self.draft(&choices))?;
        Ok(Tried {
            score: self.trials.score(&template),
            template,
            choices,
        })
    }

    /// A draft, if it is a valid template and beats a score. What can't beat it any more is not
    /// tried to the end.
    fn better(&self, choices: Choices, to_beat: Score, start: Instant) -> Option<Tried> {
        let template = ResponseTemplate::from_value(self.draft(&choices)).ok()?;
        let goes_on = |score: &Score| *score > to_beat && start.elapsed() <= MAX_TRYING;
        let score = self.trials.score_while(&template, goes_on)?;
        (score > to_beat).then_some(Tried {
            template,
            choices,
            score,
        })
    }

    /// Whether calls are JSON objects and nothing else.
    fn has_bare_objects(&self) -> bool {
        let calls = self.material.findings.calls.as_ref();
        calls.is_some_and(|shape| {
            shape.open.is_empty() && matches!(shape.body, CallBody::Object(..))
        })
    }

    /// Whether the chat template writes a turn's text behind its calls.
    fn has_text_behind_calls(&self) -> bool {
        let mut samples = self.material.samples.all.iter();
        samples.any(|sample| {
            let content = sample.written.content.as_deref().unwrap_or_default();
            let call = sample.written.calls.first();
            let place = |text: &str| sample.output.find(text);
            let name = call.and_then(|call| place(&call.name));
            !content.is_empty()
                && name.is_some_and(|name| place(content).is_some_and(|at| name < at))
        })
    }
}
