//! Texts in which others do not stand, as automata, since most languages of grammars can't say it otherwise.
//!
//! A state knows how much of one of the texts has come, and how much of an item. With items of one character and
//! without the text `</`, there are two states:
//!
//! ```text
//! 0: [^<] to 0, [<] to 1
//! 1: [^</] to 0, [<] to 1
//! ```

use std::collections::{BTreeMap, HashMap};

use indexmap::IndexMap;

use super::builder::class;
use super::expr::{CharClass, Chars, Expr};
use super::{pattern, remainder};

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

/// So many places may the texts have that do not stand in another one, and so many states their search; both times the
/// letters of their alphabet.
const MAX_SEARCH: usize = 4_000;
const MAX_STEPS: usize = 200_000;

/// So far is looked into what stands behind a text.
const MAX_BEHIND: usize = 100;

/// A text as parts of a grammar describe it that stand one after the other.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Text {
    /// What it consists of.
    pub(super) item: Expr,
    /// What does not stand in it, nor begin in it and end behind it.
    pub(super) others: Vec<Expr>,
    /// What does not stand where it begins.
    pub(super) not_first: Vec<Expr>,
    /// What stands right behind it, as far as that is always the same.
    pub(super) behind: String,
}

impl Text {
    /// The text that a row of parts begins with, and how many of them it is.
    pub(super) fn first_of(parts: &[Expr]) -> Option<(Text, usize)> {
        let not_first = match as_written(parts.first()?) {
            Expr::Negate(not_first) => ways(not_first).to_vec(),
            _ => Vec::new(),
        };
        let at = usize::from(!not_first.is_empty());
        let any = class(CharClass::any());
        let (item, others) = match as_written(parts.get(at)?) {
            Expr::Without(one) => (one.item.clone(), one.others.clone()),
            Expr::Until(ends) => {
                // An empty text stands in every text.
                let ends = ends.iter().filter(|end| !end.is_empty());
                (any, ends.map(Expr::literal).collect())
            }
            // All the rest takes an automaton only if it may not begin with something.
            Expr::Rest if !not_first.is_empty() => (any, Vec::new()),
            _ => return None,
        };
        let behind = match parts.get(at + 1) {
            Some(Expr::Literal(text)) => text.chars().take(MAX_BEHIND).collect(),
            _ => String::new(),
        };
        let mut text = Text {
            item,
            others,
            not_first,
            behind,
        };
        // Most texts end alike, whatever stands behind them.
        let goes_on = |other: &Expr| may_go_on(other, &text.behind);
        // Where nothing is the text, what it does not begin with is what stands behind it.
        let begins = |other: &Expr| match other {
            Expr::Literal(other) => text.behind.starts_with(other.as_str()),
            _ => false,
        };
        let begun = |other: &Expr| goes_on(other) || begins(other);
        if !text.others.iter().any(goes_on) && !text.not_first.iter().any(begun) {
            text.behind.clear();
        }
        Some((text, at + 1))
    }

    /// Those of the others that may begin in the text and end in what stands behind it.
    pub(super) fn that_go_on(&self) -> Vec<Expr> {
        let goes_on = |other: &&Expr| {
            let search = Search::of(std::slice::from_ref(other), &[]);
            search.is_none_or(|search| {
                let mut states = 0..search.states.len();
                states.any(|state| search.goes_on(state, &self.behind))
            })
        };
        let could = |other: &&Expr| may_go_on(other, &self.behind);
        let others = self.others.iter().filter(could);
        others.filter(goes_on).cloned().collect()
    }

    /// The states of the text; the first is where it begins. `None` if an item may be nothing, is very long, or is not
    /// made of characters alone, and if one of the others is so.
    pub(super) fn states(&self) -> Option<Vec<State>> {
        let items = Places::of([&self.item], MAX_AMID)?;
        let search = Search::of(&self.others, &self.not_first)?;
        // Between items first, so that these states have the numbers of what has begun.
        let between = search.steps.len();
        let mut places: Vec<(Option<usize>, usize)> =
            (0..between).map(|begun| (None, begun)).collect();
        let mut numbers: HashMap<(Option<usize>, usize), usize> =
            places.iter().copied().zip(0..between).collect();
        let mut states = Vec::new();
        while let Some(&(amid, begun)) = places.get(states.len()) {
            let mut ways: BTreeMap<usize, CharClass> = BTreeMap::new();
            for (class, amid) in &items.ways[amid.unwrap_or(0)] {
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
                // In `[[a]]]` the text would end with `]`, and `]]` is found one sign before its place.
                may_end: amid.is_none() && !search.goes_on(begun, &self.behind),
            });
        }
        Some(states)
    }
}

