//! Tools, and all else that a batch is given, meet the same demands by themselves and in a line.

use crate::habits::program::Folder;

const CALLS: &str = r#"{"start_anchor": "A:", "fields": {"calls": {
    "open_pattern": "<call (?P<name>\\w+)>", "close": "</call>", "repeats": true, "content": "kv-lines",
    "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}}}"#;

#[test]
fn shapes_of_tools_are_understood_or_reported() {
    let place = Folder::new();
    place.write("calls.json", CALLS);
    let schema = r#"{"properties": {"n": {"type": "integer"}}}"#;
    let untyped = "it has no `name`";
    for (tools, typed, told) in [
        (
            r#"[{"type": "function", "function": {"name": "f", "parameters": SCHEMA}}]"#,
            true,
            "",
        ),
        (r#"[{"name": "f", "parameters": SCHEMA}]"#, true, ""),
        (r#"[{"name": "f", "input_schema": SCHEMA}]"#, true, ""),
        (
            r#"{"tools": [{"functionDeclarations": [{"name": "f", "parameters": SCHEMA}]}]}"#,
            true,
            "",
        ),
        (
            r#"[{"toolSpec": {"name": "f", "inputSchema": {"json": SCHEMA}}}]"#,
            false,
            untyped,
        ),
        (
            r#"[{"name": "f", "parameters": {"n": {"type": "integer"}}}]"#,
            false,
            "no `properties`",
        ),
    ] {
        let tools = tools.replace("SCHEMA", schema);
        place.write("tools.json", &tools);
        let single = place.run_with(
            "parse -t calls.json --tools tools.json",
            "<call f>n: 3</call>",
        );
        let line = format!(r#"{{"id": 1, "text": "<call f>n: 3</call>", "tools": {tools}}}"#);
        let batch = place.run_with("parse -t calls.json --jsonl -", line);
        for (outcome, value) in [(&single, "\"n\": 3"), (&batch, "\"n\":3")] {
            assert_eq!(outcome.code, Some(0), "{outcome:?}");
            assert_eq!(
                outcome.stdout.contains(value),
                typed,
                "{tools}: {outcome:?}"
            );
            assert!(outcome.stderr.contains(told), "{tools}: {outcome:?}");
            assert_eq!(
                outcome.stderr.is_empty(),
                told.is_empty(),
                "{tools}: {outcome:?}"
            );
        }
        let start = "warning: standard input:1: `tools`: ";
        assert!(
            told.is_empty() || batch.stderr.starts_with(start),
            "{batch:?}"
        );
    }
}

#[test]
fn what_is_no_list_is_refused() {
    let place = Folder::new();
    place.write("calls.json", CALLS);
    place.write("map.json", r#"{"f": {"parameters": {}}}"#);
    let refusal = "expected a list of tools, found an object: write each as";
    let error = place.error("parse -t calls.json --tools map.json");
    assert!(
        error.starts_with(&format!("map.json: {refusal}")),
        "{error}"
    );
    let line = r#"{"id": 1, "text": "", "tools": {"f": {}}}"#;
    let batch = place.run_with("parse -t calls.json --jsonl -", line);
    let answer = format!(r#"{{"id":1,"error":"`tools`: {refusal}"#);
    assert!(batch.stdout.starts_with(&answer), "{batch:?}");
}

#[test]
fn lines_are_warned_of_as_single_outputs_are() {
    let place = Folder::new();
    let lines = [
        r#"{"id": 1, "text": ""}"#,
        r#"{"id": 2, "text": "a<end>b<end>"}"#,
        r#"{"id": 3, "text": "a", "prefix": "no anchor"}"#,
        r#"{"id": 4, "text": ""}"#,
        r#"{"id": 5, "chunks": [""]}"#,
    ];
    let outcome = place.run_with("parse -t template.json --jsonl -", lines.join("\n"));
    assert_eq!(outcome.code, Some(0));
    insta::assert_snapshot!(outcome.stderr, @r#"
    warning: standard input:1: the output is empty
    warning: standard input:2: `content` was closed more than once, and the last value counts: add `repeats`, or let its close take the white space after it
    warning: standard input:3: the template's anchor, "<bot>", is not in the prefix, so all of it is parsed as part of the message
    warning: standard input: 2 more lines as line 1: the output is empty
    "#);
}

#[test]
fn lines_to_be_rendered_are_not_read_laxly() {
    let place = Folder::new();
    for (line, error) in [
        (
            r#""messages": [], "kwargs": []"#,
            "`kwargs`: expected an object, found an array",
        ),
        (
            r#""messages": [], "tools": {}"#,
            "`tools`: expected a list, found an object",
        ),
        (
            r#""messages": {}"#,
            "`messages`: expected a list, found an object",
        ),
        (
            r#""messages": [null]"#,
            r#"messages[0]: expected an object, found null: write it as {\"role\": \"user\", \"content\": …}"#,
        ),
        (r#""messages": null"#, "there is no list of `messages`"),
        (
            r#""messages": [], "bos_token": 1"#,
            "`bos_token`: expected a string, found a number",
        ),
        (
            r#""messages": [], "now": "noon""#,
            "`now`: this is not a time: write it as 2026-01-15T12:00:00",
        ),
        (
            r#""messages": [], "add_generation_prompt": 1"#,
            "`add_generation_prompt`: expected true or false, found a number",
        ),
    ] {
        let line = format!(r#"{{"id": 1, "chat_template": "x", {line}}}"#);
        let outcome = place.run_with("render --jsonl -", line);
        let answer = format!("{{\"id\":1,\"error\":\"{error}\"}}\n");
        assert_eq!((outcome.stdout, outcome.code), (answer, Some(0)));
    }
}
