//! Whole conversations lined up: how a template is to be given them, and how it writes them.

use crate::budget::Budget;
use crate::chat_template::{
    ChatTemplate, OTHER_REASONING_KEYS, REASONING_KEYS, RenderError, RenderInput,
};
use crate::format::{ConversationFormat, ConversationSlot, Node, Passage, unescaped};
use crate::json;
use crate::value::Value;

use super::analyze::analyze;
use super::assistant_turn::AssistantTurn;
use super::call_probe::CallWords;
use super::infer_format::infer_format;
use super::input_form::InputForm;
use super::passages::PassageFinder;
use super::probe::{Setting, message, result};
use super::turn_prober::TurnProber;
use super::variables::ThinkingSwitch;
use crate::markers;

/// What is known of how a template is to be given conversations, and how it writes them.
#[derive(Debug)]
pub(crate) struct ConversationShape {
    pub(crate) format: ConversationFormat,
    pub(crate) setting: Setting,
    pub(crate) form: InputForm,
    /// The key of a message under which the template takes reasoning.
    pub(crate) reasoning_key: &'static str,
    /// The variables that switch thinking.
    pub(crate) switches: Vec<ThinkingSwitch>,
    /// What is given for tools that are there and can't be read.
    pub(crate) stand_in_tools: Value,
}

impl ConversationShape {
    /// Finds out how a template writes conversations.
    pub(crate) fn of(
        template: &ChatTemplate,
        base: &RenderInput,
    ) -> Result<ConversationShape, RenderError> {
        let prepared = template.prepare_within(&Budget::of_question());
        let mut analysis = analyze(template, &prepared, base, &[])?;
        let mut turn = infer_format(&mut analysis);
        let prober = &mut analysis.prober;
        let words = CallWords::new(prober);
        let stand_in_tools = words.tools().into();
        let found = PassageFinder::of(prober, words, turn.calls.take());
        turn.calls = found.calls;
        let passages = found.passages;
        let escapes_results = escapes_results(prober);
        prober.gave_up()?;
        let ends = ends(&passages, &turn.ways);
        Ok(ConversationShape {
            format: ConversationFormat {
                turn,
                passages,
                ends,
                escapes_results,
                definitions: found.definitions.unwrap_or_default(),
                wording: found.wording,
            },
            reasoning_key: reasoning_key(prober),
            setting: prober.setting().clone(),
            form: prober.input_form,
            switches: prober.switches.clone(),
            stand_in_tools,
        })
    }
}

