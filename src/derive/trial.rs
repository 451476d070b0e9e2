//! Trying a response template on texts whose message is known.

use std::cell::Cell;

use crate::analysis::assistant_turn::AssistantTurn;
use crate::budget::Budget;
use crate::json;
use crate::response::{
    Delimiter, OnUnread, ParseError, ParserOptions, ResponseParser, ResponseTemplate, Tools,
    Unfinished, parse,
};
use crate::value::Object;

use super::stretches::{self, Stretches};

/// How many characters are fed at a time where texts are read in pieces: fewer than most tokens have.
const PIECE: usize = 3;

/// What is to come of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Expected<'a> {
    /// What was said.
    Turn(&'a AssistantTurn),
    /// Nothing is known but that none of these markers is left in the message.
    NoMarkers {
        markers: &'a [String],
        /// Whether a call may be cut off at the end, and goes then.
        is_cut_off: bool,
    },
}

/// How a text comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    Whole,
    Pieces,
}

/// What is wrong with what came of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// The parts of the message that it is in.
    pub(super) parts: Vec<MessagePart>,
    /// What the first of it is, in words.
    pub(super) words: String,
    /// Whether something is lost without a word.
    pub(super) loses: bool,
}

/// How many parts a message has.
pub(super) const PARTS: usize = 3;

/// The parts of a message, each of which is a field of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessagePart {
    Reasoning,
    Content,
    Calls,
}

/// Steps that reading a text takes, however short it is.
const STEPS_OF_A_TEXT: u64 = 80;

/// Counts the texts that drafts have read, and the work that takes.
pub(super) struct ReadCounter<'a> {
    texts: Cell<usize>,
    budget: &'a Budget,
}

impl<'a> ReadCounter<'a> {
    pub(super) fn new(budget: &'a Budget) -> ReadCounter<'a> {
        ReadCounter {
            texts: Cell::new(0),
            budget,
        }
    }

    /// Notes that a text is about to be read.
    pub(super) fn note(&self, prefix: &str, output: &str) {
        self.texts.set(self.texts.get() + 1);
        // Each byte takes another step.
        self.budget
            .spend(STEPS_OF_A_TEXT + (prefix.len() + output.len()) as u64);
    }

    /// Returns how many texts have been read.
    pub(super) fn texts(&self) -> usize {
        self.texts.get()
    }

    /// Returns `true` if no more may be read.
    pub(super) fn is_spent(&self) -> bool {
        self.budget.is_spent()
    }
}

/// Reads texts with a response template, and compares what comes of them with what was meant.
pub(super) struct TrialReader<'a> {
    template: &'a ResponseTemplate,
    reasoning_field: &'a str,
    tools: &'a Tools,
    on_unread: OnUnread,
}

