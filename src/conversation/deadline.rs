//! What it may take to ask a template about its conversations, since anybody may have written it.

use std::time::Duration;

use crate::chat_template::{RenderError, RenderInput, Renderer, Rendering};
use crate::stopwatch::Stopwatch;

/// How long all renderings for one question may take together, with the analysis before them, which may take all of it. Ordinary
/// templates take a tenth of a second for a marking.
const MAX_TIME: Duration = Duration::from_secs(5);

/// How long a rendering of a few short messages may be, in bytes. There are dozens of them, and all are kept.
const MAX_RENDERING: usize = 1 << 18;

/// How long such a rendering may be with notes of what has written it.
const MAX_NOTED: usize = 1 << 20;

/// Renders until it has taken too long.
#[derive(Clone, Copy)]
pub(crate) struct Deadline {
    since: Stopwatch,
    most: Duration,
}

impl Deadline {
    pub(super) fn begin() -> Deadline {
        Deadline::of(MAX_TIME)
    }

    /// For so long.
    pub(crate) fn of(most: Duration) -> Deadline {
        Deadline {
            since: Stopwatch::start(),
            most,
        }
    }

    pub(crate) fn is_over(self) -> bool {
        self.since.elapsed() > self.most
    }

    /// Renders a few short messages.
    pub(crate) fn render(
        self,
        renderer: &Renderer<'_>,
        input: &RenderInput,
    ) -> Result<Rendering, RenderError> {
        self.render_up_to(MAX_RENDERING, renderer, input)
    }

    /// The same with a template that notes what it writes.
    pub(super) fn render_noted(
        self,
        renderer: &Renderer<'_>,
        input: &RenderInput,
    ) -> Result<Rendering, RenderError> {
        self.render_up_to(MAX_NOTED, renderer, input)
    }

    fn render_up_to(
        self,
        most: usize,
        renderer: &Renderer<'_>,
        input: &RenderInput,
    ) -> Result<Rendering, RenderError> {
        if self.is_over() {
            return Err(RenderError::given_up(
                "rendering conversations takes too long",
            ));
        }
        let rendering = renderer.render(input)?;
        match rendering.text.len() > most {
            true => Err(RenderError::given_up(format!(
                "the rendering of a few short messages is longer than {most} bytes"
            ))),
            false => Ok(rendering),
        }
    }
}
