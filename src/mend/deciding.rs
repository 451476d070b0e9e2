//! Which tags of a template something hangs on that it writes otherwise.

use std::ops::Range;

use crate::chat_template::expressions::Statement;
use crate::chat_template::outline::{Block, Node};
use crate::conversation::trace::{Outline, Trace, prepare};

use super::case::{Case, Patience};

/// So many cases are looked at.
const MAX_CASES: usize = 12;

/// The tags that decide what is written where the texts of cases differ: the conditions around what writes there, and what
/// writes itself. None are known of a template that can't be looked into.
pub(super) fn deciding(
    jinja: &str,
    statements: &[Statement],
    cases: &[Case],
    patience: Patience,
) -> Vec<Range<usize>> {
    let Ok(outline) = Outline::of(jinja, false) else {
        return Vec::new();
    };
    let noting = prepare(&outline);
    let Ok(renderer) = noting.renderer() else {
        return Vec::new();
    };
    let mut places: Vec<usize> = Vec::new();
    for case in cases.iter().filter(|case| case.is_faulty()).take(MAX_CASES) {
        let Some((inputs, at)) = case.difference() else {
            continue;
        };
        for input in inputs {
            let Some(Some(noted)) = patience.render(&renderer, input) else {
                continue;
            };
            let trace = Trace::of(&noted);
            let writing = trace
                .writings
                .iter()
                .rev()
                .find(|writing| writing.range.start <= at);
            let piece = writing.and_then(|writing| outline.pieces.get(writing.piece));
            places.extend(piece.map(|piece| piece.range.start));
        }
    }
    places.sort_unstable();
    places.dedup();
    let mut ranges = Vec::new();
    for place in places {
        let is_around = |statement: &&Statement| statement.range.contains(&place);
        ranges.extend(
            statements
                .iter()
                .find(is_around)
                .map(|statement| statement.range.clone()),
        );
        conditions(&outline.nodes, place, statements, &mut ranges);
    }
    ranges
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
