//! Choosing among drafts by trying them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use indexmap::IndexSet;

use crate::analysis::CallBody;
use crate::analysis::asking::Said;
use crate::json;
use crate::response::ResponseTemplate;
use crate::value::Value;

use super::candidate::Tally;
use super::choices::{Choices, ContentPlace, ThinkingEnd, ThinkingOpen};
use super::draft::draft;
use super::sample::Origin;
use super::trial::differs;
use super::{DeriveOptions, Material};

/// How many kinds of texts there are: those that the chat template wrote, those that were cut or
/// made up, and damaged ones. A text of one kind counts more than all of the next.
pub(super) const KINDS: usize = 3;

/// How long drafts are tried. Ordinary formats take some milliseconds; what a stranger's template
/// writes can make every trial slow.
pub(super) const MAX_TRYING: Duration = Duration::from_secs(5);

/// How good a draft is; more is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Score {
    /// How many texts of each kind it recovers.
    recovered: [usize; KINDS],
    /// How little it looks ahead, which holds text back.
    streams: isize,
    /// How short it is.
    simple: isize,
}

/// A text that drafts are tried on.
struct Trial<'a> {
    kind: usize,
    begun: &'a str,
    output: &'a str,
    expected: &'a Said,
}

impl<'a> Trial<'a> {
    /// All texts, those that stand there more than once, too.
    fn all(material: &'a Material) -> impl Iterator<Item = Trial<'a>> {
        let samples = material.samples.all.iter();
        let whole = samples.map(|sample| Trial {
            kind: match sample.origin {
                Origin::Rendered => 0,
                Origin::Cut | Origin::MadeUp => 1,
            },
            begun: &sample.begun,
            output: &sample.output,
            expected: &sample.written,
        });
        let damaged = material.damaged.iter().map(|damaged| Trial {
            kind: 2,
            begun: &damaged.begun,
            output: &damaged.output,
            expected: &damaged.expected,
        });
        whole.chain(damaged)
    }
}

/// The template that was chosen.
pub(super) struct Chosen {
    pub(super) value: Value,
    pub(super) template: ResponseTemplate,
    pub(super) choices: Choices,
    /// The choices of all drafts that were tried, in order.
    pub(super) tried: IndexSet<Choices>,
}

pub(super) struct Search<'a> {
    material: &'a Material,
    options: &'a DeriveOptions,
    trials: Vec<Trial<'a>>,
    /// How many trials there are of each kind.
    totals: [usize; KINDS],
    /// How soon each pattern lets text out, which takes a while to find out.
    patterns: RefCell<HashMap<String, isize>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(material: &'a Material, options: &'a DeriveOptions) -> Search<'a> {
        let mut trials: Vec<Trial<'_>> = Trial::all(material).collect();
        // Many conversations end in the same text.
        let mut seen = HashSet::new();
        trials.retain(|trial| seen.insert((trial.kind, trial.begun, trial.output)));
        trials.sort_by_key(|trial| trial.kind);
        let mut totals = [0; KINDS];
        for trial in &trials {
            totals[trial.kind] += 1;
        }
        Search {
            material,
            options,
            trials,
            totals,
            patterns: RefCell::default(),
        }
    }

    /// Goes from the simplest draft to better ones, one choice at a time, until none is better.
    pub(super) fn best(&self) -> Result<Chosen, String> {
        let mut tried: IndexSet<Choices> = IndexSet::new();
        let mut best: Option<(Choices, Score)> = None;
        let mut next = self.starts();
        let start = Instant::now();
        loop {
            let before = best.as_ref().map(|(_, score)| *score);
            for choices in next {
                if best.is_some() && start.elapsed() > MAX_TRYING {
                    break;
                }
                if tried.insert(choices.clone()) {
                    let to_beat = best.as_ref().map(|(_, score)| *score);
                    if let Some(score) = self.better(&choices, to_beat, start) {
                        best = Some((choices, score));
                    }
                }
            }
            let Some((choices, score)) = &best else {
                let plainest = ResponseTemplate::from_value(self.draft(&Choices::default()));
                return Err(plainest.map_or_else(|error| error.to_string(), |_| String::new()));
            };
            if before == Some(*score) {
                let value = self.draft(choices);
                let template = ResponseTemplate::from_value(&value);
                return Ok(Chosen {
                    template: template.map_err(|error| error.to_string())?,
                    value,
                    choices: choices.clone(),
                    tried,
                });
            }
            next = self.neighbours(choices);
        }
    }

    /// Where to begin: text may stand in markers, or be what is left over.
    fn starts(&self) -> Vec<Choices> {
        let plain = Choices::default();
        let mut starts = vec![plain.clone()];
        if self.material.findings.content.open.is_some() {
            starts.push(Choices {
                content: ContentPlace::Marked,
                ..plain
            });
        }
        starts
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
                ThinkingEnd::OrCallUnlessClosed,
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
            add(&|choices| choices.broken_markers = !choices.broken_markers);
        }
        all
    }

    pub(super) fn draft(&self, choices: &Choices) -> Value {
        let Material {
            findings, samples, ..
        } = self.material;
        draft(findings, &samples.cut_markers, choices, self.options)
    }

    /// The score of a draft, if it is a valid template and beats another score. What can't beat it
    /// any more is not tried to the end.
    fn better(&self, choices: &Choices, to_beat: Option<Score>, start: Instant) -> Option<Score> {
        let value = self.draft(choices);
        let template = ResponseTemplate::from_value(&value).ok()?;
        let beats = |score: &Score| to_beat.is_none_or(|to_beat| *score > to_beat);
        let is_late = || to_beat.is_some() && start.elapsed() > MAX_TRYING;
        let score = self.score(&value, &template, |score| beats(score) && !is_late())?;
        beats(&score).then_some(score)
    }

    /// The score of a template. Before each trial it is asked whether to go on for the score that
    /// can still be reached.
    pub(super) fn score(
        &self,
        value: &Value,
        template: &ResponseTemplate,
        goes_on: impl Fn(&Score) -> bool,
    ) -> Option<Score> {
        // As if all were recovered, until shown otherwise.
        let mut score = Score {
            recovered: self.totals,
            streams: self.streams(template),
            simple: -isize::try_from(json::write(value).len()).unwrap_or(isize::MAX),
        };
        for trial in &self.trials {
            if !goes_on(&score) {
                return None;
            }
            score.recovered[trial.kind] -= usize::from(!self.recovers(template, trial));
        }
        Some(score)
    }

    /// How many texts of each kind a template recovers, those that stand there more than once as
    /// often as they do. Before each text it is asked whether to go on.
    pub(super) fn tally(
        &self,
        template: &ResponseTemplate,
        goes_on: impl Fn() -> bool,
    ) -> Option<[Tally; KINDS]> {
        let mut tallies = [Tally::default(); KINDS];
        for trial in Trial::all(self.material) {
            if !goes_on() {
                return None;
            }
            let tally = &mut tallies[trial.kind];
            tally.recovered += usize::from(self.recovers(template, &trial));
            tally.total += 1;
        }
        Some(tallies)
    }

    fn recovers(&self, template: &ResponseTemplate, trial: &Trial<'_>) -> bool {
        let wrong = differs(
            template,
            &self.options.reasoning_field,
            &self.material.samples,
            trial.begun,
            trial.output,
            trial.expected,
        );
        wrong.is_none()
    }

    /// Whether calls are JSON objects and nothing else.
    fn has_bare_objects(&self) -> bool {
        let calls = self.material.findings.calls.as_ref();
        calls.is_some_and(|shape| {
            shape.open.is_empty() && matches!(shape.body, CallBody::Object(..))
        })
    }

    /// How soon a template lets text out: literals before patterns, patterns before those that
    /// look ahead.
    fn streams(&self, template: &ResponseTemplate) -> isize {
        let mut known = self.patterns.borrow_mut();
        let delimiters = template
            .fields()
            .iter()
            .flat_map(|field| [field.open(), field.close()]);
        let costs = delimiters.flatten().filter_map(|delimiter| {
            let pattern = delimiter.pattern()?;
            let cost = known.get(pattern).copied().unwrap_or_else(|| {
                let cost = if delimiter.is_steady() == Some(true) {
                    1
                } else {
                    10
                };
                known.insert(pattern.to_owned(), cost);
                cost
            });
            Some(cost)
        });
        -costs.sum::<isize>()
    }
}
