//! The field for content.

use crate::analysis::{CallParts, ReasoningShape};
use crate::derive::choices::Choice;
use crate::derive::delimiter::{Delimiter, FieldDraft};
use crate::derive::pattern::{
    Pattern, SPACE, START, any_of, before_any_of, behind, either, exact, ignoring_space, none_of,
    not_ahead, one_of, word_or,
};
use crate::markers::lexicon::unmarked;
use crate::markers::{self, dedup, unlikely_in_prose};

use super::call_texts::{is_line_of_words, literal_open, split_last_marker};
use super::drafter::{Drafter, push_markers};

impl Drafter<'_> {
    /// The field for content.
    pub(super) fn content(&self) -> FieldDraft {
        if let Some(around) = self.around.and_then(|around| around.content.as_ref()) {
            let mut field = self.field_as_rendered("content", around);
            if let Some(header) = self.loose_header(&around.opens) {
                field.open.alternatives = vec![Delimiter::Expression(header)];
            }
            return field;
        }
        let mut field = FieldDraft::new("content");
        let shape = &self.findings.content;
        // Even where texts have markers, reading what stands between these alone would lose a model's bare `Yes.`
        let is_marked = self.chosen(Choice::ContentMarked);
        if let Some(open) = shape.open.as_ref().filter(|_| is_marked) {
            field.open.alternatives = if unlikely_in_prose(open) {
                let mut opens = vec![open.trim().to_owned()];
                opens.extend(self.sibling_openers(open.trim()));
                match self.loose_header(&opens) {
                    Some(header) => vec![Delimiter::Expression(header)],
                    None => opens.into_iter().map(Delimiter::Exact).collect(),
                }
            } else {
                // An answer may have the same words in it.
                let words = self.part_start() + exact(open);
                vec![Delimiter::Expression(words)]
            };
            let mut closers = shape.close.clone();
            closers.extend(self.turn_ends());
            field.close = self.closers(&closers, Vec::new());
        } else {
            // They may be a sentence that a chat template writes where nothing is said, such as `Musing: Once more.`
            let words = self.choices.dropped().iter();
            let mut words: Vec<Pattern> = words
                .filter(|text| !is_never_prose(text))
                .map(|text| self.dropped_words(text))
                .collect();
            words.extend(self.next_header());
            words.extend(self.lines_of_words());
            words.extend(self.separator_behind_call());
            field.close = self.closers(&self.skipped(), words);
        }
        field
    }

    /// What closes a text with markers of its own where its closer has been left out: a call.
    pub(super) fn other_closes_of_content(&self) -> Option<Delimiter> {
        let is_seen = self.around.is_some_and(|around| around.content.is_some());
        let is_marked = self.chosen(Choice::ContentMarked) && !is_seen;
        let ahead = is_marked.then(|| self.calls_ahead()).flatten();
        ahead.map(Delimiter::Expression)
    }

    /// What opens a thought, where that is none since nothing closes it, and no part of a text.
    pub(super) fn unclosed_thoughts(&self) -> Vec<Delimiter> {
        let shape = self.findings.reasoning.as_ref();
        let opens = shape
            .map_or_else(Vec::new, ReasoningShape::opens)
            .into_iter();
        let unclosed = opens.flat_map(|open| match markers::reads_like_prose(open) {
            true => vec![Delimiter::Expression(self.dropped_words(open))],
            false => {
                let mut texts = Vec::new();
                push_markers(&mut texts, open);
                texts.into_iter().map(Delimiter::IgnoringSpace).collect()
            }
        });
        unclosed.collect()
    }

    /// The expression for words that open a text: at the turn's start, behind reasoning, behind what opens texts, or behind other such words.
    fn dropped_words(&self, words: &str) -> Pattern {
        let shape = self.findings.reasoning.as_ref();
        let close = shape.and_then(|shape| shape.close.as_deref());
        let close = close
            .map(str::trim)
            .filter(|close| markers::is_marker(close));
        let others = self.choices.dropped().iter().map(String::as_str);
        let others = others.filter(|text| !is_never_prose(text));
        let mut places = self.turn_starts();
        let open = self.findings.content.open.as_deref().map(str::trim);
        let open = open.filter(|open| markers::is_marker(open));
        let before = close
            .into_iter()
            .chain(open)
            .chain(others.filter(|other| *other != words));
        places.extend(before.map(|text| behind(exact(text) + SPACE)));
        any_of(places) + SPACE + words + SPACE
    }

    /// A header of mere words that is always written behind a turn: there it is no part of what is said.
    fn next_header(&self) -> Option<Pattern> {
        let text = self.findings.turn.next_header.as_deref()?;
        let header = text.trim();
        let space = &text[..text.len() - text.trim_start().len()];
        let ends = self.turn_ends();
        let ends = ends
            .iter()
            .map(|end| behind(exact(&format!("{end}{space}"))));
        let ends: Vec<Pattern> = ends.collect();
        // Behind the end of a turn, `## Keeper` is the next header; in `Write:\n\n## Keeper` it is said.
        let is_words = markers::reads_like_prose(header) && !ends.is_empty();
        is_words.then(|| any_of(ends) + ignoring_space(header) + SPACE)
    }

    /// Words around calls that have a line of their own: within a line, they may as well be said.
    fn lines_of_words(&self) -> Vec<Pattern> {
        let Some(calls) = self.calls else {
            return Vec::new();
        };
        // As `Job is out`, which a chat template writes on a line behind each call.
        let lines = texts_around_calls(calls).into_iter();
        let lines = lines.filter(|text| is_line_of_words(text));
        let lines = lines.map(|text| {
            // A line that goes on is a sentence with these words in it.
            let end = one_of(" \t").many() + not_ahead(word_or(" \t"));
            let end = end.when(text.ends_with('\n'));
            let line = [START, exact("\n"), behind(exact("\n"))];
            any_of(line) + SPACE + ignoring_space(text.trim()) + end + SPACE
        });
        let mut lines: Vec<Pattern> = lines.collect();
        dedup(&mut lines);
        lines
    }

    /// What separates calls and may as well be said, where it stands behind what closes a call.
    fn separator_behind_call(&self) -> Option<Pattern> {
        let calls = self.calls?;
        let separator = calls.separator.trim();
        let close = markers::split_close(&calls.close).0.trim();
        // `---` separates calls behind `</call>`, and is a rule in an answer.
        let is_known = unlikely_in_prose(separator) || separator.is_empty();
        let is_behind = !is_known && unlikely_in_prose(close);
        let place = || behind(ignoring_space(close) + SPACE);
        is_behind.then(|| place() + ignoring_space(separator) + SPACE)
    }

    /// Where a part of the turn may begin that nothing clear opens: at its start, or after what
    /// separates parts.
    fn part_start(&self) -> Pattern {
        let separator = self.calls.map_or("", |calls| &*calls.separator);
        match unlikely_in_prose(separator) {
            true => any_of([START + SPACE, ignoring_space(separator)]),
            false => START + SPACE,
        }
    }

    /// The place before a call.
    fn calls_ahead(&self) -> Option<Pattern> {
        let separator = &self.calls?.separator;
        let openers: Vec<Pattern> = match self.call_openers() {
            openers if openers.is_empty() && unlikely_in_prose(separator) => {
                vec![exact(separator.trim())]
            }
            openers => openers.iter().map(|head| ignoring_space(head)).collect(),
        };
        (!openers.is_empty()).then(|| before_any_of(openers))
    }

    /// What opens texts, with more in it before its last marker, where the headers of calls have more there than a name: models write the type of
    /// an answer, as in `<|to|>user <|type|>json<|say|>{}`, and without this all of it would be lost.
    fn loose_header(&self, opens: &[String]) -> Option<Pattern> {
        let calls = self.calls.filter(|_| self.chosen(Choice::LooseHeader))?;
        let header = calls
            .open
            .last_text()
            .filter(|_| calls.has_marker_behind_name())?;
        let header = unmarked(header);
        let marker = markers::markers(&header).last()?;
        let has_more = header.trim_start().find(marker).is_some_and(|at| at > 0);
        let own = unmarked(self.findings.content.open.as_deref()?.trim());
        let word = own.strip_suffix(marker).filter(|_| has_more)?;
        // Over no brace: what is said may begin with one.
        let more = exact(word) + none_of("{").few() + marker;
        let others = opens.iter().map(|open| unmarked(open));
        let others = others.filter(|open| *open != own).map(|open| exact(&open));
        let is_word = word.ends_with(char::is_alphanumeric);
        is_word.then(|| either(std::iter::once(more).chain(others)))
    }

    /// Other texts that open content as well: where a marker names what follows, and calls name
    /// something that is neither content nor reasoning.
    fn sibling_openers(&self, open: &str) -> Vec<String> {
        let open = &unmarked(open);
        let pieces: Vec<&str> = markers::pieces(open).collect();
        let (Some(calls), [marker, word, rest @ ..]) = (self.calls, pieces.as_slice()) else {
            return Vec::new();
        };
        if !markers::is_marker(marker)
            || !word.chars().all(char::is_alphanumeric)
            || rest.is_empty()
        {
            return Vec::new();
        }
        let mut sibling_openers = Vec::new();
        for text in calls.open.texts() {
            let text = unmarked(text);
            let behind = markers::pieces(&text).skip(1);
            for (piece, other) in markers::pieces(&text).zip(behind) {
                if piece == *marker && other != *word && other.chars().all(char::is_alphanumeric) {
                    sibling_openers.push(format!("{marker}{other}{}", rest.concat()));
                }
            }
        }
        let thinking = self
            .findings
            .reasoning
            .as_ref()
            .and_then(|shape| shape.open.as_deref());
        let thinking = thinking.map(|open| unmarked(open.trim()));
        sibling_openers.retain(|opener| thinking.as_ref() != Some(opener));
        sibling_openers
    }

    /// The markers that stand between fields and belong to none. What is nothing else ends with
    /// each of them, and they are dropped.
    fn skipped(&self) -> Vec<String> {
        let findings = self.findings;
        let mut skipped = self.turn_ends();
        // A header of mere words may as well stand in what a model says.
        let headers = findings.turn.headers.iter();
        for header in headers.filter(|header| !markers::reads_like_prose(header)) {
            push_markers(&mut skipped, header);
        }
        if let Some(shape) = &findings.reasoning {
            // What closes a thought may come without one: in `</mull>Yes.` it is no part of the answer.
            for close in shape.closes() {
                if !markers::reads_like_prose(close) {
                    push_markers(&mut skipped, close);
                }
            }
        }
        let content = &findings.content;
        for marker in content
            .open
            .iter()
            .chain(&content.close)
            .chain(content.beside().into_iter().flatten())
        {
            push_markers(&mut skipped, marker);
        }
        // Some templates open it only in some company. Words may as well be said.
        let open = content.open.as_deref().map(str::trim).unwrap_or_default();
        if open.chars().nth(1).is_some() && !markers::reads_like_prose(open) {
            skipped.push(open.to_owned());
        }
        if let Some(calls) = self.calls {
            for text in texts_around_calls(calls) {
                // Words may as well be said.
                if !markers::reads_like_prose(text) {
                    push_markers(&mut skipped, text);
                }
            }
            // Without the name in it, a closing tag is any: an answer may have such.
            skipped.retain(|marker| !markers::is_wildcard_tag(marker));
        }
        let dropped = self.choices.dropped().iter();
        skipped.extend(dropped.filter(|text| is_never_prose(text)).cloned());
        dedup(&mut skipped);
        let opens = self.calls.and_then(literal_open);
        // Skipped with the text, `<call>` would be gone when the call should open.
        skipped.retain(|marker| opens.as_deref() != Some(marker.as_str()));
        skipped
    }
}

