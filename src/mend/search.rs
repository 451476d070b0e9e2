//! Looking for the fewest changes that mend a template, by rendering.

use std::fmt;

use crate::budget::Budget;
use crate::chat_template::ChatTemplate;

use super::candidates::{Edit, apply};
use super::case::{Case, count};

/// Why nothing was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failed {
    /// No small change does it.
    NoChange,
    /// The budget was spent before all were tried.
    Spent,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failed::NoChange => "no small change mends it and keeps all else",
            Failed::Spent => "too many changes would have to be tried",
        })
    }
}

/// So many cases are looked at, of those that show the fault and of those that don't, before all are.
const FIRST_LOOK: usize = 12;

/// How often cases that a result fails are added to those looked at.
const MAX_ROUNDS: usize = 6;

/// How many changes a template may take.
const MAX_EDITS: usize = 8;

/// Looks for changes after which all cases hold.
pub(super) fn search<'e>(
    jinja: &str,
    cases: &[Case],
    candidates: &'e [Edit],
    budget: &Budget,
) -> Result<Vec<&'e Edit>, Failed> {
    let mut screen = Screen {
        jinja,
        faulty: smallest(cases, true),
        sound: smallest(cases, false),
        budget,
    };
    for _ in 0..MAX_ROUNDS {
        let found = screen.mend(candidates)?;
        let found = screen.without_needless(found);
        let mended = apply(jinja, &found);
        let failing = failing(&mended, cases, budget).ok_or(Failed::Spent)?;
        if failing.is_empty() {
            return Ok(found);
        }
        for case in failing {
            match case.is_faulty() {
                true => screen.faulty.push(case),
                false => screen.sound.insert(0, case),
            }
        }
    }
    Err(Failed::NoChange)
}

fn smallest(cases: &[Case], is_faulty: bool) -> Vec<&Case> {
    let mut cases: Vec<&Case> = cases
        .iter()
        .filter(|case| case.is_faulty() == is_faulty)
        .collect();
    cases.sort_by_key(|case| case.size());
    cases.truncate(FIRST_LOOK);
    cases
}

/// A few of the cases that a changed template fails.
fn failing<'c>(jinja: &str, cases: &'c [Case], budget: &Budget) -> Option<Vec<&'c Case>> {
    let prepared = ChatTemplate::from_jinja(jinja).prepare_within(budget);
    let renderer = prepared.renderer().ok()?;
    let mut failing = Vec::new();
    for case in cases {
        if !case.holds(&renderer)? {
            failing.push(case);
        }
        if failing.len() == 4 {
            break;
        }
    }
    Some(failing)
}

/// The cases that changes are tried on.
struct Screen<'s> {
    jinja: &'s str,
    faulty: Vec<&'s Case>,
    sound: Vec<&'s Case>,
    budget: &'s Budget,
}

impl Screen<'_> {
    /// How many of the faulty cases hold with some changes, if no other one suffers.
    fn mended(&self, edits: &[&Edit], at_least: usize) -> Option<usize> {
        let prepared =
            ChatTemplate::from_jinja(apply(self.jinja, edits)).prepare_within(self.budget);
        // What is not valid mends nothing.
        let renderer = prepared.renderer().ok()?;
        let holds_all =
            |cases: &[&Case]| cases.iter().all(|case| case.holds(&renderer) == Some(true));
        // Most changes break the first of them.
        let (first, rest) = self.sound.split_at(self.sound.len().min(1));
        if !holds_all(first) {
            return None;
        }
        let count = count(&renderer, &self.faulty)?;
        if count < at_least {
            return Some(count);
        }
        holds_all(rest).then_some(count)
    }

    /// Changes after which all of these cases hold.
    fn mend<'e>(&self, candidates: &'e [Edit]) -> Result<Vec<&'e Edit>, Failed> {
        let mut chosen: Vec<&Edit> = Vec::new();
        let mut mended = 0;
        while mended < self.faulty.len() {
            if chosen.len() >= MAX_EDITS {
                return Err(Failed::NoChange);
            }
            let step = self.step(&chosen, mended, candidates);
            let step = match step {
                None => self.double_step(&chosen, mended, candidates),
                step => step,
            };
            if self.budget.is_spent() {
                return Err(Failed::Spent);
            }
            let (edits, count) = step.ok_or(Failed::NoChange)?;
            chosen.extend(edits);
            mended = count;
        }
        Ok(chosen)
    }

    /// The change that mends most, and costs least of those. Others than plain ones are only taken if no plain one
    /// mends anything.
    fn step<'e>(
        &self,
        chosen: &[&'e Edit],
        mended: usize,
        candidates: &'e [Edit],
    ) -> Option<(Vec<&'e Edit>, usize)> {
        let mut best: Option<(&Edit, usize)> = None;
        for candidate in candidates.iter().filter(|edit| is_free(edit, chosen)) {
            let known = best.map_or(mended, |(_, count)| count);
            if known == self.faulty.len() || (best.is_some() && !candidate.is_plain()) {
                break;
            }
            let edits: Vec<&Edit> = chosen.iter().copied().chain([candidate]).collect();
            let count = self.mended(&edits, known + 1).unwrap_or(0);
            if count > known {
                best = Some((candidate, count));
            }
        }
        best.map(|(edit, count)| (vec![edit], count))
    }

    /// Two changes that mend something only together.
    fn double_step<'e>(
        &self,
        chosen: &[&'e Edit],
        mended: usize,
        candidates: &'e [Edit],
    ) -> Option<(Vec<&'e Edit>, usize)> {
        let mut harmless: Vec<&Edit> = Vec::new();
        let plain = candidates.iter().filter(|edit| edit.is_plain());
        for candidate in plain.filter(|edit| is_free(edit, chosen)) {
            let edits: Vec<&Edit> = chosen.iter().copied().chain([candidate]).collect();
            if self.mended(&edits, usize::MAX).is_some() {
                harmless.push(candidate);
            }
        }
        for (index, second) in harmless.iter().enumerate() {
            for first in harmless[..index]
                .iter()
                .filter(|first| !first.overlaps(second))
            {
                let edits: Vec<&Edit> = chosen.iter().chain([first, second]).copied().collect();
                let count = self.mended(&edits, mended + 1).unwrap_or(0);
                if count > mended {
                    return Some((vec![*first, *second], count));
                }
                if self.budget.is_spent() {
                    return None;
                }
            }
        }
        None
    }

    /// The changes that none of these cases can do without.
    fn without_needless<'e>(&self, mut edits: Vec<&'e Edit>) -> Vec<&'e Edit> {
        let mut index = 0;
        while index < edits.len() && edits.len() > 1 {
            let mut fewer = edits.clone();
            fewer.remove(index);
            match self.mended(&fewer, 0) == Some(self.faulty.len()) {
                true => edits = fewer,
                false => index += 1,
            }
        }
        edits
    }
}

fn is_free(edit: &Edit, chosen: &[&Edit]) -> bool {
    chosen.iter().all(|other| !edit.overlaps(other))
}
