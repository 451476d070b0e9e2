//! All that is known of a format, complete enough to write any kind of parser from.

use super::call_shape::CallShape;
use super::content::ContentShape;
use super::reasoning::ReasoningShape;
use super::turn::TurnShape;

/// How a model writes its turn, as far as its chat template shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Findings {
    /// Where a turn begins and ends.
    pub turn: TurnShape,
    /// How reasoning is written.
    pub reasoning: Option<ReasoningShape>,
    /// How text is written.
    pub content: ContentShape,
    /// How calls of tools are written.
    pub calls: Option<CallShape>,
    /// Why no calls were rendered, in the template's words.
    pub calls_refused: Option<String>,
    /// What prompts write of the turn itself.
    pub prompt_remainders: Vec<String>,
}
