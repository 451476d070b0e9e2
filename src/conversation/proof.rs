//! The proof of a reading: what was read renders to the same text again.

use std::ops::Range;

use crate::analysis::input_form::EmptyContent;
use crate::analysis::probe::{message, with};
use crate::analysis::{ConversationShape, ThinkingSwitch};
use crate::chat_template::{REASONING_KEYS, RenderError, RenderInput, Renderer};
use crate::markers::same_start;
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
    /// What stands behind the messages for what comes behind the end of the text.
    pub(super) next: Vec<Value>,
    /// Whether it stands in place of the last one.
    pub(super) replaces_last: bool,
    /// Up to where the text was to come out again.
    pub(super) shown: usize,
    pub(super) proof: Proof,
}

/// About so many bytes are rendered to find the variation that a text was made of: of a long text, not all are
/// tried.
const MAX_TRIED: usize = 16 << 20;

/// Settles what a text leaves open: of all variations, the first that renders to the text is taken.
pub(super) fn settle(
    shape: &ConversationShape,
    renderer: Option<&Renderer<'_>>,
    path: &Path<'_>,
    text: &str,
    is_open: bool,
) -> Option<Settled> {
    let Some(renderer) = renderer else {
        return Some(Settled {
            made: messages::make(shape, path, text, Variation::usual(shape))?,
            variables: Object::new(),
            next: Vec::new(),
            replaces_last: false,
            shown: text.len(),
            proof: Proof::NotTried,
        });
    };
    let mut trial = Trial {
        shape,
        renderer,
        path,
        text,
        shown: text.len(),
        is_open,
        next: Vec::new(),
        tried: 0,
    };
    let settled = trial.settle()?;
    if settled.proof.holds() {
        return Some(settled);
    }
    // What the template writes of a message may depend on those behind it, of which the text has nothing, or the
    // beginning of a header.
    trial.is_open = true;
    for next in nexts() {
        trial.next = next;
        let settled = trial.settle()?;
        if settled.proof.holds() {
            return Some(settled);
        }
    }
    if let Some(begun) = begun(&trial) {
        return Some(begun);
    }
    trial.is_open = is_open;
    trial.shown = path.open_from(text);
    if trial.shown == text.len() {
        return Some(settled);
    }
    trial.next.clear();
    trial.settle()
}

/// Stands for what is not yet said.
const WORD: &str = "x";

/// What may come behind the messages of a text that is cut off.
fn nexts() -> [Vec<Value>; 5] {
    let (question, answer) = (message("user", WORD), message("assistant", WORD));
    let thoughtful = with(answer.clone(), REASONING_KEYS[0], WORD);
    [
        vec![question.clone()],
        vec![thoughtful],
        vec![answer.clone()],
        vec![answer, question],
        vec![message("tool", WORD)],
    ]
}

/// What is opened and has nothing in it yet may be written for nothing but a text: thoughts often are.
fn begun(trial: &Trial<'_>) -> Option<Settled> {
    let mut path = trial.path.clone();
    let last = path.stops.last_mut()?;
    let is_begun = last.slot.is_assistant() && last.range.is_empty();
    if !is_begun || last.range.end != trial.text.len() {
        return None;
    }
    last.range.end += WORD.len();
    let filled = Trial {
        path: &path,
        text: &format!("{}{WORD}", trial.text),
        next: Vec::new(),
        ..*trial
    }
    .settle()?;
    let made = messages::make(
        trial.shape,
        trial.path,
        trial.text,
        Variation::usual(trial.shape),
    )?;
    filled.proof.holds().then_some(Settled {
        next: filled.made.messages.last().cloned().into_iter().collect(),
        replaces_last: true,
        made,
        ..filled
    })
}

/// A path that is rendered again.
struct Trial<'a> {
    shape: &'a ConversationShape,
    renderer: &'a Renderer<'a>,
    path: &'a Path<'a>,
    text: &'a str,
    /// Up to where it is to come out.
    shown: usize,
    /// Whether more may come out behind it.
    is_open: bool,
    /// Messages behind those that were read.
    next: Vec<Value>,
    /// About how many bytes have been rendered.
    tried: usize,
}

