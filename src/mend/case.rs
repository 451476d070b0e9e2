//! Conversations that show a fault, or that there is none; and what is asked of their texts.

use std::time::Duration;

use crate::chat_template::{ChatTemplate, RenderInput, Renderer};
use crate::markers::common_prefix;
use crate::stopwatch::Stopwatch;

/// How long a rendering of a few short messages may be, in bytes.
const MAX_RENDERING: usize = 1 << 18;

/// How long all renderings for one fault may take.
const MAX_TIME: Duration = Duration::from_secs(20);

/// A text, or nothing if the template refuses the conversation.
pub(super) type Rendered = Option<String>;

/// What texts have to be like.
type Judge = Box<dyn Fn(&[Rendered]) -> bool>;

/// Conversations that belong together: one that grows, or one in several forms.
pub(super) struct Case {
    inputs: Vec<RenderInput>,
    /// What the template makes of them as it is.
    before: Vec<Rendered>,
    /// What a mended template has to make of them; `None` if they show no fault, and are to stay as they are.
    judge: Option<Judge>,
    /// If they show a fault: two of them that show it by where their texts differ.
    pub(super) differing: Option<[usize; 2]>,
}

impl Case {
    pub(super) fn new(
        inputs: Vec<RenderInput>,
        before: Vec<Rendered>,
        judge: Option<Judge>,
    ) -> Case {
        Case {
            inputs,
            before,
            judge,
            differing: None,
        }
    }

    pub(super) fn differing(mut self, pair: Option<[usize; 2]>) -> Case {
        self.differing = pair;
        self
    }

    /// The conversations that show the fault by where their texts differ, and that place.
    pub(super) fn difference(&self) -> Option<([&RenderInput; 2], usize)> {
        let [first, second] = self.differing?;
        let text = |index: usize| self.before.get(index)?.as_deref();
        let at = common_prefix(text(first)?, text(second)?);
        Some(([self.inputs.get(first)?, self.inputs.get(second)?], at))
    }

    pub(super) fn is_faulty(&self) -> bool {
        self.judge.is_some()
    }

    /// How many conversations are rendered for it.
    pub(super) fn size(&self) -> usize {
        self.inputs.len()
    }

    /// Whether a changed template does with the conversations what it has to. `None` if time is over.
    pub(super) fn holds(&self, renderer: &Renderer<'_>, patience: Patience) -> Option<bool> {
        let Some(judge) = &self.judge else {
            for (input, before) in self.inputs.iter().zip(&self.before) {
                if patience.render(renderer, input)? != *before {
                    return Some(false);
                }
            }
            return Some(true);
        };
        let texts = self
            .inputs
            .iter()
            .map(|input| patience.render(renderer, input));
        let texts: Vec<Rendered> = texts.collect::<Option<_>>()?;
        Some(judge(&texts))
    }
}

/// Renders until it has taken too long.
#[derive(Clone, Copy)]
pub(super) struct Patience(Stopwatch);

impl Patience {
    pub(super) fn begin() -> Patience {
        Patience(Stopwatch::start())
    }

    pub(super) fn is_over(self) -> bool {
        self.0.elapsed() > MAX_TIME
    }

    /// The text of a conversation. `None` if time is over; what is too long counts as refused.
    pub(super) fn render(self, renderer: &Renderer<'_>, input: &RenderInput) -> Option<Rendered> {
        if self.is_over() {
            return None;
        }
        let text = renderer.render(input).ok().map(|rendering| rendering.text);
        Some(text.filter(|text| text.len() <= MAX_RENDERING))
    }

    /// How many of some cases a template holds; `None` if it is not valid, or if time is over.
    pub(super) fn count(self, jinja: &str, cases: &[&Case]) -> Option<usize> {
        let prepared = ChatTemplate::from_jinja(jinja).prepare();
        let renderer = prepared.renderer().ok()?;
        let mut count = 0;
        for case in cases {
            count += usize::from(case.holds(&renderer, self)?);
        }
        Some(count)
    }
}
