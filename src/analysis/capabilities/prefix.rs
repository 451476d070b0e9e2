//! Whether what was rendered stays as it is when a conversation goes on.

use crate::analysis::probe::{Probe, Prober, Tools, call, message, result, tool, with};
use crate::analysis::variables::Variable;
use crate::chat_template::REASONING_KEYS;
use crate::json;
use crate::markers::common_prefix;
use crate::value::{Value, object};

/// Who speaks after the assistant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Follower {
    /// The user asks again.
    User,
    /// A tool answers a call.
    Tool,
}

impl Follower {
    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            Follower::User => "user",
            Follower::Tool => "tool",
        }
    }
}

/// Whether the text of a conversation that ends with the assistant's turn begins the text of the
/// conversation that goes on. Those who train on what a model said step by step need that.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PrefixKept {
    /// Who speaks next.
    pub follower: Follower,
    /// The smallest conversation in which it is not so; `None` if it is so in all.
    pub counterexample: Option<Departure>,
}

/// A conversation whose text does not begin with that of its beginning.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Departure {
    /// The messages, of which the last is what the conversation goes on with.
    pub messages: Value,
    /// What stood there without the last message.
    pub before: String,
    /// What stands there with it.
    pub after: String,
    /// A variable, and what it has to be so that the text stays as it is, if there is one.
    pub mended_by: Option<(String, bool)>,
}

/// Who speaks, and how: `t` text, `r` reasoning and text, `c` a call, `q` reasoning and a call, and `b` all of it;
/// `u` a user, and `o` a tool.
// The smallest first: the first in which a text is not kept is the one that is shown.
const CONVERSATIONS: [(Follower, &str); 10] = [
    (Follower::User, "utu"),
    (Follower::User, "uru"),
    (Follower::User, "ututu"),
    (Follower::User, "ururu"),
    (Follower::User, "ucotu"),
    (Follower::User, "uqoru"),
    (Follower::Tool, "uco"),
    (Follower::Tool, "uqo"),
    (Follower::Tool, "ubo"),
    (Follower::Tool, "uruqo"),
];

/// How many characters are shown of what differs.
const SHOWN: usize = 40;

/// Ids of calls as various models have them, and whether arguments are given as text.
const FORMS: [(&str, bool); 4] = [
    ("call_1", false),
    ("callabcd1", false),
    ("call_1", true),
    ("callabcd1", true),
];

/// Finds out whether texts are kept; of those that speak next, only those that the template knows.
///
/// Of `variables`, the first is named with which the text stays as it is.
pub(super) fn find(prober: &Prober<'_>, variables: &[Variable]) -> Vec<PrefixKept> {
    let mut found: Vec<PrefixKept> = Vec::new();
    for (follower, shape) in CONVERSATIONS {
        // A template without calls says nothing of conversations with them.
        let Some((messages, before, after)) = rendered(prober, shape, None) else {
            continue;
        };
        let known = found.iter_mut().find(|kept| kept.follower == follower);
        if known
            .as_ref()
            .is_some_and(|kept| kept.counterexample.is_some())
        {
            continue;
        }
        let departure = departure(messages, &before, &after).map(|departure| Departure {
            mended_by: mending(prober, shape, variables),
            ..departure
        });
        match known {
            Some(kept) => kept.counterexample = departure,
            None => found.push(PrefixKept {
                follower,
                counterexample: departure,
            }),
        }
    }
    found
}

fn departure(messages: Vec<Value>, before: &str, after: &str) -> Option<Departure> {
    // In whole pieces, so that what is shown begins where a marker does: `<end>` tells more than `nd>`.
    let shared = common_prefix(before, after);
    if shared == before.len() {
        return None;
    }
    let shown = |text: &str| text[shared..].chars().take(SHOWN).collect();
    Some(Departure {
        messages: messages.into(),
        before: shown(before),
        after: shown(after),
        mended_by: None,
    })
}

/// A variable with which the text of a conversation stays as it is.
fn mending(prober: &Prober<'_>, shape: &str, variables: &[Variable]) -> Option<(String, bool)> {
    let ways = |variable: &Variable| [true, false].map(|value| (variable.name.clone(), value));
    variables.iter().flat_map(ways).find(|(name, value)| {
        let texts = rendered(prober, shape, Some((name, *value)));
        texts.is_some_and(|(_, before, after)| after.starts_with(&before))
    })
}

/// A conversation, its text without the last message, and with it; in the first form that the template
/// takes, and if all that was said last comes out.
fn rendered(
    prober: &Prober<'_>,
    shape: &str,
    given: Option<(&str, bool)>,
) -> Option<(Vec<Value>, String, String)> {
    FORMS.into_iter().find_map(|form| {
        let (messages, last) = messages(shape, form);
        // Some refuse a tool's answer where no tools are on offer.
        let offered = match shape.contains('o') {
            true => Tools::of([tool("lookup", "Looks it up", "key")]),
            false => Tools::default(),
        };
        let probe = |messages: &[Value]| {
            let probe = Probe::of(messages.iter().cloned()).tools(offered.clone());
            match given {
                Some((name, value)) => probe.variable(name, value),
                None => probe,
            }
        };
        let before = prober
            .render(&probe(&messages[..messages.len() - 1]))
            .ok()?;
        let after = prober.render(&probe(&messages)).ok()?;
        // A template that drops what is said last keeps any text, and that shows nothing.
        let comes_out = last.iter().all(|word| after.contains(word.as_str()));
        comes_out.then_some((messages, before, after))
    })
}