impl Trial<'_> {
    /// The first variation that renders to the text, or the one that is like it for longest.
    fn settle(&mut self) -> Option<Settled> {
        let mut first: Option<Settled> = None;
        for variation in variations(self.shape) {
            let mut made = messages::make(self.shape, self.path, self.text, variation)?;
            for variables in switched(&self.shape.switches) {
                let proof = self.prove(&mut made, &variables);
                let is_better = match (&proof, first.as_ref().map(|first| &first.proof)) {
                    (_, None) => true,
                    (Proof::Differs { at, .. }, Some(Proof::Differs { at: known, .. })) => {
                        at > known
                    }
                    (Proof::Differs { .. }, Some(_)) => true,
                    _ => false,
                };
                let holds = proof.holds();
                // Other variations would take as long.
                let is_too_long = matches!(&proof, Proof::Refused(error) if error.is_exhausted());
                self.tried += self.text.len();
                let settled = |made: Made| Settled {
                    made,
                    variables,
                    next: self.next.clone(),
                    replaces_last: false,
                    shown: self.shown,
                    proof,
                };
                if holds {
                    return Some(settled(made));
                }
                if is_better {
                    first = Some(settled(made.clone()));
                }
                if is_too_long || self.tried > MAX_TRIED {
                    return first;
                }
            }
        }
        first
    }

    fn prove(&self, made: &mut Made, variables: &Object) -> Proof {
        let (text, is_open) = (&self.text[..self.shown], self.is_open);
        let unread = self.path.unread_tools();
        let mut rendered = String::new();
        // Definitions in words are read if all goes well.
        if unread.is_none() || !made.tools.is_empty() {
            let tools = made.tools.clone().into();
            match self.render(made, tools, variables) {
                Ok(text) => rendered = text,
                Err(error) if unread.is_none() => return Proof::Refused(error),
                Err(_) => {}
            }
            if rendered == text || (is_open && rendered.starts_with(text.trim_end())) {
                return Proof::Same;
            }
        }
        if let Some(tools) = unread {
            let stand_in = self.shape.stand_in_tools.clone();
            rendered = match self.render(made, stand_in, variables) {
                Ok(text) => text,
                Err(error) => return Proof::Refused(error),
            };
            if let Some(rest) = rendered.strip_prefix(&self.text[..tools.start]) {
                let behind = text.get(tools.end..).unwrap_or_default();
                if rest.ends_with(behind) || (is_open && rest.contains(behind.trim_end())) {
                    made.tools.clear();
                    return Proof::SameButTools { tools };
                }
            }
        }
        let at = same_start(&rendered, text);
        Proof::Differs {
            at,
            rendered: rendered[at..].chars().take(80).collect(),
        }
    }

    /// The text that the template writes for what was read.
    fn render(
        &self,
        made: &mut Made,
        tools: Value,
        variables: &Object,
    ) -> Result<String, RenderError> {
        // They may be long, so they are lent.
        let mut messages = std::mem::take(&mut made.messages);
        let count = messages.len();
        messages.extend(self.next.clone());
        let given = (messages.into(), tools);
        let input = input(self.shape, given, variables, self.path.is_prompt);
        let rendered = self.renderer.render(&input);
        if let Value::Array(messages) = input.messages {
            made.messages = messages;
            made.messages.truncate(count);
        }
        Ok(rendered?.text)
    }
}

/// What a conversation may have been made of, the most common first.
fn variations(shape: &ConversationShape) -> Vec<Variation> {
    let usual = Variation::usual(shape);
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
fn switched(switches: &[ThinkingSwitch]) -> Vec<Object> {
    let mut all = vec![Object::new()];
    if !switches.is_empty() {
        all.extend([true, false].map(|on| {
            let switched = switches.iter().filter_map(|switch| switch.switched(on));
            switched.collect::<Object>()
        }));
    }
    all
}

/// What the template is given to write a conversation.
pub(super) fn input(
    shape: &ConversationShape,
    (messages, tools): (Value, Value),
    variables: &Object,
    is_prompt: bool,
) -> RenderInput {
    let offers_tools = tools.as_array().is_some_and(|tools| !tools.is_empty());
    let tools = offers_tools.then_some(tools);
    RenderInput {
        add_generation_prompt: is_prompt,
        ..shape.setting.input(messages, tools, variables)
    }
}
