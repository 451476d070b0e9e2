//! `unjinja check`, `new` and `diff` as people run them.
//!
//! The fixtures that they read are those of `tests/check/`, of which some are wrong on purpose, and
//! those of `derived/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;
use unjinja::check::{ComparisonInput, compare};
use unjinja::{ResponseTemplate, Value, json};

use crate::support::root::root;

/// What a run printed and reported, and its exit code.
struct Outcome {
    stdout: String,
    stderr: String,
    code: Option<i32>,
}

impl Outcome {
    /// All of it, without what takes another time each time.
    fn shown(&self) -> String {
        let mut out = without_times(&self.stdout);
        for line in self.stderr.lines() {
            out.push_str(&format!("! {line}\n"));
        }
        out.push_str(&format!("exit {}", self.code.expect("it ends by itself")));
        out
    }
}

/// Replaces the numbers of seconds.
fn without_times(text: &str) -> String {
    let mut text = text.to_owned();
    for before in ["seed 0, ", "time=\"", "\"seconds\": "] {
        let mut from = 0;
        while let Some(at) = text[from..].find(before) {
            from += at + before.len();
            let rest = &text[from..];
            let end = rest.find(|c: char| !c.is_ascii_digit() && !".e-".contains(c));
            text.replace_range(from..from + end.unwrap_or(rest.len()), "N");
        }
    }
    text
}

