//! Patterns as programs: a graph of small steps that both engines walk.

use foldhash::HashMap;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::absence;
use super::alphabet::{Alphabet, Class};
use super::syntax::{self, Greed, Look, MAX_STEPS, Node, PatternError, Syntax};

/// Index of an instruction.
pub type Pc = u32;

/// A pattern may keep at most this many groups, so that a bit set of their ends fits a machine word.
const MAX_GROUPS: usize = 31;

/// A program holds the text before a position against at most this many parts, so that a bit set of
/// them fits a machine word.
const MAX_PARTS: usize = 64;

/// What looks further behind than this many bytes looks at all of the text.
const MAX_BYTES_BEHIND: usize = 1_024;

/// How many turns of repeats that may be empty have begun at a position.
///
/// An instruction that is reached a second time at a position can be passed over, except after
/// another turn has begun: then it ends in an empty turn, and that ends the repeat.
pub type Turns = u8;

/// More turns than these are not distinguished.
pub const MAX_TURNS: Turns = 2;

/// One step of a program.
#[derive(Debug, Clone)]
pub enum Inst {
    /// Take one character of a set.
    Set { set: usize, next: Pc },
    /// Try one way, then the other.
    Split { first: Pc, second: Pc },
    /// After a repeat's body that may be empty: repeat from `split`, or go on with `next` if the body
    /// has taken nothing since `split` was tried at this position.
    Again { split: Pc, next: Pc },
    /// Remember the position.
    Save { slot: usize, next: Pc },
    /// Take the text that a group has matched.
    Reference { index: usize, next: Pc },
    /// Go on only if the position is as described.
    Look { look: Look, next: Pc },
    /// Go on only if the program at `start` matches from here (or, looking behind, up to here).
    Around {
        start: Pc,
        behind: bool,
        negate: bool,
        next: Pc,
    },
    /// Take what the program at `start` matches first, and never reconsider it.
    Atomic { start: Pc, next: Pc },
    /// Go on only if the text read so far ends in what a part matches, as [`Around`](Inst::Around)
    /// asks when it looks behind, in programs for the automaton.
    Behind { part: usize, negate: bool, next: Pc },
    /// The pattern, or a part that is asked about, has matched.
    Match,
    /// There is no match this way, though there was text to be waited for.
    Fail,
}

/// A part of a program that the text before a position is held against.
///
/// The automaton runs it forward from every position, beside its threads: the text before a position
/// ends in what the part matches if the part has come to its end there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub start: Pc,
    pub end: Pc,
}

/// How much of the text before a position decides on what matches there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// None of it, beside the character before.
    #[default]
    Nothing,
    /// At most so many bytes.
    Bytes(usize),
    /// All of it.
    Everything,
}

impl Reach {
    /// The first position that can still matter at this one and later, in a text that begins with
    /// `first`.
    pub fn before(self, position: usize, first: usize) -> usize {
        match self {
            Reach::Nothing => position,
            Reach::Bytes(bytes) => position.saturating_sub(bytes).max(first),
            Reach::Everything => first,
        }
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Program {
    pub insts: Vec<Inst>,
    pub start: Pc,
    pub alphabet: Alphabet,
    pub looks: Looks,
    /// What [`Inst::Behind`] asks for.
    pub parts: Vec<Part>,
    pub reach: Reach,
    /// Whether only the backtracking engine can run it.
    pub needs_backtracking: bool,
    /// Slot 0 is the start of the match; each group that is kept adds its start and its end.
    pub slots: usize,
    /// The slot for the end of a match that looks ahead, behind all others: such a program reads on
    /// until it has seen what it looks for.
    pub end_slot: Option<usize>,
    /// Whether groups stand in what such a match looks for.
    pub captures_ahead: bool,
    /// The groups whose texts are referred to, as bits.
    referred: u32,
    /// The sets that looks ask about, where the program has such looks.
    word_set: Option<usize>,
    newline_set: Option<usize>,
}

/// Which looks a program takes at the text around a position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Looks {
    pub word: bool,
    pub text_start: bool,
    pub line: bool,
    pub final_newline: bool,
    /// Whether any of them goes by what follows a position.
    pub at_end: bool,
}

impl Looks {
    /// Whether any of them depends on the character before a position.
    pub fn at_characters(self) -> bool {
        self.word || self.text_start || self.line
    }
}

/// What stands before a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Before {
    pub at_start: bool,
    pub word: bool,
    pub newline: bool,
}

