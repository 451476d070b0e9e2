//! What a conversation says, and a template leaves out.

use crate::analysis::probe::with;
use crate::chat_template::REASONING_KEYS;
use crate::chat_template::program::{Kind, What};
use crate::lint::{Level, Lint};
use crate::markers::{is_marker, pieces};
use crate::value::{Value, object};

use super::blame;
use super::stage::Stage;
use super::talk::{Talk, Word, WordKind};
use super::{Fault, Report};

pub(super) fn check(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    messages(stage, report);
    if stage.takes_calls {
        calls(stage, report);
        results(stage, report);
        beside_calls(stage, report);
        ids(stage, report);
    } else {
        no_calls(stage, report);
    }
    thoughts(stage, report);
    thought_not_closed(stage, report);
    said_twice(stage, report);
    tools(stage, report);
}

/// The words of a talk that do not come out, if it is rendered.
fn lost_in_any_letters<'w>(
    text: &str,
    mut words: impl Iterator<Item = &'w Word>,
) -> Option<&'w Word> {
    let lowered = text.to_lowercase();
    words.find(|word| !lowered.contains(&word.text.to_lowercase()))
}

/// The same with their very letters.
fn lost<'w>(text: &str, words: impl Iterator<Item = &'w Word>) -> Option<&'w Word> {
    words.into_iter().find(|word| !text.contains(&word.text))
}

/// Texts of users, systems and the assistant.
fn messages(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    for (shape, kind, role, lint, level) in [
        (
            "su",
            WordKind::System,
            "system",
            Lint::MessageDropped,
            Level::Warning,
        ),
        (
            "u",
            WordKind::Question,
            "user",
            Lint::MessageDropped,
            Level::Error,
        ),
        (
            "utu",
            WordKind::Question,
            "user",
            Lint::MessageDropped,
            Level::Error,
        ),
        (
            "uu",
            WordKind::Question,
            "user",
            Lint::MessageDropped,
            Level::Note,
        ),
        (
            "ut",
            WordKind::Answer,
            "assistant",
            Lint::MessageDropped,
            Level::Error,
        ),
        (
            "utu",
            WordKind::Answer,
            "assistant",
            Lint::MessageDropped,
            Level::Error,
        ),
        (
            "ututu",
            WordKind::Answer,
            "assistant",
            Lint::MessageDropped,
            Level::Error,
        ),
    ] {
        let talk = stage.talk(shape).prompt();
        let Some(text) = stage.text(&talk) else {
            continue;
        };
        let Some(word) = lost_in_any_letters(&text, talk.words_of(kind)) else {
            continue;
        };
        let place = blame::dropped(stage, &talk, &word.text, &["content"], role);
        let whose = match role {
            "system" => "the system's message",
            "user" => "a user's message",
            _ => "an answer",
        };
        report.add(
            Fault::new(
                lint,
                format!("{whose} is not rendered: {} is missing", word.text),
                "see that each role has a branch that writes `message.content`, and that no condition keeps messages \
                 from it",
            )
            .level(level)
            .at(place)
            .shown_by(&talk),
        );
    }
}

/// Texts that come out more than once.
fn said_twice(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let shapes = ["sutu", "uru", "ukot"]
        .into_iter()
        .filter(|shape| stage.takes_calls || !shape.contains('o'));
    for shape in shapes {
        let talk = stage.talk(shape).prompt();
        let Some(text) = stage.text(&talk) else {
            continue;
        };
        let kinds = [
            WordKind::System,
            WordKind::Question,
            WordKind::Answer,
            WordKind::Thought,
            WordKind::Result,
        ];
        let of_kinds = talk.words.iter().filter(|word| kinds.contains(&word.kind));
        let twice = of_kinds
            .filter_map(|word| Some((word, text.match_indices(&word.text).nth(1)?.0)))
            .next();
        let Some((word, at)) = twice else {
            continue;
        };
        report.add(
            Fault::new(
                Lint::SaidTwice,
                format!("{} is said once, and rendered twice", word.text),
                "write each text once: see whether two branches take the same message",
            )
            .at(blame::written(stage, &talk, at))
            .shown_by(&talk)
            .marked(at..at + word.text.len()),
        );
        return;
    }
}

