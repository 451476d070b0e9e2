//! The C library of unjinja. `capi/include/unjinja.h` is made of what is exported here, and documents it for whoever
//! writes C; the npm package is this library as WebAssembly.
//!
//! Everything that is exported keeps to these rules, which the header repeats:
//!
//! - Texts go in as bytes and their number. `NULL` is a text of no bytes.
//! - What a function gives away, its `_free` takes back. `NULL` may be given back, too.
//! - A function that can fail takes the address of an error last, which may be `NULL`. It sets that to the error, or to `NULL`.
//! - No panic crosses the border: it is an error of the kind [`UnjinjaErrorKind::Internal`].
//!
//! References and boxes in the signatures are pointers for C, where `Option` is a pointer that may be `NULL`. So what comes
//! over the border is only trusted where a text is made of a pointer and a length, in `border.rs`.
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod border;
#[cfg(feature = "chat-template")]
mod chat;
mod completion;
mod error;
mod event;
mod events;
mod options;
#[cfg(all(feature = "page", target_family = "wasm"))]
mod page;
mod parser;
mod template;
mod text;
#[cfg(target_family = "wasm")]
mod wasm;

#[cfg(feature = "chat-template")]
pub use chat::UnjinjaChatTemplate;
pub use completion::UnjinjaCompletion;
pub use error::{UnjinjaError, UnjinjaErrorKind};
pub use event::{UnjinjaCapture, UnjinjaEvent, UnjinjaEventKind, UnjinjaSlice, UnjinjaValue};
pub use events::UnjinjaEvents;
pub use parser::{UnjinjaOnEvent, UnjinjaParser};
pub use template::UnjinjaTemplate;
pub use text::UnjinjaText;
