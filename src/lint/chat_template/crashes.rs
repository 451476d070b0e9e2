//! Conversations of which a template can make nothing at all, because it did not think of a form in which they come.

use crate::analysis::probe::with;
use crate::json;
use crate::lint::{Level, Lint};
use crate::value::{Object, Value, object};

use super::printed::{EMPTY, TAKE_PARTS, level_of_parts, talks_in_parts};
use super::stage::Stage;
use super::talk::Talk;
use super::{Fault, Report};

/// A conversation, and how bad it is if it is not rendered.
struct Case {
    lint: Lint,
    level: Level,
    talk: Talk,
    what: String,
    remedy: &'static str,
}

pub(super) fn check(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let mut cases = parts(stage);
    cases.extend(thoughts(stage));
    if stage.takes_calls {
        cases.extend(contents(stage));
        cases.extend(arguments(stage));
        cases.extend(results(stage));
    }
    cases.extend(tools(stage));
    for case in cases {
        let outcome = stage.render(&case.talk);
        let Err(error) = &*outcome else {
            continue;
        };
        // What it refuses by itself, it has thought of.
        if error.is_raised() || error.is_exhausted() {
            continue;
        }
        let place = stage.place_of(error);
        let level = match case.lint {
            Lint::PartsCrash => level_of_parts(stage, place.as_ref()),
            _ => case.level,
        };
        if case.lint == Lint::PartsCrash && level == Level::Note && report.has(Lint::PartsCrash) {
            continue;
        }
        report.add(
            Fault::new(
                case.lint,
                format!("{} can't be rendered: {}", case.what, error.message()),
                case.remedy,
            )
            .level(level)
            .at(place)
            .shown_by(&case.talk),
        );
    }
}

fn contents(stage: &Stage<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    for (form, name) in EMPTY {
        let mut writer = stage.writer.clone();
        writer.form.empty_content = form;
        cases.push(Case {
            lint: Lint::ContentCrashes,
            level: Level::Error,
            talk: writer.talk("uco"),
            what: format!("a call beside content that is {name}"),
            remedy: "allow for missing content: `{{ message.content or '' }}`",
        });
        // With a thought, some look no further into the content; and earlier turns are another matter.
        cases.push(Case {
            lint: Lint::ContentCrashes,
            level: Level::Error,
            talk: writer.talk("uqoru"),
            what: format!("an earlier turn with a call beside content that is {name}"),
            remedy: "allow for missing content: `{{ message.content or '' }}`",
        });
    }
    cases
}

fn thoughts(stage: &Stage<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    for (form, name) in EMPTY {
        let mut writer = stage.writer.clone();
        writer.form.empty_content = form;
        let mut talk = writer.talk("u");
        talk.messages.push(writer.turn(None, None, Vec::new()));
        cases.push(Case {
            lint: Lint::ContentCrashes,
            level: Level::Note,
            talk,
            what: format!("an answer whose content is {name}"),
            remedy: "allow for missing content: `{{ message.content or '' }}`",
        });
    }
    let null = stage
        .talk("ut")
        .changed(1, |turn| with(turn, "reasoning_content", Value::Null));
    cases.push(Case {
        lint: Lint::ContentCrashes,
        level: Level::Warning,
        talk: null,
        what: "an answer whose `reasoning_content` is null".to_owned(),
        remedy: "test whether there is any, not whether it is defined: `{% if message.reasoning_content %}`",
    });
    cases
}

fn parts(stage: &Stage<'_>) -> Vec<Case> {
    let talks = talks_in_parts(stage).into_iter();
    let cases = talks.map(|(talk, role)| Case {
        lint: Lint::PartsCrash,
        level: Lint::PartsCrash.level(),
        talk,
        what: format!("content that is a list of parts, in {role} message,"),
        remedy: TAKE_PARTS,
    });
    cases.collect()
}

fn arguments(stage: &Stage<'_>) -> Vec<Case> {
    let writer = &stage.writer;
    let distinguishes = super::calls::tells_arguments_apart(stage);
    let key = writer.word("key", 1);
    let value = Value::from(writer.word("Value", 1));
    let object = |value: Value| Value::from(Object::from_iter([(key.as_str(), value)]));
    let text = |value: &Value| Value::from(json::write(value));
    let plain = object(value.clone());
    let of_text = match distinguishes {
        true => Level::Warning,
        false => Level::Note,
    };
    let nested = object(Value::from_iter([
        object(value.clone()),
        Value::Null,
        true.into(),
        1.into(),
    ]));
    let cases = [
        (
            plain.clone(),
            Level::Error,
            "arguments that are an object",
            "transformers hands arguments over as objects: write them with `| tojson`",
        ),
        (
            text(&plain),
            of_text,
            "arguments that are a text of JSON",
            "servers pass on arguments as text: `{{ arguments if arguments is string else arguments | tojson }}` takes both",
        ),
        (
            Object::new().into(),
            Level::Error,
            "arguments that are empty",
            "a tool may need none: make sure that loops and `| first` can handle that",
        ),
        (
            object(Value::Null),
            Level::Error,
            "an argument that is null",
            "put `| tojson` behind values, which takes all kinds of them",
        ),
        (
            object(1.into()),
            Level::Error,
            "an argument that is a number",
            "put `| tojson` behind values, which takes all kinds of them",
        ),
        (
            nested,
            Level::Error,
            "an argument that is a list",
            "put `| tojson` behind values, which takes all kinds of them",
        ),
        (
            Value::Null,
            Level::Note,
            "arguments that are null",
            "some servers hand over null where there are none: `{{ (arguments or {}) | tojson }}`",
        ),
    ];
    let cases = cases.into_iter().map(|(given, level, what, remedy)| {
        let given = match (writer.form.arguments_as_text, given) {
            (true, Value::Object(object)) if what != "arguments that are an object" => {
                text(&object.into())
            }
            (_, given) => given,
        };
        let call = writer.call(1, given);
        Case {
            lint: Lint::ArgumentsCrash,
            level,
            talk: stage
                .talk("uco")
                .changed(1, |turn| with(turn, "tool_calls", vec![call.clone()])),
            what: format!("a call with {what}"),
            remedy,
        }
    });
    cases.collect()
}

