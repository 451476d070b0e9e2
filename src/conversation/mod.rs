//! Whole conversations: read back from the text that a chat template has made of them, and what of them the
//! model writes.
//!
//! # Reading
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
//! let error = reader.read("[user] Hi").unwrap_err();
//! assert_eq!(error.at, 0);
//! assert_eq!(error.expected.last().map(String::as_str), Some("`<user>`"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Masks
//!
//! A [`Marking`] knows where one chat template writes that. It [masks](Marking::mask) conversations, and has the template
//! [with tags](Marking::tagged) that tell others.
//!
//! ```
//! use unjinja::chat_template::{ChatTemplate, RenderInput};
//! use unjinja::conversation::{MaskPolicy, Marking};
//! use unjinja::json;
//!
//! let template = ChatTemplate::from_jinja(
//!     "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '<end>' }}{% endfor %}\
//!      {% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}",
//! );
//! let marking = Marking::of(&template, &RenderInput::default(), MaskPolicy::default())?;
//! let conversation = RenderInput {
//!     messages: json::read(r#"[
//!         {"role": "user", "content": "Hi"},
//!         {"role": "assistant", "content": "Hello!"}
//!     ]"#)?,
//!     ..RenderInput::default()
//! };
//! let masked = marking.mask(&conversation)?;
//! assert_eq!(masked.text, "<user>Hi<end><assistant>Hello!<end>");
//! assert_eq!(masked.spans.texts(&masked.text).collect::<Vec<_>>(), ["Hello!<end>"]);
//! assert!(marking.tagged().contains("{% generation %}{{ m.content + '<end>' }}{% endgeneration %}"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Conversations are rendered in which every text is a word that occurs nowhere else. What a prompt ends with,
//! and what ends a turn, says where in them the model has written; and what instruction of the template wrote
//! each character says where in the template that is. There the tags go. They are proven: every such
//! conversation renders to the same text with them, and they enclose what the model writes, and nothing else.

// In the order in which they build upon each other: reading,
mod path;

mod arguments;
mod messages;
mod proof;
mod reader;

// masks, and what stands between turns.
mod edits;
pub(crate) mod trace;

mod borders;
mod labels;

mod tag;

mod mask;
mod spans;

mod boundaries;
mod bridge;

pub use boundaries::{RoleBoundary, role_boundaries};
pub use bridge::{Bridge, BridgeError, BridgeWriter};
pub use mask::{Marking, MarkingProof, MaskError, Masked, Unmasked};
pub use proof::Proof;
pub use reader::{Conversation, ConversationPart, ConversationReader, Ending, NotAConversation};
pub use spans::{HeaderSide, MaskPolicy, Spans, TokenMask};
