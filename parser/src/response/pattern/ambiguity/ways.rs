//! The ways through a program, alone and in pairs that read the same characters.

use std::collections::HashMap;
use std::rc::Rc;

use crate::response::pattern::alphabet::Class;
use crate::response::pattern::program::{After, Before, Inst, Pc, Program};
use crate::response::pattern::syntax::Look;

use super::graph::Graph;

/// So many texts are compared to find a short one.
const MAX_CYCLES: usize = 50;

/// Where a program goes on when it has just taken a character of a class. Where it looks at nothing
/// around a position, one class stands for all that it could have taken.
type Point = (Pc, Class);

/// Two places that can be reached over the same characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    one: Point,
    other: Point,
    /// Two different ways have just led to one and the same place, as both turns of `(a|a)*` do.
    diverging: bool,
}

/// A way from a step to the next that takes a character, or to the end.
#[derive(Debug, Clone)]
struct Way {
    to: Pc,
    looks: Vec<Look>,
}

/// The ways through a program.
pub(super) struct Ways<'p> {
    program: &'p Program,
    /// The ways that begin where a step leads to.
    known: HashMap<Pc, Rc<[Way]>>,
    /// How many may still be followed.
    left: usize,
}

impl<'p> Ways<'p> {
    pub(super) fn new(program: &'p Program, left: usize) -> Ways<'p> {
        Ways {
            program,
            known: HashMap::new(),
            left,
        }
    }

    /// How many may still be followed.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// A text that leads to where a second one can be repeated at will, unless lookaround stands
    /// in between, and that second one.
    pub(super) fn explosion(&mut self) -> Option<(Option<String>, String)> {
        let starts = self.starts()?;
        let singles = Graph::explore(starts.iter().flatten().copied(), |&place| self.next(place))?;
        let parts = singles.components();
        let fails = self.parts_that_can_fail(&singles, &parts);
        let keys = singles.nodes.iter().map(|&place| self.key(place));
        let part: HashMap<Point, usize> = keys.zip(parts).collect();
        let loops = singles.nodes.iter().copied();
        let loops: Vec<Point> = loops.filter(|&p| fails[part[&self.key(p)]]).collect();
        let pairs = loops.into_iter().map(|place| Pair {
            one: place,
            other: place,
            diverging: false,
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
    fn starts(&mut self) -> Option<Vec<Vec<Point>>> {
        let mut all = vec![self.program.start];
        for inst in &self.program.insts {
            match *inst {
                Inst::Around { start, next, .. } | Inst::Atomic { start, next } => {
                    all.extend([start, next]);
                }
                Inst::Reference { next, .. } => all.push(next),
                Inst::Behind { part, next, .. } => {
                    all.extend([self.program.parts[part].start, next]);
                }
                _ => {}
            }
        }
        let mut starts: Vec<Vec<Point>> = Vec::new();
        for pc in all {
            let ways = self.from(pc)?;
            starts.push(ways.iter().flat_map(|way| self.places(way)).collect());
        }
        Some(starts)
    }

    /// For each part of the graph, whether a text that has got there can still fail.
    fn parts_that_can_fail(&mut self, graph: &Graph<Point>, parts: &[usize]) -> Vec<bool> {
        let mut fails = vec![true; graph.nodes.len()];
        for (&(pc, _), &part) in graph.nodes.iter().zip(parts) {
            let ways = self.from(pc);
            let ends = |way: &Way| way.looks.is_empty() && self.is_end(way.to);
            fails[part] &= ways.is_some_and(|ways| !ways.iter().any(ends));
        }
        fails
    }

    /// A place in a loop that comes back to itself in two ways, and what is read on both.
    fn repeated(&self, pairs: &Graph<Pair>) -> Option<(Point, Vec<Point>)> {
        let parts = pairs.components();
        let mut equal: HashMap<usize, usize> = HashMap::new();
        for (index, pair) in pairs.nodes.iter().enumerate() {
            if pair.one == pair.other && !pair.diverging {
                equal.entry(parts[index]).or_insert(index);
            }
        }
        let different = |pair: &Pair| pair.diverging || pair.one != pair.other;
        let apart = (0..pairs.nodes.len()).filter(|&index| different(&pairs.nodes[index]));
        let cycles = apart.filter_map(|index| Some((index, *equal.get(&parts[index])?)));
        let cycles = cycles.take(MAX_CYCLES);
        let read = cycles.filter_map(|(apart, equal)| self.round_trip(pairs, equal, apart));
        read.min_by_key(|(_, read)| read.len())
    }

    /// Where a cycle begins that diverges and comes together again, and what is read on the way.
    fn round_trip(
        &self,
        pairs: &Graph<Pair>,
        equal: usize,
        apart: usize,
    ) -> Option<(Point, Vec<Point>)> {
        let target = pairs.nodes[apart];
        let key = |pair: &Pair| (self.key(pair.one), self.key(pair.other));
        let is_home = |pair: &Pair| !pair.diverging && key(pair) == key(&target);
        let (start, back) = match target.diverging {
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

    fn written(&self, places: &[Point]) -> String {
        let character = |place: &Point| self.program.alphabet.member(place.1);
        places.iter().filter_map(character).collect()
    }

    /// Where the program goes on.
    fn next(&mut self, (pc, class): Point) -> Option<Vec<Point>> {
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
                    diverging: one == other && number != other_number && a == b,
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
    fn places(&self, way: &Way) -> Vec<Point> {
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
        let most = match self.distinguishes_classes() {
            true => alphabet.len(),
            false => 1,
        };
        let all = 0..alphabet.len() as Class;
        let shared = all.filter(|&class| steps.iter().all(|step| takes(step, class)));
        shared.take(most).collect()
    }

    /// Whether it matters which character has been taken.
    fn distinguishes_classes(&self) -> bool {
        let looks = self.program.looks;
        looks.at_characters() || looks.at_end
    }

    /// What distinguishes a place from others.
    fn key(&self, (pc, class): Point) -> Point {
        match self.distinguishes_classes() {
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
        // Where a way is, the looks it has taken, and the repeats it has repeats anew.
        let mut stack: Vec<(Pc, Vec<Look>, Vec<Pc>)> = vec![(start, Vec::new(), Vec::new())];
        while let Some((pc, mut looks, mut repeats)) = stack.pop() {
            // What has been gathered on the way is copied at each fork.
            self.left = self.left.checked_sub(1 + looks.len() + repeats.len())?;
            match self.program.insts[pc as usize] {
                Inst::Set { .. } | Inst::Match => ways.push(Way { to: pc, looks }),
                Inst::Split { first, second } => {
                    stack.push((second, looks.clone(), repeats.clone()));
                    stack.push((first, looks, repeats));
                }
                // A turn that takes nothing is the last.
                Inst::Again { split, next } if repeats.contains(&split) => {
                    stack.push((next, looks, repeats));
                }
                Inst::Again { split, .. } => {
                    repeats.push(split);
                    stack.push((split, looks, repeats));
                }
                Inst::Save { next, .. } => stack.push((next, looks, repeats)),
                Inst::Look { look, next } => {
                    looks.push(look);
                    stack.push((next, looks, repeats));
                }
                Inst::Around { .. }
                | Inst::Atomic { .. }
                | Inst::Behind { .. }
                | Inst::Reference { .. }
                | Inst::Fail => {}
            }
        }
        let ways: Rc<[Way]> = ways.into();
        self.known.insert(start, Rc::clone(&ways));
        Some(ways)
    }
}
