//! The proof of a reading: what was read renders to the same text again.

use std::ops::Range;

use crate::analysis::ConversationShape;
use crate::analysis::input_form::EmptyContent;
use crate::chat_template::{RenderError, RenderInput, Renderer};
use crate::value::{Object, Value};

use super::messages::{self, Made, Variation};
use super::path::Path;

/// Whether what was read renders to the same text again.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Proof {
    /// It does. A text that ends before its conversation does is the beginning of what comes out.
    Same,
    /// It does, but for the definitions of tools: the template writes them in words of its own, which are not
    /// read back.
    SameButTools {
        /// Where these stand in the text, in bytes.
        tools: Range<usize>,
    },
    /// It renders to another text.
    Differs {
        /// The byte at which the texts part.
        at: usize,
        /// What comes out from there on, or the beginning of it.
        rendered: String,
    },
    /// The template refuses what was read.
    Refused(RenderError),
    /// It was not rendered.
    NotTried,
}

impl Proof {
    /// Whether all that was read renders to its text again.
    pub(super) fn holds(&self) -> bool {
        matches!(self, Proof::Same | Proof::SameButTools { .. })
    }
}

/// The reading of a path, with what the text leaves open settled by rendering.
pub(super) struct Settled {
    pub(super) made: Made,
    pub(super) variables: Object,
    pub(super) proof: Proof,
}

/// About so many bytes are rendered to find the variation that a text was made of: of a long text, not all are
/// tried.
const MAX_TRIED: usize = 32 << 20;

/// Settles what a text leaves open: of all variations, the first that renders to the text is taken.
pub(super) fn settle(
    shape: &ConversationShape,
    renderer: Option<&Renderer<'_>>,
    path: &Path<'_>,
    text: &str,
    is_open: bool,
) -> Option<Settled> {
    let mut first: Option<Settled> = None;
    let mut tried = 0;
    for variation in variations(shape) {
        let mut made = messages::make(shape, path, text, variation)?;
        let Some(renderer) = renderer else {
            return Some(Settled {
                made,
                variables: Object::new(),
                proof: Proof::NotTried,
            });
        };
        for variables in switched(&shape.switches) {
            let proof = prove(
                shape,
                renderer,
                &mut made,
                &variables,
                (text, path, is_open),
            );
            if proof.holds() {
                return Some(Settled {
                    made,
                    variables,
                    proof,
                });
            }
            let is_better = match (&proof, first.as_ref().map(|first| &first.proof)) {
                (_, None) => true,
                (Proof::Differs { at, .. }, Some(Proof::Differs { at: known, .. })) => at > known,
                (Proof::Differs { .. }, Some(_)) => true,
                _ => false,
            };
            // Other variations would take as long.
            let is_too_long = matches!(&proof, Proof::Refused(error) if error.is_exhausted());
            if is_better {
                first = Some(Settled {
                    made: made.clone(),
                    variables,
                    proof,
                });
            }
            tried += text.len();
            if is_too_long || tried > MAX_TRIED {
                return first;
            }
        }
    }
    first
}

/// What a conversation may have been made of, the most common first.
fn variations(shape: &ConversationShape) -> Vec<Variation> {
    let usual = Variation {
        form: shape.form,
        system_first: true,
        wraps_tools: true,
        counts_anew: false,
    };
    let mut all = vec![usual];
    for empty_content in [
        EmptyContent::EmptyText,
        EmptyContent::Null,
        EmptyContent::Absent,
    ] {
        if empty_content != shape.form.empty_content {
            let mut other = usual;
            other.form.empty_content = empty_content;
            all.push(other);
        }
    }
    all.push(Variation {
        system_first: false,
        ..usual
    });
    all.push(Variation {
        wraps_tools: false,
        ..usual
    });
    all.push(Variation {
        counts_anew: true,
        ..usual
    });
    all
}

/// The switches in every way: not given, on, off.
fn switched(switches: &[String]) -> Vec<Object> {
    let mut all = vec![Object::new()];
    if !switches.is_empty() {
        for value in [true, false] {
            let names = switches
                .iter()
                .map(|name| (name.as_str(), Value::from(value)));
            all.push(names.collect());
        }
    }
    all
}

fn prove(
    shape: &ConversationShape,
    renderer: &Renderer<'_>,
    made: &mut Made,
    variables: &Object,
    (text, path, is_open): (&str, &Path<'_>, bool),
) -> Proof {
    let unread = path.unread_tools();
    let mut rendered = String::new();
    // Definitions in words are read if all goes well.
    if unread.is_none() || !made.tools.is_empty() {
        let tools = made.tools.clone().into();
        match render(shape, renderer, made, tools, variables, path.is_prompt) {
            Ok(text) => rendered = text,
            Err(error) if unread.is_none() => return Proof::Refused(error),
            Err(_) => {}
        }
        if rendered == text || (is_open && rendered.starts_with(&text[..path.open_from(text)])) {
            return Proof::Same;
        }
    }
    if let Some(tools) = unread {
        let stand_in = shape.stand_in_tools.clone();
        rendered = match render(shape, renderer, made, stand_in, variables, path.is_prompt) {
            Ok(text) => text,
            Err(error) => return Proof::Refused(error),
        };
        if let Some(rest) = rendered.strip_prefix(&text[..tools.start]) {
            let behind = &text[tools.end..];
            if rest.ends_with(behind) || (is_open && rest.contains(behind)) {
                made.tools.clear();
                return Proof::SameButTools { tools };
            }
        }
    }
    let pairs = rendered.char_indices().zip(text.chars());
    let same = pairs.take_while(|((_, a), b)| a == b).last();
    let at = same.map_or(0, |((at, c), _)| at + c.len_utf8());
    Proof::Differs {
        at,
        rendered: rendered[at..].chars().take(80).collect(),
    }
}

/// The text that the template writes for what was read.
fn render(
    shape: &ConversationShape,
    renderer: &Renderer<'_>,
    made: &mut Made,
    tools: Value,
    variables: &Object,
    is_prompt: bool,
) -> Result<String, RenderError> {
    // They may be long, so they are lent.
    let messages = Value::Array(std::mem::take(&mut made.messages));
    let input = input(shape, (messages, tools), variables, is_prompt);
    let rendered = renderer.render(&input);
    if let Value::Array(messages) = input.messages {
        made.messages = messages;
    }
    Ok(rendered?.text)
}

/// What the template is given to write a conversation.
pub(super) fn input(
    shape: &ConversationShape,
    (messages, tools): (Value, Value),
    variables: &Object,
    is_prompt: bool,
) -> RenderInput {
    let mut all_variables = shape.base.variables.clone();
    all_variables.extend(variables.clone());
    let offers_tools = tools.as_array().is_some_and(|tools| !tools.is_empty());
    RenderInput {
        messages,
        tools: match offers_tools {
            true => tools,
            false => shape.no_tools.clone(),
        },
        add_generation_prompt: is_prompt,
        variables: all_variables,
        ..shape.base.clone()
    }
}
