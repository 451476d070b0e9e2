//! `unjinja caps`: what a chat template can do.

use crate::printing;
use unjinja::Value;
use unjinja::analysis::{Capabilities, Follower, Outcome, PrefixKept, Topic};
use unjinja::json;

use super::report::ReportFormat;
use super::source::SourceArgs;
use super::{Failure, output};

/// Show what a chat template renders, refuses, or silently drops
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  A table for people:
    unjinja caps chat_template.jinja

  For programs, such as jq:
    unjinja caps model/ --format json | jq .capabilities.tools.outcome

The answers are found by rendering conversations and looking at what comes out.

Exit codes:
  0  the answers are printed
  1  the chat template can't even render a question
  2  the input can't be read")]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// How to print what was found
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: ReportFormat,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let template = args.source.load()?;
    let base = args.source.options.base();
    let capabilities = Capabilities::of(&template, &base).map_err(|error| {
        Failure::Wrong(format!(
            "{}: {}: {error}",
            template.name,
            error.of_question()
        ))
    })?;
    let text = match args.format {
        ReportFormat::Human => table(&capabilities),
        ReportFormat::Json => output::pretty(&capabilities.to_value()),
    };
    printing::print(&text)
}

fn table(capabilities: &Capabilities) -> String {
    let mut out = String::new();
    for answer in &capabilities.answers {
        let note = match (&answer.outcome, &answer.note) {
            (Outcome::Refused(why), _) => one_line(why),
            (_, Some(note)) => note.clone(),
            (_, None) => String::new(),
        };
        row(&mut out, label(answer.topic), answer.outcome.key(), &note);
    }
    let generation = if capabilities.marks_generation {
        "yes"
    } else {
        "no"
    };
    row(&mut out, "{% generation %}", generation, "");
    if let Some(prompt) = &capabilities.generation_prompt {
        let thinking = prompt.thinking.map_or("", |thinking| thinking.key());
        row(
            &mut out,
            "generation prompt",
            &json::write(&prompt.text.as_str().into()),
            "",
        );
        if !thinking.is_empty() {
            row(&mut out, "thinking in the prompt", thinking, "");
        }
    }
    for prefix in &capabilities.prefix_kept {
        let label = match prefix.follower {
            Follower::Tool => "text kept before a result",
            Follower::User => "text kept before a user",
            _ => prefix.follower.key(),
        };
        let outcome = match prefix.counterexample {
            None => "yes",
            Some(_) => "no",
        };
        row(&mut out, label, outcome, &departure(prefix));
    }
    for variable in &capabilities.variables {
        let Some(switch) = &variable.switch else {
            row(&mut out, &format!("variable {}", variable.name), "read", "");
            continue;
        };
        let [on, off] = [&switch.on, &switch.off].map(|text| json::write(&text.as_str().into()));
        let note = format!("true: {on}, false: {off}");
        row(
            &mut out,
            &format!("variable {}", variable.name),
            "switches",
            &note,
        );
    }
    out
}

/// What is not kept in which conversation, in words.
fn departure(prefix: &PrefixKept) -> String {
    let Some(departure) = &prefix.counterexample else {
        return String::new();
    };
    let messages = departure.messages.as_array().into_iter().flatten();
    let said = messages.map(|message| {
        let role = message.get("role").and_then(Value::as_str);
        let has = |key: &str| message.get(key).is_some();
        let with = match (has("reasoning_content"), has("tool_calls")) {
            (true, true) => " with reasoning and a call",
            (true, false) => " with reasoning",
            (false, true) => " with a call",
            (false, false) => "",
        };
        format!("{}{with}", role.unwrap_or_default())
    });
    let said: Vec<String> = said.collect();
    let [before, after] =
        [&departure.before, &departure.after].map(|text| json::write(&text.as_str().into()));
    let mended = match &departure.mended_by {
        Some((name, value)) => format!("; not with {name}={value}"),
        None => String::new(),
    };
    format!("{}: {before} becomes {after}{mended}", said.join(", "))
}

fn row(out: &mut String, label: &str, outcome: &str, note: &str) {
    let line = format!("{label:<28}{outcome:<10} {note}");
    out.push_str(line.trim_end());
    out.push('\n');
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

fn label(topic: Topic) -> &'static str {
    match topic {
        Topic::SystemMessage => "system message",
        Topic::Tools => "tools",
        Topic::ToolCalls => "tool calls",
        Topic::ParallelCalls => "parallel calls",
        Topic::ContentBesideCalls => "content beside calls",
        Topic::ToolResults => "tool results",
        Topic::CallIds => "call ids",
        Topic::ArgumentsAsObject => "arguments as an object",
        Topic::ArgumentsAsText => "arguments as text",
        Topic::ReasoningInLastTurn => "reasoning in the last turn",
        Topic::ReasoningInPastTurns => "reasoning in past turns",
        Topic::ReasoningBesideCalls => "reasoning beside calls",
        Topic::ContentParts => "content as a list of parts",
        Topic::UserTurnsInARow => "user turns in a row",
        _ => topic.key(),
    }
}
