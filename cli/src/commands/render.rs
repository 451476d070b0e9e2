//! `unjinja render`: messages into the text of a prompt.

use std::path::PathBuf;

use crate::printing;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::lint::{Level, refused_by_transformers};
use unjinja::{Object, Value};

use super::batch::Reply;
use super::source::{SourceOptions, time};
use super::{Failure, batch, input};

/// Render messages with a chat template
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  The prompt that a model would get:
    unjinja render chat_template.jinja --messages messages.json --add-generation-prompt

  With tools, and variables that the template reads:
    unjinja render model/ --messages messages.json --tools tools.json --var enable_thinking=false

  With spaces and line ends made visible, and a fixed date:
    unjinja render model.gguf --messages messages.json --show-whitespace --now 2026-01-15T12:00:00

  Many at once, one JSON object per line, each with `id`, `chat_template` and `messages`:
    unjinja render --jsonl conversations.jsonl > prompts.jsonl

What the transformers library refuses, such as `{% do %}`, is refused here, too; `--lenient`
renders it.

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

    /// End with the beginning of the assistant's turn
    #[arg(long, conflicts_with = "jsonl")]
    add_generation_prompt: bool,

    /// Show spaces as `·`, tabs as `→`, and line ends as `⏎`
    #[arg(long, conflicts_with = "jsonl")]
    show_whitespace: bool,

    /// Also render what the transformers library refuses, such as `{% do %}`
    #[arg(long)]
    lenient: bool,

    /// Render a batch: one JSON object per line (`-` is standard input)
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(path) = &args.jsonl {
        return batch::answer_lines(path, false, |case| answer(args, case));
    }
    let (Some(source), Some(messages)) = (&args.source, &args.messages) else {
        return Err(Failure::Input(
            "give a chat template and `--messages`, or a batch with `--jsonl`".into(),
        ));
    };
    let template = args.options.load(source)?;
    if !args.lenient {
        refuse(&template).map_err(Failure::Wrong)?;
    }
    let (messages, tools) = input::conversation(messages, args.tools.as_deref())?;
    let input = RenderInput {
        messages,
        tools,
        add_generation_prompt: args.add_generation_prompt,
        ..args.options.base()
    };
    let rendering = template
        .render(&input)
        .map_err(|error| Failure::Wrong(format!("{}: {error}", template.name)))?;
    let text = match args.show_whitespace {
        true => shown(&rendering.text),
        false => rendering.text,
    };
    printing::print(&text)
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

/// Refuses a template that the transformers library refuses; tells what it will stumble over.
fn refuse(template: &ChatTemplate) -> Result<(), String> {
    // What is no template at all is an error when it is rendered.
    let refused = refused_by_transformers(template).unwrap_or_default();
    for complaint in &refused {
        let told = complaint.diagnostic.in_file(&template.name);
        match complaint.level {
            Level::Error => {
                return Err(format!("{told}; `--lenient` renders it anyway"));
            }
            _ => printing::tell(format_args!("warning: {told}\n")),
        }
    }
    Ok(())
}

/// Answers one conversation of a batch.
fn answer(args: &Args, case: &Object) -> Reply {
    let mut reply = Reply::default();
    match render(args, case) {
        Ok(text) => reply.answer.insert("text", text),
        Err(error) => reply.answer.insert("error", error),
    };
    reply
}

/// Renders one conversation of a batch.
fn render(args: &Args, case: &Object) -> Result<String, String> {
    let options = &args.options;
    let jinja = text_of(case, "chat_template")?.ok_or("there is no `chat_template`")?;
    let template = options.with_tokens(ChatTemplate::from_jinja(jinja));
    if !args.lenient {
        let refused = refused_by_transformers(&template).unwrap_or_default();
        let mut sure = refused
            .iter()
            .filter(|complaint| complaint.level == Level::Error);
        if let Some(complaint) = sure.next() {
            return Err(complaint.diagnostic.to_string());
        }
    }
    let rendering = template.render(&conversation(options, case)?);
    rendering
        .map(|rendering| rendering.text)
        .map_err(|error| error.to_string())
}

/// One conversation of a batch. What the options say holds where it says nothing.
pub(super) fn conversation(options: &SourceOptions, case: &Object) -> Result<RenderInput, String> {
    let list = |key: &str| match given(case, key) {
        Some(value) if value.as_array().is_none() => Err(wrong(key, "a list", value)),
        value => Ok(value.cloned()),
    };
    let mut conversation = options.base();
    if let Some(now) = text_of(case, "now")? {
        conversation.now = Some(time(&now).map_err(|error| format!("`now`: {error}"))?);
    }
    conversation.messages = list("messages")?.ok_or("there is no list of `messages`")?;
    if let Some(fault) = input::not_messages(&conversation.messages) {
        return Err(fault);
    }
    conversation.tools = list("tools")?.unwrap_or_default();
    conversation.add_generation_prompt = match given(case, "add_generation_prompt") {
        Some(value) => value
            .as_bool()
            .ok_or_else(|| wrong("add_generation_prompt", "true or false", value))?,
        None => false,
    };
    match given(case, "kwargs") {
        Some(Value::Object(variables)) => conversation.variables.extend(variables.clone()),
        Some(other) => return Err(wrong("kwargs", "an object", other)),
        None => {}
    }
    conversation.bos_token = text_of(case, "bos_token")?;
    conversation.eos_token = text_of(case, "eos_token")?;
    Ok(conversation)
}

fn given<'c>(case: &'c Object, key: &str) -> Option<&'c Value> {
    case.get(key).filter(|value| !value.is_null())
}

fn wrong(key: &str, what: &str, value: &Value) -> String {
    format!("`{key}`: expected {what}, found {}", value.type_name())
}

fn text_of(case: &Object, key: &str) -> Result<Option<String>, String> {
    let as_text = |value: &Value| {
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| wrong(key, "a string", value))
    };
    given(case, key).map(as_text).transpose()
}
