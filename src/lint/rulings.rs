//! What is allowed, and what is an error.

use std::str::FromStr;

use thiserror::Error;

use super::Level;
use super::catalogue::{Lint, UnknownLint};

/// What becomes of complaints of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ruling {
    /// They are not made.
    Allow,
    /// They are errors.
    Deny,
}

/// Which lints a ruling is about: a code or a name, or `all`.
///
/// ```
/// use unjinja::lint::{Lint, Selector};
///
/// assert_eq!("U001".parse(), Ok(Selector::One(Lint::DelimitersOverlap)));
/// assert_eq!("delimiters-overlap".parse(), Ok(Selector::One(Lint::DelimitersOverlap)));
/// assert_eq!("all".parse(), Ok(Selector::All));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selector {
    /// All of them.
    All,
    /// This one.
    One(Lint),
}

/// There is no lint of this code or name, nor is this `all`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no lint `{0}`: write a code such as U001, its name, or `all`")]
pub struct UnknownSelector(pub String);

impl FromStr for Selector {
    type Err = UnknownSelector;

    fn from_str(text: &str) -> Result<Selector, UnknownSelector> {
        match text {
            "all" => Ok(Selector::All),
            name => match name.parse() {
                Ok(lint) => Ok(Selector::One(lint)),
                Err(UnknownLint(name)) => Err(UnknownSelector(name)),
            },
        }
    }
}

/// Rulings in the order in which they were made.
///
/// One about a single lint wins over one about all of them, and of equals the later one. What is but a
/// [note](super::Level::Note) is denied only by itself.
///
/// ```
/// use unjinja::lint::{Lint, Ruling, Rulings, Selector};
///
/// let mut rulings = Rulings::default();
/// rulings.add(Selector::One(Lint::NotPortable), Ruling::Allow);
/// rulings.add(Selector::All, Ruling::Deny);
/// assert_eq!(rulings.on(Lint::NotPortable), Some(Ruling::Allow));
/// assert_eq!(rulings.on(Lint::EndInText), Some(Ruling::Deny));
/// assert_eq!(rulings.on(Lint::CloseInBody), None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rulings(Vec<(Selector, Ruling)>);

impl Rulings {
    /// Makes a ruling.
    pub fn add(&mut self, about: Selector, ruling: Ruling) {
        self.0.push((about, ruling));
    }

    /// What has been ruled on a lint, if anything.
    pub fn on(&self, lint: Lint) -> Option<Ruling> {
        self.on_complaint(lint, lint.level())
    }

    /// What has been ruled on a complaint of this level, which may be another than its lint's.
    pub(super) fn on_complaint(&self, lint: Lint, level: Level) -> Option<Ruling> {
        let last = |wanted: Selector| self.0.iter().rev().find(|(about, _)| *about == wanted);
        let of_all = || {
            let ruling = last(Selector::All).map(|(_, ruling)| *ruling);
            ruling.filter(|ruling| *ruling == Ruling::Allow || level > Level::Note)
        };
        let own = last(Selector::One(lint)).map(|(_, ruling)| *ruling);
        own.or_else(of_all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_wins_and_then_the_last() {
        let (one, other) = (
            Selector::One(Lint::NotPortable),
            Selector::One(Lint::CloseInBody),
        );
        for (rulings, expected) in [
            (&[][..], None),
            (&[(one, Ruling::Deny)], Some(Ruling::Deny)),
            (&[(other, Ruling::Deny)], None),
            (
                &[(one, Ruling::Deny), (Selector::All, Ruling::Allow)],
                Some(Ruling::Deny),
            ),
            (
                &[(Selector::All, Ruling::Allow), (one, Ruling::Deny)],
                Some(Ruling::Deny),
            ),
            (
                &[(one, Ruling::Deny), (one, Ruling::Allow)],
                Some(Ruling::Allow),
            ),
            (
                &[
                    (Selector::All, Ruling::Deny),
                    (Selector::All, Ruling::Allow),
                ],
                Some(Ruling::Allow),
            ),
        ] {
            let all = Rulings(rulings.to_vec());
            assert_eq!(all.on(Lint::NotPortable), expected, "{rulings:?}");
        }
    }
}
