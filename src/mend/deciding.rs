//! Which tags of a template something hangs on that it writes otherwise.

use std::collections::HashMap;
use std::ops::Range;

use crate::chat_template::expressions::Statement;
use crate::chat_template::outline::{Block, Node};
use crate::conversation::trace::{Outline, Trace, prepare};

use crate::budget::Budget;

use super::case::{Case, rendered};

/// So many cases are looked at.
const MAX_CASES: usize = 50;

/// How many characters are shown of what is written otherwise.
const SHOWN: usize = 40;

/// Where a fault shows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultLocation {
    /// The line of the template, counted from 1.
    pub line: usize,
    /// What it writes in a conversation.
    pub text: String,
    /// What stands there in another that should be written alike.
    pub other: String,
}

/// What of a template decides on a fault.
#[derive(Default)]
pub(super) struct Decision {
    /// Where it shows first.
    pub(super) place: Option<FaultLocation>,
    /// The tags around what is written otherwise: their conditions, and what writes itself.
    pub(super) tags: Vec<Range<usize>>,
}

impl Decision {
    /// Looks where texts of cases differ that show the fault. Nothing is known of a template that can't be looked into.
    pub(super) fn of(
        jinja: &str,
        statements: &[Statement],
        cases: &[Case],
        budget: &Budget,
    ) -> Decision {
        let mut decision = Decision::default();
        let Ok(outline) = Outline::of(jinja, false) else {
            return decision;
        };
        let noting = prepare(&outline, budget);
        let Ok(renderer) = noting.renderer() else {
            return decision;
        };
        let mut places: Vec<usize> = Vec::new();
        for case in cases.iter().filter(|case| case.is_faulty()).take(MAX_CASES) {
            let Some((inputs, at)) = case.difference() else {
                continue;
            };
            let traces = inputs.map(|input| {
                let noted = rendered(&renderer, input).flatten();
                noted.map(|noted| Trace::of(&noted))
            });
            let [Some(first), Some(second)] = traces else {
                continue;
            };
            let writers = [&first, &second].map(|trace| writer(trace, at));
            let mut pieces: Vec<usize> = writers.into_iter().flatten().collect();
            pieces.extend(missing(&first, &second));
            let start = |piece: usize| Some(outline.pieces.get(piece)?.range.start);
            places.extend(pieces.into_iter().filter_map(start));
            if decision.place.is_none()
                && let Some(start) = writers[0].and_then(start)
            {
                // Where the template asks for the time, what it writes twice may differ.
                let shown = |trace: &Trace| {
                    let rest = trace.text.get(at..).unwrap_or_default();
                    rest.chars().take(SHOWN).collect()
                };
                decision.place = Some(FaultLocation {
                    line: jinja[..start].matches('\n').count() + 1,
                    text: shown(&first),
                    other: shown(&second),
                });
            }
        }
        places.sort_unstable();
        places.dedup();
        for place in places {
            let is_around = |statement: &&Statement| statement.range.contains(&place);
            let own = statements.iter().find(is_around);
            decision
                .tags
                .extend(own.map(|statement| statement.range.clone()));
            conditions(&outline.nodes, place, statements, &mut decision.tags);
        }
        decision
    }
}

/// What has written a place of a text.
fn writer(trace: &Trace, at: usize) -> Option<usize> {
    let mut writings = trace.writings.iter().rev();
    Some(writings.find(|writing| writing.range.start <= at)?.piece)
}

/// What has written more often in one text than in another.
fn missing(trace: &Trace, other: &Trace) -> Vec<usize> {
    let mut left: HashMap<usize, usize> = HashMap::new();
    for writing in &other.writings {
        *left.entry(writing.piece).or_default() += 1;
    }
    let mut missing = Vec::new();
    for writing in &trace.writings {
        match left.get_mut(&writing.piece) {
            Some(count) if *count > 0 => *count -= 1,
            _ => missing.push(writing.piece),
        }
    }
    missing
}

/// The conditions of the blocks around a place.
fn conditions(
    nodes: &[Node],
    place: usize,
    statements: &[Statement],
    ranges: &mut Vec<Range<usize>>,
) {
    let blocks = nodes.iter().filter_map(|node| match node {
        Node::Block(block) if block.range.contains(&place) => Some(block),
        _ => None,
    });
    for block in blocks {
        if block.keyword == "if" {
            let own = statements
                .iter()
                .filter(|statement| is_own(block, &statement.range));
            ranges.extend(own.map(|statement| statement.range.clone()));
        }
        for body in &block.bodies {
            conditions(body, place, statements, ranges);
        }
    }
}

/// Whether a tag belongs to a block, and not to one within.
fn is_own(block: &Block, tag: &Range<usize>) -> bool {
    let holds = |outer: &Range<usize>| outer.start <= tag.start && tag.end <= outer.end;
    holds(&block.range)
        && !block
            .bodies
            .iter()
            .flatten()
            .any(|node| holds(&node.range()))
}