/// A thought that a marker opens should be closed by one before the answer.
fn thought_not_closed(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
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
        || asked.contains("<think>")
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

fn calls(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    for (shape, what) in [
        ("uco", "a call that has been answered"),
        ("upo", "one of two calls"),
        ("ucoco", "one of two calls one after the other"),
        ("uko", "a call beside a text"),
        ("uc", "a call that has not been answered"),
        ("ucotu", "a call of an earlier turn"),
    ] {
        let talk = stage.talk(shape);
        let Some(text) = stage.text(&talk) else {
            continue;
        };
        // The name stands in the definition of the tool, too.
        let mut offered = talk.clone();
        offered.messages.truncate(1);
        let offered = stage.text(&offered).unwrap_or_default();
        let count = |text: &str, word: &Word| text.matches(&word.text).count();
        let value = lost(&text, talk.words_of(WordKind::Value));
        let mut names = talk.words_of(WordKind::Name);
        let name = names.find(|word| count(&text, word) <= count(&offered, word));
        let (word, part, keys) = match (value, name) {
            (Some(word), _) => (
                word,
                "its arguments are missing",
                ["tool_calls", "arguments"],
            ),
            (None, Some(word)) => (word, "its name is missing", ["tool_calls", "name"]),
            (None, None) => continue,
        };
        let lowered = word.text.to_lowercase();
        if text.to_lowercase().matches(&lowered).count()
            > offered.to_lowercase().matches(&lowered).count()
        {
            rewritten(stage, report, &talk, word);
            return;
        }
        // Some formats have no way to write an unanswered call, or more than one in a turn.
        let level = match shape {
            "uc" | "ucotu" => Level::Note,
            "upo" => Level::Warning,
            _ => Level::Error,
        };
        let place = match (shape, name) {
            ("upo", _) => blame::picking(stage, &["tool_calls"]),
            _ => None,
        };
        let place = place.or_else(|| blame::dropped(stage, &talk, &word.text, &keys, "assistant"));
        report.add(
            Fault::new(
                Lint::CallDropped,
                format!("{what} is not rendered: {part} ({})", word.text),
                "write all calls: `{% for call in message.tool_calls %}`, with `call.function.name` and \
                 `call.function.arguments`",
            )
            .level(level)
            .at(place)
            .shown_by(&talk),
        );
        if level > Level::Note {
            return;
        }
    }
}

/// An argument that is there, in other letters.
fn rewritten(stage: &Stage<'_>, report: &mut Report<'_, '_>, talk: &Talk, word: &Word) {
    let is_so = |text: &str| {
        text.to_lowercase().contains(&word.text.to_lowercase()) && !text.contains(&word.text)
    };
    report.add(
        Fault::new(
            Lint::ArgumentsRewritten,
            format!("{} comes out in other letters", word.text),
            "write names and values of calls as they are",
        )
        .at(blame::first(stage, talk, is_so))
        .shown_by(talk),
    );
}

/// Calls are never rendered, and yet the template speaks of them.
fn no_calls(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let mut talk = stage.talk("uco");
    let Some(reader) = stage.readers(&["tool_calls"]).next() else {
        return;
    };
    // That tools can't be rendered is another fault.
    if stage.text(&talk).is_none() {
        talk.tools.clear();
    }
    let text = match &*stage.render(&talk) {
        Ok(text) => text.clone(),
        Err(error) => {
            // What it refuses by itself, it has thought of.
            if !error.is_raised() && !error.is_exhausted() {
                report.add(
                    Fault::new(
                        Lint::ArgumentsCrash,
                        format!("calls can't be rendered in any form: {}", error.message()),
                        "write calls with `call.function.name` and `call.function.arguments | tojson`",
                    )
                    .at(stage.place_of(error))
                    .shown_by(&talk),
                );
            }
            return;
        }
    };
    let Some(word) = lost(&text, talk.words_of(WordKind::Value)) else {
        return;
    };
    // A loop that is come to and never gone through, or else what keeps the template from it.
    let place = blame::idle_loop(stage, &talk, &["tool_calls"]).or_else(|| {
        blame::dropped(
            stage,
            &talk,
            &word.text,
            &["tool_calls", "arguments"],
            "assistant",
        )
    });
    report.add(
        Fault::new(
            Lint::CallDropped,
            "calls are read, and never rendered",
            "write all calls: `{% for call in message.tool_calls %}`, with `call.function.name` and \
             `call.function.arguments`",
        )
        .level(Level::Warning)
        .at(place.unwrap_or_else(|| reader.place.clone()))
        .shown_by(&talk),
    );
}

fn results(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    for (shape, what) in [
        ("uco", "a tool's result"),
        ("ucot", "a tool's result that has been answered"),
        ("upo", "one of two results"),
        ("ucoco", "the result of an earlier call"),
    ] {
        let talk = stage.talk(shape).prompt();
        let Some(text) = stage.text(&talk) else {
            continue;
        };
        let Some(word) = lost_in_any_letters(&text, talk.words_of(WordKind::Result)) else {
            continue;
        };
        report.add(
            Fault::new(
                Lint::ResultDropped,
                format!("{what} is not rendered: {} is missing", word.text),
                "give messages whose role is `tool` a branch that writes `message.content`",
            )
            .at(blame::dropped(
                stage,
                &talk,
                &word.text,
                &["content"],
                "tool",
            ))
            .shown_by(&talk),
        );
        return;
    }
}

/// Texts and thoughts beside calls.
fn beside_calls(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    for shape in ["uko", "uk"] {
        let talk = stage.talk(shape);
        let text = stage.text(&talk);
        let word = text
            .as_ref()
            .and_then(|text| lost(text, talk.words_of(WordKind::Answer)));
        let Some(word) = word else {
            continue;
        };
        report.add(
            Fault::new(
                Lint::TextBesideCallsDropped,
                "the text beside a call is not rendered",
                "write `message.content` before the calls; where the format has no place for it, say so to those who \
                 train on such turns",
            )
            .at(blame::dropped(stage, &talk, &word.text, &["content"], "assistant"))
            .shown_by(&talk),
        );
        return;
    }
}

fn ids(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let talk = stage.talk("upo");
    let Some(text) = stage.text(&talk) else {
        return;
    };
    let (of_calls, of_results) = {
        let before = talk.before_last().before_last();
        let without = stage.text(&before).unwrap_or_default();
        let id = stage.writer.id(1);
        let (all, calls) = (text.matches(&id).count(), without.matches(&id).count());
        (calls > 0, all > calls)
    };
    let (message, keys) = match (of_calls, of_results) {
        (true, false) => (
            "calls are written with their ids, results without",
            ["tool_call_id"],
        ),
        (false, true) => ("results are written with their ids, calls without", ["id"]),
        (false, false) => (
            "ids of calls are not rendered: results belong to calls by their order only",
            ["id"],
        ),
        (true, true) => return,
    };
    let role = match keys {
        ["tool_call_id"] => "tool",
        _ => "assistant",
    };
    let branch = || {
        let mut all = stage.program.statements.iter();
        all.find(|statement| statement.kind == Kind::If && blame::compares(stage, statement, role))
    };
    let calls = || stage.readers(&["tool_calls"]).next();
    let reader = stage.readers(&keys).next();
    let place = match role {
        "tool" => reader.or_else(branch).or_else(calls),
        _ => reader.or_else(calls),
    };
    report.add(
        Fault::new(
            Lint::IdDropped,
            message,
            "write `call.id` and `message.tool_call_id`, if the model was trained with them; otherwise see that results \
             come in the order of the calls",
        )
        .at(place.map(|statement| statement.place.clone()))
        .shown_by(&talk),
    );
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
    stage
        .text(&talk)
        .is_some_and(|text| text.contains(&thought) && !text.contains("'type'"))
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
            .at(blame::dropped(stage, &thinking, &word.text, &REASONING_KEYS, "assistant"))
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

/// A talk with the variables on that switch thinking.
pub(super) fn with_thinking_on(stage: &Stage<'_>, talk: &Talk) -> Talk {
    let switches = stage.switches.iter();
    switches.fold(talk.clone(), |talk, name| talk.with_variable(name, true))
}

/// Whether a statement that reads arguments asks what they are.
pub(super) fn tells_arguments_apart(stage: &Stage<'_>) -> bool {
    stage.readers(&["arguments"]).any(|statement| {
        let mut uses = stage.program.uses_of(statement).iter();
        uses.any(
            |used| matches!(&used.what, What::Test(name) if name == "string" || name == "mapping"),
        )
    })
}

/// Definitions of tools, and what is left out of them.
fn tools(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let writer = &stage.writer;
    let mut talk = stage.talk("u").prompt();
    talk.tools = vec![writer.tool(1), writer.tool(2)];
    let Some(text) = stage.text(&talk) else {
        return;
    };
    let name = writer.word("lookup", 1);
    let reader = stage.readers(&["tools"]).next();
    let parts = [
        (name, "the first of two tools", "tools", Level::Error),
        (
            writer.word("lookup", 2),
            "the second of two tools",
            "tools",
            Level::Error,
        ),
        (
            writer.word("Description", 1),
            "the description of a tool",
            "description",
            Level::Warning,
        ),
        (
            writer.word("key", 1),
            "the parameters of a tool",
            "parameters",
            Level::Warning,
        ),
        (
            writer.word("Meaning", 1),
            "the description of a parameter",
            "properties",
            Level::Note,
        ),
    ];
    let is_offered = text.contains(&parts[0].0) || text.contains(&parts[1].0);
    if !is_offered {
        if let (Some(reader), true) = (reader, stage.takes_calls) {
            report.add(
                Fault::new(
                    Lint::ToolDropped,
                    "tools that are offered are not rendered",
                    "write the tools: `{{ tools | tojson }}`",
                )
                .level(Level::Note)
                .at(
                    blame::dropped(stage, &talk, &parts[0].0, &["tools"], "system")
                        .unwrap_or(reader.place.clone()),
                )
                .shown_by(&talk),
            );
        }
        return;
    }
    for (word, what, key, level) in parts {
        if text.contains(&word) {
            continue;
        }
        // What writes the tool's name leaves out the rest.
        let named = text.find(&writer.word("lookup", 1));
        let place = match key {
            "tools" => None,
            _ => named.and_then(|at| blame::written(stage, &talk, at)),
        };
        let place = place.or_else(|| blame::dropped(stage, &talk, &word, &[key], "system"));
        report.add(
            Fault::new(
                Lint::ToolDropped,
                format!("{what} is not rendered: {word} is missing"),
                "write the whole of each tool: `{% for tool in tools %}{{ tool | tojson }}{% endfor %}`",
            )
            .level(level)
            .at(place)
            .shown_by(&talk),
        );
    }
}
