//! Which pieces of a template write what the model writes.

use std::collections::HashMap;
use std::ops::Range;

use super::borders::Turn;
use super::trace::{Outline, Trace};

/// What is known of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) kind: PieceAuthor,
    /// Whether it writes the same for others, too.
    pub(super) is_shared: bool,
}

/// What a piece writes for the assistant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PieceAuthor {
    /// Nothing has been seen of it.
    Unseen,
    /// What the model writes.
    Inside,
    /// What it does not write.
    Outside,
    /// Of the text that stands in the template, these characters.
    Part(Range<usize>),
    /// What follows a text, without so many characters at the end.
    Behind { header: String, tail: usize },
    /// Sometimes this, sometimes that.
    Unclear,
}

/// How much of what a piece has written is the model's.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Class {
    Inside,
    Outside,
    Part(Range2),
}

/// A range that can be compared.
type Range2 = (usize, usize);

#[derive(Debug, Clone)]
struct Seen {
    class: Class,
    is_own: bool,
    is_blank: bool,
    /// What was written, if only a part of it is the model's.
    text: String,
}

/// What has been seen of all pieces of a template.
#[derive(Debug)]
pub(super) struct Sightings {
    seen: Vec<Vec<Seen>>,
    /// Of which pieces enough has been seen.
    closed: Vec<bool>,
}

/// What has been seen at least once in so many times is no exception: two calls are rarer in probes than one.
const LEAST_SHARE: usize = 10;

/// So many sightings of a piece are enough.
const MAX_SEEN: usize = 400;

impl Sightings {
    pub(super) fn new(outline: &Outline) -> Sightings {
        let count = outline.pieces.len();
        Sightings {
            seen: vec![Vec::new(); count],
            closed: vec![false; count],
        }
    }

    /// From now on, only pieces count of which nothing has been seen.
    pub(super) fn close(&mut self) {
        self.closed = self.seen.iter().map(|seen| !seen.is_empty()).collect();
    }

    /// Takes in who wrote what in a rendering.
    pub(super) fn add(&mut self, trace: &Trace, turns: &[Turn]) {
        for writing in &trace.writings {
            let range = &writing.range;
            let Some(seen) = self.seen.get_mut(writing.piece) else {
                continue;
            };
            if range.is_empty() || seen.len() >= MAX_SEEN || self.closed[writing.piece] {
                continue;
            }
            let text = &trace.text[range.clone()];
            let is_blank = text.trim().is_empty();
            let spans = turns.iter().map(|turn| &turn.span);
            let shared = spans.filter_map(|span| {
                let (start, end) = (span.start.max(range.start), span.end.min(range.end));
                (start < end).then(|| start - range.start..end - range.start)
            });
            let shared: Vec<Range<usize>> = shared.collect();
            let class = match shared.as_slice() {
                [] => Class::Outside,
                [whole] if whole.len() == range.len() => Class::Inside,
                [.., last] => Class::Part((shared[0].start, last.end)),
            };
            let is_own = turns.iter().any(|turn| {
                turn.region.start <= range.start && range.end <= turn.region.end
                    || matches!(class, Class::Part(_))
            });
            seen.push(Seen {
                text: match class {
                    Class::Part(_) => text.to_owned(),
                    _ => String::new(),
                },
                class,
                is_own,
                is_blank,
            });
        }
    }

    pub(super) fn labels(&self, outline: &Outline) -> Vec<Label> {
        let pieces = outline.pieces.iter().zip(&self.seen);
        pieces
            .map(|(piece, seen)| label(seen, piece.literal.is_some()))
            .collect()
    }
}

