//! Deriving a response template, and trying it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use unjinja::chat_template::{ChatTemplate, RenderInput, Renderer};
use unjinja::derive::{DeriveOptions, derive};
use unjinja::{Object, ParserOptions, ResponseTemplate, Tools, Value, json, parse};

use crate::synthetic::conversation::{Case, cases, messages, tools};
use crate::synthetic::format::{Format, Kept};
use crate::synthetic::jinja::chat_template;
use crate::synthetic::maker::make_up;
use crate::synthetic::random::Random;

/// What became of a format.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub number: u64,
    pub format: Format,
    pub chat_template: String,
    /// The response template, as JSON.
    pub derived: String,
    pub wrong: Vec<Wrong>,
    /// How many messages were tried.
    pub tried: usize,
}

/// A message that was not recovered.
#[derive(Debug, Clone)]
pub struct Wrong {
    pub case: &'static str,
    pub why: String,
    pub prompt: String,
    pub output: String,
}

/// Makes up a format and tries it.
pub fn try_number(seed: u64, number: u64) -> Outcome {
    try_format(seed, number, make_up(seed, number))
}

pub fn try_format(seed: u64, number: u64, format: Format) -> Outcome {
    let source = chat_template(&format);
    let mut outcome = Outcome {
        number,
        chat_template: source.clone(),
        derived: String::new(),
        wrong: Vec::new(),
        tried: 0,
        format,
    };
    let mut fail = |why: String| {
        outcome.wrong.push(Wrong {
            case: "deriving",
            why,
            prompt: String::new(),
            output: String::new(),
        });
    };
    let chat = ChatTemplate::from_jinja(source.as_str());
    let derived = catch_unwind(AssertUnwindSafe(|| {
        derive(&chat, &DeriveOptions::default())
    }));
    let derived = match derived {
        Ok(Ok(derived)) => derived,
        Ok(Err(error)) => {
            fail(error.to_string());
            return outcome;
        }
        Err(_) => {
            fail("it panicked".to_owned());
            return outcome;
        }
    };
    let template = match ResponseTemplate::from_value(&derived.template) {
        Ok(template) => template,
        Err(error) => {
            fail(error.to_string());
            return outcome;
        }
    };
    outcome.derived = json::write(derived.template.as_value());
    let prepared = chat.prepare();
    let renderer = prepared
        .renderer()
        .expect("a template that was rendered before");
    let mut random = Random::new(!seed, number);
    for case in cases(&outcome.format, &mut random) {
        let is_off = random.chance(50);
        let (prompt, output, case) = match write(&renderer, &outcome.format, case, is_off) {
            Ok(written) => written,
            Err(why) => panic!("a format that its own template can't write: {why}\n{source}"),
        };
        outcome.tried += 1;
        if let Some(why) = differs(&template, &prompt, &output, &case) {
            outcome.wrong.push(Wrong {
                case: case.name,
                why,
                prompt,
                output,
            });
        }
    }
    outcome
}

/// What the chat template writes of a case: a prompt, and what comes after it.
fn write(
    renderer: &Renderer<'_>,
    format: &Format,
    mut case: Case,
    is_off: bool,
) -> Result<(String, String, Case), String> {
    let (before, last) = messages(format, &case);
    let mut variables = Object::new();
    if let (Some(reasoning), true, None) = (&format.reasoning, is_off, case.thought) {
        variables.insert(reasoning.switch, false);
    }
    let render = |messages: Vec<Value>, add_generation_prompt| {
        let input = RenderInput {
            messages: messages.into(),
            tools: tools(),
            add_generation_prompt,
            variables: variables.clone(),
            ..RenderInput::default()
        };
        let rendering = renderer.render(&input);
        rendering
            .map(|rendering| rendering.text)
            .map_err(|error| error.to_string())
    };
    let mut all = before.clone();
    let prompt = render(before, true)?;
    all.push(last);
    let full = render(all, false)?;
    if let Some(output) = full.strip_prefix(prompt.as_str()) {
        return Ok((prompt.clone(), output.to_owned(), case));
    }
    // History is written without what the prompt has of thoughts.
    let reasoning = format
        .reasoning
        .as_ref()
        .ok_or("the prompt is no beginning of the turn")?;
    let open = reasoning.open.as_deref().unwrap_or_default();
    if let Some(header) = prompt.strip_suffix(reasoning.nothing().as_str())
        && let Some(output) = full.strip_prefix(header)
    {
        return Ok((prompt.clone(), output.to_owned(), case));
    }
    let header = prompt
        .strip_suffix(open)
        .ok_or("the prompt does not end in thoughts")?;
    let output = full
        .strip_prefix(header)
        .ok_or("the turn has another header")?;
    let thought = *case.thought.get_or_insert("What was it again?");
    let output = format!(
        "{thought}{}{}{output}",
        reasoning.close, reasoning.after_close
    );
    assert_eq!(reasoning.kept, Kept::Never);
    Ok((prompt.clone(), output, case))
}

fn differs(template: &ResponseTemplate, prompt: &str, output: &str, case: &Case) -> Option<String> {
    let options = ParserOptions::default().tools(Tools::from_value(&tools()));
    let message = match parse(template, prompt, output, options) {
        Ok(message) => message,
        Err(error) => return Some(error.to_string()),
    };
    for (field, expected) in [("thinking", case.thought), ("content", case.content)] {
        let found = message
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default();
        let expected = expected.unwrap_or_default();
        if found.trim() != expected.trim() {
            return Some(format!("{field} is {found:?}, not {expected:?}"));
        }
    }
    let found = message
        .get("tool_calls")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let expected: Vec<(String, Value)> = case
        .calls
        .iter()
        .map(|(name, arguments)| ((*name).to_owned(), arguments.clone().into()))
        .collect();
    let found: Vec<(String, Value)> = found.iter().map(called).collect();
    (found != expected).then(|| format!("calls are {}, not {}", listed(&found), listed(&expected)))
}

fn listed(calls: &[(String, Value)]) -> String {
    let calls = calls.iter();
    let calls = calls.map(|(name, arguments)| format!("{name}({arguments})"));
    calls.collect::<Vec<_>>().join(" ")
}

fn called(call: &Value) -> (String, Value) {
    let function = call.get("function").unwrap_or(&Value::Null);
    let name = function
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let arguments = function.get("arguments").cloned().unwrap_or_default();
    let arguments = match arguments.as_str() {
        // JSON within a string is what some formats have.
        Some(text) => json::read(text).unwrap_or(Value::Null),
        None => arguments,
    };
    (name.to_owned(), arguments)
}
