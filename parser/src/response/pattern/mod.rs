//! Regular expressions as response templates use them, matched in text that is still growing.
//!
//! Delimiters are regular expressions in the dialect of Python's third-party `regex` module. After every chunk, the parser
//! needs to know three things about each: where it matches, where its groups lie, and from
//! which place on the text could still grow into a match. And it may not read the text twice to find out.
//!
//! # Why it is our own
//!
//! - *regex-automata* has automata that can be fed by the byte. But they say where a match ends, and not where
//!   it began, nor from where on one may be growing; and they give up on Unicode word boundaries as soon as the
//!   text is not ASCII. Its engines that do follow groups want the whole text at once. Its `$` does not match
//!   before a final newline.
//! - *fancy-regex* knows lookaround, but wants the whole text at once, too, and starts over for each search.
//!
//! The parser of the dialect is in `syntax`; the tables of Unicode are those of *regex-syntax*.
//! `program` compiles what it reads into a graph of small steps, over an alphabet of only as many
//! classes of characters as the pattern can distinguish (`alphabet`). Two engines run the graph.
//!
//! # The automaton
//!
//! `automaton` reads every character once. A state is the list of threads that a
//! backtracking matcher would still have to try, best first; states and transitions are worked out when they
//! are first needed, and kept. Beside the state stand registers, one row for each thread: where its match began,
//! and where its groups lie. So the automaton can be stopped after any character and asked what has matched,
//! and its best thread that wants more text shows from where on to hold text back. What else the dialect asks
//! for is part of the state:
//!
//! - `$` also matches before a newline that ends the text. When a newline is read, nobody knows whether it is
//!   the last character. So threads that took it for the last live on beside the others, and count only if the
//!   text does end there.
//! - Word boundaries are Unicode's, or ASCII's under `(?a)`. What kind of character came before is part of
//!   the state, and what comes next is looked at before a thread goes on.
//! - A look ahead that nothing of the match comes after, as in `\}(?=,)`, is read as if it belonged to the match. A
//!   register notes where the match ends before it.
//! - So is one that must not hold, as in `(?=<call>(?!.*?</think>))`, if what it looks for is a row of characters, with any number of
//!   others before it, and nothing is looked for behind after it: `absence` makes an automaton of few states which sees that the row does
//!   not come. Each match reads on until that is known: where that is the end of the text, and there are many matches, the meter stops it.
//! - What is looked for behind runs along, as *parts* of the program that begin at every position. Where a part has come to its
//!   end, the text before ends in what is looked for. Which parts have begun is part of the state, too. A search that begins
//!   amid a text first reads what its parts may look back at, in *quiet* states, in which no match begins.
//!
//! # The backtracker
//!
//! `backtrack` is for what the automaton can't run: other looks ahead (those within a
//! match, and those that must not hold and look for more than that), groups in a look behind, atomic groups, possessive
//! quantifiers, and references to what a group has matched. It remembers which steps have failed at which places and does not try them
//! again, which defuses nested repeats; its notes take room where something was tried, and none for text that was
//! passed over. A partial match is found by a second search that stops
//! where the text ends and another character is wanted.
//!
//! # The meter
//!
//! `meter` counts the steps of both, for all searches in a message together. They may
//! be so many, and so many more for each byte of the text: patterns in use take less than a tenth of that. A
//! pattern that goes over the same text again and again (`<.*Q|<`, large counted repeats, lookaround that reads
//! far ahead) uses it up, and parsing fails with `ParseError::TooCostly` instead of taking for ever.
//!
//! `chunk_dependence` visits all states of an automaton to find out whether the pattern can be trusted with chunks.

mod absence;
mod alphabet;
#[cfg(feature = "internals")]
mod ambiguity;
mod automaton;
mod backtrack;
mod before_parts;
mod chunk_dependence;
#[cfg(feature = "internals")]
mod examples;
#[cfg(feature = "internals")]
mod holding;
mod matches;
mod meter;
mod prefilter;
mod program;
#[cfg(feature = "internals")]
mod reach;
mod search;
mod syntax;
mod taking;
#[cfg(test)]
mod tests;
mod window;

use std::sync::{Mutex, OnceLock};

use automaton::{Automaton, Scanner};
use program::Program;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

#[cfg(feature = "internals")]
pub use examples::{Draft, drafts};
pub use matches::Matches;
pub use meter::{Meter, TooCostly};
pub use prefilter::Prefilter;
pub use program::Reach;
pub use search::{Search, Verdict};
#[cfg(feature = "internals")]
pub use syntax::{Construct, constructs};
pub use syntax::{Dialect, Node, PatternError, Syntax};
#[cfg(feature = "internals")]
pub use syntax::{Greed, Look, parse_as};
pub use window::Window;

