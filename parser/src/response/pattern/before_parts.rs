//! What of a pattern can match as long as nothing has begun of what it looks for behind.
//!
//! Of `(?:<calls>|,)\s*\{(?<=<calls>.*?)` it is what begins with `<calls>`: a comma counts only in text that
//! has it already. So most texts hold nothing that would have to be looked at.

use super::alphabet::Class;
use super::program::{Inst, Pc, Program};

/// From where on a program can come to its match, while no part of it has begun before.
#[derive(Debug)]
pub(super) struct BeforeParts<'p> {
    program: &'p Program,
    /// For each class whether a part can begin with it.
    begins_part: Vec<bool>,
    /// For each instruction whether a match can be reached from it if no part can have begun in the match
    /// itself, and if one can.
    viable: Vec<[bool; 2]>,
}

impl<'p> BeforeParts<'p> {
    pub(super) fn new(program: &'p Program) -> BeforeParts<'p> {
        let starts = program.parts.iter().map(|part| part.start);
        let openings: Vec<Opening> = starts.map(|start| Opening::of(program, start)).collect();
        let classes = 0..program.alphabet.len();
        let begins_part = classes.map(|class| {
            let mut sets = openings.iter().flat_map(|opening| &opening.sets);
            sets.any(|&set| program.alphabet.holds(set, class as Class))
        });
        let mut before_parts = BeforeParts {
            program,
            begins_part: begins_part.collect(),
            viable: Vec::new(),
        };
        let may_be_empty: Vec<bool> = openings.iter().map(|opening| opening.is_empty).collect();
        before_parts.viable = before_parts.reaching_a_match(&may_be_empty);
        before_parts
    }

    /// Whether a match can begin with a set that goes on there.
    pub(super) fn allows(&self, set: usize, next: Pc) -> bool {
        self.viable[next as usize][usize::from(self.meets(set))]
    }

    /// Whether a part can begin with a character of the set.
    fn meets(&self, set: usize) -> bool {
        let mut classes = self.begins_part.iter().enumerate();
        classes.any(|(class, &begins)| begins && self.program.alphabet.holds(set, class as Class))
    }

    /// Follows the program from its match backward.
    fn reaching_a_match(&self, may_be_empty: &[bool]) -> Vec<[bool; 2]> {
        let insts = &self.program.insts;
        let mut before: Vec<[Vec<(Pc, bool)>; 2]> = vec![Default::default(); insts.len()];
        for (pc, inst) in insts.iter().enumerate() {
            for begun in [false, true] {
                let mut lead = |next: Pc, then: bool| {
                    before[next as usize][usize::from(then)].push((pc as Pc, begun));
                };
                match *inst {
                    Inst::Set { set, next } => lead(next, begun || self.meets(set)),
                    Inst::Split { first, second } => {
                        lead(first, begun);
                        lead(second, begun);
                    }
                    Inst::Again { split, next } => {
                        lead(split, begun);
                        lead(next, begun);
                    }
                    Inst::Behind { part, negate, next } => {
                        if begun || negate || may_be_empty[part] {
                            lead(next, begun);
                        }
                    }
                    Inst::Save { next, .. }
                    | Inst::Look { next, .. }
                    | Inst::Reference { next, .. }
                    | Inst::Around { next, .. }
                    | Inst::Atomic { next, .. } => lead(next, begun),
                    Inst::Match | Inst::Fail => {}
                }
            }
        }
        let mut viable = vec![[false; 2]; insts.len()];
        let matches = insts.iter().enumerate();
        let matches = matches.filter(|(_, inst)| matches!(inst, Inst::Match));
        let mut waiting: Vec<(Pc, bool)> = matches
            .flat_map(|(pc, _)| [(pc as Pc, false), (pc as Pc, true)])
            .collect();
        while let Some((pc, begun)) = waiting.pop() {
            let known = &mut viable[pc as usize][usize::from(begun)];
            if !std::mem::replace(known, true) {
                waiting.extend(&before[pc as usize][usize::from(begun)]);
            }
        }
        viable
    }
}

/// What a part can begin with.
#[derive(Debug, Default)]
struct Opening {
    sets: Vec<usize>,
    /// Whether it can match the empty text.
    is_empty: bool,
}

impl Opening {
    fn of(program: &Program, start: Pc) -> Opening {
        let mut opening = Opening::default();
        let mut seen = vec![false; program.insts.len()];
        let mut stack = vec![start];
        while let Some(pc) = stack.pop() {
            if std::mem::replace(&mut seen[pc as usize], true) {
                continue;
            }
            match program.insts[pc as usize] {
                Inst::Set { set, .. } => opening.sets.push(set),
                Inst::Match => opening.is_empty = true,
                Inst::Fail => {}
                Inst::Split { first, second } => stack.extend([first, second]),
                Inst::Again { split, next } => stack.extend([split, next]),
                Inst::Save { next, .. }
                | Inst::Look { next, .. }
                | Inst::Reference { next, .. }
                | Inst::Around { next, .. }
                | Inst::Behind { next, .. }
                | Inst::Atomic { next, .. } => stack.push(next),
            }
        }
        opening
    }
}
