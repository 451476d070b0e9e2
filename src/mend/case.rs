//! Conversations that show a fault, or that there is none; and what is asked of their texts.

use crate::chat_template::{RenderInput, Renderer};
use crate::markers::{boundary, common_prefix};

/// A text, or nothing if the template refuses the conversation.
pub(super) type Rendered = Option<String>;

/// What texts have to be like.
pub(super) type Judge = Box<dyn Fn(&[Rendered]) -> bool>;

/// Conversations that belong together: one that grows, or one in several forms.
pub(super) struct Case {
    inputs: Vec<RenderInput>,
    /// What the template makes of them as it is.
    before: Vec<Rendered>,
    /// What a changed template has to make of them; `None` if they are to stay as they are.
    judge: Option<Judge>,
    /// Two of the conversations whose texts show the fault by where they differ, if they do.
    pair: Option<[usize; 2]>,
}

impl Case {
    /// Conversations that show no fault, and whose texts are to stay as they are.
    pub(super) fn new(inputs: Vec<RenderInput>, before: Vec<Rendered>) -> Case {
        Case {
            inputs,
            before,
            judge: None,
            pair: None,
        }
    }

    /// The same, with texts that may become others.
    pub(super) fn judged(mut self, judge: Judge) -> Case {
        self.judge = Some(judge);
        self
    }

    /// The same, with two texts that show the fault by where they differ.
    pub(super) fn faulty(mut self, pair: [usize; 2]) -> Case {
        self.pair = Some(pair);
        self
    }

    /// The conversations that show the fault by where their texts differ, and that place.
    pub(super) fn difference(&self) -> Option<([&RenderInput; 2], usize)> {
        let [first, second] = self.pair?;
        let text = |index: usize| self.before.get(index)?.as_deref();
        let (first_text, second_text) = (text(first)?, text(second)?);
        let at = boundary(first_text, common_prefix(first_text, second_text));
        Some(([self.inputs.get(first)?, self.inputs.get(second)?], at))
    }

    pub(super) fn is_faulty(&self) -> bool {
        self.pair.is_some()
    }

    /// How many conversations are rendered for it.
    pub(super) fn size(&self) -> usize {
        self.inputs.len()
    }

    /// Whether a changed template does with the conversations what it has to. `None` if the budget is spent.
    pub(super) fn holds(&self, renderer: &Renderer<'_>) -> Option<bool> {
        let Some(judge) = &self.judge else {
            for (input, before) in self.inputs.iter().zip(&self.before) {
                if rendered(renderer, input)? != *before {
                    return Some(false);
                }
            }
            return Some(true);
        };
        let texts = self.inputs.iter().map(|input| rendered(renderer, input));
        let texts: Vec<Rendered> = texts.collect::<Option<_>>()?;
        Some(judge(&texts))
    }
}

/// The text of a conversation. `None` if the budget is spent; what is too long counts as refused.
pub(super) fn rendered(renderer: &Renderer<'_>, input: &RenderInput) -> Option<Rendered> {
    let rendering = renderer.render_short(input).ok();
    let text = rendering.map(|rendering| rendering.text);
    // A rendering that ends with the budget is not refused.
    (text.is_some() || !renderer.budget().is_spent()).then_some(text)
}

/// How many of some cases a template holds; `None` if the budget is spent.
pub(super) fn count(renderer: &Renderer<'_>, cases: &[&Case]) -> Option<usize> {
    let mut count = 0;
    for case in cases {
        count += usize::from(case.holds(renderer)?);
    }
    Some(count)
}
