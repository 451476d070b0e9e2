//! Variables and keys that a template reads: those that do nothing, and those that are misspelled.

use crate::chat_template::program::{Statement, What};
use crate::lint::Lint;
use crate::spelling;
use crate::value::Value;

use super::blame;
use super::stage::Stage;
use super::talk::Talk;
use super::{Fault, Report};

/// Variables that callers give to templates.
const VARIABLES: [&str; 32] = [
    "messages",
    "tools",
    "documents",
    "add_generation_prompt",
    "continue_final_message",
    "bos_token",
    "eos_token",
    "pad_token",
    "unk_token",
    "image_token",
    "enable_thinking",
    "thinking",
    "thinking_budget",
    "reasoning_effort",
    "clear_thinking",
    "preserve_thinking",
    "keep_all_reasoning",
    "date_string",
    "current_date",
    "builtin_tools",
    "custom_tools",
    "tools_in_user_message",
    "system_message",
    "system_prompt",
    "model_identity",
    "raise_exception",
    "strftime_now",
    "namespace",
    "add_vision_id",
    "tool_choice",
    "response_format",
    "available_tools",
];

/// Keys that messages, calls, tools and loops have.
const KEYS: [&str; 54] = [
    "role",
    "content",
    "text",
    "type",
    "name",
    "arguments",
    "function",
    "tool_calls",
    "tool_call_id",
    "tool_call",
    "tool_responses",
    "tool_response",
    "reasoning_content",
    "reasoning",
    "thinking",
    "thinking_content",
    "parameters",
    "properties",
    "required",
    "description",
    "items",
    "anyOf",
    "oneOf",
    "allOf",
    "additionalProperties",
    "image",
    "image_url",
    "images",
    "video",
    "video_url",
    "audio",
    "audio_url",
    "return",
    "response",
    "format",
    "default",
    "strict",
    "prefix",
    "suffix",
    "tool_plan",
    "weight",
    "refusal",
    "function_call",
    "index",
    "index0",
    "first",
    "last",
    "previtem",
    "nextitem",
    "length",
    "revindex",
    "depth",
    "title",
    "citations",
];

/// The roles that messages have.
const ROLES: [&str; 10] = [
    "system",
    "user",
    "assistant",
    "tool",
    "developer",
    "ipython",
    "function",
    "tool_response",
    "tool_call",
    "observation",
];

/// Names that are nearly known.
pub(super) fn misspelled(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let own: Vec<&str> = stage
        .program
        .own_names
        .iter()
        .chain(&stage.program.macros)
        .map(String::as_str)
        .collect();
    let with_own = |known: &[&'static str]| -> Vec<String> {
        known
            .iter()
            .copied()
            .chain(own.iter().copied())
            .map(str::to_owned)
            .collect()
    };
    let (variables, keys) = (with_own(&VARIABLES), with_own(&KEYS));
    let unset: Vec<String> = stage.variables().collect();
    for used in &stage.program.uses {
        let (name, what, near) = match &used.what {
            What::Variable(name) if unset.contains(name) => {
                let known: Vec<&str> = variables.iter().map(String::as_str).collect();
                let near = spelling::nearly(name, &known).map(str::to_owned);
                (name.as_str(), "variable", near)
            }
            What::Key(name) if !own.contains(&name.as_str()) => {
                (name.as_str(), "key", nearly(name, &keys))
            }
            What::Comparison(comparison) if comparison.of.iter().any(|name| name == "role") => {
                let near = comparison.texts.iter().find_map(|text| {
                    let near = spelling::nearly(text, &ROLES)?;
                    Some((text.as_str(), near.to_owned()))
                });
                match near {
                    Some((text, near)) => (text, "role", Some(near)),
                    None => continue,
                }
            }
            _ => continue,
        };
        let Some(near) = near else {
            continue;
        };
        report.add(
            Fault::new(
                Lint::NearlyKnownName,
                format!("nothing has a {what} `{name}`, but `{near}` is similar"),
                &format!("write `{near}`, if that is meant; undefined names are taken for nothing, without an error"),
            )
            .at(used.place.clone()),
        );
    }
}

