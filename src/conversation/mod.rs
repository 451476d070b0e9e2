//! Whole conversations, read back from the text that a chat template has made of them.
//!
//! A [`ConversationReader`] finds out how a template writes the messages of all roles, by rendering
//! conversations, and then reads texts: messages, definitions of tools, and the variables that were switched.
//! What was read is proved: it renders to the same text again.
//!
//! ```
//! use unjinja::chat_template::{ChatTemplate, RenderInput};
//! use unjinja::conversation::{ConversationReader, Ending, Proof};
//! use unjinja::json;
//!
//! let template = ChatTemplate::from_jinja(
//!     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
//!      {% if add_generation_prompt %}<assistant>{% endif %}",
//! );
//! let reader = ConversationReader::new(&template, &RenderInput::default())?;
//! let read = reader.read("<user>Hi<end><assistant>Hello!<end><user>Noon?<end><assistant>")?;
//! assert_eq!(json::write(&read.messages), concat!(
//!     r#"[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello!"},"#,
//!     r#"{"role":"user","content":"Noon?"}]"#,
//! ));
//! assert_eq!(read.ending, Ending::Prompt);
//! assert_eq!(read.proof, Proof::Same);
//!
//! let error = reader.read("<user>Hi</user>").unwrap_err();
//! assert_eq!(error.to_string(), "the text ends where `<end><assistant>` or others were expected");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// In the order in which they build upon each other.
mod path;

mod arguments;
mod messages;
mod proof;
mod reader;

pub use proof::Proof;
pub use reader::{Conversation, ConversationPart, ConversationReader, Ending, NotAConversation};
