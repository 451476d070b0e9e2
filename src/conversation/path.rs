//! The way through a text from slot to slot, along the passages of a format.
//!
//! All places are looked up first where a passage may stand. From a slot, the passage that comes first is
//! taken, and of those at one place the longest; where that leads to no end, the next. What follows a
//! passage at a place does not depend on what came before, so none is gone through twice.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use memchr::memmem;

use crate::format::{
    ConversationFormat, ConversationSlot, FoundSlot, Node, NodeReader, Passage, Piece,
};
use crate::markers::same_start;

/// Calls may be gone over so many times to find where they end, for each byte of the text.
const MAX_CALL_READING: usize = 64;

/// What was found on the way.
#[derive(Debug)]
pub(super) enum Outcome<'t> {
    /// The text is a whole conversation.
    Whole(Path<'t>),
    /// The text ends before the conversation does; the last slot is open.
    Open(Path<'t>),
    /// The text is not a conversation of this format.
    Departs(Departure),
}

/// The slots of a text, in its order.
#[derive(Debug, Clone)]
pub(super) struct Path<'t> {
    pub(super) stops: Vec<Stop<'t>>,
    /// Whether the text ends with the beginning of the assistant's turn.
    pub(super) is_prompt: bool,
    /// Whether the text ends amid what stands behind the last slot.
    pub(super) is_cut: bool,
}

impl Path<'_> {
    /// Where definitions of tools stand that are not read.
    pub(super) fn unread_tools(&self) -> Option<Range<usize>> {
        let mut stops = self.stops.iter();
        let stop = stops.find(|stop| stop.slot == ConversationSlot::ToolText)?;
        Some(stop.range.clone())
    }

    /// Up to where a text that is open has to be rendered again: calls that are still being written are not read.
    pub(super) fn open_from(&self, text: &str) -> usize {
        match self.stops.as_slice() {
            [.., last] if self.is_cut => last.range.end,
            [rest @ .., last] if last.slot == ConversationSlot::Calls && last.calls.is_empty() => {
                rest.last().map_or(0, |before| before.range.end)
            }
            // What the text begins with may be the beginning of anything.
            [] => 0,
            _ => text.len(),
        }
    }
}

/// A slot in a text.
#[derive(Debug, Clone)]
pub(super) struct Stop<'t> {
    pub(super) slot: ConversationSlot,
    pub(super) range: Range<usize>,
    /// Whether it belongs to the same message as the slot before.
    pub(super) is_within: bool,
    /// What stands before it of the answer of a tool.
    pub(super) name: Option<&'t str>,
    pub(super) id: Option<&'t str>,
    /// What stands behind it.
    pub(super) id_behind: Option<&'t str>,
    /// What stands in the slots of calls.
    pub(super) calls: Vec<FoundSlot<'t>>,
}

/// Where a text departs from a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Departure {
    pub(super) at: usize,
    pub(super) expected: Vec<String>,
}

/// A place where a passage stands.
#[derive(Debug, Clone, Copy)]
struct PassageMatch<'t> {
    at: usize,
    end: usize,
    passage: usize,
    name: Option<&'t str>,
    id: Option<&'t str>,
    id_before: Option<&'t str>,
}

impl PassageMatch<'_> {
    /// A place where nothing stands.
    fn empty(at: usize, passage: usize) -> PassageMatch<'static> {
        PassageMatch {
            at,
            end: at,
            passage,
            name: None,
            id: None,
            id_before: None,
        }
    }
}

/// A slot on the way, and how far what may follow it has been tried.
#[derive(Debug)]
struct Step<'t> {
    slot: Option<ConversationSlot>,
    start: usize,
    /// The next of the places to be tried.
    next: usize,
    /// The place up to which the slot may reach.
    limit: usize,
    entered: Option<PassageMatch<'t>>,
    /// Whether an answer without any text has been taken for one with calls.
    is_passed: bool,
    /// Where the slot ends that was tried last, and what stands in it if it is calls.
    end: usize,
    calls: Vec<FoundSlot<'t>>,
}

/// A search for the way through a text.
pub(super) struct Search<'f, 't> {
    format: &'f ConversationFormat,
    text: &'t str,
    is_plain: bool,
    calls: Option<NodeReader>,
    /// What calls always begin with.
    opener: String,
    /// The passage that leads from calls to content without anything between.
    content_behind_calls: Option<usize>,
    places: HashMap<Option<ConversationSlot>, Vec<PassageMatch<'t>>>,
    ends: HashMap<ConversationSlot, Vec<usize>>,
}

