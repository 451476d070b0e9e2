//! Telling whether a pattern takes exponential time in engines that backtrack.
//!
//! They do where some text can be gone through in two ways that begin and end at the same step of
//! the pattern: then every repetition of that text doubles the ways, and when what follows does not
//! match, all of them are tried. Our own engines never try a step twice at a place, but templates
//! are for others as well.
//!
//! Pairs of steps are gone through together, over the same characters: a pair of equal steps that
//! comes back to itself by way of a pair of different ones gives such a pattern away. What stands
//! around an atomic group or lookaround is looked at on its own, because what these let pass can't
//! be told from the graph; so a pattern may be worse than it is said to be, but never better.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::rc::Rc;

use super::alphabet::Class;
use super::program::{After, Before, Inst, Pc, Program};
use super::syntax::Look;
use super::{Meter, Pattern};

/// So many pairs of steps are visited at the most, and so many ways between steps followed.
const MAX_VISITS: usize = 20_000;
const MAX_WAYS: usize = 400_000;

/// So many texts are compared to find a short one.
const MAX_CYCLES: usize = 50;

/// How often a text is repeated to see whether it fails.
const TIMES: usize = 20;

/// What a pattern takes exponential time for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Explosion {
    /// The text whose repetitions can be gone through in ever more ways.
    pub(crate) repeated: String,
    /// What stands before and after the repetitions where no match comes of them, if that is known.
    pub(crate) around: Option<(String, String)>,
}

impl Pattern {
    /// What makes it take exponential time in engines that backtrack. `None` also says that it is
    /// too large to tell. What it takes to find out is subtracted from a budget.
    pub(crate) fn explosion(&self, budget: &mut usize) -> Option<Explosion> {
        let granted = MAX_WAYS.min(*budget);
        let mut ways = Ways::new(self.program(), granted);
        let found = ways.explosion();
        *budget -= granted - ways.left;
        let (lead, repeated) = found?;
        let repeated = root(&repeated);
        let fails = |text: &str| {
            let found = self.find(text, 0, &mut Meter::new(text.len()));
            found.is_ok_and(|found| found.is_none_or(|found| found.start > 0))
        };
        let Some(lead) = lead else {
            return Some(Explosion {
                repeated,
                around: None,
            });
        };
        let text = lead.clone() + &repeated.repeat(TIMES);
        let mut tails = ["", "!", "!!", "\n\n"].into_iter();
        // Where nothing can follow that makes the match fail, no engine ever tries again.
        let tail = tails.find(|tail| fails(&format!("{text}{tail}")))?;
        Some(Explosion {
            repeated,
            around: Some((lead, tail.to_owned())),
        })
    }
}

/// The shortest text of which this one is a repetition.
fn root(text: &str) -> String {
    let lengths = text.char_indices().map(|(at, _)| at).skip(1);
    let mut starts = lengths.filter(|&length| text.len().is_multiple_of(length));
    let repeats = |length: &usize| text[..*length].repeat(text.len() / length) == text;
    let length = starts.find(repeats).unwrap_or(text.len());
    text[..length].to_owned()
}

/// Where a program goes on when it has just taken a character of a class. Where it looks at nothing
/// around a position, one class stands for all that it could have taken.
type Place = (Pc, Class);

/// Two places that can be reached over the same characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    one: Place,
    other: Place,
    /// Two different ways have just led to one and the same place.
    parted: bool,
}

/// A way from a step to the next that takes a character, or to the end.
#[derive(Debug, Clone)]
struct Way {
    to: Pc,
    looks: Vec<Look>,
}

/// The ways through a program.
struct Ways<'p> {
    program: &'p Program,
    /// The ways that begin where a step leads to.
    known: HashMap<Pc, Rc<[Way]>>,
    /// How many may still be followed.
    left: usize,
}

