//! Asking a chat template questions: probe conversations are rendered, and the renderings compared.
//!
//! Nobody's name is looked for, and no sentence of a template. Probes hold words that occur
//! nowhere else; where they come out in a rendering, there is the slot, and where they don't, the
//! template has no use for what they stood for.

mod capabilities;
mod probe;
mod variables;

pub use capabilities::{Answer, Capabilities, GenerationPrompt, Outcome, Thinking, Topic};
pub use variables::{Switch, Variable};
