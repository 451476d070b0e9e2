//! Whether the response template that is derived of a chat template reads what the grammar of the same format allows.

use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::derive::{Derivation, DeriveError, DeriveOptions, derive};
use unjinja::format::Format;
use unjinja::grammar::{Grammar, Request, ToolChoice};
use unjinja::{Object, Tools, Value};

use crate::grammar::sample::{Chance, misread};

/// So many texts are sampled from a grammar.
const SAMPLES: usize = 10;

/// What is derived of a chat template.
pub struct Derived {
    /// For the language that is usual.
    pub usual: Derivation,
    /// For another version of the language, where that has another response template.
    pub other: Option<Derivation>,
}

impl Derived {
    pub fn of(chat: &ChatTemplate) -> Result<Derived, DeriveError> {
        let options = DeriveOptions::default();
        let usual = derive(chat, &options)?;
        let other = usual.other_language().map(|language| {
            let other = derive(chat, &options.language(language));
            other.expect("it could be derived")
        });
        Ok(Derived { usual, other })
    }
}

/// How many texts with calls of each list of tools were sampled, and what was wrong with some. Nothing is sampled of formats without calls, or
/// of which no response template is derived that recovers all.
pub fn try_derived(
    chat: &ChatTemplate,
    derived: &Derived,
    all_tools: &[Tools],
    seed: u64,
) -> (usize, Vec<String>) {
    let (mut tried, mut faults) = try_one(chat, &derived.usual, all_tools, seed);
    if let Some(other) = &derived.other {
        let (samples, wrong) = try_one(chat, other, all_tools, seed);
        tried += samples;
        // No grammar knows which names an object has had that may have any.
        let wrong = wrong.into_iter();
        let wrong = wrong.filter(|fault| !fault.contains("a name comes twice"));
        faults.extend(wrong.map(|fault| format!("in another language: {fault}")));
    }
    (tried, faults)
}

/// The same for one version of the language.
fn try_one(
    chat: &ChatTemplate,
    derived: &Derivation,
    all_tools: &[Tools],
    seed: u64,
) -> (usize, Vec<String>) {
    let template = Some(&derived.template).filter(|_| derived.is_whole());
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
                .filter_map(|_| misread(&grammar, template, &prompt.text, tools, &mut chance));
            faults.extend(wrong);
        }
    }
    (tried, faults)
}