/// A node without what tells only how a text is taken apart.
fn as_written(expr: &Expr) -> &Expr {
    match expr.bare() {
        Expr::Schema(node) if !node.is_json() => as_written(&node.expr),
        other => other,
    }
}

/// The ways of a node.
fn ways(expr: &Expr) -> &[Expr] {
    match expr {
        Expr::Choice(all) => all,
        one => std::slice::from_ref(one),
    }
}

/// Whether what has begun in a text may be whole in what stands behind that, as far as this is quick to see.
fn may_go_on(other: &Expr, behind: &str) -> bool {
    let Expr::Literal(text) = other else {
        return !behind.is_empty();
    };
    let ends = text.char_indices().skip(1).map(|(at, _)| &text[at..]);
    { ends }.any(|end| behind.starts_with(end))
}

/// The characters with which one of the others may begin; all if it can't be said.
pub(super) fn first_characters(others: &[Expr]) -> CharClass {
    let mut all = CharClass::of([]);
    for other in others {
        let Some(heads) = heads(other) else {
            return CharClass::any();
        };
        for (class, _) in heads {
            all = all.or(&class);
        }
    }
    all
}

/// Whether one of the others stands in a text; `None` if it can't be said.
pub(super) fn stands_in(text: &str, others: &[Expr]) -> Option<bool> {
    let is_literal =
        |other: &Expr| matches!(other, Expr::Literal(literal) if text.contains(literal.as_str()));
    if others.iter().any(is_literal) {
        return Some(true);
    }
    // Most texts have not even the signs of a pattern in them.
    let node = Expr::literal(text);
    let could_stand =
        |other: &&Expr| !matches!(other, Expr::Literal(_)) && pattern::may_hold(&node, other);
    let patterns = others.iter().filter(could_stand);
    let search = Search::of(&patterns.cloned().collect::<Vec<_>>(), &[])?;
    let mut begun = 0;
    let mut ends = text.chars().map(|c| {
        let next = search.step(&CharClass::of([c]), begun);
        match next.first() {
            Some((_, next)) => begun = *next,
            None => return true,
        }
        false
    });
    Some(ends.any(|is_end| is_end))
}

/// The places in texts, and by which characters each of them goes to which other.
struct Places {
    /// The first are where the texts begin, in their order. A way without a place ends a text.
    ways: Vec<Vec<(CharClass, Option<usize>)>>,
}

impl Places {
    /// `None` if a text may be nothing, is not made of characters alone, or if there are more places than that.
    fn of<'e>(texts: impl IntoIterator<Item = &'e Expr>, most: usize) -> Option<Places> {
        let mut left: Vec<Expr> = texts.into_iter().cloned().collect();
        let begin = left.len();
        let mut numbers: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut ways: Vec<Vec<(CharClass, Option<usize>)>> = Vec::new();
        if left.iter().any(may_be_nothing) {
            return None;
        }
        while let Some(expr) = left.get(ways.len()) {
            let mut from_here = Vec::new();
            for (class, behind) in heads(expr)? {
                if may_be_nothing(&behind) {
                    from_here.push((class.clone(), None));
                }
                if behind == Expr::Empty {
                    continue;
                }
                let known = numbers.entry(behind.look(usize::MAX)).or_default();
                let number = match known.iter().find(|at| left[**at] == behind) {
                    Some(at) => *at,
                    None => {
                        (left.len() - begin < most).then_some(())?;
                        known.push(left.len());
                        left.push(behind);
                        left.len() - 1
                    }
                };
                from_here.push((class, Some(number)));
            }
            ways.push(from_here);
        }
        Some(Places { ways })
    }
}

/// How far others have come that may not stand in a text.
struct Search {
    /// Classes that have no character in common, with all characters of the others.
    alphabet: Vec<CharClass>,
    /// Where each of these leads from each place, and `None` where one of the others is whole.
    letters: Vec<Vec<Vec<Option<usize>>>>,
    /// The places where those are that have begun before. The first is where a text begins.
    states: Vec<Vec<usize>>,
    /// To which state each letter of the alphabet leads from each. `None` where one of the others is whole.
    steps: Vec<Vec<Option<usize>>>,
    /// The state in which nothing has begun.
    nothing: usize,
}

