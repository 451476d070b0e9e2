//! What a chat template writes between what the model wrote last and what it is to write next.

use std::fmt;

use crate::analysis::Findings;
use crate::chat_template::{ChatTemplate, RenderError, RenderInput, Renderer};
use crate::markers::{is_marker, pieces};
use crate::value::Value;

use super::mask::{Marking, MaskError};
use super::spans::{MaskPolicy, Spans};

/// The way from one turn of the model to the next: what is to be put behind a prompt and the output that followed, so
/// that the model goes on. Nothing of what it wrote is rendered anew, or cut into other tokens.
///
/// ```
/// use unjinja::chat_template::{ChatTemplate, RenderInput};
/// use unjinja::conversation::Bridge;
/// use unjinja::json;
///
/// let template = ChatTemplate::from_jinja(
///     "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}<end>{% endfor %}\
///      {% if add_generation_prompt %}<assistant>{% endif %}",
/// );
/// let bridge = Bridge::of(&template, &RenderInput::default())?;
/// let writer = bridge.writer()?;
/// let conversation = RenderInput {
///     messages: json::read(r#"[
///         {"role": "user", "content": "Hi"},
///         {"role": "assistant", "content": "Hello!"},
///         {"role": "user", "content": "Noon?"}
///     ]"#)?,
///     add_generation_prompt: true,
///     ..RenderInput::default()
/// };
/// // What the model wrote is no matter of the template: here it began with a blank.
/// assert_eq!(writer.text(&conversation, " Hello!<end>")?, "<user>Noon?<end><assistant>");
/// // Engines leave out the token that ends a turn, as a rule.
/// assert_eq!(writer.text(&conversation, " Hello!")?, "<end><user>Noon?<end><assistant>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Bridge {
    marking: Marking,
    /// The tokens that end turns.
    ends: Vec<String>,
}

/// Writes what leads from one turn to the next, with a template that is compiled; see [`Bridge`].
#[derive(Debug)]
pub struct BridgeWriter<'b> {
    bridge: &'b Bridge,
    renderer: Renderer<'b>,
}

/// Why nothing can be put behind an output.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BridgeError {
    /// The template does not take the conversation.
    Render(RenderError),
    /// There is no message of the assistant, or nothing behind the last one.
    NoTurn,
    /// The template writes nothing of the turn, so it can't be told what stands behind it.
    NotWritten,
}

impl fmt::Display for BridgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BridgeError::Render(error) => error.fmt(f),
            BridgeError::NoTurn => f.write_str(
                "there is no turn to continue: give the messages up to one of the assistant, and those after it",
            ),
            BridgeError::NotWritten => {
                f.write_str("the template writes nothing of the assistant's last message")
            }
        }
    }
}

impl std::error::Error for BridgeError {}

impl From<RenderError> for BridgeError {
    fn from(error: RenderError) -> BridgeError {
        BridgeError::Render(error)
    }
}

/// How long a marker may be, in bytes.
const MAX_MARKER: usize = 200;

impl Bridge {
    /// Finds out where a template's turns end. `base` holds what all conversations have in common: the tokens, and the
    /// time.
    ///
    /// # Errors
    ///
    /// As [`Marking::of`].
    pub fn of(template: &ChatTemplate, base: &RenderInput) -> Result<Bridge, MaskError> {
        let marking = Marking::of(template, base, MaskPolicy::default())?;
        let ends = Findings::of(template, base)?.turn.ends;
        Ok(Bridge { marking, ends })
    }

    /// Compiles the template.
    ///
    /// # Errors
    ///
    /// If it is not valid Jinja.
    pub fn writer(&self) -> Result<BridgeWriter<'_>, RenderError> {
        Ok(BridgeWriter {
            bridge: self,
            renderer: self.marking.marked().renderer()?,
        })
    }

    /// What ends a turn: one of the tokens that do, or a marker.
    fn ending<'t>(&self, turn: &'t str) -> &'t str {
        let ends = self.ends.iter().map(|end| end.trim());
        let known = ends
            .filter(|end| !end.is_empty() && turn.ends_with(end))
            .map(str::len)
            .max();
        match known {
            Some(length) => &turn[turn.len() - length..],
            None => {
                let mut from = turn.len().saturating_sub(MAX_MARKER);
                while !turn.is_char_boundary(from) {
                    from += 1;
                }
                let last = pieces(&turn[from..]).last();
                last.filter(|last| is_marker(last)).unwrap_or_default()
            }
        }
    }
}

impl BridgeWriter<'_> {
    /// What is to be put behind a prompt and the `output` that followed it. The conversation holds the output as its last
    /// message of the assistant, what was said behind it, and, as a rule, asks for a prompt.
    ///
    /// # Errors
    ///
    /// If the template does not take the conversation, or if nothing stands behind a turn.
    pub fn text(&self, conversation: &RenderInput, output: &str) -> Result<String, BridgeError> {
        let messages = conversation.messages.as_array().unwrap_or_default();
        let is_turn =
            |message: &Value| message.get("role").and_then(Value::as_str) == Some("assistant");
        let turn = messages
            .iter()
            .rposition(is_turn)
            .ok_or(BridgeError::NoTurn)?;
        if turn + 1 == messages.len() && !conversation.add_generation_prompt {
            return Err(BridgeError::NoTurn);
        }
        let rendering = self
            .renderer
            .render(&self.bridge.marking.with_tokens(conversation))?;
        let spans = Spans::of(rendering.generated);
        let end = spans.ranges().last().ok_or(BridgeError::NotWritten)?.end;
        let end = rendering
            .text
            .char_indices()
            .nth(end)
            .map_or(rendering.text.len(), |(at, _)| at);
        // White space behind what ends the turn is none of the model's, wherever the template writes it.
        let turn = rendering.text[..end].trim_end();
        let behind = &rendering.text[turn.len()..];
        let ending = self.bridge.ending(turn);
        let said = output.trim_end();
        if !said.ends_with(ending) {
            let before = &turn[..turn.len() - ending.len()];
            let blanks = &before[before.trim_end().len()..];
            let missing = blanks
                .strip_prefix(&output[said.len()..])
                .unwrap_or_default();
            return Ok(format!("{missing}{ending}{behind}"));
        }
        // White space that is written already is not written again.
        let blanks = output[said.len()..]
            .char_indices()
            .map(|(at, _)| &output[said.len() + at..]);
        let written = blanks
            .into_iter()
            .find_map(|blank| behind.strip_prefix(blank));
        Ok(written.unwrap_or(behind).to_owned())
    }
}
