//! What opens and closes regions: literals, or a regular expression.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::language::{Language, Trait};
use super::pattern::{Meter, Pattern, TooCostly};

/// The opening or closing delimiter of a field, or the anchor of a message.
#[derive(Debug)]
pub struct Delimiter {
    spelling: Spelling,
    pattern: Arc<Pattern>,
    /// What may be left of it where it is not found, once somebody has asked.
    remains: OnceLock<Option<Pattern>>,
    /// What it is at the end of a text.
    at_end: OnceLock<Option<Pattern>>,
    /// Whether a match that ends where the text ends is final.
    pub(crate) commits_at_end: bool,
}

/// How something is spelled that is looked for in texts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Spelling {
    Literals(Vec<String>),
    Pattern(String),
}

/// Delimiters are equal if they are spelled the same.
impl PartialEq for Delimiter {
    fn eq(&self, other: &Delimiter) -> bool {
        self.spelling == other.spelling
    }
}

impl Eq for Delimiter {}

impl Delimiter {
    /// The delimiter that is spelled so, and the pattern that this was compiled to.
    pub(crate) fn new(spelling: Spelling, pattern: Arc<Pattern>) -> Delimiter {
        let can_extend = match &spelling {
            Spelling::Literals(literals) => {
                let mut sorted: Vec<&str> = literals.iter().map(String::as_str).collect();
                sorted.sort_unstable();
                sorted.dedup();
                // What begins with another literal stands right behind it, or behind one that does so, too.
                sorted.windows(2).any(|pair| pair[1].starts_with(pair[0]))
            }
            Spelling::Pattern(_) => true,
        };
        Delimiter {
            spelling,
            pattern,
            remains: OnceLock::new(),
            at_end: OnceLock::new(),
            commits_at_end: !can_extend,
        }
    }

    /// The literals, if it is spelled as literals.
    pub fn literals(&self) -> Option<&[String]> {
        match &self.spelling {
            Spelling::Literals(literals) => Some(literals),
            Spelling::Pattern(_) => None,
        }
    }

    /// The regular expression, if it is spelled as one.
    pub fn pattern(&self) -> Option<&str> {
        match &self.spelling {
            Spelling::Literals(_) => None,
            Spelling::Pattern(pattern) => Some(pattern),
        }
    }

    /// The names of the groups that it captures.
    pub fn group_names(&self) -> &[String] {
        self.pattern.groups()
    }

    /// Whether the places where it is found depend on how a text is cut into chunks.
    ///
    /// For some patterns they do: `a(?:bc)?` takes the `a` when a chunk ends after `ab`, though a `c`
    /// might follow; and `<end>|$` takes the end of any chunk for the end of the text, so that
    /// `<end>` is never found when it comes in pieces. The answer is for all versions of the
    /// [language](crate::response::Language) together; [`is_chunk_dependent_in`](Self::is_chunk_dependent_in) has it for one. `None`
    /// says that this is not known, because the pattern looks around in ways that only backtracking can follow, or is
    /// too large.
    ///
    /// ```
    /// use unjinja::ResponseTemplate;
    ///
    /// let template = ResponseTemplate::from_json(
    ///     r#"{"start_anchor": "A:", "fields": {"content": {"close_pattern": "<end>|$"}}}"#,
    /// )?;
    /// let close = template.field("content").and_then(|field| field.close());
    /// assert_eq!(close.and_then(|close| close.is_chunk_dependent()), Some(true));
    /// # Ok::<(), unjinja::TemplateError>(())
    /// ```
    pub fn is_chunk_dependent(&self) -> Option<bool> {
        // Older versions take at once what newer ones wait with.
        self.pattern.is_chunk_dependent(false)
    }

    /// The same in one version of the language: from 5.24 on, a match that ends before the text does waits where more text
    /// would change it.
    ///
    /// ```
    /// use unjinja::ResponseTemplate;
    /// use unjinja::response::Language;
    ///
    /// let template = ResponseTemplate::from_json(
    ///     r#"{"start_anchor": "A:", "fields": {"content": {"close_pattern": "<end>$"}}}"#,
    /// )?;
    /// let close = template.field("content").and_then(|field| field.close()).expect("it is there");
    /// // With a newline behind it, it ends an output, and no chunk.
    /// assert_eq!(close.is_chunk_dependent_in(Language::V5_20), Some(true));
    /// assert_eq!(close.is_chunk_dependent_in(Language::V5_24), Some(false));
    /// # Ok::<(), unjinja::TemplateError>(())
    /// ```
    pub fn is_chunk_dependent_in(&self, language: Language) -> Option<bool> {
        self.pattern
            .is_chunk_dependent(language.has(Trait::LooksPastTheEnd))
    }

    /// Whether one of the pattern's alternatives by itself depends on chunks, in one version of the language.
    #[cfg(feature = "internals")]
    #[doc(hidden)]
    pub fn has_chunk_dependent_branch_in(&self, language: Language) -> bool {
        let waits = language.has(Trait::LooksPastTheEnd);
        let pattern = self.pattern();
        pattern.is_some_and(|pattern| Pattern::has_chunk_dependent_branch(pattern, waits))
    }

    /// Returns whether a text is nothing but what may be left of it where it is not found, and what it looks for behind itself.
    pub(super) fn leaves(&self, text: &str) -> bool {
        let remains = self.remains.get_or_init(|| match &self.spelling {
            Spelling::Literals(literals) => Pattern::remains_of_literals(literals),
            Spelling::Pattern(pattern) => Pattern::remains_of(pattern),
        });
        let Some(remains) = remains else {
            return false;
        };
        let found = remains.find_within(text, 0, &mut Meter::new(text.len()));
        matches!(found, Ok(Some(found)) if found.start == 0)
    }

    /// Finds it at the end of a text, whatever it looks for around itself.
    pub(super) fn find_at_end(&self, text: &str) -> Result<Option<Range<usize>>, TooCostly> {
        let at_end = self.at_end.get_or_init(|| match &self.spelling {
            Spelling::Literals(literals) => Pattern::literals_at_end(literals),
            Spelling::Pattern(pattern) => Pattern::at_end(pattern),
        });
        let mut meter = Meter::new(text.len());
        let found = at_end.as_ref();
        let found = found.map(|at_end| at_end.find_within(text, 0, &mut meter));
        found.transpose().map(Option::flatten)
    }

    #[doc(hidden)]
    pub fn compiled(&self) -> &Pattern {
        &self.pattern
    }
}
