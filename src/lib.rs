//! unjinja reads a language model's raw output back into a structured message, whole or while it is
//! still being written.
//!
//! A [`ResponseTemplate`] says what the model's markers are. A [`ResponseParser`] is fed the output
//! piece by piece and tells what happens in it as [`Event`]s; [`parse`] does all at once.
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
//! let prompt = "<user>Hi<bot>";
//! let mut parser = ResponseParser::new(&template, prompt, ParserOptions::default())?;
//! let mut shown = String::new();
//! for piece in ["<think>Be k", "ind.</th", "ink>Hello", "!<end>\n"] {
//!     parser.feed_with(piece, |event| {
//!         if let Event::Chunk { field: "content", text, .. } = event {
//!             shown.push_str(text);
//!         }
//!     })?;
//! }
//! let (message, _last_events) = parser.finalize()?;
//! assert_eq!(shown, "Hello!");
//! assert_eq!(message.get("thinking").and_then(|t| t.as_str()), Some("Be kind."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With the feature `chat-template`, `ChatTemplate` loads the other half of a model's format from
//! wherever models keep it, and renders it as the transformers library does; `Capabilities` tells
//! what it can do, and `Findings` how its model writes a turn. From all of this `derive` works out
//! the response template, and proves it by round trips. `lint` says what will hurt about one; with
//! the feature `check`, the module of that name keeps templates right by fixtures.
//!
//! # Features
//!
//! - none: the streaming parser alone, and [`json`];
//! - `chat-template`: chat templates, and response templates derived from them;
//! - `check`: fixtures, comparing two response templates, and how two texts differ;
//! - `hub`: chat templates from the Hugging Face hub, too;
//! - `tui`: the workbench in the terminal, which brings `check` along;
//! - `cli` (default): the command line, which brings `tui` along.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

#[cfg(feature = "chat-template")]
mod analysis;
#[cfg(feature = "chat-template")]
mod chat_template;
#[cfg(feature = "check")]
pub mod check;
#[cfg(feature = "chat-template")]
mod derive;
mod diagnostic;
#[cfg(feature = "check")]
pub mod difference;
#[cfg(feature = "chat-template")]
pub mod files;
pub mod json;
#[cfg(feature = "chat-template")]
mod lint;
mod number;
mod position;
mod printable;
mod response;
mod spelling;
mod tree;
#[cfg(feature = "tui")]
pub mod tui;
mod value;

#[cfg(feature = "chat-template")]
pub use analysis::{
    Answer, CallBody, CallKeys, CallShape, Capabilities, Certainty, ContentShape, Dialect,
    Evidence, Findings, GenerationPrompt, Outcome, ReasoningShape, Slot, Statement, Subject,
    Switch, Tagged, Thinking, Topic, TurnShape, Variable,
};
#[cfg(feature = "chat-template")]
pub use chat_template::{
    ChatTemplate, GgufFault, HubFault, HubSettings, LoadError, LoadOptions, ModelId, NotAModelId,
    Origins, PreparedTemplate, RenderError, RenderInput, Renderer, Rendering, Source,
};
#[cfg(feature = "chat-template")]
pub use derive::{
    Candidate, DamageRow, DamagedText, Derivation, DeriveError, DeriveOptions, Recovery, Row,
    Tally, derive,
};
pub use diagnostic::Diagnostic;
#[cfg(feature = "chat-template")]
pub use lint::{Complaint, Level, Lint, LintOptions, Ruling, Rulings, Selector, UnknownLint, lint};
pub use position::Position;
pub use printable::printable;
pub use response::{
    Awaited, Capture, Content, Delimiter, Event, Field, OnMalformed, Opening, Outlook, OwnedEvent,
    ParseError, ParserOptions, RegionError, ResponseParser, ResponseTemplate, TemplateError, Tools,
    parse,
};
pub use value::{JsonString, Number, Object, Value, object};
