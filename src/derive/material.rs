//! What drafts are written from, and what they are tried on.

use crate::analysis::{Analysis, Findings, analyze};
use crate::chat_template::{ChatTemplate, RenderError, RenderInput};

use super::damage::{self, Damaged};
use super::sample::{self, Samples};
use super::synthetic;

/// What drafts are written from, and what they are tried on.
pub(super) struct Material {
    pub(super) findings: Findings,
    pub(super) samples: Samples,
    pub(super) damaged: Vec<Damaged>,
}

impl Material {
    /// Renders all of it.
    pub(super) fn gather(
        template: &ChatTemplate,
        base: &RenderInput,
    ) -> Result<Material, RenderError> {
        let prepared = template.prepare();
        let Analysis {
            mut prober,
            headers,
            findings,
        } = analyze(template, &prepared, base)?;
        let mut samples = sample::render(&mut prober, &headers, &findings);
        let synthetic = synthetic::samples(&findings, &samples.all);
        samples.all.extend(synthetic);
        let damaged = damage::all(&findings, &samples.all);
        Ok(Material {
            findings,
            samples,
            damaged,
        })
    }
}