fn results(stage: &Stage<'_>) -> Vec<Case> {
    let without = |key: &'static str| {
        stage.talk("ucot").changed(2, |message| match message {
            Value::Object(mut object) => {
                object.remove(key);
                object.into()
            }
            other => other,
        })
    };
    let mut before = stage.talk("uco");
    before.messages.remove(1);
    let cases = [
        (
            before,
            "a result whose call has been cut off",
            "conversations are cut where they get too long: ask whether \
                  there is a message before",
        ),
        (
            without("name"),
            "a result without a `name`",
            "results have a `tool_call_id`, and seldom a name: take the name \
                  from the call, or do without",
        ),
        (
            without("tool_call_id"),
            "a result without a `tool_call_id`",
            "ask whether it is there",
        ),
    ];
    let cases = cases.into_iter().map(|(talk, what, remedy)| Case {
        lint: Lint::ResultsCrash,
        level: Level::Note,
        talk,
        what: what.to_owned(),
        remedy,
    });
    cases.collect()
}

fn tools(stage: &Stage<'_>) -> Vec<Case> {
    let mut plain = stage.talk("u").prompt();
    plain.tools = vec![stage.writer.tool(1)];
    if stage.text(&plain).is_none() {
        return vec![Case {
            lint: Lint::ToolsCrash,
            level: Level::Warning,
            talk: plain,
            what: "a tool with all that belongs to one".to_owned(),
            remedy: "write the tools with `| tojson`; behind `map` and `select`, put `| list` before it",
        }];
    }
    let cases = sparse_tools(stage).into_iter().map(|(talk, what)| Case {
        lint: Lint::ToolsCrash,
        level: Level::Warning,
        talk,
        what: format!("a tool {what}"),
        remedy: "only the name of a tool is certain: test the rest with `is defined`, or write \
                 the whole of it with `| tojson`",
    });
    cases.collect()
}

/// Questions with a tool that lacks something, or has it in another form, and what that is.
pub(super) fn sparse_tools(stage: &Stage<'_>) -> Vec<(Talk, &'static str)> {
    let writer = &stage.writer;
    let plain = stage.talk("u").prompt();
    let function = |members: Object| {
        let mut function = Object::from_iter([("name", writer.word("lookup", 1))]);
        function.extend(members);
        object! {"type": "function", "function": function}
    };
    let empty = object! {"type": "object", "properties": Object::new()};
    let of_property = |property: Value| {
        let properties = Object::from_iter([(writer.word("key", 1).as_str(), property)]);
        function(object! {
            "description": writer.word("Description", 1),
            "parameters": object! {"type": "object", "properties": properties},
        })
    };
    let cases = [
        (
            function(object! {"parameters": empty.clone()}),
            "without a description",
        ),
        (
            function(object! {"description": writer.word("Description", 1), "parameters": empty}),
            "without a parameter",
        ),
        (
            function(object! {"description": writer.word("Description", 1)}),
            "without `parameters`",
        ),
        (
            function(object! {
                "description": writer.word("Description", 1),
                "parameters": object! {"type": "object"},
            }),
            "whose parameters have no `properties`",
        ),
        (
            of_property(object! {"type": "string"}.into()),
            "with a parameter without a description",
        ),
        (
            of_property(object! {"description": writer.word("Meaning", 1)}.into()),
            "with a parameter without a type",
        ),
        (
            of_property(object! {"type": Value::from_iter(["string", "null"])}.into()),
            "with a parameter of several types",
        ),
        (
            of_property(object! {"anyOf": Value::from_iter([object! {"type": "string"}])}.into()),
            "with a parameter of one of several types",
        ),
        (
            of_property(object! {"type": "array"}.into()),
            "with a list of anything as a parameter",
        ),
    ];
    let talks = cases.into_iter().map(|(tool, what)| {
        let mut talk = plain.clone();
        talk.tools = vec![tool.into()];
        (talk, what)
    });
    talks.collect()
}
