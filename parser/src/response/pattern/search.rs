//! Searches under way.

use super::automaton::Scanner;
use super::backtrack::Backtracker;
use super::prefilter::Prefilter;
use super::program::Program;
use super::{Engine, Meter, Pattern, TooCostly, Window};

/// From this many bytes on, text that is held back is not searched again at every chunk by a
/// pattern that needs backtracking, but only when it has grown by a sixteenth: else each chunk
/// would cost as much as all text held back.
const PATIENT_FROM: usize = 256;

/// What a search has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The leftmost match, as far as the text goes.
    Found { start: usize, end: usize },
    /// No match, but from here on the text may still grow into one.
    Partial { start: usize },
    /// Neither.
    Nothing,
}

/// A search under way in a text that may still grow.
///
/// Every method takes the pattern that the search is for. A clone goes on by itself, and works out
/// anew what is not needed to be as far as the original: clones may be kept at many places of a text.
#[derive(Debug, Clone)]
pub enum Search {
    Scan(Box<Scanner>),
    Backtrack(Box<Retry>),
}

/// A search that starts over whenever it is asked.
#[derive(Debug, Clone, Default)]
pub struct Retry {
    backtracker: Backtracker,
    from: usize,
    /// Nothing has begun before this position, and what comes next has not been looked at.
    asleep: bool,
    /// What was last found, and up to which end of the text.
    last: Option<(Verdict, usize)>,
    /// Whether that is a match which more text would change, once somebody has asked.
    leans_on_end: Option<bool>,
}

impl Search {
    /// Forgets what it has found, so that it can be used in another text.
    pub(super) fn forget(&mut self) {
        match self {
            Search::Scan(scanner) => scanner.forget(),
            Search::Backtrack(retry) => {
                retry.last = None;
                retry.asleep = false;
            }
        }
    }

    /// About how many bytes it takes, beyond what the text needs that it is searching.
    pub(super) fn size(&self) -> usize {
        match self {
            Search::Scan(scanner) => scanner.size(),
            Search::Backtrack(retry) => size_of::<Retry>() + retry.backtracker.size(),
        }
    }

    /// Begins a search at a position of the window.
    pub fn start(&mut self, window: &Window<'_>, from: usize) {
        match self {
            Search::Scan(scanner) => scanner.start(from),
            Search::Backtrack(retry) => retry.start(window, from),
        }
    }

    /// Begins a search after an empty match, which is not to be found again.
    pub(super) fn start_after_empty(
        &mut self,
        pattern: &Pattern,
        window: &Window<'_>,
        from: usize,
        meter: &mut Meter,
    ) -> Result<(), TooCostly> {
        match (self, &pattern.engine) {
            (Search::Scan(scanner), Engine::Automaton(automaton)) => {
                scanner.start_after_empty(automaton, window, from, meter)
            }
            (Search::Backtrack(retry), _) => {
                retry.start(window, from);
                retry.last = None;
                retry.backtracker.forbid_empty(Some(from));
                Ok(())
            }
            (Search::Scan(_), Engine::Backtracking(..)) => foreign(),
        }
    }

