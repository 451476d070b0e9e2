//! Asking a chat template questions: probe conversations are rendered, and the renderings compared.
//!
//! [`Capabilities`] says what a chat template renders, refuses or silently drops. [`Findings`] say
//! how its model writes a turn: after which texts it begins, what encloses reasoning, content and
//! calls, and how a call is written. From findings any kind of parser can be written;
//! [`derive`](crate::derive::derive()) writes response templates.
//!
//! ```
//! use unjinja::analysis::{Capabilities, Findings, Outcome, Topic};
//! use unjinja::chat_template::{ChatTemplate, RenderInput};
//!
//! let template = ChatTemplate::from_jinja(
//!     "{% for m in messages %}<{{ m.role }}>\
//!      {% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}\
//!      {{ m.content }}<end>{% endfor %}\
//!      {% if add_generation_prompt %}<assistant>{% endif %}",
//! );
//! let base = RenderInput::default();
//!
//! let can = Capabilities::of(&template, &base)?;
//! assert_eq!(can.outcome(Topic::ReasoningInLastTurn), Some(&Outcome::Rendered));
//! assert_eq!(can.outcome(Topic::ToolCalls), Some(&Outcome::Dropped));
//!
//! let findings = Findings::of(&template, &base)?;
//! assert_eq!(findings.turn.headers, ["<assistant>"]);
//! assert_eq!(findings.reasoning.and_then(|shape| shape.close).as_deref(), Some("</think>"));
//! # Ok::<(), unjinja::chat_template::RenderError>(())
//! ```
//!
//! No model's name is looked for, and no sentence of a template. Probes hold words that occur
//! nowhere else; where they come out in a rendering, there is the slot, and where they don't, the
//! template has no use for what they stood for.

/// Shows values by their names for programs.
macro_rules! show_by_key {
    ($($shown:ident),+) => {$(
        /// Its [`key`](Self::key).
        impl std::fmt::Display for $shown {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.key())
            }
        }
    )+};
}

// In the order in which they build upon each other: no file imports from one of a later group.
pub(crate) mod advice;

pub(crate) mod probe;

mod assumed;
mod variables;

mod capabilities;

pub(crate) mod assistant_turn;
pub(crate) mod input_form;
pub(crate) mod turn_prober;

mod call_probe;

pub(crate) mod conversations;
mod turn;
mod turn_headers;

mod certainty;
mod delimiters;

mod call_shape;

mod call_parts;
mod call_renderings;
mod written_values;

mod arguments;
mod call_body;
mod hints;

mod calls;
mod content;
mod given;
mod header_variants;
mod missing_tokens;
mod outputs;
mod reasoning;
mod reasoning_inference;
mod reasoning_variants;
mod sample_turns;

mod analyze;
mod conversation;
mod definitions;
mod evidence;
mod findings;
mod findings_value;
mod infer_format;
mod passages;
mod statement;
mod wording;
mod wording_probe;

pub use assumed::{AssumedVariable, PlainValue};
pub use call_shape::CallShape;
pub use capabilities::{
    Answer, Capabilities, Departure, Follower, GenerationPrompt, Outcome, PrefixKept, Thinking,
    Topic,
};
pub use certainty::Certainty;
pub use content::ContentShape;
pub use evidence::{Evidence, EvidenceRendering};
pub use findings::Findings;
pub use missing_tokens::MissingToken;
pub use outputs::ModelOutput;
pub use reasoning::ReasoningShape;
pub(crate) use reasoning_variants::ReasoningVariant;
pub use statement::{Statement, Subject};
pub use turn::TurnShape;
pub use variables::{Switch, Variable};

pub(crate) use analyze::{Analysis, analyze};
pub(crate) use call_parts::{CallKeys, CallParts, SingleArguments};
pub(crate) use call_probe::probe_tools;
pub(crate) use conversation::ConversationShape;
pub(crate) use header_variants::with_any_numbers;
pub(crate) use infer_format::infer_format;
pub(crate) use turn_headers::TurnHeaders;
pub(crate) use variables::{ThinkingSwitch, is_given};

#[cfg(test)]
mod tests;
