//! Whether the response template that is derived of a chat template reads what the grammar of the same format allows.

use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::derive::{Derivation, DeriveOptions, derive};
use unjinja::format::Format;
use unjinja::grammar::{Grammar, Request, ToolChoice};
use unjinja::{Object, ResponseTemplate, Tools, Value};

use crate::grammar::sample::{Chance, misread};

/// So many texts are sampled from a grammar.
const SAMPLES: usize = 10;

/// How many texts with calls of each list of tools were sampled, and what was wrong with some. Nothing is sampled of formats without calls, or
/// of which no response template is derived that recovers all. Where the newest version of the language has another template, that
/// reads texts, too.
pub fn try_template(chat: &ChatTemplate, all_tools: &[Tools], seed: u64) -> (usize, Vec<String>) {
    let options = DeriveOptions::default();
    let Ok(derived) = derive(chat, &options) else {
        return (0, Vec::new());
    };
    let newer = derived.other_language();
    let newer = newer.and_then(|language| derive(chat, &options.language(language)).ok());
    let (mut tried, mut faults) = try_derived(chat, derived, all_tools, seed);
    if let Some(newer) = newer {
        let (samples, wrong) = try_derived(chat, newer, all_tools, seed);
        tried += samples;
        // No grammar knows which names an object has had that may have any.
        let wrong = wrong.into_iter();
        let wrong = wrong.filter(|fault| !fault.contains("a name comes twice"));
        faults.extend(wrong.map(|fault| format!("in the newest language: {fault}")));
    }
    (tried, faults)
}

/// The same with what was derived.
fn try_derived(
    chat: &ChatTemplate,
    derived: Derivation,
    all_tools: &[Tools],
    seed: u64,
) -> (usize, Vec<String>) {
    let template = Some(derived).filter(Derivation::is_whole);
    let template =
        template.and_then(|derived| ResponseTemplate::from_value(&derived.template).ok());
    let message = [("role", "user"), ("content", "When is high water?")];
    let message = message.map(|(key, text)| (key, Value::from(text)));
    let input = RenderInput {
        messages: vec![Value::from(Object::from_iter(message))].into(),
        tools: all_tools[0].as_value().clone(),
        add_generation_prompt: true,
        ..RenderInput::default()
    };
    let prompt = chat
        .prepare()
        .renderer()
        .and_then(|renderer| renderer.render(&input));
    let format = Format::of(chat, &RenderInput::default());
    let (Some(template), Ok(prompt), Ok(format)) = (template, prompt, format) else {
        return (0, Vec::new());
    };
    let mut chance = Chance(seed);
    let (mut tried, mut faults) = (0, Vec::new());
    for choice in [ToolChoice::Required, ToolChoice::Auto] {
        let request = Request::new()
            .prompt(prompt.text.as_str())
            .tool_choice(choice);
        for tools in all_tools {
            let Ok(grammar) = Grammar::of(&format, tools, &request) else {
                continue;
            };
            tried += SAMPLES;
            let wrong = (0..SAMPLES)
                .filter_map(|_| misread(&grammar, &template, &prompt.text, tools, &mut chance));
            faults.extend(wrong);
        }
    }
    (tried, faults)
}