/// The known name that another nearly is. A plural and its singular are two names.
fn nearly(name: &str, known: &[String]) -> Option<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = spelling::nearly(name, &known)?;
    let is_plural = |one: &str, other: &str| one.strip_suffix('s') == Some(other);
    (!is_plural(name, near) && !is_plural(near, name)).then(|| near.to_owned())
}

/// Conversations in which variables may do something.
const SHAPES: [&str; 8] = ["u", "su", "ut", "utu", "uru", "uqo", "ucot", "uqoru"];

/// So many variables are tried, each in many conversations beside all the others. Templates have some ten.
const MAX_VARIABLES: usize = 64;

/// Variables that change nothing, whatever they are.
pub(super) fn without_effect(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    for name in stage
        .variables()
        .take(MAX_VARIABLES)
        .collect::<Vec<String>>()
    {
        let names = [name.as_str()];
        let readers: Vec<&Statement> = stage.readers(&names).collect();
        let mut talks: Vec<Talk> = SHAPES.iter().map(|shape| stage.talk(shape)).collect();
        talks.extend(SHAPES.iter().map(|shape| stage.talk(shape).prompt()));
        let mut offered = stage.talk("su").prompt();
        offered.tools = vec![stage.writer.tool(1)];
        talks.push(offered);
        let values = values(stage, &name);
        // Some do something only together with others.
        let others: Vec<String> = stage.variables().filter(|other| *other != name).collect();
        let with_others = |talk: &Talk| {
            let all = others.iter();
            all.fold(talk.clone(), |talk, other| talk.with_variable(other, true))
        };
        let changes = talks.iter().any(|talk| {
            [talk.clone(), with_others(talk)].iter().any(|talk| {
                let plain = stage.text(talk);
                let given = |value: &Value| talk.clone().with_variable(&name, value.clone());
                values
                    .iter()
                    .any(|value| stage.text(&given(value)) != plain)
            })
        });
        if changes
            || readers.is_empty()
            || readers.iter().any(|statement| needs_more(stage, statement))
        {
            continue;
        }
        // What stands where no conversation led may do something yet.
        let is_reached = |statement: &Statement| {
            let given = |talk: &Talk| talk.clone().with_variable(&name, true);
            talks.iter().any(|talk| {
                blame::reaches(stage, &stage.trace(talk).ways, statement)
                    || blame::reaches(stage, &stage.trace(&given(talk)).ways, statement)
            })
        };
        if !readers.iter().all(|statement| is_reached(statement)) {
            continue;
        }
        report.add(
            Fault::new(
                Lint::SwitchesNothing,
                format!("`{name}` is read, but whatever its value, nothing changes"),
                "let it change something, or leave it out: callers who set it believe that it does",
            )
            .at(readers[0].place.clone()),
        );
    }
}

/// Whether a statement also reads what no conversation here has: then nothing is known of it.
fn needs_more(stage: &Stage<'_>, statement: &Statement) -> bool {
    let uses = stage.program.uses_of(statement).iter();
    let mut keys = uses.filter_map(|used| match &used.what {
        What::Key(name) => Some(name.as_str()),
        What::Comparison(comparison) if comparison.is_partial => {
            comparison.texts.first().map(String::as_str)
        }
        _ => None,
    });
    keys.any(|key| !["role", "content"].contains(&key))
}

/// What a variable may be: what it is compared with, and what variables mostly are.
fn values(stage: &Stage<'_>, name: &str) -> Vec<Value> {
    let mut values: Vec<Value> = vec![true.into(), false.into()];
    for used in &stage.program.uses {
        if let What::Comparison(comparison) = &used.what
            && comparison.of.iter().any(|of| of == name)
        {
            values.extend(comparison.texts.iter().map(|text| text.as_str().into()));
        }
    }
    values.extend(["high".into(), 7.into(), Value::from_iter(["Value7"])]);
    values.truncate(10);
    values
}
