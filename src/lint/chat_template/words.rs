//! What a conversation's words can do beside being said: become markers, refuse the conversation, or make the
//! template write something else. And templates that reach for what is none of theirs.

use crate::analysis::probe::with;
use crate::chat_template::program::{Comparison, Statement, StatementKind, What};
use crate::lint::{Level, Lint, listed, quoted};
use crate::markers::pieces;
use crate::value::Value;

use super::blame;
use super::stage::Stage;
use super::{Fault, Report};

pub(super) fn check(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    reaching(stage, report);
    conditions(stage, report);
}

/// Names by which Python's insides are reached.
const INSIDES: [&str; 12] = [
    "mro",
    "gi_frame",
    "gi_code",
    "cr_frame",
    "f_globals",
    "f_locals",
    "f_builtins",
    "func_globals",
    "func_code",
    "tb_frame",
    "os",
    "popen",
];

fn reaching(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let is_inside = |name: &str| {
        (name.starts_with("__") && name.ends_with("__") && name.len() > 4)
            || INSIDES.contains(&name)
    };
    for used in &stage.program.uses {
        if matches!(&used.what, What::Filter(name, arguments) if name == "attr" && arguments.texts.is_empty())
        {
            report.add(
                Fault::new(
                    Lint::ReachesInside,
                    "an attribute is looked up by a name that is put together, so that nobody sees which it is",
                    "write `message.name` or `message[name]`: these reach what is in a conversation, and nothing else",
                )
                .at(used.place.clone()),
            );
        }
        let texts: &[String] = match &used.what {
            What::Filter(name, arguments)
                if matches!(name.as_str(), "attr" | "map" | "selectattr") =>
            {
                &arguments.texts
            }
            What::Method(_, arguments) => &arguments.texts,
            _ => &[],
        };
        let name = match &used.what {
            What::Key(name)
            | What::Method(name, _)
            | What::Variable(name)
            | What::Function(name, _) => Some(name),
            _ => None,
        };
        let name = name.filter(|name| is_inside(name)).or_else(|| {
            texts
                .iter()
                .find(|text| text.starts_with("__") && is_inside(text))
        });
        // A key of this name may stand in a message; the insides of Python can't.
        let Some(name) =
            name.filter(|name| name.starts_with("__") || !matches!(name.as_str(), "os"))
        else {
            continue;
        };
        report.add(
            Fault::new(
                Lint::ReachesInside,
                format!(
                    "`{name}` reaches into the internals of Python, where whole programs can be run"
                ),
                "no chat template needs it: don't load this model before somebody has explained it",
            )
            .at(used.place.clone()),
        );
    }
}

/// The names under which a conversation's words stand.
const WORDS: [&str; 7] = [
    "content",
    "text",
    "arguments",
    "reasoning_content",
    "thinking",
    "reasoning",
    "description",
];
/// Comparisons with these are about the form of a conversation.
const FORMS: [&str; 5] = ["role", "type", "name", "format", "finish_reason"];

/// Kinds of parts, and words for nothing.
const KINDS: [&str; 10] = [
    "text",
    "image",
    "image_url",
    "video",
    "audio",
    "value",
    "thinking",
    "null",
    "None",
    "none",
];

fn conditions(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    for (number, statement) in stage.program.statements.iter().enumerate() {
        let raises = raises(stage, number) || calls_raise(stage, statement);
        let Some((text, used)) = compared_words(stage, statement, raises) else {
            continue;
        };
        match raises {
            true => report.add(
                Fault::new(
                    Lint::RaisesOnWords,
                    format!("a conversation is refused if a text in it has {}", quoted(&text)),
                    "leave what may be said to those who serve the model; a conversation that can't be rendered ends",
                )
                .at(used),
            ),
            false => {
                // A word behind a slash is a switch that users are told of.
                let is_switch = text.trim().starts_with('/') || is_marked(&text);
                let level = match is_switch {
                    true => Level::Note,
                    false => Lint::TriggeredByWords.level(),
                };
                report.add(
                    Fault::new(
                        Lint::TriggeredByWords,
                        format!("what is rendered depends on whether a text has {}", quoted(&text)),
                        "whoever writes a text should not change what else the prompt says: let a variable decide; and \
                         look at what is written then, for it stands in no ordinary prompt",
                    )
                    .level(level)
                    .at(used),
                );
            }
        }
    }
}

/// A text that is no marker, and that a statement looks for in a conversation's words.
fn compared_words(
    stage: &Stage<'_>,
    statement: &Statement,
    raises: bool,
) -> Option<(String, blame::SourceRange)> {
    if !matches!(
        statement.kind,
        StatementKind::If | StatementKind::Print | StatementKind::Set(_)
    ) {
        return None;
    }
    let uses = stage.program.uses_of(statement);
    uses.iter().find_map(|used| {
        let What::Comparison(comparison) = &used.what else {
            return None;
        };
        let text = words(stage, comparison, raises)?;
        Some((text, used.place.clone()))
    })
}

