//! The gallery: each chat template in `chat_templates/`, and in `derived/` what is derived from it.
//!
//! `UNJINJA_UPDATE=1 cargo test --test program gallery` writes `derived/` anew.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use memchr::memmem;
use unjinja::{ParserOptions, ResponseTemplate, Tools, Value, json, parse};

use crate::support::root::root;

/// The names of the chat templates.
fn gallery() -> Vec<String> {
    let folder = root().join("chat_templates");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .filter_map(|entry| {
            let path = entry.unwrap().path();
            let is_template = path
                .extension()
                .is_some_and(|extension| extension == "jinja");
            is_template.then(|| path.file_stem().unwrap().to_string_lossy().into_owned())
        })
        .collect();
    names.sort();
    names
}

/// Runs the binary in a folder: what it prints and says, and how it ends.
fn unjinja(folder: &str, arguments: &[&str]) -> (String, String, Option<i32>) {
    let out = Command::new(env!("CARGO_BIN_EXE_unjinja"))
        .args(arguments)
        .current_dir(root().join(folder))
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(out.stdout), text(out.stderr), out.status.code())
}

/// Does something for all of them, on all cores, and gives the faults back in order.
fn for_all<T: Sync>(all: &[T], check: impl Fn(&T) -> Vec<String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut faults: Vec<(usize, Vec<String>)> = thread::scope(|scope| {
        let work = || {
            let mut found = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(one) = all.get(index) else {
                    return found;
                };
                found.push((index, check(one)));
            }
        };
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    faults.sort();
    faults.into_iter().flat_map(|(_, faults)| faults).collect()
}

#[test]
fn derived_holds_what_derive_makes_of_the_gallery() {
    let names = gallery();
    assert!(
        names.len() >= 24,
        "the gallery has only {} families",
        names.len()
    );
    let update = std::env::var_os("UNJINJA_UPDATE").is_some();
    let faults = for_all(&names, |name| {
        let source = format!("chat_templates/{name}.jinja");
        let (template, report, code) = unjinja(".", &["derive", &source]);
        let mut faults = Vec::new();
        let mut compare = |extension: &str, text: String| {
            let path = root().join("derived").join(format!("{name}.{extension}"));
            if update {
                fs::write(&path, text).unwrap();
            } else if fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
                faults.push(format!(
                    "{} is not what is derived now:\n{text}",
                    path.display()
                ));
            }
        };
        compare("json", template);
        compare("txt", report);
        // What is not recovered is kept as it is, so that a change shows.
        let (source, template) = (format!("../{source}"), format!("{name}.json"));
        let arguments = [
            "new",
            &source,
            "--response-template",
            &template,
            "--as-is",
            "-o",
            "-",
        ];
        compare("fixture.yaml", unjinja("derived", &arguments).0);
        // The one format whose values no draft reads wholly.
        let expected = if name == "python-dict-calls" { 1 } else { 0 };
        if code != Some(expected) {
            faults.push(format!("{name}: exit code {code:?}"));
        }
        faults
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let derived = fs::read_dir(root().join("derived")).unwrap();
    let stale: Vec<PathBuf> = derived
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let (name, _) = name.split_once('.').unwrap();
            name != "README" && !names.iter().any(|known| known == name)
        })
        .collect();
    assert!(
        stale.is_empty(),
        "nothing in the gallery belongs to {stale:?}"
    );
}

/// How many families of recorded round trips are recovered wholly by what is derived from some
/// template of the gallery: all whose format is among those of the gallery, but for one, which
/// writes what stands beside a call as it writes reasoning, so that nothing can distinguish them.
const FAMILIES_OF_THE_GALLERY: usize = 36;

