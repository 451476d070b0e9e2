//! What is printed as Python or HTML would have it where a text belongs.

use crate::analysis::input_form::EmptyContent;
use crate::analysis::probe::{in_parts, with};
use crate::chat_template::program::What;
use crate::json;
use crate::lint::{Level, Lint};
use crate::value::{Object, Value};

use super::blame::{self, SourceRange};
use super::stage::Stage;
use super::talk::Talk;
use super::{Fault, Report};

pub(super) fn check(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    none(stage, report);
    parts(stage, report);
    python(stage, report);
    nested(stage, report);
    escaped(stage, report);
    json_twice(stage, report);
}

/// Messages without content, and other things that may be missing.
fn none(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let mut talks = Vec::new();
    // Beside calls, servers leave content out; elsewhere, that is a slip of the caller's.
    let usual = match stage.takes_calls {
        true => Lint::NonePrinted.level(),
        false => Level::Note,
    };
    // With a thought, some look no further into the content.
    for (shape, number, level) in [
        ("uco", 1, usual),
        ("uqo", 1, usual),
        ("uc", 1, usual),
        ("ut", 1, Level::Note),
        // What is done with earlier turns comes later.
        ("uqoru", 1, usual),
        ("uco", 2, Level::Note),
    ] {
        let talk = stage.talk(shape);
        talks.push((
            talk.clone()
                .changed(number, |m| with(m, "content", Value::Null)),
            "is null",
            level,
        ));
        talks.push((
            talk.clone().changed(number, |m| without(m, "content")),
            "is missing",
            level,
        ));
    }
    talks.push((
        stage.talk("sut").prompt(),
        "is there",
        Lint::NonePrinted.level(),
    ));
    talks.push((stage.talk("ucot"), "is there", Lint::NonePrinted.level()));
    let sparse = super::crashes::sparse_tools(stage).into_iter();
    talks.extend(sparse.map(|(talk, _)| (talk, "is there", Lint::NonePrinted.level())));
    let nameless = super::calls::nameless_result(stage, "uco");
    talks.push((nameless, "is there", Lint::NonePrinted.level()));
    for (talk, content, level) in &talks {
        let Some(text) = stage.text(talk) else {
            continue;
        };
        for sign in ["None", "Undefined"] {
            let Some(place) = text
                .contains(sign)
                .then(|| blame::origin(stage, talk, sign))
                .flatten()
            else {
                continue;
            };
            let at = text.find(sign).unwrap_or_default();
            let message = match *content {
                "is there" => format!("`{sign}` is printed for something that is not there"),
                content => format!("`{sign}` is printed where a message's content {content}"),
            };
            report.add(
                Fault::new(
                    Lint::NonePrinted,
                    message,
                    "write `or ''` behind what may be missing: `{{ message.content or '' }}`",
                )
                .level(*level)
                .at(place)
                .shown_by(talk)
                .marked(at..at + sign.len()),
            );
        }
    }
}

fn without(message: Value, key: &str) -> Value {
    match message {
        Value::Object(mut object) => {
            object.remove(key);
            object.into()
        }
        other => other,
    }
}

/// Content as a list of parts.
fn parts(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    for (talk, role) in talks_in_parts(stage) {
        let Some(text) = stage.text(&talk) else {
            continue;
        };
        let signs = ["[{'type'", "{'type': 'text'", "\\\"type\\\": \\\"text\\\""];
        let Some(sign) = signs.into_iter().find(|sign| text.contains(sign)) else {
            continue;
        };
        let at = text.find(sign).unwrap_or_default();
        let place = blame::origin(stage, &talk, sign).or_else(|| blame::written(stage, &talk, at));
        let level = level_of_parts(stage, place.as_ref());
        // That a template knows nothing of parts is said once.
        if level == Level::Note && report.has(Lint::PythonPrinted) {
            continue;
        }
        report.add(
            Fault::new(
                Lint::PythonPrinted,
                format!("content that is a list of parts is printed as Python shows the list, in {role} message"),
                TAKE_PARTS,
            )
            .level(level)
            .at(place)
            .shown_by(&talk)
            .marked(at..at + sign.len()),
        );
    }
}

