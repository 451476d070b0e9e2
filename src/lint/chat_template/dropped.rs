//! What a conversation says, and a template leaves out, or says twice.

use crate::lint::{Level, Lint};

use super::stage::Stage;
use super::talk::{Word, WordKind};
use super::{Fault, Report};
use super::{blame, lost};

pub(super) fn check(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    messages(stage, report);
    said_twice(stage, report);
    tools(stage, report);
}

/// The words of a talk that do not come out, if it is rendered.
pub(super) fn lost_in_any_letters<'w>(
    text: &str,
    mut words: impl Iterator<Item = &'w Word>,
) -> Option<&'w Word> {
    let lowered = text.to_lowercase();
    words.find(|word| !lowered.contains(&word.text.to_lowercase()))
}

/// The same with their very letters.
pub(super) fn lost<'w>(text: &str, words: impl Iterator<Item = &'w Word>) -> Option<&'w Word> {
    words.into_iter().find(|word| !text.contains(&word.text))
}

/// Texts of users, systems and the assistant.
fn messages(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let (system, question, answer) = (WordKind::System, WordKind::Question, WordKind::Answer);
    let of = |shape: &str| stage.talk(shape).prompt();
    let mut offered = of("su");
    offered.tools = vec![stage.writer.tool(1)];
    for (talk, kind, level) in [
        (of("su"), system, Level::Warning),
        (offered, system, Level::Warning),
        (of("su"), question, Level::Error),
        (of("ur"), answer, Level::Error),
        (of("u"), question, Level::Error),
        (of("utu"), question, Level::Error),
        (of("uu"), question, Level::Note),
        (of("ut"), answer, Level::Error),
        (of("utu"), answer, Level::Error),
        (of("ututu"), answer, Level::Error),
    ] {
        let Some(text) = stage.text(&talk) else {
            continue;
        };
        let Some(word) = lost_in_any_letters(&text, talk.words_of(kind)) else {
            continue;
        };
        let (role, whose) = match kind {
            WordKind::System => ("system", "the system's message"),
            WordKind::Question => ("user", "a user's message"),
            _ => ("assistant", "an answer"),
        };
        let place = lost::dropped(stage, &talk, &word.text, &["content"], role);
        report.add(
            Fault::new(
                Lint::MessageDropped,
                format!("{whose} is not rendered: {} is missing", word.text),
                "make sure that each role has a branch that writes `message.content`, and that no condition keeps \
                 messages from it",
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
                "write each text once: check whether two branches take the same message",
            )
            .at(blame::written(stage, &talk, at))
            .shown_by(&talk)
            .marked(at..at + word.text.len()),
        );
        return;
    }
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
                    lost::dropped(stage, &talk, &parts[0].0, &["tools"], "system")
                        .unwrap_or(reader.place.clone()),
                )
                .shown_by(&talk),
            );
        }
        return;
    }
    for (word, what, key, level) in parts.iter().cloned() {
        if text.contains(&word) {
            continue;
        }
        // What writes the tool's name leaves out the rest.
        let named = text.find(&writer.word("lookup", 1));
        let place = match key {
            "tools" if text.contains(&parts[0].0) => blame::picking(stage, &[key]),
            "tools" => None,
            _ => named.and_then(|at| {
                let name = writer.word("lookup", 1);
                blame::first(stage, &talk, |text| text.contains(&name))
                    .or_else(|| blame::written(stage, &talk, at))
            }),
        };
        let place = place.or_else(|| lost::dropped(stage, &talk, &word, &[key], "system"));
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
