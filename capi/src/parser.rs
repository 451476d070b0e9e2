//! The streaming parser.

use std::cell::RefCell;
use std::ffi::{c_char, c_void};

use unjinja::{Event, OwnedEvent, ResponseParser, Utf8Decoder, json};

use crate::border::{ErrorPlace, ascii, bytes, given, guarded, text};
use crate::error::{UnjinjaError, UnjinjaErrorKind};
use crate::event::UnjinjaEvent;
use crate::options::Options;
use crate::template::UnjinjaTemplate;
use crate::text::UnjinjaText;

/// What is told of an event. `context` is what was given with the function. It may not throw, jump out, or free the parser.
pub type UnjinjaOnEvent =
    Option<unsafe extern "C" fn(event: *const UnjinjaEvent, context: *mut c_void)>;

/// Reads one output while it is written. One thread at a time may use it.
#[derive(Debug)]
pub struct UnjinjaParser {
    /// A function that is told of an event may come back here.
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    decoder: Utf8Decoder,
    /// None of one that has ended.
    parser: Option<ResponseParser>,
    /// The chunk that is handed over again and again.
    chunk: UnjinjaEvent,
    stage: Stage,
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    /// What the prefix has written has not been handed over.
    New,
    Ready,
    /// It is being fed, or something has panicked meanwhile.
    Fed,
}

/// The function that is told of events.
#[derive(Clone, Copy)]
struct Listener {
    tell: UnjinjaOnEvent,
    context: *mut c_void,
}

impl Listener {
    #[allow(unsafe_code, reason = "it calls what it was given")]
    #[inline]
    fn hear(self, event: Event<'_>, chunk: &mut UnjinjaEvent) {
        if let Some(tell) = self.tell {
            // SAFETY: the caller gave the function, and the context that it takes.
            UnjinjaEvent::lend(&event, chunk, |event| unsafe { tell(event, self.context) });
        }
    }
}

fn failed(error: impl ToString) -> Box<UnjinjaError> {
    UnjinjaError::new(UnjinjaErrorKind::Parse, error)
}

impl UnjinjaParser {
    /// Does something with the parser, after the listener has heard what the prefix has written.
    #[inline]
    fn using<T>(
        &self,
        listener: Listener,
        work: impl FnOnce(&mut State) -> Result<T, Box<UnjinjaError>>,
    ) -> Result<T, Box<UnjinjaError>> {
        let Ok(mut state) = self.state.try_borrow_mut() else {
            return Err(UnjinjaError::argument(
                "the parser is being fed: wait until that call is done",
            ));
        };
        match std::mem::replace(&mut state.stage, Stage::Fed) {
            Stage::Ready => {}
            Stage::New => state.begin(listener),
            Stage::Fed => return Err(failed("the parser has failed before: make a new one")),
        }
        let done = work(&mut state);
        state.stage = Stage::Ready;
        done
    }
}

impl State {
    /// Hands over what the prefix has written.
    #[cold]
    fn begin(&mut self, listener: Listener) {
        let initial = self.parser.iter().flat_map(ResponseParser::initial_events);
        for event in initial.map(OwnedEvent::as_event) {
            listener.hear(event, &mut self.chunk);
        }
    }

    /// Reads more of the output.
    #[inline]
    fn feed(&mut self, piece: &str, listener: Listener) -> Result<(), Box<UnjinjaError>> {
        let ended = || UnjinjaError::argument("the parser has ended: make a new one");
        let parser = self.parser.as_mut().ok_or_else(ended)?;
        let chunk = &mut self.chunk;
        parser
            .feed_with(piece, |event| listener.hear(event, chunk))
            .map_err(failed)
    }
}

/// A parser for one output.
///
/// @param response_template what the output is read by
/// @param prefix the prompt that came before the output, of which templates often write the beginning of the message. Without
///     any, the output is the whole message
/// @param options a JSON object, or nothing for the defaults:
///     `tools`: the tools that the prompt offered, whose schemas type the arguments of calls;
///     `on_malformed`: `"fail"`, or `"event"` for an event of a region that can't be parsed, in place of an error, or `"text"` for
///         the same and its text behind the content;
///     `on_unread`: `"pass"`, or `"malformed"` where a call can't be parsed in which something stands that nothing reads;
///     `unknown_tools`: `"keep"`, `"drop"`, or give back as `"text"`, calls of tools that are not among `tools`;
///     `unfinished`: `"keep"`, `"mark"` or `"drop"` calls that the end of the output has cut off;
///     `calls_end_thoughts`: whether a thought that nothing closes ends where calls begin in it, if nothing else follows;
///     `spans`: whether events say where delimiters lie, and what they have captured;
///     `body_aware_close`: whether delimiters are ignored inside of the strings of JSON;
///     `stripped_chunks`: whether chunks have no white space that their value does not have
/// @return the parser, which `unjinja_parser_free` takes back
#[allow(unsafe_code, reason = "it is given texts")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjinja_parser_new(
    response_template: Option<&UnjinjaTemplate>,
    prefix: *const c_char,
    prefix_length: usize,
    options: *const c_char,
    options_length: usize,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaParser>> {
    guarded(error, || {
        let template = given("the response template", response_template)?;
        // SAFETY: the caller gives texts.
        let (prefix, options) = unsafe {
            (
                text("the prefix", prefix, prefix_length)?,
                text("the options", options, options_length)?,
            )
        };
        let options = Options::read(options)?.parser_only()?;
        let parser = ResponseParser::new(&template.0, prefix, options).map_err(failed)?;
        let state = State {
            decoder: Utf8Decoder::new(),
            parser: Some(parser),
            chunk: UnjinjaEvent::EMPTY,
            stage: Stage::New,
        };
        Ok(Box::new(UnjinjaParser {
            state: RefCell::new(state),
        }))
    })
}