/// What to do about content in parts.
pub(super) const TAKE_PARTS: &str = "take the texts out of the parts: `{% if message.content is string %}\
    {{ message.content }}{% else %}{% for part in message.content %}{{ part.text }}{% endfor %}{% endif %}`";

/// Conversations in which one message has its content in parts, and whose that is.
pub(super) fn talks_in_parts(stage: &Stage<'_>) -> Vec<(Talk, &'static str)> {
    let cases = [
        ("u", 0, "a user's"),
        ("su", 0, "a system's"),
        ("ut", 1, "an assistant's"),
        ("uco", 2, "a tool's"),
    ];
    let cases = cases
        .into_iter()
        .filter(|(shape, ..)| stage.takes_calls || !shape.contains('o'));
    let talks = cases.map(|(shape, number, role)| {
        let talk = stage
            .talk(shape)
            .changed(number, |message| in_parts(&message));
        (talk, role)
    });
    talks.collect()
}

/// Content in parts is for templates that know of them; others are given texts. One that asks what content is just
/// there should get it right.
pub(super) fn level_of_parts(stage: &Stage<'_>, place: Option<&SourceRange>) -> Level {
    let statement = place.and_then(|place| stage.program.at(place));
    let asks = statement.is_some_and(|statement| {
        let around = stage
            .program
            .around(statement)
            .map(|block| &stage.program.statements[block.opened_by]);
        around.chain([statement]).any(|statement| {
            let uses = stage.program.uses_of(statement);
            let asks =
                |what: &What| matches!(what, What::Test(name) if TYPES.contains(&name.as_str()));
            stage.reads(statement, &["content"]) && uses.iter().any(|used| asks(&used.what))
        })
    });
    match asks {
        true => Level::Warning,
        false => Level::Note,
    }
}

/// The tests that tell texts from lists.
const TYPES: [&str; 4] = ["string", "sequence", "iterable", "mapping"];

/// Arguments and tools as Python prints them, in the midst of JSON.
fn python(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    if !stage.takes_calls || stage.writer.form.arguments_as_text {
        return;
    }
    // The second call may be written elsewhere than the first.
    for (shape, number) in [("uco", 1), ("upo", 2)] {
        let talk = stage.talk(shape);
        let text = stage.text(&talk).unwrap_or_default();
        if python_in(stage, report, &talk, &text, number) {
            return;
        }
    }
}

/// The same in one conversation, where a call of this number is written. Returns whether there is any.
fn python_in(
    stage: &Stage<'_>,
    report: &mut Report<'_, '_>,
    talk: &Talk,
    text: &str,
    number: usize,
) -> bool {
    let key = stage.writer.word("key", number);
    let signs = [
        (format!("{{'{key}'"), "the arguments of a call are"),
        ("{'type': 'function'".to_owned(), "a tool is"),
        ("{'function': ".to_owned(), "a tool is"),
        (
            format!("{{'name': '{}'", stage.writer.word("lookup", number)),
            "a call is",
        ),
    ];
    let mut is_any = false;
    for (sign, what) in signs {
        let Some(at) = text.find(&sign) else {
            continue;
        };
        let Some(place) = blame::origin(stage, talk, &sign) else {
            continue;
        };
        is_any = true;
        // Some formats are Python throughout, and the template writes such signs itself.
        let before: String = text[..at].chars().rev().take(24).collect();
        let opening = sign.split(' ').next().unwrap_or_default();
        let is_format = stage.source().contains(opening);
        let level = match before.contains('"')
            || !before.contains('\'') && what != "the arguments of a call are"
        {
            true if !is_format => Level::Warning,
            _ => Level::Note,
        };
        report.add(
            Fault::new(
                Lint::PythonPrinted,
                format!("{what} printed as Python shows it, not as JSON"),
                "put `| tojson` behind it",
            )
            .level(level)
            .at(place)
            .shown_by(talk)
            .marked(at..at + sign.len()),
        );
    }
    is_any
}

