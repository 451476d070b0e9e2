//! Calls with keys, names and values as JSON Schema and tool servers allow them: what is misread has been said to be.
//!
//! For each chat template of the gallery, messages are made by chance: of each kind that `derive` reports on, with other words
//! than it has tried, one to twelve calls a message. The chat template renders them, the derived response template reads them, and no call may
//! come back otherwise unless the report names one of its kinds as misread. These variables of the environment change what is tried:
//!
//! - `ARGUMENTS_MESSAGES`: how many messages for each template, 300 if not given;
//! - `ARGUMENTS_SEED`: another seed, other messages;
//! - `ARGUMENTS_TEMPLATES`: another folder of chat templates.
//!
//! ```console
//! $ ARGUMENTS_TEMPLATES=some/folder cargo test --test library arguments:: -- --nocapture
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs};

use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::derive::{Derivation, DeriveOptions, derive};
use unjinja::{Object, ParserOptions, Tools, Value, json, parse};

use crate::synthetic::random::Random;
use crate::synthetic::{asked, on_two_threads};

use crate::root;

/// A call of some kind.
struct Call {
    kind: String,
    name: String,
    arguments: Vec<(String, &'static str, Value)>,
}

const WORDS: [&str; 8] = [
    "Reykjavik",
    "quay 9",
    "so be it",
    "x",
    "Größe",
    "a longer text of words",
    "42nd Street",
    "no",
];

/// What stands within a key or a name of a kind.
const SIGNS: [(&str, &str); 8] = [
    ("a dash", "-"),
    ("a dot", "."),
    ("a blank", " "),
    ("a colon", ":"),
    ("a slash", "/"),
    ("`$`", "$"),
    ("`@`", "@"),
    ("brackets", "[3]"),
];

fn word(random: &mut Random) -> String {
    (0..2 + random.below(2))
        .flat_map(|_| {
            [
                random.pick(&['b', 'f', 'm', 'r', 't']),
                random.pick(&['a', 'e', 'o']),
            ]
        })
        .collect()
}

/// A key, or a tool's name, of one of the kinds that are reported.
fn identifier(random: &mut Random, what: &str) -> (String, String) {
    let (own, other) = (word(random), word(random));
    let kind = |rest: &str| format!("{what} {rest}");
    let (sign, text) = random.pick(&SIGNS);
    let is_key = what == "a key";
    match random.below(10) {
        0 => (
            kind("that begins with a digit"),
            format!("{}{own}", random.below(9)),
        ),
        1 => (
            kind("of letters that are not ASCII"),
            random.pick(&["größe", "город", "都市"]).to_owned(),
        ),
        2 => (
            kind("of 64 characters"),
            own.repeat(32).chars().take(64).collect(),
        ),
        3 => (
            kind("with capitals"),
            format!("{own}{}{other}", random.pick(&['A', 'X'])),
        ),
        4 if is_key => (kind("that begins with a low line"), format!("_{own}")),
        5 if is_key => (kind("of one letter"), random.pick(&["p", "k"]).to_owned()),
        _ if is_key && text.starts_with(['$', '@']) => {
            (kind(&format!("with {sign}")), format!("{text}{own}"))
        }
        _ if is_key && text.ends_with(']') => {
            (kind(&format!("with {sign}")), format!("{own}{text}"))
        }
        _ if is_key || ["-", ".", ":", "/"].contains(&text) => {
            (kind(&format!("with {sign}")), format!("{own}{text}{other}"))
        }
        _ => (kind("with low lines"), format!("{own}__{other}_{own}")),
    }
}

/// A value of one of the kinds that are reported, and what a tool declares it to be.
fn value(random: &mut Random) -> (&'static str, &'static str, Value) {
    let own = random.pick(&WORDS).to_owned();
    let number = random.below(900);
    let text = |kind, text: String| (kind, "string", Value::from(text));
    let read =
        |kind, declared, text: String| (kind, declared, json::read(&text).expect("it is JSON"));
    match random.below(29) {
        0 => text("a text with quotes", format!("{own}'s \"own\" 'way'")),
        1 => text("a text of several lines", format!("{own}\n\n\t{own}\nend")),
        2 => text("a text that ends with a line", format!("{own}\n{own}\n")),
        3 => text("a text with blanks around it", format!("  {own} ")),
        4 => text("an empty text", String::new()),
        5 => text("a text with backslashes", format!("D:\\temp\\{own}\\n")),
        6 => text(
            "a text with markup",
            format!("<p class=\"x\">{own}</p> &amp; <br/>"),
        ),
        7 => text("a text that is not ASCII", format!("{own} – 東京 ñ 😀")),
        8 => text(
            "a text with commas and brackets",
            format!("[{own}], (x={{1}}), y"),
        ),
        9 => text("a text that looks like a number", format!("{number}")),
        10 => text(
            "a text that looks like a boolean",
            random.pick(&["true", "false"]).to_owned(),
        ),
        11 => text("a text that looks like null", "null".to_owned()),
        12 => text(
            "a text that looks like a list",
            format!("[\"{own}\", {number}]"),
        ),
        13 => text(
            "a text that looks like an object",
            format!("{{\"k\": {number}}}"),
        ),
        14 => text(
            "a text that looks like an object of Python",
            format!("{{'k': {number}}}"),
        ),
        15 => read("an integer", "integer", format!("{number}")),
        16 => read("a negative integer", "integer", format!("-{}", number + 1)),
        17 => read("a number with a fraction", "number", format!("{number}.75")),
        18 => ("a boolean", "boolean", random.chance(50).into()),
        19 => ("null", "null", Value::Null),
        20 => read(
            "a list of texts",
            "array",
            format!("[\"plain\", \"two words\", \"n{number}\"]"),
        ),
        21 => read(
            "a list of texts with quotes and lines",
            "array",
            format!("[\"she's {number}\", \"c\\nd\"]"),
        ),
        22 => read("a list of numbers", "array", format!("[{number}, -0.5]")),
        23 => read(
            "a list with booleans and null",
            "array",
            "[false, \"word\", null]".to_owned(),
        ),
        24 => read("a list of lists", "array", format!("[[\"w{number}\"], []]")),
        25 => read(
            "a list of objects",
            "array",
            format!("[{{\"k\": {number}}}, {{\"l\": \"m\"}}]"),
        ),
        26 => read(
            "an object",
            "object",
            format!("{{\"lang\": \"de\", \"n\": {number}}}"),
        ),
        27 => read(
            "an object in an object",
            "object",
            format!("{{\"p\": {{\"q\": [{number}]}}}}"),
        ),
        _ => read(
            "an object with texts that look otherwise",
            "object",
            format!("{{\"n\": \"{number}\"}}"),
        ),
    }
}

/// The call in this place of a message: no two are of tools of the same name.
fn call(random: &mut Random, place: usize) -> Call {
    let text = || Value::from("plain words");
    match random.below(6) {
        0 => {
            let (kind, name) = identifier(random, "a name");
            let name = match kind.ends_with("characters") {
                true => name,
                false => format!("{name}{place}"),
            };
            let arguments = vec![("to".to_owned(), "string", text())];
            Call {
                kind,
                name,
                arguments,
            }
        }
        1 | 2 => {
            let (kind, key) = identifier(random, "a key");
            let arguments = vec![("to".to_owned(), "string", text()), (key, "string", text())];
            Call {
                kind,
                name: format!("do_it_{place}"),
                arguments,
            }
        }
        _ => {
            let (kind, declared, value) = value(random);
            let arguments = vec![
                ("first".to_owned(), "string", text()),
                ("second".to_owned(), declared, value),
                ("third".to_owned(), "integer", 3.into()),
            ];
            Call {
                kind: kind.to_owned(),
                name: format!("do_{}_{place}", word(random)),
                arguments,
            }
        }
    }
}

impl Call {
    fn arguments(&self) -> Value {
        let arguments = self.arguments.iter();
        Object::from_iter(arguments.map(|(key, _, value)| (key.clone(), value.clone()))).into()
    }