/// The text that is looked for. A short one may be about the form of a text, unless that has to be all of it, or the
/// conversation is refused for it.
fn words(stage: &Stage<'_>, comparison: &Comparison, raises: bool) -> Option<String> {
    let about = |names: &[&str]| {
        comparison
            .of
            .iter()
            .any(|name| names.contains(&name.as_str()))
    };
    let of_words = about(&WORDS) || comparison.of.iter().any(|name| stage.holds_words(name));
    if !of_words || about(&FORMS) {
        return None;
    }
    let keys: Vec<&str> = stage
        .program
        .uses
        .iter()
        .filter_map(|used| match &used.what {
            What::Key(name) => Some(name.as_str()),
            _ => None,
        })
        .collect();
    // Whether there is a part of a kind, or a key.
    let is_form = |text: &str| KINDS.contains(&text) || keys.contains(&text);
    let is_word = |text: &&String| {
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        // A marker that the template itself writes is one of its format.
        let is_own = is_marked(text) && stage.source().matches(text.trim()).count() > 1;
        let is_enough = match comparison.is_partial {
            true if raises => !text.trim().is_empty(),
            true => letters > 2,
            false => letters > 0,
        };
        is_enough && !is_own
    };
    comparison
        .texts
        .iter()
        .filter(|text| !is_form(text))
        .find(is_word)
        .cloned()
}

/// Whether a text looks like a marker.
fn is_marked(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(['<', '[', '{', '#', '`', '|', '*', '☐', '【'])
        || text.contains('|')
        || text.ends_with(['>', ':'])
}

/// Whether a statement calls `raise_exception` itself.
fn calls_raise(stage: &Stage<'_>, statement: &Statement) -> bool {
    let mut uses = stage.program.uses_of(statement).iter();
    uses.any(|used| matches!(&used.what, What::Function(name, _) if name == "raise_exception"))
}

/// Whether a statement's first branch calls `raise_exception`.
fn raises(stage: &Stage<'_>, number: usize) -> bool {
    let own = |statement: &Statement| {
        let block = stage.program.around(statement).next();
        block.is_some_and(|block| block.opened_by == number && block.branch == 0)
    };
    stage
        .program
        .statements
        .iter()
        .any(|statement| own(statement) && calls_raise(stage, statement))
}

/// Texts that hold a marker of the template.
pub(super) fn markers(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    // Best what a question begins with.
    let asked = stage.text(&stage.talk("u")).unwrap_or_default();
    let before = asked
        .split(&stage.writer.word("Question", 1))
        .next()
        .unwrap_or_default();
    let prompt = stage.text(&stage.talk("utu").prompt()).unwrap_or_default();
    let is_marker = |piece: &&str| {
        piece.len() > 4
            && piece.starts_with(['<', '['])
            && piece.ends_with(['>', ']'])
            && !piece.contains(' ')
    };
    let last = |text: &str| pieces(text).filter(is_marker).last().map(str::to_owned);
    let Some(marker) = last(before).or_else(|| last(&prompt)) else {
        return;
    };
    let holding = |word: &str| format!("{word}{marker}{word}");
    let mut talks = Vec::new();
    let with_marker = |shape: &str, number: usize| {
        let talk = stage.talk(shape);
        let word = talk
            .words
            .iter()
            .find(|word| word.message == number)
            .map(|word| word.text.clone());
        let text = holding(&word.unwrap_or_default());
        (
            talk.changed(number, |message| with(message, "content", text.as_str())),
            text,
        )
    };
    talks.push((with_marker("u", 0), "a user's text"));
    if stage.takes_calls {
        talks.push((with_marker("uco", 2), "a tool's result"));
        let mut talk = stage.talk("u");
        let text = holding("Description");
        let tool = match stage.writer.tool(1) {
            Value::Object(mut tool) => {
                let function = tool.remove("function").unwrap_or_default();
                tool.insert("function", with(function, "description", text.as_str()));
                tool.into()
            }
            other => other,
        };
        talk.tools = vec![tool];
        talks.push(((talk, text), "a tool's description"));
    }
    let mut found: Vec<String> = Vec::new();
    let mut first = None;
    for ((talk, text), what) in &talks {
        let rendered = stage.text(talk).unwrap_or_default();
        if let Some(at) = rendered.find(text) {
            found.push((*what).to_owned());
            first.get_or_insert((talk, at, text.len()));
        }
    }
    let Some((talk, at, length)) = first else {
        return;
    };
    report.add(
        Fault::new(
            Lint::MarkersInTexts,
            format!("{marker} in {} comes out as the marker, so that it may end a turn or begin another", listed(&found, "or in")),
            "no template can help it: whoever renders for others has the texts' markers encoded as plain text (newer \
             versions of `apply_chat_template` do when they tokenize; `split_special_tokens=True` for texts on their own), \
             or takes them out before",
        )
        .at(blame::written(stage, talk, at))
        .shown_by(talk)
        .marked(at..at + length),
    );
}