/// What stands before, between and behind calls, with what closes one.
fn texts_around_calls<'a>(calls: &'a CallParts<'_>) -> [&'a str; 6] {
    // Also the first, which has closed a call when it comes: some models write it twice.
    let (first, rest) = markers::split_close(&calls.close);
    let lead = split_last_marker(calls).0;
    [
        &calls.section_open,
        &calls.section_close,
        &calls.separator,
        lead,
        first,
        rest,
    ]
}

/// Whether a text is no part of what a model says, wherever it stands.
fn is_never_prose(text: &str) -> bool {
    unlikely_in_prose(text) && !markers::reads_like_prose(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::choices::Choices;
    use crate::derive::draft::drafter::asked;
    use crate::derive::invented;

    #[test]
    fn a_text_ends_at_what_belongs_to_none() {
        let marked = &[Choice::ContentMarked][..];
        let none = [""; 2];
        for (reasoning, content, calls, chosen, open, close) in [
            (
                none,
                none,
                [""; 4],
                &[][..],
                "",
                r"(?:<assistant>|<end>)\s*",
            ),
            // In `</t>Yes.` it is no part of the answer.
            (
                ["<t>", "</t>"],
                none,
                [""; 4],
                &[],
                "",
                r"(?:<assistant>|<end>|</t>)\s*",
            ),
            (
                ["Thought:", "So:"],
                none,
                [""; 4],
                &[],
                "",
                r"(?:<assistant>|<end>)\s*",
            ),
            (
                none,
                ["<say>", "</say>"],
                [""; 4],
                &[],
                "",
                r"(?:<assistant>|</say>|<end>|<say>)\s*",
            ),
            (
                none,
                ["<say>", "</say>"],
                [""; 4],
                marked,
                "<say>",
                "</say>|<end>",
            ),
            (none, ["Answer:", ""], [""; 4], marked, "Answer:", "<end>"),
            // So short a word may as well be said.
            (none, ["A:", ""], [""; 4], marked, r"\A\s*A:", "<end>"),
            // Skipped with the text, `<call>` would be gone when the call should open.
            (
                none,
                none,
                ["<calls>", "<call>OBJECT</call>", "", "</calls>"],
                &[],
                "",
                r"(?:<assistant>|</calls>|<calls>|</call>|<end>)\s*",
            ),
            (
                none,
                none,
                ["", "<do><with>NAMEARGUMENTS</with></do>", "", ""],
                &[],
                "",
                r"(?:<assistant>|</with>|<end>|</do>|<do>)\s*",
            ),
            // Nor is what opens it skipped where it closes thoughts.
            (
                ["<t>", "<call>"],
                none,
                ["", "<call>OBJECT</call>", "", ""],
                &[],
                "",
                r"(?:<assistant>|</call>|<end>)\s*",
            ),
            // `---` separates calls behind `</call>`, and is a rule in an answer.
            (
                none,
                none,
                ["", "<call>OBJECT</call>", "\n---\n", ""],
                &[],
                "",
                r"(?:<assistant>|</call>|<end>)\s*|(?<=</call>\s*)---\s*",
            ),
            // A line that goes on is a sentence with these words in it.
            (
                none,
                none,
                ["", "<call>OBJECT</call>", "\nJob is out\n", ""],
                &[],
                "",
                r"(?:<assistant>|</call>|<end>)\s*|(?:\A|\n|(?<=\n))\s*Job\s*is\s*out[ \t]*(?![\w \t])\s*",
            ),
        ] {
            let findings = invented::findings(reasoning, content, calls);
            let field = asked(&findings, chosen, |drafter| drafter.content());
            let found = (field.open.shown(), field.close.shown());
            assert_eq!(
                found,
                (open.to_owned(), close.to_owned()),
                "{content:?} {calls:?}"
            );
        }
    }

    #[test]
    fn words_are_dropped_where_texts_begin() {
        let findings = invented::findings(["<t>", "</t>"], [""; 2], [""; 4]);
        for (dropped, expected) in [
            (
                vec!["Answer:"],
                r"(?:<assistant>|<end>|</t>)\s*|(?:\A|<assistant>|(?<=</t>\s*))\s*Answer:\s*",
            ),
            // A marker is none of the text wherever it stands.
            (vec!["<say>"], r"(?:<assistant>|<end>|<say>|</t>)\s*"),
        ] {
            let dropped = dropped.into_iter().map(str::to_owned).collect();
            let choices = Choices::default().with_dropped(dropped);
            let found = asked(&findings, &[], |drafter| {
                let drafter = Drafter {
                    choices: &choices,
                    ..*drafter
                };
                drafter.content().close.shown()
            });
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn the_next_header_is_known_behind_the_end_of_a_turn() {
        for (next, expected) in [
            ("\n## Keeper", Some(r"(?<=<end>\n)##\s*Keeper\s*")),
            ("<user>", None),
        ] {
            let mut findings = invented::with_calls([""; 4]);
            findings.turn.next_header = Some(next.to_owned());
            let found = asked(&findings, &[], |drafter| drafter.next_header());
            let found = found.map(|header| header.to_string());
            assert_eq!(found.as_deref(), expected, "{next:?}");
        }
    }

    #[test]
    fn a_marker_that_names_what_follows_may_open_texts_by_other_names() {
        for (open, call, expected) in [
            (
                "<|go|>say<|x|>",
                "<|go|>to<|x|>NAMEARGUMENTS",
                vec!["<|go|>to<|x|>"],
            ),
            ("<|go|>say<|x|>", "<|on|>to<|x|>NAMEARGUMENTS", vec![]),
            ("<|go|>say", "<|go|>to<|x|>NAMEARGUMENTS", vec![]),
            ("<say>", "<|go|>to<|x|>NAMEARGUMENTS", vec![]),
        ] {
            let findings = invented::with_calls(["", call, "", ""]);
            let found = asked(&findings, &[], |drafter| drafter.sibling_openers(open));
            assert_eq!(found, expected, "{open}");
        }
    }

    #[test]
    fn a_thought_that_nothing_closes_is_none() {
        for (open, expected) in [
            ("<t>", vec![Delimiter::IgnoringSpace("<t>".to_owned())]),
            (
                "Thought:",
                vec![Delimiter::Expression(
                    any_of([START, exact("<assistant>"), behind(exact("</t>") + SPACE)])
                        + SPACE
                        + "Thought:"
                        + SPACE,
                )],
            ),
            ("", vec![]),
        ] {
            let findings = invented::findings([open, "</t>"], [""; 2], [""; 4]);
            assert_eq!(
                asked(&findings, &[], |drafter| drafter.unclosed_thoughts()),
                expected,
                "{open}"
            );
        }
    }
}
