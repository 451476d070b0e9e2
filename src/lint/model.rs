//! What a chat template shows of the model whose outputs are read.

use crate::analysis::asking::{Asking, Mode, Scene};
use crate::analysis::{Analysis, analyze, tools, with_tokens};
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

const SCENES: [(Scene, &str); 3] = [
    (Scene::Question, "a question"),
    (Scene::SecondQuestion, "a second question"),
    (Scene::AfterTool, "a tool's answer"),
];

const MODES: [(Mode, &str); 3] = [
    (Mode::Unset, ""),
    (Mode::On, ", with thinking on"),
    (Mode::Off, ", with thinking off"),
];

impl Model {
    pub(super) fn of(template: &ChatTemplate, base: &RenderInput) -> Result<Model, RenderError> {
        let prepared = template.prepare();
        let base = with_tokens(template, base);
        let Analysis {
            mut asking,
            findings,
            ..
        } = analyze(template, &prepared, base)?;
        let mut prompts = Vec::new();
        asking.offer(Vec::new());
        take_prompts(&asking, "", &mut prompts);
        let offered = tools(&asking);
        asking.offer(offered);
        take_prompts(&asking, ", with tools", &mut prompts);
        let ends = findings.turn.ends;
        let tokens = ends.iter().chain(&template.special_tokens).cloned();
        Ok(Model {
            tokens: tokens.collect(),
            ends,
            prompts,
        })
    }
}

/// Renders the prompts of all scenes and modes, as far as the chat template takes them.
fn take_prompts(asking: &Asking<'_>, offered: &str, prompts: &mut Vec<Prompt>) {
    for (scene, asked) in SCENES {
        for (mode, thinking) in MODES {
            let Ok(prompt) = asking.prompt(scene, mode) else {
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
