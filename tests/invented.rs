//! Formats as a maker of models might invent them, most of them in templates by somebody who had not read the derivation:
//! what is derived of them recovers, and what not.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::derive::{Derivation, DeriveError, DeriveOptions, ProofRow, derive};
use unjinja::format::Format;
use unjinja::grammar::{Grammar, Request};
use unjinja::response::{Language, Tools};
use unjinja::{Object, ParserOptions, ResponseTemplate, Value, json, parse};

use crate::grammar::agreement::{self, Derived};
use crate::grammar::sample;

use crate::root;

fn templates() -> Vec<PathBuf> {
    let folder = root().join("tests/invented");
    let files = fs::read_dir(folder).expect("it is there");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files
}

fn chat_template(path: &Path) -> ChatTemplate {
    let jinja = fs::read_to_string(path).expect("it is a text");
    let mut template = ChatTemplate::from_jinja(jinja);
    template.bos_token = Some("<s>".to_owned());
    template.eos_token = Some("</s>".to_owned());
    template
}

/// What is derived of each, by its name: once, for all tests that ask.
fn derived() -> &'static [(String, Result<Derived, DeriveError>)] {
    static DERIVED: LazyLock<Vec<(String, Result<Derived, DeriveError>)>> = LazyLock::new(|| {
        let templates = templates().into_iter();
        let derived = templates.map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy();
            (name.into_owned(), Derived::of(&chat_template(&path)))
        });
        derived.collect()
    });
    &DERIVED
}

/// What is recovered of a format, and how the rest differs.
fn recovered(name: &str, derived: &Derivation, table: &mut String) {
    let (recovered, all) = (derived.recovered(), derived.proof.len());
    let calls = derived
        .template
        .as_value()
        .pointer("/fields/tool_calls/content");
    let parser = match calls.and_then(Value::as_str) {
        Some("python-call-list") => ", by python-call-list",
        _ => "",
    };
    let inferred = match derived.inferred.len() {
        0 => String::new(),
        all => format!(", inferred {} of {all}", derived.recovered_inferred()),
    };
    let _ = writeln!(table, "{name}: {recovered} of {all}{parser}{inferred}");
    let rows = derived.proof.iter();
    for row in rows.filter(|row| !row.recovery.is_recovered()) {
        let difference = row.recovery.difference().unwrap_or_default();
        let _ = writeln!(table, "    {}: {difference}", row.name);
    }
}

#[test]
fn invented_formats_are_recovered_as_far_as_is_known() {
    let mut table = String::new();
    for (name, derived) in derived() {
        match derived {
            Ok(derived) => {
                recovered(name, &derived.usual, &mut table);
                if let Some(other) = &derived.other {
                    let name = format!("{name} for {}", other.language);
                    recovered(&name, other, &mut table);
                }
            }
            Err(error) => {
                let _ = writeln!(table, "{name}: {error}");
            }
        }
    }
    insta::assert_snapshot!(table);
}

/// What prompts say around a conversation, and what begins a turn, is no reasoning.
#[test]
fn no_reasoning_is_found_where_no_model_reasons() {
    let without = [
        "answers_of_tools_are_said",
        "begins_unasked",
        "judge",
        "other_header_in_prompts",
        "voice",
    ];
    let folder = root().join("tests/invented");
    for name in without {
        let template = chat_template(&folder.join(format!("{name}.jinja")));
        let derived = derive(&template, &DeriveOptions::default()).expect(name);
        assert_eq!(derived.findings.reasoning, None, "{name}");
    }
}

/// What is said in the conversations that a template is tried on is another text in all others.
#[test]
fn no_response_template_holds_words_of_the_conversations_it_was_tried_on() {
    for (name, derived) in derived() {
        let Ok(derived) = derived else {
            continue;
        };
        let written = json::write(derived.usual.template.as_value());
        for word in ["zq0", "read_tide", "harbour", "save_note", "High water"] {
            assert!(!written.contains(word), "{name}: {word} in {written}");
        }
    }
}