    fn function(&self, arguments: Value) -> Value {
        Object::from_iter([("name", Value::from(&self.name)), ("arguments", arguments)]).into()
    }

    fn tool(&self) -> Value {
        let properties = self.arguments.iter().map(|(key, declared, _)| {
            let property = Object::from_iter([("type", *declared), ("description", "It")]);
            (key.clone(), Value::from(property))
        });
        let required: Value = self.arguments.iter().map(|(key, ..)| key).collect();
        let parameters = Object::from_iter([
            ("type", Value::from("object")),
            ("properties", Object::from_iter(properties).into()),
            ("required", required),
        ]);
        let function = Object::from_iter([
            ("name", Value::from(&self.name)),
            ("description", "Does it".into()),
            ("parameters", parameters.into()),
        ]);
        Object::from_iter([
            ("type", Value::from("function")),
            ("function", function.into()),
        ])
        .into()
    }
}

/// What a chat template writes of a message with these calls, behind a prompt, if it renders them; arguments are objects, or else texts.
fn rendered(template: &ChatTemplate, calls: &[Call], as_texts: bool) -> Option<(String, String)> {
    let function = |(at, call): (usize, &Call)| {
        let arguments = match as_texts {
            true => Value::from(json::write(&call.arguments())),
            false => call.arguments(),
        };
        let own = [(
            "id",
            Value::from(format!("call0000{}", (b'a' + at as u8) as char)),
        )];
        let rest = [
            ("type", "function".into()),
            ("function", call.function(arguments)),
        ];
        Value::from(Object::from_iter(own.into_iter().chain(rest)))
    };
    let said: Value = calls
        .iter()
        .enumerate()
        .map(function)
        .collect::<Vec<_>>()
        .into();
    let question = json::read(r#"{"role": "user", "content": "Do it."}"#).expect("it is JSON");
    let answer = Object::from_iter([
        ("role", "assistant".into()),
        ("content", "".into()),
        ("tool_calls", said),
    ]);
    let mut tools: BTreeMap<&str, Value> = BTreeMap::new();
    calls
        .iter()
        .for_each(|call| drop(tools.insert(&call.name, call.tool())));
    let render = |messages: Vec<Value>, add_generation_prompt| {
        let input = RenderInput {
            messages: messages.into(),
            tools: tools.values().cloned().collect::<Vec<_>>().into(),
            add_generation_prompt,
            variables: Object::from_iter([("enable_thinking", false)]),
            bos_token: template.bos_token.clone(),
            eos_token: template.eos_token.clone(),
            ..RenderInput::default()
        };
        Some(template.render(&input).ok()?.text)
    };
    let prompt = render(vec![question.clone()], true)?;
    let full = render(vec![question, answer.into()], false)?;
    let output = full.strip_prefix(prompt.as_str())?.to_owned();
    Some((prompt, output))
}

/// What is wrong with what comes of an output, if anything is.
fn misread(derived: &Derivation, prompt: &str, output: &str, calls: &[Call]) -> Option<String> {
    let tools: Vec<Value> = calls.iter().map(Call::tool).collect();
    let options = ParserOptions::default().tools(Tools::from_value(&tools.into()));
    let message = match parse(&derived.template, prompt, output, options) {
        Ok(message) => message,
        Err(error) => return Some(error.to_string()),
    };
    let read = message
        .get("tool_calls")
        .and_then(Value::as_array)
        .unwrap_or_default();
    let read = read
        .iter()
        .map(|call| call.get("function").cloned().unwrap_or_default());
    let read: Value = read.collect::<Vec<_>>().into();
    let said = calls.iter().map(|call| call.function(call.arguments()));
    let said: Value = said.collect::<Vec<_>>().into();
    (read != said).then(|| format!("{} instead of {}", json::write(&read), json::write(&said)))
}

/// What has come of the messages of one chat template.
#[derive(Default)]
struct Tried {
    messages: usize,
    /// How many of those that are misread hold a kind that the report names.
    reported: BTreeMap<String, usize>,
    /// Those that are misread though nothing was said.
    silent: Vec<String>,
}

#[test]
fn what_is_misread_in_calls_of_the_gallery_is_reported_before() {
    let count = asked("ARGUMENTS_MESSAGES").unwrap_or(300);
    let seed = asked("ARGUMENTS_SEED").unwrap_or(1);
    let gallery = root().join("chat_templates");
    let folder = env::var_os("ARGUMENTS_TEMPLATES").map_or(gallery, PathBuf::from);
    let files = fs::read_dir(folder).expect("the gallery is there");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "jinja")
    });
    paths.sort();
    let tried = on_two_threads(paths.len() as u64, |number| {
        let path = &paths[number as usize];
        let mut template = ChatTemplate::from_jinja(fs::read_to_string(path).expect("a text"));
        template.bos_token = Some("<s>".to_owned());
        template.eos_token = Some("</s>".to_owned());
        let Ok(derived) = derive(&template, &DeriveOptions::default()) else {
            return Tried::default();
        };
        let misread_kinds = derived
            .call_kinds
            .iter()
            .filter(|kind| kind.difference.is_some());
        let misread_kinds: Vec<&str> = misread_kinds.map(|kind| kind.kind.as_str()).collect();
        let mut tried = Tried::default();
        let several = derived.proof.iter().any(|row| {
            let calls = row.message.get("tool_calls").and_then(Value::as_array);
            calls.is_some_and(|calls| calls.len() > 1)
        });
        for number in 0..count {
            let mut random = Random::new(seed, number);
            let length = match several && random.chance(20) {
                true => 2 + random.below(11),
                false => 1,
            };
            let calls: Vec<Call> = (0..length).map(|at| call(&mut random, at)).collect();
            let is_known = |kind: &str| derived.call_kinds.iter().any(|known| known.kind == kind);
            if !calls.iter().all(|call| is_known(&call.kind)) {
                continue;
            }
            let ways = [false, true].into_iter();
            let mut ways = ways.filter_map(|as_texts| rendered(&template, &calls, as_texts));
            let Some(first) = ways.next() else { continue };
            tried.messages += 1;
            let fault = misread(&derived, &first.0, &first.1, &calls);
            // Arguments given as objects may be escaped or printed: then the chat template takes texts.
            let fault = fault.filter(|_| {
                ways.next().is_none_or(|(prompt, output)| {
                    misread(&derived, &prompt, &output, &calls).is_some()
                })
            });
            let Some(fault) = fault else { continue };
            let said = calls.iter().map(|call| call.kind.as_str());
            let mut said = said.filter(|kind| misread_kinds.contains(kind));
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            match said.next() {
                Some(kind) => *tried.reported.entry(kind.to_owned()).or_default() += 1,
                None => {
                    let kinds: Vec<&str> = calls.iter().map(|call| call.kind.as_str()).collect();
                    let kinds = kinds.join(", ");
                    tried
                        .silent
                        .push(format!("{name}: {kinds}: {fault}\n    {:?}", first.1));
                }
            }
        }
        tried
    });
    let messages: usize = tried.iter().map(|tried| tried.messages).sum();
    let mut reported: BTreeMap<String, usize> = BTreeMap::new();
    for (kind, count) in tried.iter().flat_map(|tried| &tried.reported) {
        *reported.entry(kind.clone()).or_default() += count;
    }
    let silent: Vec<String> = tried.into_iter().flat_map(|tried| tried.silent).collect();
    let misread: usize = reported.values().sum();
    println!(
        "{messages} messages; {} misread in silence; {misread} as reported: {reported:#?}",
        silent.len()
    );
    assert!(
        messages as u64 > count * 10,
        "{messages} messages are rendered only"
    );
    assert!(
        silent.is_empty(),
        "{} of {messages}:\n{}",
        silent.len(),
        silent.join("\n")
    );
}
