//! Grammars on the command line: what is printed, and how it ends.

use crate::support::program;
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

/// The same of `unjinja parse --strict`, with the tools and an output in the standard input.
fn strict(arguments: &str, output: &str) -> String {
    let arguments = format!("parse --strict -t chat.jinja {arguments}");
    program::unjinja(folder().path(), &arguments, output)
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
fn a_format_that_is_not_read_in_all_its_turns_is_named() {
    let folder = folder();
    // A text of several lines does not show where it ends.
    let lines = "{%- for c in m.tool_calls or [] %}{{ '<call>' + c.function.name }}\
                 {%- for k, v in c.function.arguments.items() %}{{ '\\n' ~ k ~ ' = ' ~ v }}{% endfor %}\
                 {{- '\\n</call>' }}{% endfor %}";
    let (start, rest) = CHAT.split_once("{%- for c in").unwrap();
    let (_, end) = rest.split_once("{% endfor %}").unwrap();
    fs::write(
        folder.path().join("lines.jinja"),
        [start, lines, end].concat(),
    )
    .unwrap();
    let printed = program::unjinja(folder.path(), "grammar lines.jinja --tools tools.json", "");
    let warning = "warning: the response template that `unjinja derive` finds reads 16 of 18 renderings: \
                   what a grammar allows may be read differently";
    assert!(printed.contains(warning), "{printed}");
}

#[test]
fn what_is_beyond_a_limit_is_refused_with_its_place_or_loosened() {
    let folder = folder();
    let schema = [
        r#"{"items": "#.repeat(130),
        "{}".to_owned(),
        "}".repeat(130),
    ]
    .concat();
    let tools =
        format!(r#"[{{"name": "wait", "parameters": {{"properties": {{"at": {schema}}}}}}}]"#);
    fs::write(folder.path().join("deep.json"), tools).unwrap();
    let run = |arguments: &str| {
        let arguments = format!("grammar chat.jinja --tools deep.json {arguments}");
        program::unjinja(folder.path(), &arguments, "").replace(&"/items".repeat(120), "/items…")
    };
    assert_snapshot!("beyond", run(""));
    let loosened = run("--best-effort");
    let warning = "`/properties/at/items…/items/items/items/items/items/items/items` in the parameters of the tool `wait`: it is nested \
                   deeper than 128, so any value is allowed there";
    assert!(loosened.contains(warning), "{loosened}");
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

const CALL: &str = "Soon.\n<call>{\"name\": \"wait\", \"arguments\": {\"seconds\": 5}}</call>";

#[test]
fn an_output_that_is_allowed_becomes_a_message() {
    assert_snapshot!("strict", strict("--tools tools.json", CALL));
    let events = strict("--tools tools.json --events --chunk 9", CALL);
    assert_snapshot!("strict_events", events);
}

/// Each fault is named with its place, what could have stood there, and what does.
#[test]
fn an_output_that_is_not_allowed_is_a_fault() {
    let table = [
        ("an unknown tool", CALL.replace("wait", "rest")),
        ("a missing argument", CALL.replace("\"seconds\": 5", "")),
        ("a mistyped argument", CALL.replace('5', "\"5\"")),
        ("an unknown argument", CALL.replace("seconds", "minutes")),
        ("a call that is cut", CALL[..40].to_owned()),
        ("a call that is not closed", CALL.replace("</call>", "")),
        ("what follows the turn", format!("{CALL}<end> And more.")),
    ];
    let mut all = String::new();
    for (name, output) in table {
        let answer = strict("--tools tools.json", &output);
        all += &format!("{name}\n{answer}\n\n");
    }
    let answer = strict("--tools tools.json --tool-choice required", "Soon.");
    all += &format!("no call, where one is required\n{answer}\n\n");
    let answer = strict("--tools tools.json --no-parallel", &CALL.repeat(2));
    all += &format!("two calls, where one is allowed\n{answer}\n");
    assert_snapshot!("strict_faults", all);
}

#[test]
fn many_outputs_are_read_strictly_each_with_its_tools() {
    let tools = TOOLS.replace('\n', " ");
    let text = CALL.replace('\n', "\\n").replace('"', "\\\"");
    let lines = format!(
        "{{\"id\": 1, \"tools\": {tools}, \"text\": \"{text}\"}}\n\
         {{\"id\": 2, \"text\": \"{text}\"}}\n\
         {{\"id\": 3, \"tools\": {tools}, \"chunks\": [\"So\", \"on.\"]}}\n\
         {{\"id\": 4, \"tool_choice\": \"nap\", \"text\": \"\"}}\n"
    );
    assert_snapshot!("strict_many", strict("--jsonl -", &lines));
}

#[test]
fn options_of_strict_reading_are_refused_without_it() {
    let run = |arguments: &str| program::unjinja(folder().path(), arguments, "");
    assert_snapshot!(
        "strict_options",
        run("parse -t chat.jinja --tool-choice required")
    );
    assert_snapshot!("strict_source", run("parse --strict -t none.jinja"));
}
