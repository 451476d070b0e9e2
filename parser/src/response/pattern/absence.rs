//! What a negative look ahead asks for, as an automaton of its own: that a row of characters does not come.
//!
//! Of `(?!.*?ab)` it has two states: nothing of `ab` has come, or the `a`. Where the `b` comes then, the look does not hold.
//! It holds where the text ends in any state, and where what has been read shows that the row can't come any more: behind
//! a line feed, where `.` takes none.
//!
//! A matcher that tries the longest first, as `(?!.*ab)` asks for, goes on to where `.*` ends before it looks for `ab` there. While
//! it does, it waits for text, though the look can't hold any more. There is a state for that, too.

use std::collections::BTreeSet;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::syntax::{Greed, Node};

/// Longer rows, and those with more states, or that distinguish more sets of characters, are left to the
/// backtracker.
const MAX_CHARACTERS: usize = 64;
const MAX_STATES: usize = 128;
const MAX_SETS: usize = 256;

/// Where characters lead from a state.
#[derive(Debug)]
pub(super) struct State {
    /// Whether the look holds where the text ends.
    pub(super) holds: bool,
    /// The characters that lead to each of these states.
    pub(super) goes_on: Vec<(ClassUnicode, usize)>,
    /// The characters behind which the row can't come any more.
    pub(super) settled_by: Option<ClassUnicode>,
}

/// The states of the automaton that sees that what a node matches does not come; the first is where it begins. `None` if it is
/// more than a row of characters, with any number of certain others before it.
pub(super) fn states(node: &Node) -> Option<Vec<State>> {
    let row = CharSequence::of(node)?;
    let alphabet = row.alphabet()?;
    let end = row.characters.len();
    let mut known = vec![BTreeSet::from([0])];
    let mut states = Vec::new();
    while let Some(places) = known.get(states.len()).cloned() {
        let has_come = places.contains(&end);
        let mut state = State {
            holds: !has_come,
            goes_on: Vec::new(),
            settled_by: None,
        };
        for letters in &alphabet {
            let mut next = row.step(&places, letters);
            if has_come || next.contains(&end) {
                // All that is left to do is to wait.
                next.retain(|at| *at == 0 && row.is_greedy);
                if next.is_empty() {
                    continue;
                }
                next.insert(end);
            }
            if next.is_empty() {
                let class = state.settled_by.get_or_insert_with(ClassUnicode::empty);
                class.union(&letters.set);
                continue;
            }
            let at = known.iter().position(|places| *places == next);
            let at = at.unwrap_or_else(|| {
                known.push(next);
                known.len() - 1
            });
            match state.goes_on.iter_mut().find(|(_, state)| *state == at) {
                Some((class, _)) => class.union(&letters.set),
                None => state.goes_on.push((letters.set.clone(), at)),
            }
        }
        states.push(state);
        if known.len() > MAX_STATES {
            return None;
        }
    }
    Some(states)
}

/// A row of characters, with any number of certain others before it.
struct CharSequence {
    before: Option<ClassUnicode>,
    /// Whether as many of those as there are come first.
    is_greedy: bool,
    characters: Vec<ClassUnicode>,
}

/// Characters that a row does not distinguish.
#[derive(Clone)]
struct Letters {
    set: ClassUnicode,
    /// Whether they may stand before the row.
    come_before: bool,
    /// Whether they are those of each place of the row.
    are_at: Vec<bool>,
}

impl Letters {
    fn within(mut self, class: &ClassUnicode) -> Letters {
        self.set.intersect(class);
        self
    }

    fn without(mut self, class: &ClassUnicode) -> Letters {
        self.set.difference(class);
        self
    }
}

impl CharSequence {
    fn of(node: &Node) -> Option<CharSequence> {
        let nodes = match node {
            Node::Concat(nodes) => nodes.as_slice(),
            node => std::slice::from_ref(node),
        };
        let (before, is_greedy, nodes) = match nodes {
            [
                Node::Repeat {
                    node,
                    min: 0,
                    max: None,
                    greed: greed @ (Greed::Greedy | Greed::Lazy),
                },
                nodes @ ..,
            ] => match &**node {
                Node::Class(class) => (Some(class.clone()), *greed == Greed::Greedy, nodes),
                _ => return None,
            },
            nodes => (None, false, nodes),
        };
        let characters = nodes.iter().map(|node| match node {
            Node::Class(class) => Some(class.clone()),
            _ => None,
        });
        let characters = characters.collect::<Option<Vec<_>>>()?;
        let is_row = (1..=MAX_CHARACTERS).contains(&characters.len());
        is_row.then_some(CharSequence {
            before,
            is_greedy,
            characters,
        })
    }

    /// All characters, in sets that it does not distinguish; `None` if these are too many.
    fn alphabet(&self) -> Option<Vec<Letters>> {
        let all = Letters {
            set: ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)]),
            come_before: false,
            are_at: Vec::new(),
        };
        let mut alphabet = vec![all];
        if let Some(before) = &self.before {
            alphabet = divided(&alphabet, before, |letters, come_before| {
                letters.come_before = come_before;
            });
        }
        for class in &self.characters {
            alphabet = divided(&alphabet, class, |letters, are_here| {
                letters.are_at.push(are_here);
            });
            if alphabet.len() > MAX_SETS {
                return None;
            }
        }
        Some(alphabet)
    }

    /// How much of the row may have come behind one of these characters.
    fn step(&self, places: &BTreeSet<usize>, letters: &Letters) -> BTreeSet<usize> {
        let mut next = BTreeSet::new();
        for &at in places {
            if at == 0 && letters.come_before {
                next.insert(0);
            }
            if letters.are_at.get(at) == Some(&true) {
                next.insert(at + 1);
            }
        }
        next
    }
}

/// Sets of characters, divided into those within a class and those without, of which it is noted which they are.
fn divided(
    alphabet: &[Letters],
    class: &ClassUnicode,
    note: impl Fn(&mut Letters, bool),
) -> Vec<Letters> {
    let halves = alphabet.iter().flat_map(|letters| {
        let (within, without) = (
            letters.clone().within(class),
            letters.clone().without(class),
        );
        [(within, true), (without, false)]
    });
    let noted = halves.map(|(mut letters, is_within)| {
        note(&mut letters, is_within);
        letters
    });
    noted
        .filter(|letters| !letters.set.ranges().is_empty())
        .collect()
}
