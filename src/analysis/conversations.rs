//! Whole conversations to be rendered: every kind of turn, in every place.

use crate::chat_template::RenderInput;
use crate::value::Value;

use super::assistant_turn::{AssistantTurn, ToolCall};
use super::probe::{Probe, Tools, message, result, tool};
use super::turn_prober::{ThinkingMode, TurnProber};

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

/// The messages of conversations, each a letter: `s` for a system's, `u` for a user's, `o` for what tools
/// have answered; and of the assistant `t` for text, `r` for reasoning and text, `c` for a call, `k` for
/// text and a call, `q` for reasoning and a call, `a` for all three, `p` for two calls, `b` for
/// everything and two calls.
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
    let mut all = Vec::new();
    for mode in [ThinkingMode::Unset, ThinkingMode::On, ThinkingMode::Off] {
        for system in ["", "s"] {
            for (shapes, with_tools) in [(&PLAIN[..], false), (&WITH_CALLS[..], true)] {
                for shape in shapes {
                    let shape = format!("{system}{shape}");
                    all.push(conversation(prober, &shape, with_tools, mode));
                }
            }
        }
        if !prober.has_switches() {
            break;
        }
    }
    all
}

/// A conversation of these messages.
pub(crate) fn conversation(
    prober: &TurnProber<'_>,
    shape: &str,
    with_tools: bool,
    mode: ThinkingMode,
) -> ProbeConversation {
    let names = [prober.word("tool"), prober.word("other")];
    let key = String::from("key");
    let (mut messages, mut said) = (Vec::new(), Vec::new());
    let mut called = 0;
    for letter in shape.chars() {
        let mut words = Vec::new();
        let mut word = |meaning: &str| {
            let word = prober.word(meaning);
            words.push(word.clone());
            word
        };
        let is_assistant = !matches!(letter, 's' | 'u' | 'o');
        match letter {
            's' => messages.push(message("system", &word("system"))),
            'u' => messages.push(message("user", &word("question"))),
            'o' => {
                for (index, name) in names.iter().take(called).enumerate() {
                    let word = prober.word("result");
                    let id = prober.call_id(name, index);
                    messages.push(result(&id, name, &word));
                    said.push(ProbeMessage {
                        is_assistant,
                        words: vec![word],
                    });
                }
                continue;
            }
            _ => {
                let mut turn = AssistantTurn::default();
                if matches!(letter, 'r' | 'q' | 'a' | 'b') {
                    turn = turn.with_reasoning(&word("thought"));
                }
                if matches!(letter, 't' | 'r' | 'k' | 'a' | 'b') {
                    turn = turn.with_content(&word("content"));
                }
                called = match letter {
                    'c' | 'k' | 'q' | 'a' => 1,
                    'p' | 'b' => 2,
                    _ => 0,
                };
                let calls = names.iter().take(called);
                let calls = calls.map(|name| {
                    ToolCall::new(name, [(key.clone(), word("value").as_str().into())])
                });
                turn.calls = calls.collect();
                messages.push(prober.message(&turn));
            }
        }
        said.push(ProbeMessage {
            is_assistant,
            words,
        });
    }
    let mut probe = Probe::of(messages);
    if with_tools {
        probe = probe.tools(Tools::of(
            names.iter().map(|name| tool(name, "A tool", &key)),
        ));
    }
    for (name, value) in prober.switched(mode) {
        probe = probe.variable(&name, value);
    }
    ProbeConversation {
        input: prober.input(&probe),
        messages: said,
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
