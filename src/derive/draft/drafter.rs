//! What all fields of a draft are written with.

use std::cmp::Reverse;

use crate::analysis::{CallParts, Findings};
use crate::derive::choices::{Choice, Choices};
use crate::derive::options::DeriveOptions;
use crate::derive::regex::{any_of, loose};
use crate::derive::surroundings::Surroundings;
use crate::markers::{self, dedup, is_distinctive};
use crate::value::{Object, Value};

use super::call_texts::call_openers;

/// Writes the fields of a draft.
pub(super) struct Drafter<'a> {
    pub(super) findings: &'a Findings,
    /// What stands around texts, if they are read by that.
    pub(super) around: Option<&'a Surroundings>,
    pub(super) calls: Option<&'a CallParts<'a>>,
    pub(super) choices: &'a Choices,
    pub(super) options: &'a DeriveOptions,
}

impl Drafter<'_> {
    /// Whether the answer to this is not the plainest.
    pub(super) fn chosen(&self, choice: Choice) -> bool {
        self.choices.has(choice)
    }

    /// Puts in what closes a region: literals where they do, a pattern where white space has to go
    /// with them or something is to be looked for ahead.
    pub(super) fn close(&self, field: &mut Object, closers: &[String], ahead: Option<String>) {
        let mut closers = closers.to_vec();
        dedup(&mut closers);
        let has_slots = closers
            .iter()
            .any(|closer| closer.contains(markers::is_slot));
        // White space in a literal would have to be as the template writes it.
        let has_space = closers
            .iter()
            .any(|closer| closer.contains(char::is_whitespace));
        let is_literal = ahead.is_none() && !has_slots && !has_space;
        let is_marked = self.chosen(Choice::ContentMarked);
        if is_marked && is_literal {
            if !closers.is_empty() {
                field.insert("close", literals(&closers));
            }
            return;
        }
        let space = if is_marked { "" } else { "\\s*" };
        let mut alternatives = Vec::new();
        if !closers.is_empty() {
            closers.sort_by_key(|closer| Reverse(closer.len()));
            let closers = any_of(closers.iter().map(|closer| loose(closer)));
            alternatives.push(format!("{closers}{space}"));
        }
        alternatives.extend(ahead);
        if !alternatives.is_empty() {
            field.insert("close_pattern", alternatives.join("|"));
        }
    }

    pub(super) fn turn_ends(&self) -> Vec<String> {
        let turn = &self.findings.turn;
        let seen = self.around.map_or(&[][..], |around| &around.ends);
        let is_known = seen.iter().any(|end| turn.ends.contains(end));
        // Where none of what was seen ends turns elsewhere, all markers that do may end this one as well.
        let others = turn.all_ends().filter(|end| match self.around {
            Some(_) => !is_known && markers::is_marker(end),
            None => true,
        });
        let ends = seen.iter().chain(others);
        let ends = ends.map(|end| end.trim().to_owned());
        ends.filter(|end| end.chars().count() > 1 || is_distinctive(end))
            .collect()
    }

    /// The markers with which a call begins, if there are calls.
    pub(super) fn call_openers(&self) -> Vec<String> {
        self.calls.map(call_openers).unwrap_or_default()
    }
}

/// Adds the markers of a text, or the text itself if it is not markers alone, unless it could as
/// well be prose or JSON.
pub(super) fn push_markers(into: &mut Vec<String>, text: &str) {
    let units = markers::units(text)
        .into_iter()
        .filter(|unit| is_distinctive(unit));
    into.extend(units.map(str::to_owned));
}

pub(super) fn texts(texts: &[String]) -> Vec<Value> {
    texts.iter().map(|text| text.as_str().into()).collect()
}

/// One literal as itself, several as a list.
pub(super) fn literals(literals: &[String]) -> Value {
    match literals {
        [one] => one.as_str().into(),
        several => texts(several).into(),
    }
}
