//! Where a model's reasoning stands, and what opens and closes it.

use super::asking::{Asking, Mode, Said, Scene};
use super::markers::{self, is_pair, mirrored, pieces};
use super::statement::Certainty;
use super::turn::Openings;

/// How reasoning is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReasoningShape {
    /// The keys of a message under which the template reads it; `content` says that it is a part of
    /// the content.
    pub keys: Vec<String>,
    /// What opens it; `None` if the turn just begins with it.
    pub open: Option<String>,
    /// What closes it.
    pub close: String,
    /// How sure it is.
    pub certainty: Certainty,
    /// Whether it is rendered in the turn that comes last, in past ones, and beside calls.
    pub in_last_turn: bool,
    /// Whether it is rendered in turns that another question follows.
    pub in_past_turns: bool,
    /// Whether it is rendered beside calls.
    pub beside_calls: bool,
    /// Whether the template cuts it out of the content of past turns.
    pub cut_from_content: bool,
    /// Whether a prompt opens it.
    pub opened_by_prompt: bool,
    /// Whether a prompt opens it and closes it at once, to switch thinking off.
    pub closed_by_prompt: bool,
}

/// Reasoning as it was found in a rendering, and what stands between it and what follows.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// What stands before it in the turn.
    pub(crate) before: String,
    /// What stands between it and the content, or the call.
    pub(crate) after: String,
    /// What stands after the content.
    pub(crate) end: String,
}

/// Renders reasoning beside something else, and cuts out what stands around it.
pub(crate) fn look(
    asking: &Asking<'_>,
    openings: &Openings,
    said: &Said,
    reasoning: &str,
    next: &str,
) -> Option<Found> {
    for mode in [Mode::On, Mode::Unset] {
        let Ok(turn) = asking.turn(Scene::Question, said, mode) else {
            continue;
        };
        let body = openings.body(turn.tail(), Scene::Question, mode);
        let Some((before, rest)) = body.split_once(reasoning) else {
            continue;
        };
        let (after, end) = rest.split_once(next).unwrap_or((rest, ""));
        // What comes before it may be just what it was thought to come before.
        let before = before
            .rsplit_once(next)
            .map_or(before, |(_, before)| before);
        return Some(Found {
            before: before.to_owned(),
            after: after.to_owned(),
            end: end.to_owned(),
        });
    }
    None
}

/// How many different markers of a template are looked at.
const MAX_MARKERS: usize = 300;

/// What closes something, at the beginning of what follows it: a marker, or the words of a line.
pub(crate) fn closing_marker(after: &str) -> Option<String> {
    let after = after.trim_start();
    let first = pieces(after).into_iter().next()?;
    if markers::is_marker(first) {
        return Some(first.to_owned());
    }
    let line = after.split('\n').next().unwrap_or_default();
    let marker = markers::markers(line)
        .next()
        .and_then(|marker| line.find(marker));
    let words = line[..marker.unwrap_or(line.len())].trim();
    (!words.is_empty()).then(|| words.to_owned())
}

/// The markers of reasoning that is never rendered: what a prompt opens, or what the template cuts
/// out of the content of past turns.
pub(crate) fn infer(
    asking: &Asking<'_>,
    source: &str,
    remainders: &[String],
) -> Option<(Option<String>, String)> {
    for rest in remainders {
        let found: Vec<&str> = markers::markers(rest).take(MAX_MARKERS).collect();
        for (at, open) in found.iter().enumerate() {
            if let Some(close) = found[at + 1..].iter().find(|close| is_pair(open, close)) {
                return Some((Some((*open).to_owned()), (*close).to_owned()));
            }
        }
    }
    let mut known: Vec<&str> = markers::markers(source).collect();
    known.sort_unstable();
    known.dedup();
    known.truncate(MAX_MARKERS);
    for rest in remainders {
        let Some(open) = markers::markers(rest).last() else {
            continue;
        };
        if markers::says_end(open) {
            let opener = known.iter().find(|other| is_pair(other, open));
            return Some((opener.map(|o| (*o).to_owned()), open.to_owned()));
        }
        let named = known.iter().find(|close| is_pair(open, close));
        let closes = |close: &&&str| markers::says_end(close) && cuts_off(asking, close);
        let close = named.or_else(|| known.iter().find(closes));
        let close = close.map(|close| (*close).to_owned());
        return Some((Some(open.to_owned()), close.or_else(|| mirrored(open))?));
    }
    if let Some(open) = remainders
        .iter()
        .map(|rest| rest.trim())
        .find(|rest| !rest.is_empty())
    {
        // The prompt opens it with words; which words close it shows when content holds them.
        let close = quoted(source)
            .into_iter()
            .find(|text| *text != open && cuts_off(asking, text))?;
        return Some((Some(open.to_owned()), close.to_owned()));
    }
    known.iter().find_map(|close| {
        let closes = markers::says_end(close) && cuts_off(asking, close);
        let open = || {
            let opener = known.iter().find(|open| is_pair(open, close));
            opener.map_or_else(|| close.replacen('/', "", 1), |o| (*o).to_owned())
        };
        closes.then(|| (Some(open()), (*close).to_owned()))
    })
}

/// The texts that stand in quotes in the source of a template.
fn quoted(source: &str) -> Vec<&str> {
    let mut texts: Vec<&str> = Vec::new();
    for quote in ['\'', '"'] {
        let parts = source
            .split('\n')
            .flat_map(|line| line.split(quote).skip(1).step_by(2));
        texts.extend(parts.map(|text| {
            text.trim()
                .trim_end_matches("\\n")
                .trim_start_matches("\\n")
        }));
    }
    texts.retain(|text| text.len() > 2);
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// Whether a template drops what stands before a marker in the content of a past turn, and only
/// because of the marker.
pub(crate) fn cuts_off(asking: &Asking<'_>, marker: &str) -> bool {
    let (before, after) = (asking.word("before"), asking.word("after"));
    let keeps = |between: &str, word: &str| {
        let said = Said::content(&format!("{before}{between}{after}"));
        let turn = asking.past_turn(Scene::Question, &said, Mode::Unset);
        turn.is_ok_and(|turn| turn.tail().contains(word))
    };
    keeps(marker, &after) && !keeps(marker, &before) && keeps(" ", &before)
}
