//! Which delimiters matter when.

use super::delimiter::Delimiter;
#[cfg(feature = "chat-template")]
use super::pattern::{Meter, TooCostly};
use super::template::{Field, Inner};

/// A delimiter that matters while the parser is in a certain region.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watch {
    pub(crate) kind: Kind,
    pub(crate) field: usize,
    /// The number of the delimiter among all of the template.
    pub(crate) delimiter: usize,
    /// Its place in the order in which delimiters win that match the same text.
    pub(crate) rank: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Open,
    Close,
}

/// A delimiter that has been found, and closes or opens a region.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    pub(crate) watch: Watch,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Hit {
    /// Whether it takes no text.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Of several hits, the one with the least key counts.
    pub(crate) fn key(&self) -> (usize, std::cmp::Reverse<usize>, usize) {
        let length = std::cmp::Reverse(self.end - self.start);
        (self.start, length, self.watch.rank)
    }
}

/// Which delimiters matter when.
#[derive(Debug)]
pub(crate) struct Watches {
    /// What closes the region of each field.
    closing: Vec<Option<Watch>>,
    /// What matters where no explicit region is open: whatever opens one, and what closes the
    /// implicit one.
    outside: Vec<Watch>,
}

impl Watches {
    pub(crate) fn new(fields: &[Field], implicit: Option<usize>) -> Watches {
        let mut all = Vec::new();
        for (field, of_field) in fields.iter().enumerate() {
            let kinds = [(Kind::Open, &of_field.open), (Kind::Close, &of_field.close)];
            for (kind, delimiter) in kinds {
                if delimiter.is_some() {
                    all.push((kind, &of_field.name, field, all.len()));
                }
            }
        }
        all.sort();
        let mut watches = Watches {
            closing: vec![None; fields.len()],
            outside: Vec::new(),
        };
        for (rank, (kind, _, field, delimiter)) in all.into_iter().enumerate() {
            let watch = Watch {
                kind,
                field,
                delimiter,
                rank,
            };
            if kind == Kind::Open || implicit == Some(field) {
                watches.outside.push(watch);
            }
            if kind == Kind::Close {
                watches.closing[field] = Some(watch);
            }
        }
        watches
    }

    /// Every delimiter, some of them twice.
    #[cfg(feature = "chat-template")]
    pub(crate) fn all(&self) -> impl Iterator<Item = &Watch> {
        self.outside.iter().chain(self.closing.iter().flatten())
    }
}

impl Inner {
    /// What is on watch while the region of a field is open, or none.
    pub(crate) fn watches(&self, current: Option<usize>) -> &[Watch] {
        match current.filter(|_| current != self.implicit) {
            Some(field) => self.watches.closing[field].as_slice(),
            None => &self.watches.outside,
        }
    }

    #[inline]
    pub(crate) fn delimiter(&self, watch: &Watch) -> &Delimiter {
        let field = &self.fields[watch.field];
        let delimiter = match watch.kind {
            Kind::Open => &field.open,
            Kind::Close => &field.close,
        };
        match delimiter {
            Some(delimiter) => delimiter,
            None => unreachable!("only delimiters that are there are watched"),
        }
    }

    /// The field whose region is open when a delimiter has fired, or none.
    #[cfg(feature = "chat-template")]
    pub(crate) fn after(&self, hit: &Hit) -> Option<usize> {
        match hit.watch.kind {
            Kind::Open => Some(hit.watch.field),
            Kind::Close => self.implicit,
        }
    }

    /// The delimiter that fires first from a position of a whole text on, while the region of a
    /// field is open, or none.
    #[cfg(feature = "chat-template")]
    pub(crate) fn first_hit(
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
    pub(crate) fn delimiters(&self) -> impl Iterator<Item = &Delimiter> {
        self.fields
            .iter()
            .flat_map(|field| field.open.iter().chain(&field.close))
    }
}