impl Search {
    /// Of others that do not stand in a text, and of those that do not stand where it begins.
    fn of(others: &[Expr], not_first: &[Expr]) -> Option<Search> {
        let places = Places::of(others.iter().chain(not_first), MAX_SEARCH)?;
        let classes = places.ways.iter().flatten().map(|(class, _)| class);
        let most_letters = MAX_STEPS / places.ways.len().max(1);
        let alphabet = disjoint(classes, most_letters)?;
        let led_by = |letter: &CharClass| {
            // A letter lies within a class or outside of it, so one of its characters speaks for all.
            let first = letter.iter().next().map(|(first, _)| first);
            let fits = |class: &CharClass| first.is_some_and(|first| class.contains(first));
            let ways = places.ways.iter().map(|ways| {
                let ways = ways.iter().filter(|(class, _)| fits(class));
                ways.map(|(_, target)| *target).collect()
            });
            ways.collect()
        };
        let letters: Vec<Vec<Vec<Option<usize>>>> = alphabet.iter().map(led_by).collect();
        // Anywhere, any of the others may begin.
        let anywhere: Vec<usize> = (0..others.len()).collect();
        let begin: Vec<usize> = (others.len()..others.len() + not_first.len()).collect();
        let mut states: Vec<Vec<usize>> = vec![begin];
        // Only its first characters count: further on, a text may hold what it does not begin with.
        if !not_first.is_empty() {
            states.push(Vec::new());
        }
        let nothing = states.len() - 1;
        let mut numbers: HashMap<Vec<usize>, usize> = states.iter().cloned().zip(0..).collect();
        let mut steps: Vec<Vec<Option<usize>>> = Vec::new();
        while let Some(state) = states.get(steps.len()) {
            let state = [anywhere.as_slice(), state].concat();
            let mut from_here = Vec::new();
            for targets in &letters {
                let Some(targets) = led_to(targets, &state) else {
                    from_here.push(None);
                    continue;
                };
                let number = *numbers.entry(targets).or_insert_with_key(|targets| {
                    states.push(targets.clone());
                    states.len() - 1
                });
                from_here.push(Some(number));
            }
            let is_small = states.len() <= MAX_SEARCH && states.len() * letters.len() <= MAX_STEPS;
            is_small.then_some(())?;
            steps.push(from_here);
        }
        Some(Search {
            alphabet,
            letters,
            states,
            steps,
            nothing,
        })
    }

    /// Whether one of those that have begun is whole when all of this has come.
    fn goes_on(&self, begun: usize, behind: &str) -> bool {
        let mut places = self.states[begun].clone();
        for c in behind.chars() {
            let letter = self.alphabet.iter().position(|letter| letter.contains(c));
            let (Some(letter), false) = (letter, places.is_empty()) else {
                return false;
            };
            match led_to(&self.letters[letter], &places) {
                Some(next) => places = next,
                None => return true,
            }
        }
        false
    }

    /// What has begun when one of these characters has come, which ends none of the others.
    fn step(&self, class: &CharClass, begun: usize) -> Vec<(CharClass, usize)> {
        let mut targets: BTreeMap<usize, CharClass> = BTreeMap::new();
        let mut free = class.clone();
        for (letter, target) in self.alphabet.iter().zip(&self.steps[begun]) {
            let found = class.and(letter);
            if found.is_empty() {
                continue;
            }
            free = free.without(&found);
            if let Some(target) = target {
                let chars = targets.entry(*target).or_insert_with(|| CharClass::of([]));
                *chars = chars.or(&found);
            }
        }
        if !free.is_empty() {
            // A character that none of the others has begins nothing.
            let chars = targets.entry(self.nothing);
            let chars = chars.or_insert_with(|| CharClass::of([]));
            *chars = chars.or(&free);
        }
        let targets = targets.into_iter();
        targets.map(|(target, class)| (class, target)).collect()
    }
}