impl<'f, 't> Search<'f, 't> {
    /// Where a text could as well be that of another role, `is_plain` takes it for the user's.
    pub(super) fn new(
        format: &'f ConversationFormat,
        text: &'t str,
        is_plain: bool,
    ) -> Search<'f, 't> {
        let mut search = Search {
            format,
            text,
            is_plain,
            calls: format.turn.calls.as_ref().map(NodeReader::new),
            opener: format.turn.calls.as_ref().map(opener).unwrap_or_default(),
            content_behind_calls: format.passages.iter().position(|passage| {
                let (calls, content) = (ConversationSlot::Calls, ConversationSlot::Content);
                (passage.from, passage.to) == (Some(calls), Some(content))
                    && passage.pieces.is_empty()
            }),
            places: HashMap::new(),
            ends: HashMap::new(),
        };
        search.find_places();
        for (slot, end) in &format.ends {
            let found = memmem::find_iter(text.as_bytes(), end.as_bytes());
            search.ends.entry(*slot).or_default().extend(found);
        }
        for places in search.ends.values_mut() {
            places.sort_unstable();
        }
        search
    }

    /// The calls between a place and the end of the text, or where what stands behind them begins to be written; and
    /// where they end.
    fn calls_up_to(&self, start: usize, cut: Option<usize>) -> Option<(usize, Vec<FoundSlot<'t>>)> {
        let calls = self.calls.as_ref()?;
        let ends = cut.into_iter().chain([self.text.len()]);
        ends.filter(|end| *end > start).find_map(|end| {
            let text = self.text.get(start..end)?;
            let (_, mut slots) = calls.read_at(text, 0, str::is_empty)?;
            for slot in &mut slots {
                slot.start += start;
            }
            (!slots.is_empty()).then_some((end, slots))
        })
    }

    fn find_places(&mut self) {
        let opener = self.opener.clone();
        let mut found: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
        for (number, passage) in self.format.passages.iter().enumerate() {
            let first = passage.first_text();
            let opener = match passage.to {
                Some(ConversationSlot::Calls) => opener.as_str(),
                _ => "",
            };
            let behind = match passage.pieces.len() {
                0 | 1 => opener,
                _ => "",
            };
            let length: usize = first.len() + behind.len();
            let is_last = passage.to.is_none() && passage.pieces.len() < 2;
            let starts: Vec<usize> = if passage.from.is_none() {
                vec![0]
            } else if is_last {
                let at = self.text.len().checked_sub(length);
                at.filter(|at| self.text.is_char_boundary(*at))
                    .into_iter()
                    .collect()
            } else if length == 0 {
                match passage.to {
                    // Without any text before it only a definition shows where it begins.
                    Some(ConversationSlot::Tool) => self.objects(),
                    _ => continue,
                }
            } else {
                let known = found.entry((first, behind));
                let text = self.text;
                known
                    .or_insert_with(|| all(text, &format!("{first}{behind}")))
                    .clone()
            };
            let places = self.places.entry(passage.from).or_default();
            for at in starts {
                places.extend(place(self.text, passage, number, at, opener));
            }
        }
        let passages = &self.format.passages;
        for places in self.places.values_mut() {
            places.sort_by_key(|place| {
                let to = passages[place.passage].to;
                let behind = match to {
                    Some(ConversationSlot::Calls) => opener.len(),
                    _ => 0,
                };
                let length = place.end + behind - place.at;
                let Passage { from, skips, .. } = passages[place.passage];
                let follows_calls = matches!(
                    from,
                    Some(ConversationSlot::Calls | ConversationSlot::Result)
                );
                let rank = match self.is_plain && to == Some(ConversationSlot::User) {
                    true => rank(Some(ConversationSlot::Content), follows_calls),
                    false => rank(to, follows_calls),
                };
                (place.at, skips, usize::MAX - length, rank, place.passage)
            });
        }
    }

    /// Where objects begin.
    fn objects(&self) -> Vec<usize> {
        all(self.text, "{")
    }

    /// Looks for a way. If `is_strict`, no text in a slot may have in it what ends messages.
    pub(super) fn run(&self, is_strict: bool) -> Outcome<'t> {
        Run {
            search: self,
            is_strict,
            tried: HashMap::new(),
            tried_calls: HashSet::new(),
            calls_read: 0,
            steps: Vec::new(),
            open: None,
            departure: Departure {
                at: 0,
                expected: Vec::new(),
            },
        }
        .run()
    }
}

