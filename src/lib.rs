//! unjinja reads a language model's raw output back into a structured message.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

#[cfg(feature = "chat-template")]
mod analysis;
#[cfg(feature = "chat-template")]
mod chat_template;
pub mod json;
mod number;
mod response;
mod value;

#[cfg(feature = "chat-template")]
pub use analysis::{
    Answer, Capabilities, GenerationPrompt, Outcome, Switch, Thinking, Topic, Variable,
};
#[cfg(feature = "chat-template")]
pub use chat_template::{
    ChatTemplate, GgufFault, HubFault, HubSettings, LoadError, LoadOptions, ModelId, NotAModelId,
    Origins, PreparedTemplate, RenderError, RenderInput, Renderer, Rendering, Source,
};
pub use response::{
    Capture, Content, Delimiter, Event, Fault, Field, OnMalformed, Opening, OwnedEvent, ParseError,
    ParserOptions, RegionError, ResponseParser, ResponseTemplate, TemplateError, Tools, parse,
};
pub use value::{Number, Object, Text, Value};
