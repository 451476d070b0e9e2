//! `unjinja read`: the text of a conversation back into messages and tools.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::printing;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::conversation::{Conversation, ConversationReader};
use unjinja::{Object, Value, json};

use super::batch::Reply;
use super::source::{SourceArgs, time};
use super::{Failure, batch, input, output};

/// Read a conversation back from the text that a chat template rendered
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  The messages and tools of a logged prompt:
    unjinja read chat_template.jinja prompt.txt

  The output of one command is the input of the other:
    unjinja render model/ --messages request.json | unjinja read model/

  A template that writes the date, and a text from another day:
    unjinja read model.gguf prompt.txt --now 2026-01-15T12:00:00

  With the place of each text, in characters:
    unjinja read model/ prompt.txt --parts

  Many at once, one JSON object per line, each with `id` and `text`, and if needed `kwargs`,
  `bos_token`, `eos_token` and `now`:
    unjinja read model/ --jsonl prompts.jsonl > conversations.jsonl

What was read is rendered again and compared with the text, unless `--no-proof` is given.

Exit codes:
  0  the conversation is read, and renders to the same text again; or every line of the batch has
     its answer
  1  the chat template would not write this text, writes another one for what was read, writes
     tool definitions in a way that can't be read back, or is not valid
  2  the input can't be read")]
pub(crate) struct Args {
    #[command(flatten)]
    template: SourceArgs,

    /// The file with the text [default: standard input]
    #[arg(value_name = "TEXT", conflicts_with = "jsonl")]
    text: Option<PathBuf>,

    /// Don't render what was read to compare it with the text
    #[arg(long)]
    no_proof: bool,

    /// Also show which part of the text is what
    #[arg(long)]
    parts: bool,

    /// Read a batch: one JSON object per line (`-` is standard input)
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let template = args.template.load()?;
    if let Some(path) = &args.jsonl {
        let readers = Readers::default();
        return batch::answer_lines(path, false, |case| answer(args, &template, &readers, case));
    }
    let stdin = PathBuf::from("-");
    let path = args.text.as_ref().unwrap_or(&stdin);
    let text = input::read_text(path)?;
    let reader = reader(args, &template, &args.template.options.base()).map_err(Failure::Wrong)?;
    let place = input::name(path);
    let read = reader.read(&text);
    let read = read.map_err(|error| Failure::Wrong(format!("{place}: {error}")))?;
    printing::print(output::pretty(&shown(&read, &text, args.parts).into()))?;
    for remark in &read.remarks {
        printing::tell(format_args!("warning: {place}: {remark}\n"));
    }
    match read.objection(&text) {
        Some(objection) => Err(Failure::Wrong(format!("{place}: {objection}"))),
        None => Ok(()),
    }
}

fn reader(
    args: &Args,
    template: &ChatTemplate,
    base: &RenderInput,
) -> Result<ConversationReader, String> {
    let reader = ConversationReader::new(template, base)
        .map_err(|error| format!("{}: {}: {error}", template.name, error.of_question()))?;
    Ok(match args.no_proof {
        true => reader.without_proof(),
        false => reader,
    })
}

/// What was read, for programs.
fn shown(read: &Conversation, text: &str, with_parts: bool) -> Object {
    let mut out = read.to_value();
    if with_parts {
        let mut counted = (0, 0);
        let mut characters = |at: usize| {
            if let Some(more) = text.get(counted.1..at) {
                counted = (counted.0 + more.chars().count(), at);
            }
            Value::from(i64::try_from(counted.0).unwrap_or(i64::MAX))
        };
        let parts = read.parts.iter().map(|part| {
            let number = part.message.and_then(|number| i64::try_from(number).ok());
            let (start, end) = (characters(part.range.start), characters(part.range.end));
            Object::from_iter([
                ("part", Value::from(part.slot.key())),
                ("message", number.map_or(Value::Null, Value::from)),
                ("span", vec![start, end].into()),
            ])
            .into()
        });
        out.insert("parts", parts.collect::<Vec<Value>>());
    }
    out
}

/// The readers of a batch, by what its lines say beside the text.
#[derive(Default)]
struct Readers(Mutex<HashMap<String, Arc<Result<ConversationReader, String>>>>);

/// Answers one text of a batch.
fn answer(args: &Args, template: &ChatTemplate, readers: &Readers, case: &Object) -> Reply {
    let mut reply = Reply::default();
    match read(args, template, readers, case) {
        Ok(answer) => {
            for (key, value) in answer {
                reply.answer.insert(&key.to_string_lossy(), value);
            }
        }
        Err(error) => reply.answer.insert("error", error),
    }
    reply
}

fn read(
    args: &Args,
    template: &ChatTemplate,
    readers: &Readers,
    case: &Object,
) -> Result<Object, String> {
    let text = string(case, "text")?.ok_or("there is no `text`")?;
    let mut base = args.template.options.base();
    let mut key = Vec::new();
    for name in ["kwargs", "bos_token", "eos_token", "now"] {
        key.push(case.get(name).cloned().unwrap_or_default());
    }
    if let Some(now) = string(case, "now")? {
        base.now = Some(time(&now).map_err(|error| format!("`now`: {error}"))?);
    }
    match case.get("kwargs").filter(|value| !value.is_null()) {
        Some(Value::Object(variables)) => base.variables.extend(variables.clone()),
        Some(other) => {
            return Err(format!(
                "`kwargs`: expected an object, found {}",
                other.type_name()
            ));
        }
        None => {}
    }
    base.bos_token = string(case, "bos_token")?;
    base.eos_token = string(case, "eos_token")?;
    let key = json::write(&key.into());
    // Whoever comes first finds out; the others wait for it.
    let reader = {
        let mut known = readers.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry(key);
        Arc::clone(known.or_insert_with(|| Arc::new(reader(args, template, &base))))
    };
    let reader = reader.as_ref().as_ref().map_err(Clone::clone)?;
    let read = reader.read(&text).map_err(|error| error.to_string())?;
    let mut answer = shown(&read, &text, args.parts);
    if let Some(objection) = read.objection(&text) {
        answer.insert("unproved", objection);
    }
    if !read.remarks.is_empty() {
        let remarks = read
            .remarks
            .iter()
            .map(|remark| Value::from(remark.as_str()));
        answer.insert("remarks", remarks.collect::<Vec<_>>());
    }
    Ok(answer)
}

fn string(case: &Object, key: &str) -> Result<Option<String>, String> {
    match case.get(key).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => match value.as_str() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(format!(
                "`{key}`: expected a string, found {}",
                value.type_name()
            )),
        },
    }
}
