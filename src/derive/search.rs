//! Choosing among drafts by trying them.

use std::collections::HashMap;

use crate::analysis::Findings;
use crate::response::ResponseTemplate;
use crate::value::Value;

use super::DeriveOptions;
use super::damage::Damaged;
use super::draft::{Choices, ContentPlace, ThinkingEnd, ThinkingOpen, draft};
use super::sample::{Origin, Samples};
use super::trial::{differs, expected};

/// How good a draft is; more is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Score {
    /// How many renderings it recovers.
    pub(super) recovered: usize,
    /// How many of the other texts that are not damaged.
    pub(super) cut: usize,
    /// How many damaged texts.
    pub(super) damaged: usize,
    /// How little it looks ahead, which holds text back.
    streams: isize,
    /// How short it is.
    simple: isize,
}

/// The template that was chosen.
pub(super) struct Chosen {
    pub(super) value: Value,
    pub(super) template: ResponseTemplate,
    pub(super) tried: usize,
}

pub(super) struct Search<'a> {
    pub(super) findings: &'a Findings,
    pub(super) options: &'a DeriveOptions,
    pub(super) samples: &'a Samples,
    pub(super) damaged: &'a [Damaged],
}

impl Search<'_> {
    /// Goes from the simplest draft to better ones, one choice at a time, until none is better.
    pub(super) fn best(&self) -> Result<Chosen, String> {
        let mut scores: HashMap<Choices, Option<Score>> = HashMap::new();
        let mut best = Choices::default();
        let mut best_score = None;
        for start in self.starts() {
            let score = self.score(&start);
            scores.insert(start.clone(), score);
            if score > best_score {
                (best, best_score) = (start, score);
            }
        }
        loop {
            let mut better = None;
            for next in self.neighbours(&best) {
                let score = *scores
                    .entry(next.clone())
                    .or_insert_with(|| self.score(&next));
                if score > best_score {
                    best_score = score;
                    better = Some(next);
                }
            }
            match better {
                Some(next) => best = next,
                None => break,
            }
        }
        let value = self.draft(&best);
        let template = ResponseTemplate::from_value(&value).map_err(|error| error.to_string())?;
        best_score.ok_or("no draft is a valid response template")?;
        Ok(Chosen {
            value,
            template,
            tried: scores.len(),
        })
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

    /// Tries a draft on everything; `None` if it is no valid template.
    fn score(&self, choices: &Choices) -> Option<Score> {
        let value = self.draft(choices);
        let template = ResponseTemplate::from_value(&value).ok()?;
        let field = self.options.reasoning_field.as_str();
        let mut score = Score {
            recovered: 0,
            cut: 0,
            damaged: 0,
            streams: 0,
            simple: -(crate::json::write(&value).len() as isize),
        };
        for sample in &self.samples.all {
            let wrong = differs(
                &template,
                field,
                self.samples,
                &sample.begun,
                &sample.output,
                &expected(sample),
            );
            let count = match sample.origin {
                Origin::Rendered => &mut score.recovered,
                Origin::Cut | Origin::MadeUp => &mut score.cut,
            };
            *count += usize::from(wrong.is_none());
        }
        for damaged in self.damaged {
            let wrong = differs(
                &template,
                field,
                self.samples,
                &damaged.begun,
                &damaged.output,
                &damaged.expected,
            );
            score.damaged += usize::from(wrong.is_none());
        }
        for field in template.fields() {
            for delimiter in [field.open(), field.close()].into_iter().flatten() {
                score.streams -= match (delimiter.literals(), delimiter.is_steady()) {
                    (Some(_), _) => 0,
                    (None, Some(true)) => 1,
                    (None, _) => 10,
                };
            }
        }
        Some(score)
    }
}
