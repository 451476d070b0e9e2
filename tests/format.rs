//! The typed tree of a format reads what models write, into the same parts.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::format::{Format, FoundSlot, Reading, Slot};
use unjinja::{Object, Value, json};

use crate::root;

/// Why a reading does not say what a message says; nothing if it does.
fn difference(reading: &Reading<'_>, message: &Value) -> Option<String> {
    let text = |key: &str| message.get(key).and_then(Value::as_str);
    let thought = text("thinking").or(text("reasoning")).unwrap_or_default();
    let content = text("content").unwrap_or_default();
    for (slot, expected) in [(Slot::Reasoning, thought), (Slot::Content, content)] {
        let found = reading.slots.iter().filter(|found| found.slot == slot);
        let found: String = found.map(|found| found.text).collect();
        if found.trim() != expected.trim() {
            return Some(format!("{slot} is {found:?}, not {expected:?}"));
        }
    }
    let none = Vec::new();
    let calls = match message.get("tool_calls") {
        Some(Value::Array(calls)) => calls,
        _ => &none,
    };
    let last = reading.slots.iter().filter_map(|found| found.call).max();
    let count = last.map_or(0, |last| last + 1);
    if count != calls.len() {
        return Some(format!("{count} calls, not {}", calls.len()));
    }
    let mut calls = calls.iter().enumerate();
    calls.find_map(|(at, call)| {
        let slots = reading.slots.iter().filter(|found| found.call == Some(at));
        call_difference(
            &slots.collect::<Vec<_>>(),
            call.get("function").unwrap_or(call),
        )
    })
}

fn call_difference(slots: &[&FoundSlot<'_>], function: &Value) -> Option<String> {
    let text = |slot| {
        let found = slots.iter().find(|found| found.slot == slot);
        found.map(|found| found.text)
    };
    let name = function.get("name").and_then(Value::as_str);
    // Some ids hold the name.
    let is_named = text(Slot::Name) == name || text(Slot::Id).is_some_and(|id| Some(id) >= name);
    if !is_named {
        return Some(format!("{:?} is called, not {name:?}", text(Slot::Name)));
    }
    let empty = Object::new();
    let arguments = function.get("arguments").and_then(Value::as_object);
    let arguments = arguments.unwrap_or(&empty);
    if let Some(written) = text(Slot::Arguments) {
        let is_same = match json::read(written) {
            Ok(Value::Object(read)) => read == *arguments,
            // Another dialect, or JSON in a text: all keys have to be there.
            _ => {
                let mut keys = arguments.keys().map(|key| key.to_string_lossy());
                keys.all(|key| written.contains(key.as_ref()))
            }
        };
        return (!is_same).then(|| format!("{written}, not {arguments:?}"));
    }
    let texts = |slot| {
        let found = slots.iter().filter(move |found| found.slot == slot);
        found.map(|found| found.text).collect::<Vec<_>>()
    };
    let (mut keys, values) = (texts(Slot::Key), texts(Slot::Value));
    // Some formats name the key behind the value once more.
    keys.dedup();
    let is_same = keys.len() == arguments.len()
        && values.len() == arguments.len()
        && keys.iter().zip(&values).all(|(key, written)| {
            let value = arguments.get(key);
            value.is_some_and(|value| says(written, value))
        });
    (!is_same).then(|| format!("{keys:?} with {values:?}, not {arguments:?}"))
}

/// Whether a written value is a value: as JSON, as a text in any quotes, or in Python's words.
fn says(written: &str, value: &Value) -> bool {
    if json::read(written).is_ok_and(|read| read == *value) {
        return true;
    }
    let in_json = |written: &str| {
        let words = [
            ("'", "\""),
            ("True", "true"),
            ("False", "false"),
            ("None", "null"),
        ];
        let words = words.iter();
        words.fold(written.to_owned(), |text, (from, to)| {
            text.replace(from, to)
        })
    };
    match value.as_str() {
        Some(text) => {
            let bare = written.trim_matches(['"', '\'']).replace("\\'", "'");
            written.contains(text.trim()) || bare.replace("\\n", "\n").replace("\\\\", "\\") == text
        }
        None => json::read(&in_json(written)).is_ok_and(|read| read == *value),
    }
}

/// What goes wrong when the format reads an output; nothing if all goes well.
fn fault(format: &Format, prompt: &str, output: &str, message: &Value) -> Option<String> {
    let text = format!("{}{output}", format.begun_by(prompt));
    match format.read(&text) {
        Ok(reading) => difference(&reading, message),
        Err(error) => Some(error.to_string()),
    }
}

fn gallery() -> Vec<PathBuf> {
    let files = fs::read_dir(root().join("chat_templates")).expect("the gallery is there");
    let files = files.map(|file| file.expect("it can be read").path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|kind| kind == "jinja"))
        .collect();
    files.sort();
    files
}