impl Before {
    /// A number less than eight.
    pub fn number(self) -> usize {
        usize::from(self.at_start) | usize::from(self.word) << 1 | usize::from(self.newline) << 2
    }
}

/// What stands after a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The text ends here.
    End,
    /// One newline, and then the text ends.
    FinalNewline,
    /// A character of this class (a newline is taken not to be the last character).
    Class(Class),
}

impl Program {
    /// Where a match ends unless it looks ahead.
    pub const END: Pc = 0;

    /// Compiles a pattern for the automaton, or for the backtracker if the automaton can't run it.
    pub fn new(syntax: &Syntax) -> Result<Program, PatternError> {
        match Program::for_engine(syntax, Target::Automaton) {
            Ok(program) if !program.needs_backtracking => Ok(program),
            _ => Program::for_backtracker(syntax),
        }
    }

    /// Compiles a pattern for the backtracker, which can run them all.
    pub fn for_backtracker(syntax: &Syntax) -> Result<Program, PatternError> {
        Program::for_engine(syntax, Target::Backtracker)
    }

    fn for_engine(syntax: &Syntax, target: Target) -> Result<Program, PatternError> {
        if syntax.groups.len() > MAX_GROUPS {
            return Err(PatternError {
                offset: 0,
                message: format!(
                    "{} capturing groups, where at most {MAX_GROUPS} are allowed",
                    syntax.groups.len()
                ),
                remedy: Some("write `(?:…)` for those that are not used".into()),
            });
        }
        let slots = 1 + 2 * syntax.groups.len();
        let mut compiler = Compiler::new(target, slots);
        let end = compiler.push(Inst::Match)?;
        assert_eq!(end, Program::END);
        let start = compiler.emit(&syntax.node, end, Direction::Forward)?;
        let looks = compiler.looks;
        let word_set = match looks.word {
            true => Some(compiler.set(&word_class(syntax)?)),
            false => None,
        };
        let newline_set = (looks.line || looks.final_newline).then(|| compiler.set(&single('\n')));
        Ok(Program {
            alphabet: Alphabet::new(&compiler.sets).ok_or_else(too_many_classes)?,
            insts: compiler.insts,
            start,
            looks,
            parts: compiler.parts,
            reach: compiler.reach,
            needs_backtracking: compiler.needs_backtracking,
            slots: slots + usize::from(compiler.looks_ahead),
            end_slot: compiler.looks_ahead.then_some(slots),
            captures_ahead: compiler.captures_ahead,
            referred: compiler.referred,
            word_set,
            newline_set,
        })
    }

    /// Tells if any text of a group is referred to.
    pub fn has_references(&self) -> bool {
        self.referred != 0
    }

    /// Tells if a slot bounds a group whose text is referred to.
    pub fn is_referred_to(&self, slot: usize) -> bool {
        slot > 0 && self.referred >> ((slot - 1) / 2).min(MAX_GROUPS) & 1 == 1
    }

    /// Whether a class consists of word characters (false for all where no look asks).
    pub fn is_word(&self, class: Class) -> bool {
        self.word_set
            .is_some_and(|set| self.alphabet.holds(set, class))
    }

    /// Whether a class is that of the newline.
    pub fn is_newline(&self, class: Class) -> bool {
        self.newline_set
            .is_some_and(|set| self.alphabet.holds(set, class))
    }

