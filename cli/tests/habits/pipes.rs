//! Whoever reads the output may go away. What was found decides the exit code all the same.

use std::io::Write;

use crate::habits::program::Folder;

/// The exit code of a command whose output nobody reads.
fn unread(place: &Folder, arguments: &str, stdin: &str) -> Option<i32> {
    let mut child = place.command(arguments).spawn().unwrap();
    drop(child.stdout.take());
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!stderr.contains("can't write"), "{stderr}");
    output.status.code()
}

#[test]
fn what_was_found_decides() {
    let place = Folder::new();
    place.write(
        "bad.fixture.yaml",
        "response_template: template.json\ncases:\n  - name: one\n    output: Hi<end>\n    \
         message: {content: Ho}\n",
    );
    place.write("worse.json", r#"{"fields": {}}"#);
    place.write(
        "other.json",
        r#"{"start_anchor": "<bot>", "fields": {"text": {"close": "<end>"}}}"#,
    );
    // What is said beside a call can't be told from thoughts.
    place.write(
        "lossy.jinja",
        "{% for m in messages %}<{{ m.role }}>{{ m.reasoning_content or '' }}{{ m.content or '' }}<end>\
         {% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
    );
    for (arguments, stdin) in [
        ("check bad.fixture.yaml", ""),
        ("check good.fixture.yaml", ""),
        ("check none.fixture.yaml", ""),
        ("check --format junit bad.fixture.yaml", ""),
        ("lint worse.json", ""),
        ("lint template.json --deny all", ""),
        ("diff template.json other.json", ""),
        ("diff template.json template.json", ""),
        ("derive chat.jinja", ""),
        ("derive lossy.jinja", ""),
        ("derive chat.jinja lossy.jinja", ""),
        ("parse -t template.json", "<call>{</call>"),
        ("parse -t template.json", "Hi<end>"),
        ("parse -t template.json --events", "Well: <call>{</call>"),
        ("parse -t template.json --jsonl -", "{\n"),
        ("analyze chat.jinja", ""),
        ("grammar chat.jinja", ""),
        ("schema fixture", ""),
    ] {
        let read = place.run_with(arguments, stdin).code;
        assert_eq!(unread(&place, arguments, stdin), read, "{arguments}");
    }
    assert_eq!(unread(&place, "check", ""), Some(1));
    assert_eq!(unread(&place, "derive lossy.jinja", ""), Some(1));
}
