//! Regular expressions as response templates use them, matched in text that is still growing.
//!
//! [`syntax`] reads the dialect, [`program`] compiles it, and two engines run it: [`automaton`]
//! reads every character once and keeps its state between chunks, [`backtrack`] is for patterns
//! with lookaround, atomic groups or possessive quantifiers, which no automaton can run.

mod alphabet;
#[cfg(feature = "chat-template")]
mod ambiguity;
mod automaton;
mod backtrack;
mod chunk_dependence;
#[cfg(feature = "chat-template")]
mod examples;
#[cfg(feature = "chat-template")]
mod holding;
mod meter;
mod prefilter;
mod program;
#[cfg(feature = "chat-template")]
mod reach;
mod syntax;
#[cfg(test)]
mod tests;

use std::sync::Mutex;

use automaton::{Automaton, Scanner};
use backtrack::Backtracker;
use prefilter::Prefilter;
use program::Program;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use syntax::{Node, Syntax};

#[cfg(feature = "chat-template")]
pub(crate) use examples::{Draft, drafts};
pub(crate) use meter::{Meter, TooCostly};
pub(crate) use syntax::PatternError;
#[cfg(feature = "chat-template")]
pub(crate) use syntax::{Construct, constructs};

/// From this many bytes on, text that is held back is not searched again at every chunk by a
/// pattern that needs backtracking, but only when it has grown by a sixteenth: else each chunk
/// would cost as much as all text held back.
const PATIENT_FROM: usize = 256;

/// So many searches are kept for later ones, each with the automaton that it has built.
const MAX_POOLED: usize = 16;

/// A piece of the text since the anchor.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window<'t> {
    pub(crate) text: &'t str,
    /// Where in the text since the anchor this piece begins.
    pub(crate) base: usize,
    /// The character before it.
    pub(crate) before: Option<char>,
}

impl<'t> Window<'t> {
    /// A window on a whole text.
    pub(crate) fn whole(text: &'t str) -> Window<'t> {
        Window {
            text,
            base: 0,
            before: None,
        }
    }

    pub(crate) fn end(&self) -> usize {
        self.base + self.text.len()
    }

    /// The text between two positions.
    pub(crate) fn slice(&self, from: usize, to: usize) -> &'t str {
        &self.text[from - self.base..to - self.base]
    }

    /// The nearest position at or before this one that does not cut a character in two.
    pub(crate) fn floor(&self, position: usize) -> usize {
        self.base + self.text.floor_char_boundary(position - self.base)
    }

    pub(crate) fn char_at(&self, position: usize) -> Option<char> {
        self.text[position - self.base..].chars().next()
    }

    pub(crate) fn char_before(&self, position: usize) -> Option<char> {
        match position.checked_sub(self.base) {
            Some(0) | None => self.before.filter(|_| position == self.base),
            Some(offset) => self.text[..offset].chars().next_back(),
        }
    }
}

/// What a search has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The leftmost match, as far as the text goes.
    Found { start: usize, end: usize },
    /// No match, but from here on the text may still grow into one.
    Partial { start: usize },
    /// Neither.
    Nothing,
}

/// A compiled regular expression.
#[derive(Debug)]
pub(crate) struct Pattern {
    engine: Engine,
    groups: Vec<String>,
    /// Searches that have ended, whose automata the next ones go on building.
    pool: Mutex<Vec<Search>>,
}

#[derive(Debug)]
enum Engine {
    Automaton(Automaton),
    Backtracking(Program, Prefilter),
}

impl Pattern {
    /// Compiles a regular expression.
    pub(crate) fn new(pattern: &str) -> Result<Pattern, PatternError> {
        Pattern::compile(syntax::parse(pattern)?)
    }

    /// A pattern that matches any of the literals, the longest first.
    pub(crate) fn literals(literals: &[String]) -> Result<Pattern, PatternError> {
        let mut ordered: Vec<&String> = literals.iter().collect();
        ordered.sort_by_key(|literal| std::cmp::Reverse(literal.chars().count()));
        Pattern::compile(any_of(&ordered))
    }

    fn compile(syntax: Syntax) -> Result<Pattern, PatternError> {
        let program = Program::new(&syntax)?;
        Ok(Pattern {
            engine: if program.needs_backtracking {
                let prefilter = Prefilter::new(&program);
                Engine::Backtracking(program, prefilter)
            } else {
                Engine::Automaton(Automaton::new(program))
            },
            groups: syntax.groups,
            pool: Mutex::default(),
        })
    }