#[test]
fn derived_templates_recover_the_round_trips_of_their_families() {
    let path = root().join("../shared/cases").join("roundtrip.jsonl");
    let Ok(recorded) = fs::read_to_string(&path) else {
        println!("skipped: there are no recorded round trips beside the project");
        return;
    };
    let mut families: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in recorded.lines() {
        let case = json::read(line).unwrap();
        let family = text(&case, "template").to_owned();
        families.entry(family).or_default().push(case);
    }
    let templates: Vec<(String, ResponseTemplate)> = gallery()
        .into_iter()
        .map(|name| {
            let path = root().join("derived").join(format!("{name}.json"));
            let text = fs::read_to_string(path).unwrap();
            (name, ResponseTemplate::from_json(&text).unwrap())
        })
        .collect();
    let mut whole = 0;
    for (family, cases) in &families {
        let recovered = |template: &ResponseTemplate| {
            cases
                .iter()
                .filter(|case| misread(template, case).is_none())
                .count()
        };
        let counts = templates
            .iter()
            .map(|(name, template)| (recovered(template), name));
        let (best, name) = counts.max().unwrap();
        println!("{family}: {best} of {} by {name}", cases.len());
        whole += usize::from(best == cases.len());
    }
    println!(
        "{whole} of {} families are recovered wholly",
        families.len()
    );
    assert!(
        whole >= FAMILIES_OF_THE_GALLERY,
        "only {whole} families are recovered wholly"
    );
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What is wrong with what is read out of a recorded text.
fn misread(template: &ResponseTemplate, case: &Value) -> Option<String> {
    let options = ParserOptions::default()
        .tools(case.get("tools").map(Tools::from_value).unwrap_or_default());
    let message = match parse(
        template,
        text(case, "prefix"),
        text(case, "output"),
        options,
    ) {
        Ok(message) => Value::from(message),
        Err(error) => return Some(error.to_string()),
    };
    let expected = case.get("expect").unwrap();
    for (key, field) in [("reasoning", "thinking"), ("content", "content")] {
        let (want, got) = (text(expected, key).trim(), text(&message, field).trim());
        if want != got {
            return Some(format!("{field} is {got:?}, not {want:?}"));
        }
    }
    let list = |value: &Value| {
        value
            .get("tool_calls")
            .and_then(Value::as_array)
            .unwrap_or_default()
            .to_vec()
    };
    let part = |call: &Value, key: &str| call.get(key).cloned().unwrap_or_default();
    let pairs = |calls: Vec<Value>| {
        calls
            .iter()
            .map(|c| (part(c, "name"), part(c, "arguments")))
            .collect::<Vec<_>>()
    };
    let got = list(&message)
        .iter()
        .map(|call| part(call, "function"))
        .collect();
    let (want, got) = (pairs(list(expected)), pairs(got));
    (want != got).then(|| format!("the calls are {got:?}, not {want:?}"))
}

/// Words of names that are words of the language as well.
const COMMON: &[&str] = &[
    "base",
    "calls",
    "channels",
    "chat",
    "command",
    "compact",
    "content",
    "distill",
    "fixed",
    "flash",
    "instruct",
    "instructions",
    "large",
    "medium",
    "mini",
    "opened",
    "pairs",
    "parts",
    "plain",
    "reasoning",
    "recipients",
    "role",
    "separators",
    "small",
    "text",
    "think",
    "thinker",
    "thinking",
    "tool",
    "tool_use",
    "turns",
    "user",
    "world",
    "world",
    "xml",
    "json",
    "array",
    "bare",
    "call",
    "action",
    "list",
    "action",
    "tagged",
    "nested",
    "function",
    "python",
    "dict",
    "lines",
    "wrapped",
    "response",
    "recipient",
    "name",
    "then",
    "args",
    "key",
    "keys",
    "unquoted",
    "with",
    "ids",
    "numbered",
    "separator",
    "section",
    "invoke",
    "string",
    "attribute",
    "fenced",
    "marker",
    "phrase",
    "meta",
    "plus",
    "value",
    "assistant",
    "only",
    "chatml",
    "coder",
    "nano",
    "edge",
    "open",
    "seed",
];

#[test]
fn no_code_names_a_model_or_a_template() {
    let mut names = gallery();
    match fs::read_dir(root().join("../shared/templates")) {
        Ok(entries) => names.extend(entries.map(|entry| {
            let path = entry.unwrap().path();
            path.file_stem().unwrap().to_string_lossy().into_owned()
        })),
        Err(_) => {
            println!("only the gallery's names are looked for: there is no ../shared/templates")
        }
    }
    let mut words: Vec<String> = names
        .iter()
        .flat_map(|name| name.split('-').map(str::to_lowercase))
        .filter(|word| word.len() >= 4 && word.chars().any(char::is_alphabetic))
        .map(|word| {
            word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
                .to_owned()
        })
        .filter(|word| word.len() >= 4 && !COMMON.contains(&word.as_str()))
        .collect();
    words.extend(
        names
            .iter()
            .filter(|name| name.contains('-'))
            .map(|name| name.to_lowercase()),
    );
    words.sort();
    words.dedup();
    let mut sources = Vec::new();
    for folder in ["src", "parser/src", "cli/src", "replay/src", "serve/src"] {
        collect(&root().join(folder), &mut sources);
    }
    assert!(sources.len() > 50);
    let mut found = Vec::new();
    for path in sources {
        let source = fs::read_to_string(&path).unwrap().to_lowercase();
        // None of these is a model: a parser in the language of response schemas, styles in the language of
        // structural tags, an engine, and the interface that servers have, by the name that its clients know.
        let source = source
            .replace("gemma4-tool-call", "")
            .replace("qwen_xml", "")
            .replace("minimax_xml", "")
            .replace("glm_xml", "")
            .replace("llama.cpp", "")
            .replace("llama-server", "")
            .replace("llama-cpp", "")
            .replace("openai", "");
        let in_source: HashSet<&str> = source.split(|c: char| !c.is_alphabetic()).collect();
        for word in &words {
            let is_there = match word.contains('-') {
                true => memmem::find(source.as_bytes(), word.as_bytes()).is_some(),
                false => in_source.contains(word.as_str()),
            };
            if is_there {
                found.push(format!("{}: {word}", path.display()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}
