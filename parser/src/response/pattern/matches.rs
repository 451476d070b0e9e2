//! The matches of a pattern one after another, also in a text that is still growing.

use std::ops::ControlFlow;

use super::{Match, Meter, Pattern, Search, TooCostly, Verdict, Window};

/// A walk from match to match.
#[derive(Debug, Clone)]
pub struct Matches {
    search: Search,
    /// Where the next match is looked for.
    from: usize,
    /// Whether the last match was empty: it is not to be found again.
    after_empty: bool,
    /// Whether the search for the next match has begun.
    is_started: bool,
}

impl Matches {
    /// A walk from the start of a text.
    pub fn new(pattern: &Pattern) -> Matches {
        Matches {
            search: pattern.search(),
            from: 0,
            after_empty: false,
            is_started: false,
        }
    }

    /// Visits the matches from where the walk is: all of them in a text that is complete, else those
    /// that no further text can change. The text is the whole of it, each time.
    pub fn walk(
        &mut self,
        pattern: &Pattern,
        text: &str,
        is_last: bool,
        meter: &mut Meter,
        mut visit: impl FnMut(Match<'_>) -> ControlFlow<()>,
    ) -> Result<(), TooCostly> {
        let window = Window::whole(text);
        // What only backtracking finds says nothing of what more text would change.
        if !is_last && !matches!(self.search, Search::Scan(_)) {
            return Ok(());
        }
        while self.from <= window.end() {
            if !self.is_started {
                // What comes next decides on what may follow an empty match.
                if !is_last && self.from == window.end() {
                    break;
                }
                if self.after_empty {
                    self.search
                        .start_after_empty(pattern, &window, self.from, meter)?;
                } else {
                    self.search.start(&window, self.from);
                }
                self.is_started = true;
            }
            self.search.advance(pattern, &window, window.end(), meter)?;
            if !is_last && !self.search.is_settled(pattern, meter)? {
                break;
            }
            let verdict = self.search.verdict(pattern, &window, is_last, meter)?;
            let Verdict::Found { start, end } = verdict else {
                break;
            };
            let found = Match {
                start,
                end,
                groups: self.search.groups(pattern),
            };
            self.from = end;
            self.after_empty = start == end;
            self.is_started = false;
            if visit(found).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Ends the walk; the next one need not build its automaton again.
    pub fn end(self, pattern: &Pattern) {
        pattern.give_back(self.search);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The matches of a text that comes in pieces, and how much of it had come when each was visited.
    fn visited(pattern: &Pattern, pieces: &[&str]) -> Vec<(usize, usize, usize)> {
        let mut meter = Meter::new(10_000);
        let mut matches = Matches::new(pattern);
        let mut text = String::new();
        let mut all = Vec::new();
        let steps = pieces.iter().map(|piece| (*piece, false));
        for (piece, is_last) in steps.chain([("", true)]) {
            text.push_str(piece);
            let walked = matches.walk(pattern, &text, is_last, &mut meter, |found| {
                all.push((found.start, found.end, text.len()));
                ControlFlow::Continue(())
            });
            walked.expect("little to do");
        }
        all
    }

    #[test]
    fn a_match_is_visited_when_no_more_text_can_change_it() {
        for (pattern, pieces, expected) in [
            (
                "<p>(?s:.*?)</p>",
                &["<p>a</p", "><p>b", "</p>", " "][..],
                &[(0, 8, 12), (8, 16, 16)][..],
            ),
            (
                r"\w+=\w+",
                &["a=b", "c", " d=", "e"],
                &[(0, 4, 7), (5, 8, 8)],
            ),
            (
                "a*",
                &["b", "aa", "c"],
                &[(0, 0, 1), (1, 3, 4), (3, 3, 4), (4, 4, 4)],
            ),
            (r"(?<=')\d(?=')", &["'1", "'2'"], &[(1, 2, 5), (3, 4, 5)]),
        ] {
            let compiled = Pattern::new(pattern).expect("a pattern");
            assert_eq!(visited(&compiled, pieces), expected, "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn pieces_have_the_matches_of_the_whole(
            pattern in prop::sample::select(vec![
                "<p>.*?</p>", r"<(?P<k>\w+)>\n?(?P<v>.*?)\n?</", "a*", "(?:ab)*?", r"\b", "a|ab|",
                r"(?<=a)b*", r"b(?=a)", "(?!a).", "$", r"a+(?=\s*(?:,|\Z))", r"(?>a+)b?",
            ]),
            pieces in prop::collection::vec("[ab<>p/,\n ]{0,4}", 0..8),
        ) {
            let compiled = Pattern::new(pattern).expect("a pattern");
            let whole = pieces.concat();
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let places = |all: Vec<(usize, usize, usize)>| -> Vec<(usize, usize)> {
                all.into_iter().map(|(start, end, _)| (start, end)).collect()
            };
            prop_assert_eq!(
                places(visited(&compiled, &pieces)),
                places(visited(&compiled, &[whole.as_str()]))
            );
        }
    }
}