    /// The names of its groups.
    pub(crate) fn groups(&self) -> &[String] {
        &self.groups
    }

    /// Whether it may look at any text before the position where it matches.
    pub(crate) fn looks_behind(&self) -> bool {
        match &self.engine {
            Engine::Automaton(_) => false,
            Engine::Backtracking(program, _) => program.looks.behind,
        }
    }

    /// Whether what it finds depends on how a text is cut into chunks; `None` if it looks around or has
    /// too many states to say.
    pub(crate) fn is_chunk_dependent(&self) -> Option<bool> {
        match &self.engine {
            Engine::Automaton(automaton) => {
                chunk_dependence::is_chunk_dependent(&automaton.program)
            }
            Engine::Backtracking(..) => None,
        }
    }

    /// Whether what an alternative of a pattern finds depends on chunks, for patterns that are as a
    /// whole too hard to judge.
    #[cfg(feature = "chat-template")]
    pub(crate) fn has_chunk_dependent_branch(pattern: &str) -> bool {
        syntax::parse(pattern)
            .is_ok_and(|syntax| chunk_dependence::has_chunk_dependent_branch(&syntax))
    }

    #[cfg(feature = "chat-template")]
    fn program(&self) -> &Program {
        match &self.engine {
            Engine::Automaton(automaton) => &automaton.program,
            Engine::Backtracking(program, _) => program,
        }
    }

    /// The first match at or after a position, in a text that is complete.
    #[cfg(feature = "chat-template")]
    pub(crate) fn find(
        &self,
        text: &str,
        from: usize,
        meter: &mut Meter,
    ) -> Result<Option<std::ops::Range<usize>>, TooCostly> {
        let window = Window::whole(text);
        let mut search = self.search();
        search.start(self, &window, from);
        let advanced = search.advance(self, &window, window.end(), meter);
        let verdict = advanced.and_then(|()| search.verdict(self, &window, true, meter));
        self.give_back(search);
        Ok(match verdict? {
            Verdict::Found { start, end } => Some(start..end),
            Verdict::Partial { .. } | Verdict::Nothing => None,
        })
    }

    /// A search, which the caller begins with [`Search::start`] and gives back when it is done.
    pub(crate) fn search(&self) -> Search {
        let pooled = match self.pool.lock() {
            Ok(mut pool) => pool.pop(),
            Err(_) => None,
        };
        pooled.unwrap_or_else(|| match &self.engine {
            Engine::Automaton(_) => Search::Scan(Box::new(Scanner::new())),
            Engine::Backtracking(..) => Search::Backtrack(Retry::default()),
        })
    }

    /// Takes a search back, so that the next one need not build its automaton again.
    pub(crate) fn give_back(&self, mut search: Search) {
        // What it found was in another text.
        match &mut search {
            Search::Scan(scanner) => scanner.forget(),
            Search::Backtrack(retry) => retry.last = None,
        }
        if let Ok(mut pool) = self.pool.lock()
            && pool.len() < MAX_POOLED
        {
            pool.push(search);
        }
    }

