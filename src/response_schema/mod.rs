//! Response schemas: the older language for reading a model's output, which programs read that have
//! not learned [response templates](crate::ResponseTemplate) yet.
//!
//! A response schema is a JSON Schema of the message, with keys that say how each part of it is found
//! in the text. Reading begins with the schema as a whole and the whole text. Each schema applies its
//! patterns and its parser, and hands what they give to the schemas inside of it.
//!
//! ```
//! use unjinja::response_schema::ResponseSchema;
//!
//! let schema = ResponseSchema::from_json(r#"{
//!     "type": "object",
//!     "x-regex": "(?:<think>(?P<thinking>.*?)</think>)?(?P<content>.*?)(?:<end>|$)",
//!     "properties": {
//!         "role": {"const": "assistant"},
//!         "thinking": {"type": "string"},
//!         "content": {"type": "string"}
//!     }
//! }"#)?;
//! let message = schema.read("<think>Be kind.</think>Hello!<end>")?;
//! assert_eq!(
//!     message.to_string(),
//!     r#"{"role":"assistant","thinking":"Be kind.","content":"Hello!"}"#,
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What it reads, and how, is what the transformers library did from 5.5 to 5.14: the patterns are
//! those of Python's module `re`, in which `.` also matches line breaks. Two constructs of these are
//! refused: references to what a group matched, and groups that depend on other groups.
//!
//! A schema can be read only from a whole text: a pattern may look for anything anywhere, so nothing
//! is certain before the text has ended.

mod budget;
mod convert;
mod error;
mod load;
mod read;
mod schema;
mod substitution;
mod transform;
mod unquoted_keys;

#[cfg(feature = "check")]
pub(crate) use convert::without_empty;
pub use convert::{Conversion, ConvertError, Difference, Trial, Way, convert};
pub use error::{ReadError, SchemaError};
pub use schema::ResponseSchema;
