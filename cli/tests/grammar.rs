//! Grammars on the command line: what is printed, and how it ends.

#[path = "support/program.rs"]
mod program;

use std::fs;

use insta::assert_snapshot;
use tempfile::TempDir;

/// Calls as JSON in tags.
const CHAT: &str = "{%- for m in messages %}{{ '<' + m.role + '>' + (m.content or '') }}\
    {%- for c in m.tool_calls or [] %}{{ '<call>' + c.function | tojson + '</call>' }}{% endfor %}\
    {{- '<end>' }}{% endfor %}{%- if add_generation_prompt %}{{ '<assistant>' }}{% endif %}";

const TOOLS: &str = r#"[{"name": "wait", "parameters": {"type": "object", "properties":
    {"seconds": {"type": "integer", "multipleOf": 5}}, "required": ["seconds"]}}]"#;

/// A folder of its own for each run, since tests run side by side.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("chat.jinja"), CHAT).unwrap();
    fs::write(folder.path().join("tools.json"), TOOLS).unwrap();
    folder
}

/// What comes of the command: its output, what it reports, and its exit code.
fn run(arguments: &str, stdin: &str) -> String {
    let arguments = format!("grammar chat.jinja {arguments}");
    program::unjinja(folder().path(), &arguments, stdin)
}

#[test]
fn a_grammar_is_printed_in_each_language() {
    for language in ["gbnf", "lark", "structural-tag", "regex"] {
        let arguments = format!("--tools tools.json --tool-choice wait --format {language}");
        assert_snapshot!(language, run(&arguments, ""));
    }
}

#[test]
fn a_lazy_grammar_has_its_triggers() {
    assert_snapshot!("lazy", run("--tools tools.json --lazy", ""));
}

#[test]
fn what_there_is_no_grammar_of_is_refused_with_the_reason() {
    assert_snapshot!(
        "unknown_tool",
        run("--tools tools.json --tool-choice rest", "")
    );
    assert_snapshot!("no_tools", run("--tool-choice required", ""));
    assert_snapshot!("nothing_to_trigger", run("--lazy", ""));
}

#[test]
fn many_requests_are_answered_each_with_its_id() {
    let lines = format!(
        "{}\n{}\n{}\n",
        format_args!(
            r#"{{"id": 1, "tools": {}, "tool_choice": "required"}}"#,
            TOOLS.replace('\n', " ")
        ),
        r#"{"id": 2, "format": "yaml"}"#,
        r#"{"id": 3, "tool_choice": "nap"}"#,
    );
    assert_snapshot!("many", run("--jsonl -", &lines));
}