impl<'a> TrialReader<'a> {
    /// One to whom a call is misread in which something is read by nothing: that is lost, whoever reads with the template.
    pub(super) fn new(
        template: &'a ResponseTemplate,
        reasoning_field: &'a str,
        tools: &'a Tools,
    ) -> TrialReader<'a> {
        TrialReader {
            template,
            reasoning_field,
            tools,
            on_unread: OnUnread::Malformed,
        }
    }

    /// One that passes over what nothing reads, so that only what delimiters match decides on what is read.
    pub(super) fn passing_over(self) -> TrialReader<'a> {
        TrialReader {
            on_unread: OnUnread::Pass,
            ..self
        }
    }

    /// What is wrong with what comes of a text, if anything is: when it comes as a whole, and when it
    /// comes in pieces.
    pub(super) fn difference(
        &self,
        prefix: &str,
        output: &str,
        expected: Expected<'_>,
    ) -> Option<Difference> {
        let whole = self.difference_when(Cut::Whole, prefix, output, expected);
        whole.or_else(|| match depends_on_pieces(self.template) {
            true => self.difference_when(Cut::Pieces, prefix, output, expected),
            false => None,
        })
    }

    /// The same where the text comes in this way.
    pub(super) fn difference_when(
        &self,
        cut: Cut,
        prefix: &str,
        output: &str,
        expected: Expected<'_>,
    ) -> Option<Difference> {
        let mut difference = match (self.read_when(cut, prefix, output, expected), expected) {
            (Ok(read), Expected::Turn(turn)) => self.difference_to(&read, turn)?,
            (Ok(read), Expected::NoMarkers { markers, .. }) => {
                self.marker_left_in(&read, markers)?
            }
            // Nothing but what stands in calls can fail to be read.
            (Err(error), _) => Difference {
                parts: vec![MessagePart::Calls],
                words: error.to_string(),
                loses: false,
            },
        };
        if cut == Cut::Pieces {
            difference.words.insert_str(0, "read piece by piece, ");
        }
        Some(difference)
    }

    /// Whether a text that comes in this way is read as what it means.
    pub(super) fn is_read(
        &self,
        cut: Cut,
        prefix: &str,
        output: &str,
        expected: Expected<'_>,
    ) -> bool {
        self.is_meant(self.read_when(cut, prefix, output, expected), expected)
    }

    /// Whether a text that comes as a whole is read as what it means, and where which delimiters were looked for.
    pub(super) fn is_read_noting(
        &self,
        prefix: &str,
        output: &str,
        expected: Expected<'_>,
    ) -> (bool, Option<Stretches>) {
        let options = self.options_for(expected);
        let (message, stretches) = stretches::read(self.template, prefix, output, options);
        let read = message.map(|message| self.turn(&message));
        (self.is_meant(read, expected), stretches)
    }

    /// Whether what comes of a text is what it means, without words of what is wrong, which nobody reads of the thousands
    /// of texts that drafts are tried on.
    fn is_meant(&self, read: Result<AssistantTurn, ParseError>, expected: Expected<'_>) -> bool {
        match (read, expected) {
            (Ok(read), Expected::Turn(turn)) => {
                trimmed(&read.reasoning) == trimmed(&turn.reasoning)
                    && trimmed(&read.content) == trimmed(&turn.content)
                    && read.calls == turn.calls
            }
            (Ok(read), Expected::NoMarkers { markers, .. }) => {
                self.marker_left_in(&read, markers).is_none()
            }
            (Err(_), _) => false,
        }
    }

    /// What comes of a text that comes in this way.
    fn read_when(
        &self,
        cut: Cut,
        prefix: &str,
        output: &str,
        expected: Expected<'_>,
    ) -> Result<AssistantTurn, ParseError> {
        let options = self.options_for(expected);
        match cut {
            Cut::Whole => Ok(self.turn(&parse(self.template, prefix, output, options)?)),
            Cut::Pieces => self.read_pieces(prefix, output, options),
        }
    }

    /// What comes of a text.
    pub(super) fn read(&self, prefix: &str, output: &str) -> Result<AssistantTurn, ParseError> {
        Ok(self.turn(&parse(self.template, prefix, output, self.options())?))
    }

    /// What comes of a text that is fed in small pieces.
    fn read_pieces(
        &self,
        prefix: &str,
        output: &str,
        options: ParserOptions,
    ) -> Result<AssistantTurn, ParseError> {
        let mut parser = ResponseParser::new(self.template, prefix, options)?;
        let mut rest = output;
        while let Some((last, c)) = rest.char_indices().take(PIECE).last() {
            let (piece, after) = rest.split_at(last + c.len_utf8());
            parser.feed_with(piece, |_| {})?;
            rest = after;
        }
        Ok(self.turn(&parser.finalize_with(|_| {})?))
    }

    fn options_for(&self, expected: Expected<'_>) -> ParserOptions {
        match expected {
            Expected::NoMarkers {
                is_cut_off: true, ..
            } => self.options().unfinished(Unfinished::Drop),
            // Where nothing is said, nothing can be lost: what the chat template writes there is its own.
            Expected::Turn(turn) if *turn == AssistantTurn::default() => {
                self.options().on_unread(OnUnread::Pass)
            }
            _ => self.options(),
        }
    }

    fn options(&self) -> ParserOptions {
        ParserOptions::default()
            .tools(self.tools.clone())
            .on_unread(self.on_unread)
    }

    /// What a message says.
    pub(super) fn turn(&self, message: &Object) -> AssistantTurn {
        AssistantTurn::from_message(message, &[self.reasoning_field])
    }

    /// Which marker is left in what was read.
    fn marker_left_in(&self, read: &AssistantTurn, markers: &[String]) -> Option<Difference> {
        let texts = [
            (MessagePart::Reasoning, &read.reasoning),
            (MessagePart::Content, &read.content),
        ];
        let texts = texts
            .into_iter()
            .filter_map(|(part, text)| Some((part, text.as_deref()?)));
        // Arguments may hold a marker that was said; no name does.
        let names = read.calls.iter();
        let names = names.map(|call| (MessagePart::Calls, call.name.as_str()));
        texts.chain(names).find_map(|(part, text)| {
            let marker = markers.iter().find(|marker| text.contains(*marker))?;
            let place = match part {
                MessagePart::Reasoning => self.reasoning_field,
                MessagePart::Content => "content",
                MessagePart::Calls => "a call",
            };
            Some(Difference {
                parts: vec![part],
                words: format!("{marker:?} is left in {place}"),
                loses: false,
            })
        })
    }

    /// How what was read differs from what was expected.
    pub(super) fn difference_to(
        &self,
        read: &AssistantTurn,
        expected: &AssistantTurn,
    ) -> Option<Difference> {
        let field = self.reasoning_field;
        let texts = [
            (
                MessagePart::Reasoning,
                field,
                &read.reasoning,
                &expected.reasoning,
            ),
            (
                MessagePart::Content,
                "content",
                &read.content,
                &expected.content,
            ),
        ];
        let mut parts = Vec::new();
        let mut words = Vec::new();
        for (part, field, read, expected) in texts {
            // Chat templates trim what is said, or put line breaks around it: that is no text lost.
            let (read, expected) = (trimmed(read), trimmed(expected));
            if read != expected {
                parts.push(part);
                let [read, expected] = [read, expected].map(Option::unwrap_or_default);
                words.push(format!("{field} is {read:?}, not {expected:?}"));
            }
        }
        if read.calls != expected.calls {
            let calls: Vec<String> = read
                .calls
                .iter()
                .map(|c| format!("{}({})", c.name, json::write(&c.arguments.clone().into())))
                .collect();
            parts.push(MessagePart::Calls);
            words.push(format!("the calls are [{}]", calls.join(", ")));
        }
        let words = words.into_iter().next()?;
        let loses = loses(read, expected);
        Some(Difference {
            parts,
            words,
            loses,
        })
    }
}

