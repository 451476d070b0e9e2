//! Fixtures: what their loader says of them, and what their schema says.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use unjinja::chat_template::{ChatTemplate, LoadOptions, Source};
use unjinja::check::{FirstFixture, Fixture};
use unjinja::derive::{DeriveOptions, derive};
use unjinja::{Diagnostic, Value, json};

use crate::root;
use crate::schema::changes::changed;
use crate::schema::{FIXTURES, Rule, TEMPLATES, parsed, parts, target, templates};

/// What the loader says of fixtures that no schema can find anything wrong with.
const BEYOND_SCHEMAS: &[&str] = &[
    "can't be read",
    "this is not a file",
    "this is not JSON",
    "there is no such file",
    "there is no chat template",
    "where a response template was expected",
    "does not render this",
    "writes the turn's beginning differently",
    "this is not a time",
    "has the same name",
    "the last message is the output",
];

fn rule() -> Rule {
    Rule::new(
        FIXTURES,
        [BEYOND_SCHEMAS, templates::BEYOND_SCHEMAS].concat(),
    )
}

/// A folder with a response template, and a chat template that takes whatever it is given.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
                    {% if add_generation_prompt %}<assistant>{% endif %}";
    fs::write(folder.path().join("chat_template.jinja"), template).expect("it can be written");
    let template = r#"{"start_anchor": "<assistant>", "fields": {"content": {"close": "<end>"}}}"#;
    fs::write(folder.path().join("template.json"), template).expect("it can be written");
    folder
}

/// What the loader has against a fixture; nothing if it accepts it.
fn faults(folder: &Path, fixture: &Value) -> Vec<Diagnostic> {
    let path = folder.join("it.fixture.json");
    fs::write(&path, json::write(fixture)).expect("it can be written");
    let loaded = Fixture::load(&path);
    // Some systems wait for the disk when a file that is there is written over.
    fs::remove_file(&path).expect("it can be removed");
    match loaded {
        Ok(_) => Vec::new(),
        Err(error) => error.faults,
    }
}

/// Every key of fixtures, and one that is none.
const KEYS: &[&str] = &[
    "$schema",
    "description",
    "response_template",
    "derive",
    "chat_template",
    "variables",
    "now",
    "tools",
    "cases",
    "name",
    "prefix",
    "output",
    "messages",
    "conversation",
    "message",
    "events",
    "error",
    "reads",
    "written",
    "type",
    "field",
    "text",
    "dirty",
    "value",
    "role",
    "function",
    "unknown",
];

/// A fixture in which everything is said that can be.
const FULL: &str = r#"{
    "$schema": "fixture.schema.json",
    "description": "All that can be said.",
    "response_template": "template.json",
    "chat_template": "chat_template.jinja",
    "variables": {"thinking": true},
    "now": "2026-01-15T12:00:00",
    "tools": [{"type": "function", "function": {"name": "wait"}}],
    "cases": [
        {
            "name": "texts",
            "description": "The prompt and the output are texts.",
            "prefix": "<assistant>",
            "output": "Hello!<end>",
            "tools": {"tools": [{"name": "wait"}, "search"]},
            "message": {"content": "Hello!"},
            "events": [
                {"type": "region_open", "field": "content"},
                {"type": "region_chunk", "field": "content", "text": "Hello!", "dirty": false},
                {"type": "region_close", "field": "content", "value": "Hello!"}
            ]
        },
        {"name": "messages", "prefix": [{"role": "user"}], "output": "", "error": "stuck"},
        {"name": "the last turn", "messages": [{"role": "user"}, {"role": "assistant"}]},
        {
            "name": "a conversation",
            "conversation": "<user>Hi<end><assistant>Ho!<end>",
            "reads": {"messages": [{"role": "user", "content": "Hi"}]},
            "written": ["Ho!<end>"]
        },
        {"name": "messages of one", "conversation": [{"role": "user"}]},
        {"name": "what is rendered", "conversation": [{"role": "user"}], "renders": "<user><end>"},
        {"name": "a prompt", "prompt": [{"role": "user"}], "tools": null, "renders": "<user><end><assistant>"}
    ]
}"#;

/// What any place of a fixture may be replaced by.
fn replacements() -> Vec<Value> {
    let text = r#"[
        null, true, "", "chat_template.jinja", "region_open", [], ["x"], [{"role": "assistant"}],
        [{"function": {"name": "x"}}], {}, {"tools": []}, {"name": "x", "output": ""},
        {"start_anchor": "A:", "fields": {"content": {}}}
    ]"#;
    let values = json::read(text).expect("the replacements are JSON");
    values.as_array().expect("they are a list").to_vec()
}

