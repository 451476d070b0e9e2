//! What is asked of a chat template, and what it answers.

/// What is asked of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Topic {
    /// A message of the system before the first user's.
    SystemMessage,
    /// The tools that are offered.
    Tools,
    /// Calls of tools in past turns of the assistant.
    ToolCalls,
    /// Several calls in one turn.
    ParallelCalls,
    /// A text beside calls.
    ContentBesideCalls,
    /// What tools have answered.
    ToolResults,
    /// The ids of calls.
    CallIds,
    /// The arguments of a call given as an object.
    ArgumentsAsObject,
    /// The arguments of a call given as a string of JSON.
    ArgumentsAsText,
    /// Reasoning in the turn that comes last.
    ReasoningInLastTurn,
    /// Reasoning in a turn that is followed by another question.
    ReasoningInPastTurns,
    /// Reasoning in a turn that calls a tool.
    ReasoningBesideCalls,
    /// The content of a message given as a list of parts.
    ContentParts,
    /// Several messages of the user in a row.
    UserTurnsInARow,
}

impl Topic {
    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            Topic::SystemMessage => "system_message",
            Topic::Tools => "tools",
            Topic::ToolCalls => "tool_calls",
            Topic::ParallelCalls => "parallel_calls",
            Topic::ContentBesideCalls => "content_beside_calls",
            Topic::ToolResults => "tool_results",
            Topic::CallIds => "call_ids",
            Topic::ArgumentsAsObject => "arguments_as_object",
            Topic::ArgumentsAsText => "arguments_as_text",
            Topic::ReasoningInLastTurn => "reasoning_in_last_turn",
            Topic::ReasoningInPastTurns => "reasoning_in_past_turns",
            Topic::ReasoningBesideCalls => "reasoning_beside_calls",
            Topic::ContentParts => "content_parts",
            Topic::UserTurnsInARow => "user_turns_in_a_row",
        }
    }
}

/// What a template does with something.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It comes out.
    Rendered,
    /// The template renders, but without it.
    Dropped,
    /// The template does not render with it, and says why.
    Refused(String),
}

impl Outcome {
    /// A name for programs.
    pub fn key(&self) -> &'static str {
        match self {
            Outcome::Rendered => "rendered",
            Outcome::Dropped => "dropped",
            Outcome::Refused(_) => "refused",
        }
    }
}

show_by_key!(Topic, Outcome);

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// What was asked.
    pub topic: Topic,
    /// What the template does with it.
    pub outcome: Outcome,
    /// What else there is to say, such as where it comes out.
    pub note: Option<String>,
}