impl<'p> Ways<'p> {
    fn new(program: &'p Program, left: usize) -> Ways<'p> {
        Ways {
            program,
            known: HashMap::new(),
            left,
        }
    }

    /// A text that leads to where a second one can be repeated at will, unless lookaround stands
    /// in between, and that second one.
    fn explosion(&mut self) -> Option<(Option<String>, String)> {
        let starts = self.starts()?;
        let singles = Graph::explore(starts.iter().flatten().copied(), |&place| self.next(place))?;
        let parts = singles.components();
        let fails = self.parts_that_can_fail(&singles, &parts);
        let keys = singles.nodes.iter().map(|&place| self.key(place));
        let part: HashMap<Place, usize> = keys.zip(parts).collect();
        let loops = singles.nodes.iter().copied();
        let loops: Vec<Place> = loops.filter(|&p| fails[part[&self.key(p)]]).collect();
        let pairs = loops.into_iter().map(|place| Pair {
            one: place,
            other: place,
            parted: false,
        });
        let pairs = Graph::explore(pairs, |pair| {
            let inside = |ways: &Self, place| part[&ways.key(place)] == part[&ways.key(pair.one)];
            let mut next = self.next_pairs(pair)?;
            next.retain(|next| inside(self, next.one) && inside(self, next.other));
            Some(next)
        })?;
        let (place, repeated) = self.repeated(&pairs)?;
        let lead = singles.path(starts.first()?, |node| *node == place);
        Some((
            lead.map(|lead| self.written(&lead)),
            self.written(&repeated),
        ))
    }

    /// Where the program can be after one character; then the same for its parts, and for what
    /// follows lookaround and atomic groups.
    fn starts(&mut self) -> Option<Vec<Vec<Place>>> {
        let mut all = vec![self.program.start];
        for inst in &self.program.insts {
            if let Inst::Around { start, next, .. } | Inst::Atomic { start, next } = *inst {
                all.extend([start, next]);
            }
        }
        let mut starts: Vec<Vec<Place>> = Vec::new();
        for pc in all {
            let ways = self.from(pc)?;
            starts.push(ways.iter().flat_map(|way| self.places(way)).collect());
        }
        Some(starts)
    }

    /// For each part of the graph, whether a text that has got there can still fail.
    fn parts_that_can_fail(&mut self, graph: &Graph<Place>, parts: &[usize]) -> Vec<bool> {
        let mut fails = vec![true; graph.nodes.len()];
        for (&(pc, _), &part) in graph.nodes.iter().zip(parts) {
            let ways = self.from(pc);
            let ends = |way: &Way| way.looks.is_empty() && self.is_end(way.to);
            fails[part] &= ways.is_some_and(|ways| !ways.iter().any(ends));
        }
        fails
    }

    /// A place in a loop that comes back to itself in two ways, and what is read on both.
    fn repeated(&self, pairs: &Graph<Pair>) -> Option<(Place, Vec<Place>)> {
        let parts = pairs.components();
        let mut equal: HashMap<usize, usize> = HashMap::new();
        for (index, pair) in pairs.nodes.iter().enumerate() {
            if pair.one == pair.other && !pair.parted {
                equal.entry(parts[index]).or_insert(index);
            }
        }
        let different = |pair: &Pair| pair.parted || pair.one != pair.other;
        let apart = (0..pairs.nodes.len()).filter(|&index| different(&pairs.nodes[index]));
        let cycles = apart.filter_map(|index| Some((index, *equal.get(&parts[index])?)));
        let cycles = cycles.take(MAX_CYCLES);
        let read = cycles.filter_map(|(apart, equal)| self.round_trip(pairs, equal, apart));
        read.min_by_key(|(_, read)| read.len())
    }

    /// Where a cycle begins that parts and comes together again, and what is read on the way.
    fn round_trip(
        &self,
        pairs: &Graph<Pair>,
        equal: usize,
        apart: usize,
    ) -> Option<(Place, Vec<Place>)> {
        let target = pairs.nodes[apart];
        let key = |pair: &Pair| (self.key(pair.one), self.key(pair.other));
        let is_home = |pair: &Pair| !pair.parted && key(pair) == key(&target);
        let (start, back) = match target.parted {
            // The same place again, by two ways at once.
            true => (pairs.nodes.iter().position(is_home)?, Vec::new()),
            false => {
                let home = pairs.nodes[equal];
                let back = pairs.path(&pairs.successors(apart), |pair| *pair == home)?;
                (equal, back)
            }
        };
        let there = pairs.path(&pairs.successors(start), |pair| *pair == target)?;
        let read = there.into_iter().chain(back).map(|pair| pair.one);
        Some((pairs.nodes[start].one, read.collect()))
    }

    fn written(&self, places: &[Place]) -> String {
        let character = |place: &Place| self.program.alphabet.member(place.1);
        places.iter().filter_map(character).collect()
    }

    /// Where the program goes on.
    fn next(&mut self, (pc, class): Place) -> Option<Vec<Place>> {
        let before = self.program.after_class(class);
        let ways = self.from(pc)?;
        let mut next = Vec::new();
        for way in ways.iter() {
            self.follow()?;
            let places = self.places(way).into_iter();
            next.extend(places.filter(|&(_, class)| self.sees(way, before, class)));
        }
        Some(next)
    }

    /// Where two steps that have taken the same characters go on together.
    fn next_pairs(&mut self, pair: &Pair) -> Option<Vec<Pair>> {
        let (one, other) = (pair.one, pair.other);
        let (first, second) = (self.from(one.0)?, self.from(other.0)?);
        let before = self.program.after_class(one.1);
        let mut next = Vec::new();
        for (number, a) in first.iter().enumerate() {
            // Of a pair of equals, each pair of ways is followed once.
            let from = if one == other { number } else { 0 };
            for (other_number, b) in second.iter().enumerate().skip(from) {
                self.follow()?;
                let classes = self.classes(&[a.to, b.to]).into_iter();
                let sees = |class| self.sees(a, before, class) && self.sees(b, before, class);
                let seen = classes.filter(|&class| sees(class));
                let (a, b) = (self.after(a.to), self.after(b.to));
                next.extend(seen.map(|class| Pair {
                    one: (a.min(b), class),
                    other: (a.max(b), class),
                    parted: one == other && number != other_number && a == b,
                }));
            }
        }
        Some(next)
    }

    /// Counts a way, which may have to be held against all classes.
    fn follow(&mut self) -> Option<()> {
        let cost = 1 + self.program.alphabet.len() / 32;
        self.left = self.left.checked_sub(cost)?;
        Some(())
    }

    fn sees(&self, way: &Way, before: Before, class: Class) -> bool {
        let after = After::Class(class);
        let mut looks = way.looks.iter();
        looks.all(|&look| self.program.sees(look, before, after))
    }

    /// Where a way leads.
    fn places(&self, way: &Way) -> Vec<Place> {
        let next = self.after(way.to);
        let classes = self.classes(&[way.to]).into_iter();
        classes.map(|class| (next, class)).collect()
    }

    /// The classes that all of these steps take.
    fn classes(&self, steps: &[Pc]) -> Vec<Class> {
        let alphabet = &self.program.alphabet;
        let takes = |step: &Pc, class: Class| match self.program.insts[*step as usize] {
            Inst::Set { set, .. } => alphabet.holds(set, class),
            _ => false,
        };
        let most = match self.tells_classes() {
            true => alphabet.len(),
            false => 1,
        };
        let all = 0..alphabet.len() as Class;
        let shared = all.filter(|&class| steps.iter().all(|step| takes(step, class)));
        shared.take(most).collect()
    }

    /// Whether it matters which character has been taken.
    fn tells_classes(&self) -> bool {
        let looks = self.program.looks;
        looks.at_characters() || looks.at_end
    }

    /// The place as it is told from others.
    fn key(&self, (pc, class): Place) -> Place {
        match self.tells_classes() {
            true => (pc, class),
            false => (pc, 0),
        }
    }

    /// Where the program goes on after a step that takes a character.
    fn after(&self, pc: Pc) -> Pc {
        match self.program.insts[pc as usize] {
            Inst::Set { next, .. } => next,
            _ => pc,
        }
    }

    fn is_end(&self, pc: Pc) -> bool {
        matches!(self.program.insts[pc as usize], Inst::Match)
    }

    /// All ways that begin at a step; nothing if there are too many.
    fn from(&mut self, start: Pc) -> Option<Rc<[Way]>> {
        if let Some(known) = self.known.get(&start) {
            return Some(Rc::clone(known));
        }
        let mut ways = Vec::new();
        // Where a way is, the looks it has taken, and the repeats it has begun anew.
        let mut stack: Vec<(Pc, Vec<Look>, Vec<Pc>)> = vec![(start, Vec::new(), Vec::new())];
        while let Some((pc, mut looks, mut begun)) = stack.pop() {
            // What has been gathered on the way is copied at each fork.
            self.left = self.left.checked_sub(1 + looks.len() + begun.len())?;
            match self.program.insts[pc as usize] {
                Inst::Set { .. } | Inst::Match => ways.push(Way { to: pc, looks }),
                Inst::Split { first, second } => {
                    stack.push((second, looks.clone(), begun.clone()));
                    stack.push((first, looks, begun));
                }
                // A turn that takes nothing is the last.
                Inst::Again { split, next } if begun.contains(&split) => {
                    stack.push((next, looks, begun));
                }
                Inst::Again { split, .. } => {
                    begun.push(split);
                    stack.push((split, looks, begun));
                }
                Inst::Save { next, .. } => stack.push((next, looks, begun)),
                Inst::Look { look, next } => {
                    looks.push(look);
                    stack.push((next, looks, begun));
                }
                Inst::Around { .. } | Inst::Atomic { .. } => {}
            }
        }
        let ways: Rc<[Way]> = ways.into();
        self.known.insert(start, Rc::clone(&ways));
        Some(ways)
    }
}

/// A graph, as far as it can be reached.
struct Graph<N> {
    nodes: Vec<N>,
    index: HashMap<N, usize>,
    edges: Vec<Vec<usize>>,
}

impl<N: Copy + Eq + Hash> Graph<N> {
    /// Visits all that can be reached; nothing if that is too much.
    fn explore(
        starts: impl Iterator<Item = N>,
        mut next: impl FnMut(&N) -> Option<Vec<N>>,
    ) -> Option<Graph<N>> {
        let mut graph = Graph {
            nodes: Vec::new(),
            index: HashMap::new(),
            edges: Vec::new(),
        };
        for start in starts {
            graph.number(start);
        }
        while graph.edges.len() < graph.nodes.len() {
            if graph.nodes.len() > MAX_VISITS {
                return None;
            }
            let node = graph.nodes[graph.edges.len()];
            let to = next(&node)?.into_iter();
            let to = to.map(|node| graph.number(node)).collect();
            graph.edges.push(to);
        }
        Some(graph)
    }