/// Runs the program in a folder.
fn run_in(folder: &Path, arguments: &[&str]) -> Outcome {
    let out = Command::new(env!("CARGO_BIN_EXE_unjinja"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("COLUMNS")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("GITHUB_WORKSPACE")
        .output()
        .expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Outcome {
        stdout: text(out.stdout),
        stderr: text(out.stderr),
        code: out.status.code(),
    }
}

fn unjinja(arguments: &str) -> Outcome {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    run_in(root(), &arguments)
}

/// An empty folder of its own for one test.
fn scratch(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("check")
        .join(test);
    let _was_there = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder can be made");
    folder
}

fn copied(name: &str, folder: &Path) -> PathBuf {
    let copy = folder.join(name);
    fs::copy(root().join("tests/check").join(name), &copy).expect("is copied");
    copy
}

#[test]
fn failures_show_what_was_expected_what_came_and_where() {
    assert_snapshot!(unjinja("check tests/check/mixed.fixture.yaml").shown());
}

#[test]
fn what_depends_on_cuts_is_shown_with_the_fewest_of_them() {
    assert_snapshot!(unjinja("check tests/check/cuts.fixture.json").shown());
}

#[test]
fn a_broken_fixture_is_reported_and_the_others_still_run() {
    assert_snapshot!(unjinja("check tests/check --filter broken").shown());
    let outcome = unjinja("check tests/check/broken.fixture.yaml derived/xml-calls.fixture.yaml");
    assert!(
        outcome
            .stdout
            .contains("11 of 11 cases passed, 2 files, 1 file can't be read"),
        "{}",
        outcome.stdout
    );
    assert_eq!(outcome.code, Some(2));
}

#[test]
fn github_annotates_the_lines_of_cases() {
    assert_snapshot!(unjinja("check tests/check --format github").shown());
}

#[test]
fn github_knows_files_from_the_top_of_the_repository_on() {
    let folder = scratch("workspace");
    fs::create_dir(folder.join("models")).expect("a folder");
    copied("mixed.fixture.yaml", &folder.join("models"));
    let out = Command::new(env!("CARGO_BIN_EXE_unjinja"))
        .args(["check", "--format", "github"])
        .current_dir(folder.join("models"))
        .env("GITHUB_WORKSPACE", &folder)
        .output()
        .expect("the program starts");
    let printed = String::from_utf8(out.stdout).expect("it prints UTF-8");
    assert!(
        printed.starts_with("::error file=models/mixed.fixture.yaml,"),
        "{printed}"
    );
}

#[test]
fn programs_read_json() {
    let outcome = unjinja("check tests/check --format json");
    let report = json::read(&outcome.stdout).expect("JSON");
    for key in ["passed", "failed", "unreadable"] {
        assert!(
            report.get(key).and_then(Value::as_number).is_some(),
            "{key}"
        );
    }
    assert_snapshot!(outcome.shown());
}

#[test]
fn ci_systems_read_junit() {
    let outcome = unjinja("check tests/check --format junit");
    junit_schema::check(&outcome.stdout);
    assert_snapshot!(outcome.shown());
}

#[test]
fn the_gallery_is_as_its_fixtures_say() {
    let outcome = unjinja("check derived");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stdout);
    let another_seed = unjinja("check derived --seed 99 --format junit");
    assert_eq!(another_seed.code, Some(0), "{}", another_seed.stdout);
    junit_schema::check(&another_seed.stdout);
}

#[test]
fn a_filter_goes_by_file_and_name() {
    for (filter, count) in [
        ("an answer", 1),
        ("mixed", 5),
        ("mixed.fixture.yaml: two", 1),
    ] {
        let outcome = run_in(
            root(),
            &[
                "check",
                "tests/check/mixed.fixture.yaml",
                "--format",
                "json",
                "--filter",
                filter,
            ],
        );
        let report = json::read(&outcome.stdout).expect("JSON");
        let cases = report
            .pointer("/files/0/cases")
            .and_then(Value::as_array)
            .expect("cases");
        assert_eq!(cases.len(), count, "{filter}");
    }
    let outcome = unjinja("check tests/check/mixed.fixture.yaml --filter nothing-of-this");
    assert_snapshot!(outcome.shown(), @r#"
    0 of 0 cases passed, 0 files, each cut in 8 ways, seed 0, N s
    ! error: no case has "nothing-of-this" in its `FILE: NAME`
    exit 2
    "#);
}

#[test]
fn fail_fast_ends_with_the_first_failure() {
    let folder = scratch("fail-fast");
    let cases: String = (0..500)
        .map(|n| format!("  - {{name: case {n}, output: x, message: {{content: y}}}}\n"))
        .collect();
    let text = format!(
        "response_template: {{start_anchor: a, fields: {{content: {{}}}}}}\ncases:\n{cases}"
    );
    fs::write(folder.join("many.fixture.yaml"), text).expect("is written");
    let outcome = run_in(&folder, &["check", "--fail-fast", "--format", "json"]);
    let report = json::read(&outcome.stdout).expect("JSON");
    let failed = report
        .get("failed")
        .and_then(|n| n.as_number()?.as_i64())
        .expect("a number");
    assert!((1..100).contains(&failed), "{failed} cases were checked");
    assert_eq!(outcome.code, Some(1));
}

#[test]
fn update_rewrites_what_is_not_met_and_nothing_else() {
    let folder = scratch("update");
    let path = copied("mixed.fixture.yaml", &folder);
    let outcome = run_in(&folder, &["check", "--update"]);
    assert_snapshot!("update_is_reported", outcome.shown());
    let text = fs::read_to_string(&path).expect("is read");
    assert_snapshot!("update_is_written", text);
    // Once is enough.
    let again = run_in(&folder, &["check", "--update"]);
    assert_eq!(again.stderr, "");
    assert_eq!(fs::read_to_string(&path).expect("is read"), text);
}

#[test]
fn update_leaves_a_message_that_became_an_error() {
    let folder = scratch("update-error");
    let text = "response_template: {start_anchor: a, fields: {content: {content: json}}}\ncases:\n  \
                - {name: a, output: no json, message: {content: 1}}\n";
    let path = folder.join("a.fixture.yaml");
    fs::write(&path, text).expect("is written");
    let outcome = run_in(&folder, &["check", "--update"]);
    assert_eq!(outcome.code, Some(1));
    assert_eq!(fs::read_to_string(&path).expect("is read"), text);
}

#[test]
fn a_toml_file_names_the_fixtures() {
    let folder = scratch("toml");
    fs::create_dir_all(folder.join("fixtures/deep")).expect("a folder");
    fs::create_dir(folder.join("other")).expect("a folder");
    copied("mixed.fixture.yaml", &folder.join("fixtures/deep"));
    copied("cuts.fixture.json", &folder.join("other"));
    fs::write(
        folder.join("unjinja.toml"),
        "[check]\npaths = ['fixtures']\nseed = 5\n",
    )
    .expect("is written");
    for (place, path) in [
        (folder.clone(), "fixtures/deep/mixed.fixture.yaml"),
        (folder.join("other"), "../fixtures/deep/mixed.fixture.yaml"),
    ] {
        let outcome = run_in(
            &place,
            &["check", "--format", "json", "--filter", "an answer"],
        );
        let report = json::read(&outcome.stdout).expect("JSON");
        assert_eq!(report.get("seed"), Some(&5.into()));
        let path = fs::canonicalize(place.join(path)).expect("a file");
        let printed = report
            .pointer("/files/0/path")
            .and_then(Value::as_str)
            .expect("a path");
        assert_eq!(fs::canonicalize(place.join(printed)).expect("a file"), path);
        assert_eq!(report.pointer("/files/1"), None);
    }
    let outcome = run_in(&folder, &["check", "other", "--filter", "end"]);
    assert!(
        outcome.stdout.contains("other/cuts.fixture.json"),
        "{}",
        outcome.stdout
    );
}

/// Outputs as a server records them: two that are read well, one of which was cut off, and three that are not.
const OUTPUTS: &str = r#"{"id":"a","prefix":"<|assistant|>\n","text":"Nine.<|end|>","finish_reason":"stop"}
{"id":"b","prefix":"<|assistant|>\n","text":"<call name=\"forecast\">\ncity: Os","finish_reason":"length"}
{"id":"c","prefix":"<|assistant|>\n","text":"Let me see.</think>Nine.<|end|>","finish_reason":"stop"}
{"id":"d","prefix":"<|assistant|>\n","text":"<call name=\"wait\">\n</call><|end|>","tools":[{"type":"function","function":{"name":"forecast"}}]}
{"prefix":"<|user|>\n","text":"Nine.<|end|>","message":{"content":"Ten."}}
"#;

#[test]
fn outputs_are_read_well_or_it_is_said_why_not() {
    let folder = scratch("outputs");
    fs::write(folder.join("outputs.jsonl"), OUTPUTS).expect("is written");
    for name in ["template.json", "chat_template.jinja"] {
        fs::copy(root().join("examples").join(name), folder.join(name)).expect("is copied");
    }
    let check = |arguments: &[&str]| run_in(&folder, &[&["check"], arguments].concat()).shown();
    assert_snapshot!(check(&["-t", "template.json", "outputs.jsonl"]));
    // What is derived reads them alike.
    let shown = |source| check(&["-t", source, "outputs.jsonl", "--filter", ": b"]);
    assert_eq!(shown("chat_template.jinja"), shown("template.json"));
    assert!(shown("template.json").ends_with("exit 0"));
    fs::write(
        folder.join("faults.jsonl"),
        "{\"text\": 3}\n{\"text\": \n{}\n",
    )
    .expect("is written");
    fs::write(folder.join("empty.jsonl"), "").expect("is written");
    let faults = [
        check(&["-t", "template.json", "faults.jsonl", "none.jsonl"]),
        check(&["-t", "template.json", "empty.jsonl"]),
        check(&["outputs.jsonl"]),
        check(&["-t", "none.json", "outputs.jsonl"]),
    ];
    assert_snapshot!(faults.join("\n\n"));
}

#[test]
fn without_a_fixture_the_error_says_how_to_make_one() {
    let folder = scratch("nothing");
    assert_snapshot!(run_in(&folder, &["check"]).shown(), @"
    ! error: there is no fixture in .: make a first one with `unjinja new chat_template.jinja`, or write one: `unjinja schema fixture` describes its format
    exit 2
    ");
    assert_snapshot!(run_in(&folder, &["check", "nowhere"]).shown(), @"
    ERROR nowhere: there is no such file: check the path; in a fixture, it is relative to the fixture's folder
    0 of 0 cases passed, 1 file, 1 file can't be read, each cut in 8 ways, seed 0, N s
    exit 2
    ");
}

#[test]
fn what_is_no_fixture_is_reported_with_the_command_for_it() {
    let folder = scratch("no-fixture");
    for (name, text, remedy) in [
        (
            "a.fixture.yaml",
            "{%- for m in messages %}",
            "`unjinja new` makes a fixture of it",
        ),
        (
            "b.fixture.yaml",
            "[1]",
            "write `response_template:` and `cases:`, or make one with `unjinja new`",
        ),
        (
            "c.fixture.yaml",
            "start_anchor: <bot>\nfields: {content: {}}\n",
            "`unjinja lint` looks at those; a fixture names one with `response_template`",
        ),
    ] {
        fs::write(folder.join(name), text).expect("is written");
        for format in ["human", "json", "junit", "github"] {
            let outcome = run_in(&folder, &["check", name, "--format", format]);
            assert!(outcome.stdout.contains(remedy), "{}", outcome.stdout);
        }
    }
}

#[test]
fn a_first_fixture_is_made_checked_and_not_made_twice() {
    let folder = scratch("new");
    let source = root().join("chat_templates/xml-calls.jinja");
    let source = source.to_str().expect("UTF-8");
    for (arguments, file) in [
        (vec![], "xml-calls.fixture.yaml"),
        (vec!["-o", "other.fixture.json"], "other.fixture.json"),
        (
            vec!["--derive", "-o", "afresh.fixture.yaml"],
            "afresh.fixture.yaml",
        ),
    ] {
        let arguments = [vec!["new", source], arguments].concat();
        let made = run_in(&folder, &arguments);
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        let checked = run_in(&folder, &["check", file]);
        assert!(
            checked.stdout.starts_with("21 of 21 cases passed, 1 file"),
            "{}",
            checked.stdout
        );
        let mut edited = fs::read_to_string(folder.join(file)).expect("it is written");
        edited.push('\n');
        fs::write(folder.join(file), edited).expect("it is edited");
        let again = run_in(&folder, &arguments);
        assert_eq!(again.code, Some(2));
        assert!(again.stderr.contains("already exists"), "{}", again.stderr);
    }
}

#[test]
fn a_first_fixture_shows_what_does_not_come_back() {
    let outcome = unjinja("new chat_templates/python-dict-calls.jinja -o -");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let folder = scratch("not-recovered");
    fs::write(folder.join("a.fixture.yaml"), &outcome.stdout).expect("is written");
    let checked = run_in(&folder, &["check"]);
    assert!(
        checked.stdout.contains("9 of 11 cases passed"),
        "{}",
        checked.stdout
    );
    assert_eq!(checked.code, Some(1));
}

#[test]
fn templates_that_read_alike_are_alike() {
    assert_snapshot!(unjinja("diff derived/xml-calls.json derived/xml-calls.json").shown(), @"
    they agree on all of 3554 texts; on others they may not
    exit 0
    ");
}

#[test]
fn the_smallest_text_on_which_templates_part_is_shown() {
    let arguments = "diff derived/xml-calls.json derived/xml-calls-opened-think.json";
    assert_snapshot!(unjinja(arguments).shown());
    assert_snapshot!(
        "parting_as_json",
        unjinja(&format!("{arguments} --format json")).shown()
    );
}

#[test]
fn templates_are_compared_on_fixtures_and_renderings() {
    let folder = scratch("diff");
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    // They part only where a call holds a word that nobody makes up.
    let template = |close: &str| {
        format!(
            r#"{{"start_anchor": "<|im_start|>assistant\n", "fields": {{
                "content": {{"close_pattern": "{close}<\\|im_end\\|>\\s*"}}}}}}"#
        )
    };
    fs::write(path("a.json"), template("")).expect("is written");
    fs::write(path("b.json"), template("(?:is at noon\\\\.)?")).expect("is written");
    let compare = |more: &[&str]| {
        let (a, b) = (path("a.json"), path("b.json"));
        let arguments = [&["diff", a.as_str(), b.as_str(), "--format", "json"], more].concat();
        let outcome = run_in(root(), &arguments);
        let report = json::read(&outcome.stdout).unwrap_or_else(|_| panic!("{}", outcome.stderr));
        (outcome.code, report)
    };
    for more in [
        ["--fixtures", "derived/xml-calls.fixture.yaml"],
        ["--chat-template", "chat_templates/xml-calls.jinja"],
    ] {
        let (code, report) = compare(&more);
        assert_eq!(code, Some(1));
        let output = report.pointer("/smallest/output").and_then(Value::as_str);
        assert_eq!(output, Some("is at noon.<|im_end|>"), "{report}");
    }
}

/// A template with `text` in a field, in a folder of its own.
fn template_with(test: &str, field: &str) -> PathBuf {
    let folder = scratch(test);
    let text = format!(r#"{{"start_anchor": "<bot>", "fields": {{{field}, "content": {{}}}}}}"#);
    fs::write(folder.join("t.json"), text).expect("is written");
    folder
}

#[test]
fn two_versions_are_compared_on_one_template() {
    let field = r#""thinking": {"open": "<x>", "close": "</x>", "content": "json", "content_args": {"unquoted_keys": true}}"#;
    let folder = template_with("versions", field);
    let compare = |targets: &str| run_in(&folder, &["diff", "t.json", "--for", targets]);
    assert_snapshot!(compare("transformers@5.23,transformers@5.24").shown(), @r#"
    they disagree on 2 of 133 texts

    the smallest text that they disagree on, out of one that is made up to tell versions apart
    the output   "<x>{a :1}</x>"
    --- t.json for transformers 5.23.0
    +++ t.json for transformers 5.24.0
    -error: field `thinking`, bytes 3 to 9 of the text since the anchor: this is not JSON: expected a key in double quotes at line 1, column 2, in "{a :1}"
    +{
    +  "reasoning_content": {
    +    "a": 1
    +  }
    +}
    exit 1
    "#);
    // Between two versions the language stays as it is.
    assert_snapshot!(compare("transformers@5.21,transformers@5.23").shown(), @"
    they agree on all of 127 texts; on others they may not
    exit 0
    ");
    assert_snapshot!(compare("transformers@5.24").shown(), @"
    ! error: there is one template only: name another, or two with `--for`, such as `--for transformers@5.23,transformers`
    exit 2
    ");
    assert_snapshot!(compare("transformers,trl,vllm").shown(), @"
    ! error: name one or two with `--for`
    exit 2
    ");
}

#[test]
fn a_version_that_refuses_a_template_reads_no_text_otherwise() {
    let calls =
        r#""tool_calls": {"open": "<call>", "close": "</call>", "content": "python-call-list"}"#;
    let folder = template_with("version_refuses", calls);
    let compare = |targets: &str| run_in(&folder, &["diff", "t.json", "--for", targets]);
    assert_snapshot!(compare("transformers@5.23,transformers@5.24").shown(), @"
    ! error: t.json: /fields/tool_calls/content: transformers 5.23.0 refuses the template: the content parser `python-call-list` is not in version 5.20 of the language: read it with transformers 5.24 or newer, or do without it
    exit 2
    ");
    // What another name helps is said.
    let field = r#""reasoning_content": {"open": "<x>", "close": "</x>"}"#;
    let folder = template_with("version_ports", field);
    let compare = |targets: &str| run_in(&folder, &["diff", "t.json", "--for", targets]);
    assert_snapshot!(compare("transformers,vllm@0.32.0").shown(), @"
    ! error: t.json: /fields/reasoning_content: vLLM 0.32.0 refuses the template: it knows no field `reasoning_content`: call it `thinking`
    ! rewrite it with `unjinja port t.json --for vllm@0.32.0`
    exit 2
    ");
}

#[test]
fn a_changed_close_is_found_out_in_every_template_of_the_gallery() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("derived")).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("it can be read");
        let mut changed = json::read(&text).expect("JSON");
        let fields = changed
            .as_object_mut()
            .and_then(|template| template.get_mut("fields"));
        let content = fields.and_then(|fields| fields.as_object_mut()?.get_mut("content"));
        let content = content.and_then(Value::as_object_mut).expect("an object");
        let Some(close) = content.get("close_pattern").and_then(Value::as_str) else {
            continue;
        };
        let close = format!("(?:{close})Q");
        content.insert("close_pattern", close);
        let first = ResponseTemplate::from_json(&text).expect("a template");
        let second = ResponseTemplate::from_value(&changed).expect("a template");
        let texts = ComparisonInput::synthetic(&first, &second);
        let divergence = compare(&first, &second, &texts).smallest;
        assert!(divergence.is_some(), "{}", path.display());
        count += 1;
    }
    assert!(count >= 25, "only {count} were changed");
}

/// What the schema of JUnit's XML allows, as far as reports make use of it.
mod junit_schema {
    use roxmltree::{Document, Node};

    /// Each element: where it stands, the attributes it must have, and those that it may have.
    const ELEMENTS: &[(&str, &str, &[&str], &[&str])] = &[
        (
            "testsuites",
            "",
            &[],
            &["name", "time", "tests", "failures", "errors"],
        ),
        (
            "testsuite",
            "testsuites",
            &["name", "tests", "failures", "errors"],
            &[
                "group",
                "time",
                "skipped",
                "timestamp",
                "hostname",
                "id",
                "package",
                "file",
                "log",
                "url",
                "version",
            ],
        ),
        (
            "testcase",
            "testsuite",
            &["name"],
            &["time", "classname", "group"],
        ),
        ("failure", "testcase", &[], &["type", "message"]),
        ("error", "testcase", &[], &["type", "message"]),
    ];

    /// Panics if a report is not as the schema says, or counts what it does not hold.
    pub(super) fn check(report: &str) {
        let document = Document::parse(report).unwrap_or_else(|error| panic!("{error}\n{report}"));
        for node in document.descendants().filter(Node::is_element) {
            let name = node.tag_name().name();
            let row = ELEMENTS.iter().find(|row| row.0 == name);
            let (_, parent, required, optional) = row.unwrap_or_else(|| panic!("<{name}>"));
            let above = node
                .parent_element()
                .map_or("", |above| above.tag_name().name());
            assert_eq!(above, *parent, "<{name}>");
            for attribute in node.attributes() {
                let known = [*required, *optional].concat();
                assert!(
                    known.contains(&attribute.name()),
                    "<{name} {}>",
                    attribute.name()
                );
            }
            for attribute in *required {
                assert!(node.has_attribute(*attribute), "<{name}> lacks {attribute}");
            }
            for (count, of) in [
                ("tests", "testcase"),
                ("failures", "failure"),
                ("errors", "error"),
            ] {
                if let Some(printed) = node.attribute(count) {
                    assert_eq!(printed, counted(node, of).to_string(), "<{name} {count}>");
                }
            }
        }
    }

    /// How many cases are below a node, or how many have such a mark.
    fn counted(node: Node<'_, '_>, name: &str) -> usize {
        let cases = node
            .descendants()
            .filter(|node| node.has_tag_name("testcase"));
        let has = |case: &Node<'_, '_>| {
            name == "testcase" || case.children().any(|child| child.has_tag_name(name))
        };
        cases.filter(has).count()
    }
}
