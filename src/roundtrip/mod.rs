//! Outputs on their way back into a prompt: whether the next prompt still begins with what the model wrote.
//!
//! Who trains on what a model wrote step by step, or caches it, needs that. An output is parsed, its message is put behind
//! the conversation, something is said behind it, and all is rendered: each difference has a [`Cause`].
//!
//! ```
//! use unjinja::chat_template::{ChatTemplate, RenderInput};
//! use unjinja::roundtrip::{Cause, Roundtrip};
//! use unjinja::{ResponseTemplate, json};
//!
//! let template = ChatTemplate::from_jinja(
//!     "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}<end>{% endfor %}\
//!      {% if add_generation_prompt %}<assistant>{% endif %}",
//! );
//! let response = ResponseTemplate::from_json(
//!     r#"{"start_anchor": "<assistant>", "fields": {"content": {"close": "<end>"}}}"#)?;
//! let prepared = template.prepare();
//! let roundtrip = Roundtrip::new(&template, &prepared, &response, &RenderInput::default())?;
//! let conversation = RenderInput {
//!     messages: json::read(r#"[{"role": "user", "content": "Hi"}]"#)?,
//!     ..RenderInput::default()
//! };
//! let way = roundtrip.of(&conversation, "Hello!<end>", None)?;
//! assert!(way.departure.is_none());
//! let way = roundtrip.of(&conversation, " Hello!<end>", None)?;
//! let departure = way.departure.expect("a blank is trimmed");
//! assert_eq!((departure.at, departure.cause), (24, Cause::WhiteSpace));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cause;
mod examples;
mod forms;

use std::fmt;

use crate::chat_template::{ChatTemplate, PreparedTemplate, RenderError, RenderInput, Renderer};
use crate::markers::{boundary, common_prefix};
use crate::response::{ParseError, ParserOptions, ResponseTemplate, Tools, parse};
use crate::value::{Object, Value};

pub use cause::Cause;
pub use examples::{Example, examples};

/// Sends outputs of one model back into prompts.
#[derive(Debug)]
pub struct Roundtrip<'t> {
    renderer: Renderer<'t>,
    response: &'t ResponseTemplate,
    /// What all conversations have in common, with the template's tokens.
    base: RenderInput,
}

/// The way of an output back into a prompt.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Way {
    /// The prompt, with the output behind it.
    pub written: String,
    /// Where in it the output begins, in bytes.
    pub output_at: usize,
    /// The message that was read of the output, in the form in which the template has taken it.
    pub message: Object,
    /// The conversation with that message, and what is said behind it.
    pub next: RenderInput,
    /// What the template makes of that.
    pub rendered: String,
    /// Where the prompt ceases to be what was written, if it does.
    pub departure: Option<Departure>,
}

/// Where a prompt ceases to be what was written before.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Departure {
    /// The first character that differs, counted from 0.
    pub at: usize,
    /// What was written from there on, shortened.
    pub wrote: String,
    /// What is rendered from there on, shortened.
    pub renders: String,
    /// Why.
    pub cause: Cause,
}

/// Why an output has no way back.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RoundtripError {
    /// The template does not take the conversation before the output.
    Prompt(RenderError),
    /// The output can't be read.
    Output(ParseError),
    /// The template does not take the conversation with the message that was read, and what is said behind it.
    Next(RenderError),
    /// The messages are no list.
    NoMessages,
}

impl fmt::Display for RoundtripError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RoundtripError::Prompt(error) => write!(f, "the prompt: {error}"),
            RoundtripError::Output(error) => write!(f, "the output: {error}"),
            RoundtripError::Next(error) => write!(f, "the conversation with the message: {error}"),
            RoundtripError::NoMessages => f.write_str("`messages` is not a list"),
        }
    }
}

impl std::error::Error for RoundtripError {}

/// How many characters are shown of what differs.
const SHOWN: usize = 60;

impl<'t> Roundtrip<'t> {
    /// `prepared` is made of `template`. `base` has what all conversations have in common: the tokens, the time, and
    /// variables.
    ///
    /// # Errors
    ///
    /// If the chat template is not valid Jinja.
    pub fn new(
        template: &ChatTemplate,
        prepared: &'t PreparedTemplate,
        response: &'t ResponseTemplate,
        base: &RenderInput,
    ) -> Result<Roundtrip<'t>, RenderError> {
        Ok(Roundtrip {
            renderer: prepared.renderer()?,
            response,
            base: template.given(base),
        })
    }

    /// The way of an output back into the prompt that begins with this conversation. `following` is what is said behind
    /// it; if it is not given, each call is answered, or the user goes on.
    ///
    /// # Errors
    ///
    /// If the template does not take the conversation, before or after, or if the output can't be read.
    pub fn of(
        &self,
        conversation: &RenderInput,
        output: &str,
        following: Option<&[Value]>,
    ) -> Result<Way, RoundtripError> {
        let (bos_token, eos_token) = (
            self.base.bos_token.as_deref(),
            self.base.eos_token.as_deref(),
        );
        let mut conversation = conversation.or_tokens(bos_token, eos_token);
        conversation.now = conversation.now.or(self.base.now);
        conversation.add_generation_prompt = true;
        let mut variables = self.base.variables.clone();
        variables.extend(std::mem::take(&mut conversation.variables));
        conversation.variables = variables;
        let said = conversation
            .messages
            .as_array()
            .ok_or(RoundtripError::NoMessages)?
            .to_vec();
        let prompt = self
            .renderer
            .render(&conversation)
            .map_err(RoundtripError::Prompt)?
            .text;
        let options = ParserOptions::default().tools(Tools::from_value(&conversation.tools));
        let message =
            parse(self.response, &prompt, output, options).map_err(RoundtripError::Output)?;
        let mut refusal = None;
        for form in forms::Form::ALL {
            let Some(message) = form.message(&message) else {
                continue;
            };
            let behind = match following {
                Some(following) => following.to_vec(),
                None => forms::following(&message),
            };
            let messages = said
                .iter()
                .cloned()
                .chain([message.clone().into()])
                .chain(behind);
            let next = RenderInput {
                messages: messages.collect(),
                ..conversation.clone()
            };
            match self.renderer.render(&next) {
                Ok(rendering) => {
                    return Ok(Way::of(prompt, output, message, next, rendering.text));
                }
                Err(error) => {
                    refusal.get_or_insert(error);
                }
            }
        }
        Err(refusal.map_or(RoundtripError::NoMessages, RoundtripError::Next))
    }
}

impl Way {
    fn of(
        prompt: String,
        output: &str,
        message: Object,
        next: RenderInput,
        rendered: String,
    ) -> Way {
        let output_at = prompt.len();
        let written = prompt + output;
        let mut way = Way {
            written,
            output_at,
            message,
            next,
            rendered,
            departure: None,
        };
        if !way.rendered.starts_with(&way.written) {
            let at = common_prefix(&way.written, &way.rendered);
            // A marker is shown as a whole.
            let from = boundary(&way.written, at);
            let from = match at >= way.output_at {
                true => from.max(way.output_at),
                false => from,
            };
            let shown = |text: &str| text[from..].chars().take(SHOWN).collect();
            way.departure = Some(Departure {
                at: way.written[..at].chars().count(),
                wrote: shown(&way.written),
                renders: shown(&way.rendered),
                cause: Cause::of(&way, from),
            });
        }
        way
    }

    /// What the model wrote.
    pub fn output(&self) -> &str {
        &self.written[self.output_at..]
    }
}
