//! The versions of the language, and what came with each.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A version of the language of response templates, named after the first release of the transformers library that
/// reads it.
///
/// A template is read for the newest, unless [`ResponseTemplate::in_language`](crate::ResponseTemplate::in_language) asks
/// for another: whoever serves with an older release, or with an engine that carries a copy of one, gets what that makes
/// of a text.
///
/// ```
/// use unjinja::response::Language;
///
/// assert_eq!(Language::default(), Language::V5_24);
/// // Between two versions the language stays as it is.
/// assert_eq!("5.23".parse(), Ok(Language::V5_20));
/// assert_eq!(Language::V5_16.to_string(), "5.16");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Language {
    /// The first.
    V5_13,
    /// Arguments are typed.
    V5_15,
    /// Texts are joined, and placeholders go into values.
    V5_16,
    /// `oneOf` is a union.
    V5_18,
    /// Whole numbers may have a fraction.
    V5_20,
    /// Calls are read as Python writes them.
    #[default]
    V5_24,
}

/// Something that came with a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trait {
    TypedArguments,
    Join,
    DottedPlaceholders,
    OneOf,
    DeclaredLists,
    WholeFloats,
    PythonCallList,
    ClosingGroups,
    FreeKeys,
    ListsOfLists,
    LooksPastTheEnd,
}

impl Trait {
    /// The first version that has it.
    pub(crate) fn since(self) -> Language {
        CHANGES[self as usize].language
    }
}

/// What came with a version, in words, and where it stands in the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LanguageChange {
    /// The version.
    pub language: Language,
    /// What is read so since then.
    pub says: &'static str,
    /// The file of the library that does it.
    pub file: &'static str,
    is: Trait,
}

/// The releases that brought something, each with its day.
const RELEASES: [(Language, &str, &str); 6] = [
    (Language::V5_13, "5.13", "2026-07-03"),
    (Language::V5_15, "5.15", "2026-08-10"),
    (Language::V5_16, "5.16", "2026-08-26"),
    (Language::V5_18, "5.18", "2026-09-30"),
    (Language::V5_20, "5.20", "2026-10-15"),
    (Language::V5_24, "5.24", "2026-11-21"),
];

const PARSER: &str = "transformers/utils/chat_parsing/response_parser.py";
const PARSERS: &str = "transformers/utils/chat_parsing/content_parsers.py";
const LOADER: &str = "transformers/utils/chat_parsing/response_templates.py";

const CHANGES: [LanguageChange; 11] = [
    LanguageChange {
        language: Language::V5_15,
        is: Trait::TypedArguments,
        says: "arguments are typed by the schemas of tools",
        file: PARSER,
    },
    LanguageChange {
        language: Language::V5_16,
        is: Trait::Join,
        says: "fields have a key `join`",
        file: LOADER,
    },
    LanguageChange {
        language: Language::V5_16,
        is: Trait::DottedPlaceholders,
        says: "placeholders with dots, such as `{content.args}`, go into a value",
        file: PARSERS,
    },
    LanguageChange {
        language: Language::V5_18,
        is: Trait::OneOf,
        says: "`oneOf` counts as `anyOf` does where arguments are typed",
        file: PARSER,
    },
    LanguageChange {
        language: Language::V5_18,
        is: Trait::DeclaredLists,
        says: "the items of a list are left alone where the schema declares a list",
        file: PARSER,
    },
    LanguageChange {
        language: Language::V5_20,
        is: Trait::WholeFloats,
        says: "an `integer` may be written as `3.0`",
        file: PARSER,
    },
    LanguageChange {
        language: Language::V5_24,
        is: Trait::PythonCallList,
        says: "there is a content parser `python-call-list`",
        file: PARSERS,
    },
    LanguageChange {
        language: Language::V5_24,
        is: Trait::ClosingGroups,
        says: "the groups of what closes a field are available in its transform, before those of what opens it",
        file: PARSER,
    },
    LanguageChange {
        language: Language::V5_24,
        is: Trait::FreeKeys,
        says: "with `unquoted_keys`, white space may stand around a key, and strings stay as they are",
        file: PARSERS,
    },
    LanguageChange {
        language: Language::V5_24,
        is: Trait::ListsOfLists,
        says: "with `merge_duplicates`, a first value that is a list is one of the values",
        file: PARSERS,
    },
    LanguageChange {
        language: Language::V5_24,
        is: Trait::LooksPastTheEnd,
        says: "a match of a pattern that more text would change waits for it, also where it ends before the text does",
        file: PARSER,
    },
];

