//! Faults that are planted into sound chat templates are found, in the line where they were planted.
//!
//! Each is a change that people make by mistake, in words of Jinja that many templates have. It counts where it changes what
//! some conversation renders to.

use std::fmt::Write as _;
use std::fs;

use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::lint::{Complaint, LintOptions, lint_chat_template};
use unjinja::{Value, json};

use crate::masks::gallery;

use crate::root;

/// A fault.
struct Plant {
    name: &'static str,
    /// What stands in templates, in some ways in which people write it.
    sound: &'static [&'static str],
    /// What stands there with the fault; `@` is what stood there before.
    faulty: &'static str,
    /// The codes that say so.
    codes: &'static [&'static str],
}

const ARGUMENTS: &[&str] = &["arguments | tojson", "arguments|tojson"];
const SAID: &[&str] = &["+ message.content", "+ message['content']", "+ m.content"];
const TURNS: &[&str] = &[
    "{%- for message in messages %}",
    "{% for message in messages %}",
    "{%- for m in messages %}",
    "{%- for message in messages -%}",
];

const PLANTS: [Plant; 16] = [
    Plant {
        name: "None is printed",
        sound: &["(message.content or '')", "message.content or ''"],
        faulty: "('' ~ message.content)",
        codes: &["J001"],
    },
    Plant {
        name: "arguments are printed as Python does",
        sound: ARGUMENTS,
        faulty: "arguments | string",
        codes: &["J002"],
    },
    Plant {
        name: "a text is escaped as for a web page",
        sound: SAID,
        faulty: "@ | e",
        codes: &["J003"],
    },
    Plant {
        name: "a message without content crashes",
        sound: &["(message.content or '')", "message.content or ''"],
        faulty: "message.content.strip()",
        codes: &["J004"],
    },
    Plant {
        name: "arguments as an object crash",
        sound: ARGUMENTS,
        faulty: "arguments + ''",
        codes: &["J006"],
    },
    Plant {
        name: "JSON is encoded twice",
        sound: ARGUMENTS,
        faulty: "@ | tojson",
        codes: &["J009"],
    },
    Plant {
        name: "results are dropped",
        sound: &["== 'tool'", "== \"tool\""],
        faulty: "== 'function_result'",
        codes: &["J012"],
    },
    Plant {
        name: "the second call is dropped",
        sound: &[
            "in message.tool_calls",
            "in message['tool_calls']",
            "in m.tool_calls",
        ],
        faulty: "@[:1]",
        codes: &["J011"],
    },
    Plant {
        name: "the system's message is dropped",
        sound: &["== 'system'", "== \"system\""],
        faulty: "== 'developer'",
        codes: &["J010"],
    },
    Plant {
        name: "prompts are not asked for",
        sound: &["if add_generation_prompt"],
        faulty: "if add_generation_prompt and not messages",
        codes: &["J020"],
    },
    Plant {
        name: "a name is misspelled",
        sound: &[
            "message.reasoning_content",
            "message.tool_calls",
            "m.tool_calls",
        ],
        faulty: "@",
        codes: &["J024"],
    },
    Plant {
        name: "prompts change with the minute",
        sound: TURNS,
        faulty: "{{- strftime_now('%H:%M') }}@",
        codes: &["J025"],
    },
    Plant {
        name: "prompts differ from call to call",
        sound: TURNS,
        faulty: "{{- [messages | length, 'x'] | random }}@",
        codes: &["J026"],
    },
    Plant {
        name: "transformers refuse it",
        sound: TURNS,
        faulty: "{%- do messages.append(messages[0]) %}@",
        codes: &["J027"],
    },
    Plant {
        name: "words of a text trigger something",
        sound: SAID,
        faulty: "+ (' Buy shares.' if 'money' in message.content else '') @",
        codes: &["J032"],
    },
    Plant {
        name: "keys of arguments are sorted",
        sound: ARGUMENTS,
        faulty: "arguments | tojson(sort_keys=True)",
        codes: &["J033"],
    },
];

impl Plant {
    /// The template with the fault, and the line where it is.
    fn planted(&self, jinja: &str) -> Option<(String, usize)> {
        let found = self
            .sound
            .iter()
            .filter_map(|sound| Some((jinja.find(sound)?, *sound)));
        let (at, sound) = found.min()?;
        let faulty = match self.codes {
            // Two letters less.
            ["J024"] => sound.replace("as", "a").replace("calls", "cals"),
            _ => self.faulty.replace('@', sound),
        };
        let planted = format!("{}{faulty}{}", &jinja[..at], &jinja[at + sound.len()..]);
        let lines = faulty.matches('\n').count();
        Some((planted, jinja[..at].matches('\n').count() + 1 + lines))
    }
}