/// Searches that have ended are kept for later ones, each with the automaton that it has built: as many
/// as take no more bytes than this together.
const MAX_POOLED_SIZE: usize = 4 << 20;

/// A compiled regular expression.
#[derive(Debug)]
pub struct Pattern {
    engine: Engine,
    groups: Vec<String>,
    /// How much work it was to compile it.
    steps: usize,
    /// Whether a match may be under way wherever the text ends in blanks, and there is none as long as only blanks come.
    waits_behind_blanks: bool,
    /// Searches that have ended, whose automata the next ones go on building.
    pool: Mutex<Pool>,
    /// Whether what it finds depends on chunks, which takes a while to find out.
    /// Where matches are taken at once, and where they wait for text that would change them.
    is_chunk_dependent: [OnceLock<Option<bool>>; 2],
}

/// Searches that are not in use.
#[derive(Debug, Default)]
struct Pool {
    searches: Vec<Search>,
    /// About how many bytes they take.
    size: usize,
}

#[derive(Debug)]
enum Engine {
    Automaton(Automaton),
    Backtracking(Program, Prefilter),
}

impl Pattern {
    /// Compiles a regular expression of the `regex` module.
    pub fn new(pattern: &str) -> Result<Pattern, PatternError> {
        Pattern::new_as(Dialect::Regex, pattern)
    }

    /// Compiles a regular expression of a dialect.
    pub fn new_as(dialect: Dialect, pattern: &str) -> Result<Pattern, PatternError> {
        Pattern::compile(syntax::parse_as(dialect, pattern)?)
    }

    /// A pattern that matches any of the literals, the longest first.
    pub fn literals(literals: &[String]) -> Result<Pattern, PatternError> {
        let mut ordered: Vec<&String> = literals.iter().collect();
        ordered.sort_by_key(|literal| std::cmp::Reverse(literal.chars().count()));
        Pattern::compile(any_of(&ordered))
    }

    fn compile(syntax: Syntax) -> Result<Pattern, PatternError> {
        let program = Program::new(&syntax)?;
        let steps = program.insts.len().max(syntax.items);
        let engine = if program.needs_backtracking {
            let prefilter = Prefilter::new(&program);
            Engine::Backtracking(program, prefilter)
        } else {
            Engine::Automaton(Automaton::new(program))
        };
        let waits_behind_blanks = match &engine {
            Engine::Automaton(automaton) => {
                automaton.prefilter().skips_blanks() && syntax.node.may_begin_with_blanks()
            }
            Engine::Backtracking(..) => false,
        };
        Ok(Pattern {
            steps,
            engine,
            waits_behind_blanks,
            groups: syntax.groups,
            pool: Mutex::default(),
            is_chunk_dependent: Default::default(),
        })
    }

    /// How large it is: the steps that it unrolls to, or the characters and sets that it is written with
    /// if there are more of them.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// The names of the groups that are kept; empty for one without.
    pub fn groups(&self) -> &[String] {
        &self.groups
    }

    /// How much of the text before a position decides on whether it matches there.
    pub fn reach(&self) -> Reach {
        match &self.engine {
            Engine::Automaton(automaton) => automaton.program.reach,
            Engine::Backtracking(program, _) => program.reach,
        }
    }

    /// Whether it asks for the start of the text.
    pub fn looks_at_start(&self) -> bool {
        match &self.engine {
            Engine::Automaton(automaton) => automaton.program.looks.text_start,
            Engine::Backtracking(program, _) => program.looks.text_start,
        }
    }

    /// Whether text that ends in blanks is held back from the first of them on, as by `\s*</x>`.
    pub fn waits_behind_blanks(&self) -> bool {
        self.waits_behind_blanks
    }

    /// Where a match may begin, unless it begins with the text.
    pub fn prefilter(&self) -> &Prefilter {
        match &self.engine {
            Engine::Automaton(automaton) => automaton.prefilter(),
            Engine::Backtracking(_, prefilter) => prefilter,
        }
    }

    /// The same as long as nothing has begun of what it looks for behind, if that is known any better.
    pub fn before_parts(&self) -> Option<&Prefilter> {
        match &self.engine {
            Engine::Automaton(automaton) => automaton.before_parts(),
            Engine::Backtracking(..) => None,
        }
    }

    /// Whether what it finds depends on how a text is cut into chunks; `None` if no automaton can run
    /// it, or has too many states to say. A match that is seen to change with more text may wait for it.
    pub fn is_chunk_dependent(&self, waits: bool) -> Option<bool> {
        let visit_all = || match &self.engine {
            Engine::Automaton(automaton) => {
                chunk_dependence::is_chunk_dependent(&automaton.program, waits)
            }
            Engine::Backtracking(..) => None,
        };
        *self.is_chunk_dependent[usize::from(waits)].get_or_init(visit_all)
    }