/// The key under which a template takes reasoning, the most common first.
fn reasoning_key(prober: &TurnProber<'_>) -> &'static str {
    let (asked, thought) = (prober.word("asked"), prober.word("thought"));
    let turn = AssistantTurn::default().with_reasoning(&thought);
    // Some read one name only, and messages that are read back have to have it.
    let is_read = |key: &&str| {
        let answer = prober.input_form.message_for_reading(&turn, key);
        let text = prober.plain(&[message("user", &asked), answer]);
        text.is_some_and(|text| text.contains(&thought))
    };
    let mut keys = REASONING_KEYS.into_iter().chain(OTHER_REASONING_KEYS);
    keys.find(is_read).unwrap_or(REASONING_KEYS[0])
}

/// Whether the template writes what tools answer as in a JSON string.
fn escapes_results(prober: &TurnProber<'_>) -> bool {
    let words = CallWords::new(prober);
    let (asked, one) = (prober.word("asked"), prober.word("one"));
    // A line break and a quote: a template may write answers with `tojson`.
    let special = format!("{one}\n\"{one}\"");
    let id = prober.input_form.id_shape.id(&words.names[0], 0);
    let call = AssistantTurn::calls([words.call(0, &[(0, words.string(0))])]);
    let text = prober.plain(&[
        message("user", &asked),
        prober.message(&call),
        result(&id, &words.names[0], &special),
    ]);
    let written = json::write(&Value::from(special.as_str()));
    text.is_some_and(|text| {
        let escaped = written.trim_matches('"');
        // Where it stands as it is, nothing is escaped, even if it stands escaped somewhere else.
        !text.contains(&special) && (text.contains(escaped) || unescaped_contains(&text, &special))
    })
}

fn unescaped_contains(text: &str, special: &str) -> bool {
    text.lines()
        .filter_map(unescaped)
        .any(|line| line.contains(special))
}

/// The markers that end messages, which no text in a slot has in it.
fn ends(passages: &[Passage], ways: &[crate::format::Way]) -> Vec<(ConversationSlot, String)> {
    let mut ends: Vec<(ConversationSlot, String)> = Vec::new();
    let slots = [
        ConversationSlot::System,
        ConversationSlot::User,
        ConversationSlot::Content,
        ConversationSlot::Result,
    ];
    for slot in slots {
        let leaving = passages
            .iter()
            // What stands between a thought and a text of one message ends no message.
            .filter(|passage| passage.from == Some(slot) && !passage.is_within);
        for passage in leaving {
            let piece = markers::first_piece(passage.first_text().trim_start());
            // Words and line breaks may stand in any text.
            let end = piece.filter(|piece| markers::is_marker(piece));
            let end = end.map(|end| (slot, end.to_owned()));
            ends.extend(end.filter(|end| !ends.contains(end)));
        }
    }
    let all: Vec<String> = ends.iter().map(|(_, end)| end.clone()).collect();
    for slot in slots {
        // A text that nothing of its own ends can't go on beyond what ends the others.
        if ends.iter().all(|(own, _)| *own != slot) {
            ends.extend(all.iter().map(|end| (slot, end.clone())));
        }
    }
    for way in ways {
        let mut texts = way.end.parts().iter().filter_map(Node::as_literal);
        let marker = texts.find(|text| markers::is_marker(text));
        // A turn ends whatever is said last in it.
        for slot in [ConversationSlot::Content, ConversationSlot::Reasoning] {
            let end = marker.map(|text| (slot, text.to_owned()));
            ends.extend(end.filter(|end| !ends.contains(end)));
        }
    }
    // A thought does not end a turn, and stands before what does.
    let of_content = ends
        .iter()
        .filter(|(slot, _)| *slot == ConversationSlot::Content);
    let of_reasoning: Vec<(ConversationSlot, String)> = of_content
        .map(|(_, end)| (ConversationSlot::Reasoning, end.clone()))
        .filter(|end| !ends.contains(end))
        .collect();
    ends.extend(of_reasoning);
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::{asked, template};
    use crate::format::{Piece, Way};

    #[test]
    fn markers_end_messages_and_words_do_not() {
        use ConversationSlot::{Content, Reasoning, Result, System, User};
        let passage = |from, text: &str, is_within| Passage {
            from: Some(from),
            to: None,
            pieces: vec![Piece::Text(text.to_owned())],
            is_within,
            skips: false,
            is_prompt: false,
        };
        for (passages, end, expected) in [
            (
                vec![passage(User, "\n<end>\n<bot>", false)],
                "",
                // A text that nothing of its own ends can't go on beyond what ends the others.
                vec![
                    (User, "<end>"),
                    (System, "<end>"),
                    (Content, "<end>"),
                    (Result, "<end>"),
                    (Reasoning, "<end>"),
                ],
            ),
            (
                vec![passage(User, "<a>", false), passage(Content, "<b>", false)],
                "",
                vec![
                    (User, "<a>"),
                    (Content, "<b>"),
                    (System, "<a>"),
                    (System, "<b>"),
                    (Result, "<a>"),
                    (Result, "<b>"),
                    (Reasoning, "<b>"),
                ],
            ),
            // Words may stand in any text, and what stands within a message ends none.
            (
                vec![
                    passage(User, "\nBot: ", false),
                    passage(Content, "<do>", true),
                ],
                "",
                vec![],
            ),
            // A turn ends whatever is said last in it.
            (
                vec![],
                "<over>",
                vec![(Content, "<over>"), (Reasoning, "<over>")],
            ),
            (vec![], "Over.", vec![]),
        ] {
            let way = Way {
                node: Node::Slot(crate::format::Slot::Content),
                end: Node::sequence(Node::texts(end)),
                is_seen: true,
            };
            let found = ends(&passages, &[way]);
            let found: Vec<_> = found
                .iter()
                .map(|(slot, end)| (*slot, end.as_str()))
                .collect();
            assert_eq!(found, expected, "{passages:?} {end}");
        }
    }

    #[test]
    fn reasoning_is_given_under_the_first_key_that_is_read() {
        for (assistant, expected) in [
            ("{{ m.content }}", REASONING_KEYS[0]),
            (
                "{{ m.reasoning_content }}{{ m.content }}",
                "reasoning_content",
            ),
            // The renderer adds this name, and not the other.
            ("{{ m.thinking }}{{ m.content }}", "reasoning_content"),
            ("{{ m.reasoning }}{{ m.content }}", "reasoning"),
        ] {
            let key = asked(&template(assistant), |prober| reasoning_key(prober));
            assert_eq!(key, expected, "{assistant}");
        }
    }

    #[test]
    fn answers_are_escaped_where_they_stand_nowhere_as_they_are() {
        for (content, expected) in [
            ("{{ m.content | tojson }}", true),
            ("{'content': {{ m.content | string | tojson }}}", true),
            // As Python prints it.
            ("{{ [m.content] }}", true),
            ("{{ m.content }}", false),
            ("{{ m.content }} {{ m.content | tojson }}", false),
            ("{{ m.content | upper }}", false),
            ("", false),
        ] {
            let jinja =
                format!("{{% for m in messages %}}<{{{{ m.role }}}}>{content}<end>{{% endfor %}}");
            let found = asked(&ChatTemplate::from_jinja(jinja), |prober| {
                escapes_results(prober)
            });
            assert_eq!(found, expected, "{content}");
        }
    }
}
