//! Looking for the next delimiter that counts.

use crate::response::ParseError;
use crate::response::language::Trait;
use crate::response::pattern::{Meter, Pattern, Search, TooCostly, Verdict, Window};
use crate::response::template::Inner;
use crate::response::watch::{Hit, Watch, Watched};

/// How much text is searched at first for all delimiters on watch where one of them may begin, before
/// what has been found decides how much more has to be.
const FIRST_SPAN: usize = 32;

/// The searches of a parser.
#[derive(Debug, Clone)]
pub(super) struct Searches {
    /// One for each delimiter of the template, by its number.
    pub(super) each: Vec<Search>,
    /// What they may still cost.
    pub(super) meter: Meter,
    /// Whether the searches for what is on watch go on from where they are, or have to start.
    pub(super) are_started: bool,
    /// Whether all of them are asleep at the end of the text read so far.
    are_asleep: bool,
    /// Whether nothing has begun there of what those on watch look for behind.
    have_no_part: bool,
    /// The delimiter for which all text from the parser's position on is held back, if there is one. What the others
    /// find in that text does not count before it is decided, so they need not read it yet.
    pub(super) holder: Option<Watch>,
}

impl Searches {
    pub(super) fn new(inner: &Inner) -> Searches {
        let searches = inner.delimiters().map(|d| d.compiled().search());
        Searches {
            each: searches.collect(),
            meter: Meter::new(0),
            are_started: false,
            are_asleep: false,
            have_no_part: false,
            holder: None,
        }
    }

    /// Whether none of those on watch has anything under way at the end of the text read so far.
    #[inline]
    pub(super) fn have_nothing_under_way(&self) -> bool {
        !self.are_started || self.are_asleep
    }

    /// Whether nothing has begun of what those on watch look for behind, as far as is known.
    #[inline]
    pub(super) fn have_no_part(&self) -> bool {
        self.are_started && self.have_no_part
    }

    /// Lets them start anew at the parser's position: other delimiters are on watch, or text has
    /// been taken that they have found something in.
    pub(super) fn restart(&mut self) {
        self.are_started = false;
        self.holder = None;
    }

    /// The bounds of the groups of a delimiter that has been found.
    pub(super) fn groups(&mut self, watch: &Watch, pattern: &Pattern) -> &[usize] {
        self.each[watch.delimiter].groups(pattern)
    }
}

/// What a scan has come to.
pub(super) enum Scanned {
    /// A delimiter that counts.
    Hit(Hit),
    /// Nothing counts yet; from here on the text is held back.
    Hold(usize),
}

/// One look for the next delimiter, from a position on.
pub(super) struct Scan<'s> {
    pub(super) inner: &'s Inner,
    pub(super) window: &'s Window<'s>,
    /// Whether no more text follows.
    pub(super) is_last: bool,
    /// What is on watch.
    pub(super) watched: &'s Watched,
    pub(super) position: usize,
    pub(super) searches: &'s mut Searches,
}

