//! The response-template language: reading templates, and parsing with them.
//!
//! Nothing here knows of chat templates, of files, or of terminals.

mod allowance;
mod content;
mod delimiter;
mod error;
mod event;
#[cfg(feature = "chat-template")]
mod examples;
mod guard;
mod message;
mod parser;
pub(crate) mod pattern;
mod template;
mod tools;
mod transform;
mod watch;

pub use content::Content;
pub use delimiter::Delimiter;
pub use error::{ContentError, ParseError, RegionError};
pub use event::{Capture, Event, OpeningMatch, OwnedEvent};
pub use parser::{OnMalformed, Outlook, ParserOptions, ResponseParser, WatchedDelimiter, parse};
pub use template::{Field, ResponseTemplate, TemplateError};
pub use tools::Tools;

#[cfg(feature = "chat-template")]
pub(crate) use content::{Parser, XmlInlineArgs};
#[cfg(feature = "chat-template")]
pub(crate) use examples::Example;
#[cfg(feature = "chat-template")]
pub(crate) use template::Inner;
#[cfg(feature = "chat-template")]
pub(crate) use watch::{Hit, Kind, Watch};
