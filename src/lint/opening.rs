//! Delimiters that never fire, because they match nothing or because others always win.

use crate::response::pattern::{Meter, TooCostly};
use crate::response::{DelimiterKind, Watch};
use crate::value::pointer_below;

use super::subject::Subject;
use super::{Complaints, Lint, quoted};

pub(super) fn check(subject: &Subject<'_>, complaints: &mut Complaints) {
    let inner = subject.inner();
    let mut meter = Meter::new(1 << 16);
    for watch in inner.watches(None) {
        if inner.delimiter(watch).compiled().never_matches() {
            report_empty(subject, watch, complaints);
        } else if let Ok(lost) = lost_to_others(subject, watch, &mut meter) {
            report_lost(subject, watch, &lost, complaints);
        }
    }
    let regions = (0..inner.fields.len()).filter(|&field| Some(field) != inner.implicit);
    for watch in regions.flat_map(|field| inner.watches(Some(field))) {
        if inner.delimiter(watch).compiled().never_matches() {
            report_empty(subject, watch, complaints);
        }
    }
}

/// There is no text that the delimiter matches.
fn report_empty(subject: &Subject<'_>, watch: &Watch, complaints: &mut Complaints) {
    let name = subject.inner().fields[watch.field].name();
    let place = subject.delimiter_pointer(watch);
    let (lint, what) = match watch.kind {
        DelimiterKind::Open => (Lint::NeverOpens, format!("`{name}` can never open")),
        DelimiterKind::Close => (Lint::NoEffect, format!("it never closes `{name}`")),
    };
    complaints.add(
        lint,
        place,
        format!("there is no text that the pattern matches, so {what}"),
        "look for an empty set such as `[^\\s\\S]`, or a lookaround that is never true",
    );
}

/// Literals to which another delimiter is always preferred, with their numbers.
struct Lost {
    literals: Vec<(usize, String)>,
    /// How many there are in all.
    total: usize,
    winner: Option<Watch>,
}

fn lost_to_others(
    subject: &Subject<'_>,
    watch: &Watch,
    meter: &mut Meter,
) -> Result<Lost, TooCostly> {
    let delimiter = subject.inner().delimiter(watch);
    let texts = match (delimiter.literals(), delimiter.pattern()) {
        (Some(literals), _) => literals,
        // Patterns are compared as they are spelled.
        (None, pattern) => {
            let same = |other: &&Watch| subject.inner().delimiter(other).pattern() == pattern;
            let winner = subject.inner().watches(None).iter().find(same).copied();
            let winner = winner.filter(|winner| winner.delimiter != watch.delimiter);
            return Ok(Lost {
                literals: Vec::new(),
                total: 0,
                winner,
            });
        }
    };
    let mut lost = Lost {
        literals: Vec::new(),
        total: texts.len(),
        winner: None,
    };
    for (index, text) in texts.iter().enumerate() {
        if let Some(winner) = always_wins(subject, watch, text, meter)? {
            lost.literals.push((index, text.clone()));
            lost.winner.get_or_insert(winner);
        }
    }
    Ok(lost)
}

/// The delimiter that is preferred to a literal of this one, whatever stands around it.
fn always_wins(
    subject: &Subject<'_>,
    watch: &Watch,
    literal: &str,
    meter: &mut Meter,
) -> Result<Option<Watch>, TooCostly> {
    let mut winner = None;
    for (before, after) in [("", ""), ("", "a"), ("a ", " a"), ("a", "{"), ("\n", "\n")] {
        let text = [before, literal, after].concat();
        let hit = subject.inner().first_hit(None, &text, 0, meter)?;
        match hit {
            Some(hit) if hit.watch.delimiter != watch.delimiter => winner = Some(hit.watch),
            _ => return Ok(None),
        }
    }
    Ok(winner)
}

fn report_lost(subject: &Subject<'_>, watch: &Watch, lost: &Lost, complaints: &mut Complaints) {
    let Some(winner) = &lost.winner else {
        return;
    };
    let place = subject.delimiter_pointer(watch);
    let winner = subject.describe(winner);
    if lost.literals.len() < lost.total {
        for (index, literal) in &lost.literals {
            let place = pointer_below(&place, &index.to_string());
            let message = format!(
                "{} has no effect: {winner} matches it first",
                quoted(literal)
            );
            complaints.add(
                Lint::NoEffect,
                place,
                message,
                "leave it out in one of the two places",
            );
        }
        return;
    }
    let name = subject.inner().fields[watch.field].name();
    let (lint, message) = match watch.kind {
        DelimiterKind::Open => (
            Lint::NeverOpens,
            format!(
                "`{name}` can never open: {winner} matches the same text, and of equals what opens \
                 comes before what closes, then the field whose name comes first"
            ),
        ),
        DelimiterKind::Close => (
            Lint::NoEffect,
            format!("this never closes `{name}`: {winner} matches the same text first"),
        ),
    };
    let remedy = "let it differ from all other delimiters that are looked for between regions, or \
                  leave it out";
    complaints.add(lint, place, message, remedy);
}
