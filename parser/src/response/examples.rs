//! Short texts in which a delimiter is found.

use std::ops::Range;

use super::delimiter::Delimiter;
use super::pattern::{Meter, drafts};

/// A text in which a delimiter is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// The text: what is found, and what lookaround has to see beside it.
    pub text: String,
    /// Where in it the delimiter is found.
    pub found: Range<usize>,
}

impl Example {
    /// What is found; empty if there is only something to be seen.
    #[doc(hidden)]
    pub fn matched(&self) -> &str {
        &self.text[self.found.clone()]
    }
}

impl Delimiter {
    /// Some texts in which it is found: all of its literals, or some that show each alternative of
    /// a pattern, its repeats at their least and once more. There may be none, for patterns that
    /// match long texts only, or whose lookaround forbids all that comes to mind.
    #[doc(hidden)]
    pub fn examples(&self) -> Vec<Example> {
        let texts = match (self.literals(), self.pattern()) {
            (Some(literals), _) => literals.to_vec(),
            (None, pattern) => {
                let drafts = drafts(pattern.unwrap_or_default()).into_iter();
                drafts.map(|draft| draft.whole()).collect()
            }
        };
        let mut meter = Meter::new(texts.iter().map(String::len).sum());
        let mut examples: Vec<Example> = Vec::new();
        for text in texts {
            if let Ok(Some(found)) = self.compiled().find(&text, 0, &mut meter) {
                let example = Example { text, found };
                if !examples.contains(&example) {
                    examples.push(example);
                }
            }
        }
        examples
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::response::delimiter::Spelling;
    use crate::response::pattern::Pattern;

    fn shown(delimiter: &Delimiter) -> Vec<String> {
        let parts = |example: &Example| {
            let (start, end) = (example.found.start, example.found.end);
            let text = &example.text;
            format!("{}[{}]{}", &text[..start], &text[start..end], &text[end..])
        };
        delimiter.examples().iter().map(parts).collect()
    }

    fn delimiter(spelled: &str, compiled: Pattern) -> Delimiter {
        Delimiter::new(Spelling::Pattern(spelled.to_owned()), compiled.into())
    }

    #[test]
    fn literals_are_their_own_examples() {
        let literals = vec!["<a>".into(), "<a><b>".into()];
        let pattern = Pattern::literals(&literals).unwrap_or_else(|error| panic!("{error}"));
        let delimiter = Delimiter::new(Spelling::Literals(literals), pattern.into());
        assert_eq!(shown(&delimiter), ["[<a>]", "[<a><b>]"]);
    }

    #[test]
    fn patterns_are_shown_with_what_they_look_at() {
        for (pattern, expected) in [
            (r"(?:</a>|</b>)\s*", &["[</a>]", "[</b>]", "[</a> ]"][..]),
            (r"</a>|(?=<b>)", &["[</a>]", "[]<b>"]),
            (r"\}(?=,\s*\{)", &["[}],{", "[}], {"]),
            (r"(?<=x.*)\s+y", &["x[ y]", "xa[ y]", "x[  y]"]),
            // Lookaround that forbids it.
            (r"a(?!b)b", &[]),
            (r"(?=x)a", &[]),
            // A shorter match comes first.
            (r"a|ab", &["[a]", "[a]b"]),
            (r"^\s*>>>$", &["[>>>]", "[ >>>]"]),
            (r"x\A", &[]),
        ] {
            let compiled =
                Pattern::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            let delimiter = delimiter(pattern, compiled);
            assert_eq!(shown(&delimiter), expected, "{pattern}");
        }
    }

    /// Patterns put together from pieces, some of them with lookaround.
    fn patterns() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[a-c<>]{1,3}",
            Just(r"\s".to_owned()),
            Just(r"[^<]".to_owned()),
            Just(".".to_owned()),
            Just(r"\b".to_owned()),
        ];
        piece.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(|all| all.concat()),
                prop::collection::vec(inner.clone(), 1..4)
                    .prop_map(|all| format!("(?:{})", all.join("|"))),
                (
                    inner.clone(),
                    prop::sample::select(vec!["*", "+", "?", "{2,3}", "*?", "++"])
                )
                    .prop_map(|(inner, times)| format!("(?:{inner}){times}")),
                (
                    inner,
                    prop::sample::select(vec!["?=", "?!", "?<=", "?<!", "?>"])
                )
                    .prop_map(|(inner, kind)| format!("({kind}{inner})")),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_given_is_found_and_there_is_some_where_nothing_forbids_it(pattern in patterns()) {
            let Ok(compiled) = Pattern::new(&pattern) else { return Ok(()) };
            let delimiter = delimiter(&pattern, compiled);
            let examples = delimiter.examples();
            for example in &examples {
                let mut first = None;
                let searched = delimiter.compiled().for_each_match(&example.text, |found| {
                    first = Some(found.start..found.end);
                    std::ops::ControlFlow::Break(())
                });
                prop_assert!(searched.is_ok());
                prop_assert_eq!(first.as_ref(), Some(&example.found), "{:?}", example);
            }
            let looks = ["(?=", "(?!", "(?<", "(?>", "++", r"\b"];
            let is_plain = !looks.iter().any(|look| pattern.contains(look));
            let fits = delimiter.examples().len() <= 24;
            prop_assert!(fits && (!is_plain || !examples.is_empty()), "{}", pattern);
        }
    }
}
