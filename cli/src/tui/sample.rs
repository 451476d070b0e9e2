//! The texts that can be replayed.

use std::time::Duration;

use unjinja::check::{Case, Expected, Failure};
use unjinja::{Object, ResponseTemplate, Tools};

use super::tokens::ModelTokens;
use unjinja_replay::Chunking;
use unjinja_replay::Replay;

/// A text that can be replayed, and what is known of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Sample {
    /// The text, and what is expected of it.
    pub case: Case,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether it is read as expected.
    pub verdict: Verdict,
    /// What else is known of it.
    pub(crate) remarks: Vec<Remark>,
    /// Whether it would be lost if the workbench were left.
    pub(crate) is_unsaved: bool,
    /// For a text that came in live: where each piece of it ends, and when it came.
    pub(crate) arrivals: Vec<(usize, Duration)>,
    /// Whether more of it may come.
    pub(crate) is_live: bool,
}

/// What kind of text it is of which the chat template has left out something.
pub(crate) const LEFT_OUT: &str = "left out";

/// Something that is known of a text besides what comes out of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Remark {
    /// What kind of text it is, in few words.
    pub(crate) kind: &'static str,
    /// The conversations of which it is known.
    pub(crate) names: Vec<String>,
    pub(crate) why: String,
    /// What was said of which the text has nothing.
    pub(crate) lost: Object,
}

impl Remark {
    pub(crate) fn words(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        let place = match names.is_empty() {
            true => String::new(),
            false => format!(" in {}", names.join(" and ")),
        };
        format!("{}{place}: {}", self.kind, self.why)
    }
}

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A chat template has rendered it.
    Rendered,
    /// It is a case of a fixture.
    Fixture,
    /// It was given on the command line.
    Given,
    /// It was typed or pasted.
    Typed,
    /// It comes in on the standard input.
    Live,
}

/// Whether a text is read as expected.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// It has yet to be tried.
    Pending,
    /// It can't be tried, by a fault of the program, which this describes.
    Unknown(String),
    /// Nothing is expected of it, and it means the same however it is cut.
    Open,
    /// It is.
    Passed,
    /// It is not.
    Failed(Vec<Failure>),
}

impl Sample {
    /// A sample that has yet to be tried.
    pub fn new(origin: Origin, case: Case) -> Sample {
        Sample {
            case,
            origin,
            verdict: Verdict::Pending,
            remarks: Vec::new(),
            is_unsaved: false,
            arrivals: Vec::new(),
            is_live: false,
        }
    }

    /// A text of which nothing has come in yet.
    pub fn live(prefix: String, tools: Tools) -> Sample {
        let case = Case::new("standard input", prefix, "", tools, Expected::default());
        Sample {
            is_live: true,
            ..Sample::new(Origin::Live, case)
        }
    }

    /// Whether more of it may come.
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    /// What stands there where there is no sample at all: something is always selected.
    pub(crate) fn stand_in() -> Sample {
        let case = Case::new("nothing yet", "", "", Tools::none(), Expected::default());
        Sample::new(Origin::Typed, case)
    }

    /// Whether it is known not to be read as expected.
    pub(crate) fn fails(&self) -> bool {
        self.verdict.passed() == Some(false)
    }

    /// Whether the chat template has left out something that was said. In other conversations of which it has made
    /// the same text it may.
    pub(crate) fn is_left_out(&self) -> bool {
        let is_of_it =
            |remark: &Remark| remark.kind == LEFT_OUT && remark.names.contains(&self.case.name);
        self.remarks.iter().any(is_of_it)
    }

    pub(crate) fn is_stand_in(&self) -> bool {
        self.origin == Origin::Typed && self.case.output.is_empty()
    }

    pub(crate) fn replay(
        &self,
        template: &ResponseTemplate,
        chunking: Chunking,
        tokens: &ModelTokens,
    ) -> Replay {
        match chunking {
            Chunking::Tokens => match tokens.places(&self.case.output) {
                Some(places) => Replay::of_places(template, &self.case, places.into_iter()),
                None => Replay::new(template, &self.case, Chunking::Tokens),
            },
            Chunking::AsItCame => {
                Replay::of_arrivals(template, &self.case, &self.arrivals, self.is_live)
            }
            Chunking::AsItFails => {
                let places = self.verdict.failing_places().unwrap_or_default();
                Replay::of_places(template, &self.case, places.iter().copied())
            }
            chunking => Replay::new(template, &self.case, chunking),
        }
    }
}

impl Verdict {
    /// The fewest places at which the text has to be cut to mean something else, if that is known.
    pub(crate) fn failing_places(&self) -> Option<&[usize]> {
        let Verdict::Failed(failures) = self else {
            return None;
        };
        failures.iter().find_map(|failure| match failure {
            Failure::Cut { places, .. } => Some(places.as_slice()),
            _ => None,
        })
    }

    /// Whether it is read as expected, if that is known.
    pub fn passed(&self) -> Option<bool> {
        match self {
            Verdict::Passed => Some(true),
            Verdict::Failed(_) => Some(false),
            Verdict::Open | Verdict::Pending | Verdict::Unknown(_) => None,
        }
    }

    /// What came of trying a case. That nothing is expected is no failure, but what can't be parsed
    /// fails without any expectation.
    pub(crate) fn of(failures: Vec<Failure>) -> Verdict {
        if failures.is_empty() {
            return Verdict::Passed;
        }
        let failures = failures.into_iter().filter_map(|failure| match failure {
            Failure::NothingExpected(trace) => trace.outcome.err().map(Failure::NotParsed),
            failure => Some(failure),
        });
        match failures.collect::<Vec<Failure>>() {
            none if none.is_empty() => Verdict::Open,
            failures => Verdict::Failed(failures),
        }
    }
}
