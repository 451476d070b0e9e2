//! All that is known of a format, complete enough to write any kind of parser from.

use super::assumed::AssumedVariable;
use super::call_shape::CallShape;
use super::content::ContentShape;
use super::missing_tokens::MissingToken;
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
    /// The variables that nobody gave and the template can't do without, and what they were taken to
    /// be: all else holds for these values only.
    pub assumed: Vec<AssumedVariable>,
    /// The tokens that the template writes into a turn or at its end, and that nobody has given: with
    /// any of them, what else was found is not what the model writes.
    pub missing_tokens: Vec<MissingToken>,
    /// What prompts write of the turn itself.
    pub prompt_remainders: Vec<String>,
}
