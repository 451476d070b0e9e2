//! Thoughts: whether they are rendered, under which names, and closed.

use crate::analysis::probe::with;
use crate::chat_template::REASONING_KEYS;
use crate::chat_template::program::What;
use crate::lint::{Level, Lint};
use crate::markers::{is_marker, pieces};
use crate::value::{Value, object};

use super::stage::Stage;
use super::talk::{Talk, WordKind};
use super::{Fault, Report};
use super::{blame, lost};

pub(super) fn check(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    thoughts(stage, report);
    not_closed(stage, report);
}

/// A thought that a marker opens should be closed by one before the answer.
fn not_closed(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let talk = stage.talk("ur");
    let Some(text) = stage.text(&talk) else {
        return;
    };
    let mut places = [WordKind::Question, WordKind::Thought, WordKind::Answer].map(|kind| {
        talk.words_of(kind)
            .next()
            .and_then(|word| Some((text.find(&word.text)?, word.text.len())))
    });
    let [Some(question), Some(thought), Some(answer)] = places.each_mut().map(Option::take) else {
        return;
    };
    let marked = |text: &str| {
        pieces(text)
            .filter(|piece| {
                piece.len() > 2 && piece.starts_with(['<', '[']) && piece.ends_with(['>', ']'])
            })
            .count()
    };
    if thought.0 > answer.0 {
        report.add(
            Fault::new(
                Lint::TextRewritten,
                "the thought is rendered behind the answer that it came before",
                "write `message.reasoning_content` before `message.content`: models think first",
            )
            .level(Level::Warning)
            .at(blame::written(stage, &talk, thought.0))
            .shown_by(&talk)
            .marked(thought.0..thought.0 + thought.1),
        );
        return;
    }
    let asked = stage.text(&stage.talk("u").prompt()).unwrap_or_default();
    let without = stage.text(&stage.talk("ut")).unwrap_or_default();
    let header = without
        .find(&text[answer.0..answer.0 + answer.1])
        .map_or(0, |at| marked(&without[question.0.min(at)..at]));
    let opened = marked(&text[question.0 + question.1..thought.0]);
    let between = &text[thought.0 + thought.1..answer.0];
    let opens = opened > header
        || opens_thought(&asked)
        || opens_thought(&text[question.0 + question.1..thought.0]);
    if opens && between.trim().is_empty() {
        report.add(
            Fault::new(
                Lint::ThoughtNotClosed,
                "nothing stands between the end of a thought and the answer, though a marker opens the thought",
                "write what closes a thought, such as `</think>`: otherwise nobody can tell the answer from the thought",
            )
            .at(blame::written(stage, &talk, thought.0))
            .shown_by(&talk)
            .marked(thought.0..answer.0 + answer.1),
        );
    }
}

/// Whether a text ends with a marker that speaks of thoughts.
fn opens_thought(before: &str) -> bool {
    let last = pieces(before.trim_end()).last().unwrap_or_default();
    let names = ["think", "thought", "reason"];
    is_marker(last)
        && !last.contains('/')
        && names.iter().any(|name| last.to_lowercase().contains(name))
}

