//! How two texts differ, as data.
//!
//! [`words`] compares word by word, [`lines`] line by line. Both cut the two texts into the same
//! number of parts, in order: a part that both have, then one that differs, and so on. Put together,
//! the parts are the texts again.

use std::collections::HashMap;
use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// The smallest difference is looked for where the numbers of pieces, multiplied, are no more than this: about a second at
/// most. Of longer texts it may take long to find; another will do.
const MAX_PAIRS: usize = 50_000_000;

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
/// In long texts the smallest difference is looked for between words that each of them has once; what is long between two of
/// these comes as one part that differs, though some of it may be the same.
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
/// Long texts are compared as in [`words`].
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
    let (mut before, mut after) = (before, after);
    let changes = steps(&old, &new).into_iter().map(|step| Change {
        before: take(&mut before, &old[step.old]),
        after: take(&mut after, &new[step.new]),
    });
    changes.collect()
}

/// Pieces of both texts that stand at the same place of a comparison.
struct Step {
    old: Range<usize>,
    new: Range<usize>,
    is_equal: bool,
}

/// Returns what both have and what differs, in turns.
fn steps(old: &[&str], new: &[&str]) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut at_old, mut at_new) = (0, 0);
    let ends = [(old.len(), new.len())];
    for (next_old, next_new) in anchors(old, new).into_iter().chain(ends) {
        add_between(&mut steps, old, new, at_old..next_old, at_new..next_new);
        (at_old, at_new) = (next_old, next_new);
    }
    steps
}

/// Pieces that stand once in each of two long texts, in the same order in both; none where the texts are short enough to be
/// compared as they are.
fn anchors(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    if old.len().saturating_mul(new.len()) <= MAX_PAIRS {
        return Vec::new();
    }
    let news = once(new);
    let mut shared: Vec<(usize, usize)> = once(old)
        .into_iter()
        .filter_map(|(piece, at)| Some((at, *news.get(piece)?)))
        .collect();
    shared.sort_unstable();
    in_order(&shared)
}

/// The pieces that stand once in a text, with their places.
fn once<'a>(pieces: &[&'a str]) -> HashMap<&'a str, usize> {
    let mut places: HashMap<&str, Option<usize>> = HashMap::new();
    for (at, piece) in pieces.iter().enumerate() {
        let is_new = !places.contains_key(piece);
        places.insert(piece, is_new.then_some(at));
    }
    let places = places.into_iter();
    places
        .filter_map(|(piece, at)| Some((piece, at?)))
        .collect()
}

/// The longest row of pairs in which both numbers rise; they come in the order of the first.
fn in_order(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length the row that ends lowest, by its last pair; and for each pair the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; pairs.len()];
    for (at, (_, second)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *second);
        before[at] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut row = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        row.push(pairs[at]);
        next = before[at];
    }
    row.reverse();
    row
}

/// Adds how two stretches differ.
fn add_between(
    steps: &mut Vec<Step>,
    old: &[&str],
    new: &[&str],
    olds: Range<usize>,
    news: Range<usize>,
) {
    if olds.is_empty() && news.is_empty() {
        return;
    }
    if olds.len().saturating_mul(news.len()) > MAX_PAIRS {
        add(steps, olds, news, false);
        return;
    }
    let found = capture_diff_slices(Algorithm::Myers, &old[olds.clone()], &new[news.clone()]);
    for step in found {
        let (own, other) = (step.old_range(), step.new_range());
        let is_equal = matches!(step, DiffOp::Equal { .. });
        add(
            steps,
            own.start + olds.start..own.end + olds.start,
            other.start + news.start..other.end + news.start,
            is_equal,
        );
    }
}

/// Adds a step, to the one before it if that is of the same kind.
fn add(steps: &mut Vec<Step>, old: Range<usize>, new: Range<usize>, is_equal: bool) {
    match steps.last_mut() {
        Some(last) if last.is_equal == is_equal => {
            last.old.end = old.end;
            last.new.end = new.end;
        }
        _ => steps.push(Step { old, new, is_equal }),
    }
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
    fn large_texts_that_have_little_in_common_come_to_an_end() {
        // Each is made of the same words, in an order of its own.
        let text = |step: usize| -> String {
            (0..400_000)
                .map(|at| format!("{}{}", at * step % 7919, [" ", "\n"][at % 2]))
                .collect()
        };
        let angles = "<".repeat(1_000_000);
        let (before, after) = (text(31), text(1009));
        for (before, after) in [(&before, &after), (&angles, &before)] {
            assert!(!words(before, after).is_empty());
            assert!(!lines(before, after).is_empty());
        }
    }

    #[test]
    fn in_large_texts_small_differences_are_found() {
        let line = |at: usize| format!("line {at}\n");
        let before: String = (0..20_000).map(line).collect();
        let after = before
            .replace("line 700\n", "line x\n")
            .replace("line 15000\n", "");
        let changes = lines(&before, &after);
        let different = changes.iter().filter(|change| !change.is_equal());
        let different: Vec<_> = different
            .map(|change| (change.before, change.after))
            .collect();
        assert_eq!(
            different,
            [("line 700\n", "line x\n"), ("line 15000\n", "")]
        );
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