/// Where a letter leads from these places; `None` if one of the others is whole then.
fn led_to(letter: &[Vec<Option<usize>>], places: &[usize]) -> Option<Vec<usize>> {
    let targets = places.iter().flat_map(|place| &letter[*place]);
    let mut targets: Vec<usize> = targets.copied().collect::<Option<_>>()?;
    targets.sort_unstable();
    targets.dedup();
    Some(targets)
}

/// Classes without a character in common, of which each of these is made; `None` if there are more than that.
fn disjoint<'c>(
    classes: impl Iterator<Item = &'c CharClass>,
    most: usize,
) -> Option<Vec<CharClass>> {
    let mut all: Vec<CharClass> = Vec::new();
    for class in classes {
        if all.contains(class) {
            continue;
        }
        let mut left = class.clone();
        let mut next = Vec::new();
        for one in &all {
            let common = one.and(&left);
            if common.is_empty() {
                next.push(one.clone());
                continue;
            }
            left = left.without(&common);
            let rest = one.without(&common);
            next.extend([common, rest].into_iter().filter(|class| !class.is_empty()));
        }
        next.extend(Some(left).filter(|class| !class.is_empty()));
        all = next;
        (all.len() <= most).then_some(())?;
    }
    Some(all)
}

/// Whether a node without references may be nothing.
fn may_be_nothing(expr: &Expr) -> bool {
    remainder::is_nullable(expr, &IndexMap::new())
}

