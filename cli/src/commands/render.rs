//! `unjinja render`: messages into the text of a prompt.

use std::io::{self, Write};
use std::path::PathBuf;

use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::{Object, Value, json};

use super::source::SourceOptions;
use super::{Failure, input, jsonl};

/// Render messages with a chat template
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  What a model would be given:
    unjinja render chat_template.jinja --messages messages.json --add-generation-prompt

  With tools, and variables that the template reads:
    unjinja render model/ --messages messages.json --tools tools.json --var enable_thinking=false

  Spaces and line ends made visible, the date fixed:
    unjinja render model.gguf --messages messages.json --show-whitespace --now 2026-01-15T12:00:00

  Many at once, one JSON object a line, each with `id`, `chat_template` and `messages`:
    unjinja render --jsonl conversations.jsonl > prompts.jsonl

Exit codes:
  0  the messages are rendered, or every line of the batch has its answer
  1  the chat template is not valid, fails, or refuses the messages
  2  the input can't be read")]
pub(crate) struct Args {
    /// The chat template: a .jinja file, a tokenizer_config.json, a model's folder, a GGUF file,
    /// a model id such as org/name[@revision], or `-` for standard input
    #[arg(
        value_name = "SOURCE",
        required_unless_present = "jsonl",
        conflicts_with = "jsonl"
    )]
    source: Option<String>,

    #[command(flatten)]
    options: SourceOptions,

    /// The conversation: a JSON list of messages, or a request with `messages` and `tools`
    #[arg(
        short,
        long,
        value_name = "FILE",
        required_unless_present = "jsonl",
        conflicts_with = "jsonl"
    )]
    messages: Option<PathBuf>,

    /// The tools that are offered: a JSON list
    #[arg(long, value_name = "FILE", conflicts_with = "jsonl")]
    tools: Option<PathBuf>,

    /// A variable of the template; the value is read as JSON, or as Python's True, False or None,
    /// else as text
    #[arg(long = "var", value_name = "NAME=VALUE", conflicts_with = "jsonl")]
    variables: Vec<String>,

    /// End with the beginning of the assistant's turn
    #[arg(long, conflicts_with = "jsonl")]
    add_generation_prompt: bool,

    /// Show spaces as `·`, tabs as `→`, and line ends as `⏎`
    #[arg(long, conflicts_with = "jsonl")]
    show_whitespace: bool,

    /// Render a batch: one JSON object a line (`-` is standard input)
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(path) = &args.jsonl {
        return jsonl::run(path, answer);
    }
    let (Some(source), Some(messages)) = (&args.source, &args.messages) else {
        return Err(Failure::Input(
            "give a chat template and `--messages`, or a batch with `--jsonl`".into(),
        ));
    };
    let template = args.options.load(source)?;
    let given = input::read_json(messages)?;
    let input = RenderInput {
        messages: input::list(&given, messages, "messages")?,
        tools: match &args.tools {
            Some(path) => input::list(&input::read_json(path)?, path, "tools")?,
            // A whole request has its tools beside its messages.
            None => given.get("tools").cloned().unwrap_or_default(),
        },
        add_generation_prompt: args.add_generation_prompt,
        variables: variables(&args.variables)?,
        now: args.options.now,
        ..RenderInput::default()
    };
    let rendering = template
        .render(&input)
        .map_err(|error| Failure::Wrong(format!("{}: {error}", template.name)))?;
    let text = match args.show_whitespace {
        true => shown(&rendering.text),
        false => rendering.text,
    };
    io::stdout()
        .lock()
        .write_all(text.as_bytes())
        .map_err(Failure::printing)
}

fn variables(given: &[String]) -> Result<Object, Failure> {
    let mut variables = Object::new();
    for variable in given {
        let (name, value) = variable
            .split_once('=')
            .ok_or_else(|| Failure::Input(format!("`--var {variable}`: write it as NAME=VALUE")))?;
        let value = match value {
            "True" => true.into(),
            "False" => false.into(),
            "None" => Value::Null,
            value => json::read(value).unwrap_or_else(|_| value.into()),
        };
        variables.insert(name, value);
    }
    Ok(variables)
}

/// The text with its white space made visible.
fn shown(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            ' ' => out.push('·'),
            '\t' => out.push('→'),
            '\n' => out.push_str("⏎\n"),
            '\r' => out.push('␍'),
            c => out.push(c),
        }
    }
    if !text.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// Answers one conversation of a batch.
fn answer(case: &Object) -> Object {
    let mut answer = Object::new();
    match render(case) {
        Ok(text) => answer.insert("text", text),
        Err(error) => answer.insert("error", error),
    };
    answer
}

fn render(case: &Object) -> Result<String, String> {
    let text = |key: &str| case.get(key).and_then(Value::as_str).map(str::to_owned);
    let template = text("chat_template").ok_or("there is no `chat_template`")?;
    let now = match text("now") {
        Some(now) => {
            let fail = |error| format!("`now`: {error}; write it as 2026-01-15T12:00:00");
            Some(now.parse().map_err(fail)?)
        }
        None => None,
    };
    let input = RenderInput {
        messages: case
            .get("messages")
            .filter(|messages| messages.as_array().is_some())
            .cloned()
            .ok_or("there is no list of `messages`")?,
        tools: case.get("tools").cloned().unwrap_or_default(),
        add_generation_prompt: case
            .get("add_generation_prompt")
            .and_then(Value::as_bool)
            .unwrap_or(false),
        variables: match case.get("kwargs") {
            Some(Value::Object(variables)) => variables.clone(),
            _ => Object::new(),
        },
        bos_token: text("bos_token"),
        eos_token: text("eos_token"),
        now,
    };
    let rendering = ChatTemplate::from_jinja(template).render(&input);
    rendering
        .map(|rendering| rendering.text)
        .map_err(|error| error.to_string())
}