    /// Reads on up to a position of the window.
    #[inline]
    pub fn advance(
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
            (Search::Backtrack(retry), Engine::Backtracking(_, prefilter)) => {
                retry.advance(prefilter, window, limit);
                Ok(())
            }
            _ => foreign(),
        }
    }

    /// Whether all of the text has been read to its very end, and nothing begins in the part that
    /// is still to be dealt with.
    pub fn is_exhausted(&self) -> bool {
        match self {
            Search::Scan(scanner) => scanner.is_exhausted(),
            Search::Backtrack(_) => false,
        }
    }

    /// Whether it has found a match that no further text can change, in a text that has been read to its
    /// end. A search that backtracks never says so.
    pub(super) fn is_settled(
        &mut self,
        pattern: &Pattern,
        meter: &mut Meter,
    ) -> Result<bool, TooCostly> {
        match (self, &pattern.engine) {
            (Search::Scan(scanner), Engine::Automaton(automaton)) => {
                scanner.is_settled(automaton, meter)
            }
            _ => Ok(false),
        }
    }

    /// Makes the search fit for text of which everything before `position` has gone elsewhere:
    /// a match that began there can't be one any more.
    #[inline]
    pub fn forget_before(&mut self, window: &Window<'_>, position: usize) {
        let stale = match self {
            Search::Scan(scanner) => scanner.earliest().is_some_and(|start| start < position),
            Search::Backtrack(retry) => retry.from < position,
        };
        if stale {
            self.start(window, position);
        }
    }

    /// Whether nothing has begun of what the pattern looks for behind, up to where it is asleep.
    pub fn has_no_part(
        &mut self,
        pattern: &Pattern,
        window: &Window<'_>,
        meter: &mut Meter,
    ) -> Result<bool, TooCostly> {
        match (self, &pattern.engine) {
            (Search::Scan(scanner), Engine::Automaton(automaton)) => {
                scanner.has_no_part(automaton, window, meter)
            }
            _ => Ok(false),
        }
    }

    /// Whether it can be asked to go on from any later position, since nothing is under way.
    #[inline]
    pub fn is_asleep(&self) -> bool {
        match self {
            Search::Scan(scanner) => scanner.is_asleep(),
            Search::Backtrack(retry) => retry.asleep,
        }
    }

    /// From where on it would search, if it is asleep.
    pub fn asleep_from(&self) -> Option<usize> {
        match self {
            Search::Scan(scanner) => scanner.is_asleep().then(|| scanner.at()),
            Search::Backtrack(retry) => retry.asleep.then_some(retry.from),
        }
    }

    /// Up to where it has read, if it can be asked to read on.
    pub fn unread_from(&self) -> Option<usize> {
        match self {
            Search::Scan(scanner) => (!scanner.is_finished()).then(|| scanner.at()),
            Search::Backtrack(retry) => retry.asleep.then_some(retry.from),
        }
    }

    /// Passes over text in which no match begins, if it is asleep.
    #[inline]
    pub fn pass(&mut self, position: usize) {
        match self {
            Search::Scan(scanner) => scanner.pass(position),
            Search::Backtrack(retry) => retry.pass(position),
        }
    }

    /// Whether a match that begins at or before `position` may still turn up or change.
    pub fn is_open_before(&self, position: usize, window: &Window<'_>) -> bool {
        match self {
            Search::Scan(scanner) => {
                // A search that has not read as far as others may find anything from where it is.
                let begins = scanner.earliest().unwrap_or(scanner.at());
                !scanner.is_finished() && scanner.at() < window.end() && begins <= position
            }
            Search::Backtrack(_) => false,
        }
    }

    /// Whether nothing is under way in the text read so far: it may all go elsewhere.
    #[inline]
    pub fn is_idle(&self) -> bool {
        match self {
            Search::Scan(scanner) => scanner.is_idle(),
            Search::Backtrack(retry) => retry.asleep,
        }
    }

    /// Whether all of the window has been read, or need not be.
    pub fn has_read(&self, window: &Window<'_>) -> bool {
        match self {
            Search::Scan(scanner) => scanner.is_finished() || scanner.at() == window.end(),
            Search::Backtrack(_) => true,
        }
    }

    /// Where a match begins that has been found on the way.
    pub fn found_start(&self) -> Option<usize> {
        match self {
            Search::Scan(scanner) => scanner.found_start(),
            Search::Backtrack(_) => None,
        }
    }

    /// What the search says if the text ends where it has been read to.
    pub fn verdict(
        &mut self,
        pattern: &Pattern,
        window: &Window<'_>,
        is_last: bool,
        meter: &mut Meter,
    ) -> Result<Verdict, TooCostly> {
        match (self, &pattern.engine) {
            (Search::Scan(scanner), Engine::Automaton(automaton)) => {
                let verdict = scanner.verdict(automaton, window, meter)?;
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

    /// Whether the match that [`Search::verdict`] reported, and that ends before the text does, would be another one or none if
    /// the text went on: it has looked at the end of the text, as by `$` or `\Z`.
    pub fn leans_on_end(
        &mut self,
        pattern: &Pattern,
        window: &Window<'_>,
        found: (usize, usize),
        meter: &mut Meter,
    ) -> Result<bool, TooCostly> {
        match (self, &pattern.engine) {
            (Search::Scan(scanner), Engine::Automaton(automaton)) => {
                scanner.leans_on_end(automaton, window, found, meter)
            }
            (Search::Backtrack(retry), Engine::Backtracking(program, _)) => {
                retry.leans_on_end(program, window, found, meter)
            }
            _ => foreign(),
        }
    }

    /// The bounds of each group of the match that [`Search::verdict`] reported.
    pub fn groups(&mut self, pattern: &Pattern) -> &[usize] {
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
        self.asleep = false;
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

    fn pass(&mut self, position: usize) {
        if self.asleep && self.from < position {
            self.from = position;
            self.last = None;
        }
    }

    /// Sees whether anything may begin before a limit.
    fn advance(&mut self, prefilter: &Prefilter, window: &Window<'_>, limit: usize) {
        if self.asleep && self.from < limit {
            let base = window.base;
            let next = base + prefilter.find(window.text, self.from - base, limit - base);
            self.pass(next);
            self.asleep = next == limit;
        }
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
        self.leans_on_end = None;
        if !is_last && !program.looks.at_end {
            // Where a match could neither be found nor be growing, none will ever begin.
            self.from = match verdict {
                Verdict::Nothing => window.end(),
                Verdict::Partial { start } => start,
                Verdict::Found { .. } => self.from,
            };
            self.asleep = self.from == window.end() && self.from > 0;
        }
        Ok(verdict)
    }

    /// Whether more text would change a match. Where that has been found out, the text may have grown a little since then.
    fn leans_on_end(
        &mut self,
        program: &Program,
        window: &Window<'_>,
        found: (usize, usize),
        meter: &mut Meter,
    ) -> Result<bool, TooCostly> {
        if let Some(known) = self.leans_on_end {
            return Ok(known);
        }
        let leans = self
            .backtracker
            .leans_on_end(program, window, found, meter)?;
        self.leans_on_end = Some(leans);
        Ok(leans)
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
