//! How sure a finding is.

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Certainty {
    /// Only instructions or the names of special tokens hint at it.
    Guessed,
    /// It is never rendered, but prompts begin it, or the template takes it out of what it
    /// is given.
    Inferred,
    /// It was seen in outputs of the model, and is never rendered.
    Observed,
    /// It was seen in renderings.
    Seen,
}

impl Certainty {
    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            Certainty::Guessed => "guessed",
            Certainty::Inferred => "inferred",
            Certainty::Observed => "observed",
            Certainty::Seen => "seen",
        }
    }
}

show_by_key!(Certainty);