fn label(seen: &[Seen], is_literal: bool) -> Label {
    let solid: Vec<&Seen> = seen.iter().filter(|seen| !seen.is_blank).collect();
    let is_blank = solid.is_empty();
    let seen: Vec<&Seen> = match is_blank {
        true => seen.iter().collect(),
        false => solid,
    };
    let (own, others): (Vec<&Seen>, Vec<&Seen>) =
        seen.iter().copied().partition(|seen| seen.is_own);
    let plain = |kind| Label {
        kind,
        is_shared: false,
    };
    let inside = own
        .iter()
        .filter(|seen| seen.class == Class::Inside)
        .count();
    // Nothing that the model writes may be lost: what is sometimes its own, and sometimes a prompt's, is its own.
    let class = match inside * LEAST_SHARE >= own.len() && inside > 0 {
        true => Some(Class::Inside),
        false => most_common(&own).or_else(|| most_common(&others)),
    };
    let Some(class) = class else {
        return plain(PieceAuthor::Unseen);
    };
    let other_class = most_common(&others);
    let is_shared =
        class != Class::Outside && other_class == Some(Class::Outside) && !own.is_empty();
    if is_blank && is_shared {
        return plain(PieceAuthor::Outside);
    }
    let kind = match class {
        Class::Inside => PieceAuthor::Inside,
        Class::Outside => PieceAuthor::Outside,
        Class::Part((start, end)) if is_literal => {
            let example = own.iter().find(|seen| seen.class == class);
            let text = example.map_or("", |seen| seen.text.as_str());
            let count = |at: usize| text.get(..at).map_or(0, |text| text.chars().count());
            PieceAuthor::Part(count(start)..count(end))
        }
        Class::Part(_) => behind(&own),
    };
    Label { kind, is_shared }
}

/// Which is most common. What is a part here and a part there counts as the same.
fn most_common(seen: &[&Seen]) -> Option<Class> {
    let mut counts: HashMap<&Class, usize> = HashMap::new();
    for seen in seen {
        *counts.entry(&seen.class).or_default() += 1;
    }
    let parts = counts
        .iter()
        .filter(|(class, _)| matches!(class, Class::Part(_)));
    let parts: usize = parts.map(|(_, count)| count).sum();
    let whole = counts
        .iter()
        .filter(|(class, _)| !matches!(class, Class::Part(_)));
    let whole = whole.max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
    match whole {
        Some((class, count)) if *count >= parts => Some((*class).clone()),
        _ => {
            let parts = counts
                .iter()
                .filter(|(class, _)| matches!(class, Class::Part(_)));
            let best = parts.max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
            best.map(|(class, _)| (*class).clone())
        }
    }
}

/// What values have in common of which the model writes a part.
fn behind(own: &[&Seen]) -> PieceAuthor {
    let parts = own.iter().filter_map(|seen| match &seen.class {
        Class::Part((start, end)) => Some((seen.text.as_str(), *start, *end)),
        _ => None,
    });
    let parts: Vec<(&str, usize, usize)> = parts.collect();
    // Only white space that follows may differ.
    if parts.iter().all(|(text, start, end)| {
        text[..*start].trim().is_empty() && text[*end..].trim().is_empty()
    }) {
        return PieceAuthor::Inside;
    }
    let Some((text, start, end)) = parts.first() else {
        return PieceAuthor::Unclear;
    };
    let mut header: &str = &text[..*start];
    let mut tail: Option<&str> = Some(&text[*end..]);
    for (text, start, end) in &parts {
        let ahead = &text[..*start];
        while !ahead.ends_with(header) {
            let mut chars = header.chars();
            chars.next();
            header = chars.as_str();
        }
        tail = tail.filter(|tail| text[*end..] == **tail);
    }
    let tail = match tail {
        // White space alone is not worth a cut.
        _ if parts
            .iter()
            .all(|(text, _, end)| text[*end..].trim().is_empty()) =>
        {
            0
        }
        Some(tail) => tail.chars().count(),
        None => return PieceAuthor::Unclear,
    };
    let is_first =
        |(text, start, _): &(&str, usize, usize)| text.find(header) == Some(start - header.len());
    match header.is_empty() && tail == 0 || !parts.iter().all(is_first) {
        true => PieceAuthor::Unclear,
        false => PieceAuthor::Behind {
            header: header.to_owned(),
            tail,
        },
    }
}
