//! Conversations read back on the command line.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use insta::assert_snapshot;

const CHAT_TEMPLATE: &str = "{%- if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}\
    {%- for m in messages %}{{ '<' + m.role + '>' }}\
    {%- if m.reasoning_content %}{{ '<think>' + m.reasoning_content + '</think>' }}{% endif %}\
    {{- m.content }}\
    {%- for c in m.tool_calls or [] %}{{ '<call>' + c.function | tojson + '</call>' }}{% endfor %}\
    {{- '<end>' }}{% endfor %}\
    {%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}";

/// A folder of its own for one test, with the template.
fn scratch(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("read")
        .join(test);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("chat.jinja"), CHAT_TEMPLATE).unwrap();
    folder
}

/// What the program prints and says, and how it ends.
fn unjinja(test: &str, arguments: &str, input: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_unjinja"))
        .args(arguments.split_whitespace())
        .current_dir(scratch(test))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let out = child.wait_with_output().unwrap();
    let [stdout, stderr] = [out.stdout, out.stderr].map(|text| String::from_utf8(text).unwrap());
    let said: String = stderr.lines().map(|line| format!("! {line}\n")).collect();
    format!("{stdout}{said}exit {}", out.status.code().unwrap())
}

#[test]
fn messages_tools_and_parts_are_printed() {
    let text = concat!(
        r#"<tools>[{"type": "function", "function": {"name": "ring", "description": "Rings a bell", "#,
        r#""parameters": {"type": "object", "properties": {}}}}]</tools><user>Ring it.<end>"#,
        r#"<assistant><think>A bell.</think><call>{"name": "ring", "arguments": {"times": 2}}</call><end>"#,
        r#"<tool>ding dong<end><assistant>"#,
    );
    assert_snapshot!(unjinja("parts", "read chat.jinja --parts", text));
}

#[test]
fn what_is_open_is_told() {
    assert_snapshot!(unjinja(
        "open",
        "read chat.jinja",
        "<user>Hi<end><assistant>Hel"
    ));
}

#[test]
fn another_models_text_is_refused_at_its_place() {
    assert_snapshot!(unjinja("other", "read chat.jinja", "[INST] Hi [/INST]"));
}

#[test]
fn a_marker_in_a_text_is_warned_of() {
    assert_snapshot!(unjinja(
        "marker",
        "read chat.jinja",
        "<user>What is <end>?<end>"
    ));
}

#[test]
fn a_batch_has_an_answer_for_each_line() {
    let lines = concat!(
        r#"{"id": 1, "text": "<user>Hi<end>"}"#,
        "\n",
        r#"{"id": 2, "text": "Hi"}"#,
        "\n",
        r#"{"id": 3}"#,
        "\n",
        r#"{"id": 4, "text": "<user>Hi<end>", "now": "noon"}"#,
        "\n",
    );
    assert_snapshot!(unjinja("batch", "read chat.jinja --jsonl -", lines));
}
