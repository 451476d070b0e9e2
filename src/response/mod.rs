//! The response-template language: reading templates, and parsing with them.
//!
//! Nothing here knows of chat templates, of files, or of terminals.

mod content;
mod delimiter;
mod error;
mod event;
mod guard;
mod message;
mod parser;
mod pattern;
mod template;
mod tools;
mod transform;
mod watch;

pub use content::Content;
pub use delimiter::Delimiter;
pub use error::{ParseError, RegionError};
pub use event::{Capture, Event, Opening, OwnedEvent};
pub use parser::{OnMalformed, ParserOptions, ResponseParser, parse};
pub use template::{Fault, Field, ResponseTemplate, TemplateError};
pub use tools::Tools;
