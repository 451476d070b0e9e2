//! The typed tree of a format reads what models write, into the same parts.

use std::fs;
use std::path::Path;

use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::format::{Format, FoundSlot, Reading, Slot};
use unjinja::{Object, Value, json};

/// Why a reading does not say what a message says; nothing if it does.
fn difference(reading: &Reading<'_>, message: &Value) -> Option<String> {
    for (slot, key) in [(Slot::Reasoning, "reasoning"), (Slot::Content, "content")] {
        let expected = message.get(key).and_then(Value::as_str).unwrap_or_default();
        let found = reading.slots.iter().filter(|found| found.slot == slot);
        let found: String = found.map(|found| found.text).collect();
        if found.trim() != expected.trim() {
            return Some(format!("{key} is {found:?}, not {expected:?}"));
        }
    }
    let none = Vec::new();
    let calls = match message.get("tool_calls") {
        Some(Value::Array(calls)) => calls,
        _ => &none,
    };
    let count = reading.slots.iter().filter_map(|found| found.call).max();
    if count.map_or(0, |last| last + 1) != calls.len() {
        return Some(format!("{count:?} is the last call of {}", calls.len()));
    }
    let mut calls = calls.iter().enumerate();
    calls.find_map(|(at, call)| {
        let function = call.get("function").unwrap_or(call);
        let slots: Vec<&FoundSlot<'_>> = reading
            .slots
            .iter()
            .filter(|found| found.call == Some(at))
            .collect();
        call_difference(&slots, function)
    })
}

fn call_difference(slots: &[&FoundSlot<'_>], function: &Value) -> Option<String> {
    let text = |slot| {
        slots
            .iter()
            .find(|found| found.slot == slot)
            .map(|found| found.text)
    };
    let name = function.get("name").and_then(Value::as_str);
    if text(Slot::Name) != name && text(Slot::Id).is_none() {
        return Some(format!("{:?} is called, not {name:?}", text(Slot::Name)));
    }
    let empty = Object::new();
    let arguments = function.get("arguments").and_then(Value::as_object);
    let arguments = arguments.unwrap_or(&empty);
    if let Some(written) = text(Slot::Arguments) {
        return match json::read(written) {
            Ok(Value::Object(read)) => (read != *arguments)
                .then(|| format!("the arguments are {written}, not {arguments:?}")),
            // Text with JSON in it, or another dialect: all keys have to be there.
            _ => missing_word(written, arguments),
        };
    }
    let keys = slots.iter().filter(|found| found.slot == Slot::Key);
    let values = slots.iter().filter(|found| found.slot == Slot::Value);
    let keys: Vec<&str> = keys.map(|found| found.text).collect();
    let values: Vec<&str> = values.map(|found| found.text).collect();
    if values.len() != arguments.len() || values.len() > keys.len() {
        return Some(format!("{keys:?} have {values:?}, not {arguments:?}"));
    }
    let mut pairs = values.iter().enumerate();
    pairs.find_map(|(at, written)| {
        let key = keys[at * keys.len() / values.len()];
        let Some(value) = arguments.get(key) else {
            return Some(format!("{key:?} is no key of {arguments:?}"));
        };
        let is_same = match value.as_str() {
            Some(text) => {
                written.contains(text.trim())
                    || json::read(written).ok().as_ref() == Some(value)
                    || written.starts_with(['\'', '"'])
            }
            None => json::read(written).ok().as_ref() == Some(value) || !written.is_empty(),
        };
        (!is_same).then(|| format!("{key} is {written:?}, not {value}"))
    })
}

fn missing_word(written: &str, arguments: &Object) -> Option<String> {
    let mut keys = arguments.keys().map(|key| key.to_string_lossy());
    keys.find(|key| !written.contains(key.as_ref()))
        .map(|key| format!("{key} is not in {written:?}"))
}

/// What goes wrong when the format reads an output; nothing if all goes well.
fn fault(format: &Format, prompt: &str, output: &str, message: &Value) -> Option<String> {
    let text = format!("{}{output}", format.begun_by(prompt));
    match format.read(&text) {
        Ok(reading) => difference(&reading, message),
        Err(error) => Some(error.to_string()),
    }
}

#[test]
fn what_models_of_the_shown_templates_write_is_read() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let Ok(cases) = fs::read_to_string(shared.join("cases/roundtrip.jsonl")) else {
        eprintln!("skipped: the shown cases are not here");
        return;
    };
    let mut known: Option<(String, Format)> = None;
    let (mut read, mut all) = (0, 0);
    for line in cases.lines() {
        let case = json::read(line).expect("a case is JSON");
        let text = |key: &str| case.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = text("template").to_owned();
        if known.as_ref().is_none_or(|(known, _)| *known != name) {
            let path = shared.join(format!("templates/{name}.jinja"));
            let jinja = fs::read_to_string(path).expect("the template is there");
            let template = ChatTemplate::from_jinja(&jinja);
            let base = RenderInput {
                bos_token: Some(text("bos_token").to_owned()),
                eos_token: Some(text("eos_token").to_owned()),
                ..RenderInput::default()
            };
            let format = Format::of(&template, &base).expect("it has a format");
            known = Some((name, format));
        }
        let Some((name, format)) = &known else {
            continue;
        };
        let Some(message) = case.get("expect") else {
            continue;
        };
        all += 1;
        match fault(format, text("prefix"), text("output"), message) {
            None => read += 1,
            Some(fault) => eprintln!(
                "{name} {}: {fault}\n    {:?}",
                text("scenario"),
                text("output")
            ),
        }
    }
    eprintln!("{read} of {all} outputs are read");
}