/// Reads the next piece of the output, and tells a function of what happens in it.
///
/// The first call begins with what the prefix has written into the message: where a prompt ends with an opened thought, the
/// first event is its opening. To hear of it at once, feed nothing.
///
/// @param text UTF-8, which may be cut anywhere, also within a character. What is no UTF-8 is U+FFFD
/// @param on_event is called for each event, before this function returns; or NULL
/// @param context is given to `on_event`
/// @return whether it could be read. A parser that has failed stays failed
#[allow(unsafe_code, reason = "it is given a text")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjinja_parser_feed(
    parser: Option<&UnjinjaParser>,
    text: *const c_char,
    length: usize,
    on_event: UnjinjaOnEvent,
    context: *mut c_void,
    error: ErrorPlace<'_>,
) -> bool {
    let listener = Listener {
        tell: on_event,
        context,
    };
    let fed = guarded(error, || {
        let parser = given("the parser", parser)?;
        // SAFETY: the caller gives a text, which lasts as long as this call.
        let piece = unsafe { bytes(text, length) }?;
        parser.using(listener, |state| {
            // Most tokens are these, and short: to look at them byte by byte would take a tenth of the time.
            if let Some(piece) = ascii(piece).filter(|_| state.decoder.is_empty()) {
                return state.feed(piece, listener);
            }
            let piece = state.decoder.push(piece);
            state.feed(&piece, listener)
        })
    });
    fed.is_some()
}

/// Ends the output: what is still open is closed. The parser is of no more use then, but has to be freed.
///
/// @param on_event is called for each of the last events; or NULL
/// @param context is given to `on_event`
/// @return the message as JSON, which `unjinja_text_free` takes back
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_parser_finish(
    parser: Option<&UnjinjaParser>,
    on_event: UnjinjaOnEvent,
    context: *mut c_void,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaText>> {
    let listener = Listener {
        tell: on_event,
        context,
    };
    guarded(error, || {
        let parser = given("the parser", parser)?;
        parser.using(listener, |state| {
            let rest = state.decoder.finish();
            state.feed(rest, listener)?;
            // There is one, which has just been fed.
            let Some(parser) = state.parser.take() else {
                return Err(failed("the parser has ended"));
            };
            let chunk = &mut state.chunk;
            let message = parser.finalize_with(|event| listener.hear(event, chunk));
            let message = message.map_err(failed)?;
            Ok(UnjinjaText::new(json::write(&message.into())))
        })
    })
}

/// Gives a parser back.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_parser_free(parser: Option<Box<UnjinjaParser>>) {
    drop(parser);
}

/// Parses a whole output at once.
///
/// @param response_template what the output is read by
/// @param prefix the prompt that came before the output
/// @param output the output. What is no UTF-8 is U+FFFD
/// @param options as those of `unjinja_parser_new`
/// @return the message as JSON, which `unjinja_text_free` takes back
#[allow(unsafe_code, reason = "it is given texts")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjinja_parse(
    response_template: Option<&UnjinjaTemplate>,
    prefix: *const c_char,
    prefix_length: usize,
    output: *const c_char,
    output_length: usize,
    options: *const c_char,
    options_length: usize,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaText>> {
    guarded(error, || {
        let template = given("the response template", response_template)?;
        // SAFETY: the caller gives texts.
        let (prefix, output, options) = unsafe {
            (
                text("the prefix", prefix, prefix_length)?,
                bytes(output, output_length)?,
                text("the options", options, options_length)?,
            )
        };
        let options = Options::read(options)?.parser_only()?;
        let output = String::from_utf8_lossy(output);
        let message = unjinja::parse(&template.0, prefix, &output, options).map_err(failed)?;
        Ok(UnjinjaText::new(json::write(&message.into())))
    })
}
