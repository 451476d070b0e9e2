//! Chat templates that are mended, and outputs on their way back into prompts, as people and scripts meet them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;

/// It drops thoughts once somebody has answered, and trims answers.
const CHAT: &str = "\
{#- Who reads this knows what it is for. -#}
{%- for m in messages %}
    {{- '<' + m.role + '>' }}
    {%- if m.reasoning_content and loop.last %}
        {{- '<think>' + m.reasoning_content + '</think>' }}
    {%- endif %}
    {{- (m.content or '') | trim }}
    {%- for call in m.tool_calls or [] %}
        {{- '<call>' + call.function | tojson + '</call>' }}
    {%- endfor %}
    {{- '<end>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<assistant>' }}{%- endif %}
";

const RESPONSE: &str = r#"{
  "start_anchor": "<assistant>",
  "fields": {
    "thinking": {"open": "<think>", "close": "</think>"},
    "tool_calls": {"open": "<call>", "close": "</call>", "content": "json", "repeats": true,
      "transform": {"type": "function", "function": "{content}"}},
    "content": {"close": "<end>"}
  }
}
"#;

const OUTPUTS: &str = r#"
{"id": 1, "messages": [{"role": "user", "content": "Hi"}], "output": "Hello!<end>"}
{"id": 2, "messages": [{"role": "user", "content": "Hi"}], "output": "Hello!"}
{"id": 3, "messages": [{"role": "user", "content": "Hi"}], "output": " Hello!<end>"}
{"id": 4, "messages": [{"role": "user", "content": "Hi"}], "output": "<think>Hm.</think>Hello!<end>"}
{"id": 5, "messages": [{"role": "user", "content": "Hi"}], "output": "<call>{\"name\": \"f\", \"arguments\": {\"n\": 1.50}}</call><end>"}
{"id": 6, "messages": [{"role": "user", "content": "Hi"}], "output": "<call>{\"name\": \"f\"</call><end>"}
{"id": 7, "messages": [{"role": "user", "content": "Hi"}]}
{"id": 8, "messages": [{"role": "user", "content": "Hi"}], "output": "Hello!<end>", "following": [{"role": "user", "content": "Bye"}]}
"#;

/// A folder of its own for one test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("authoring")
        .join(test);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("chat.jinja"), CHAT).unwrap();
    fs::write(folder.join("response.json"), RESPONSE).unwrap();
    fs::write(folder.join("outputs.jsonl"), OUTPUTS.trim_start()).unwrap();
    folder
}

/// What the program prints and says, and how it ends.
fn unjinja(folder: &Path, arguments: &str) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_unjinja"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    let [stdout, stderr] = [out.stdout, out.stderr].map(|text| String::from_utf8(text).unwrap());
    let said: String = stderr.lines().map(|line| format!("! {line}\n")).collect();
    format!("{stdout}{said}exit {}", out.status.code().unwrap())
}

#[test]
fn a_change_is_shown_line_by_line() {
    let folder = folder("shown");
    assert_snapshot!(unjinja(
        &folder,
        "mend chat.jinja --for prefix,dates --diff"
    ));
}

#[test]
fn a_mended_template_is_otherwise_as_it_was() {
    let folder = folder("written");
    let path = folder.join("chat.jinja");
    let told = unjinja(&folder, "mend chat.jinja --for prefix --write");
    assert!(told.ends_with("exit 0"), "{told}");
    let mended = CHAT.replace("m.reasoning_content and loop.last", "m.reasoning_content");
    assert_eq!(fs::read_to_string(&path).unwrap(), mended);
    // There is nothing left to be mended.
    let told = unjinja(&folder, "mend chat.jinja --for prefix --write");
    assert!(told.contains("questions: none of"), "{told}");
    assert!(told.ends_with("exit 0"), "{told}");
    assert_eq!(fs::read_to_string(&path).unwrap(), mended);
}

#[test]
fn no_file_is_replaced_unasked() {
    let folder = folder("unasked");
    for (arguments, code) in [
        ("mend chat.jinja --for prefix -o response.json", 2),
        ("mend chat.jinja --for prefix -o response.json --force", 0),
        ("mend chat.jinja --for prefix -o new.jinja", 0),
        ("mend chat.jinja --for thoughts", 2),
        ("mend none.jinja --for prefix", 2),
    ] {
        let told = unjinja(&folder, arguments);
        assert!(
            told.ends_with(&format!("exit {code}")),
            "{arguments}\n{told}"
        );
    }
    assert_eq!(fs::read_to_string(folder.join("chat.jinja")).unwrap(), CHAT);
}

#[test]
fn what_is_left_has_its_line_and_the_reason() {
    let folder = folder("left");
    // Python's objects are no text that could be taken for them.
    let odd = CHAT.replace(
        "call.function | tojson",
        "call.function.name ~ call.function.arguments.items() | list",
    );
    fs::write(folder.join("odd.jinja"), &odd).unwrap();
    let told = unjinja(&folder, "mend odd.jinja --for arguments");
    assert!(told.starts_with(&odd), "{told}");
    assert!(told.contains("arguments: left as it was"), "{told}");
    assert!(told.ends_with("exit 1"), "{told}");
}

#[test]
fn each_output_has_its_way_and_a_batch_a_table_of_causes() {
    let folder = folder("ways");
    assert_snapshot!(unjinja(
        &folder,
        "roundtrip chat.jinja --template response.json --jsonl outputs.jsonl --append"
    ));
}

#[test]
fn outputs_of_the_chat_template_itself_are_tried() {
    let folder = folder("examples");
    assert_snapshot!(unjinja(&folder, "roundtrip chat.jinja"));
    let kept = unjinja(&folder, "mend chat.jinja --for prefix --write");
    assert!(kept.ends_with("exit 0"), "{kept}");
    let told = unjinja(&folder, "roundtrip chat.jinja");
    assert!(told.ends_with("exit 0"), "{told}");
    let json = unjinja(&folder, "roundtrip chat.jinja --format json");
    assert!(json.starts_with("[\n  {\n    \"kept\": true"), "{json}");
}