    fn number(&mut self, node: N) -> usize {
        *self.index.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        })
    }

    fn successors(&self, index: usize) -> Vec<N> {
        self.edges[index].iter().map(|&to| self.nodes[to]).collect()
    }

    /// A shortest path from one of the nodes, which is its first, to one that is looked for.
    fn path(&self, from: &[N], is_end: impl Fn(&N) -> bool) -> Option<Vec<N>> {
        let mut came_from: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut seen = vec![false; self.nodes.len()];
        let from = from.iter().filter_map(|node| self.index.get(node));
        let mut waiting: VecDeque<usize> = from.copied().collect();
        waiting.iter().for_each(|&index| seen[index] = true);
        while let Some(index) = waiting.pop_front() {
            if is_end(&self.nodes[index]) {
                let step = |&at: &usize| came_from[at];
                let path = std::iter::successors(Some(index), step);
                let mut path: Vec<N> = path.map(|at| self.nodes[at]).collect();
                path.reverse();
                return Some(path);
            }
            for &to in &self.edges[index] {
                if !std::mem::replace(&mut seen[to], true) {
                    came_from[to] = Some(index);
                    waiting.push_back(to);
                }
            }
        }
        None
    }

    /// For each node the number of its strongly connected component: those that can be reached
    /// from each other have the same.
    fn components(&self) -> Vec<usize> {
        let mut backward = vec![Vec::new(); self.nodes.len()];
        for (from, edges) in self.edges.iter().enumerate() {
            edges.iter().for_each(|&to| backward[to].push(from));
        }
        let mut component = vec![usize::MAX; self.nodes.len()];
        for &root in self.finished().iter().rev() {
            let mut stack = vec![root];
            while let Some(node) = stack.pop() {
                if component[node] == usize::MAX {
                    component[node] = root;
                    stack.extend(&backward[node]);
                }
            }
        }
        component
    }

    /// The nodes in the order in which a search in depth is done with them.
    fn finished(&self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.nodes.len()];
        for root in 0..self.nodes.len() {
            let mut stack = vec![(root, 0)];
            while let Some((node, edge)) = stack.pop() {
                if edge == 0 && std::mem::replace(&mut seen[node], true) {
                    continue;
                }
                match self.edges[node].get(edge) {
                    Some(&to) => stack.extend([(node, edge + 1), (to, 0)]),
                    None => order.push(node),
                }
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explosion(pattern: &str) -> Option<Explosion> {
        let pattern = Pattern::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        pattern.explosion(&mut MAX_WAYS.clone())
    }

    #[test]
    fn nested_and_doubled_repeats_explode() {
        for (pattern, repeated) in [
            ("(a+)+b", "a"),
            ("(a*)*b", "a"),
            ("(a|a)*b", "a"),
            ("(a|a)*$", "a"),
            (r"(\s*x?)*y", " "),
            ("(?:a|ab|b)*c", "aba"),
            (r#"<(?:[^"]|\\.)*""#, r"\a"),
            (r"(?:\w+\s*)+:", "a"),
            ("(?:a{1,3})+b", "a"),
            ("(?:(?:ab)+)+c", "ba"),
            ("x(?=(a+)+b)", "a"),
            ("(?>(a+)+b)", "a"),
            (r"(?<=y)(?:\w|a)+z", "a"),
            ("(?:a|b|[ab])*?c", "a"),
            (r"(?:\ba?b*)*c|(?:a+)+d", "a"),
            ("(?:[ab]|[^a])*c", "b"),
            ("(?:[A-Za-z]|[a-z_])+:", "a"),
        ] {
            let found = explosion(pattern).map(|found| found.repeated);
            assert_eq!(found.as_deref(), Some(repeated), "{pattern}");
        }
    }

    #[test]
    fn what_has_one_way_or_always_comes_to_an_end_does_not() {
        for pattern in [
            "a+b",
            "(?:a+b)+c",
            "(a?)*b",
            "a*a*b",
            "(a|a)*",
            "(?:(a+)+|b)*",
            r#""(?:[^"\\]|\\.)*""#,
            r"(?:\b\w+\s*)+:",
            r"(?:\w+\s+)+:",
            "(?:a++)+b",
            "(?:a|b)*c",
            "(?:ab|ac)*d",
            "(?:(?!</x>).)*</x>",
            "(?:(?!<).|<)*y",
            ".*?</x>",
            "[^<]{1,500}<",
            "a{100}",
            "",
        ] {
            assert_eq!(explosion(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn what_stands_around_the_repetitions_is_told() {
        for (pattern, expected) in [
            ("<(a+)+>", Some(("<aa", ""))),
            ("x|(a|a)*b", Some(("a", ""))),
            ("(a|a)*$", Some(("a", "!"))),
            ("(?:a+)+.$", Some(("aa", "!!"))),
            // What has to stand behind is not known.
            ("(?<=q)(a+)+b", None),
        ] {
            let found = explosion(pattern).and_then(|found| found.around);
            let expected = expected.map(|(lead, tail)| (lead.to_owned(), tail.to_owned()));
            assert_eq!(found, expected, "{pattern}");
        }
    }

    #[test]
    fn what_is_too_large_to_tell_is_not_told() {
        for pattern in ["(?:a{0,50}){0,50}", &"(?:|a)".repeat(40)] {
            assert_eq!(explosion(pattern), None, "{pattern}");
        }
    }
}