/// The messages of a conversation, and the words that have to come out: those of the last message, and the
/// arguments of calls.
fn messages(shape: &str, (id, as_text): (&str, bool)) -> (Vec<Value>, Vec<String>) {
    let mut messages = Vec::new();
    let mut words = Vec::new();
    for (index, letter) in shape.chars().enumerate() {
        let word = |meaning: &str| format!("{meaning}{index}");
        match letter {
            'u' => messages.push(message("user", &word("Question"))),
            'o' => messages.push(result(id, "lookup", &word("Result"))),
            _ => {
                let content = match letter {
                    'c' | 'q' => String::new(),
                    _ => word("Answer"),
                };
                let mut turn = message("assistant", &content);
                if matches!(letter, 'r' | 'q' | 'b') {
                    turn = with(turn, REASONING_KEYS[0], word("Thought").as_str());
                }
                if matches!(letter, 'c' | 'q' | 'b') {
                    let given = Value::from(object! {"key": word("Value")});
                    words.push(word("Value"));
                    let given = match as_text {
                        true => json::write(&given).into(),
                        false => given,
                    };
                    turn = with(turn, "tool_calls", vec![call(id, "lookup", given)]);
                }
                messages.push(turn);
            }
        }
        if index + 1 == shape.len() {
            words.push(word(match letter {
                'o' => "Result",
                _ => "Question",
            }));
        }
    }
    (messages, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::capabilities::Capabilities;
    use crate::analysis::tests::template;
    use crate::chat_template::RenderInput;

    #[test]
    fn a_departure_is_shown_from_where_a_marker_begins() {
        for (before, after, expected) in [
            ("<a>Yes.<end>", "<a>Yes.<end><user>", None),
            ("<a>Yes.<end>", "<a>Yes.<over>", Some(("<end>", "<over>"))),
            (
                "<a><m>Hm.</m>Yes.",
                "<a>Yes.",
                Some(("<m>Hm.</m>Yes.", "Yes.")),
            ),
            ("<a>Yes.", "<a>Ye", Some(("Yes.", "Ye"))),
        ] {
            let found = departure(Vec::new(), before, after);
            let found = found
                .as_ref()
                .map(|one| (one.before.as_str(), one.after.as_str()));
            assert_eq!(found, expected, "{before} {after}");
        }
    }

    #[test]
    fn letters_stand_for_messages_and_the_last_has_to_come_out() {
        for (shape, roles, words) in [
            ("utu", "user assistant user", "Question2"),
            ("uru", "user assistant user", "Question2"),
            ("uco", "user assistant tool", "Value1 Result2"),
            (
                "uqoru",
                "user assistant tool assistant user",
                "Value1 Question4",
            ),
            ("ubo", "user assistant tool", "Value1 Result2"),
        ] {
            let (messages, last) = messages(shape, FORMS[0]);
            let found = messages
                .iter()
                .filter_map(|message| message.get("role")?.as_str());
            assert_eq!(found.collect::<Vec<_>>().join(" "), roles, "{shape}");
            assert_eq!(last.join(" "), words, "{shape}");
        }
    }

    #[test]
    fn texts_are_kept_unless_a_past_turn_is_written_otherwise() {
        let calls = "{% for c in m.tool_calls %}{{ c.function | tojson }}{% endfor %}";
        for (assistant, expected) in [
            ("{{ m.content }}", "user: kept"),
            ("{{ m.content }}CALLS", "user: kept, tool: kept"),
            (
                "{{ m.reasoning_content if loop.last }}{{ m.content }}",
                "user: lost",
            ),
            // A variable keeps them.
            (
                "{{ m.reasoning_content if loop.last or keep }}{{ m.content }}",
                "user: lost unless keep=true",
            ),
            (
                "{{ m.reasoning_content if loop.last }}{{ m.content if not m.tool_calls }}CALLS",
                "user: lost, tool: lost",
            ),
            // Thoughts are kept beside calls until somebody asks again.
            (
                "{{ m.reasoning_content if loop.last or m.tool_calls }}{{ m.content }}CALLS",
                "user: lost, tool: kept",
            ),
        ] {
            let template = template(&assistant.replace("CALLS", calls));
            let can = Capabilities::of(&template, &RenderInput::default());
            let kept = can.expect("it renders a question").prefix_kept;
            let kept = kept.iter().map(|kept| {
                let mended = kept
                    .counterexample
                    .as_ref()
                    .map(|one| match &one.mended_by {
                        Some((name, value)) => format!("lost unless {name}={value}"),
                        None => "lost".to_owned(),
                    });
                format!(
                    "{}: {}",
                    kept.follower.key(),
                    mended.unwrap_or_else(|| "kept".to_owned())
                )
            });
            assert_eq!(kept.collect::<Vec<_>>().join(", "), expected, "{assistant}");
        }
    }
}
