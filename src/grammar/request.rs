//! What a request asks of a grammar.

use crate::format::Format;
use crate::remedy::Remedy;
use crate::response::Tools;
use crate::value::Value;

use super::turn;
use super::{Grammar, TooMuch};

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

/// The answer to a schema that is beyond a [limit](super::Limit).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Beyond {
    /// There is no grammar, and an error names the place.
    #[default]
    Refuse,
    /// Any value may stand at that place, which a warning names.
    Loosen,
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
    /// The answer to a schema that is beyond a limit.
    pub beyond: Beyond,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            tool_choice: ToolChoice::Auto,
            parallel: true,
            reasoning: Reasoning::Auto,
            answer: None,
            prompt: String::new(),
            beyond: Beyond::Refuse,
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

    /// With any value in place of a schema that is beyond a limit, or with an error.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    /// use unjinja::format::Format;
    /// use unjinja::grammar::{Beyond, Grammar, GrammarError, Limit, Request};
    /// use unjinja::{Tools, json};
    ///
    /// let template = ChatTemplate::from_jinja(
    ///     "{% for m in messages %}<{{ m.role }}>{{ m.content }}\
    ///      {% for t in m.tool_calls %}<call>{{ t.function | tojson }}</call>{% endfor %}<end>{% endfor %}\
    ///      {% if add_generation_prompt %}<assistant>{% endif %}",
    /// );
    /// let format = Format::of(&template, &RenderInput::default())?;
    /// let (open, close) = (r#"{"items": "#.repeat(200), "}".repeat(200));
    /// let tools = Tools::from_value(&json::read(&format!(
    ///     r#"[{{"name": "wait", "parameters": {{"properties": {{"at": {open}{{}}{close}}}}}}}]"#
    /// ))?);
    /// let Err(GrammarError::TooMuch(error)) = Grammar::of(&format, &tools, &Request::new()) else {
    ///     panic!("it is too deep");
    /// };
    /// assert_eq!(error.limit, Limit::Depth);
    /// assert_eq!(error.place.tool.as_deref(), Some("wait"));
    /// assert!(error.place.pointer.starts_with("/properties/at/items/items/"));
    ///
    /// let request = Request::new().beyond(Beyond::Loosen);
    /// assert!(!Grammar::of(&format, &tools, &request)?.warnings.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn beyond(mut self, beyond: Beyond) -> Request {
        self.beyond = beyond;
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
    /// The schema of a tool, or of an answer, is beyond a limit.
    #[error(transparent)]
    TooMuch(TooMuch),
    /// No turn fits what is asked for.
    #[error("no turn of this format is what the request asks for: {reason}")]
    NoTurn {
        /// What is missing.
        reason: String,
    },
}

impl GrammarError {
    /// The message, where a remedy has another name than in the library.
    pub fn explain(&self, name: impl Fn(Remedy) -> &'static str) -> String {
        match self {
            GrammarError::TooMuch(too_much) => too_much.explain(name),
            other => other.to_string(),
        }
    }
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
