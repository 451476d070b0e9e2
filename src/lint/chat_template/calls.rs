//! Calls and results, and what a template leaves out of them.

use crate::analysis::probe::{call, with};
use crate::chat_template::program::{StatementKind, What};
use crate::lint::{Level, Lint};
use crate::value::{Object, Value};

use super::dropped::{lost, lost_in_any_letters};
use super::stage::Stage;
use super::talk::{Talk, Word, WordKind};
use super::{Fault, Report};
use super::{blame, lost};

pub(super) fn check(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    if stage.takes_calls {
        calls(stage, report);
        results(stage, report);
        beside_calls(stage, report);
        ids(stage, report);
    } else {
        no_calls(stage, report);
    }
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
        let place = place
            .or_else(|| blame::idle_loop(stage, &talk, &["tool_calls"]))
            .or_else(|| lost::dropped(stage, &talk, &word.text, &keys, "assistant"));
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
        // Where not even one call is written, the rest follows.
        if shape == "uco" {
            return;
        }
    }
    calls_of_one_tool(stage, report);
}

/// Two calls of one tool are two calls.
fn calls_of_one_tool(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let writer = &stage.writer;
    let arguments = |number: usize| {
        let (key, value) = (writer.word("key", 1), writer.word("Value", number));
        writer.arguments(Object::from_iter([(key.as_str(), value.as_str())]))
    };
    let named = writer.word("lookup", 1);
    let calls = [1, 2].map(|number| call(&writer.id(number), &named, arguments(number)));
    let talk = stage
        .talk("upo")
        .changed(1, |turn| with(turn, "tool_calls", calls.to_vec()));
    let is_lost = |talk: &Talk| {
        let text = stage.text(talk)?;
        lost(&text, talk.words_of(WordKind::Value)).cloned()
    };
    if is_lost(&stage.talk("upo")).is_some() {
        return;
    }
    let Some(word) = is_lost(&talk) else {
        return;
    };
    report.add(
        Fault::new(
            Lint::CallDropped,
            format!(
                "one of two calls of the same tool is not rendered: its arguments are missing ({})",
                word.text
            ),
            "write all calls: `{% for call in message.tool_calls %}`, without `| unique`",
        )
        .level(Level::Warning)
        .at(blame::picking(stage, &["tool_calls"]))
        .shown_by(&talk),
    );
}

/// A conversation whose results say nothing of the tool's name.
pub(super) fn nameless_result(stage: &Stage<'_>, shape: &str) -> Talk {
    let mut talk = stage.talk(shape).prompt();
    for message in &mut talk.messages {
        if let (Some("tool"), Value::Object(object)) = (
            message
                .get("role")
                .and_then(Value::as_str)
                .map(str::to_owned)
                .as_deref(),
            message,
        ) {
            object.remove("name");
        }
    }
    talk
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
        lost::dropped(
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
    let of = |shape: &str| stage.talk(shape).prompt();
    for (talk, what) in [
        (of("uco"), "a tool's result"),
        (
            nameless_result(stage, "uco"),
            "a tool's result that does not name the tool",
        ),
        (of("ucot"), "a tool's result that has been answered"),
        (of("upo"), "one of two results"),
        (of("ucoco"), "the result of an earlier call"),
    ] {
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
            .at(lost::dropped(
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
            .at(lost::dropped(stage, &talk, &word.text, &["content"], "assistant"))
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
        // Not written, and yet they tell where a result goes, or whose name is written with it.
        (false, false) if matters_whose_results(stage, &talk, &text) => return,
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
        all.find(|statement| {
            statement.kind == StatementKind::If && blame::compares(stage, statement, role)
        })
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

/// Whether a conversation that ends with two results is another text where each is the result of the other's call.
fn matters_whose_results(stage: &Stage<'_>, talk: &Talk, text: &str) -> bool {
    let id_of = |message: &Value| message.get("tool_call_id").cloned();
    let [.., first, second] = talk.messages.as_slice() else {
        return false;
    };
    let (Some(of_first), Some(of_second)) = (id_of(first), id_of(second)) else {
        return false;
    };
    let last = talk.messages.len() - 1;
    let exchanged = talk
        .clone()
        .changed(last - 1, |result| with(result, "tool_call_id", of_second))
        .changed(last, |result| with(result, "tool_call_id", of_first));
    stage.text(&exchanged).is_some_and(|other| other != text)
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
