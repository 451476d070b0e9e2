//! The response-template language: reading templates, and parsing with them.
//!
//! Nothing here knows of chat templates, of files, or of terminals.

mod allowance;
mod call_names;
mod content;
mod delimiter;
mod error;
mod event;
#[cfg(feature = "internals")]
mod examples;
mod guard;
pub(crate) mod language;
mod message;
mod parser;
#[doc(hidden)]
pub mod pattern;
mod template;
mod tools;
mod transform;
mod unread;
mod watch;

pub use content::Content;
pub use delimiter::Delimiter;
pub use error::{ContentError, RegionError};
pub use event::{Capture, OpeningMatch};
pub use language::{Language, LanguageChange, UnknownLanguage};
pub use parser::{Lookout, Outlook, WatchedDelimiter};
pub use template::Field;

// These stand at the root, where they are documented.
#[doc(no_inline)]
pub use error::ParseError;
#[doc(no_inline)]
pub use event::{Event, EventBuffer, EventWriter, OwnedEvent};
#[doc(no_inline)]
pub use parser::{
    OnMalformed, OnUnread, ParserOptions, ResponseParser, Unfinished, UnknownTools, parse,
};
#[doc(no_inline)]
#[cfg(feature = "internals")]
#[doc(hidden)]
pub use template::schema_in;
pub use template::{ResponseTemplate, TemplateError};
#[doc(no_inline)]
pub use tools::Tools;

#[doc(hidden)]
pub use call_names::REASONING;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub use content::XmlInlineArgs;
#[doc(hidden)]
pub use content::{Entries, JsonArgs, Parser, quote_keys};
#[cfg(feature = "internals")]
#[doc(hidden)]
pub use examples::Example;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub use template::{Inner, Patterns};
#[doc(hidden)]
pub use transform::Transform;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub use watch::{DelimiterKind, Hit, Watch};