/// All places of a text in another.
fn all(text: &str, needle: &str) -> Vec<usize> {
    let finder = memmem::Finder::new(needle);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = finder.find(&text.as_bytes()[from..]) {
        found.push(from + at);
        from += at + 1;
    }
    found
}

/// What calls always begin with.
pub(super) fn opener(node: &Node) -> String {
    match node {
        Node::Literal(text) => text.clone(),
        Node::Call(node) | Node::Argument(node) => opener(node),
        Node::Sequence(nodes) => nodes.first().map(opener).unwrap_or_default(),
        Node::Repetition(repetition) => opener(&repetition.item),
        Node::Choice(nodes) => {
            let mut openers = nodes.iter().map(opener);
            let first = openers.next().unwrap_or_default();
            match openers.all(|other| other == first) {
                true => first,
                false => String::new(),
            }
        }
        Node::Object(..) => "{".to_owned(),
        Node::Array(_) => "[".to_owned(),
        _ => String::new(),
    }
}

/// Of passages that say the same, the one is tried first that leads to the most structure.
fn rank(to: Option<ConversationSlot>, follows_calls: bool) -> usize {
    match to {
        None => 0,
        Some(ConversationSlot::ToolList) => 1,
        Some(ConversationSlot::Tool) => 2,
        Some(ConversationSlot::Reasoning) => 3,
        Some(ConversationSlot::Calls) => 4,
        Some(ConversationSlot::Content) => 5,
        Some(ConversationSlot::System) => 6,
        Some(ConversationSlot::Result) if follows_calls => 7,
        Some(ConversationSlot::User) => 8,
        Some(ConversationSlot::Result) => 8,
        Some(ConversationSlot::ToolText) => 9,
    }
}

/// Of the places that say the same as one, that which leads to what a tool answers.
fn result_beside<'t>(
    places: &[PassageMatch<'t>],
    from: usize,
    format: &ConversationFormat,
) -> Option<PassageMatch<'t>> {
    let one = places[from];
    let mut same = places[from..]
        .iter()
        .take_while(|place| (place.at, place.end) == (one.at, one.end));
    let result = Some(ConversationSlot::Result);
    same.find(|place| format.passages[place.passage].to == result)
        .copied()
}

/// The passage at a place, if it stands there.
fn place<'t>(
    text: &'t str,
    passage: &Passage,
    number: usize,
    at: usize,
    opener: &str,
) -> Option<PassageMatch<'t>> {
    let (mut end, mut name, mut id, mut id_before) = (at, None, None, None);
    let mut pieces = passage.pieces.iter().peekable();
    while let Some(piece) = pieces.next() {
        let rest = &text[end..];
        let length = match piece {
            Piece::Text(text) => rest.starts_with(text.as_str()).then_some(text.len())?,
            piece => {
                let allowed = |c: char| match piece {
                    Piece::Index => c.is_ascii_digit(),
                    Piece::Id | Piece::IdBefore => !c.is_whitespace() && !"\"'{}()<>[]".contains(c),
                    _ => c.is_alphanumeric() || "_-./".contains(c),
                };
                let most = rest.find(|c| !allowed(c)).unwrap_or(rest.len());
                let length = match pieces.peek() {
                    // As little as can be.
                    Some(Piece::Text(next)) => rest[..]
                        .char_indices()
                        .map(|(at, _)| at)
                        .chain([rest.len()])
                        .take_while(|at| *at <= most)
                        .find(|at| rest[*at..].starts_with(next.as_str()))?,
                    _ => most,
                };
                let found = (length > 0).then(|| &rest[..length])?;
                match piece {
                    Piece::Name => name = Some(found),
                    Piece::Id => id = Some(found),
                    Piece::IdBefore => id_before = Some(found),
                    _ => {}
                }
                length
            }
        };
        end += length;
    }
    let fits = match passage.to {
        None => end == text.len(),
        Some(_) => text[end..].starts_with(opener),
    };
    fits.then_some(PassageMatch {
        at,
        end,
        passage: number,
        name,
        id,
        id_before,
    })
}

/// One search.
struct Run<'s, 'f, 't> {
    search: &'s Search<'f, 't>,
    is_strict: bool,
    /// The places that have been tried, from each slot.
    tried: HashMap<Option<ConversationSlot>, Vec<bool>>,
    /// Where calls and definitions have been tried.
    tried_calls: HashSet<(ConversationSlot, usize)>,
    calls_read: usize,
    steps: Vec<Step<'t>>,
    /// The way that goes furthest of those that lead to the end of the text, and how far that is.
    open: Option<(usize, Path<'t>)>,
    departure: Departure,
}

