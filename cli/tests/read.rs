//! Conversations read back on the command line.

use crate::support::program;
use std::fs;
use std::path::{Path, PathBuf};

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

fn unjinja(test: &str, arguments: &str, input: &str) -> String {
    program::unjinja(&scratch(test), arguments, input)
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
