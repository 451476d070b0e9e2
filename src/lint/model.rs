//! What a chat template shows of the model whose outputs are read.

use crate::analysis::turn_prober::{PrecedingMessages, ThinkingMode, TurnProber};
use crate::analysis::{Analysis, analyze, probe_tools};
use crate::budget::Budget;
use crate::chat_template::{ChatTemplate, RenderError, RenderInput};

/// What is known of a model.
pub(super) struct Model {
    /// The markers that end a turn.
    pub(super) ends: Vec<String>,
    /// Tokens that models write as tokens, and not in the middle of a string.
    pub(super) tokens: Vec<String>,
    /// Prompts of all kinds.
    pub(super) prompts: Vec<Prompt>,
}

/// A prompt.
pub(super) struct Prompt {
    /// What is asked, in words.
    pub(super) what: String,
    pub(super) text: String,
    /// Where the message before the assistant's turn ends.
    pub(super) turn: usize,
}

const PRECEDING: [(PrecedingMessages, &str); 3] = [
    (PrecedingMessages::Question, "a question"),
    (PrecedingMessages::SecondQuestion, "a second question"),
    (PrecedingMessages::AfterTool, "a tool's answer"),
];

const THINKING_MODES: [(ThinkingMode, &str); 3] = [
    (ThinkingMode::Unset, ""),
    (ThinkingMode::On, ", with thinking on"),
    (ThinkingMode::Off, ", with thinking off"),
];

impl Model {
    pub(super) fn of(template: &ChatTemplate, base: &RenderInput) -> Result<Model, RenderError> {
        let prepared = template.prepare_within(&Budget::of_question());
        let Analysis {
            mut prober,
            findings,
            ..
        } = analyze(template, &prepared, base, &[])?;
        let mut prompts = Vec::new();
        prober.offer(Vec::new());
        take_prompts(&prober, "", &mut prompts);
        let offered = probe_tools(&prober);
        prober.offer(offered);
        take_prompts(&prober, ", with tools", &mut prompts);
        let ends: Vec<String> = findings.turn.all_ends().cloned().collect();
        let tokens = ends.iter().chain(&template.special_tokens).cloned();
        Ok(Model {
            tokens: tokens.collect(),
            ends,
            prompts,
        })
    }
}

/// Renders the prompts behind all messages and of all modes, as far as the chat template takes them.
fn take_prompts(prober: &TurnProber<'_>, offered: &str, prompts: &mut Vec<Prompt>) {
    for (preceding, asked) in PRECEDING {
        for (mode, thinking) in THINKING_MODES {
            let Ok(prompt) = prober.prompt(preceding, mode) else {
                continue;
            };
            if prompts.iter().all(|known| known.text != prompt.text()) {
                prompts.push(Prompt {
                    what: format!("{asked}{offered}{thinking}"),
                    text: prompt.text().to_owned(),
                    turn: prompt.start,
                });
            }
        }
    }
}
