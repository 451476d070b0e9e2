//! What drafts are written from, and what they are tried on.

use crate::analysis::{Findings, analyze};
use crate::budget::{Budget, TRYING};
use crate::chat_template::{ChatTemplate, PreparedTemplate, RenderError};

use super::damage::{self, Damaged};
use super::mentions::{self, Mention};
use super::options::DeriveOptions;
use super::output::{self, OutputCase};
use super::sample::{Samples, Sampling};
use super::surroundings::Surroundings;
use super::synthetic;

/// What drafts are written from, and what they are tried on.
pub(super) struct SearchInput {
    pub(super) findings: Findings,
    /// The same with brackets around markers that consist of several parts.
    pub(super) marked: Findings,
    pub(super) samples: Samples,
    /// Texts that speak of markers.
    pub(super) mentions: Vec<Mention>,
    pub(super) damaged: Vec<Damaged>,
    /// Outputs of the model.
    pub(super) outputs: Vec<OutputCase>,
    /// The work that trying drafts may take.
    pub(super) trying: Budget,
    /// What stands around the texts of a turn, if drafts may be written from it.
    pub(super) surroundings: Option<Surroundings>,
}

impl SearchInput {
    /// Renders all of it. What renders it can render more.
    pub(super) fn gather<'t>(
        template: &ChatTemplate,
        prepared: &'t PreparedTemplate,
        options: &DeriveOptions,
    ) -> Result<(SearchInput, Sampling<'t>), RenderError> {
        let analysis = analyze(template, prepared, &options.base, &options.outputs)?;
        let (findings, marked) = (analysis.findings.clone(), analysis.marked.clone());
        let mut sampling = Sampling::new(analysis);
        let mut samples = sampling.render(&findings);
        let synthetic = synthetic::samples(&findings, &samples.all);
        samples.all.extend(synthetic);
        let mentions = mentions::all(&findings, &marked, &samples.all);
        let damaged = damage::all(&findings, &samples.all);
        let outputs = output::cases(&findings, &samples, options);
        // What speaks of markers, and what models do to texts, is tried with the usual ones.
        samples.all.extend(sampling.render_varied(&findings));
        let search_input = SearchInput {
            outputs,
            findings,
            marked,
            samples,
            mentions,
            damaged,
            trying: prepared.budget().part(TRYING),
            surroundings: None,
        };
        Ok((search_input, sampling))
    }
}
