//! Whether a pattern takes exponential time in engines that backtrack.
//!
//! They do where some text can be gone through in two ways that begin and end at the same step of
//! the pattern: then every repetition of that text doubles the ways, and when what follows does not
//! match, all of them are tried. Our own engines never try a step twice at a place, but templates
//! are for others as well.
//!
//! In `(a+)+b`, say, `aa` can be gone through in two ways: both letters in one turn of the outer
//! repeat, or each in a turn of its own. `aaaa…` can then be in as many ways as there are to place the
//! borders between turns, and if no `b` follows, none of them matches.
//!
//! Pairs of steps are gone through together, over the same characters: a pair of equal steps that
//! comes back to itself by way of a pair of different ones gives such a pattern away ([`ways`]; the
//! [`graph`] of the pairs is searched for it). What stands around an atomic group, lookaround or a reference to a group is
//! looked at on its own, because the program does not show what these let pass; so a pattern may be
//! worse than is reported here, but never better.

mod graph;
mod ways;

use super::{Meter, Pattern};
use ways::Ways;

/// So many ways between steps are followed at the most.
const MAX_WAYS: usize = 400_000;

/// How often a text is repeated to see whether it fails.
const TIMES: usize = 20;

/// What a pattern takes exponential time for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explosion {
    /// The text whose repetitions can be gone through in ever more ways.
    pub repeated: String,
    /// What stands before and after the repetitions where no match comes of them, if that is known.
    pub around: Option<(String, String)>,
}

impl Pattern {
    /// What makes it take exponential time in engines that backtrack. `None` also stands for a
    /// pattern that is too large to say. What it takes to find out is subtracted from a budget.
    pub fn explosion(&self, budget: &mut usize) -> Option<Explosion> {
        let granted = MAX_WAYS.min(*budget);
        let mut ways = Ways::new(self.program(), granted);
        let found = ways.explosion();
        *budget -= granted - ways.left();
        let (lead, repeated) = found?;
        let repeated = root(&repeated);
        let fails = |text: &str| {
            let found = self.find(text, 0, &mut Meter::new(text.len()));
            found.is_ok_and(|found| found.is_none_or(|found| found.start > 0))
        };
        let Some(lead) = lead else {
            return Some(Explosion {
                repeated,
                around: None,
            });
        };
        let text = lead.clone() + &repeated.repeat(TIMES);
        let mut tails = ["", "!", "!!", "\n\n"].into_iter();
        // Where nothing can follow that makes the match fail, no engine ever tries again.
        let tail = tails.find(|tail| fails(&format!("{text}{tail}")))?;
        Some(Explosion {
            repeated,
            around: Some((lead, tail.to_owned())),
        })
    }
}

/// The shortest text of which this one is a repetition.
fn root(text: &str) -> String {
    let lengths = text.char_indices().map(|(at, _)| at).skip(1);
    let mut starts = lengths.filter(|&length| text.len().is_multiple_of(length));
    let repeats = |length: &usize| text[..*length].repeat(text.len() / length) == text;
    let length = starts.find(repeats).unwrap_or(text.len());
    text[..length].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explosion(pattern: &str) -> Option<Explosion> {
        let pattern = Pattern::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        pattern.explosion(&mut MAX_WAYS.clone())
    }

    #[test]
    fn nested_and_doubled_repeats_explode() {
        for (pattern, repeated) in [
            ("(a+)+b", "a"),
            ("(a*)*b", "a"),
            ("(a|a)*b", "a"),
            ("(a|a)*$", "a"),
            (r"(\s*x?)*y", " "),
            ("(?:a|ab|b)*c", "aba"),
            (r#"<(?:[^"]|\\.)*""#, r"\a"),
            (r"(?:\w+\s*)+:", "a"),
            ("(?:a{1,3})+b", "a"),
            ("(?:(?:ab)+)+c", "ba"),
            ("x(?=(a+)+b)", "a"),
            ("(?>(a+)+b)", "a"),
            (r"(?<=y)(?:\w|a)+z", "a"),
            ("(?:a|b|[ab])*?c", "a"),
            (r"(?:\ba?b*)*c|(?:a+)+d", "a"),
            ("(?:[ab]|[^a])*c", "b"),
            ("(?:[A-Za-z]|[a-z_])+:", "a"),
        ] {
            let found = explosion(pattern).map(|found| found.repeated);
            assert_eq!(found.as_deref(), Some(repeated), "{pattern}");
        }
    }

    #[test]
    fn what_has_one_way_or_always_comes_to_an_end_does_not() {
        for pattern in [
            "a+b",
            "(?:a+b)+c",
            "(a?)*b",
            "a*a*b",
            "(a|a)*",
            "(?:(a+)+|b)*",
            r#""(?:[^"\\]|\\.)*""#,
            r"(?:\b\w+\s*)+:",
            r"(?:\w+\s+)+:",
            "(?:a++)+b",
            "(?:a|b)*c",
            "(?:ab|ac)*d",
            "(?:(?!</x>).)*</x>",
            "(?:(?!<).|<)*y",
            ".*?</x>",
            "[^<]{1,500}<",
            "a{100}",
            "",
        ] {
            assert_eq!(explosion(pattern), None, "{pattern}");
        }
    }

    #[test]
    fn what_stands_around_the_repetitions_is_reported() {
        for (pattern, expected) in [
            ("<(a+)+>", Some(("<aa", ""))),
            ("x|(a|a)*b", Some(("a", ""))),
            ("(a|a)*$", Some(("a", "!"))),
            ("(?:a+)+.$", Some(("aa", "!!"))),
            // What has to stand behind is not known.
            ("(?<=q)(a+)+b", None),
        ] {
            let found = explosion(pattern).and_then(|found| found.around);
            let expected = expected.map(|(lead, tail)| (lead.to_owned(), tail.to_owned()));
            assert_eq!(found, expected, "{pattern}");
        }
    }

    #[test]
    fn what_is_too_large_is_not_reported() {
        for pattern in ["(?:a{0,50}){0,50}", &"(?:|a)".repeat(40)] {
            assert_eq!(explosion(pattern), None, "{pattern}");
        }
    }
}