/// What is derived without naming a version means the same to all that take it, as far as renderings go.
#[test]
fn versions_of_the_language_read_derived_templates_alike() {
    let gallery = root().join("chat_templates");
    let gallery = fs::read_dir(gallery).expect("it is there");
    let gallery = gallery.map(|file| file.expect("a file").path());
    let gallery = gallery.filter(|path| path.extension().is_some_and(|name| name == "jinja"));
    let gallery: Vec<(String, Result<Derivation, DeriveError>)> = gallery
        .map(|path| {
            let derived = derive(&chat_template(&path), &DeriveOptions::default());
            (path.display().to_string(), derived)
        })
        .collect();
    let (mut read, mut faults) = (0, Vec::new());
    let invented = derived().iter();
    let invented =
        invented.filter_map(|(name, derived)| Some((name, &derived.as_ref().ok()?.usual)));
    let gallery = gallery.iter();
    let gallery = gallery.filter_map(|(name, derived)| Some((name, derived.as_ref().ok()?)));
    for (name, derived) in invented.chain(gallery) {
        let versions = Language::all().filter_map(|language| {
            let template = derived.template.in_language(language);
            // Keys that came later are no reason to refuse a format.
            assert!(template.is_ok() || language < derived.language, "{name}");
            template.ok()
        });
        let versions: Vec<ResponseTemplate> = versions.collect();
        for row in &derived.proof {
            let messages = versions.iter().map(|template| {
                let options = ParserOptions::default().tools(derived.tools.clone());
                parse(template, &row.prefix, &row.output, options)
            });
            // Arguments are typed by tools in newer versions alone.
            let untyped = |template: &&ResponseTemplate| template.language() < Language::V5_20;
            let count = versions.iter().take_while(untyped).count();
            let messages: Vec<_> = messages.skip(count).collect();
            read += messages.len();
            if messages.windows(2).any(|pair| pair[0] != pair[1]) {
                faults.push(format!("{name}: {}", row.name));
            }
        }
    }
    assert!(read > 4000, "there are {read} readings only");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What grammars of these formats allow, the derived templates read into the same calls.
#[test]
fn what_grammars_of_invented_formats_allow_is_read() {
    let tools = [sample::mixed_tools()];
    let (mut faults, mut all) = (Vec::new(), 0);
    for (path, (name, derived)) in templates().iter().zip(derived()) {
        let Ok(derived) = derived else {
            continue;
        };
        let (samples, wrong) = agreement::try_derived(&chat_template(path), derived, &tools, 7);
        all += samples;
        faults.extend(wrong.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert!(all > 1000, "there are {all} samples only");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What is wrong when the grammar of a format reads a rendering; nothing if it reads what was said.
fn fault_of_grammar(format: &Format, tools: &Tools, row: &ProofRow) -> Option<String> {
    let request = Request::new().prompt(row.prefix.as_str());
    let grammar = match Grammar::of(format, tools, &request) {
        Ok(grammar) => grammar,
        Err(error) => return Some(error.to_string()),
    };
    let message = match grammar.parse(&row.output) {
        Ok(tree) => tree.message(),
        Err(fault) => return Some(fault.to_string()),
    };
    let text = |message: &Object, key| {
        let text = message.get(key).and_then(Value::as_str);
        text.unwrap_or_default().trim().to_owned()
    };
    let texts = ["thinking", "content"].into_iter();
    let mut other = texts.filter(|key| text(&message, key) != text(&row.message, key));
    let calls = sample::calls_of(&message) != sample::calls_of(&row.message);
    let part = other.next().or(calls.then_some("tool_calls"))?;
    Some(format!("{part} is read otherwise"))
}

/// The grammars of these formats read what the chat templates render into what was said.
#[test]
fn grammars_of_invented_formats_allow_what_is_rendered() {
    let mut table = String::new();
    for (path, (name, derived)) in templates().iter().zip(derived()) {
        let format = Format::of(&chat_template(path), &RenderInput::default());
        let (Ok(format), Ok(Derived { usual: derived, .. })) = (format, derived) else {
            continue;
        };
        // The format is that of turns without variables.
        let is_plain = |row: &&ProofRow| !row.name.ends_with("with a variable given");
        let rows = derived.proof.iter().filter(|row| !row.output.is_empty());
        let rows = rows.filter(is_plain);
        let faults = rows.clone().filter_map(|row| {
            let fault = fault_of_grammar(&format, &derived.tools, row)?;
            Some(format!("    {}: {fault}\n", row.name))
        });
        let faults: Vec<String> = faults.collect();
        let all = rows.count();
        let _ = writeln!(table, "{name}: {} of {all}", all - faults.len());
        table.extend(faults);
    }
    insta::assert_snapshot!(table);
}
