//! Whole conversations to be rendered: every kind of turn, in every place.

use crate::chat_template::RenderInput;
use crate::format::ConversationSlot;
use crate::value::Value;

use super::assistant_turn::AssistantTurn;
use super::call_probe::CallWords;
use super::probe::{Probe, Tools, message, result, with};
use super::turn_prober::{ThinkingMode, TurnProber};

/// The messages of a conversation, and the words in them. Each occurs nowhere else.
#[derive(Debug, Clone, Default)]
pub(super) struct LabeledConversation {
    pub(super) messages: Vec<Value>,
    /// The words, their slots, and the numbers of their messages. Those of calls are values of arguments.
    pub(super) words: Vec<(String, ConversationSlot, usize)>,
    /// The numbers of the messages with calls, and how many they are.
    pub(super) calls: Vec<(usize, usize)>,
}

impl LabeledConversation {
    /// A conversation of these messages, each a letter: `s` for a system's, `u` for a user's, `o` for what tools
    /// have answered to all calls; and of the assistant `t` for text, `r` for reasoning and text, `c` for a call,
    /// `k` for text and a call, `q` for reasoning and a call, `a` for all three, `p` for two calls, `j` for
    /// text and two calls, `b` for everything and two calls.
    pub(super) fn of(
        prober: &TurnProber<'_>,
        words: &CallWords,
        shape: &str,
    ) -> LabeledConversation {
        let mut script = LabeledConversation::default();
        let mut open = 0..0;
        let id = |number: usize, first: usize| {
            // Two calls of a turn are of two tools, as in all probes, though ids go on counting.
            let name = &words.names[(number - first) % 2];
            prober.input_form.id_shape.id(name, number)
        };
        for letter in shape.chars() {
            match letter {
                's' => {
                    let word = script.word(prober, ConversationSlot::System);
                    script.messages.push(message("system", &word));
                }
                'u' => {
                    let word = script.word(prober, ConversationSlot::User);
                    script.messages.push(message("user", &word));
                }
                'o' => {
                    for call in open.clone() {
                        let word = script.word(prober, ConversationSlot::Result);
                        let name = &words.names[(call - open.start) % 2];
                        let answer = result(&id(call, open.start), name, &word);
                        script.messages.push(answer);
                    }
                }
                _ => {
                    let mut turn = AssistantTurn::default();
                    if "rqab".contains(letter) {
                        let word = script.word(prober, ConversationSlot::Reasoning);
                        turn = turn.with_reasoning(&word);
                    }
                    if "trkajb".contains(letter) {
                        let word = script.word(prober, ConversationSlot::Content);
                        turn = turn.with_content(&word);
                    }
                    let count = match letter {
                        'c' | 'k' | 'q' | 'a' => 1,
                        'p' | 'j' | 'b' => 2,
                        _ => 0,
                    };
                    // Ids count through the conversation: an answer names one call only.
                    open = open.end..open.end + count;
                    for which in 0..count {
                        let word = script.word(prober, ConversationSlot::Calls);
                        let call = words.call(which, &[(which, word.as_str().into())]);
                        turn.calls.push(call);
                    }
                    if count > 0 {
                        script.calls.push((script.messages.len(), count));
                    }
                    let ids = open.clone().map(|number| id(number, open.start));
                    let message = with_ids(prober.message(&turn), ids);
                    script.messages.push(message);
                }
            }
        }
        script
    }

    /// A new word in the message that comes next.
    fn word(&mut self, prober: &TurnProber<'_>, slot: ConversationSlot) -> String {
        let word = prober.word("said");
        self.words.push((word.clone(), slot, self.messages.len()));
        word
    }

    /// The values of the arguments of calls.
    pub(super) fn values(&self) -> impl Iterator<Item = &str> {
        let words = self.words.iter();
        words.filter_map(|(word, slot, _)| (*slot == ConversationSlot::Calls).then_some(&**word))
    }
}

/// A message with these ids for its calls.
fn with_ids(mut message: Value, ids: impl Iterator<Item = String>) -> Value {
    let calls = message
        .as_object_mut()
        .and_then(|message| message.get_mut("tool_calls")?.as_array_mut());
    for (call, id) in calls.into_iter().flatten().zip(ids) {
        *call = with(std::mem::take(call), "id", id);
    }
    message
}