fn format_of(file: &Path, base: &RenderInput) -> Format {
    let jinja = fs::read_to_string(file).expect("the template is there");
    Format::of(&ChatTemplate::from_jinja(&jinja), base).expect("it has a format")
}

#[cfg(feature = "check")]
#[test]
fn what_models_of_the_gallery_write_is_read() {
    use unjinja::check::Fixture;

    let (mut faults, mut all) = (Vec::new(), 0);
    for file in gallery() {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let format = format_of(&file, &RenderInput::default());
        let fixture = root().join(format!("derived/{name}.fixture.yaml"));
        let fixture = Fixture::load(&fixture).expect("the gallery has a fixture for it");
        for case in fixture.cases() {
            // What is cut off before anything was said has no ending.
            let message = case.expected.message.as_ref();
            let Some(message) = message.filter(|_| !case.output.is_empty()) else {
                continue;
            };
            all += 1;
            let message = Value::from(message.clone());
            if let Some(fault) = fault(&format, &case.prefix, &case.output, &message) {
                faults.push(format!("{name}, {}: {fault}", case.name));
            }
        }
    }
    assert!(all > 300, "there are {all} outputs only");
    insta::assert_snapshot!(faults.join("\n"), @"");
}

/// The description is what the JSON Schema says, and says in words what it is.
#[test]
fn a_format_is_as_its_schema_says() {
    let schema = serde_json::from_str(Format::JSON_SCHEMA).expect("the schema is JSON");
    let schema = jsonschema::draft202012::new(&schema).expect("the schema is one");
    let mut words = String::new();
    for file in gallery() {
        let format = format_of(&file, &RenderInput::default());
        let value = json::write(&format.to_value());
        let value = serde_json::from_str(&value).expect("it is JSON");
        let faults: Vec<String> = schema.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(faults.is_empty(), "{}: {faults:?}", file.display());
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        words.push_str(&format!("{name}\n"));
        for way in &format.ways {
            words.push_str(&format!("    {way}\n"));
        }
        if let Some(calls) = &format.calls {
            words.push_str(&format!("    CALLS is {calls}\n"));
        }
        for gap in &format.gaps {
            words.push_str(&format!("    not known: {gap}\n"));
        }
    }
    insta::assert_snapshot!("formats", words);
}

/// Of the outputs that are not read, some begin in the middle of a marker, and some say the same as
/// another message does.
#[test]
fn what_models_of_the_shown_templates_write_is_read() {
    let shared = root().join("../shared");
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
            let base = RenderInput {
                bos_token: Some(text("bos_token").to_owned()),
                eos_token: Some(text("eos_token").to_owned()),
                ..RenderInput::default()
            };
            let file = shared.join(format!("templates/{name}.jinja"));
            known = Some((name, format_of(&file, &base)));
        }
        let (Some((name, format)), Some(message)) = (&known, case.get("expect")) else {
            continue;
        };
        all += 1;
        match fault(format, text("prefix"), text("output"), message) {
            None => read += 1,
            Some(fault) => eprintln!(
                "{name}, {}: {fault}\n    {:?}",
                text("scenario"),
                text("output")
            ),
        }
    }
    eprintln!("{read} of {all} outputs are read");
    assert!(read * 100 >= all * 99, "{read} of {all} outputs are read");
}

