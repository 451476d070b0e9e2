//! Reading outputs by a response schema, which takes whole texts.

use crate::printing;
use unjinja::response_schema::ResponseSchema;
use unjinja::{Object, Value, json};

use super::{Args, EMPTY, Ended, Failure, Malformed, chunks, warn};

/// Reads the output and prints its message.
pub(super) fn run(args: &Args, schema: &ResponseSchema) -> Result<(), Failure> {
    refuse_what_has_no_meaning(args)?;
    let mut text = String::new();
    let ended = args.read(|piece| {
        text.push_str(piece);
        Ok(())
    })?;
    if let Ended::Broken(why) = ended {
        return Err(Failure::Input(why));
    }
    if text.is_empty() {
        warn(EMPTY);
    }
    let message = schema
        .read(&text)
        .map_err(|error| Failure::Wrong(error.to_string()))?;
    printing::print(json::write_styled(&message, &json::Style::pretty(2)) + "\n")
}

/// The message of a case of a batch.
pub(super) fn message(schema: &ResponseSchema, case: &Object) -> Result<Value, String> {
    if case.get("prefix").is_some_and(|prefix| !prefix.is_empty()) {
        return Err(NO_PREFIX.to_owned());
    }
    let text = chunks(case).map_err(|(error, _)| error)?.concat();
    schema.read(&text).map_err(|error| error.to_string())
}

const NO_PREFIX: &str = "a response schema can't read what a prompt begins of the message: put that \
                         before the output, or convert the schema with `unjinja convert`";

/// Says why an option can't be had with a response schema.
fn refuse_what_has_no_meaning(args: &Args) -> Result<(), Failure> {
    let streams = "a response schema is read only from a whole text, since its patterns may find anything \
                   anywhere: convert it with `unjinja convert` to a response template, which streams";
    let types = "a response schema types arguments itself, and knows no tools";
    let regions = "a response schema has no regions that this option could apply to";
    let refusals = [
        (args.events, "--events", streams),
        (args.chunk.is_some(), "--chunk", streams),
        (
            args.prefix.is_some() || args.prefix_text.is_some(),
            "--prefix",
            NO_PREFIX,
        ),
        (args.tools.is_some(), "--tools", types),
        (
            !matches!(args.on_malformed, None | Some(Malformed::Fail)),
            "--on-malformed",
            regions,
        ),
        (args.on_unread.is_some(), "--on-unread", regions),
        (args.unfinished.is_some(), "--unfinished", regions),
        (args.spans, "--spans", regions),
        (args.body_aware_close, "--body-aware-close", regions),
    ];
    match refusals.into_iter().find(|(is_given, ..)| *is_given) {
        None => Ok(()),
        Some((_, option, why)) => Err(Failure::Input(format!("`{option}`: {why}"))),
    }
}
