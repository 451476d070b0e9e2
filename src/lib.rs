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
//! - `check`: fixtures, and comparing two response templates;
//! - `hub`: chat templates from the Hugging Face hub, too.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

#[cfg(feature = "chat-template")]
pub mod analysis;
#[cfg(feature = "chat-template")]
mod chat_template;
#[cfg(feature = "check")]
pub mod check;
#[cfg(feature = "chat-template")]
pub mod derive;
mod diagnostic;
#[cfg(feature = "chat-template")]
pub mod files;
pub mod json;
#[cfg(feature = "chat-template")]
mod lint;
mod number;
mod position;
#[cfg(feature = "chat-template")]
mod remedy;
mod response;
mod spelling;
mod tree;
mod value;
mod white_space;

#[cfg(feature = "chat-template")]
pub use analysis::{
    Answer, CallBody, CallKeys, CallShape, Capabilities, Certainty, ContentShape, Dialect,
    Evidence, EvidenceRendering, Findings, GenerationPrompt, Outcome, ReasoningShape, Slot,
    Statement, Subject, Switch, Tagged, Thinking, Topic, TurnShape, Variable,
};
#[cfg(feature = "chat-template")]
pub use chat_template::{
    ChatTemplate, GgufFault, HubFault, HubSettings, LoadError, LoadOptions, ModelId, NotAModelId,
    Origins, PreparedTemplate, Progress, RenderError, RenderInput, Renderer, Rendering, Source,
};
#[cfg(feature = "chat-template")]
pub use derive::{
    Candidate, DamageRow, DamagedText, Derivation, DeriveError, DeriveOptions, Recovery,
    RefusedConversation, Row, Tally, derive,
};
pub use diagnostic::Diagnostic;
#[cfg(feature = "chat-template")]
pub use lint::{Complaint, Level, Lint, LintOptions, Ruling, Rulings, Selector, UnknownLint, lint};
pub use position::Position;
#[cfg(feature = "chat-template")]
pub use remedy::Remedy;
pub use response::{
    Capture, Content, ContentError, Delimiter, Event, Field, OnMalformed, OpeningMatch, Outlook,
    OwnedEvent, ParseError, ParserOptions, RegionError, ResponseParser, ResponseTemplate,
    TemplateError, Tools, WatchedDelimiter, parse,
};
pub use value::{JsonString, Number, Object, Value, object};
