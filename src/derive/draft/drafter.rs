//! What all fields of a draft are written with.

use crate::analysis::{CallParts, Findings};
use crate::derive::choices::{Choice, Choices};
use crate::derive::delimiter::Delimiters;
use crate::derive::options::DeriveOptions;
use crate::derive::pattern::{Pattern, any_of, exact};
use crate::derive::surroundings::Surroundings;
use crate::markers::lexicon::unmarked;
use crate::markers::{self, dedup, unlikely_in_prose};
use crate::value::Value;

use super::call_texts::call_openers;

/// Writes the fields of a draft.
pub(super) struct Drafter<'a> {
    pub(super) findings: &'a Findings,
    /// What stands around texts, if they are read by that.
    pub(super) around: Option<&'a Surroundings>,
    pub(super) calls: Option<&'a CallParts<'a>>,
    pub(super) choices: &'a Choices,
    pub(super) options: &'a DeriveOptions,
}

impl Drafter<'_> {
    /// Whether the answer to this is not the plainest.
    pub(super) fn chosen(&self, choice: Choice) -> bool {
        self.choices.has(choice)
    }

    /// What closes a region: texts, and expressions. White space behind texts goes with them, unless what is said has markers of its own.
    pub(super) fn closers(&self, closers: &[String], expressions: Vec<Pattern>) -> Delimiters {
        Delimiters::ignoring_space(closers, expressions, !self.chosen(Choice::ContentMarked))
    }

    pub(super) fn turn_ends(&self) -> Vec<String> {
        let turn = &self.findings.turn;
        let seen = self.around.map_or(&[][..], |around| &around.ends);
        // All markers that end turns elsewhere may end this one as well.
        let others = turn
            .all_ends()
            .filter(|end| self.around.is_none() || markers::is_marker(end));
        let ends = seen.iter().chain(others);
        let ends = ends.map(|end| end.trim().to_owned());
        // A line break may end turns, and stands in many an answer; so does a sign that people write.
        let is_rare = |end: &str| end.chars().all(markers::is_symbol) && !end.is_empty();
        let ends =
            ends.filter(|end| end.chars().count() > 1 || unlikely_in_prose(end) || is_rare(end));
        let mut ends: Vec<String> = ends.collect();
        markers::dedup(&mut ends);
        ends
    }

    /// What ends turns of texts: what a tool's answer begins with, and what stands behind all calls, does so behind calls
    /// alone.
    pub(super) fn text_ends(&self) -> Vec<String> {
        let turn = &self.findings.turn;
        let section = self.calls.map(|calls| calls.section_close.trim());
        let section = section.filter(|close| turn.all_ends().all(|end| end.trim() != *close));
        let of_calls = [turn.answer_marker.as_deref().map(str::trim), section];
        let is_of_calls = |end: &String| of_calls.contains(&Some(end.as_str()));
        let mut ends = self.turn_ends();
        // With nothing else that ends turns, an answer ends there as well.
        if !ends.iter().all(is_of_calls) {
            ends.retain(|end| !is_of_calls(end));
        }
        ends
    }

    /// The markers with which a call begins, if there are calls.
    pub(super) fn call_openers(&self) -> Vec<String> {
        self.calls.map(call_openers).unwrap_or_default()
    }
}

/// Adds the markers of a text, or the text itself if it is not markers alone, unless it could as
/// well be prose or JSON.
pub(super) fn push_markers(into: &mut Vec<String>, text: &str) {
    let units = markers::markers_or_whole(text)
        .into_iter()
        .filter(|unit| unlikely_in_prose(unit));
    into.extend(units.map(str::to_owned));
}

/// The expression for a sign with which one of some markers begins.
pub(super) fn first_signs<'t>(texts: impl IntoIterator<Item = &'t str>) -> Pattern {
    let texts = texts.into_iter().filter(|text| unlikely_in_prose(text));
    let signs = texts.filter_map(|text| unmarked(text).trim_start().chars().next());
    let mut signs: Vec<Pattern> = signs.map(|sign| exact(&sign.to_string())).collect();
    dedup(&mut signs);
    any_of(signs)
}

pub(super) fn texts(texts: &[String]) -> Vec<Value> {
    texts.iter().map(|text| text.as_str().into()).collect()
}

/// What a drafter of a format answers, with other answers to these choices than the plainest.
#[cfg(test)]
pub(super) fn asked<T>(
    findings: &Findings,
    chosen: &[Choice],
    ask: impl FnOnce(&Drafter<'_>) -> T,
) -> T {
    let choices = chosen.iter();
    let choices = choices.fold(Choices::default(), |all, one| all.with(*one, 1));
    ask(&Drafter {
        findings,
        around: None,
        calls: findings.call_parts().as_ref(),
        choices: &choices,
        options: &DeriveOptions::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::invented;

    #[test]
    fn signs_that_answers_have_end_no_turn() {
        for (end, answer_marker, expected, of_texts) in [
            (" <end>\n", None, vec!["<end>"], vec!["<end>"]),
            ("END", None, vec!["END"], vec!["END"]),
            ("\n", None, vec![], vec![]),
            ("#", None, vec![], vec![]),
            ("。", None, vec![], vec![]),
            // A sign that no keyboard has is clear by itself.
            ("■", Some("<tool>"), vec!["■", "<tool>"], vec!["■"]),
            // Nobody types a control character.
            ("\u{4}", None, vec!["\u{4}"], vec!["\u{4}"]),
            // What a tool's answer begins with ends no text, unless nothing else does.
            (
                "<end>",
                Some("<tool>"),
                vec!["<end>", "<tool>"],
                vec!["<end>"],
            ),
            ("\n", Some("<tool>"), vec!["<tool>"], vec!["<tool>"]),
        ] {
            let mut findings = invented::with_calls([""; 4]);
            findings.turn.ends = vec![end.to_owned()];
            findings.turn.answer_marker = answer_marker.map(str::to_owned);
            asked(&findings, &[], |drafter| {
                assert_eq!(drafter.turn_ends(), expected, "{end:?}");
                assert_eq!(drafter.text_ends(), of_texts, "{end:?}");
            });
        }
    }

    #[test]
    fn markers_are_taken_apart_and_words_are_not() {
        for (text, expected) in [
            ("<a>\n<b>", vec!["<a>", "<b>"]),
            ("\nCalls: <a>", vec!["Calls: <a>"]),
            ("}", vec![]),
            ("\n", vec![]),
        ] {
            let mut into = Vec::new();
            push_markers(&mut into, text);
            assert_eq!(into, expected, "{text:?}");
        }
    }

    #[test]
    fn markers_begin_with_signs() {
        for (texts, expected) in [
            (vec!["<a>", "\n</b>"], "<"),
            (vec!["<a>", "@@b@@", "so"], "(?:<|@)"),
        ] {
            assert_eq!(first_signs(texts.clone()), expected, "{texts:?}");
        }
    }

    #[test]
    fn white_space_goes_along_unless_texts_have_markers_of_their_own() {
        let findings = invented::with_calls([""; 4]);
        for (chosen, takes_space) in [(&[][..], true), (&[Choice::ContentMarked], false)] {
            let closers = |drafter: &Drafter<'_>| drafter.closers(&["</t>".to_owned()], Vec::new());
            let found = asked(&findings, chosen, closers);
            assert_eq!(found.takes_space, takes_space, "{chosen:?}");
        }
    }
}