/// The conversations that show what may stand between two slots, without a system's text.
pub(super) fn shapes(with_calls: bool) -> Vec<String> {
    // Two questions in a row have a passage between them, too.
    let mut all = vec!["u".to_owned(), "uut".to_owned()];
    let fill =
        |pattern: &str, call: &str, answer: &str| pattern.replace('X', call).replace('Y', answer);
    // Thoughts may be dropped from all turns but the last, so that passages differ from place to place.
    for answer in ["t", "r"] {
        let patterns = ["uY", "uYu", "uYut", "utuYuY", "uYY"];
        all.extend(patterns.map(|pattern| fill(pattern, "", answer)));
    }
    if with_calls {
        for call in ["c", "k", "q", "a", "p", "j"] {
            all.extend(["uX", "uXo", "uXut", "uXou"].map(|pattern| fill(pattern, call, "")));
            for answer in ["t", "r"] {
                // Behind a tool's answer, a template may write no header before what the assistant says.
                let patterns = ["uXoY", "uXoYuY", "uYuXoXoY", "uXoXoYuY"];
                all.extend(patterns.map(|pattern| fill(pattern, call, answer)));
            }
        }
    }
    all
}

/// A conversation, with the words in its messages.
#[derive(Debug, Clone)]
pub(crate) struct ProbeConversation {
    pub(crate) input: RenderInput,
    pub(crate) messages: Vec<ProbeMessage>,
    /// Whether no variable is set that switches thinking.
    pub(crate) is_plain: bool,
}

/// The words of a message. Each occurs nowhere else.
#[derive(Debug, Clone)]
pub(crate) struct ProbeMessage {
    pub(crate) is_assistant: bool,
    pub(crate) words: Vec<String>,
}

impl ProbeConversation {
    /// The conversation before a message; as a prompt, if it is to be one.
    pub(crate) fn before(&self, index: usize, prompt: bool) -> RenderInput {
        let mut input = self.input.clone();
        if let Value::Array(messages) = &mut input.messages {
            messages.truncate(index);
        }
        input.add_generation_prompt = prompt;
        input
    }
}

/// The conversations for which it is proved what of them the model writes.
const PLAIN: [&str; 10] = [
    "ut", "ur", "utut", "urut", "utur", "urur", "utu", "uru", "ututut", "urutur",
];
const WITH_CALLS: [&str; 28] = [
    "ut",
    "ur",
    "utur",
    "uc",
    "uk",
    "uq",
    "ua",
    "up",
    "ub",
    "uco",
    "ucot",
    "ukot",
    "uqot",
    "uaot",
    "upot",
    "ubot",
    "ucor",
    "uqor",
    "ucotut",
    "uqorur",
    "uqoqor",
    "ucocot",
    "utucot",
    "uruqor",
    "upotut",
    "ucotu",
    "uaobor",
    "utupoaotut",
];

/// Conversations of all kinds, in the form in which the template takes them.
pub(crate) fn conversations(prober: &TurnProber<'_>) -> Vec<ProbeConversation> {
    let words = CallWords::new(prober);
    let mut all = Vec::new();
    for mode in [ThinkingMode::Unset, ThinkingMode::On, ThinkingMode::Off] {
        for system in ["", "s"] {
            for (shapes, with_tools) in [(&PLAIN[..], false), (&WITH_CALLS[..], true)] {
                for shape in shapes {
                    let script =
                        LabeledConversation::of(prober, &words, &format!("{system}{shape}"));
                    let tools = match with_tools {
                        true => words.tools(),
                        false => Vec::new(),
                    };
                    all.push(conversation(prober, script, tools, mode));
                }
            }
        }
        // Without a switch, the other modes are the same again.
        if prober.switches.is_empty() {
            break;
        }
    }
    all
}

fn conversation(
    prober: &TurnProber<'_>,
    script: LabeledConversation,
    tools: Vec<Value>,
    mode: ThinkingMode,
) -> ProbeConversation {
    let messages = script.messages.iter().enumerate().map(|(number, message)| {
        let words = script.words.iter();
        let words = words.filter(|(.., message)| *message == number);
        ProbeMessage {
            is_assistant: message.get("role").and_then(Value::as_str) == Some("assistant"),
            words: words.map(|(word, ..)| word.clone()).collect(),
        }
    });
    let messages = messages.collect();
    let mut probe = Probe::of(script.messages).tools(Tools::of(tools));
    for (name, value) in prober.switched(mode) {
        probe = probe.variable(&name, value);
    }
    ProbeConversation {
        input: prober.input(&probe),
        messages,
        is_plain: mode == ThinkingMode::Unset,
    }
}