/// Under which names thoughts are rendered in the last turn, without the names that transformers adds.
fn thought_names(stage: &Stage<'_>) -> Vec<&'static str> {
    let names = REASONING_KEYS.into_iter().filter(|name| {
        let talks = ["ur", "uqo"]
            .into_iter()
            .filter(|shape| stage.takes_calls || !shape.contains('q'));
        talks.into_iter().any(|shape| {
            let talk = thinking_as(stage, shape, name);
            let word = stage.writer.word("Thought", 1);
            stage.text(&talk).is_some_and(|text| text.contains(&word))
        })
    });
    names.collect()
}

/// Whether a thought is rendered that is a part of the content.
fn takes_thoughts_as_parts(stage: &Stage<'_>) -> bool {
    let thought = stage.writer.word("Thought", 1);
    let talk = stage.talk("ut").changed(1, |turn| {
        let thinking = object! {"type": "thinking", "thinking": thought.as_str()};
        let text = object! {"type": "text", "text": stage.writer.word("Answer", 1)};
        with(turn, "content", Value::from_iter([thinking, text]))
    });
    stage.text(&talk).is_some_and(|text| {
        let is_quoted = text.contains("'type'") || text.contains("\"type\"");
        text.contains(&thought) && !is_quoted
    })
}

/// A talk with its thought under one name only.
fn thinking_as(stage: &Stage<'_>, shape: &str, name: &str) -> Talk {
    let talk = stage.talk(shape).changed(1, |turn| match turn {
        Value::Object(mut turn) => {
            let thought = turn.remove(REASONING_KEYS[0]);
            let mut turn = Value::from(turn);
            if let Some(thought) = thought {
                turn = with(turn, name, thought);
            }
            turn
        }
        other => other,
    });
    // Given as a variable, messages are not added to.
    let messages: Value = talk.messages.iter().cloned().collect();
    talk.with_variable("messages", messages)
}

fn thoughts(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let names = thought_names(stage);
    if names.is_empty() && !stage.reads_keys(&REASONING_KEYS) && !takes_thoughts_as_parts(stage) {
        under_another_name(stage, report);
    }
    if names.is_empty() && (!stage.reads_keys(&REASONING_KEYS) || takes_thoughts_as_parts(stage)) {
        return;
    }
    let mut shapes = vec![("ur", "the last turn")];
    if stage.takes_calls {
        shapes.extend([
            ("uq", "a turn with a call"),
            ("uqo", "a turn with a call that has been answered"),
        ]);
    }
    for (shape, what) in shapes {
        let talk = stage.talk(shape);
        let thinking = with_thinking_on(stage, &talk);
        let texts: Vec<String> = [&talk, &thinking]
            .iter()
            .filter_map(|talk| stage.text(talk))
            .collect();
        let Some(word) = talk.words_of(WordKind::Thought).next() else {
            continue;
        };
        if texts.is_empty() || texts.iter().any(|text| text.contains(&word.text)) {
            continue;
        }
        let level = match (shape, names.is_empty()) {
            ("ur", true) => Level::Warning,
            _ => Level::Note,
        };
        report.add(
            Fault::new(
                Lint::ThoughtDropped,
                format!("the thought of {what} is not rendered"),
                "write `message.reasoning_content` in all turns behind the last question, so that training sees thoughts, \
                 and so that the model still has them when a result comes in",
            )
            .level(level)
            .at(lost::dropped(stage, &thinking, &word.text, &REASONING_KEYS, "assistant"))
            .shown_by(&talk),
        );
    }
    let unseen: Vec<&str> = REASONING_KEYS
        .into_iter()
        .filter(|name| !names.contains(name))
        .collect();
    if !names.is_empty() && !unseen.is_empty() {
        let talk = thinking_as(stage, "ur", unseen[0]);
        report.add(
            Fault::new(
                Lint::ThoughtNameUnseen,
                format!(
                    "thoughts are seen under `{}`, and not under `{}`",
                    names.join("` and `"),
                    unseen.join("` and `")
                ),
                "transformers hands each over under `reasoning_content` and `thinking`; other engines hand over what they \
                 are given: read `message.reasoning_content or message.reasoning or message.thinking`",
            )
            .at(stage.readers(&names).next().map(|statement| statement.place.clone()))
            .shown_by(&talk),
        );
    }
}

/// Thoughts that are written from under a key that nobody hands over.
fn under_another_name(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let statements = stage.program.statements.iter();
    let written = statements.filter(|statement| statement.makes());
    let mut uses = written.flat_map(|statement| stage.program.uses_of(statement));
    let speaks = |name: &str| {
        ["think", "thought", "reason"]
            .iter()
            .any(|word| name.contains(word))
    };
    let found = uses.find_map(|used| match &used.what {
        What::Key(name) if speaks(name) && !stage.program.own_names.contains(name) => {
            Some((name, used.place.clone()))
        }
        _ => None,
    });
    if let Some((name, place)) = found {
        report.add(
            Fault::new(
                Lint::ThoughtNameUnseen,
                format!("thoughts are read under `{name}`, where nobody hands them over"),
                "read `message.reasoning_content or message.reasoning or message.thinking`",
            )
            .at(place),
        );
    }
}

/// A talk with the variables on that switch thinking.
fn with_thinking_on(stage: &Stage<'_>, talk: &Talk) -> Talk {
    let switches = stage.switches.iter();
    switches.fold(talk.clone(), |talk, name| talk.with_variable(name, true))
}
