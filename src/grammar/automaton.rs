//! Texts in which others do not stand, as automata, since most languages of grammars can't say it otherwise.
//!
//! A state knows how much of one of the texts has come, and how much of an item. With items of one character and
//! without the text `</`, there are two states:
//!
//! ```text
//! 0: [^<] to 0, [<] to 1
//! 1: [^</] to 0, [<] to 1
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::expr::{CharClass, Chars, Expr};

/// What may come next in a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    /// By which characters it goes to which state, in the order of the states.
    pub(super) ways: Vec<(CharClass, usize)>,
    /// Whether the text may end here: not amid an item.
    pub(super) may_end: bool,
}

/// So many states may lie amid items: repeats within repeats have no end of them.
const MAX_AMID: usize = 1000;

/// The states of the texts that consist of items and in which none of these stands; the first is where they begin.
/// `None` if an item may be nothing, is very long, or is not made of characters alone.
pub(super) fn without(item: &Expr, texts: &[String]) -> Option<Vec<State>> {
    let mut begun: Vec<&str> = vec![""];
    for text in texts {
        begun.extend(text.char_indices().map(|(at, _)| &text[..at]));
    }
    begun.sort_unstable();
    begun.dedup();
    let maker = Maker {
        alphabet: texts.iter().flat_map(|text| text.chars()).collect(),
        texts,
        begun: &begun,
    };
    let mut places = Places {
        between: begun.len(),
        // Between items first, so that these states have the numbers of what has begun.
        all: (0..begun.len()).map(|at| (Expr::Empty, at)).collect(),
    };
    let mut states = Vec::new();
    while let Some((left, at)) = places.all.get(states.len()).cloned() {
        let may_end = left == Expr::Empty;
        let mut ways: BTreeMap<usize, CharClass> = BTreeMap::new();
        for (class, left) in heads(if may_end { item } else { &left })? {
            for (class, begun) in maker.targets(&class, at) {
                let way = ways.entry(places.number(&left, begun)?);
                let way = way.or_insert_with(|| CharClass::of([]));
                *way = way.or(&class);
            }
        }
        let ways = ways.into_iter().map(|(target, class)| (class, target));
        states.push(State {
            ways: ways.collect(),
            may_end,
        });
    }
    Some(states)
}

/// What is left of an item, and which of the beginnings has come, for each state.
struct Places {
    all: Vec<(Expr, usize)>,
    /// So many of them, the first, lie between items.
    between: usize,
}

impl Places {
    /// The number of a state, which may be a new one; `None` if there are too many.
    fn number(&mut self, left: &Expr, begun: usize) -> Option<usize> {
        if *left == Expr::Empty {
            return Some(begun);
        }
        let amid = &self.all[self.between..];
        let known = amid
            .iter()
            .position(|(expr, at)| expr == left && *at == begun);
        if known.is_none() {
            (amid.len() < MAX_AMID).then_some(())?;
            self.all.push((left.clone(), begun));
        }
        Some(known.map_or(self.all.len() - 1, |at| self.between + at))
    }
}

struct Maker<'t> {
    texts: &'t [String],
    /// The characters of all texts.
    alphabet: BTreeSet<char>,
    /// All that may have come of one of the texts, in order.
    begun: &'t [&'t str],
}

impl Maker<'_> {
    /// What has begun when one of these characters has come, which ends none of the texts.
    fn targets(&self, class: &CharClass, at: usize) -> Vec<(CharClass, usize)> {
        let free = class.without(&CharClass::of(self.alphabet.iter().copied()));
        let mut targets: BTreeMap<usize, Vec<char>> = BTreeMap::new();
        for c in self.alphabet.iter().filter(|c| class.contains(**c)) {
            let text = format!("{}{c}", self.begun[at]);
            if self
                .texts
                .iter()
                .any(|whole| text.ends_with(whole.as_str()))
            {
                continue;
            }
            let mut suffixes = text.char_indices().map(|(at, _)| &text[at..]);
            let target = suffixes.find_map(|suffix| self.begun.binary_search(&suffix).ok());
            targets.entry(target.unwrap_or(0)).or_default().push(*c);
        }
        let targets = targets.into_iter();
        let known = targets.map(|(target, chars)| (CharClass::of(chars), target));
        let free = Some((free, 0)).filter(|(free, _)| !free.is_empty());
        known.chain(free).collect()
    }
}

/// The first characters of a node, each with what is left of it behind them.
fn heads(expr: &Expr) -> Option<Vec<(CharClass, Expr)>> {
    match expr {
        Expr::Literal(text) => {
            let mut chars = text.chars();
            let first = chars.next()?;
            Some(vec![(CharClass::of([first]), chars.as_str().into())])
        }
        Expr::Chars(Chars {
            class,
            at_least,
            at_most,
        }) => {
            let one_less = at_least.checked_sub(1)?;
            let left = super::builder::class(class.clone());
            Some(vec![(
                class.clone(),
                left.repeat(one_less, at_most.map(|most| most - 1)),
            )])
        }
        Expr::Repeat(repeat) => {
            let one_less = repeat.at_least.checked_sub(1)?;
            let most = repeat.at_most.map(|most| most - 1);
            let more = repeat.item.clone().repeat(one_less, most);
            Some(followed_by(heads(&repeat.item)?, &more))
        }
        Expr::Sequence(parts) => {
            let (first, others) = parts.split_first()?;
            let others = Expr::sequence(others.iter().cloned());
            Some(followed_by(heads(first)?, &others))
        }
        Expr::Choice(all) => {
            let all: Option<Vec<_>> = all.iter().map(heads).collect();
            Some(all?.concat())
        }
        Expr::Atomic(inner) | Expr::Tag(_, inner) => heads(inner),
        _ => None,
    }
}

fn followed_by(heads: Vec<(CharClass, Expr)>, more: &Expr) -> Vec<(CharClass, Expr)> {
    let heads = heads.into_iter();
    heads
        .map(|(class, left)| (class, Expr::sequence([left, more.clone()])))
        .collect()
}