impl<'t> Run<'_, '_, 't> {
    fn run(mut self) -> Outcome<'t> {
        self.enter(None, 0, None);
        while let Some(place) = self.next_place() {
            match place {
                Some(place) => {
                    let passage = &self.search.format.passages[place.passage];
                    match passage.to {
                        None => {
                            return Outcome::Whole(self.path(passage.is_prompt));
                        }
                        to => self.enter(to, place.end, Some(place)),
                    }
                }
                None => self.leave(),
            }
        }
        match self.open {
            Some((reached, open)) if open.stops.is_empty() || reached >= self.departure.at => {
                Outcome::Open(open)
            }
            _ => Outcome::Departs(self.departure),
        }
    }

    fn enter(
        &mut self,
        slot: Option<ConversationSlot>,
        start: usize,
        entered: Option<PassageMatch<'t>>,
    ) {
        let places = self.search.places.get(&slot);
        let places = places.map_or(&[][..], Vec::as_slice);
        let length = self.search.text.len();
        let limit = slot.filter(|_| self.is_strict).and_then(|slot| {
            let ends = self.search.ends.get(&slot)?;
            ends.get(ends.partition_point(|end| *end < start)).copied()
        });
        self.steps.push(Step {
            slot,
            start,
            next: places.partition_point(|place| place.at < start),
            limit: limit.unwrap_or(length),
            entered,
            is_passed: false,
            end: start,
            calls: Vec::new(),
        });
    }

    /// The next place to go on from the last slot; nothing within if there is none. `None` at the end of
    /// the search.
    fn next_place(&mut self) -> Option<Option<PassageMatch<'t>>> {
        let step = self.steps.last_mut()?;
        let search = self.search;
        let places = search.places.get(&step.slot);
        let places = places.map_or(&[][..], Vec::as_slice);
        match step.slot {
            Some(slot @ (ConversationSlot::Tool | ConversationSlot::ToolList)) => {
                if step.end == step.start {
                    if !self.tried_calls.insert((slot, step.start)) {
                        return Some(None);
                    }
                    let Some((_, length)) = search
                        .format
                        .definitions
                        .read_start(&search.text[step.start..])
                    else {
                        return Some(None);
                    };
                    step.end = step.start + length;
                    step.next = places.partition_point(|place| place.at < step.end);
                }
                let place = places.get(step.next).filter(|place| place.at == step.end);
                step.next += 1;
                Some(place.copied())
            }
            Some(ConversationSlot::Calls) => {
                let fresh = step.end == step.start;
                if fresh
                    && !self
                        .tried_calls
                        .insert((ConversationSlot::Calls, step.start))
                {
                    return Some(None);
                }
                let Some(calls) = &search.calls else {
                    return Some(None);
                };
                let mut is_nearest = fresh;
                while let Some(place) = places.get(step.next) {
                    step.next += 1;
                    if place.at > step.start && place.at == step.end {
                        return Some(Some(*place));
                    }
                    let text = &search.text[step.start..place.at];
                    self.calls_read += text.len();
                    if self.calls_read > (search.text.len() + 4096) * MAX_CALL_READING {
                        return Some(None);
                    }
                    let mut found = calls
                        .read_at(text, 0, str::is_empty)
                        .map(|found| (found, *place));
                    // What the assistant says may follow its calls at once.
                    if let (true, None, Some(passage)) =
                        (is_nearest, &found, search.content_behind_calls)
                    {
                        let ends = |rest: &str| {
                            let opener = search.opener.as_str();
                            opener.is_empty() || !rest.trim_start().starts_with(opener)
                        };
                        let some = calls.read_at(text, 0, ends);
                        found = some.map(|some| {
                            let end = step.start + some.0;
                            (some, PassageMatch::empty(end, passage))
                        });
                    }
                    is_nearest = false;
                    let is_empty = |found: &((usize, _), _)| found.0.0 == 0;
                    if let Some(((_, mut slots), place)) = found.filter(|found| !is_empty(found)) {
                        for slot in &mut slots {
                            slot.start += step.start;
                        }
                        step.calls = slots;
                        step.end = place.at;
                        return Some(Some(place));
                    }
                }
                Some(None)
            }
            slot => {
                let tried = self
                    .tried
                    .entry(slot)
                    .or_insert_with(|| vec![false; places.len()]);
                let Some(place) = places.get(step.next) else {
                    return Some(None);
                };
                let is_reached = match slot {
                    None => place.at == 0,
                    Some(_) => place.at <= step.limit,
                };
                if !is_reached || tried[step.next] {
                    return Some(None);
                }
                // An answer without any text is one with calls that the template does not write.
                let is_empty = slot == Some(ConversationSlot::Content) && place.at == step.start;
                if is_empty && !step.is_passed {
                    step.is_passed = true;
                    if let Some(result) = result_beside(places, step.next, search.format) {
                        return Some(Some(result));
                    }
                }
                tried[step.next] = true;
                step.next += 1;
                step.end = place.at;
                Some(Some(*place))
            }
        }
    }

    /// Goes back from a slot that leads nowhere, and keeps note of how far it went.
    fn leave(&mut self) {
        let Some(step) = self.steps.last() else {
            return;
        };
        let text = self.search.text;
        let passages = self.search.format.passages.iter();
        let from_here = passages.filter(|passage| passage.from == step.slot && !passage.skips);
        let (at, is_open) = match step.slot {
            None => {
                let first = from_here.clone().map(|passage| passage.first_text());
                let same = first.map(|first| same_start(first, text));
                let at = same.max().unwrap_or(0);
                (at, at == text.len())
            }
            Some(slot) if slot.is_assistant() && step.limit == text.len() => (step.start, true),
            Some(_) => (step.limit, step.limit == text.len()),
        };
        let cuts = from_here
            .clone()
            .filter_map(|passage| begun_at(passage.first_text(), text, step.start..step.limit));
        // What ends a message is in no text.
        let ends_in = |rest: &str| {
            let mut ends = self.search.format.ends.iter();
            ends.any(|(slot, end)| Some(*slot) == step.slot && rest.contains(end))
        };
        let cut = cuts.min();
        // Calls that are complete are read, though the text ends amid what stands behind them, or before it.
        let calls = match step.slot {
            Some(ConversationSlot::Calls) => self.search.calls_up_to(step.start, cut),
            _ => None,
        };
        let cut = match &calls {
            Some((end, _)) => Some(*end),
            None => cut.filter(|cut| step.slot.is_some() && (!is_open || ends_in(&text[*cut..]))),
        };
        if is_open || cut.is_some() {
            let reached = cut.unwrap_or(step.start);
            let known = self.open.as_ref().map(|(known, _)| *known);
            if known.is_none_or(|known| known < reached) {
                let mut path = self.path(false);
                path.is_cut = cut.is_some();
                if let Some(stop) = path.stops.last_mut() {
                    stop.range.end = cut.unwrap_or(text.len());
                    stop.calls = calls.map(|(_, calls)| calls).unwrap_or_default();
                }
                self.open = Some((reached, path));
            }
        } else if at >= self.departure.at {
            let expected: BTreeSet<String> = from_here
                .filter(|passage| {
                    step.slot.is_some() || at == 0 || passage.first_text().starts_with(&text[..at])
                })
                .map(|passage| passage.to_string())
                .collect();
            self.departure = Departure {
                at,
                expected: expected.into_iter().collect(),
            };
        }
        self.steps.pop();
    }

    /// The slots on the way so far.
    fn path(&self, is_prompt: bool) -> Path<'t> {
        let next = self.steps.iter().skip(1).map(|step| step.entered);
        let steps = self.steps.iter().zip(next.chain([None]));
        let stops = steps.filter_map(|(step, next)| {
            let entered = step.entered?;
            Some(Stop {
                slot: step.slot?,
                range: step.start..step.end,
                is_within: self.search.format.passages[entered.passage].is_within,
                name: entered.name,
                id: entered.id,
                id_behind: next.and_then(|next| next.id_before),
                calls: step.calls.clone(),
            })
        });
        Path {
            stops: stops.collect(),
            is_prompt,
            is_cut: false,
        }
    }
}

/// Where a text ends with the beginning of a marker, if that is within a range or at its end.
fn begun_at(marker: &str, text: &str, within: Range<usize>) -> Option<usize> {
    // A marker is short, and the end of a text far away from most places.
    if text.len() - within.end > marker.len() {
        return None;
    }
    let ends = marker.char_indices().map(|(at, c)| at + c.len_utf8());
    let begun = ends.rev().find(|end| text.ends_with(&marker[..*end]))?;
    let at = text.len() - begun;
    (within.contains(&at) || at == within.end).then_some(at)
}