    /// What the program can know of the text before a position, given the character there.
    pub fn before(&self, previous: Option<char>) -> Before {
        match previous {
            None => Before {
                at_start: self.looks.text_start || self.looks.line,
                ..Before::default()
            },
            Some(c) => self.after_class(self.alphabet.class_of(c)),
        }
    }

    /// The same, for a position right after a character of the class.
    pub fn after_class(&self, class: Class) -> Before {
        Before {
            at_start: false,
            word: self.looks.word && self.is_word(class),
            newline: self.looks.line && self.is_newline(class),
        }
    }

    /// Whether a position between `before` and `after` is as `look` wants it.
    pub fn sees(&self, look: Look, before: Before, after: After) -> bool {
        let next_word = match after {
            After::Class(class) => self.is_word(class),
            After::End | After::FinalNewline => false,
        };
        match look {
            Look::TextStart => before.at_start,
            Look::TextEnd => after == After::End,
            Look::TextEndOrFinalNewline => matches!(after, After::End | After::FinalNewline),
            Look::LineStart => before.at_start || before.newline,
            Look::LineEnd => match after {
                After::End | After::FinalNewline => true,
                After::Class(class) => self.is_newline(class),
            },
            Look::WordBoundary => before.word != next_word,
            Look::NotWordBoundary => before.word == next_word,
            Look::WordStart => !before.word && next_word,
            Look::WordEnd => before.word && !next_word,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// The engine that a program is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Automaton,
    Backtracker,
}

/// What is being emitted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    /// What the match consists of.
    Match,
    /// What it looks for ahead.
    Ahead,
    /// What it looks for behind.
    Behind,
}

/// What a look ahead of the automaton asks for.
enum AheadTarget<'n> {
    Comes(&'n Node),
    StaysAway(Vec<absence::State>),
}

/// Emits instructions from the last to the first: each piece is given the place where it goes on.
struct Compiler {
    target: Target,
    insts: Vec<Inst>,
    sets: Vec<ClassUnicode>,
    set_index: HashMap<Vec<(char, char)>, usize>,
    looks: Looks,
    inside: Inside,
    parts: Vec<Part>,
    reach: Reach,
    /// The slot that the end of a match takes that looks ahead.
    end_slot: usize,
    looks_ahead: bool,
    captures_ahead: bool,
    referred: u32,
    needs_backtracking: bool,
}

impl Compiler {
    fn new(target: Target, end_slot: usize) -> Compiler {
        Compiler {
            target,
            insts: Vec::new(),
            sets: Vec::new(),
            set_index: HashMap::default(),
            looks: Looks::default(),
            inside: Inside::Match,
            parts: Vec::new(),
            reach: Reach::Nothing,
            end_slot,
            looks_ahead: false,
            captures_ahead: false,
            referred: 0,
            needs_backtracking: false,
        }
    }

    fn push(&mut self, inst: Inst) -> Result<Pc, PatternError> {
        if self.insts.len() >= MAX_STEPS {
            return Err(syntax::too_many_steps());
        }
        self.insts.push(inst);
        Ok((self.insts.len() - 1) as Pc)
    }

    fn set(&mut self, class: &ClassUnicode) -> usize {
        let key: Vec<(char, char)> = class.iter().map(|r| (r.start(), r.end())).collect();
        let sets = &mut self.sets;
        *self.set_index.entry(key).or_insert_with(|| {
            sets.push(class.clone());
            sets.len() - 1
        })
    }

