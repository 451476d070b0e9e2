//! `--openai`: outputs as chat completions, as the clients of servers expect them.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::printing;
use unjinja::completion::{Completion, CompletionOptions, Ending, Finished};
use unjinja::{Object, ParseError, ParserOptions, ResponseTemplate, Value, json};

use super::{Args, Failure, warn, wrong};

/// What is said of response schemas.
pub(super) const NO_SCHEMA: &str = "response schemas read whole texts into messages of any shape: \
    give a response template for `--openai`, which `unjinja convert` makes of a schema";

/// Reads one output into a completion.
pub(super) struct Reading {
    completion: Completion,
    /// Whether chunks are printed as soon as they are known.
    chunks: bool,
    ending: Ending,
}

/// The options of a completion with this id: where nothing is said, they are what serves clients.
fn about(id: String, args: &Args) -> CompletionOptions {
    let mut options = CompletionOptions::default().id(id);
    options.unknown_tools = args.unknown_tools.policy();
    if let Some(unfinished) = args.unfinished {
        options.unfinished = unfinished.policy();
    }
    if let Some(on_malformed) = args.on_malformed {
        options.on_malformed = on_malformed.policy();
    }
    if let Some(on_unread) = args.on_unread {
        options.on_unread = on_unread.policy();
    }
    options
}

impl Reading {
    pub(super) fn new(
        args: &Args,
        template: &ResponseTemplate,
        prefix: &str,
        options: ParserOptions,
    ) -> Result<Reading, Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default();
        // As unique as what is printed by one process after another has to be.
        let id = format!("chatcmpl-{:x}{:x}", now.as_nanos(), std::process::id());
        let created = i64::try_from(now.as_secs()).unwrap_or_default();
        let about = about(id, args).created(created);
        let completion = Completion::new(template, prefix, options, about).map_err(wrong)?;
        let reading = Reading {
            completion,
            chunks: args.events,
            ending: match args.unfinished {
                Some(_) => Ending::Length,
                None => Ending::Stop,
            },
        };
        let initial = reading.completion.initial_deltas().iter();
        let initial: Vec<Value> = initial
            .map(|delta| reading.completion.chunk(delta))
            .collect();
        reading.print(&initial)?;
        Ok(reading)
    }

    fn print(&self, chunks: &[Value]) -> Result<(), Failure> {
        if !self.chunks || chunks.is_empty() {
            return Ok(());
        }
        let lines: String = chunks
            .iter()
            .map(|chunk| json::write(chunk) + "\n")
            .collect();
        printing::stream(lines)
    }
}

impl super::Reading for Reading {
    fn feed(&mut self, text: &str) -> Result<(), Failure> {
        let mut deltas = Vec::new();
        let result = self
            .completion
            .feed_with(text, |delta| deltas.push(delta.clone()));
        let chunks: Vec<Value> = deltas
            .iter()
            .map(|delta| self.completion.chunk(delta))
            .collect();
        let printed = self.print(&chunks);
        result.map_err(wrong)?;
        printed
    }

    fn finish(self) -> Result<(), Failure> {
        let chunks = self.chunks;
        let finished = self.completion.finish(self.ending).map_err(wrong)?;
        warnings(&finished).iter().for_each(|warning| warn(warning));
        if !chunks {
            let style = json::Style::pretty(2);
            return printing::print(json::write_styled(&finished.to_value(), &style) + "\n");
        }
        let all = finished.chunks().into_iter().chain([finished.to_value()]);
        printing::print(
            all.map(|chunk| json::write(&chunk) + "\n")
                .collect::<String>(),
        )
    }
}

/// A completion of a case of a batch, which goes by the id of the case.
pub(super) fn completion(
    args: &Args,
    template: &ResponseTemplate,
    prefix: &str,
    options: ParserOptions,
    case: &Object,
) -> Result<Completion, ParseError> {
    let id = match case.get("id") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(id)) => id.to_string_lossy().into_owned(),
        Some(id) => json::write(id),
    };
    Completion::new(template, prefix, options, about(id, args))
}

/// What a completion does not show of the text that it was made of.
fn warnings(finished: &Finished) -> Vec<String> {
    let fields = finished.malformed.iter();
    let malformed = fields.map(|field| {
        format!(
            "a region of `{field}` could not be parsed; `--on-malformed event --events` without `--openai` shows why"
        )
    });
    let unfinished = finished.unfinished.iter().map(|call| {
        let name = &call.name;
        format!("a call of `{name}` is cut off and left out; `--unfinished mark` shows it")
    });
    malformed.chain(unfinished).collect()
}

/// The completion of a case, all of whose text has been read, and what is to be warned of. The case may say
/// why the model ended.
pub(super) fn finish(
    completion: Completion,
    case: &Object,
) -> Result<(Value, Vec<String>), (String, Value)> {
    let ending = match case.get("finish_reason").and_then(Value::as_str) {
        Some("length") => Ending::Length,
        _ => Ending::Stop,
    };
    let finished = completion
        .finish(ending)
        .map_err(|error| (error.to_string(), "finalize".into()))?;
    Ok((finished.to_value(), warnings(&finished)))
}
