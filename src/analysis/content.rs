//! How a turn's text is written.

use super::asking::{Asking, Mode, Said, Scene};
use super::markers::{self, common_suffix};
use super::reasoning::{Found, ReasoningShape, closing_marker};
use super::turn::{MODES, Openings, shared_end};

/// How the text of a turn is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContentShape {
    /// What opens it in every turn; `None` if it stands bare.
    pub open: Option<String>,
    /// What closes it, if something opens it.
    pub close: Vec<String>,
    /// Markers that stand around it only beside reasoning.
    pub beside_reasoning: Vec<String>,
}

/// Looks at what stands around the content of a turn. Also gives what follows it in a turn that
/// comes last.
pub(crate) fn find(
    asking: &Asking<'_>,
    openings: &Openings,
    said: &Said,
    word: &str,
    reasoning: Option<&ReasoningShape>,
    beside: Option<&Found>,
) -> (ContentShape, String) {
    let mut before: Option<String> = None;
    let mut after = String::new();
    for mode in MODES {
        let Ok(turn) = asking.turn(Scene::Question, said, mode) else {
            continue;
        };
        let body = openings.body(turn.tail(), Scene::Question, mode);
        let Some((ahead, rest)) = body.split_once(word) else {
            continue;
        };
        let ahead = without_reasoning(ahead, reasoning);
        before = Some(match before {
            None => {
                after = rest.to_owned();
                ahead
            }
            Some(before) => shared_end(&before, &ahead).to_owned(),
        });
    }
    let open = before.map(|text| text.trim_start().to_owned());
    let open = open.filter(|text| !text.trim().is_empty());
    let header = openings.header(Scene::Question, Mode::On);
    let mut close = Vec::new();
    if open.is_some() {
        close.extend(closing_marker(&after));
        // Where every part of a turn has a header of its own, what ends one ends all.
        let parts = beside.filter(|found| {
            let role = markers::markers(header).last();
            role.is_some_and(|role| found.after.contains(role))
        });
        close.extend(
            parts
                .and(reasoning)
                .map(|reasoning| reasoning.close.clone()),
        );
    }
    let beside_reasoning = beside.map_or_else(Vec::new, |found| {
        let own = reasoning.map_or("", |reasoning| reasoning.close.as_str());
        let between = found
            .after
            .split_once(own)
            .map_or("", |(_, between)| between);
        let open = open.as_deref().unwrap_or_default();
        let between = between.strip_suffix(open).unwrap_or(between);
        let end = &found.end[..found.end.len() - common_suffix(&found.end, &after)];
        let units = [between, end].into_iter().flat_map(markers::units);
        let mut around: Vec<String> = units.map(str::to_owned).collect();
        around.retain(|marker| !header.contains(marker.as_str()) && !own.contains(marker.as_str()));
        around
    });
    let shape = ContentShape {
        open,
        close,
        beside_reasoning,
    };
    (shape, after)
}

/// What is left of the text before content when empty reasoning is taken out.
fn without_reasoning(text: &str, reasoning: Option<&ReasoningShape>) -> String {
    let Some(reasoning) = reasoning else {
        return text.to_owned();
    };
    if let Some(at) = text.rfind(reasoning.close.as_str()) {
        return text[at + reasoning.close.len()..].to_owned();
    }
    let open = reasoning.open.as_deref().map(str::trim);
    match open.and_then(|open| text.find(open)) {
        Some(at) => text[..at].to_owned(),
        None => text.to_owned(),
    }
}
