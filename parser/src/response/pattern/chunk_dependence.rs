//! Whether what a pattern finds depends on how a text is cut into chunks.
//!
//! A chunk's end makes a pattern commit itself where the rest of the text might have changed its
//! mind: `a(?:bc)?` takes `a` out of `ab` although a `c` may follow, and `x|$` takes every end for
//! the end. Such a pattern has a state that reports something else than its best thread; all its
//! states are visited here to look for one.

use foldhash::HashSet;

use super::automaton::{AtEnd, Cache, FRESH, Key, MatchEnd, Source, StateId, Transition};
use super::program::{Before, Program};
#[cfg(feature = "internals")]
use super::syntax::{Node, Syntax};
use super::window::BEYOND;

/// So many visits are made, or wait, at the most.
const MAX_VISITS: usize = 10_000;

/// What is known of the places of a thread: of two threads in one state, those with equal numbers began
/// at the same position, or have noted the same position for the end of the match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Places {
    start: u16,
    end: u16,
}

/// As a number: the current position.
const HERE: u16 = FRESH;
/// As a number: no position yet.
const NOWHERE: u16 = FRESH - 1;

/// A state, and the places of its threads.
type Visit = (StateId, Vec<Places>);

/// The visits that have been made, or are going to be.
#[derive(Default)]
struct Visits {
    known: HashSet<Visit>,
    waiting: Vec<Visit>,
}

impl Visits {
    fn add(&mut self, state: StateId, places: Vec<Places>) {
        let visit = (state, places);
        if !self.known.contains(&visit) {
            self.known.insert(visit.clone());
            self.waiting.push(visit);
        }
    }
}

/// Whether what the pattern finds depends on chunks; `None` if it has too many states to say. A match that more text would change
/// may wait for it.
pub(super) fn is_chunk_dependent(program: &Program, waits: bool) -> Option<bool> {
    let mut cache = Cache::default();
    let mut visits = Visits::default();
    for previous in [None, Some('a'), Some(' '), Some('\n')] {
        let before = match program.looks.at_characters() {
            true => program.before(previous),
            false => Before::default(),
        };
        let idle = cache.intern(program, Key::idle(before));
        visits.add(idle, Vec::new());
        if !program.parts.is_empty() {
            // A search may begin behind any text.
            let quiet = cache.intern(program, Key::quiet(before));
            visits.add(quiet, Vec::new());
        }
    }
    while let Some((state, places)) = visits.waiting.pop() {
        let is_reported = !waits || !leans_on_end(&mut cache, program, state, &places);
        let forgets = match is_reported {
            true => forgets_the_best(&mut cache, program, state, &places),
            false => forgets_an_earlier(&mut cache, program, state, &places),
        };
        if forgets {
            return Some(true);
        }
        if cache.key(state).quiet {
            let woken = cache.key(state).woken();
            let woken = cache.intern(program, woken);
            visits.add(woken, Vec::new());
        }
        for transition in cache.distinct_transitions(program, state)? {
            if is_reported && takes_back(&mut cache, program, state, transition, &places) {
                return Some(true);
            }
            let next = cache.target(transition);
            let rows = 0..cache.key(next).rows();
            let origins = rows.map(|row| cache.origin(transition, row));
            visits.add(next, renumbered(program, origins, &places));
        }
        if visits.known.len() >= MAX_VISITS {
            return None;
        }
    }
    Some(false)
}

/// Whether this holds for an alternative of a pattern by itself, where the whole is too hard to judge.
#[cfg(feature = "internals")]
pub(super) fn has_chunk_dependent_branch(syntax: &Syntax, waits: bool) -> bool {
    let of = |node: &Node| Syntax {
        node: node.clone(),
        dialect: syntax.dialect,
        groups: syntax.groups.clone(),
        ascii: syntax.ascii,
        constructs: Vec::new(),
        items: 0,
    };
    match &syntax.node {
        Node::Alternation(nodes) => nodes
            .iter()
            .any(|node| has_chunk_dependent_branch(&of(node), waits)),
        Node::Group { node, .. } => has_chunk_dependent_branch(&of(node), waits),
        _ => {
            let program = Program::new(syntax);
            let program = program.ok().filter(|program| !program.needs_backtracking);
            program.is_some_and(|program| is_chunk_dependent(&program, waits) == Some(true))
        }
    }
}

/// The places of a thread, given where its registers come from.
fn places_of(program: &Program, source: Source, places: &[Places]) -> Places {
    let fresh = Places {
        start: HERE,
        end: NOWHERE,
    };
    let known = places.get(source.row as usize).copied().unwrap_or(fresh);
    match program.end_slot {
        Some(slot) if source.sets >> slot & 1 == 1 => Places { end: HERE, ..known },
        _ => known,
    }
}

