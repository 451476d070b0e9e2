//! Response schemas on the command line: bringing them over, and what the other commands make of them.

use crate::support::program;
use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use unjinja::{Value, json};
use unjinja_cli::tui::Target;

const CHAT_TEMPLATE: &str = "{%- for m in messages %}{{ '<' + m.role + '>' }}\
    {%- if m.reasoning_content %}{{ '<muse>' + m.reasoning_content + '</muse>' }}{% endif %}\
    {{- m.content or '' }}{{- '<end>' }}{% endfor %}\
    {%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}";

const SCHEMA: &str = r#"{
  "type": "object",
  "x-regex": "^(?:<muse>(?P<musing>.*?)</muse>)?(?P<content>.*?)(?:<end>|$)",
  "properties": {
    "role": {"const": "assistant"},
    "musing": {"type": "string"},
    "content": {"type": "string"}
  }
}
"#;

/// A folder of its own for one test, with the schema, and a configuration that has it beside a chat template.
fn scratch(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("convert")
        .join(test);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("schema.json"), SCHEMA).unwrap();
    let chat_template = json::write(&CHAT_TEMPLATE.into());
    let config = format!(
        "{{\n  \"chat_template\": {chat_template},\n  \"eos_token\": \"<end>\",\n  \"response_schema\": {SCHEMA}}}\n"
    );
    fs::write(folder.join("tokenizer_config.json"), config).unwrap();
    folder
}

/// What the program prints and says, and how it ends.
fn unjinja(folder: &Path, arguments: &str) -> String {
    program::unjinja(folder, arguments, "")
}

#[test]
fn a_schema_alone_is_followed() {
    let folder = scratch("alone");
    assert_snapshot!(unjinja(&folder, "convert schema.json --alone"));
}

#[test]
fn beside_a_chat_template_the_schema_is_a_witness() {
    let folder = scratch("beside");
    assert_snapshot!(unjinja(&folder, "convert ."));
}

#[test]
fn what_is_written_is_found_and_the_schema_stays() {
    let folder = scratch("write");
    let said = unjinja(&folder, "convert . --write --quiet");
    assert_eq!(said, "! .: written into ./tokenizer_config.json\nexit 0");
    let config = fs::read_to_string(folder.join("tokenizer_config.json")).unwrap();
    let config = json::read(&config).unwrap();
    assert_eq!(
        config.get("response_schema"),
        Some(&json::read(SCHEMA).unwrap())
    );
    assert!(config.get("response_template").is_some());
    assert!(unjinja(&folder, "convert .").contains("there is nothing to convert"));
    let message = unjinja(
        &folder,
        "diff schema.json tokenizer_config.json --format json",
    );
    assert!(message.contains("\"texts\""), "{message}");
}

#[test]
fn what_has_no_counterpart_is_named() {
    let folder = scratch("refused");
    let schema =
        r#"{"type": "object", "x-parser": "json", "properties": {"a": {"x-regex": "(a)(b)"}}}"#;
    fs::write(folder.join("refused.json"), schema).unwrap();
    assert_snapshot!(unjinja(&folder, "convert refused.json --alone"));
}

#[test]
fn a_schema_that_is_refused_says_where() {
    let folder = scratch("faults");
    let schema = "{\"type\": \"object\",\n \"x-regex\": \"(\",\n \"properties\": {\"a\": 1}}";
    fs::write(folder.join("faults.json"), schema).unwrap();
    assert_snapshot!(
        ["parse -t", "convert", "lint"]
            .map(|command| unjinja(&folder, &format!("{command} faults.json")))
            .join("\n---\n")
    );
}

#[test]
fn linting_a_configuration_names_convert() {
    let folder = scratch("lint");
    assert_snapshot!(unjinja(&folder, "lint tokenizer_config.json"));
    assert!(unjinja(&folder, "lint . --deny U015").ends_with("exit 1"));
    assert!(unjinja(&folder, "lint . --allow schema-ignored").ends_with("exit 0"));
    assert!(unjinja(&folder, "convert . --write").contains("written into"));
    assert!(!unjinja(&folder, "lint .").contains("U015"));
}

#[test]
fn a_schema_testifies_on_what_is_derived() {
    let folder = scratch("derive");
    let report = unjinja(&folder, "derive . -o derived.json");
    let line = report
        .lines()
        .find(|line| line.contains("  schema  "))
        .unwrap();
    assert_snapshot!(line);
    let report = unjinja(&folder, "derive . --format json-report --quiet");
    let report = json::read(report.trim_end_matches("exit 0")).unwrap();
    let own = report.pointer("/response_schema/own/total");
    assert!(own.is_some_and(|own| *own != Value::from(0)), "{report}");
}

#[test]
fn a_schema_and_a_template_are_compared() {
    let folder = scratch("diff");
    unjinja(&folder, "convert schema.json --alone -o template.json");
    assert_snapshot!(unjinja(&folder, "diff schema.json schema.json"));
    let other = SCHEMA.replace("(?P<content>.*?)", "\\\\s*(?P<content>.*?)");
    fs::write(folder.join("other.json"), other).unwrap();
    assert!(unjinja(&folder, "diff other.json template.json").ends_with("exit 1"));
}

/// What streams has events; a schema has none to step through or to expect.
#[test]
fn what_needs_events_says_why_a_schema_will_not_do() {
    let folder = scratch("events");
    fs::write(folder.join("output.txt"), "Hello!<end>").unwrap();
    assert_snapshot!(unjinja(&folder, "parse -t schema.json output.txt --events"));
    let fixture = "response_template: schema.json\ncases:\n  - name: a\n    output: b\n    message: {content: b}\n";
    fs::write(folder.join("a.fixture.yaml"), fixture).unwrap();
    let why = "reads whole texts alone, and reports no events and no regions: convert it with `unjinja convert`";
    assert!(unjinja(&folder, "check a.fixture.yaml").contains(why));
    let opened = Target::new(folder.join("schema.json").display().to_string()).load(None);
    assert!(opened.unwrap_err().message.contains(why));
}
