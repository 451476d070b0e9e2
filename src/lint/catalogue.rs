//! All lints, with their codes, names and pages.

use std::str::FromStr;

use thiserror::Error;

use super::Level;

/// A kind of thing that is likely to hurt.
///
/// Codes and names stay what they are: files that people keep have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Lint {
    /// A delimiter takes the beginning of another.
    DelimitersOverlap,
    /// The token that ends a turn stays in the text.
    EndInText,
    /// A pattern holds text back without bound.
    HoldsTextBack,
    /// A pattern can match nothing at any place.
    MatchesNothing,
    /// A pattern takes exponential time in engines that backtrack.
    Exponential,
    /// What closes a region can stand inside of it.
    CloseInBody,
    /// A field can never open.
    NeverOpens,
    /// The chat template never writes the anchor.
    AnchorNotWritten,
    /// A pattern has what other engines lack.
    NotPortable,
    /// Serving engines don't know the field.
    UnknownField,
    /// What a pattern finds depends on how the text is cut into chunks.
    DependsOnChunks,
    /// Something has no effect.
    NoEffect,
    /// White space between regions replaces text.
    WhiteSpaceReplaces,
    /// Nothing fills in a placeholder.
    UnfilledPlaceholder,
    /// A response schema stands where newer readers look for a response template.
    SchemaIgnored,
    /// A pattern can only be matched by backtracking.
    NeedsBacktracking,
    /// Somebody whom the template is for refuses it, or can't make all use of it.
    NotSuited,
}

/// What is known of a lint.
struct Entry {
    lint: Lint,
    code: &'static str,
    name: &'static str,
    level: Level,
    summary: &'static str,
    page: &'static str,
}

macro_rules! entry {
    ($lint:ident, $code:literal, $name:literal, $level:ident, $summary:literal) => {
        Entry {
            lint: Lint::$lint,
            code: $code,
            name: $name,
            level: Level::$level,
            summary: $summary,
            page: include_str!(concat!("pages/", $code, ".md")),
        }
    };
}

#[rustfmt::skip]
const ENTRIES: [Entry; 17] = [
    entry!(DelimitersOverlap, "U001", "delimiters-overlap", Warning,
        "a delimiter takes the beginning of another, which is then not found"),
    entry!(EndInText, "U002", "end-in-text", Warning,
        "the token that ends a turn stays in the text"),
    entry!(HoldsTextBack, "U003", "holds-text-back", Warning,
        "a pattern holds text back without bound, so that nothing streams"),
    entry!(MatchesNothing, "U004", "matches-nothing", Error,
        "a pattern can match nothing at any place"),
    entry!(Exponential, "U005", "exponential", Error,
        "a pattern takes exponential time in engines that backtrack"),
    entry!(CloseInBody, "U006", "close-in-body", Note,
        "what closes a region can stand inside of a value in it"),
    entry!(NeverOpens, "U007", "never-opens", Error,
        "a field can never open"),
    entry!(AnchorNotWritten, "U008", "anchor-not-written", Error,
        "the chat template's prompts don't have the anchor"),
    entry!(NotPortable, "U009", "not-portable", Note,
        "a pattern has what other engines of regular expressions lack"),
    entry!(UnknownField, "U010", "unknown-field", Warning,
        "serving engines don't know a field of this name"),
    entry!(DependsOnChunks, "U011", "depends-on-chunks", Warning,
        "what a pattern finds depends on how the text is cut into chunks"),
    entry!(NoEffect, "U012", "no-effect", Warning,
        "something has no effect"),
    entry!(WhiteSpaceReplaces, "U013", "white-space-replaces", Warning,
        "white space after a region replaces the text before it"),
    entry!(UnfilledPlaceholder, "U014", "unfilled-placeholder", Error,
        "nothing fills in a placeholder, so that every match of the field fails"),
    entry!(SchemaIgnored, "U015", "schema-ignored", Warning,
        "newer readers ignore a response schema, and nothing else is there"),
    entry!(NeedsBacktracking, "U016", "needs-backtracking", Note,
        "a pattern that can only be matched by backtracking streams slower"),
    entry!(NotSuited, "U017", "not-suited", Error,
        "a package that the template is for refuses it, or uses only part of it"),
];

impl Lint {
    /// All of them, in the order of their codes.
    pub fn all() -> &'static [Lint] {
        static ALL: [Lint; ENTRIES.len()] = {
            let mut all = [Lint::DelimitersOverlap; ENTRIES.len()];
            let mut index = 0;
            while index < all.len() {
                all[index] = ENTRIES[index].lint;
                index += 1;
            }
            all
        };
        &ALL
    }

    fn entry(self) -> &'static Entry {
        // The entries stand in the order of the variants, as a test makes sure.
        &ENTRIES[self as usize]
    }

    /// Its code, such as `U001`.
    pub fn code(self) -> &'static str {
        self.entry().code
    }

    /// Its name, such as `delimiters-overlap`.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// What it complains of, in one line.
    pub fn summary(self) -> &'static str {
        self.entry().summary
    }

    /// How bad it is, if nothing else is ruled.
    pub fn level(self) -> Level {
        self.entry().level
    }

    /// The page that explains it, in Markdown, with an example of what is reported and one of what
    /// is not.
    pub fn page(self) -> &'static str {
        self.entry().page
    }
}

/// The lint of a code or a name, in capitals or not.
///
/// ```
/// use unjinja::lint::{Lint, UnknownLint};
///
/// assert_eq!("U006".parse(), Ok(Lint::CloseInBody));
/// assert_eq!("close-in-body".parse(), Ok(Lint::CloseInBody));
/// assert_eq!("U999".parse::<Lint>(), Err(UnknownLint("U999".into())));
/// ```
impl FromStr for Lint {
    type Err = UnknownLint;

    fn from_str(text: &str) -> Result<Lint, UnknownLint> {
        let named = |entry: &&Entry| {
            entry.code.eq_ignore_ascii_case(text) || entry.name.eq_ignore_ascii_case(text)
        };
        let found = ENTRIES.iter().find(named);
        found
            .map(|entry| entry.lint)
            .ok_or_else(|| UnknownLint(text.to_owned()))
    }
}

/// There is no lint of this code or name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no lint `{0}`: write a code such as U001, or its name")]
pub struct UnknownLint(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lint_is_found_under_its_code_and_its_name() {
        for (index, lint) in Lint::all().iter().copied().enumerate() {
            assert_eq!(lint as usize, index);
            assert_eq!(lint.code(), format!("U{:03}", index + 1));
            assert_eq!(lint.code().parse(), Ok(lint));
            assert_eq!(lint.name().parse(), Ok(lint));
        }
    }

    #[test]
    fn names_and_summaries_are_plain() {
        for &lint in Lint::all() {
            let name = lint.name();
            assert!(
                name.chars().all(|c| c.is_ascii_lowercase() || c == '-'),
                "{name}"
            );
            assert!(lint.summary().len() <= 75, "{name}");
            let title = format!("# {} {name}\n", lint.code());
            assert!(lint.page().starts_with(&title), "{name}");
        }
    }
}