/// Returns whether a reading lacks something of what was meant, and nothing says so: a call is made that nobody has written, or a word is gone. What
/// stands in another part of the message is there for all to see.
fn loses(read: &AssistantTurn, meant: &AssistantTurn) -> bool {
    let calls = |turn: &AssistantTurn| -> String {
        let calls = turn.calls.iter();
        let calls = calls.map(|call| {
            format!(
                "{} {}",
                call.name,
                json::write(&call.arguments.clone().into())
            )
        });
        calls.collect::<Vec<_>>().join(" ")
    };
    let texts = |turn: &AssistantTurn| {
        let texts = turn.reasoning.iter().chain(&turn.content);
        texts.map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    let there = format!("{} {}", texts(read), calls(read));
    let all = format!("{} {}", texts(meant), calls(meant));
    let mut words = all
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    read.calls.iter().any(|call| !meant.calls.contains(call))
        || words.any(|word| !there.contains(word))
}

/// A text without the white space around it, if anything is left.
fn trimmed(text: &Option<String>) -> Option<&str> {
    text.as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

/// All that opens or closes the fields of a template.
pub(super) fn delimiters(template: &ResponseTemplate) -> impl Iterator<Item = &Delimiter> {
    let fields = template.fields().iter();
    fields
        .flat_map(|field| [field.open(), field.close()])
        .flatten()
}

/// Whether what comes of a text may depend on where it is cut into pieces.
pub(super) fn depends_on_pieces(template: &ResponseTemplate) -> bool {
    delimiters(template).any(may_depend_on_pieces)
}

/// Whether where a delimiter is found may depend on where the text is cut into pieces.
pub(super) fn may_depend_on_pieces(delimiter: &Delimiter) -> bool {
    // What is not known may depend on it: reading once more costs less than a stream that is misread.
    delimiter.is_chunk_dependent() != Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::assistant_turn::ToolCall;

    fn template(fields: &str) -> ResponseTemplate {
        let text = format!(r#"{{"version": 1, "start_anchor": "<a>", "fields": {fields}}}"#);
        let value = json::read(&text).expect("it is JSON");
        ResponseTemplate::from_value(&value).expect("it is a response template")
    }

    #[test]
    fn white_space_around_texts_makes_no_difference_and_a_word_does() {
        let (template, tools) = (template(r#"{"content": {}}"#), Tools::none());
        let reader = TrialReader::new(&template, "why", &tools);
        let call = |name: &str| AssistantTurn::calls([ToolCall::new(name, [])]);
        let said = AssistantTurn::content;
        for (read, meant, expected) in [
            (said("Yes.\n"), said("Yes."), None),
            // Chat templates write an empty text where nothing is said.
            (said(" "), AssistantTurn::default(), None),
            (call("read"), call("read"), None),
            (
                said("Yes."),
                said("No."),
                Some((
                    vec![MessagePart::Content],
                    r#"content is "Yes.", not "No.""#,
                )),
            ),
            (
                AssistantTurn::default().with_reasoning("Hm. Yes."),
                said("Yes.").with_reasoning("Hm."),
                Some((
                    vec![MessagePart::Reasoning, MessagePart::Content],
                    r#"why is "Hm. Yes.", not "Hm.""#,
                )),
            ),
            (
                call("knock"),
                call("read"),
                Some((vec![MessagePart::Calls], "the calls are [knock({})]")),
            ),
        ] {
            let found = reader.difference_to(&read, &meant);
            let found = found.map(|found| (found.parts, found.words));
            let expected = expected.map(|(parts, words)| (parts, words.to_owned()));
            assert_eq!(found, expected, "{read:?}");
        }
    }

    #[test]
    fn markers_may_be_left_in_arguments_alone() {
        let (template, tools) = (template(r#"{"content": {}}"#), Tools::none());
        let reader = TrialReader::new(&template, "why", &tools);
        let markers = ["<call>".to_owned()];
        let call = |name: &str, value: &str| {
            AssistantTurn::calls([ToolCall::new(name, [("at".to_owned(), value.into())])])
        };
        for (read, place) in [
            (AssistantTurn::content("So <call>"), Some("content")),
            (
                AssistantTurn::default().with_reasoning("<call>"),
                Some("why"),
            ),
            (call("<call>read", ""), Some("a call")),
            (call("read", "Type <call>."), None),
            (AssistantTurn::content("So <calls>"), None),
        ] {
            let found = reader.marker_left_in(&read, &markers);
            let found = found.map(|found| found.words);
            let expected = place.map(|place| format!("\"<call>\" is left in {place}"));
            assert_eq!(found, expected, "{read:?}");
        }
    }

    #[test]
    fn what_is_left_in_another_part_is_not_lost() {
        let call = |name: &str, value: &str| ToolCall::new(name, [("at".to_owned(), value.into())]);
        let calls = |calls: &[ToolCall]| AssistantTurn::calls(calls.to_vec());
        let (one, two) = (call("read", "Brest"), call("read", "Calais"));
        for (read, meant, expected) in [
            (
                AssistantTurn::content("<call read at=Brest>"),
                calls(std::slice::from_ref(&one)),
                false,
            ),
            (
                AssistantTurn::content("<call read>"),
                calls(std::slice::from_ref(&one)),
                true,
            ),
            (
                calls(std::slice::from_ref(&one)),
                calls(&[one.clone(), two.clone()]),
                true,
            ),
            // Nobody has written this one.
            (
                calls(&[call("read", "Brest Calais")]),
                calls(&[one.clone(), two]),
                true,
            ),
            (
                calls(std::slice::from_ref(&one)).with_content("Hm. Yes."),
                calls(&[one]).with_content("Yes.").with_reasoning("Hm."),
                false,
            ),
        ] {
            assert_eq!(loses(&read, &meant), expected, "{read:?}");
        }
    }

    #[test]
    fn texts_are_read_in_pieces_where_that_may_matter() {
        for (content, depends) in [
            (r#"{"content": {"close": "<end>"}}"#, false),
            (r#"{"content": {"close": ["<end>", "<stop>"]}}"#, false),
            (r#"{"content": {"close_pattern": "<end>(?!x)"}}"#, false),
            // Behind `<end>b`, a piece may end.
            (r#"{"content": {"close_pattern": "<end>(?:bc)?"}}"#, true),
        ] {
            assert_eq!(depends_on_pieces(&template(content)), depends, "{content}");
        }
    }
}