/// The places of the threads of the next state, numbered in the order of their rows.
fn renumbered(
    program: &Program,
    origins: impl Iterator<Item = Source>,
    places: &[Places],
) -> Vec<Places> {
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    let number = |seen: &mut Vec<u16>, place: u16| {
        let number = seen.iter().position(|&known| known == place);
        number.unwrap_or_else(|| {
            seen.push(place);
            seen.len() - 1
        }) as u16
    };
    let places = origins.map(|source| places_of(program, source, places));
    places
        .map(|Places { start, end }| Places {
            start: number(&mut starts, start),
            end: match end {
                NOWHERE => NOWHERE,
                end => number(&mut ends, end),
            },
        })
        .collect()
}

/// Whether a match that ends before the end of a chunk is seen to be another one or none with another character behind it: as the
/// parser looks it up, and no more often.
fn leans_on_end(cache: &mut Cache, program: &Program, state: StateId, places: &[Places]) -> bool {
    let Some((source, end)) = cache.at_end(program, state).found else {
        return false;
    };
    let found = places_of(program, source, places);
    let ends_before = match end {
        MatchEnd::Here => false,
        MatchEnd::BeforeNewline => true,
        MatchEnd::Noted => found.end != HERE,
    };
    let key = cache.key(state).clone();
    // What was found on the way there stays, and is not known here.
    if !ends_before || key.found {
        return false;
    }
    let starts_there = |row: &usize| places.get(*row).is_some_and(|own| own.start == found.start);
    let rows: Vec<usize> = (0..key.threads.len()).filter(starts_there).collect();
    let own: Vec<Places> = rows.iter().map(|row| places[*row]).collect();
    let key = key.with_threads(rows.iter().copied());
    let class = program.alphabet.class_of(BEYOND);
    let (before, sources, behind) = cache.found_beyond(program, &key, class);
    let moved = sources.iter();
    let moved: Vec<Places> = moved
        .map(|source| places_of(program, *source, &own))
        .collect();
    let other = behind
        .map(|source| places_of(program, source, &moved))
        .or_else(|| before.map(|source| places_of(program, source, &own)));
    other != Some(found)
}

/// Whether a match that ends before the end of a chunk, and is reported there, is none if the text goes on like this: that of
/// `a(?!bc)` in `ab`, behind which a `c` comes.
fn takes_back(
    cache: &mut Cache,
    program: &Program,
    state: StateId,
    transition: Transition,
    places: &[Places],
) -> bool {
    if !program.looks.at_end {
        return false;
    }
    let Some((source, MatchEnd::Noted)) = cache.at_end(program, state).found else {
        return false;
    };
    let at_end = places_of(program, source, places);
    let goes_on = cache.found(transition);
    let goes_on = goes_on.map(|source| places_of(program, source, places));
    at_end.end != HERE && goes_on != Some(at_end)
}

/// Whether a match that waits for more text passes over a thread that began before it: from its own start on, the text is kept, and no
/// more of it. In `aab`, `(?:[ab][ab][^a]|[ab])(?=b\Z)` waits with its second `a`, and a `b` behind it would make `aab` the match.
fn forgets_an_earlier(
    cache: &mut Cache,
    program: &Program,
    state: StateId,
    places: &[Places],
) -> bool {
    let AtEnd { found, best, .. } = cache.at_end(program, state);
    let start = |source: Source| places_of(program, source, places).start;
    let found = found.map(|(source, _)| start(source));
    best.is_some_and(|best| found.is_some_and(|found| found != start(best)))
}

/// Whether what is reported at the end of a chunk in this state passes over a better thread.
fn forgets_the_best(
    cache: &mut Cache,
    program: &Program,
    state: StateId,
    places: &[Places],
) -> bool {
    let AtEnd {
        found,
        best,
        is_best,
        ..
    } = cache.at_end(program, state);
    let key = cache.key(state);
    let (threads, first_row) = key.at_end();
    let of = |source: Source| places_of(program, source, places);
    let best = best.map(of);
    let best_start = best.map(|best| best.start);
    // The earliest thread has to decide, unless it ends here whatever follows.
    let first = of(Source::row(first_row as u16)).start;
    if program.looks.at_end && !threads.is_empty() && best_start != Some(first) {
        return true;
    }
    match found {
        // It ends there only if no more text follows the newline.
        Some((_, MatchEnd::BeforeNewline)) => true,
        Some((source, MatchEnd::Here)) => Some(of(source).start) != best_start,
        // That of `a\s*(?=b|\Z)` ends where the chunk does, too, and waits for more.
        Some((source, MatchEnd::Noted)) if of(source).end == HERE => {
            Some(of(source).start) != best_start
        }
        // It is taken at once, wherever a better one would end, and whatever that would capture ahead.
        Some((source, MatchEnd::Noted)) => {
            !is_best && (Some(of(source)) != best || program.captures_ahead)
        }
        // A match was found before, and would be taken while a better one may be growing.
        None => key.found && best.is_some(),
    }
}