#[test]
fn a_long_text_is_read_and_one_that_is_too_long_is_refused() {
    let file = root().join("chat_templates/xml-calls.jinja");
    let format = format_of(&file, &RenderInput::default());
    for part in ["High water. ", "<tool_call>\n<function=a>", "{\"[(<"] {
        let said = part.repeat(100_000 / part.len());
        let text = format!("{said}<|im_end|>");
        let reading = format.read(&text).expect("it is a text");
        assert_eq!(reading.slots[0].text.trim(), said.trim());
    }
    let error = format
        .read(&"a".repeat(1 << 24))
        .expect_err("it is too long");
    assert!(error.is_too_long);
}

#[test]
fn where_no_turn_is_written_none_is_read() {
    let format = Format::of(&ChatTemplate::from_jinja(""), &RenderInput::default());
    let format = format.expect("it renders");
    for text in ["", "text"] {
        let error = format.read(text).expect_err("there is no turn");
        assert_eq!(
            error.to_string(),
            "byte 0: expected a turn, though the chat template writes none"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Any text is read or refused, at a place of it.
    #[test]
    fn any_text_is_read_or_refused(
        which in 0..4_usize,
        text in "(<tool_call>|</tool_call>|<function=|>|\\n|a|\\{|\"|\\}|é|<\\|im_end\\|>|<think>|</think>| ){0,40}",
    ) {
        let names = ["xml-calls", "chatml-think-json-calls", "bare-json-call", "python-calls"];
        let file = root().join(format!("chat_templates/{}.jinja", names[which]));
        let format = format_of(&file, &RenderInput::default());
        match format.read(&text) {
            Ok(reading) => {
                for found in &reading.slots {
                    prop_assert_eq!(&text[found.start..][..found.text.len()], found.text);
                }
                prop_assert!(reading.end <= text.len());
            }
            Err(error) => prop_assert!(text.is_char_boundary(error.at)),
        }
    }
}

/// A chat template whose tools stand behind the question, and whose calls are Python's without blanks.
const TOOLS_BEHIND_THE_QUESTION: &str = "\
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
[BOT]{{ message.content }}
{%- for call in message.tool_calls or [] -%}
[CALL {{ call.function.name }}(
{%- for key, value in call.function.arguments.items() -%}
{{ key }}={{ value | tojson }}{% if not loop.last %},{% endif %}
{%- endfor -%}
)]
{%- endfor -%}
[/BOT]
{%- else -%}
[{{ message.role | upper }}]{{ message.content }}
{%- if tools and loop.last %}{{ tools | tojson }}{% endif -%}
[/{{ message.role | upper }}]
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}[BOT]{% endif -%}";

fn tools_behind_the_question() -> Format {
    let template = ChatTemplate::from_jinja(TOOLS_BEHIND_THE_QUESTION);
    Format::of(&template, &RenderInput::default()).expect("it has a format")
}

#[test]
fn tools_behind_the_question_are_no_part_of_the_turn() {
    let format = tools_behind_the_question();
    let calls = format.calls.expect("it has calls").to_string();
    assert_eq!(
        calls,
        "call(`[CALL` ` ` NAME `(` argument(KEY `=` VALUE[string, integer, number, boolean, null, array, \
         object as JSON])(…`,`)* `)]`)+"
    );
    assert!(format.gaps.is_empty(), "{:?}", format.gaps);
}

#[test]
fn tools_behind_a_message_are_no_part_of_the_turn_whatever_stands_around_markers() {
    for (open, close) in [("<|", "|>"), ("◆", "◇"), ("#", "#")] {
        let marker = |word: &str| format!("{open}{word}{close}");
        let [start, bot, call, called, tools, end] =
            ["{{ m.role }}", "assistant", "do", "/do", "tools", "end"].map(marker);
        let template = format!(
            "{{% for m in messages %}}{start}{{{{ m.content or '' }}}}{{% for c in m.tool_calls or [] %}}{call}\
             {{{{ c.function.name }}}}: {{{{ c.function.arguments | tojson }}}}{called}{{% endfor %}}\
             {{% if loop.first and tools %}}{tools}{{{{ tools | tojson }}}}{{% endif %}}{end}{{% endfor %}}\
             {{% if add_generation_prompt %}}{bot}{{% endif %}}"
        );
        let template = ChatTemplate::from_jinja(template);
        let format = Format::of(&template, &RenderInput::default()).expect("it has a format");
        let turns: Vec<String> = format.ways.iter().map(|way| way.node.to_string()).collect();
        assert_eq!(turns, ["CONTENT", "CALLS", "CONTENT CALLS"], "{open}");
    }
}

#[test]
fn a_text_that_is_written_as_a_string_of_json_is_known_as_escaped() {
    let of = |thought: &str| {
        let template = ChatTemplate::from_jinja(format!(
            "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.role == 'assistant' %}}\
             {{\"thought\": {thought}}}<say>{{{{ m.content }}}}{{% else %}}{{{{ m.content }}}}{{% endif %}}</{{{{ m.role }}}}>\
             {{% endfor %}}{{% if add_generation_prompt %}}<assistant>{{% endif %}}"
        ));
        let format = Format::of(&template, &RenderInput::default());
        format.expect("it has a format").escaped
    };
    assert_eq!(
        of("{{ (m.reasoning_content or '') | tojson }}"),
        [Slot::Reasoning]
    );
    assert_eq!(of("\"{{ m.reasoning_content or '' }}\""), []);
}

#[test]
fn a_prompt_has_begun_what_stands_behind_the_last_header_of_a_turn_that_goes_on() {
    let format = tools_behind_the_question();
    let table = [
        ("[USER]Well?[/USER][BOT]", ""),
        ("[USER]Well?[/USER][BOT]At no", "At no"),
        ("[USER]Well?[/USER]", ""),
        ("[USER]Well?[/USER][BOT]At noon.[/BOT][USER]So?[/USER]", ""),
    ];
    for (prompt, begun) in table {
        assert_eq!(format.begun_by(prompt), begun, "{prompt}");
    }
}

/// `ARCHITECTURE.md` draws a turn as a tree. Its leaves are the texts of the turn, each behind the name of its slot or what it is.
#[test]
fn the_turn_drawn_in_the_architecture_is_read_as_it_is_drawn() {
    let project = root();
    let page = fs::read_to_string(project.join("ARCHITECTURE.md")).expect("it is there");
    let drawn = page.split("```text\nturn, behind ").nth(1);
    let (header, tree) = drawn
        .and_then(|rest| rest.split_once('\n'))
        .expect("a turn");
    let tree = tree.split("```").next().unwrap_or_default();
    let unquoted = |quoted: &str| {
        let value = json::read(quoted).expect(quoted);
        value.as_str().expect("a text").to_owned()
    };
    let leaves: Vec<(&str, String)> = tree
        .lines()
        .filter_map(|line| {
            line.trim_start_matches(['│', '├', '└', '─', ' '])
                .split_once(' ')
        })
        .map(|(name, quoted)| (name, unquoted(quoted.trim())))
        .collect();
    let turn: String = leaves.iter().map(|(_, text)| text.as_str()).collect();

    let jinja = fs::read_to_string(project.join("chat_templates/xml-calls.jinja"));
    let template = ChatTemplate::from_jinja(jinja.expect("it is there"));
    let format = Format::of(&template, &RenderInput::default()).expect("it has a format");
    assert_eq!(format.begins_after, [unquoted(header)]);
    let reading = format.read(&turn).expect("it is a turn");
    let read: Vec<(String, String)> = reading
        .slots
        .iter()
        .map(|found| (found.slot.to_string(), found.text.to_owned()))
        .collect();
    let slots = leaves
        .iter()
        .filter(|(name, _)| name.chars().all(char::is_uppercase));
    let slots: Vec<(String, String)> = slots
        .map(|(name, text)| (name.to_string(), text.clone()))
        .collect();
    assert_eq!(read, slots);
}
