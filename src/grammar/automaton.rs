//! Texts in which others do not stand, as automata, since most languages of grammars can't say it otherwise.
//!
//! A state knows how much of one of the texts has come, and how much of an item. With items of one character and
//! without the text `</`, there are two states:
//!
//! ```text
//! 0: [^<] to 0, [<] to 1
//! 1: [^</] to 0, [<] to 1
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};

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
    let items = items(item)?;
    let search = Search::of(texts);
    // Between items first, so that these states have the numbers of what has begun.
    let between = search.steps.len();
    let mut places: Vec<(usize, usize)> = (0..between).map(|begun| (0, begun)).collect();
    let mut numbers: HashMap<(usize, usize), usize> =
        places.iter().copied().zip(0..between).collect();
    let mut states = Vec::new();
    while let Some(&(amid, begun)) = places.get(states.len()) {
        let mut ways: BTreeMap<usize, CharClass> = BTreeMap::new();
        for (class, amid) in &items[amid] {
            for (class, begun) in search.step(class, begun) {
                let place = (*amid, begun);
                let number = *numbers.entry(place).or_insert_with(|| {
                    places.push(place);
                    places.len() - 1
                });
                let way = ways.entry(number).or_insert_with(|| CharClass::of([]));
                *way = way.or(&class);
            }
        }
        (places.len() - between <= MAX_AMID).then_some(())?;
        let ways = ways.into_iter().map(|(target, class)| (class, target));
        states.push(State {
            ways: ways.collect(),
            may_end: amid == 0,
        });
    }
    Some(states)
}

/// By which characters each place amid an item goes to which other; the first place is between items.
fn items(item: &Expr) -> Option<Vec<Vec<(CharClass, usize)>>> {
    let mut left = vec![item.clone()];
    let mut places = Vec::new();
    while let Some(expr) = left.get(places.len()) {
        let mut ways = Vec::new();
        for (class, behind) in heads(expr)? {
            // The first place is not amid the item, even if all of it is left there, too.
            let known = left.iter().skip(1).position(|expr| *expr == behind);
            let number = match known {
                _ if behind == Expr::Empty => 0,
                Some(at) => at + 1,
                None => {
                    (left.len() <= MAX_AMID).then_some(())?;
                    left.push(behind);
                    left.len() - 1
                }
            };
            ways.push((class, number));
        }
        places.push(ways);
    }
    Some(places)
}

/// How far texts have come that may not stand in another one.
struct Search {
    /// The characters of all texts.
    alphabet: Vec<char>,
    /// Where each of these leads, for each beginning of a text that may have come; the first has nothing in it.
    /// `None` where a text is whole.
    steps: Vec<Vec<Option<usize>>>,
}

impl Search {
    fn of(texts: &[String]) -> Search {
        let mut begun = vec![""];
        for text in texts {
            begun.extend(text.char_indices().map(|(at, _)| &text[..at]));
        }
        begun.sort_unstable();
        begun.dedup();
        let whole: BTreeSet<&str> = texts.iter().map(String::as_str).collect();
        let alphabet: BTreeSet<char> = texts.iter().flat_map(|text| text.chars()).collect();
        let mut steps: Vec<Vec<Option<usize>>> = vec![Vec::new(); begun.len()];
        let mut by_length: Vec<usize> = (0..begun.len()).collect();
        by_length.sort_by_key(|at| begun[*at].len());
        for at in by_length {
            let before = begun[at];
            // What the text stands for if it goes on otherwise: the longest of its ends that begins a text.
            let mut ends = before.char_indices().skip(1).map(|(at, _)| &before[at..]);
            let end = ends.find_map(|end| begun.binary_search(&end).ok());
            let otherwise = |index: usize| match before.is_empty() {
                true => Some(0),
                false => steps[end.unwrap_or(0)][index],
            };
            let step = |(index, c): (usize, &char)| {
                let text = format!("{before}{c}");
                let otherwise = otherwise(index).filter(|_| !whole.contains(text.as_str()))?;
                Some(begun.binary_search(&text.as_str()).unwrap_or(otherwise))
            };
            steps[at] = alphabet.iter().enumerate().map(step).collect();
        }
        Search {
            alphabet: alphabet.into_iter().collect(),
            steps,
        }
    }

    /// What has begun when one of these characters has come, which ends none of the texts.
    fn step(&self, class: &CharClass, begun: usize) -> Vec<(CharClass, usize)> {
        let free = class.without(&CharClass::of(self.alphabet.iter().copied()));
        let mut targets: BTreeMap<usize, Vec<char>> = BTreeMap::new();
        for (c, target) in self.alphabet.iter().zip(&self.steps[begun]) {
            if let (Some(target), true) = (target, class.contains(*c)) {
                targets.entry(*target).or_default().push(*c);
            }
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