impl Scan<'_> {
    pub(super) fn run(mut self) -> Result<Scanned, ParseError> {
        // So it stays if this becomes too costly.
        self.searches.are_asleep = false;
        if self.is_held_as_before()? {
            return Ok(Scanned::Hold(self.position));
        }
        self.start();
        self.read()?;
        let scanned = self.decide()?;
        self.searches.are_asleep = self.are_asleep();
        self.searches.have_no_part = self.searches.are_asleep && self.have_no_part()?;
        Ok(scanned)
    }

    /// Whether all text is held back for the same delimiter as before.
    #[inline]
    fn is_held_as_before(&mut self) -> Result<bool, ParseError> {
        let Some(watch) = self.searches.holder.take_if(|_| !self.is_last) else {
            return Ok(false);
        };
        let pattern = self.inner.delimiter(&watch).compiled();
        let end = self.window.end();
        self.searches.each[watch.delimiter]
            .advance(pattern, self.window, end, &mut self.searches.meter)
            .map_err(|TooCostly| too_costly(self.inner, &watch, self.position))?;
        let judged = self.judge(&watch)?;
        let is_held = matches!(judged, Some(Scanned::Hold(start)) if start == self.position);
        self.searches.holder = is_held.then_some(watch);
        Ok(is_held)
    }

    /// Lets the searches begin at the position, or go on from where they are.
    fn start(&mut self) {
        for watch in &self.watched.watches {
            let search = &mut self.searches.each[watch.delimiter];
            if self.is_last && search.is_exhausted() {
                continue;
            }
            if self.searches.are_started {
                search.pass(self.position);
                search.forget_before(self.window, self.position);
            } else {
                search.start(self.window, self.position);
            }
        }
        self.searches.are_started = true;
    }

    /// Whether nothing is under way.
    fn are_asleep(&self) -> bool {
        let mut watches = self.watched.watches.iter();
        watches.all(|watch| self.searches.each[watch.delimiter].is_asleep())
    }

    /// Whether nothing has begun of what those on watch look for behind that are asleep.
    fn have_no_part(&mut self) -> Result<bool, ParseError> {
        if !self.watched.asks_for_parts() {
            return Ok(false);
        }
        for watch in &self.watched.watches {
            let pattern = self.inner.delimiter(watch).compiled();
            if pattern.before_parts().is_none() {
                continue;
            }
            let search = &mut self.searches.each[watch.delimiter];
            let has_none = search
                .has_no_part(pattern, self.window, &mut self.searches.meter)
                .map_err(|TooCostly| too_costly(self.inner, watch, self.position))?;
            if !has_none {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// From where on all searches are asleep, if they are.
    fn asleep_from(&self) -> Option<usize> {
        let mut from = self.window.end();
        for watch in &self.watched.watches {
            from = from.min(self.searches.each[watch.delimiter].asleep_from()?);
        }
        Some(from)
    }

    /// Passes over text in which no delimiter begins; returns where one may, if nothing is under way.
    fn pass(&mut self) -> Result<Option<usize>, ParseError> {
        let Some(from) = self.asleep_from() else {
            return Ok(None);
        };
        if self.watched.looks_at_start && self.window.char_before(from).is_none() {
            return Ok(Some(from));
        }
        let filter = self.watched.filter(self.have_no_part()?);
        let (base, text) = (self.window.base, self.window.text);
        let next = base + filter.find(text, from - base, text.len());
        for watch in &self.watched.watches {
            self.searches.each[watch.delimiter].pass(next);
        }
        Ok(Some(next))
    }

    /// Up to where the text has been read for all delimiters on watch.
    fn unread_from(&self) -> usize {
        let each = &self.searches.each;
        let watches = self.watched.watches.iter();
        let unread = watches.filter_map(|watch| each[watch.delimiter].unread_from());
        let from = unread.min().unwrap_or(self.position);
        from.clamp(self.position, self.window.end())
    }

    /// Reads on for all delimiters on watch, no further than it takes to know which comes first:
    /// text that is searched for a delimiter again and again, because others come before it, would
    /// cost more than its length.
    fn read(&mut self) -> Result<(), ParseError> {
        let end = self.window.end();
        let mut from = self.unread_from();
        let mut span = FIRST_SPAN;
        loop {
            if let Some(next) = self.pass()? {
                from = next;
                span = FIRST_SPAN;
            }
            let limit = match end - from <= span {
                true => end,
                false => self.window.floor(from + span),
            };
            let first = self.read_to(limit)?;
            if limit == end || first.is_some_and(|first| self.is_settled(first)) {
                return Ok(());
            }
            span = span.saturating_mul(2);
        }
    }

    /// Reads up to a limit; returns where the first match begins that has been found on the way.
    #[inline]
    fn read_to(&mut self, limit: usize) -> Result<Option<usize>, ParseError> {
        let mut first: Option<usize> = None;
        for watch in &self.watched.watches {
            let pattern = self.inner.delimiter(watch).compiled();
            let search = &mut self.searches.each[watch.delimiter];
            search
                .advance(pattern, self.window, limit, &mut self.searches.meter)
                .map_err(|TooCostly| too_costly(self.inner, watch, self.position))?;
            if let Some(start) = search.found_start() {
                first = Some(first.map_or(start, |first| first.min(start)));
            }
        }
        Ok(first)
    }

    /// Whether no match can still turn up that begins at or before this position.
    fn is_settled(&self, position: usize) -> bool {
        !self.watched.watches.iter().any(|watch| {
            let search = &self.searches.each[watch.delimiter];
            !(self.is_last && search.is_exhausted()) && search.is_open_before(position, self.window)
        })
    }

    /// Of all that has been found, what counts?
    fn decide(&mut self) -> Result<Scanned, ParseError> {
        let mut hold = self.window.end();
        let mut best: Option<Hit> = None;
        for watch in &self.watched.watches {
            match self.judge(watch)? {
                Some(Scanned::Hit(hit)) if best.is_none_or(|best| hit.key() < best.key()) => {
                    best = Some(hit);
                }
                Some(Scanned::Hold(start)) => {
                    hold = hold.min(start);
                    if start == self.position && start < self.window.end() {
                        self.searches.holder = Some(*watch);
                    }
                }
                Some(Scanned::Hit(_)) | None => {}
            }
        }
        Ok(match best {
            Some(hit) if hit.start < hold => Scanned::Hit(hit),
            _ => Scanned::Hold(hold),
        })
    }

    /// What the search for one delimiter has come to, if it has come to anything.
    #[inline]
    fn judge(&mut self, watch: &Watch) -> Result<Option<Scanned>, ParseError> {
        let delimiter = self.inner.delimiter(watch);
        let search = &mut self.searches.each[watch.delimiter];
        // Where nothing is under way, at most nothing at all can match at the end, and that
        // counts for nothing while the text may go on.
        let says_nothing = match self.is_last {
            true => search.is_exhausted(),
            false => search.is_idle(),
        };
        if says_nothing || !search.has_read(self.window) {
            return Ok(None);
        }
        let pattern = delimiter.compiled();
        let verdict = search
            .verdict(pattern, self.window, self.is_last, &mut self.searches.meter)
            .map_err(|TooCostly| too_costly(self.inner, watch, self.position))?;
        Ok(match verdict {
            Verdict::Found { start, end } => {
                let may_change = !self.is_last
                    && match end == self.window.end() {
                        true => start == end || !delimiter.commits_at_end,
                        false => self.leans_on_end(watch, (start, end))?,
                    };
                Some(match may_change {
                    true => Scanned::Hold(start),
                    false => Scanned::Hit(Hit {
                        watch: *watch,
                        start,
                        end,
                    }),
                })
            }
            Verdict::Partial { start } if !self.is_last => Some(Scanned::Hold(start)),
            Verdict::Partial { .. } | Verdict::Nothing => None,
        })
    }

    /// Whether a match that ends before the text does waits for more text, which would change it.
    fn leans_on_end(&mut self, watch: &Watch, found: (usize, usize)) -> Result<bool, ParseError> {
        let delimiter = self.inner.delimiter(watch);
        // A literal has seen all that it is.
        if delimiter.pattern().is_none() || !self.inner.language.has(Trait::LooksPastTheEnd) {
            return Ok(false);
        }
        let search = &mut self.searches.each[watch.delimiter];
        let meter = &mut self.searches.meter;
        search
            .leans_on_end(delimiter.compiled(), self.window, found, meter)
            .map_err(|TooCostly| too_costly(self.inner, watch, self.position))
    }
}

fn too_costly(inner: &Inner, watch: &Watch, position: usize) -> ParseError {
    ParseError::TooCostly {
        field: inner.fields[watch.field].name.clone(),
        position,
    }
}