/// Conversations in which most that can be said is said.
const CONVERSATIONS: [&str; 4] = [
    r#"[{"role": "system", "content": "A"}, {"role": "user", "content": "The money & <b>"}]"#,
    r#"[{"role": "user", "content": "B"}, {"role": "assistant", "content": "C", "reasoning_content": "D"},
        {"role": "user", "content": "E"}]"#,
    r#"[{"role": "user", "content": "F"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call00001", "type": "function", "function": {"name": "f", "arguments": {"z": "1", "a": [2]}}}]},
        {"role": "tool", "name": "f", "tool_call_id": "call00001", "content": "G"}]"#,
    r#"[{"role": "user", "content": "H"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "call00001", "type": "function", "function": {"name": "f", "arguments": {"z": "1", "a": "2"}}},
            {"id": "call00002", "type": "function", "function": {"name": "f", "arguments": {"z": "3"}}}]},
        {"role": "tool", "name": "f", "tool_call_id": "call00001", "content": "I"},
        {"role": "tool", "name": "f", "tool_call_id": "call00002", "content": "J"}]"#,
];

/// What a template makes of them.
fn renderings(template: &ChatTemplate) -> Vec<Option<String>> {
    let now = "2026-03-05T14:07:09".parse().ok();
    let conversations = CONVERSATIONS
        .iter()
        .map(|messages| json::read(messages).unwrap());
    let inputs = conversations.map(|messages: Value| RenderInput {
        messages,
        add_generation_prompt: true,
        now,
        bos_token: template.bos_token.clone(),
        eos_token: template.eos_token.clone(),
        ..RenderInput::default()
    });
    inputs
        .map(|input| template.render(&input).ok().map(|rendering| rendering.text))
        .collect()
}

fn complaints(template: &ChatTemplate) -> Vec<Complaint> {
    lint_chat_template(template, &LintOptions::default()).unwrap_or_default()
}

fn line(complaint: &Complaint) -> usize {
    complaint.diagnostic.position.map_or(0, |place| place.line)
}

/// How many faults were planted, found, and found in their line; and what was not.
#[derive(Default)]
struct Tally {
    planted: usize,
    found: usize,
    placed: usize,
    missed: String,
}

impl Tally {
    fn plant(&mut self, plant: &Plant, name: &str, template: &ChatTemplate) {
        let Some((jinja, at)) = plant.planted(&template.jinja) else {
            return;
        };
        let mut faulty = template.clone();
        faulty.jinja = jinja;
        let is_refusal = plant.codes == ["J027"];
        if !is_refusal && renderings(&faulty) == renderings(template) {
            return;
        }
        self.planted += 1;
        let known = complaints(template);
        let is_new = |complaint: &Complaint| {
            let mut same = known.iter().filter(|known| known.lint == complaint.lint);
            plant.codes.contains(&complaint.lint.code())
                && !same.any(|known| {
                    known.diagnostic.message == complaint.diagnostic.message
                        && line(known) == line(complaint)
                })
        };
        let mut new = complaints(&faulty);
        new.retain(is_new);
        let is_placed = new.iter().any(|complaint| line(complaint) == at);
        self.found += usize::from(!new.is_empty());
        self.placed += usize::from(is_placed);
        if !is_placed {
            let lines: Vec<usize> = new.iter().map(line).collect();
            let what = plant.name;
            writeln!(self.missed, "{name}: {what}, line {at}: {lines:?}").unwrap();
        }
    }

    /// Nine of ten are found, and of these most in their line.
    fn check(&self, at_least: usize) {
        let Tally {
            planted,
            found,
            placed,
            missed,
        } = self;
        println!("{found} of {planted} faults were found, {placed} in their line\n{missed}");
        assert!(*planted >= at_least, "{planted}");
        assert!(found * 10 >= planted * 9, "{found} of {planted}\n{missed}");
        assert!(
            placed * 100 >= planted * 85,
            "{placed} of {planted}\n{missed}"
        );
    }
}

/// Into so many templates each fault is planted.
const TEMPLATES: usize = 6;

#[test]
fn faults_in_the_gallery_are_found_in_their_line() {
    let gallery = gallery();
    let mut tally = Tally::default();
    for plant in &PLANTS {
        let before = tally.planted;
        for (name, template) in &gallery {
            if tally.planted < before + TEMPLATES {
                tally.plant(plant, name, template);
            }
        }
    }
    tally.check(60);
}

#[test]
fn faults_in_published_templates_are_found_in_their_line() {
    let folder = root().join("../shared/templates");
    let Ok(files) = fs::read_dir(&folder) else {
        println!("skipped: there is no ../shared/templates");
        return;
    };
    let paths = files.map(|file| file.expect("the folder can be read").path());
    let templates = paths.filter_map(|path| {
        let name = path.file_stem()?.to_string_lossy().into_owned();
        let mut template = ChatTemplate::from_jinja(fs::read_to_string(&path).ok()?);
        template.bos_token = Some("<s>".to_owned());
        template.eos_token = Some("</s>".to_owned());
        let fitting = PLANTS
            .iter()
            .filter(|plant| plant.planted(&template.jinja).is_some());
        Some((fitting.count(), name, template))
    });
    // Those that most faults can be planted into.
    let mut templates: Vec<(usize, String, ChatTemplate)> = templates.collect();
    templates.sort_by(|a, b| (b.0, &a.1).cmp(&(a.0, &b.1)));
    let mut tally = Tally::default();
    for (_, name, template) in templates.iter().take(TEMPLATES) {
        for plant in &PLANTS {
            tally.plant(plant, name, template);
        }
    }
    tally.check(50);
}