/// An argument that is an object or a list, in a format that writes each argument by itself.
fn nested(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    if !stage.takes_calls || stage.writer.form.arguments_as_text {
        return;
    }
    let writer = &stage.writer;
    let (key, inner) = (writer.word("key", 1), writer.word("key", 2));
    let object = |key: &str, value: Value| Value::from(Object::from_iter([(key, value)]));
    let value = Value::from(writer.word("Value", 1));
    let talk_of = |argument: Value| {
        let call = writer.call(1, object(&key, argument));
        stage
            .talk("uco")
            .changed(1, |turn| with(turn, "tool_calls", vec![call]))
    };
    // A text in quotes of Python's is one of a format that is Python throughout.
    let plain = stage.text(&talk_of(value.clone())).unwrap_or_default();
    if plain.contains(&format!("'{}'", writer.word("Value", 1))) {
        return;
    }
    // Some models were trained to write `True`.
    let (value_sign, usual) = (format!("['{}'", writer.word("Value", 1)), Level::Warning);
    let list = Value::from_iter([value.clone()]);
    let kinds = [
        (
            object(&inner, value),
            format!("{{'{inner}'"),
            "an object",
            usual,
        ),
        (list, value_sign, "a list", usual),
        (true.into(), "True".to_owned(), "a boolean", Level::Note),
        (Value::Null, "None".to_owned(), "null", Level::Note),
    ];
    // So are calls that are written as Python has them.
    let is_keyword = plain.contains(&format!("{key}="));
    for (argument, sign, what, level) in kinds {
        if is_keyword && level == Level::Note {
            continue;
        }
        let talk = talk_of(argument);
        let count = |text: &str| text.matches(&sign).count();
        let text = stage.text(&talk).filter(|text| count(text) > count(&plain));
        let Some((text, place)) = text.zip(blame::origin(stage, &talk, &sign)) else {
            continue;
        };
        let at = text.rfind(&sign).unwrap_or_default();
        report.add(
            Fault::new(
                Lint::PythonPrinted,
                format!("an argument that is {what} is printed as Python shows it, not as JSON"),
                "put `| tojson` behind values that are no texts: `{{ value if value is string else value | tojson }}`",
            )
            .level(level)
            .at(place)
            .shown_by(&talk)
            .marked(at..at + sign.len()),
        );
    }
}

/// What HTML and JavaScript have other signs for.
const SIGNS: &str = "<&>\"'";
/// What the first of them becomes.
const FIRST_ESCAPES: [&str; 2] = ["&lt;", "\\u003c"];
/// What these become.
const ESCAPES: [&str; 9] = [
    "&lt;", "&amp;", "&gt;", "&#34;", "&quot;", "&#39;", "\\u003c", "\\u0026", "\\u0027",
];

fn escaped(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let mut talks = ["sutu", "ur", "uco", "u", "u"].map(|shape| with_signs(stage, shape));
    let [.., in_form, offering] = &mut talks;
    in_form
        .messages
        .iter_mut()
        .for_each(|message| *message = in_parts(message));
    offering.tools = vec![stage.writer.described_tool(1, SIGNS)];
    for talk in talks {
        let Some(text) = stage.text(&talk) else {
            continue;
        };
        let found = ESCAPES
            .iter()
            .filter_map(|escape| Some((text.find(escape)?, *escape)));
        let found = found.min().and_then(|(at, escape)| {
            let place = blame::origin(stage, &talk, escape)?;
            Some((at, escape, place))
        });
        let Some((at, escape, place)) = found.or_else(|| escaped_by_hand(stage, &talk, &text))
        else {
            continue;
        };
        report.add(
            Fault::new(
                Lint::EscapedForHtml,
                format!("characters are escaped as for a web page: `{escape}` stands in the prompt"),
                "leave `| e`, `| escape` and `| forceescape` out; nobody shows prompts in a browser. `+` and `~` also \
                 escape what is put together with a text that is marked as safe, so leave `| safe` out, too",
            )
            .at(place)
            .shown_by(&talk)
            .marked(at..at + escape.len()),
        );
    }
}

