//! The field for reasoning.

use crate::analysis::ReasoningShape;
use crate::derive::delimiter::{Delimiter, Delimiters, FieldDraft};
use crate::derive::pattern::{
    ANYTHING, Pattern, SPACE, START, ahead, any_of, either, exact, ignoring_space, not_ahead,
    not_behind,
};
use crate::markers::{dedup, markers, reads_like_prose, says_end, unlikely_in_prose};

use super::call_texts::{split_last_marker, spoken};
use super::drafter::Drafter;

impl Drafter<'_> {
    /// The field for reasoning, if the model reasons.
    pub(super) fn thinking(&self) -> Option<FieldDraft> {
        if let Some(around) = self.around.and_then(|around| around.reasoning.as_ref()) {
            return Some(self.field_as_rendered(&self.options.reasoning_field, around));
        }
        let shape = self.findings.reasoning.as_ref()?;
        let close = shape.close.as_deref().map(str::trim);
        let mut field = FieldDraft::new(&self.options.reasoning_field);
        let opens = shape.opens().into_iter();
        field.open.alternatives = opens
            .map(|open| match markers(open).next() {
                Some(_) => Delimiter::Exact(open.to_owned()),
                // An answer may have the same words in it.
                None => Delimiter::Expression(self.words_at_start(open)),
            })
            .collect();
        if field.open.alternatives.is_empty() {
            // Only the closer that comes shows that the turn has begun with a thought, though all text waits for it.
            let open = START + ahead(ANYTHING + exact(close?));
            field.open = Delimiters::one(Delimiter::Expression(open));
        }
        if close.is_none() {
            // In `Thought: … Action: …`, nothing ends the thought but what opens the next part. What opens a text is taken along: behind
            // it, `<say>` may be spoken of.
            let (of_text, openers): (Vec<String>, Vec<String>) = self
                .next_openers_after_reasoning()
                .into_iter()
                .partition(|opener| self.opens_text(opener));
            let any = || any_of(openers.iter().map(|opener| ignoring_space(opener)));
            let next = (!openers.is_empty()).then(|| ahead(any()));
            let mut closes = self.turn_ends();
            closes.extend(of_text);
            field.close = self.closers(&closes, next.into_iter().collect());
            return Some(field);
        }
        let closes: Vec<String> = shape.closes().into_iter().map(str::to_owned).collect();
        field.close = self.closers(&closes, Vec::new());
        Some(field)
    }

    /// Other ways of opening reasoning: anywhere, or at the turn's start.
    pub(super) fn other_opens_of_thinking(&self, shape: &ReasoningShape) -> Vec<Delimiter> {
        // Amid an answer, `Thought:` opens nothing: words do so at the turn's start alone.
        let opens = shape.opens().into_iter();
        let opens = opens.filter(|open| unlikely_in_prose(open) && !reads_like_prose(open));
        // Where turns begin in several ways, or conversations otherwise than prompts, a model may write a header itself.
        let turn = &self.findings.turn;
        let writes_header = turn.headers.len() > 1 || !turn.before_seams.is_empty();
        let opens = opens.flat_map(|open| {
            // Further on it may only be spoken of: `Type <mull> first.`
            let at_start = [START + SPACE + exact(open)].into_iter();
            let at_starts = writes_header.then(|| self.words_at_start(open));
            let placed = at_start.chain(at_starts).map(Delimiter::Expression);
            [Delimiter::Exact(open.to_owned())]
                .into_iter()
                .chain(placed)
        });
        opens.collect()
    }

    /// Ways of opening reasoning that look for what ends it.
    pub(super) fn looking_opens_of_thinking(&self, shape: &ReasoningShape) -> Option<Delimiter> {
        let open = shape.open.as_deref().map(str::trim);
        let close = exact(shape.close.as_deref()?.trim());
        let openers = self.call_openers();
        match open {
            // The white space makes it as long as what would skip the marker.
            Some(open) => Some(exact(open) + SPACE + ahead(ANYTHING + close)),
            // Without calls, only the closer shows a thought, and the draft goes by that already.
            None if openers.is_empty() => None,
            // What calls close, they show to be reasoning, unless they stand first.
            None => {
                let openers = openers.iter().map(|head| ignoring_space(head));
                let first = any_of(openers.clone());
                let others = openers.filter(|opener| *opener != close);
                let ends = any_of([close.clone()].into_iter().chain(others));
                Some(START + not_ahead(SPACE + first) + ahead(ANYTHING + ends))
            }
        }
        .map(Delimiter::Expression)
    }

    /// The expression for what opens a thought at the turn's start, where prompts write it: a model that does not think calls at
    /// once, or answers.
    pub(super) fn begun_thought(&self) -> Option<Pattern> {
        let shape = self.findings.reasoning.as_ref();
        let shape = shape.filter(|shape| shape.opened_by_prompt && self.around.is_none())?;
        let opens = shape.opens().into_iter();
        let opens = opens.filter(|open| unlikely_in_prose(open) && !reads_like_prose(open));
        let opens: Vec<Pattern> = opens.map(ignoring_space).collect();
        (!opens.is_empty()).then(|| START + any_of(opens) + SPACE)
    }

    /// Other ways of closing reasoning that nothing closes but words which open the next part: amid a line they may be said.
    pub(super) fn closes_before_lines(&self) -> Vec<Delimiter> {
        let openers = self.next_openers_after_reasoning();
        let are_words = openers.iter().any(|opener| reads_like_prose(opener));
        let any = any_of(openers.iter().map(|opener| ignoring_space(opener)));
        let line = are_words.then(|| exact("\n") + SPACE + ahead(any));
        line.into_iter().map(Delimiter::Expression).collect()
    }

    /// What closes reasoning where what closes it has been left out: the end of the turn, and what opens the next part.
    pub(super) fn other_closes_of_thinking(&self) -> Vec<Delimiter> {
        let ends = self.turn_ends().into_iter().map(Delimiter::IgnoringSpace);
        let openers = self.next_openers_after_reasoning();
        let ahead = (!openers.is_empty()).then(|| self.not_a_mention(&openers));
        ends.chain(ahead.map(Delimiter::Expression)).collect()
    }

    /// The expression for words that open the turn, behind its header if the prompt has not ended in that.
    pub(super) fn words_at_start(&self, words: &str) -> Pattern {
        any_of(self.turn_starts()) + SPACE + words
    }

    /// The expressions for where a turn begins.
    pub(super) fn turn_starts(&self) -> Vec<Pattern> {
        let headers = self
            .findings
            .turn
            .headers
            .iter()
            .map(|header| header.trim());
        // A header of words may be said, so it is no place where a turn begins.
        let headers = headers.filter(|header| markers(header).next().is_some());
        std::iter::once(START)
            .chain(headers.map(ignoring_space))
            .collect()
    }

    /// What opens the parts of a turn that may follow upon reasoning.
    fn next_openers_after_reasoning(&self) -> Vec<String> {
        let mut openers = self.call_openers();
        let content = &self.findings.content;
        let around = content
            .open
            .iter()
            .chain(content.beside().into_iter().flatten());
        // What says that something ends closes the thought, and does not open the next part.
        let opens = |text: &&String| unlikely_in_prose(text) && !says_end(text);
        openers.extend(around.filter(opens).map(|text| text.trim().to_owned()));
        dedup(&mut openers);
        openers
    }

    /// Whether a marker opens texts, and no calls.
    fn opens_text(&self, opener: &str) -> bool {
        let mut opens = self.findings.content.open.iter();
        let is_of_text = opens.any(|open| open.trim() == opener);
        is_of_text
            && !reads_like_prose(opener)
            && !self.call_openers().iter().any(|one| one == opener)
    }

    /// The places before markers that are not only mentioned. Behind a blank, amid a line, or behind a quote they are:
    /// `I could write <call> here`. So are those that belong to a marker before them, as the rest of
    /// what opens a call does.
    fn not_a_mention(&self, openers: &[String]) -> Pattern {
        let mut before = vec![spoken()];
        if let Some(calls) = self.calls {
            let between = [&*calls.close, &calls.separator].concat();
            let texts = [&*calls.section_open, split_last_marker(calls).0, &between];
            for text in texts.into_iter().filter(|text| unlikely_in_prose(text)) {
                before.extend([exact(text.trim_start()), exact(text.trim())]);
            }
        }
        dedup(&mut before);
        let openers = any_of(openers.iter().map(|opener| ignoring_space(opener)));
        not_behind(either(before)) + ahead(openers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::draft::drafter::asked;
    use crate::derive::invented;

    const CALLS: [&str; 4] = ["", "<call>NAMEARGUMENTS</call>", "", ""];

    #[test]
    fn a_thought_stands_between_what_opens_and_closes_it() {
        for (reasoning, calls, open, close) in [
            (["<t>\n", "\n</t>\n\n"], CALLS, "<t>", r"</t>\s*"),
            // An answer may have the same words in it.
            (
                ["Thought:", "<so>"],
                CALLS,
                r"(?:\A|<assistant>)\s*Thought:",
                r"<so>\s*",
            ),
            // Only what closes it shows that there is one.
            (["", "</t>"], CALLS, r"\A(?=.*?</t>)", r"</t>\s*"),
            // Nothing ends it but what opens the next part.
            (["<t>", ""], CALLS, "<t>", r"<end>\s*|(?=<call>)"),
            (["<t>", ""], [""; 4], "<t>", r"<end>\s*"),
        ] {
            let findings = invented::findings(reasoning, [""; 2], calls);
            let field = asked(&findings, &[], |drafter| drafter.thinking()).expect("it thinks");
            let found = (field.open.shown(), field.close.shown());
            assert_eq!(found, (open.to_owned(), close.to_owned()), "{reasoning:?}");
        }
        assert!(
            asked(&invented::with_calls(CALLS), &[], |drafter| drafter
                .thinking())
            .is_none()
        );
    }

    #[test]
    fn a_thought_may_be_opened_at_the_start_or_where_it_is_closed() {
        for (reasoning, calls, others, looking) in [
            (
                ["<t>", "</t>"],
                CALLS,
                vec!["<t>", r"\A\s*<t>"],
                Some(r"<t>\s*(?=.*?</t>)"),
            ),
            // Amid an answer, words open nothing.
            (
                ["Thought:", "</t>"],
                CALLS,
                vec![],
                Some(r"Thought:\s*(?=.*?</t>)"),
            ),
            (
                ["", "</t>"],
                CALLS,
                vec![],
                Some(r"\A(?!\s*<call>)(?=.*?(?:</t>|<call>))"),
            ),
            // Without calls, the draft goes by the closer already.
            (["", "</t>"], [""; 4], vec![], None),
            (["<t>", ""], CALLS, vec!["<t>", r"\A\s*<t>"], None),
        ] {
            let findings = invented::findings(reasoning, [""; 2], calls);
            let shape = findings.reasoning.as_ref().expect("it thinks");
            asked(&findings, &[], |drafter| {
                let found = drafter.other_opens_of_thinking(shape);
                let found: Vec<Pattern> = found.iter().map(Delimiter::expression).collect();
                assert_eq!(found, others, "{reasoning:?}");
                let found = drafter.looking_opens_of_thinking(shape);
                let found = found.map(|one| one.expression().to_string());
                assert_eq!(found.as_deref(), looking, "{reasoning:?}");
            });
        }
    }

    #[test]
    fn a_thought_may_be_opened_behind_any_header_where_turns_have_several() {
        let mut findings = invented::findings(["<t>", "</t>"], [""; 2], CALLS);
        findings.turn.headers.push("<tool>".to_owned());
        let shape = findings.reasoning.as_ref().expect("it thinks");
        let found = asked(&findings, &[], |drafter| {
            drafter.other_opens_of_thinking(shape)
        });
        let found: Vec<Pattern> = found.iter().map(Delimiter::expression).collect();
        let anywhere = r"(?:\A|<assistant>|<tool>)\s*<t>";
        assert_eq!(found, ["<t>", r"\A\s*<t>", anywhere]);
    }

    #[test]
    fn what_opens_the_next_part_closes_a_thought_unless_it_is_mentioned() {
        for (content, calls, expected) in [
            (["", ""], [""; 4], vec!["<end>"]),
            (
                ["", ""],
                CALLS,
                vec!["<end>", r#"(?<![ `"'(]|</call>)(?=<call>)"#],
            ),
            // Behind `<do>`, `<with>` is the rest of what opens the call.
            (
                ["", ""],
                ["", "<do><with>NAMEARGUMENTS</do>", "", ""],
                vec!["<end>", r#"(?<![ `"'(]|<do>|</do>)(?=(?:<do>|<with>))"#],
            ),
            (
                ["<say>", "</say>"],
                [""; 4],
                vec!["<end>", r#"(?<![ `"'(])(?=<say>)"#],
            ),
            // What says that something ends opens no text.
            (["<end_of_thought>", ""], [""; 4], vec!["<end>"]),
        ] {
            let findings = invented::findings(["<t>", "</t>"], content, calls);
            let found = asked(&findings, &[], |drafter| drafter.other_closes_of_thinking());
            let found: Vec<Pattern> = found.iter().map(Delimiter::expression).collect();
            assert_eq!(found, expected, "{content:?} {calls:?}");
        }
    }

    #[test]
    fn a_prompt_may_have_begun_a_thought() {
        for (open, opened_by_prompt, expected) in [
            ("<t>\n", true, Some(r"\A<t>\s*")),
            ("<t>", false, None),
            // Words may as well be said.
            ("Thought:", true, None),
            ("", true, None),
        ] {
            let mut findings = invented::findings([open, "</t>"], [""; 2], CALLS);
            let shape = findings.reasoning.as_mut().expect("it thinks");
            shape.opened_by_prompt = opened_by_prompt;
            let found = asked(&findings, &[], |drafter| drafter.begun_thought());
            let found = found.map(|begun| begun.to_string());
            assert_eq!(found.as_deref(), expected, "{open:?}");
        }
    }

    #[test]
    fn words_that_open_the_next_part_close_a_thought_where_a_line_begins() {
        for (call, expected) in [
            ("Task: NAME\nWith: ARGUMENTS", vec![r"\n\s*(?=Task:)"]),
            ("<call>NAMEARGUMENTS</call>", vec![]),
        ] {
            let findings = invented::findings(["Mull:", ""], [""; 2], ["", call, "", ""]);
            let found = asked(&findings, &[], |drafter| drafter.closes_before_lines());
            let found: Vec<Pattern> = found.iter().map(Delimiter::expression).collect();
            assert_eq!(found, expected, "{call}");
        }
    }

    #[test]
    fn what_opens_a_text_closes_the_thought_before_it() {
        for (content, close) in [
            ("<say>", r"(?:<end>|<say>)\s*|(?=<call>)"),
            // Words may as well be said.
            ("So I say:", r"<end>\s*|(?=(?:<call>|So\s*I\s*say:))"),
        ] {
            let findings = invented::findings(["<t>", ""], [content, "<end>"], CALLS);
            let field = asked(&findings, &[], |drafter| drafter.thinking()).expect("it thinks");
            assert_eq!(field.close.shown(), close, "{content}");
        }
    }

    #[test]
    fn a_header_of_words_is_no_start_of_a_turn() {
        for (header, expected) in [
            ("\n<assistant>\n", vec![r"\A", "<assistant>"]),
            ("Assistant:", vec![r"\A"]),
        ] {
            let mut findings = invented::with_calls([""; 4]);
            findings.turn.headers = vec![header.to_owned()];
            assert_eq!(
                asked(&findings, &[], |drafter| drafter.turn_starts()),
                expected,
                "{header:?}"
            );
        }
    }
}
