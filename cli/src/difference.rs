//! How two texts differ, as data.
//!
//! [`words`] compares word by word, [`lines`] line by line. Both cut the two texts into the same
//! number of parts, in order: a part that both have, then one that differs, and so on. Put together,
//! the parts are the texts again.

use std::time::{Duration, Instant};

use similar::{Algorithm, capture_diff_slices_deadline};

/// How long the smallest difference is looked for. Of long texts it may take long to find; another
/// will do.
const MAX_LOOKING: Duration = Duration::from_secs(1);

/// A part of two texts, as each of them has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Change<'a> {
    /// What the first text has; nothing, if it is only in the second.
    pub before: &'a str,
    /// What the second has instead.
    pub after: &'a str,
}

impl Change<'_> {
    /// Whether both texts have the same here.
    ///
    /// ```
    /// let changes = unjinja_cli::difference::words("a b", "a c");
    /// assert!(changes[0].is_equal());
    /// assert!(!changes[1].is_equal());
    /// ```
    pub fn is_equal(&self) -> bool {
        self.before == self.after
    }
}

/// Compares two texts word by word. A tag such as `</think>` counts as a word, and so does each
/// character that belongs to none.
///
/// After a second no smaller difference is looked for: what is left of long texts may then come as
/// one part that differs, though some of it is the same.
///
/// ```
/// use unjinja_cli::difference;
///
/// let changes = difference::words("<b>A plain answer.", "<b>An answer.");
/// let shown: String = changes
///     .iter()
///     .map(|change| match change.is_equal() {
///         true => change.after.to_owned(),
///         false => format!("[{}|{}]", change.before, change.after),
///     })
///     .collect();
/// assert_eq!(shown, "<b>[A plain|An] answer.");
/// ```
pub fn words<'a>(before: &'a str, after: &'a str) -> Vec<Change<'a>> {
    compare(before, after, words_of)
}

/// Compares two texts line by line. Each line has its line feed, if there is one.
///
/// After a second no smaller difference is looked for, as in [`words`].
///
/// ```
/// use unjinja_cli::difference;
///
/// let changes = difference::lines("one\ntwo\nthree\n", "one\n2\nthree\n");
/// let parts: Vec<_> = changes.iter().map(|change| (change.before, change.after)).collect();
/// assert_eq!(parts, [("one\n", "one\n"), ("two\n", "2\n"), ("three\n", "three\n")]);
/// ```
pub fn lines<'a>(before: &'a str, after: &'a str) -> Vec<Change<'a>> {
    compare(before, after, |text| text.split_inclusive('\n').collect())
}

/// Compares two texts by the pieces that they are cut into.
fn compare<'a>(
    before: &'a str,
    after: &'a str,
    pieces: impl Fn(&'a str) -> Vec<&'a str>,
) -> Vec<Change<'a>> {
    let (old, new) = (pieces(before), pieces(after));
    let until = Some(Instant::now() + MAX_LOOKING);
    let steps = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, until);
    let (mut before, mut after) = (before, after);
    let changes = steps.into_iter().map(|step| Change {
        before: take(&mut before, &old[step.old_range()]),
        after: take(&mut after, &new[step.new_range()]),
    });
    changes.collect()
}

/// Takes as much from the start of a text as its next pieces are long.
fn take<'a>(text: &mut &'a str, pieces: &[&str]) -> &'a str {
    let length = pieces.iter().map(|piece| piece.len()).sum();
    let (taken, rest) = text.split_at(length);
    *text = rest;
    taken
}

/// The words of a text, its tags, and each other character by itself.
fn words_of(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '<' => tag(rest).unwrap_or(1),
            c if c.is_alphanumeric() => rest
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        words.push(word);
        rest = after;
    }
    words
}

/// How long the tag is that a text begins with. It is not looked for beyond where another may
/// begin, lest a text be read again and again.
fn tag(text: &str) -> Option<usize> {
    let inner = &text[1..];
    let end = inner.find(|c: char| matches!(c, '<' | '>') || c.is_whitespace())?;
    inner[end..].starts_with('>').then_some(end + 2)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::{Change, lines, words, words_of};

    #[test]
    fn words_tags_and_single_characters_are_parts() {
        let cases: [(&str, &[&str]); 5] = [
            ("", &[]),
            ("an été 7th", &["an", " ", "été", " ", "7th"]),
            ("<think>So.</think>", &["<think>", "So", ".", "</think>"]),
            ("<a <b>", &["<", "a", " ", "<b>"]),
            ("<<x>>", &["<", "<x>", ">"]),
        ];
        for (text, expected) in cases {
            assert_eq!(words_of(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_one_text_alone_has_stands_beside_nothing() {
        let cases = [
            (("", ""), vec![]),
            (("a", ""), vec![("a", "")]),
            (("", "a"), vec![("", "a")]),
            (("a", "a b"), vec![("a", "a"), ("", " b")]),
        ];
        for ((before, after), expected) in cases {
            let parts: Vec<_> = words(before, after)
                .iter()
                .map(|change| (change.before, change.after))
                .collect();
            assert_eq!(parts, expected);
        }
    }

    #[test]
    fn large_texts_that_have_little_in_common_end_soon() {
        // Each is made of the same words, in an order of its own.
        let text = |step: usize| -> String {
            (0..400_000)
                .map(|at| format!("{}{}", at * step % 7919, [" ", "\n"][at % 2]))
                .collect()
        };
        let angles = "<".repeat(1_000_000);
        let (before, after) = (text(31), text(1009));
        for (before, after) in [(&before, &after), (&angles, &before)] {
            let start = Instant::now();
            assert!(!words(before, after).is_empty());
            assert!(!lines(before, after).is_empty());
            let time = start.elapsed();
            assert!(time < Duration::from_secs(15), "it took {time:?}");
        }
    }

    fn whole(changes: &[Change<'_>], side: impl Fn(&Change<'_>) -> String) -> String {
        changes.iter().map(side).collect()
    }

    proptest! {
        #[test]
        fn the_parts_are_the_texts_again_and_differ_in_turns(
            before in "[ab<>\\né ]{0,40}",
            after in "[ab<>\\né ]{0,40}",
        ) {
            for changes in [words(&before, &after), lines(&before, &after)] {
                prop_assert_eq!(whole(&changes, |change| change.before.into()), before.as_str());
                prop_assert_eq!(whole(&changes, |change| change.after.into()), after.as_str());
                for pair in changes.windows(2) {
                    prop_assert_ne!(pair[0].is_equal(), pair[1].is_equal());
                }
            }
        }
    }
}