/// The same conversation with every text as a list of parts, as far as it is none already.
pub(crate) fn in_parts(conversation: &ProbeConversation) -> ProbeConversation {
    let mut input = conversation.input.clone();
    if let Value::Array(messages) = &mut input.messages {
        for message in messages {
            *message = super::probe::in_parts(message);
        }
    }
    ProbeConversation {
        input,
        ..conversation.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::{asked, template};
    use crate::json;

    /// The messages that letters stand for, with a letter for each slot.
    fn written(shape: &str) -> (String, LabeledConversation) {
        let template = template("{{ m.content }}");
        asked(&template, |prober| {
            let words = CallWords::new(prober);
            let script = LabeledConversation::of(prober, &words, shape);
            let mut text = json::write(&script.messages.clone().into());
            for (word, slot, _) in &script.words {
                text = text.replace(word, slot.key());
            }
            for (names, short) in [(&words.names, ["f", "g"]), (&words.keys, ["k", "j"])] {
                for (name, short) in names.iter().zip(short) {
                    text = text.replace(name, short);
                }
            }
            (text, script)
        })
    }

    #[test]
    fn letters_stand_for_messages() {
        for (shape, expected) in [
            (
                "su",
                r#"[{"role": "system", "content": "system"}, {"role": "user", "content": "user"}]"#,
            ),
            ("t", r#"[{"role": "assistant", "content": "content"}]"#),
            (
                "r",
                r#"[{"role": "assistant", "content": "content", "reasoning": "reasoning"}]"#,
            ),
            (
                "c",
                r#"[{"role": "assistant", "content": "", "tool_calls": [{"id": "zqid70001", "type": "function", "function": {"name": "f", "arguments": {"k": "calls"}}}]}]"#,
            ),
            // Answers name their calls, and ids go on counting.
            (
                "coco",
                r#"[{"role": "assistant", "content": "", "tool_calls": [{"id": "zqid70001", "type": "function", "function": {"name": "f", "arguments": {"k": "calls"}}}]}, {"role": "tool", "content": "tool", "tool_call_id": "zqid70001", "name": "f"}, {"role": "assistant", "content": "", "tool_calls": [{"id": "zqid70002", "type": "function", "function": {"name": "f", "arguments": {"k": "calls"}}}]}, {"role": "tool", "content": "tool", "tool_call_id": "zqid70002", "name": "f"}]"#,
            ),
        ] {
            let expected: Value = expected.parse().expect("it is JSON");
            assert_eq!(written(shape).0, json::write(&expected), "{shape}");
        }
    }

    #[test]
    fn words_of_a_turn_are_its_text_its_thought_and_its_calls() {
        for (letter, expected, calls) in [
            ("t", "content", 0),
            ("r", "reasoning content", 0),
            ("c", "calls", 1),
            ("k", "content calls", 1),
            ("q", "reasoning calls", 1),
            ("a", "reasoning content calls", 1),
            ("p", "calls calls", 2),
            ("j", "content calls calls", 2),
            ("b", "reasoning content calls calls", 2),
        ] {
            let (_, script) = written(letter);
            let slots: Vec<&str> = script.words.iter().map(|(_, slot, _)| slot.key()).collect();
            assert_eq!(slots.join(" "), expected, "{letter}");
            assert_eq!(
                script.calls.first().map_or(0, |(_, count)| *count),
                calls,
                "{letter}"
            );
            assert_eq!(script.values().count(), calls, "{letter}");
        }
    }

    #[test]
    fn conversations_have_calls_only_where_templates_write_them() {
        for (with_calls, count) in [(false, 12), (true, 84)] {
            let shapes = shapes(with_calls);
            assert_eq!(shapes.len(), count);
            let calls = shapes
                .iter()
                .any(|shape| shape.contains(['c', 'k', 'q', 'a', 'p', 'j']));
            assert_eq!(calls, with_calls);
            assert!(shapes.iter().all(|shape| !shape.contains(['X', 'Y'])));
        }
    }

    #[test]
    fn other_modes_are_tried_where_something_switches_thinking() {
        for (jinja, expected) in [("", 1), ("{% if think %}<m>{% endif %}", 3)] {
            let jinja = format!("{{{{ messages[-1].content }}}}{jinja}");
            let template = crate::chat_template::ChatTemplate::from_jinja(jinja.as_str());
            let all = asked(&template, |prober| conversations(prober));
            assert_eq!(
                all.len(),
                expected * 2 * (PLAIN.len() + WITH_CALLS.len()),
                "{jinja}"
            );
        }
    }
}