    fn emit(&mut self, node: &Node, next: Pc, way: Direction) -> Result<Pc, PatternError> {
        match node {
            Node::Empty => Ok(next),
            Node::Class(class) => {
                let set = self.set(class);
                self.push(Inst::Set { set, next })
            }
            Node::Look(look) => {
                self.note_look(*look);
                self.push(Inst::Look { look: *look, next })
            }
            Node::Reference { index } => {
                self.needs_backtracking = true;
                self.referred |= 1 << index;
                self.push(Inst::Reference {
                    index: *index,
                    next,
                })
            }
            Node::Concat(nodes) => self.emit_concat(nodes, next, way),
            Node::Alternation(nodes) => self.emit_alternation(nodes, next, way),
            Node::Repeat {
                node,
                min,
                max,
                greed: Greed::Possessive,
            } => {
                let end = self.push(Inst::Match)?;
                let start = self.emit_repeat(node, *min, *max, Greed::Greedy, end, way)?;
                self.emit_atomic(start, next)
            }
            Node::Repeat {
                node,
                min,
                max,
                greed,
            } => self.emit_repeat(node, *min, *max, *greed, next, way),
            Node::Group { index, node } => self.emit_group(*index, node, next, way),
            Node::Atomic(node) => {
                let end = self.push(Inst::Match)?;
                let start = self.emit(node, end, way)?;
                self.emit_atomic(start, next)
            }
            Node::Around {
                behind,
                negate,
                node,
            } => self.emit_around(*behind, *negate, node, next),
        }
    }

    fn note_look(&mut self, look: Look) {
        self.looks.at_end |= !matches!(look, Look::TextStart | Look::LineStart);
        match look {
            Look::TextStart => self.looks.text_start = true,
            Look::TextEnd => {}
            Look::TextEndOrFinalNewline => self.looks.final_newline = true,
            Look::LineStart | Look::LineEnd => self.looks.line = true,
            Look::WordBoundary | Look::NotWordBoundary | Look::WordStart | Look::WordEnd => {
                self.looks.word = true;
            }
        }
    }

    fn emit_concat(
        &mut self,
        nodes: &[Node],
        next: Pc,
        way: Direction,
    ) -> Result<Pc, PatternError> {
        let mut entry = next;
        let step = |entry, node| self.emit(node, entry, way);
        match way {
            Direction::Forward => entry = nodes.iter().rev().try_fold(entry, step)?,
            Direction::Backward => entry = nodes.iter().try_fold(entry, step)?,
        }
        Ok(entry)
    }

    fn emit_alternation(
        &mut self,
        nodes: &[Node],
        next: Pc,
        way: Direction,
    ) -> Result<Pc, PatternError> {
        let Some((last, others)) = nodes.split_last() else {
            return Ok(next);
        };
        let mut entry = self.emit(last, next, way)?;
        for node in others.iter().rev() {
            let first = self.emit(node, next, way)?;
            entry = self.push(Inst::Split {
                first,
                second: entry,
            })?;
        }
        Ok(entry)
    }

    fn emit_group(
        &mut self,
        index: usize,
        node: &Node,
        next: Pc,
        way: Direction,
    ) -> Result<Pc, PatternError> {
        let (start, end) = (1 + 2 * index, 2 + 2 * index);
        let (entry_slot, exit_slot) = match way {
            Direction::Forward => (start, end),
            Direction::Backward => (end, start),
        };
        self.captures_ahead |= self.inside == Inside::Ahead;
        let exit = self.push(Inst::Save {
            slot: exit_slot,
            next,
        })?;
        let body = self.emit(node, exit, way)?;
        self.push(Inst::Save {
            slot: entry_slot,
            next: body,
        })
    }

    fn emit_repeat(
        &mut self,
        node: &Node,
        min: u32,
        max: Option<u32>,
        greed: Greed,
        next: Pc,
        way: Direction,
    ) -> Result<Pc, PatternError> {
        let choice = |body: Pc, out: Pc| match greed {
            Greed::Lazy => Inst::Split {
                first: out,
                second: body,
            },
            Greed::Greedy | Greed::Possessive => Inst::Split {
                first: body,
                second: out,
            },
        };
        let mut entry = next;
        match max {
            None => {
                entry = self.push(Inst::Match)?; // stands in until the loop's body is there
                let again = match node.can_be_empty() {
                    true => self.push(Inst::Again { split: entry, next })?,
                    false => entry,
                };
                let body = self.emit(node, again, way)?;
                self.insts[entry as usize] = choice(body, next);
            }
            Some(max) => {
                for _ in min..max {
                    let body = self.emit(node, entry, way)?;
                    if body == entry {
                        break;
                    }
                    entry = self.push(choice(body, next))?;
                }
            }
        }
        for _ in 0..min {
            let body = self.emit(node, entry, way)?;
            if body == entry {
                // Nothing, however often it is repeated, is nothing.
                break;
            }
            entry = body;
        }
        Ok(entry)
    }

