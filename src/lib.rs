//! unjinja reads a language model's raw output back into a structured message, whole or while it is
//! still being written.
//!
//! A [`ResponseTemplate`] defines the model's markers. A [`ResponseParser`] is fed the output
//! piece by piece and reports what happens in it as [`Event`]s, beginning with what the prompt has
//! opened; [`parse`] does it all at once. Where the output comes as tokens, a [`Utf8Decoder`] makes text of them.
//!
//! ```
//! use unjinja::{Event, ParserOptions, ResponseParser, ResponseTemplate};
//!
//! let template = ResponseTemplate::from_json(r#"{
//!     "start_anchor": "<bot>",
//!     "fields": {
//!         "thinking": {"open": "<think>", "close": "</think>"},
//!         "content": {"close_pattern": "<end>\\s*"}
//!     }
//! }"#)?;
//! let prompt = "<user>Hi<bot><think>";
//! let mut shown = Vec::new();
//! let mut on_event = |event: Event<'_>| match event {
//!     Event::Open { field, .. } => shown.push(format!("{field}:")),
//!     Event::Chunk { text, .. } => shown.push(text.to_owned()),
//!     _ => {}
//! };
//! let options = ParserOptions::default();
//! let mut parser = ResponseParser::new_with(&template, prompt, options, &mut on_event)?;
//! for piece in ["Be k", "ind.</th", "ink>Hello", "!<end>\n"] {
//!     parser.feed_with(piece, &mut on_event)?;
//! }
//! let message = parser.finalize_with(&mut on_event)?;
//! assert_eq!(shown, ["thinking:", "Be k", "ind.", "content:", "Hello", "!"]);
//! assert_eq!(message.get("thinking").and_then(|t| t.as_str()), Some("Be kind."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The root has everything that parsing outputs needs. The rest is in modules:
//!
//! | module | what it is for | feature |
//! |---|---|---|
//! | [`json`] | JSON as Python reads and writes it, and changing a key of a document in place | |
//! | [`response`] | what a template and its events are made of, and what a parser waits for | |
//! | [`completion`] | outputs as chat completions, and as their deltas while a model writes | |
//! | `response_schema` | reading outputs by response schemas, the older language | `response-schema` |
//! | `chat_template` | loading chat templates from wherever models keep them, and rendering them | `chat-template` |
//! | `analysis` | what a chat template can do, and how its model writes a turn | `chat-template` |
//! | `format` | how a model writes its turn, as a typed tree | `chat-template` |
//! | `conversation` | reading whole conversations back from their text, and what of them the model writes | `chat-template` |
//! | `mend` | removing a fault from a chat template, and changing nothing else | `chat-template` |
//! | `grammar` | what a model may write, given tools: for engines, and as a strict parser | `grammar` |
//! | `derive` | working out the response template of a chat template, with its proof | `chat-template` |
//! | `roundtrip` | whether the next prompt still begins with what a model wrote | `chat-template` |
//! | `lint` | problems of response templates and chat templates | `chat-template` |
//! | `survey` | all of this about a chat template, as a row of a table | `chat-template` |
//! | `profile` | target packages: which accept a response template, and rewriting it for others | `chat-template` |
//! | `files` | reading texts up to a limit | `chat-template` |
//! | `check` | fixtures, and comparing two response templates | `check` |
//!
//! # Features
//!
//! None is on by default.
//!
//! - none: the streaming parser alone, and [`json`];
//! - `serde`: values, events, templates, findings and reports can be serialized by any format that
//!   serde knows; values, templates, tools and events can be deserialized, too;
//! - `chat-template`: chat templates, and response templates derived from them;
//! - `response-schema`: response schemas;
//! - `grammar`: grammars of formats and tools;
//! - `check`: fixtures, and comparing two response templates;
//! - `hub`: chat templates from the Hugging Face hub, too.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

#[cfg(feature = "chat-template")]
pub mod analysis;
#[cfg(feature = "chat-template")]
mod budget;
#[cfg(feature = "chat-template")]
pub mod chat_template;
#[cfg(feature = "check")]
pub mod check;
#[cfg(feature = "chat-template")]
pub mod conversation;
#[cfg(feature = "chat-template")]
pub mod derive;
#[cfg(feature = "chat-template")]
pub mod files;
#[cfg(feature = "chat-template")]
pub mod format;
#[cfg(feature = "grammar")]
pub mod grammar;
#[cfg(feature = "chat-template")]
pub mod lint;
#[cfg(feature = "chat-template")]
mod markers;
#[cfg(feature = "chat-template")]
pub mod mend;
#[cfg(feature = "chat-template")]
pub mod profile;
#[cfg(feature = "chat-template")]
mod remedy;
#[cfg(feature = "response-schema")]
pub mod response_schema;
#[cfg(feature = "chat-template")]
pub mod roundtrip;
#[cfg(all(feature = "serde", feature = "chat-template"))]
mod serialize;
#[cfg(feature = "chat-template")]
pub mod survey;

#[cfg(feature = "chat-template")]
pub use remedy::Remedy;
#[doc(inline)]
pub use unjinja_parser::{
    Diagnostic, DiagnosticInFile, Event, EventBuffer, EventWriter, JsonString, Number, Object,
    OnMalformed, OnUnread, OwnedEvent, ParseError, ParserOptions, Position, ResponseParser,
    ResponseTemplate, TemplateError, Tools, Unfinished, UnknownTools, Utf8Decoder, Value,
    completion, json, parse, response,
};

// What the rooms of this package need of the parser's, under the names that these have there.
#[cfg(feature = "chat-template")]
use unjinja_parser::position;
#[cfg(feature = "check")]
use unjinja_parser::tree;
#[cfg(any(feature = "chat-template", feature = "response-schema"))]
use unjinja_parser::{diagnostic, number, spelling, value, white_space};

/// The examples of the documents are run as they stand there.
#[cfg(all(doctest, feature = "grammar"))]
mod documents {
    #[doc = include_str!("../docs/library.md")]
    struct Library;
    #[doc = include_str!("../docs/grammars.md")]
    struct Grammars;
    #[doc = include_str!("../docs/masks.md")]
    struct Masks;
    #[doc = include_str!("../docs/rust-engines.md")]
    struct RustEngines;
}