#[test]
fn schema_and_loader_agree_on_every_change_of_a_fixture() {
    let (rule, folder) = (rule(), folder());
    let full = json::read(FULL).expect("the fixture is JSON");
    assert_eq!(faults(folder.path(), &full), []);
    let (mut accepted, mut refused) = (0, 0);
    for fixture in changed(&full, KEYS, &replacements()) {
        let faults = faults(folder.path(), &fixture);
        rule.assert(&fixture, &faults);
        match faults.is_empty() {
            true => accepted += 1,
            false => refused += 1,
        }
    }
    assert!(accepted > 100 && refused > 100, "{accepted}, {refused}");
}

#[test]
fn each_way_to_give_the_template_is_accepted() {
    let (rule, folder) = (rule(), folder());
    let cases = r#""cases": [{"name": "nothing", "output": ""}]"#;
    for given in [
        r#""response_template": {"start_anchor": "<bot>", "fields": {"content": {}}}"#,
        r#""response_template": "template.json""#,
        r#""derive": "chat_template.jinja""#,
    ] {
        let fixture = json::read(&format!("{{{given}, {cases}}}")).expect("the fixture is JSON");
        assert_eq!(faults(folder.path(), &fixture), [], "{given}");
        rule.assert(&fixture, &[]);
    }
}

#[test]
fn the_example_of_the_schema_passes() {
    let folder = folder();
    let schema = json::read(FIXTURES).expect("the schema is JSON");
    let path = folder.path().join("example.fixture.json");
    let example = schema.pointer("/examples/0").expect("there is an example");
    fs::write(&path, json::write(example)).expect("it can be written");
    let report = unjinja::check::check(&[path], &unjinja::check::CheckOptions::default());
    assert_eq!(
        (report.cases().count(), report.failed()),
        (1, 0),
        "{report:?}"
    );
}

#[test]
fn what_is_begun_from_a_chat_template_is_accepted() {
    let source = Source::Path(root().join("examples/chat_template.jinja"));
    let template = ChatTemplate::load(&source, &LoadOptions::default()).expect("it is there");
    let derived = derive(&template, &DeriveOptions::default()).expect("it can be read back");
    let fixture = FirstFixture::new(&derived);
    let (rule, folder) = (rule(), folder());
    let value = fixture.to_value();
    assert_eq!(faults(folder.path(), &value), []);
    rule.assert(&value, &[]);
}

#[test]
fn every_key_has_an_example() {
    let schema = parsed(FIXTURES);
    for part in parts(&schema) {
        if part["title"] == "Response template" {
            continue;
        }
        let properties = part["properties"].as_object();
        for (key, property) in properties.into_iter().flatten() {
            let has =
                |part: &serde_json::Value| part["examples"].is_array() || !part["const"].is_null();
            assert!(has(property) || has(target(&schema, property)), "{key}");
        }
    }
}

/// A template may stand in a fixture, and editors look for its schema nowhere else. So it stands
/// there whole, where its references have a longer way.
///
/// `UNJINJA_UPDATE=1 cargo test --test library schema` writes it anew.
#[test]
fn the_schema_of_templates_stands_in_that_of_fixtures() {
    let key = "\n    \"response_template\": {\n";
    let at = FIXTURES.rfind(key).expect("it stands there") + key.len();
    let names_itself =
        |line: &&str| line.starts_with("  \"$schema\"") || line.starts_with("  \"$id\"");
    let lines = TEMPLATES.lines().skip(1).filter(|line| !names_itself(line));
    let mut expected = FIXTURES[..at].to_owned();
    for line in lines {
        let line = line.replace("\"#/$defs/", "\"#/$defs/response_template/$defs/");
        expected.push_str(&format!("    {line}\n"));
    }
    expected.push_str("  }\n}\n");
    if std::env::var_os("UNJINJA_UPDATE").is_some() {
        fs::write(root().join("schema/fixture.schema.json"), expected).expect("it can be written");
    } else {
        let remedy = "write it anew with UNJINJA_UPDATE=1 cargo test --test library schema";
        assert!(
            FIXTURES == expected,
            "schema/fixture.schema.json has another: {remedy}"
        );
    }
}
