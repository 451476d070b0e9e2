//! unjinja reads a language model's raw output back into a structured message.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod json;
mod number;
mod response;
mod value;

pub use response::{
    Capture, Content, Delimiter, Event, Fault, Field, OnMalformed, Opening, OwnedEvent, ParseError,
    ParserOptions, RegionError, ResponseParser, ResponseTemplate, TemplateError, Tools, parse,
};
pub use value::{Number, Object, Text, Value};