impl Language {
    /// All versions, the oldest first.
    pub fn all() -> impl DoubleEndedIterator<Item = Language> {
        RELEASES.into_iter().map(|(language, ..)| language)
    }

    /// What came with which version, in their order.
    ///
    /// ```
    /// use unjinja::response::Language;
    ///
    /// let newest = Language::changes().filter(|change| change.language == Language::V5_24);
    /// assert!(newest.map(|change| change.says).any(|says| says.contains("python-call-list")));
    /// ```
    pub fn changes() -> impl Iterator<Item = LanguageChange> {
        CHANGES.into_iter()
    }

    /// The day on which the first release that reads it came out, as year, month and day.
    pub fn date(self) -> &'static str {
        RELEASES[self as usize].2
    }

    /// The language of a release of the transformers library, by its first two numbers: the newest version that is no
    /// newer. `None` for one that reads no response templates.
    ///
    /// ```
    /// use unjinja::response::Language;
    ///
    /// assert_eq!(Language::of_release(5, 17), Some(Language::V5_16));
    /// assert_eq!(Language::of_release(5, 12), None);
    /// ```
    pub fn of_release(major: u32, minor: u32) -> Option<Language> {
        let is_no_newer = |language: &Language| language.release() <= (major, minor);
        Language::all().rev().find(is_no_newer)
    }

    /// The first two numbers of the release that it is named after.
    pub fn release(self) -> (u32, u32) {
        read_release(RELEASES[self as usize].1).unwrap_or_default()
    }

    /// Whether something has come with it, or before.
    #[inline]
    pub(crate) fn has(self, what: Trait) -> bool {
        self >= what.since()
    }
}

/// The first two numbers of a release.
fn read_release(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(|part| part.parse().ok());
    let release = (numbers.next()??, numbers.next()??);
    let rest = numbers.collect::<Option<Vec<u32>>>()?;
    (rest.len() <= 1).then_some(release)
}

/// The release that it is named after.
impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(RELEASES[*self as usize].1)
    }
}

/// A release of the transformers library, such as `5.23` or `5.23.0`, as [`Language::of_release`] has it.
impl FromStr for Language {
    type Err = UnknownLanguage;

    fn from_str(text: &str) -> Result<Language, UnknownLanguage> {
        let release = read_release(text);
        release
            .and_then(|(major, minor)| Language::of_release(major, minor))
            .ok_or_else(|| UnknownLanguage(text.to_owned()))
    }
}

/// No release of the transformers library that reads response templates.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "there is no version `{0}` of the language: name a release of transformers from 5.13 on, such as 5.23"
)]
pub struct UnknownLanguage(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_changes_stand_in_their_order() {
        for (at, (language, name, date)) in RELEASES.into_iter().enumerate() {
            assert_eq!(language as usize, at);
            assert_eq!(name.parse(), Ok(language));
            assert_eq!(date.len(), 10, "{name}");
        }
        for (at, change) in CHANGES.iter().enumerate() {
            assert_eq!(change.is as usize, at, "{}", change.says);
        }
        assert!(CHANGES.is_sorted_by_key(|change| change.language));
        assert_eq!(Language::default(), RELEASES[RELEASES.len() - 1].0);
    }

    #[test]
    fn releases_are_named_by_their_numbers() {
        for (text, language) in [
            ("5.13.0", Some(Language::V5_13)),
            ("5.14.1", Some(Language::V5_13)),
            ("5.23", Some(Language::V5_20)),
            ("5.24.0", Some(Language::V5_24)),
            ("6.0", Some(Language::V5_24)),
            ("5.12", None),
            ("5", None),
            ("5.x", None),
            ("5.24.0.1", None),
            ("", None),
        ] {
            assert_eq!(text.parse().ok(), language, "{text}");
        }
    }
}
