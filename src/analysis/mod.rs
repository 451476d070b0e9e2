//! Asking a chat template questions: probe conversations are rendered, and the renderings compared.
//!
//! Nobody's name is looked for, and no sentence of a template. Probes hold words that occur
//! nowhere else; where they come out in a rendering, there is the slot, and where they don't, the
//! template has no use for what they stood for.

mod arguments;
pub(crate) mod asking;
mod calls;
mod capabilities;
mod content;
mod evidence;
mod findings;
mod hints;
pub(crate) mod markers;
mod probe;
mod reasoning;
mod statement;
mod turn;
mod variables;

pub use arguments::Tagged;
pub use calls::{CallBody, CallKeys, CallShape, Dialect, Slot};
pub use capabilities::{Answer, Capabilities, GenerationPrompt, Outcome, Thinking, Topic};
pub use content::ContentShape;
pub use evidence::Evidence;
pub use findings::Findings;
pub use reasoning::ReasoningShape;
pub use statement::{Certainty, Statement, Subject};
pub use turn::TurnShape;
pub(crate) use turn::{Openings, dedup};
pub use variables::{Switch, Variable};

pub(crate) use calls::{slotted, tools};
pub(crate) use findings::{Analysis, analyze, with_tokens};