    /// All matches in a text that is complete, each with the bounds of its groups.
    pub(crate) fn for_each_match(
        &self,
        text: &str,
        mut visit: impl FnMut(Match<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<(), TooCostly> {
        let window = Window::whole(text);
        let mut search = self.search();
        let result = self.visit_matches(&mut search, &window, &mut visit);
        self.give_back(search);
        result
    }

    fn visit_matches(
        &self,
        search: &mut Search,
        window: &Window<'_>,
        visit: &mut impl FnMut(Match<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<(), TooCostly> {
        let mut meter = Meter::new(window.text.len());
        let mut from = 0;
        let mut after_empty = false;
        while from <= window.end() {
            if after_empty {
                search.start_after_empty(self, window, from);
            } else {
                search.start(self, window, from);
            }
            search.advance(self, window, window.end(), &mut meter)?;
            let verdict = search.verdict(self, window, true, &mut meter)?;
            let Verdict::Found { start, end } = verdict else {
                break;
            };
            let found = Match {
                start,
                end,
                groups: search.groups(self),
            };
            if visit(found).is_break() {
                break;
            }
            from = end;
            after_empty = start == end;
        }
        Ok(())
    }
}

/// The syntax of a pattern that matches any of the literals.
fn any_of(literals: &[&String]) -> Syntax {
    let character = |c| Node::Class(ClassUnicode::new([ClassUnicodeRange::new(c, c)]));
    let literal = |text: &&String| Node::Concat(text.chars().map(character).collect());
    Syntax {
        node: Node::Alternation(literals.iter().map(literal).collect()),
        groups: Vec::new(),
        ascii: false,
        constructs: Vec::new(),
    }
}

/// One match of a pattern.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Match<'s> {
    pub(crate) start: usize,
    pub(crate) end: usize,
    groups: &'s [usize],
}

impl Match<'_> {
    /// Where the group with this number lies, if it took part in the match.
    pub(crate) fn group(&self, index: usize) -> Option<std::ops::Range<usize>> {
        group(self.groups, index)
    }
}

/// Where a group lies, given the bounds of all groups of a match.
pub(crate) fn group(bounds: &[usize], index: usize) -> Option<std::ops::Range<usize>> {
    let start = *bounds.get(2 * index)?;
    let end = *bounds.get(2 * index + 1)?;
    (start != automaton::UNSET && end != automaton::UNSET).then_some(start..end)
}

/// A search under way in a text that may still grow.
///
/// Every method takes the pattern that the search is for. A clone goes on by itself, and works out
/// anew what is not needed to be as far as the original: clones may be kept at many places of a text.
#[derive(Debug, Clone)]
pub(crate) enum Search {
    Scan(Box<Scanner>),
    Backtrack(Retry),
}

/// A search that starts over whenever it is asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Retry {
    backtracker: Backtracker,
    from: usize,
    /// What was last found, and up to which end of the text.
    last: Option<(Verdict, usize)>,
}

impl Search {
    /// Begins a search at a position of the window.
    pub(crate) fn start(&mut self, pattern: &Pattern, window: &Window<'_>, from: usize) {
        match (self, &pattern.engine) {
            (Search::Scan(scanner), Engine::Automaton(automaton)) => {
                scanner.start(automaton, window, from);
            }
            (Search::Backtrack(retry), _) => retry.start(window, from),
            (Search::Scan(_), Engine::Backtracking(..)) => foreign(),
        }
    }

    /// Begins a search after an empty match, which is not to be found again.
    fn start_after_empty(&mut self, pattern: &Pattern, window: &Window<'_>, from: usize) {
        self.start(pattern, window, from);
        match (self, &pattern.engine) {
            (Search::Scan(scanner), Engine::Automaton(automaton)) => {
                scanner.start_after_empty(automaton, window, from);
            }
            (Search::Backtrack(retry), _) => {
                retry.last = None;
                retry.backtracker.forbid_empty(Some(from));
            }
            (Search::Scan(_), Engine::Backtracking(..)) => foreign(),
        }
    }

    /// Reads on up to a position of the window.
    #[inline]
    pub(crate) fn advance(
        &mut self,
        pattern: &Pattern,
        window: &Window<'_>,
        limit: usize,
        meter: &mut Meter,
    ) -> Result<(), TooCostly> {
        match (self, &pattern.engine) {
            (Search::Scan(scanner), Engine::Automaton(automaton)) => {
                scanner.advance(automaton, window, limit, meter)
            }
            _ => Ok(()),
        }
    }

    /// Whether all of the text has been read to its very end, and nothing begins in the part that
    /// is still to be dealt with.
    pub(crate) fn is_exhausted(&self) -> bool {
        match self {
            Search::Scan(scanner) => scanner.is_exhausted(),
            Search::Backtrack(_) => false,
        }
    }

    /// Makes the search fit for text of which everything before `position` has gone elsewhere:
    /// a match that began there can't be one any more.
    #[inline]
    pub(crate) fn forget_before(
        &mut self,
        pattern: &Pattern,
        window: &Window<'_>,
        position: usize,
    ) {
        let stale = match self {
            Search::Scan(scanner) => scanner.earliest().is_some_and(|start| start < position),
            Search::Backtrack(retry) => retry.from < position,
        };
        if stale {
            self.start(pattern, window, position);
        }
    }

