//! What the tables beside the rules share: tiny chat templates, and somebody who asks them.

use crate::chat_template::{ChatTemplate, RenderInput};
use crate::format::shown;

use super::call_probe::CallWords;
use super::findings::Findings;
use super::turn_prober::TurnProber;

/// A template that writes each message as `<user>…<end>`, and what the assistant says as some Jinja does.
pub(super) fn template(assistant: &str) -> ChatTemplate {
    ChatTemplate::from_jinja(format!(
        "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.role == 'assistant' %}}{assistant}\
         {{% else %}}{{{{ m.content }}}}{{% endif %}}<end>{{% endfor %}}\
         {{% if add_generation_prompt %}}<assistant>{{% endif %}}"
    ))
}

/// What is found of a template.
pub(super) fn found(template: &ChatTemplate) -> Findings {
    Findings::of(template, &RenderInput::default()).expect("it renders a question")
}

/// Asks a template something.
pub(super) fn asked<T>(template: &ChatTemplate, ask: impl FnOnce(&mut TurnProber<'_>) -> T) -> T {
    let prepared = template.prepare();
    let prober = TurnProber::new(template, &prepared, &RenderInput::default());
    ask(&mut prober.expect("it renders a question"))
}

/// How a template writes calls, if that is understood: what opens all of a turn, the tree, and what closes them.
pub(super) fn calls(assistant: &str) -> String {
    let calls = found(&template(assistant)).calls;
    calls.map_or_else(String::new, |calls| {
        let [open, close] = [&calls.section_open, &calls.section_close].map(|text| shown(text));
        format!("{open} {} {close}", calls.node)
            .replace("`` ", "")
            .replace(" ``", "")
    })
}

/// Words for calls that are written by hand.
pub(super) fn words() -> CallWords {
    CallWords {
        names: ["fa", "fb"].map(str::to_owned),
        keys: ["ka", "kb"].map(str::to_owned),
        values: ["va", "vb"].map(str::to_owned),
        number: 77,
    }
}
