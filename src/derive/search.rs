//! Choosing among drafts by trying them.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use indexmap::IndexSet;

use crate::analysis::CallBody;
use crate::json;
use crate::response::{Patterns, ResponseTemplate, TemplateError};
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
    /// How many different drafts these made.
    pub(super) drafts: usize,
    /// How many texts they have read.
    pub(super) trials: usize,
}

/// A draft that was tried to the end.
struct Tried {
    template: ResponseTemplate,
    choices: Choices,
    score: Score,
}

/// What has been made so far.
struct Drafts {
    start: Instant,
    /// The choices of all drafts that were tried, in order.
    tried: IndexSet<Choices>,
    /// The drafts as JSON: many choices change nothing.
    written: HashSet<String>,
    patterns: Patterns,
}

impl Drafts {
    fn are_late(&self) -> bool {
        self.start.elapsed() > MAX_TRYING
    }
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
        let mut drafts = Drafts {
            start: Instant::now(),
            tried: IndexSet::new(),
            written: HashSet::new(),
            patterns: Patterns::default(),
        };
        let mut best = self.first(&mut drafts)?;
        loop {
            let before = best.score;
            for choices in self.neighbours(&best.choices) {
                if drafts.are_late() {
                    break;
                }
                if let Ok(Some(better)) = self.better(choices, Some(best.score), &mut drafts) {
                    best = better;
                }
            }
            if best.score == before {
                return Ok(Chosen {
                    template: best.template,
                    choices: best.choices,
                    tried: drafts.tried,
                    drafts: drafts.written.len(),
                    trials: self.trials.read(),
                });
            }
        }
    }

    /// Where to begin: text is what is left over, or stands between markers if there are any.
    fn first(&self, drafts: &mut Drafts) -> Result<Tried, TemplateError> {
        let plain = Choices::default();
        let marked = Choices {
            content: ContentPlace::Marked,
            ..plain.clone()
        };
        let has_markers = self.material.findings.content.open.is_some();
        let first = self.better(plain, None, drafts);
        let first = first.map(|first| first.expect("nothing is to beat"));
        match first {
            Ok(first) if has_markers && !drafts.are_late() => {
                let better = self.better(marked, Some(first.score), drafts);
                Ok(better.ok().flatten().unwrap_or(first))
            }
            Err(error) if has_markers => match self.better(marked, None, drafts) {
                Ok(Some(marked)) => Ok(marked),
                _ => Err(error),
            },
            first => first,
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

    /// A draft, if it is new and beats the score that there is. What can't beat it any more is not
    /// tried to the end.
    fn better(
        &self,
        choices: Choices,
        to_beat: Option<Score>,
        drafts: &mut Drafts,
    ) -> Result<Option<Tried>, TemplateError> {
        if !drafts.tried.insert(choices.clone()) {
            return Ok(None);
        }
        let draft = self.draft(&choices);
        if !drafts.written.insert(json::write(&draft)) {
            return Ok(None);
        }
        let template = ResponseTemplate::with_patterns(&draft, &mut drafts.patterns)?;
        // Something has to come out, however late it is.
        let goes_on = || to_beat.is_none() || !drafts.are_late();
        let score = self.trials.score(&template, to_beat, goes_on);
        Ok(score.map(|score| Tried {
            template,
            choices,
            score,
        }))
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
