//! What variables are given that may have any value, to see what varies with them.

use crate::markers::is_word;
use crate::value::Value;

use super::reasoning_inference::quoted;
use super::turn_prober::TurnProber;
use super::variables::{ANY_NUMBER, is_given};

/// So many words of a template are given to each of its variables at most.
const MAX_WORDS: usize = 32;

/// Words with which variables are compared are short.
const LONGEST_WORD: usize = 16;

/// A value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Given {
    Word(String),
    Number(i64),
}

impl Given {
    pub(super) fn to_value(&self) -> Value {
        match self {
            Given::Word(word) => word.as_str().into(),
            Given::Number(number) => (*number).into(),
        }
    }

    /// As it shows in a rendering.
    pub(super) fn shown(&self) -> String {
        match self {
            Given::Word(word) => word.clone(),
            Given::Number(number) => number.to_string(),
        }
    }
}

/// Whether a variable of a template may have any value: it is no token, and nobody has given it.
pub(super) fn is_left_open(prober: &TurnProber<'_>, name: &str) -> bool {
    !is_given(name) && !name.ends_with("_token") && !prober.knows(name)
}

/// A word and a number that no template writes by itself: where a template calculates with a variable, no word will do.
pub(super) fn any_values(prober: &TurnProber<'_>) -> [Given; 2] {
    [Given::Word(prober.word("value")), Given::Number(ANY_NUMBER)]
}

/// The words in quotes that stand behind a name in a tag of a template: what it compares the variable with.
pub(super) fn words_beside(jinja: &str, name: &str) -> Vec<Given> {
    let places = jinja
        .match_indices(name)
        .map(|(at, _)| (&jinja[..at], &jinja[at + name.len()..]));
    let places =
        places.filter(|(before, rest)| !before.ends_with(is_word) && !rest.starts_with(is_word));
    let tags = places.map(|(_, rest)| rest.split(['%', '}', '\n']).next());
    let mut words: Vec<&str> = tags.flatten().flat_map(words_in_quotes).collect();
    words.sort_unstable();
    words.dedup();
    words.truncate(MAX_WORDS);
    let words = words.into_iter();
    words.map(|word| Given::Word(word.to_owned())).collect()
}

/// The words that a template has in quotes, each once: one of them may be what it compares a variable with.
pub(super) fn words_in_quotes(jinja: &str) -> impl Iterator<Item = &str> {
    let is_one_word = |text: &&str| {
        let is_short = (1..=LONGEST_WORD).contains(&text.len());
        is_short
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    };
    let words = quoted(jinja).into_iter().filter(is_one_word);
    words.take(MAX_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_is_compared_with_words_stands_before_one() {
        for (jinja, expected) in [
            ("{% if effort == 'low' %}", true),
            ("{% set effort = effort | default('low') %}", true),
            ("{% if effort %}low{% endif %}{{ 'low' }}", false),
            ("{% if role == 'low' and effort %}", false),
            ("{% if effort_of == 'low' %}", false),
            ("{% if effort %}\n'low'", false),
        ] {
            assert_eq!(
                !words_beside(jinja, "effort").is_empty(),
                expected,
                "{jinja}"
            );
        }
    }

    #[test]
    fn words_in_quotes_are_short_and_each_is_taken_once() {
        let jinja =
            "{% if a == 'low' or b == \"two-fold\" or c in ['low', 'a b', ''] %}'s{% endif %}";
        let found: Vec<&str> = words_in_quotes(jinja).collect();
        assert_eq!(found, ["low", "two-fold"]);
    }
}