/// The first characters of a node, each with what is left of it behind them.
fn heads(expr: &Expr) -> Option<Vec<(CharClass, Expr)>> {
    match expr {
        Expr::Empty => Some(Vec::new()),
        Expr::Literal(text) => {
            let mut chars = text.chars();
            let first = chars.next().into_iter();
            let rest = chars.as_str();
            Some(first.map(|c| (CharClass::of([c]), rest.into())).collect())
        }
        Expr::Space => Some(vec![(CharClass::of(" \t\r\n".chars()), Expr::Space)]),
        Expr::Chars(Chars {
            class,
            at_least,
            at_most,
        }) => {
            let one_less = at_least.saturating_sub(1);
            let left = self::class(class.clone());
            Some(vec![(
                class.clone(),
                left.repeat(one_less, at_most.map(|most| most.saturating_sub(1))),
            )])
        }
        Expr::Repeat(repeat) => {
            let one_less = repeat.at_least.saturating_sub(1);
            let most = repeat.at_most.map(|most| most.saturating_sub(1));
            let more = repeat.item.clone().repeat(one_less, most);
            Some(followed_by(heads(&repeat.item)?, &more))
        }
        Expr::Sequence(parts) => {
            let mut all = Vec::new();
            for (at, part) in parts.iter().enumerate() {
                let others = Expr::sequence(parts[at + 1..].iter().cloned());
                all.extend(followed_by(heads(part)?, &others));
                if !may_be_nothing(part) {
                    break;
                }
            }
            Some(all)
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

#[cfg(test)]
mod tests {
    use super::super::regex;
    use super::*;

    fn any() -> Expr {
        class(CharClass::any())
    }

    fn text(parts: &[Expr]) -> Text {
        Text::first_of(parts).expect("it begins with a text").0
    }

    fn until(ends: &[&str]) -> Expr {
        Expr::Until(ends.iter().map(|end| (*end).to_owned()).collect())
    }

    fn not(first: &str) -> Expr {
        Expr::Negate(Box::new(first.into()))
    }

    #[test]
    fn a_state_knows_what_has_begun() {
        for (parts, expected) in [
            (
                vec![until(&["</"])],
                "0: [^<] to 0, [<] to 1, end; 1: [^/<] to 0, [<] to 1, end",
            ),
            (
                vec![until(&["aab"])],
                "0: [^a] to 0, [a] to 1, end; 1: [^a] to 0, [a] to 2, end; 2: [^a-b] to 0, [a] to 2, end",
            ),
            // The first sign of it is another one; further on it may be any.
            (
                vec![not("a"), Expr::Rest],
                "0: [^a] to 1, end; 1: [\\s\\S] to 1, end",
            ),
            // An item is never left in its middle.
            (
                vec![Expr::literal("xy").without(["yx"])],
                "0: [x] to 2, end; 1: end; 2: [y] to 1",
            ),
            // In `[[a]]]` the text would end with `]`, and `]]` is found one sign before its place.
            (
                vec![until(&["]]"]), "]]".into()],
                "0: [^\\]] to 0, [\\]] to 1, end; 1: [^\\]] to 0",
            ),
        ] {
            let states = text(&parts).states().expect("they are few");
            let states = states.iter().enumerate().map(|(at, state)| {
                let ways = state.ways.iter();
                let ways = ways.map(|(class, to)| format!("{} to {to}", regex::class(class)));
                let end = state.may_end.then(|| "end".to_owned());
                let all: Vec<String> = ways.chain(end).collect();
                format!("{at}: {}", all.join(", "))
            });
            assert_eq!(states.collect::<Vec<_>>().join("; "), expected, "{parts:?}");
        }
    }

    #[test]
    fn some_texts_have_no_states() {
        let many = Expr::literal("ab".repeat(600));
        for item in [Expr::Space, Expr::Rule("a".into()), many.repeat(1, Some(2))] {
            let text = Text {
                item,
                others: vec!["x".into()],
                not_first: Vec::new(),
                behind: String::new(),
            };
            assert_eq!(text.states(), None, "{:?}", text.item.example());
        }
    }

    #[test]
    fn a_text_begins_a_row_with_what_it_does_not_begin_with() {
        for (parts, expected) in [
            (vec![until(&["<a>"]), "<b>".into()], Some((1, 1, 0, ""))),
            (vec![not("x"), until(&["<a>"])], Some((2, 1, 1, ""))),
            // What stands behind it is kept where something may begin in the text and end there.
            (vec![until(&["]]"]), "]]".into()], Some((1, 1, 0, "]]"))),
            (
                vec![not("]"), until(&["<a>"]), "]x".into()],
                Some((2, 1, 1, "]x")),
            ),
            (vec![Expr::Rest], None),
            (vec![not("x"), Expr::Rest], Some((2, 0, 1, ""))),
            (vec!["a".into(), until(&["<a>"])], None),
            (vec![], None),
        ] {
            let found = Text::first_of(&parts);
            let found = found.as_ref().map(|(text, count)| {
                let counts = (text.others.len(), text.not_first.len());
                (*count, counts.0, counts.1, text.behind.as_str())
            });
            assert_eq!(found, expected, "{parts:?}");
        }
    }

    #[test]
    fn some_begin_in_a_text_and_end_behind_it() {
        for (ends, behind, expected) in [
            (&["]]", "x"][..], "]]", vec!["]]"]),
            (&["<a>", "a>b"], "<a>", vec![]),
            (&["a<a", "b"], "<a>", vec!["a<a"]),
        ] {
            let text = text(&[until(ends), behind.into()]);
            let found = text.that_go_on();
            let expected: Vec<Expr> = expected.into_iter().map(Expr::from).collect();
            assert_eq!(found, expected, "{ends:?}");
        }
    }

    #[test]
    fn a_text_holds_others_or_what_may_be_one() {
        let pattern = || {
            let sign = class(CharClass::of(['}', ']']));
            Expr::sequence([sign, Expr::Space, "#".into()])
        };
        for (text, others, expected) in [
            ("a<b>c", vec!["<b>".into()], Some(true)),
            ("a<bc", vec!["<b>".into()], Some(false)),
            ("a} \n#", vec![pattern()], Some(true)),
            ("a} #", vec!["x".into(), pattern()], Some(true)),
            ("a} -#", vec![pattern()], Some(false)),
            ("a", vec![], Some(false)),
            // A rule may be anything.
            ("a", vec![Expr::Rule("b".into())], None),
        ] {
            assert_eq!(stands_in(text, &others), expected, "{text}");
        }
        let firsts = first_characters(&["ab".into(), pattern()]);
        assert_eq!(regex::class(&firsts), r"[\]a\}]");
    }

    #[test]
    fn classes_are_taken_apart_into_what_they_have_in_common() {
        let classes = [
            CharClass::ranges([('a', 'f')]),
            CharClass::ranges([('d', 'z')]),
        ];
        let found = disjoint(classes.iter(), 9).expect("they are few");
        let found: Vec<String> = found.iter().map(regex::class).collect();
        assert_eq!(found, ["[d-f]", "[a-c]", "[g-z]"]);
        assert_eq!(disjoint(classes.iter(), 2), None);
        assert!(may_be_nothing(&Expr::Space) && !may_be_nothing(&any()));
    }
}
