//! Following the threads of a state through a program.

use crate::response::pattern::alphabet::Class;
use crate::response::pattern::program::{After, Before, Inst, MAX_TURNS, Pc, Program, Turns};

use super::state::{AtEnd, FRESH, Key, MATCHED, MatchEnd, Source};

/// A thread that has come to where it takes a character, or has matched.
#[derive(Debug, Clone, Copy)]
struct Leaf {
    pc: Pc,
    source: Source,
    /// How many turns of repeats have begun since the last character.
    turns: Turns,
}

impl Leaf {
    fn new(pc: Pc, source: Source) -> Leaf {
        Leaf {
            pc,
            source,
            turns: 0,
        }
    }

    fn is_match(&self, program: &Program) -> bool {
        self.pc == MATCHED || matches!(program.insts[self.pc as usize], Inst::Match)
    }
}

/// Follows threads to where they take a character or match, best first: these are their leaves.
///
/// Of two threads that come to the same instruction the better one goes on, as in a backtracking
/// matcher, where the other would find what has been tried before. The pattern `a(?:b|bc)` in `ab`:
///
/// ```text
/// thread after a   ─►  leaves: the first b, the b of bc
/// takes b          ─►  threads: at the end, before c
/// ```
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// For each instruction, by the turns begun: in which generation it was last followed.
    seen: Vec<[u32; MAX_TURNS as usize + 1]>,
    /// For each instruction: in which generation a thread last came to it by taking a character.
    taken: Vec<u32>,
    /// How often threads have been followed. Numbers that are less are out of date, so that nothing
    /// has to be cleared.
    generation: u32,
    /// Instructions followed since [`take_work`](Threads::take_work) was last called.
    work: u64,
    stack: Vec<Leaf>,
    leaves: Vec<Leaf>,
    /// Which parts the text before the position ends in, one bit each.
    held: u64,
    /// Where these parts take a character.
    part_leaves: Vec<Pc>,
}

impl Threads {
    /// Counts work that is done with threads elsewhere.
    pub(super) fn add_work(&mut self, work: u64) {
        self.work += work;
    }

