//! Outputs as chat completions, while they are written.

use std::ffi::c_char;

use unjinja::completion::{Completion, Delta, Ending};
use unjinja::{Utf8Decoder, Value, json};

use crate::border::{ErrorPlace, bytes, given, guarded, text};
use crate::error::{UnjinjaError, UnjinjaErrorKind};
use crate::options::Options;
use crate::template::UnjinjaTemplate;
use crate::text::UnjinjaText;

/// Turns one output into a chat completion while it is written. One thread at a time may use it.
#[derive(Debug)]
pub struct UnjinjaCompletion {
    decoder: Utf8Decoder,
    /// None of one that has ended, or that has failed.
    completion: Option<Completion>,
    /// What is to be sent first, if it has not been.
    initial: Vec<Value>,
}

impl UnjinjaCompletion {
    /// Takes the completion out, which is put back only if nothing fails, and what is to be sent first.
    fn taken(&mut self) -> Result<(Completion, Vec<Value>), Box<UnjinjaError>> {
        let completion = self.completion.take();
        let ended =
            || UnjinjaError::argument("the completion has ended, or failed: make a new one");
        Ok((
            completion.ok_or_else(ended)?,
            std::mem::take(&mut self.initial),
        ))
    }
}

/// One value a line.
fn lines(values: &[Value]) -> Box<UnjinjaText> {
    let mut lines = String::new();
    for value in values {
        lines.push_str(&json::write(value));
        lines.push('\n');
    }
    UnjinjaText::new(lines)
}

fn failed(error: impl ToString) -> Box<UnjinjaError> {
    UnjinjaError::new(UnjinjaErrorKind::Parse, error)
}

/// A completion of one output.
///
/// @param response_template what the output is read by
/// @param prefix the prompt that came before the output
/// @param options a JSON object, or nothing for the defaults: `id`, `model`, `created` in seconds since 1970, and `reasoning`, the
///     key of the reasoning; `tools`, `on_malformed`, `on_unread`, `unknown_tools`, `unfinished` and `body_aware_close` as for
///     `unjinja_parser_new`, but that a call which can't be read, or in which something is read by nothing, is given back as
///     content, and that a call which is cut off is dropped
/// @return the completion, which `unjinja_completion_free` takes back
#[allow(unsafe_code, reason = "it is given texts")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjinja_completion_new(
    response_template: Option<&UnjinjaTemplate>,
    prefix: *const c_char,
    prefix_length: usize,
    options: *const c_char,
    options_length: usize,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaCompletion>> {
    guarded(error, || {
        let template = given("the response template", response_template)?;
        // SAFETY: the caller gives texts.
        let (prefix, options) = unsafe {
            (
                text("the prefix", prefix, prefix_length)?,
                text("the options", options, options_length)?,
            )
        };
        let (parser, options) = Options::read(options)?.completion_only()?;
        let completion = Completion::new(&template.0, prefix, parser, options);
        let completion = completion.map_err(failed)?;
        let initial = completion.initial_deltas().iter();
        Ok(Box::new(UnjinjaCompletion {
            decoder: Utf8Decoder::new(),
            initial: initial.map(|delta| completion.chunk(delta)).collect(),
            completion: Some(completion),
        }))
    })
}

/// Reads the next piece of the output, and returns what is to be sent: `chat.completion.chunk`s, one a line, or nothing.
///
/// The first call begins with the role, and with what the prefix has written into the message. To have it at once, feed nothing.
///
/// @param text UTF-8, which may be cut anywhere
/// @return the lines, which `unjinja_text_free` takes back
#[allow(unsafe_code, reason = "it is given a text")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjinja_completion_feed(
    completion: Option<&mut UnjinjaCompletion>,
    text: *const c_char,
    length: usize,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaText>> {
    guarded(error, || {
        let fed = given("the completion", completion)?;
        // SAFETY: the caller gives a text, which lasts as long as this call.
        let piece = unsafe { bytes(text, length) }?;
        let (mut completion, mut chunks) = fed.taken()?;
        let mut deltas: Vec<Delta> = Vec::new();
        let piece = fed.decoder.push(piece);
        completion
            .feed_with(&piece, |delta| deltas.push(delta.clone()))
            .map_err(failed)?;
        chunks.extend(deltas.iter().map(|delta| completion.chunk(delta)));
        fed.completion = Some(completion);
        Ok(lines(&chunks))
    })
}

/// Ends the output. The completion is of no more use then, but has to be freed.
///
/// @param is_cut_off whether the model had no room for more
/// @return lines, which `unjinja_text_free` takes back: the last `chat.completion.chunk`s, and in the last line the whole
///     `chat.completion`
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_completion_finish(
    completion: Option<&mut UnjinjaCompletion>,
    is_cut_off: bool,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaText>> {
    guarded(error, || {
        let fed = given("the completion", completion)?;
        let (mut completion, mut chunks) = fed.taken()?;
        let ending = if is_cut_off {
            Ending::Length
        } else {
            Ending::Stop
        };
        let deltas = completion.feed(fed.decoder.finish()).map_err(failed)?;
        chunks.extend(deltas.iter().map(|delta| completion.chunk(delta)));
        let finished = completion.finish(ending).map_err(failed)?;
        chunks.extend(finished.chunks());
        chunks.push(finished.to_value());
        Ok(lines(&chunks))
    })
}

/// Gives a completion back.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_completion_free(completion: Option<Box<UnjinjaCompletion>>) {
    drop(completion);
}