/// A conversation in which each text ends with signs.
fn with_signs(stage: &Stage<'_>, shape: &str) -> Talk {
    let mut talk = stage.talk(shape);
    for message in &mut talk.messages {
        for key in ["content", "reasoning_content"] {
            let text = message.get(key).and_then(Value::as_str);
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                let text = format!("{text}{SIGNS}");
                *message = with(std::mem::take(message), key, text);
            }
        }
        if message.get("tool_calls").is_some() {
            let value = format!("{}{SIGNS}", stage.writer.word("Value", 1));
            let key = stage.writer.word("key", 1);
            let arguments = Object::from_iter([(key.as_str(), value)]);
            let call = stage.writer.call(1, stage.writer.arguments(arguments));
            *message = with(std::mem::take(message), "tool_calls", vec![call]);
        }
    }
    talk
}

/// What a template makes of the first sign behind a word by itself, such as with `replace('<', '&lt;')`.
fn escaped_by_hand(
    stage: &Stage<'_>,
    talk: &Talk,
    text: &str,
) -> Option<(usize, &'static str, SourceRange)> {
    let mut of_words = talk
        .words
        .iter()
        .flat_map(|word| FIRST_ESCAPES.map(|escape| (format!("{}{escape}", word.text), escape)));
    of_words.find_map(|(made, escape)| {
        let at = text.find(&made)? + made.len() - escape.len();
        let place = blame::first(stage, talk, |text| text.contains(&made))
            .or_else(|| blame::written(stage, talk, at))?;
        Some((at, escape, place))
    })
}

/// Arguments and tools that are JSON within a string of JSON.
fn json_twice(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    if !stage.takes_calls {
        return;
    }
    let key = stage.writer.word("key", 1);
    let value = stage.writer.word("Value", 1);
    let signs = [&key, &value].map(|word| format!("\\\"{word}\\\""));
    let arguments = Object::from_iter([(key.as_str(), stage.writer.word("Value", 1).as_str())]);
    let nested = Object::from_iter([(stage.writer.word("key", 2).as_str(), arguments.clone())]);
    let forms = [
        (Value::from(arguments.clone()), "an object"),
        (nested.into(), "an object with an object"),
        (json::write(&arguments.into()).into(), "a text of JSON"),
    ];
    let distinguishes = super::calls::tells_arguments_apart(stage);
    for (given, form) in forms {
        let call = stage.writer.call(1, given);
        let talk = stage
            .talk("uco")
            .changed(1, |turn| with(turn, "tool_calls", vec![call.clone()]));
        let Some(text) = stage.text(&talk) else {
            continue;
        };
        let found = signs
            .iter()
            .find_map(|sign| Some((text.find(sign.as_str())?, sign)));
        let Some((at, sign)) = found else {
            continue;
        };
        let is_object = form != "a text of JSON";
        let level = match is_object || distinguishes {
            true => Level::Warning,
            false => Level::Note,
        };
        report.add(
            Fault::new(
                Lint::JsonTwice,
                format!("JSON is encoded twice, as a string within JSON, where arguments are given as {form}"),
                match is_object {
                    true => "put `| tojson` behind it once only",
                    false => {
                        "servers pass on arguments as text: `{{ arguments if arguments is string else arguments | \
                         tojson }}` takes both"
                    }
                },
            )
            .level(level)
            .at(blame::origin(stage, &talk, sign).or_else(|| blame::written(stage, &talk, at)))
            .shown_by(&talk)
            .marked(at..at + sign.len()),
        );
        if is_object {
            // The other form is no worse.
            return;
        }
    }
    let talk = stage.talk("uc");
    let sign = format!("\\\"{}\\\"", stage.writer.word("Description", 1));
    let text = stage.text(&talk).unwrap_or_default();
    if let Some(at) = text.find(&sign) {
        report.add(
            Fault::new(
                Lint::JsonTwice,
                "the definitions of tools are encoded twice, as a string within JSON",
                "put `| tojson` behind them once only",
            )
            .at(blame::origin(stage, &talk, &sign))
            .shown_by(&talk)
            .marked(at..at + sign.len()),
        );
    }
}

/// The forms in which a message may be without content.
pub(super) const EMPTY: [(EmptyContent, &str); 3] = [
    (EmptyContent::EmptyText, "empty"),
    (EmptyContent::Null, "null"),
    (EmptyContent::Absent, "absent"),
];