    /// About how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        let each = size_of::<[u32; MAX_TURNS as usize + 1]>() + size_of::<u32>();
        self.seen.len() * each + self.leaves.capacity() * size_of::<Leaf>()
    }

    /// How much work has been done since this was last asked.
    pub(super) fn take_work(&mut self) -> u64 {
        std::mem::take(&mut self.work)
    }

    /// Follows threads, and unless a match has been found a fresh one, to their leaves. The
    /// registers of the first thread stand in `first_row`.
    pub(super) fn follow(
        &mut self,
        program: &Program,
        threads: &[Pc],
        first_row: usize,
        key: &Key,
        after: After,
    ) {
        self.leaves.clear();
        self.begin_generation(program.insts.len());
        self.follow_parts(program, key, after);
        for (row, &pc) in threads.iter().enumerate() {
            let leaf = Leaf::new(pc, Source::row((first_row + row) as u16));
            if pc == MATCHED {
                self.leaves.push(leaf);
            } else {
                self.follow_one(program, leaf, key.before, after);
            }
        }
        let ended = after == After::End && key.if_final.last() == Some(&MATCHED);
        if !key.found && !ended && !key.quiet {
            let others = self.leaves.len();
            let fresh = Leaf::new(program.start, Source::row(FRESH));
            self.follow_one(program, fresh, key.before, after);
            if key.not_empty {
                self.remove_matches(program, others);
            }
        }
    }

    fn begin_generation(&mut self, insts: usize) {
        if self.seen.len() < insts {
            self.seen.resize(insts, Default::default());
            self.taken.resize(insts, 0);
        }
        if self.generation == u32::MAX {
            self.seen.fill(Default::default());
            self.taken.fill(0);
            self.generation = 0;
        }
        self.generation += 1;
    }

    /// Removes the leaves behind the first `others` whose matches have ended.
    fn remove_matches(&mut self, program: &Program, others: usize) {
        let has_ended = |leaf: &Leaf| {
            let noted = program
                .end_slot
                .map_or(0, |slot| leaf.source.sets >> slot & 1);
            leaf.is_match(program) || noted == 1
        };
        let mut index = 0;
        self.leaves.retain(|leaf| {
            index += 1;
            index <= others || !has_ended(leaf)
        });
    }

    /// Follows the parts that the text is held against: those that have begun before the position,
    /// and all of them from there.
    fn follow_parts(&mut self, program: &Program, key: &Key, after: After) {
        self.held = 0;
        self.part_leaves.clear();
        let starts = program.parts.iter().map(|part| part.start);
        let mut stack: Vec<Pc> = key.behind.iter().copied().chain(starts).collect();
        while let Some(pc) = stack.pop() {
            self.work += 1;
            let seen = &mut self.seen[pc as usize][0];
            if std::mem::replace(seen, self.generation) == self.generation {
                continue;
            }
            match program.insts[pc as usize] {
                Inst::Set { .. } => self.part_leaves.push(pc),
                Inst::Match => {
                    let ends = program.parts.iter().enumerate();
                    let ended = ends.filter(|(_, part)| part.end == pc);
                    self.held |= ended.fold(0, |held, (part, _)| held | 1 << part);
                }
                Inst::Split { first, second } => stack.extend([first, second]),
                Inst::Again { split, next } => stack.extend([split, next]),
                Inst::Save { next, .. } => stack.push(next),
                Inst::Look { look, next } => {
                    if program.sees(look, key.before, after) {
                        stack.push(next);
                    }
                }
                Inst::Behind { .. } | Inst::Fail => {
                    unreachable!("what is looked for behind looks at nothing else")
                }
                Inst::Around { .. } | Inst::Atomic { .. } | Inst::Reference { .. } => {
                    needs_backtracking()
                }
            }
        }
    }

    /// The sets of characters that the leaves take, and those of the parts.
    pub(super) fn sets(&self, program: &Program) -> impl Iterator<Item = usize> {
        let leaves = self.leaves.iter().map(|leaf| leaf.pc);
        let takers = leaves.chain(self.part_leaves.iter().copied());
        takers.filter_map(|pc| match program.insts.get(pc as usize) {
            Some(&Inst::Set { set, .. }) => Some(set),
            _ => None,
        })
    }

    /// Where the parts go on that can take a character of the class, in order.
    pub(super) fn take_parts(&self, program: &Program, class: Class) -> Box<[Pc]> {
        let leaves = self.part_leaves.iter();
        let mut taken: Vec<Pc> = leaves
            .filter_map(|&pc| match program.insts[pc as usize] {
                Inst::Set { set, next } if program.alphabet.holds(set, class) => Some(next),
                _ => None,
            })
            .collect();
        taken.sort_unstable();
        taken.dedup();
        taken.into()
    }

    fn follow_one(&mut self, program: &Program, thread: Leaf, before: Before, after: After) {
        self.stack.push(thread);
        while let Some(leaf) = self.stack.pop() {
            self.work += 1;
            let Leaf {
                pc,
                mut source,
                turns,
            } = leaf;
            let seen = &mut self.seen[pc as usize][usize::from(turns)];
            if std::mem::replace(seen, self.generation) == self.generation {
                continue;
            }
            let on = |pc, source| Leaf { pc, source, turns };
            match program.insts[pc as usize] {
                Inst::Set { .. } | Inst::Match => self.leaves.push(leaf),
                Inst::Split { first, second } => {
                    self.stack.push(on(second, source));
                    self.stack.push(on(first, source));
                }
                Inst::Again { split, next } => {
                    let tried = self.seen[split as usize].contains(&self.generation);
                    self.stack.push(match tried {
                        true => on(next, source),
                        false => Leaf {
                            pc: split,
                            source,
                            turns: (turns + 1).min(MAX_TURNS),
                        },
                    });
                }
                Inst::Save { slot, next } => {
                    source.sets |= 1 << slot;
                    self.stack.push(on(next, source));
                }
                Inst::Look { look, next } => {
                    if program.sees(look, before, after) {
                        self.stack.push(on(next, source));
                    }
                }
                Inst::Behind { part, negate, next } => {
                    if (self.held >> part & 1 == 1) != negate {
                        self.stack.push(on(next, source));
                    }
                }
                Inst::Fail => {}
                Inst::Around { .. } | Inst::Atomic { .. } | Inst::Reference { .. } => {
                    needs_backtracking()
                }
            }
        }
    }

    /// Lets the leaves take a character of the class. Adds the threads that can, up to the first
    /// match, which is returned. The leaves stay, so that they can take another.
    pub(super) fn take(
        &mut self,
        program: &Program,
        class: Class,
        threads: &mut Vec<Pc>,
        sources: &mut Vec<Source>,
    ) -> Option<Source> {
        self.begin_generation(program.insts.len());
        let takes = |leaf: &&Leaf| match program.insts[leaf.pc as usize] {
            Inst::Set { set, .. } => program.alphabet.holds(set, class),
            _ => false,
        };
        let takers = self.leaves.iter().filter(takes).count();
        threads.reserve_exact(takers);
        sources.reserve_exact(takers);
        for leaf in &self.leaves {
            match program.insts[leaf.pc as usize] {
                Inst::Match => return Some(leaf.source),
                Inst::Set { set, next } if program.alphabet.holds(set, class) => {
                    let taken = &mut self.taken[next as usize];
                    if std::mem::replace(taken, self.generation) != self.generation {
                        threads.push(next);
                        sources.push(leaf.source);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// What the leaves say that threads have come to at the end of the text.
    pub(super) fn at_end(&self, program: &Program) -> AtEnd {
        let found = self.leaves.iter().find(|leaf| leaf.is_match(program));
        let is_live = |leaf: &&Leaf| !leaf.is_match(program) && leaf.source.row != FRESH;
        AtEnd {
            found: found.map(|leaf| match leaf.pc {
                MATCHED => (leaf.source, MatchEnd::BeforeNewline),
                Program::END => (leaf.source, MatchEnd::Here),
                _ => (leaf.source, MatchEnd::Noted),
            }),
            live: self.leaves.iter().find(is_live).map(|leaf| leaf.source.row),
            best: self.leaves.first().map(|leaf| leaf.source),
            is_best: self
                .leaves
                .first()
                .is_some_and(|leaf| leaf.is_match(program)),
        }
    }
}

fn needs_backtracking() -> ! {
    unreachable!("programs that need backtracking are not run as automata")
}
