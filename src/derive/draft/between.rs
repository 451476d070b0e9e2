//! Markers that are dropped from content: they stand between the fields of a turn and belong to none, as what closes a section of
//! calls does. Each closes content, and what follows it begins another one. An answer may speak of such a marker, so it is looked
//! for only where the format has it.

use crate::analysis::CallParts;
use crate::derive::delimiter::{Delimiter, Draft};
use crate::derive::pattern::{
    ANYTHING, END, Pattern, SPACE, START, any_of, before_any_of, behind, exact, ignoring_space,
};
use crate::markers::{self, unlikely_in_prose};

use super::drafter::Drafter;

impl Drafter<'_> {
    /// What closes content in a draft and stands between other fields, there and nowhere else.
    pub(super) fn between_fields(&self, draft: &Draft) -> Vec<Delimiter> {
        let content = draft.fields.iter().find(|field| field.name == "content");
        let Some(content) = content.filter(|content| content.open.alternatives.is_empty()) else {
            return Vec::new();
        };
        let unclosed = self.unclosed_thoughts();
        let closes = content.close.alternatives.iter().chain(&unclosed);
        let texts = closes.filter_map(|delimiter| match delimiter {
            Delimiter::Exact(text) | Delimiter::IgnoringSpace(text) => Some(text.as_str()),
            Delimiter::Expression(_) => None,
        });
        let mut texts: Vec<&str> = texts.collect();
        let before = self.before_dropped(&texts);
        // What ends the turn does so wherever it stands.
        let ends = self.text_ends();
        texts.retain(|text| !ends.iter().any(|end| end == text));
        let mut between = Vec::new();
        for text in texts {
            let places = self.places_of_dropped(text, &before).into_iter();
            let close = ignoring_space(text);
            between.extend(places.map(|place| Delimiter::Expression(place + &close + SPACE)));
            let begins_thought = unclosed.contains(&Delimiter::IgnoringSpace(text.to_owned()));
            between.extend(match begins_thought {
                // Behind what the prompt has begun, a call is no thought.
                true => self.close_before_calls(text),
                // What stands between a text and the calls closes nothing else.
                false => self.close_before_end(text),
            });
        }
        // Nothing is called in `<calls></calls>`, and an answer may speak of that.
        if let Some(section) = self.calls.and_then(CallParts::section_markers) {
            let empty = section.join(" ");
            let anywhere = ignoring_space(&empty) + SPACE;
            let ends = ends.iter().map(|end| ignoring_space(end));
            let before_end = before_any_of(ends.chain([END]));
            let both = [anywhere.clone() + before_end, anywhere];
            between.extend(both.map(Delimiter::Expression));
        }
        between
    }

    /// What may stand before a text that is dropped: what closes calls and thoughts, headers, if the draft drops these, and other texts
    /// that are dropped.
    fn before_dropped(&self, dropped: &[&str]) -> Vec<String> {
        let calls = self.calls.into_iter().flat_map(|calls| {
            let first = markers::split_close(&calls.close).0;
            // What closes a section may be several markers.
            let section = markers::markers(&calls.section_close);
            [first, &calls.close].into_iter().chain(section)
        });
        let shape = self.findings.reasoning.as_ref();
        let thoughts = shape.into_iter().flat_map(|shape| shape.closes());
        let turn = &self.findings.turn;
        // The model may write the header, or several in a turn.
        let headers = turn.headers.iter().map(|header| header.trim());
        let headers =
            headers.filter(|header| !turn.before_seams.is_empty() || dropped.contains(header));
        // Other texts may be dropped there, as `<mode>tools` is.
        let others = self.choices.dropped().iter().map(String::as_str);
        let all = calls.chain(thoughts).chain(headers).chain(others);
        let all = all.map(|text| text.trim().to_owned());
        // A common sign stands in answers as well, and then what follows it is said.
        let mut all: Vec<String> = all.filter(|text| unlikely_in_prose(text)).collect();
        markers::dedup(&mut all);
        all
    }

    /// The expressions for the places where a text is dropped, which may stand behind some others.
    fn places_of_dropped(&self, text: &str, before: &[String]) -> Vec<Pattern> {
        let somewhere_behind = |before: &str| behind(ignoring_space(before.trim()) + ANYTHING);
        let mut headers = self.findings.turn.headers.iter();
        let is_header = headers.any(|header| header.trim() == text);
        // A model may end the turn that a prompt has begun, and write the next header itself.
        let ends = self.text_ends().into_iter().filter(|_| is_header);
        let others = before.iter().cloned().chain(ends);
        let others = others.filter(|other| other != text);
        let others = others.map(|other| behind(ignoring_space(&other) + SPACE));
        let others: Vec<Pattern> = others.collect();
        let content = &self.findings.content;
        // What stands beside a thought alone may be no more than what closes the answer.
        let beside = content.beside().into_iter();
        let beside = beside.filter_map(<[String]>::split_first);
        let beside: Vec<_> = beside
            .filter(|(first, _)| !markers::says_end(first))
            .collect();
        let beside_texts = beside
            .iter()
            .flat_map(|(open, rest)| [*open].into_iter().chain(*rest));
        let mut opens = content.open.iter().chain(beside_texts);
        let mut places = match is_header || opens.any(|open| open.trim() == text) {
            true => self.places_of_opener(&others),
            false => others.into_iter().chain([START + SPACE]).collect(),
        };
        // Words are said within a line as well.
        if markers::reads_like_prose(text) {
            places.push(any_of([START, behind(exact("\n"))]) + SPACE);
        }
        // Without what opens it, `Put </say> behind it.` is an answer.
        let closed = beside
            .iter()
            .filter(|(_, closes)| closes.iter().any(|close| close.trim() == text));
        for (open, _) in closed {
            // An answer may speak of both, but it does not begin with what opens it.
            places.push(behind(
                START + SPACE + ignoring_space(open.trim()) + ANYTHING,
            ));
            places.push(somewhere_behind(open));
        }
        // A text may follow upon calls and stand before `</calls>`, and without a call `Put </calls> behind them.` is an answer.
        let calls = self
            .calls
            .filter(|calls| calls.section_close.trim() == text);
        let call_close = calls.map(|calls| &*calls.close);
        let call_close = call_close.filter(|close| unlikely_in_prose(close.trim()));
        places.extend(call_close.map(somewhere_behind));
        // Nothing is called in `<calls></calls>`.
        let section = self.calls.and_then(CallParts::section_markers);
        if let Some([open, _]) = section.filter(|[_, close]| *close == text) {
            let open = ignoring_space(open) + SPACE;
            let empty = places
                .iter()
                .map(|place| any_of([place.clone(), open.clone()]));
            places.extend(empty.collect::<Vec<_>>());
        }
        places
    }

    /// The expressions for the places where a text is opened: at the start of the turn, behind what a prompt has begun, and behind
    /// all that may stand before it, or one of that.
    fn places_of_opener(&self, others: &[Pattern]) -> Vec<Pattern> {
        let begun = self.begun_thought();
        let groups = [others].into_iter().chain(others.chunks(1));
        let groups = groups.chain([&[][..]]);
        let places = groups.flat_map(|others| {
            let place = |begun: Option<&Pattern>| {
                // What begins with any `<think 1>` may begin as the text does, which is found as soon as it has come.
                let start = [START + SPACE].into_iter();
                any_of(others.iter().cloned().chain(start).chain(begun.cloned()))
            };
            let behind_begun = begun.as_ref().map(|begun| place(Some(begun)));
            [place(None)]
                .into_iter()
                .chain(behind_begun)
                .collect::<Vec<_>>()
        });
        let mut places: Vec<Pattern> = places.collect();
        markers::dedup(&mut places);
        places
    }

    /// What is dropped where a call stands behind it.
    fn close_before_calls(&self, text: &str) -> Option<Delimiter> {
        let openers = self.call_openers();
        let ahead = before_any_of(openers.iter().map(|open| ignoring_space(open)));
        let close = ignoring_space(text) + SPACE + ahead;
        (!openers.is_empty()).then_some(Delimiter::Expression(close))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Findings;
    use crate::derive::delimiter::FieldDraft;
    use crate::derive::draft::drafter::asked;
    use crate::derive::invented;
    use crate::value::Object;

    /// Whether these are among the places where a draft drops some texts.
    fn assert_found(findings: &Findings, dropped: &[&str], expected: &[(&str, bool)]) {
        let mut content = FieldDraft::new("content");
        let closes = dropped.iter().map(|text| (*text).to_owned());
        content.close.alternatives = closes.map(Delimiter::IgnoringSpace).collect();
        let draft = Draft {
            head: Object::new(),
            fields: vec![content],
        };
        let found = asked(findings, &[], |drafter| drafter.between_fields(&draft));
        let found: Vec<Pattern> = found.iter().map(Delimiter::expression).collect();
        for (expected, is_there) in expected {
            let has = found.iter().any(|one| one == expected);
            assert_eq!(has, *is_there, "{expected} in {found:?}");
        }
    }

    #[test]
    fn what_closes_a_text_only_beside_reasoning_does_so_behind_what_opens_it() {
        let mut findings = invented::findings(["<t>", "</t>"], ["", "<end>"], [""; 4]);
        findings.content.beside_reasoning = vec!["<say>".to_owned(), "</say>".to_owned()];
        assert_found(
            &findings,
            &["<end>", "<say>", "</say>"],
            &[
                (r"(?<=<say>.*?)</say>\s*", true),
                (r"(?<=\A\s*<say>.*?)</say>\s*", true),
                (r"(?<=<say>.*?)<say>\s*", false),
                (r"(?<=<say>.*?)<end>\s*", false),
            ],
        );
    }

    #[test]
    fn what_opens_a_text_stands_at_the_start_and_behind_as_little_as_is_needed() {
        let calls = ["", "<call>NAMEARGUMENTS</call>", "", ""];
        let mut findings = invented::findings(["<t>", "</t>"], ["<say>", "<end>"], calls);
        let expected = [
            (r"(?:(?<=</call>\s*)|(?<=</t>\s*)|\A\s*)<say>\s*", true),
            (r"(?:(?<=</t>\s*)|\A\s*)<say>\s*", true),
            (r"\A\s*<say>\s*", true),
            (r"(?:(?<=</t>\s*)|\A\s*|\A<t>\s*)<say>\s*", false),
            (r"(?:(?<=<assistant>\s*)|\A\s*)<say>\s*", false),
        ];
        assert_found(&findings, &["<say>"], &expected);
        // A prompt may have begun a thought, and a model the header.
        let shape = findings.reasoning.as_mut().expect("it thinks");
        shape.opened_by_prompt = true;
        let expected = expected[1..].iter().map(|(place, _)| (*place, true));
        let dropped = ["<say>", &findings.turn.headers[0].clone()];
        assert_found(&findings, &dropped, &expected.collect::<Vec<_>>());
    }

    #[test]
    fn what_stands_behind_all_calls_does_so_where_something_has_been_called() {
        let findings = invented::with_calls(["<calls>", "<call>ARGUMENTS</call>", "", "</calls>"]);
        assert_found(
            &findings,
            &["<end>", "</calls>"],
            &[
                (r"(?<=</call>\s*)</calls>\s*", true),
                // A text may stand between.
                (r"(?<=</call>.*?)</calls>\s*", true),
                // Nothing is called here.
                (r"<calls>\s*</calls>\s*", true),
                (r"(?:(?<=</call>\s*)|<calls>\s*)</calls>\s*", true),
            ],
        );
    }

    #[test]
    fn words_are_dropped_where_a_line_begins() {
        let mut findings = invented::findings(["Mull:", ""], [""; 2], [""; 4]);
        findings.content.beside_reasoning = vec!["Say at last:".to_owned(), "<say>".to_owned()];
        assert_found(
            &findings,
            &["Say at last:", "<say>"],
            &[
                (r"(?:\A|(?<=\n))\s*Say\s*at\s*last:\s*", true),
                (r"(?:\A|(?<=\n))\s*<say>\s*", false),
            ],
        );
    }

    #[test]
    fn what_stands_between_a_text_and_calls_or_before_these_does_so_there() {
        let calls = ["", "<call>NAMEARGUMENTS", "<next>", ""];
        let findings = invented::findings(["<t>", "</t>"], ["", "<end>"], calls);
        assert_found(
            &findings,
            &["<next>", "<t>"],
            &[
                (r"<next>\s*(?=<end>|<assistant>|<call>|\Z)", true),
                (r"<t>\s*(?=<call>)", true),
                (r"<t>\s*(?=<end>|<assistant>|<call>|\Z)", false),
            ],
        );
    }
}
