//! How good a draft is, counted in the texts that it recovers.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::analysis::assistant_turn::AssistantTurn;
use crate::json;
use crate::response::{Delimiter, ResponseTemplate};
use crate::value::{Object, Value};

use super::material::Material;
use super::sample::Origin;
use super::trial::{self, TrialReader};

/// How many kinds of texts there are: those that the chat template wrote, synthetic ones, and damaged
/// ones. A text of one kind counts more than all of the next.
pub(super) const KINDS: usize = 3;

/// How many texts are recovered, of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// How many are recovered.
    pub recovered: usize,
    /// How many there are.
    pub total: usize,
}

impl Tally {
    /// For programs: an object of how many are `recovered`, and of the `total`.
    pub fn to_value(&self) -> Value {
        Object::from_iter([("recovered", self.recovered), ("total", self.total)]).into()
    }
}

/// As in `3/4`.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.recovered, self.total)
    }
}

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
    prefilled: &'a str,
    output: &'a str,
    expected: &'a AssistantTurn,
}

impl<'a> Trial<'a> {
    /// All texts, those that stand there more than once, too.
    fn all(material: &'a Material) -> impl Iterator<Item = Trial<'a>> {
        let samples = material.samples.all.iter();
        let whole = samples.map(|sample| Trial {
            kind: match sample.origin {
                Origin::Rendered => 0,
                Origin::Synthetic => 1,
            },
            prefilled: &sample.prefilled,
            output: &sample.output,
            expected: &sample.written,
        });
        let damaged = material.damaged.iter().map(|damaged| Trial {
            kind: 2,
            prefilled: &damaged.prefilled,
            output: &damaged.output,
            expected: &damaged.expected,
        });
        whole.chain(damaged)
    }
}

impl Trial<'_> {
    fn is_recovered(&self, reader: &TrialReader<'_>) -> bool {
        let difference = reader.difference(self.prefilled, self.output, self.expected);
        difference.is_none()
    }
}

/// The texts that drafts are tried on.
pub(super) struct Trials<'a> {
    material: &'a Material,
    reasoning_field: &'a str,
    /// Each text once, those that count more first.
    distinct: Vec<Trial<'a>>,
    /// How many of these there are of each kind.
    totals: [usize; KINDS],
    /// Whether each pattern may depend on where a text is cut, which takes a while to find out.
    dependent: RefCell<HashMap<String, bool>>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(material: &'a Material, reasoning_field: &'a str) -> Trials<'a> {
        let mut distinct: Vec<Trial<'_>> = Trial::all(material).collect();
        // Many conversations end in the same text.
        let mut seen = HashSet::new();
        distinct.retain(|trial| seen.insert((trial.kind, trial.prefilled, trial.output)));
        distinct.sort_by_key(|trial| trial.kind);
        let mut totals = [0; KINDS];
        for trial in &distinct {
            totals[trial.kind] += 1;
        }
        Trials {
            material,
            reasoning_field,
            distinct,
            totals,
            dependent: RefCell::default(),
        }
    }

    /// The score of a template.
    pub(super) fn score(&self, template: &ResponseTemplate) -> Score {
        let mut score = self.highest_score(template);
        let reader = self.reader(template);
        for trial in &self.distinct {
            score.recovered[trial.kind] -= usize::from(!trial.is_recovered(&reader));
        }
        score
    }

    /// The score of a template, unless it takes too long. Before each trial `goes_on` is asked
    /// whether to go on for the score that can still be reached.
    pub(super) fn score_while(
        &self,
        template: &ResponseTemplate,
        goes_on: impl Fn(&Score) -> bool,
    ) -> Option<Score> {
        let mut score = self.highest_score(template);
        let reader = self.reader(template);
        for trial in &self.distinct {
            if !goes_on(&score) {
                return None;
            }
            score.recovered[trial.kind] -= usize::from(!trial.is_recovered(&reader));
        }
        Some(score)
    }

    /// How many texts of each kind a template recovers, those that stand there more than once as
    /// often as they do. Before each text `goes_on` is asked whether to go on.
    pub(super) fn tally_while(
        &self,
        template: &ResponseTemplate,
        goes_on: impl Fn() -> bool,
    ) -> Option<[Tally; KINDS]> {
        let reader = self.reader(template);
        let mut tallies = [Tally::default(); KINDS];
        for trial in Trial::all(self.material) {
            if !goes_on() {
                return None;
            }
            let tally = &mut tallies[trial.kind];
            tally.recovered += usize::from(trial.is_recovered(&reader));
            tally.total += 1;
        }
        Some(tallies)
    }

    /// The score of a template that recovers all texts.
    fn highest_score(&self, template: &ResponseTemplate) -> Score {
        let length = json::write(template.as_value()).len();
        Score {
            recovered: self.totals,
            streams: self.streams(template),
            simple: -isize::try_from(length).unwrap_or(isize::MAX),
        }
    }

    fn reader<'r>(&'r self, template: &'r ResponseTemplate) -> TrialReader<'r> {
        let depends = trial::delimiters(template).any(|delimiter| self.may_depend(delimiter));
        let tools = &self.material.samples.tools;
        TrialReader::knowing(template, depends, self.reasoning_field, tools)
    }

    /// How soon a template lets text out: literals before patterns, patterns before those that
    /// look ahead.
    fn streams(&self, template: &ResponseTemplate) -> isize {
        let patterns = trial::delimiters(template).filter(|one| one.pattern().is_some());
        let costs = patterns.map(|delimiter| match self.may_depend(delimiter) {
            true => 10,
            false => 1,
        });
        -costs.sum::<isize>()
    }

    fn may_depend(&self, delimiter: &Delimiter) -> bool {
        let Some(pattern) = delimiter.pattern() else {
            return false;
        };
        let mut known = self.dependent.borrow_mut();
        if let Some(depends) = known.get(pattern) {
            return *depends;
        }
        let depends = trial::may_depend_on_pieces(delimiter);
        known.insert(pattern.to_owned(), depends);
        depends
    }
}
