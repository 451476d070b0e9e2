//! The streaming parser of [unjinja], which reads a language model's raw output back into a structured message.
//!
//! Use the crate `unjinja`: all that is public here has its place and its documentation there. This package stands
//! apart so that the parser, its pattern engine and JSON are built beside the rest, and optimized whatever the rest is.
//!
//! [unjinja]: https://docs.rs/unjinja
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod completion;
#[doc(hidden)]
pub mod diagnostic;
pub mod json;
#[doc(hidden)]
pub mod number;
#[doc(hidden)]
pub mod position;
pub mod response;
#[cfg(feature = "serde")]
mod serialize;
#[doc(hidden)]
pub mod spelling;
#[doc(hidden)]
pub mod tree;
mod utf8;
#[doc(hidden)]
pub mod value;
#[doc(hidden)]
pub mod white_space;

pub use diagnostic::{Diagnostic, DiagnosticInFile};
pub use position::Position;
pub use response::{
    Event, EventBuffer, EventWriter, OnMalformed, OnUnread, OwnedEvent, ParseError, ParserOptions,
    ResponseParser, ResponseTemplate, TemplateError, Tools, Unfinished, UnknownTools, parse,
};
pub use utf8::Utf8Decoder;
pub use value::{JsonString, Number, Object, Value};