    fn emit_atomic(&mut self, start: Pc, next: Pc) -> Result<Pc, PatternError> {
        self.needs_backtracking = true;
        self.push(Inst::Atomic { start, next })
    }

    fn emit_around(
        &mut self,
        behind: bool,
        negate: bool,
        node: &Node,
        next: Pc,
    ) -> Result<Pc, PatternError> {
        if self.target == Target::Automaton {
            let emitted = match (behind, negate) {
                (true, _) => self.emit_behind(negate, node, next)?,
                (false, _) => self.emit_ahead(negate, node, next)?,
            };
            if let Some(entry) = emitted {
                return Ok(entry);
            }
        }
        self.needs_backtracking = true;
        let way = match behind {
            true => Direction::Backward,
            false => Direction::Forward,
        };
        if behind {
            self.reach = Reach::Everything;
        }
        let end = self.push(Inst::Match)?;
        let start = self.emit(node, end, way)?;
        self.push(Inst::Around {
            start,
            behind,
            negate,
            next,
        })
    }

    /// Emits a look behind for the automaton, if it can take it: it knows whether the text before a
    /// position ends in what is looked for, but neither how nor what comes after.
    fn emit_behind(
        &mut self,
        negate: bool,
        node: &Node,
        next: Pc,
    ) -> Result<Option<Pc>, PatternError> {
        let is_hard = node.any(&|node| match node {
            Node::Around { .. } | Node::Look(Look::TextEndOrFinalNewline) => true,
            Node::Group { .. } => !negate,
            _ => false,
        });
        if is_hard || self.inside == Inside::Behind || self.parts.len() == MAX_PARTS {
            return Ok(None);
        }
        let inside = std::mem::replace(&mut self.inside, Inside::Behind);
        let end = self.push(Inst::Match)?;
        let start = self.emit(node, end, Direction::Forward)?;
        self.inside = inside;
        self.reach = self.reach.max(match node.max_bytes() {
            Some(bytes) if bytes <= MAX_BYTES_BEHIND => Reach::Bytes(bytes),
            _ => Reach::Everything,
        });
        let part = self.parts.len();
        self.parts.push(Part { start, end });
        self.push(Inst::Behind { part, negate, next }).map(Some)
    }

    /// Emits a look ahead for the automaton, if nothing of the match comes after it: it then goes
    /// on as if what it looks for were part of the match, whose end it has noted. So it does where that must not come, if a
    /// few states see that it does not.
    ///
    /// What is asked of the text behind, once that has been seen, is asked before: where it does not hold,
    /// text is waited for all the same, since the reference would do so.
    fn emit_ahead(
        &mut self,
        negate: bool,
        node: &Node,
        next: Pc,
    ) -> Result<Option<Pc>, PatternError> {
        let Some(rest) = self.rest_without_text(next) else {
            return Ok(None);
        };
        let ahead = match negate {
            false => AheadTarget::Comes(node),
            true => match absence::states(node) {
                Some(states) => AheadTarget::StaysAway(states),
                None => return Ok(None),
            },
        };
        if self.inside == Inside::Ahead && rest.is_empty() {
            return self.emit_looked_for(&ahead, next).map(Some);
        }
        let asks = |inst: &Inst| matches!(inst, Inst::Behind { .. });
        let notes = |inst: &Inst| matches!(inst, Inst::Save { .. });
        // A group may have the name of one that ends where the look is.
        let is_plain = (!rest.iter().any(asks) || (node.is_greedy() && !negate))
            && (!rest.iter().any(notes) || !node.any(&|node| matches!(node, Node::Group { .. })));
        if self.inside != Inside::Match || !is_plain {
            return Ok(None);
        }
        self.looks_ahead = true;
        self.inside = Inside::Ahead;
        let seen = self.push(Inst::Match)?;
        let start = self.emit_looked_for(&ahead, seen)?;
        let mut entry = self.push(Inst::Save {
            slot: self.end_slot,
            next: start,
        })?;
        let mut in_vain = None;
        for inst in rest.into_iter().rev() {
            entry = match inst {
                Inst::Save { slot, .. } => self.push(Inst::Save { slot, next: entry })?,
                Inst::Behind { part, negate, .. } => {
                    let waiting = match in_vain {
                        Some(waiting) => waiting,
                        None => {
                            let fail = self.push(Inst::Fail)?;
                            self.emit(node, fail, Direction::Forward)?
                        }
                    };
                    in_vain = Some(waiting);
                    let first = self.push(Inst::Behind {
                        part,
                        negate,
                        next: entry,
                    })?;
                    let second = self.push(Inst::Behind {
                        part,
                        negate: !negate,
                        next: waiting,
                    })?;
                    self.push(Inst::Split { first, second })?
                }
                _ => unreachable!("only these take no text"),
            };
        }
        self.inside = Inside::Match;
        Ok(Some(entry))
    }

