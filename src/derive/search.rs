//! Choosing among drafts by trying them.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::analysis::asking::Said;
use crate::analysis::{CallBody, Findings};
use crate::json;
use crate::response::ResponseTemplate;
use crate::value::Value;

use super::DeriveOptions;
use super::damage::Damaged;
use super::draft::{Choices, ContentPlace, ThinkingEnd, ThinkingOpen, draft};
use super::sample::{Origin, Samples};
use super::trial::differs;

/// How many kinds of texts there are: those that the chat template wrote, those that were cut or
/// made up, and damaged ones. A text of one kind counts more than all of the next.
const KINDS: usize = 3;

/// How long drafts are tried. Ordinary formats take some milliseconds; what a stranger's template
/// writes can make every trial slow.
const MAX_TRYING: Duration = Duration::from_secs(5);

/// How good a draft is; more is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
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

/// The template that was chosen.
pub(super) struct Chosen {
    pub(super) value: Value,
    pub(super) template: ResponseTemplate,
    pub(super) tried: usize,
}

pub(super) struct Search<'a> {
    findings: &'a Findings,
    options: &'a DeriveOptions,
    samples: &'a Samples,
    trials: Vec<Trial<'a>>,
    /// How many trials there are of each kind.
    totals: [usize; KINDS],
    /// How soon each pattern lets text out, which takes a while to find out.
    patterns: RefCell<HashMap<String, isize>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        findings: &'a Findings,
        options: &'a DeriveOptions,
        samples: &'a Samples,
        damaged: &'a [Damaged],
    ) -> Search<'a> {
        let whole = samples.all.iter().map(|sample| Trial {
            kind: match sample.origin {
                Origin::Rendered => 0,
                Origin::Cut | Origin::MadeUp => 1,
            },
            begun: &sample.begun,
            output: &sample.output,
            expected: &sample.written,
        });
        let damaged = damaged.iter().map(|damaged| Trial {
            kind: 2,
            begun: &damaged.begun,
            output: &damaged.output,
            expected: &damaged.expected,
        });
        let mut trials: Vec<Trial<'_>> = whole.chain(damaged).collect();
        // Many conversations end in the same text.
        let mut seen = HashSet::new();
        trials.retain(|trial| seen.insert((trial.kind, trial.begun, trial.output)));
        trials.sort_by_key(|trial| trial.kind);
        let mut totals = [0; KINDS];
        for trial in &trials {
            totals[trial.kind] += 1;
        }
        Search {
            findings,
            options,
            samples,
            trials,
            totals,
            patterns: RefCell::default(),
        }
    }

    /// Goes from the simplest draft to better ones, one choice at a time, until none is better.
    pub(super) fn best(&self) -> Result<Chosen, String> {
        let mut tried: HashSet<Choices> = HashSet::new();
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
                let plainest = ResponseTemplate::from_value(&self.draft(&Choices::default()));
                return Err(plainest.map_or_else(|error| error.to_string(), |_| String::new()));
            };
            if before == Some(*score) {
                let value = self.draft(choices);
                let template = ResponseTemplate::from_value(&value);
                return Ok(Chosen {
                    template: template.map_err(|error| error.to_string())?,
                    value,
                    tried: tried.len(),
                });
            }
            next = self.neighbours(choices);
        }
    }

    /// Where to begin: text may stand in markers, or be what is left over.
    fn starts(&self) -> Vec<Choices> {
        let plain = Choices::default();
        let mut starts = vec![plain.clone()];
        if self.findings.content.open.is_some() {
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
        if let Some(reasoning) = &self.findings.reasoning {
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
        if self.findings.content.open.is_some() {
            add(&|choices| choices.content = ContentPlace::Leftover);
            add(&|choices| choices.content = ContentPlace::Marked);
            if from.content == ContentPlace::Marked {
                add(&|choices| choices.calls_close_content = !choices.calls_close_content);
            }
        }
        if self.findings.calls.is_some() {
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

    fn draft(&self, choices: &Choices) -> Value {
        draft(
            self.findings,
            &self.samples.cut_markers,
            choices,
            self.options,
        )
    }

    /// The score of a draft, if it is a valid template and beats another score. What can't beat it
    /// any more is not tried to the end.
    fn better(&self, choices: &Choices, to_beat: Option<Score>, start: Instant) -> Option<Score> {
        let value = self.draft(choices);
        let template = ResponseTemplate::from_value(&value).ok()?;
        let field = self.options.reasoning_field.as_str();
        // As if all were recovered, until shown otherwise.
        let mut score = Score {
            recovered: self.totals,
            streams: self.streams(&template),
            simple: -isize::try_from(json::write(&value).len()).unwrap_or(isize::MAX),
        };
        let beats = |score: &Score| to_beat.is_none_or(|to_beat| *score > to_beat);
        for trial in &self.trials {
            let is_late = to_beat.is_some() && start.elapsed() > MAX_TRYING;
            if is_late || !beats(&score) {
                return None;
            }
            let wrong = differs(
                &template,
                field,
                self.samples,
                trial.begun,
                trial.output,
                trial.expected,
            );
            score.recovered[trial.kind] -= usize::from(wrong.is_some());
        }
        beats(&score).then_some(score)
    }

    /// Whether calls are JSON objects and nothing else.
    fn has_bare_objects(&self) -> bool {
        let calls = self.findings.calls.as_ref();
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
