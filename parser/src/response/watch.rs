//! Which delimiters matter when.

use super::delimiter::Delimiter;
#[cfg(feature = "internals")]
use super::pattern::{Meter, TooCostly};
use super::pattern::{Pattern, Prefilter};
use super::template::{Field, Inner};

/// A delimiter that matters while the parser is in a certain region.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    pub kind: DelimiterKind,
    pub field: usize,
    /// The number of the delimiter among all of the template.
    pub delimiter: usize,
    /// Its place in the order in which delimiters win that match the same text.
    pub rank: usize,
}

#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DelimiterKind {
    Open,
    Close,
}

/// A delimiter that has been found, and closes or opens a region.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Hit {
    pub watch: Watch,
    pub start: usize,
    pub end: usize,
}

impl Hit {
    /// Whether it takes no text.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Of several hits, the one with the least key counts.
    pub fn key(&self) -> (usize, std::cmp::Reverse<usize>, usize) {
        let length = std::cmp::Reverse(self.end - self.start);
        (self.start, length, self.watch.rank)
    }
}

/// The delimiters that matter in some place.
#[derive(Debug)]
pub struct Watched {
    pub watches: Vec<Watch>,
    /// Where any of them may begin.
    prefilter: Prefilter,
    /// The same as long as nothing has begun of what they look for behind, if that is known any better.
    before_parts: Option<Prefilter>,
    /// Whether text that ends in blanks is held back from the first of them on, given that none begins before.
    pub waits_behind_blanks: bool,
    /// Whether one of them may begin elsewhere if it begins with the text.
    pub looks_at_start: bool,
}

impl Watched {
    fn new(watches: Vec<Watch>, fields: &[Field]) -> Watched {
        let compiled = || {
            watches
                .iter()
                .map(|watch| delimiter(fields, watch).compiled())
        };
        let before_parts = || {
            let filters = compiled().map(|p| p.before_parts().unwrap_or(p.prefilter()));
            Prefilter::any(filters)
        };
        let knows_better = compiled().any(|pattern| pattern.before_parts().is_some());
        Watched {
            before_parts: knows_better.then(before_parts),
            prefilter: Prefilter::any(compiled().map(Pattern::prefilter)),
            waits_behind_blanks: compiled().any(Pattern::waits_behind_blanks),
            looks_at_start: compiled().any(Pattern::looks_at_start),
            watches,
        }
    }

    /// Whether it matters that nothing has begun of what they look for behind.
    #[inline]
    pub fn asks_for_parts(&self) -> bool {
        self.before_parts.is_some()
    }

    /// Where any of them may begin, given whether nothing has begun of what they look for behind.
    #[inline]
    pub fn filter(&self, has_no_part: bool) -> &Prefilter {
        match &self.before_parts {
            Some(filter) if has_no_part => filter,
            _ => &self.prefilter,
        }
    }
}

/// Which delimiters matter when.
#[derive(Debug)]
pub struct Watches {
    /// What closes the region of each field.
    closing: Vec<Watched>,
    /// What matters where no explicit region is open: whatever opens one, and what closes the
    /// implicit one.
    outside: Watched,
}

impl Watches {
    pub fn new(fields: &[Field], implicit: Option<usize>) -> Watches {
        let mut all = Vec::new();
        for (field, of_field) in fields.iter().enumerate() {
            let kinds = [
                (DelimiterKind::Open, &of_field.open),
                (DelimiterKind::Close, &of_field.close),
            ];
            for (kind, delimiter) in kinds {
                if delimiter.is_some() {
                    all.push((kind, &of_field.name, field, all.len()));
                }
            }
        }
        all.sort();
        let mut closing = vec![Vec::new(); fields.len()];
        let mut outside = Vec::new();
        for (rank, (kind, _, field, delimiter)) in all.into_iter().enumerate() {
            let watch = Watch {
                kind,
                field,
                delimiter,
                rank,
            };
            if kind == DelimiterKind::Open || implicit == Some(field) {
                outside.push(watch);
            }
            if kind == DelimiterKind::Close {
                closing[field].push(watch);
            }
        }
        let watched = |watches| Watched::new(watches, fields);
        Watches {
            closing: closing.into_iter().map(watched).collect(),
            outside: watched(outside),
        }
    }

    /// Every delimiter, some of them twice.
    #[cfg(feature = "internals")]
    pub fn all(&self) -> impl Iterator<Item = &Watch> {
        let lists = std::iter::once(&self.outside).chain(&self.closing);
        lists.flat_map(|watched| &watched.watches)
    }
}

impl Inner {
    /// What is on watch while the region of a field is open, or none.
    #[inline]
    pub fn watched(&self, current: Option<usize>) -> &Watched {
        match current.filter(|_| current != self.implicit) {
            Some(field) => &self.watches.closing[field],
            None => &self.watches.outside,
        }
    }

    /// The same without where they may begin.
    #[inline]
    #[doc(hidden)]
    pub fn watches(&self, current: Option<usize>) -> &[Watch] {
        &self.watched(current).watches
    }

    #[inline]
    #[doc(hidden)]
    pub fn delimiter(&self, watch: &Watch) -> &Delimiter {
        delimiter(&self.fields, watch)
    }

    /// The field whose region is open when a delimiter has fired, or none.
    #[cfg(feature = "internals")]
    #[doc(hidden)]
    pub fn after(&self, hit: &Hit) -> Option<usize> {
        match hit.watch.kind {
            DelimiterKind::Open => Some(hit.watch.field),
            DelimiterKind::Close => self.implicit,
        }
    }

    /// The delimiter that fires first from a position of a whole text on, while the region of a
    /// field is open, or none.
    #[cfg(feature = "internals")]
    #[doc(hidden)]
    pub fn first_hit(
        &self,
        current: Option<usize>,
        text: &str,
        from: usize,
        meter: &mut Meter,
    ) -> Result<Option<Hit>, TooCostly> {
        let mut best: Option<Hit> = None;
        for watch in self.watches(current) {
            let pattern = self.delimiter(watch).compiled();
            if let Some(found) = pattern.find(text, from, meter)? {
                let hit = Hit {
                    watch: *watch,
                    start: found.start,
                    end: found.end,
                };
                best = match best {
                    Some(best) if best.key() <= hit.key() => Some(best),
                    _ => Some(hit),
                };
            }
        }
        Ok(best)
    }

    /// All delimiters of the fields, in the order of their numbers.
    pub fn delimiters(&self) -> impl Iterator<Item = &Delimiter> {
        self.fields
            .iter()
            .flat_map(|field| field.open.iter().chain(&field.close))
    }
}

/// The delimiter that is on watch, one of a template with these fields.
#[inline]
fn delimiter<'f>(fields: &'f [Field], watch: &Watch) -> &'f Delimiter {
    let field = &fields[watch.field];
    let delimiter = match watch.kind {
        DelimiterKind::Open => &field.open,
        DelimiterKind::Close => &field.close,
    };
    match delimiter {
        Some(delimiter) => delimiter,
        None => unreachable!("only delimiters that are there are watched"),
    }
}