    fn emit_looked_for(&mut self, ahead: &AheadTarget<'_>, seen: Pc) -> Result<Pc, PatternError> {
        match ahead {
            AheadTarget::Comes(node) => self.emit(node, seen, Direction::Forward),
            AheadTarget::StaysAway(states) => self.emit_states(states, seen),
        }
    }

    /// Emits the states of what sees that something does not come.
    fn emit_states(&mut self, states: &[absence::State], seen: Pc) -> Result<Pc, PatternError> {
        self.note_look(Look::TextEnd);
        // `Match` stands in until all of them are there.
        let entries = states.iter().map(|_| self.push(Inst::Match));
        let entries = entries.collect::<Result<Vec<Pc>, _>>()?;
        for (state, &at) in states.iter().zip(&entries) {
            let mut entry = self.push(match state.holds {
                true => Inst::Look {
                    look: Look::TextEnd,
                    next: seen,
                },
                false => Inst::Fail,
            })?;
            let sure = state.settled_by.iter().map(|class| (class, seen));
            let goes_on = state.goes_on.iter();
            let goes_on = goes_on.map(|(class, state)| (class, entries[*state]));
            for (class, next) in goes_on.chain(sure).collect::<Vec<_>>() {
                let set = self.set(class);
                let first = self.push(Inst::Set { set, next })?;
                entry = self.push(Inst::Split {
                    first,
                    second: entry,
                })?;
            }
            self.insts[at as usize] = self.insts[entry as usize].clone();
        }
        Ok(entries[0])
    }

    /// The instructions from one to the end of the match, in their order, if there is but one way and
    /// none of them takes text.
    fn rest_without_text(&self, mut pc: Pc) -> Option<Vec<Inst>> {
        let mut rest = Vec::new();
        loop {
            let inst = &self.insts[pc as usize];
            match *inst {
                Inst::Match => return Some(rest),
                Inst::Save { next, .. } | Inst::Behind { next, .. } => pc = next,
                _ => return None,
            }
            rest.push(inst.clone());
        }
    }
}

fn too_many_classes() -> PatternError {
    PatternError {
        offset: 0,
        message: "so many different sets of characters".into(),
        remedy: Some("use fewer or simpler sets".into()),
    }
}

fn single(c: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(c, c)])
}

/// What `\w` means, which is also what word boundaries go by.
fn word_class(syntax: &Syntax) -> Result<ClassUnicode, PatternError> {
    let written = if syntax.ascii { r"(?a)\w" } else { r"\w" };
    let word = syntax::parse_as(syntax.dialect, written)?;
    Ok(match word.node {
        Node::Class(class) => class,
        _ => ClassUnicode::empty(),
    })
}