    /// Whether its matches look ahead, and the automaton runs it.
    #[cfg(feature = "internals")]
    pub fn looks_ahead(&self) -> bool {
        self.program().end_slot.is_some()
    }

    /// Whether only the engine that backtracks can run it.
    #[cfg(feature = "internals")]
    pub fn needs_backtracking(&self) -> bool {
        matches!(self.engine, Engine::Backtracking(..))
    }

    /// Whether what an alternative of a pattern finds depends on chunks, for patterns that are as a
    /// whole too hard to judge.
    #[cfg(feature = "internals")]
    pub fn has_chunk_dependent_branch(pattern: &str, waits: bool) -> bool {
        syntax::parse(pattern)
            .is_ok_and(|syntax| chunk_dependence::has_chunk_dependent_branch(&syntax, waits))
    }

    #[cfg(feature = "internals")]
    fn program(&self) -> &Program {
        match &self.engine {
            Engine::Automaton(automaton) => &automaton.program,
            Engine::Backtracking(program, _) => program,
        }
    }

    /// The first match at or after a position, in a text that is complete.
    #[cfg(feature = "internals")]
    pub fn find(
        &self,
        text: &str,
        from: usize,
        meter: &mut Meter,
    ) -> Result<Option<std::ops::Range<usize>>, TooCostly> {
        let window = Window::whole(text);
        let mut search = self.search();
        search.start(&window, from);
        let advanced = search.advance(self, &window, window.end(), meter);
        let verdict = advanced.and_then(|()| search.verdict(self, &window, true, meter));
        self.give_back(search);
        Ok(match verdict? {
            Verdict::Found { start, end } => Some(start..end),
            Verdict::Partial { .. } | Verdict::Nothing => None,
        })
    }

    /// A search, which the caller begins with [`Search::start`] and gives back when it is done.
    pub fn search(&self) -> Search {
        let pooled = match self.pool.lock() {
            Ok(mut pool) => pool.take(),
            Err(_) => None,
        };
        pooled.unwrap_or_else(|| match &self.engine {
            Engine::Automaton(_) => Search::Scan(Box::new(Scanner::new())),
            Engine::Backtracking(..) => Search::Backtrack(Box::default()),
        })
    }

    /// Takes a search back, so that the next one need not build its automaton again.
    pub fn give_back(&self, mut search: Search) {
        search.forget();
        if let Ok(mut pool) = self.pool.lock() {
            pool.give_back(search);
        }
    }

    /// All matches in a text that is complete, each with the bounds of its groups.
    pub fn for_each_match(
        &self,
        text: &str,
        visit: impl FnMut(Match<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<(), TooCostly> {
        self.for_each_match_within(text, &mut Meter::new(text.len()), visit)
    }

    /// The same, as a part of what a meter counts.
    pub fn for_each_match_within(
        &self,
        text: &str,
        meter: &mut Meter,
        visit: impl FnMut(Match<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<(), TooCostly> {
        let mut matches = Matches::new(self);
        let result = matches.walk(self, text, true, meter, visit);
        matches.end(self);
        result
    }
}

impl Pool {
    fn take(&mut self) -> Option<Search> {
        let search = self.searches.pop()?;
        self.size -= search.size();
        Some(search)
    }

    fn give_back(&mut self, search: Search) {
        let size = search.size();
        if self.size + size <= MAX_POOLED_SIZE {
            self.size += size;
            self.searches.push(search);
        }
    }
}

/// The syntax of a pattern that matches any of the literals.
fn any_of(literals: &[&String]) -> Syntax {
    let character = |c| Node::Class(ClassUnicode::new([ClassUnicodeRange::new(c, c)]));
    let literal = |text: &&String| Node::Concat(text.chars().map(character).collect());
    Syntax {
        dialect: Dialect::Regex,
        node: Node::Alternation(literals.iter().map(literal).collect()),
        groups: Vec::new(),
        ascii: false,
        constructs: Vec::new(),
        items: 0,
    }
}

/// One match of a pattern.
#[derive(Debug, Clone, Copy)]
pub struct Match<'s> {
    pub start: usize,
    pub end: usize,
    groups: &'s [usize],
}

impl Match<'_> {
    /// Where the group with this number lies, if it took part in the match.
    pub fn group(&self, index: usize) -> Option<std::ops::Range<usize>> {
        group(self.groups, index)
    }
}

/// Where a group lies, given the bounds of all groups of a match.
pub fn group(bounds: &[usize], index: usize) -> Option<std::ops::Range<usize>> {
    let start = *bounds.get(2 * index)?;
    let end = *bounds.get(2 * index + 1)?;
    (start != automaton::UNSET && end != automaton::UNSET).then_some(start..end)
}
