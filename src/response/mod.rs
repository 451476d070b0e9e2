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
pub use error::{ContentError, RegionError};
pub use event::{Capture, OpeningMatch};
pub use parser::{Lookout, Outlook, WatchedDelimiter};
pub use template::Field;

// These stand at the root, where they are documented.
#[doc(no_inline)]
pub use error::ParseError;
#[doc(no_inline)]
pub use event::{Event, EventBuffer, EventWriter, OwnedEvent};
#[doc(no_inline)]
pub use parser::{OnMalformed, ParserOptions, ResponseParser, parse};
#[doc(no_inline)]
#[cfg(feature = "response-schema")]
pub(crate) use template::schema_in;
pub use template::{ResponseTemplate, TemplateError};
#[doc(no_inline)]
pub use tools::Tools;

#[cfg(feature = "chat-template")]
pub(crate) use content::XmlInlineArgs;
pub(crate) use content::{Entries, JsonArgs, Parser, quote_keys};
#[cfg(feature = "chat-template")]
pub(crate) use examples::Example;
#[cfg(feature = "chat-template")]
pub(crate) use template::{Inner, Patterns};
pub(crate) use transform::Transform;
#[cfg(feature = "chat-template")]
pub(crate) use watch::{Hit, Kind, Watch};
