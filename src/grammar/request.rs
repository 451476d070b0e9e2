//! What a request asks of a grammar.

use crate::format::Format;
use crate::response::Tools;
use crate::value::Value;

use super::Grammar;
use super::turn;

/// Whether and what a model is to call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// As the model likes.
    #[default]
    Auto,
    /// At least one tool.
    Required,
    /// None.
    None,
    /// The tool of this name.
    Named(String),
}

/// Whether a model is to think before it answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reasoning {
    /// As the model likes, or as the prompt has begun.
    #[default]
    Auto,
    /// In any case.
    On,
    /// Not at all.
    Off,
}

/// What a request asks of a grammar.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// Whether and what the model is to call.
    pub tool_choice: ToolChoice,
    /// Whether it may call more than one tool, if the format has that.
    pub parallel: bool,
    /// Whether it is to think.
    pub reasoning: Reasoning,
    /// The JSON Schema of its answers, which are any text without one.
    pub answer: Option<Value>,
    /// The prompt, which may have begun the turn.
    pub prompt: String,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            tool_choice: ToolChoice::Auto,
            parallel: true,
            reasoning: Reasoning::Auto,
            answer: None,
            prompt: String::new(),
        }
    }
}

impl Request {
    /// A request that leaves all to the model.
    pub fn new() -> Request {
        Request::default()
    }

    /// With this choice of tools.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Request {
        self.tool_choice = choice;
        self
    }

    /// With several calls in a turn, or one at most.
    pub fn parallel(mut self, parallel: bool) -> Request {
        self.parallel = parallel;
        self
    }

    /// With or without reasoning.
    pub fn reasoning(mut self, reasoning: Reasoning) -> Request {
        self.reasoning = reasoning;
        self
    }

    /// With answers that are JSON of this schema. A turn without an answer has calls.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    /// use unjinja::format::Format;
    /// use unjinja::grammar::{Grammar, Request};
    /// use unjinja::{Tools, json};
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let format = Format::of(&template, &RenderInput::default())?;
    /// let schema = json::read(r#"{
    ///     "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
    ///     "additionalProperties": false
    /// }"#)?;
    /// let grammar = Grammar::of(&format, &Tools::none(), &Request::new().answer(schema))?;
    /// assert!(grammar.parse(r#"{"city": "Oslo"}<end>"#).is_ok());
    /// assert!(grammar.parse("Oslo<end>").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn answer(mut self, schema: impl Into<Value>) -> Request {
        self.answer = Some(schema.into());
        self
    }

    /// After this prompt.
    pub fn prompt(mut self, prompt: impl Into<String>) -> Request {
        self.prompt = prompt.into();
        self
    }
}

/// Why there is no grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrammarError {
    /// The format has no calls, and one is asked for.
    #[error(
        "a call is asked for, but it is not known how this model writes calls: {reason}. Ask for a \
         grammar with the tool choice `none` or `auto`"
    )]
    NoCalls {
        /// What is known.
        reason: String,
    },
    /// There is no tool of the name that is asked for.
    #[error("the tool `{name}` is asked for, but the tools are {}", listed(.known))]
    UnknownTool {
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// The prompt has begun the turn in a way that no rendering shows.
    #[error(
        "the prompt begins the turn with {begun:?}, and it is not known how a turn goes on behind that"
    )]
    Begun {
        /// What the prompt has written of the turn.
        begun: String,
    },
    /// No turn fits what is asked for.
    #[error("no turn of this format is what the request asks for: {reason}")]
    NoTurn {
        /// What is missing.
        reason: String,
    },
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => format!("`{}`", names.join("`, `")),
    }
}

impl Grammar {
    /// What a model of this format may write, behind the prompt and up to what ends its turn.
    ///
    /// # Errors
    ///
    /// If the format has no turn that the request asks for, or what is known of it is too uncertain for a
    /// constraint.
    pub fn of(format: &Format, tools: &Tools, request: &Request) -> Result<Grammar, GrammarError> {
        turn::grammar(format, tools, request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_that_there_are_are_named() {
        for (known, expected) in [
            (vec![], "the tools are none"),
            (vec!["read"], "the tools are `read`"),
            (vec!["read", "knock"], "the tools are `read`, `knock`"),
        ] {
            let error = GrammarError::UnknownTool {
                name: "tide".to_owned(),
                known: known.into_iter().map(str::to_owned).collect(),
            };
            let expected = format!("the tool `tide` is asked for, but {expected}");
            assert_eq!(error.to_string(), expected);
        }
    }
}