    /// Whether a match that begins at or before `position` may still turn up or change, though
    /// the text has been read that far.
    pub(crate) fn is_open_before(&self, position: usize, window: &Window<'_>) -> bool {
        match self {
            Search::Scan(scanner) => {
                !scanner.is_finished()
                    && scanner.at() < window.end()
                    && scanner.earliest().is_some_and(|start| start <= position)
            }
            Search::Backtrack(_) => false,
        }
    }

    /// Whether nothing is under way in the text read so far: it may all go elsewhere.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            Search::Scan(scanner) => scanner.is_idle(),
            Search::Backtrack(_) => false,
        }
    }

    /// Whether all of the window has been read, or need not be.
    pub(crate) fn has_read(&self, window: &Window<'_>) -> bool {
        match self {
            Search::Scan(scanner) => scanner.is_finished() || scanner.at() == window.end(),
            Search::Backtrack(_) => true,
        }
    }

    /// Where a match begins that has been found on the way.
    pub(crate) fn found_start(&self) -> Option<usize> {
        match self {
            Search::Scan(scanner) => scanner.found_start(),
            Search::Backtrack(_) => None,
        }
    }

    /// What the search says if the text ends where it has been read to.
    pub(crate) fn verdict(
        &mut self,
        pattern: &Pattern,
        window: &Window<'_>,
        is_last: bool,
        meter: &mut Meter,
    ) -> Result<Verdict, TooCostly> {
        match (self, &pattern.engine) {
            (Search::Scan(scanner), Engine::Automaton(automaton)) => {
                let verdict = scanner.verdict(automaton);
                if is_last && scanner.at() == window.end() {
                    scanner.note_end(verdict);
                }
                Ok(verdict)
            }
            (Search::Backtrack(retry), Engine::Backtracking(program, prefilter)) => {
                retry.verdict(program, prefilter, window, is_last, meter)
            }
            _ => foreign(),
        }
    }

    /// The bounds of each group of the match that [`Search::verdict`] reported.
    pub(crate) fn groups(&mut self, pattern: &Pattern) -> &[usize] {
        match (self, &pattern.engine) {
            (Search::Scan(scanner), Engine::Automaton(automaton)) => scanner.groups(automaton),
            (Search::Backtrack(retry), _) => retry.backtracker.groups(),
            (Search::Scan(_), Engine::Backtracking(..)) => foreign(),
        }
    }
}

fn foreign() -> ! {
    unreachable!("a search is only used with the pattern that made it")
}

impl Retry {
    fn start(&mut self, window: &Window<'_>, from: usize) {
        self.from = from;
        self.backtracker.forbid_empty(None);
        // What was found further on in the same text is still what comes first.
        self.last = self.last.filter(|&(verdict, end)| {
            end == window.end()
                && match verdict {
                    Verdict::Found { start, .. } | Verdict::Partial { start } => start >= from,
                    Verdict::Nothing => true,
                }
        });
    }

    fn verdict(
        &mut self,
        program: &Program,
        prefilter: &Prefilter,
        window: &Window<'_>,
        is_last: bool,
        meter: &mut Meter,
    ) -> Result<Verdict, TooCostly> {
        if let Some(known) = self.known(window, is_last) {
            return Ok(known);
        }
        let verdict = self
            .backtracker
            .search(program, prefilter, window, self.from, !is_last, meter)?;
        self.last = Some((verdict, window.end()));
        if !is_last && !program.looks.at_end {
            // Where a match could neither be found nor be growing, none will ever begin.
            self.from = match verdict {
                Verdict::Nothing => window.end(),
                Verdict::Partial { start } => start,
                Verdict::Found { .. } => self.from,
            };
        }
        Ok(verdict)
    }

    /// What was found before, if it need not be looked for again.
    fn known(&self, window: &Window<'_>, is_last: bool) -> Option<Verdict> {
        let (verdict, end) = self.last?;
        let same_text = end == window.end();
        let searched = end - self.from;
        let patient = searched >= PATIENT_FROM && window.end() - end < searched / 16;
        match verdict {
            // That a match may have been growing counts no more.
            Verdict::Partial { .. } if is_last => same_text.then_some(Verdict::Nothing),
            // A match that ended with the text has to be looked at again.
            Verdict::Found { end: last, .. } if last == end => same_text.then_some(verdict),
            _ => (same_text || (patient && !is_last)).then_some(verdict),
        }
    }
}
