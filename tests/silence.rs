//! Nothing of what models write is lost without a word: what the suites of other projects feed their parsers, as completions read it,
//! where these texts are there; and damaged texts of the gallery, as derivations count them.

use std::collections::BTreeMap;
use std::fs;

use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::completion::{Completion, CompletionMessage, CompletionOptions, Ending};
use unjinja::derive::{DeriveOptions, derive};
use unjinja::{ParserOptions, ResponseTemplate, Tools, Value, json};

use crate::root;

/// Counts of how texts are read of which it is known what they mean.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    right: usize,
    refused: usize,
    /// All of it is there, as text or in another place.
    elsewhere: usize,
    lost: usize,
}

/// The words of a value, and those of JSON that stands in a text.
fn words(value: &Value, found: &mut Vec<String>) {
    let of_text = |text: &str, found: &mut Vec<String>| {
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        // Numbers and constants may be written in one way or another.
        let words = words.filter(|word| word.chars().any(char::is_alphabetic));
        found.extend(words.map(str::to_owned));
    };
    match value {
        Value::String(text) => {
            let text = text.to_string_lossy();
            match json::read(&text) {
                Ok(value @ (Value::Object(_) | Value::Array(_))) => words(&value, found),
                _ => of_text(&text, found),
            }
        }
        Value::Array(values) => values.iter().for_each(|value| words(value, found)),
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            of_text(&key.to_string_lossy(), found);
            words(value, found);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The texts and calls of a message in one form, without what does not matter.
fn meaning(content: Option<&str>, reasoning: Option<&str>, calls: Vec<(String, Value)>) -> String {
    let text = |text: Option<&str>| text.unwrap_or_default().trim().to_owned();
    let style = json::Style::COMPACT.sort_keys(true);
    let calls = calls.iter();
    let calls =
        calls.map(|(name, arguments)| format!("{name} {}", json::write_styled(arguments, &style)));
    let calls: Vec<String> = calls.collect();
    format!("{:?} {:?} {calls:?}", text(content), text(reasoning))
}

fn read_meaning(message: &CompletionMessage) -> String {
    let calls = message.tool_calls.iter().map(|call| {
        let arguments = json::read(&call.arguments).unwrap_or(call.arguments.as_str().into());
        (call.name.clone(), arguments)
    });
    meaning(
        message.content.as_deref(),
        message.reasoning.as_deref(),
        calls.collect(),
    )
}

fn expected_meaning(expected: &Value) -> String {
    let text = |key: &str| expected.get(key).and_then(Value::as_str);
    let calls = expected.get("tool_calls").and_then(Value::as_array);
    let calls = calls.unwrap_or_default().iter().map(|call| {
        let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
        (
            name.to_owned(),
            call.get("arguments").cloned().unwrap_or_default(),
        )
    });
    meaning(text("content"), text("reasoning"), calls.collect())
}

/// Returns the words of what was meant that are not there.
fn lost_words(message: &CompletionMessage, expected: &Value) -> Vec<String> {
    let mut there = Vec::new();
    for text in [&message.content, &message.reasoning].into_iter().flatten() {
        words(&text.as_str().into(), &mut there);
        // A call that is left in a text is no JSON with all that stands around it.
        there.push(text.clone());
    }
    for call in &message.tool_calls {
        words(&call.name.as_str().into(), &mut there);
        words(&call.arguments.as_str().into(), &mut there);
    }
    let mut meant = Vec::new();
    for key in ["content", "reasoning", "tool_calls"] {
        if let Some(value) = expected.get(key) {
            words(value, &mut meant);
        }
    }
    // The names of the parts of a call are no part of what it says.
    meant.retain(|word| !["name", "arguments", "paths"].contains(&word.as_str()));
    meant.retain(|word| !there.iter().any(|there| there.contains(word.as_str())));
    meant
}

/// Reads, as completions do, the texts that suites of other projects feed their parsers.
#[test]
fn nothing_of_what_suites_feed_their_parsers_is_lost_without_a_word() {
    let shared = root().join("../shared");
    let Ok(cases) = fs::read_to_string(shared.join("cases/peers.jsonl")) else {
        println!("skipped: there is no ../shared/cases");
        return;
    };
    let mut templates: BTreeMap<String, Option<ResponseTemplate>> = BTreeMap::new();
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    let mut lost = Vec::new();
    for line in cases.lines() {
        let case = json::read(line).expect("a case is JSON");
        let text = |key: &str| case.get(key).and_then(Value::as_str).unwrap_or_default();
        let name = text("template");
        let template = templates.entry(name.to_owned()).or_insert_with(|| {
            let files = ["templates", "templates_more"];
            let files = files.map(|folder| shared.join(format!("{folder}/{name}.jinja")));
            let jinja = files
                .iter()
                .find_map(|file| fs::read_to_string(file).ok())?;
            let token = |at: &str| {
                let token = case.pointer(at).and_then(Value::as_str);
                token.map(str::to_owned)
            };
            let base = RenderInput {
                bos_token: token("/bos_eos/0"),
                eos_token: token("/bos_eos/1"),
                ..RenderInput::default()
            };
            let options = DeriveOptions::default().base(base);
            let derived = derive(&ChatTemplate::from_jinja(&jinja), &options);
            derived.ok().map(|derived| derived.template)
        });
        let Some(template) = template else {
            continue;
        };
        let tools = case.get("tools").map(Tools::from_value).unwrap_or_default();
        let options = ParserOptions::default().tools(tools);
        let completion = Completion::new(
            template,
            text("prefix"),
            options,
            CompletionOptions::default(),
        );
        let finished = completion.and_then(|mut completion| {
            completion.feed(text("output"))?;
            completion.finish(Ending::Stop)
        });
        let finished = finished.expect("completions go on behind what can't be read");
        let Some(expected) = case.get("expect") else {
            continue;
        };
        // What another convention makes of a text, is no loss.
        let kind = case.pointer("/differs/0").and_then(Value::as_str);
        let kind = if matches!(kind, None | Some("a" | "c")) {
            "comparable"
        } else {
            "other conventions"
        };
        let counts = counts.entry(kind).or_default();
        let is_partly_known = expected.get("_partial").is_some();
        let words = lost_words(&finished.message, expected);
        if !is_partly_known && read_meaning(&finished.message) == expected_meaning(expected)
            || is_partly_known && words.is_empty() && finished.malformed.is_empty()
        {
            counts.right += 1;
        } else if !finished.malformed.is_empty() {
            counts.refused += 1;
        } else if words.is_empty() {
            counts.elsewhere += 1;
        } else {
            counts.lost += 1;
            if kind == "comparable" {
                lost.push(format!("{}: {words:?} of {:?}", text("id"), text("output")));
            }
        }
    }
    for (kind, counts) in &counts {
        println!("{kind}: {counts:?}");
    }
    assert!(
        lost.is_empty(),
        "{} texts lose something without a word:\n{}",
        lost.len(),
        lost.join("\n")
    );
}

/// Reads, with derived response templates, texts that are damaged as models damage them: those of the gallery, and of other chat templates where
/// these are there. Each loss in silence is printed.
#[test]
fn damaged_calls_in_json_are_read_or_refused_or_left_as_text() {
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    let mut lost = Vec::new();
    for folder in ["chat_templates", "../shared/templates"] {
        let Ok(files) = fs::read_dir(root().join(folder)) else {
            println!("skipped: there is no {folder}");
            continue;
        };
        let files = files.map(|file| file.expect("a file").path());
        let mut files: Vec<_> = files
            .filter(|file| file.extension().is_some_and(|end| end == "jinja"))
            .collect();
        files.sort();
        for file in files {
            let jinja = fs::read_to_string(&file).expect("a text");
            let derived = derive(&ChatTemplate::from_jinja(&jinja), &DeriveOptions::default());
            let Ok(derived) = derived else {
                continue;
            };
            let calls = derived.template.field("tool_calls");
            let kind = calls.map_or("no calls", |field| field.content().name());
            let counts = counts.entry(format!("{folder}, {kind}")).or_default();
            for text in &derived.damaged {
                match (text.is_recovered, text.is_lost) {
                    (true, _) => counts.right += 1,
                    (false, false) => counts.refused += 1,
                    (false, true) => {
                        counts.lost += 1;
                        let name = file.display();
                        let text = format!("{name}: {}: {:?}", text.damage, text.output);
                        lost.push((format!("{folder}, {kind}"), text));
                    }
                }
            }
        }
    }
    for (kind, counts) in &counts {
        println!("{kind}: {counts:?}");
    }
    lost.iter()
        .for_each(|(kind, text)| println!("{kind}: {text}"));
    assert!(
        counts.contains_key("chat_templates, json")
            && counts.contains_key("chat_templates, xml-inline"),
        "{counts:?}"
    );
    let in_json = |kind: &str| kind == "chat_templates, json";
    let in_json: Vec<_> = lost.iter().filter(|(kind, _)| in_json(kind)).collect();
    assert!(in_json.is_empty(), "{in_json:#?}");
}
