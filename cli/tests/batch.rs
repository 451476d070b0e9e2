//! Batches as people run them: columns by name, files that are written whole, runs that are interrupted.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::support::program::unjinja;

const TEMPLATE: &str = r#"{
    "start_anchor": "<bot>",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "n": {"open": "<n>", "close": "</n>", "content": "int"},
        "content": {"close": "<end>"}
    }
}"#;

/// A folder with a response template and a log of five lines, of which some fail and one is none.
fn place() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("t.json"), TEMPLATE).expect("is written");
    let lines = [
        r#"{"request": 7, "user": "ann", "prompt": "<bot><think>", "output": "Hm.</think>Hello<end>"}"#,
        r#"{"request": 8, "user": null, "output": "<n>many</n>"}"#,
        "no JSON",
        r#"{"request": 9, "text": "not this", "output": "<n>3</n>"}"#,
        r#"{"request": 10, "text": "not this"}"#,
    ];
    fs::write(folder.path().join("log.jsonl"), lines.join("\n")).expect("is written");
    folder
}

const COLUMNS: &str = "--column id=request --column text=output --column prefix=prompt --keep user";

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect("is there")
}

/// A run of the program that writes the answers to a file, and the file.
fn written(folder: &Path, arguments: &str, file: &str) -> String {
    let said = unjinja(folder, arguments, "");
    format!("{}{said}", read(folder, file))
}

#[test]
fn columns_are_chosen_by_name() {
    let folder = place();
    let arguments = format!("parse -t t.json --jsonl log.jsonl --no-events {COLUMNS}");
    assert_snapshot!(unjinja(folder.path(), &arguments, ""), @r##"
    {"id":7,"user":"ann","message":{"thinking":"Hm.","content":"Hello"}}
    {"id":8,"user":null,"error":"field `n`, bytes 3 to 7 of the text since the anchor: \"many\" is not a whole number","error_at":0}
    {"id":9,"user":null,"message":{"n":3}}
    {"id":10,"user":null,"error":"there is no `output`, which is to be the text"}
    ! error: log.jsonl:3:1: this is not JSON: expected a value
    ! error: log.jsonl: a line could not be read
    exit 2
    "##);
    // The positional file, with a format, is the same.
    let same = arguments.replace("--jsonl log.jsonl", "--format jsonl log.jsonl");
    assert_eq!(
        unjinja(folder.path(), &same, ""),
        unjinja(folder.path(), &arguments, "")
    );
    // What is left out is not read.
    let line = r#"{"id": 1, "prefix": "<bot><think>", "text": "Hi"}"#;
    let arguments = "parse -t t.json --jsonl - --no-events --column prefix=";
    assert_snapshot!(unjinja(folder.path(), arguments, line), @r##"
    {"id":1,"message":{"content":"Hi"}}
    exit 0
    "##);
}

#[test]
fn a_file_has_every_line_also_those_that_are_none() {
    let folder = place();
    let arguments =
        format!("parse -t t.json --jsonl log.jsonl --no-events {COLUMNS} -o deep/out.jsonl");
    assert_snapshot!(written(folder.path(), &arguments, "deep/out.jsonl"), @r##"
    {"id":7,"user":"ann","message":{"thinking":"Hm.","content":"Hello"}}
    {"id":8,"user":null,"error":"field `n`, bytes 3 to 7 of the text since the anchor: \"many\" is not a whole number","error_at":0}
    {"id":null,"line":3,"error":"3:1: this is not JSON: expected a value"}
    {"id":9,"user":null,"message":{"n":3}}
    {"id":10,"user":null,"error":"there is no `output`, which is to be the text"}
    ! error: log.jsonl:3:1: this is not JSON: expected a value
    ! error: log.jsonl: a line could not be read
    exit 2
    "##);
    assert!(!folder.path().join("deep/out.jsonl.partial").exists());
    // Whatever is there stays.
    assert_snapshot!(unjinja(folder.path(), &arguments, ""), @r##"
    ! error: deep/out.jsonl: the file already exists: choose another with `-o FILE`, or replace it with `--force`
    exit 2
    "##);
    let other = arguments.replace("--no-events", "--openai --force");
    assert_snapshot!(written(folder.path(), &other, "deep/out.jsonl"), @r##"
    {"id":7,"user":"ann","completion":{"id":"7","object":"chat.completion","created":0,"model":"","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","reasoning_content":"Hm."},"finish_reason":"stop"}]}}
    {"id":8,"user":null,"completion":{"id":"8","object":"chat.completion","created":0,"model":"","choices":[{"index":0,"message":{"role":"assistant","content":"<n>many</n>"},"finish_reason":"stop"}]}}
    {"id":null,"line":3,"error":"3:1: this is not JSON: expected a value"}
    {"id":9,"user":null,"completion":{"id":"9","object":"chat.completion","created":0,"model":"","choices":[{"index":0,"message":{"role":"assistant","content":null,"n":3},"finish_reason":"stop"}]}}
    {"id":10,"user":null,"error":"there is no `output`, which is to be the text"}
    ! error: log.jsonl:3:1: this is not JSON: expected a value
    ! warning: log.jsonl:2: a region of `n` could not be parsed; `--on-malformed event --events` without `--openai` shows why
    ! error: log.jsonl: a line could not be read
    exit 2
    "##);
}

#[test]
fn progress_is_shown_where_it_is_asked_for() {
    let folder = place();
    let arguments = "parse -t t.json --jsonl log.jsonl --progress -o out.jsonl";
    let said = unjinja(folder.path(), arguments, "");
    let line = said.lines().find(|line| line.contains("lines"));
    let line = line.expect("a line of progress");
    assert!(line.starts_with("! 5 lines, 100%"), "{line}");
}

#[test]
fn one_thread_gives_the_same_as_many() {
    let folder = place();
    let lines: String = (0..2000)
        .map(|id| {
            format!(
                "{{\"id\": {id}, \"text\": \"<n>{id}</n> {}\"}}\n",
                "x".repeat(id % 50)
            )
        })
        .collect();
    let run = |threads| {
        let arguments = format!("parse -t t.json --jsonl - --threads {threads}");
        unjinja(folder.path(), &arguments, &lines)
    };
    let one = run(1);
    assert_eq!(one.lines().count(), 2001);
    assert_eq!(run(7), one);
}

#[test]
fn what_can_not_be_meant_is_refused() {
    let folder = place();
    let config = format!("{{\"response_template\": {TEMPLATE}}}");
    fs::create_dir(folder.path().join("model")).expect("a folder");
    fs::write(folder.path().join("model/tokenizer_config.json"), &config).expect("is written");
    for (arguments, expected) in [
        (
            "parse -t t.json --jsonl log.jsonl --column txt=a",
            "there is no `txt`: rows have id, text",
        ),
        (
            "parse -t t.json --jsonl log.jsonl --column text",
            "expected WHAT=NAME",
        ),
        (
            "parse -t t.json --jsonl log.jsonl --keep message",
            "answers have a key of that name themselves",
        ),
        (
            "parse -t t.json --jsonl log.jsonl -o log.jsonl --force",
            "this file is an input, so it is not replaced",
        ),
        (
            "parse -t t.json --jsonl log.jsonl -o t.json --force",
            "this file is an input, so it is not replaced",
        ),
        (
            "parse -t model --jsonl log.jsonl -o model/tokenizer_config.json --force",
            "this file is an input, so it is not replaced",
        ),
        (
            "parse -t t.json --jsonl log.jsonl -o .",
            "it is a folder: choose another place",
        ),
        (
            "parse -t t.json --jsonl log.jsonl -o -",
            "without `-o`, answers are printed",
        ),
        (
            "parse -t t.json log.jsonl -o out",
            "required arguments were not provided",
        ),
        (
            "parse -t t.json log.jsonl --threads 2",
            "required arguments were not provided",
        ),
        (
            "parse -t t.json --jsonl log.jsonl --threads 0",
            "0 is not in 1..=1024",
        ),
        (
            "parse -t t.json --format parquet log.jsonl --events",
            "cannot be used with",
        ),
        (
            "parse -t t.json --format parquet -o out",
            "can't be read from the standard input",
        ),
        (
            "parse -t t.json --format parquet log.jsonl",
            "Parquet is not printed",
        ),
        (
            "parse -t t.json --jsonl none.jsonl -o out",
            "there is no such file",
        ),
    ] {
        let said = unjinja(folder.path(), arguments, "");
        assert!(said.contains(expected), "{arguments}\n{said}");
        assert!(said.ends_with("exit 2"), "{arguments}\n{said}");
        assert!(!folder.path().join("out").exists());
        assert!(!folder.path().join("out.partial").exists(), "{arguments}");
    }
    assert_eq!(read(folder.path(), "t.json"), TEMPLATE);
    assert_eq!(read(folder.path(), "model/tokenizer_config.json"), config);
}

/// A system that lets no file become larger than so much ends the program amid its work.
#[cfg(unix)]
mod interrupted {
    use std::process::{Command, Stdio};
    use std::thread;

    use super::*;

    /// Runs the program, which may write no more than so many blocks of 512 bytes into one file, and so is ended by the system.
    pub(super) fn run_within(folder: &Path, blocks: u32, arguments: &str) {
        let shell = format!("ulimit -f {blocks}; exec \"$0\" {arguments}");
        let status = Command::new("sh")
            .args(["-c", &shell, env!("CARGO_BIN_EXE_unjinja")])
            .current_dir(folder)
            .stderr(Stdio::null())
            .status()
            .expect("it runs");
        assert!(!status.success(), "{arguments}: it is ended amid its work");
    }

    /// How many parts a state counts.
    pub(super) fn counted(state: &str) -> usize {
        state.matches("\"crc32\"").count()
    }

    /// Leaves what a run leaves that is ended when it has answered five lines, in so many parts, of which all but the first have a
    /// line each.
    fn leave(folder: &Path, arguments: &str, parts: usize) {
        let text = "long ".repeat(10_000);
        let lines: Vec<String> = (0..5)
            .map(|id| format!("{{\"id\": {id}, \"text\": \"{text}\"}}\n"))
            .collect();
        fs::write(folder.join("long.jsonl"), lines.concat()).expect("is written");
        run_within(folder, 20, arguments);
        let left = (0..parts).map(|number| {
            let part = format!("part {number}\n");
            let rows = 6 - parts + number;
            let state = format!(
                "{{\"rows\": {rows}, \"end\": {}, \"faults\": 0, \"bytes\": {}, \"crc32\": {}}}",
                lines[0].len() * rows,
                part.len(),
                crc32fast::hash(part.as_bytes()),
            );
            let file = folder.join(format!("out.jsonl.partial/{number}.part"));
            fs::write(file, part).expect("is written");
            state
        });
        let left = left.collect::<Vec<_>>().join(", ");
        let state = read(folder, "out.jsonl.partial/state.json");
        assert!(state.contains("\"parts\": []"), "{state}");
        let state = state.replace("\"parts\": []", &format!("\"parts\": [{left}]"));
        fs::write(folder.join("out.jsonl.partial/state.json"), state).expect("is written");
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.collect()
    }

    const LONG: &str = "parse -t t.json --jsonl long.jsonl --no-events -o out.jsonl";

    #[test]
    fn the_standard_input_is_begun_anew() {
        let folder = place();
        let folder = folder.path();
        let arguments = "parse -t t.json --jsonl - --no-events -o out.jsonl";
        leave(folder, &format!("{arguments} < long.jsonl"), 2);
        let said = unjinja(folder, arguments, r#"{"id": 1, "text": "Hi"}"#);
        assert_snapshot!(format!("{}{said}", read(folder, "out.jsonl")), @r##"
        {"id":1,"message":{"content":"Hi"}}
        exit 0
        "##);
        assert!(!folder.join("out.jsonl.partial").exists());
    }

    #[test]
    fn what_is_discarded_leaves_nothing() {
        let folder = place();
        let folder = folder.path();
        leave(folder, LONG, 3);
        let other = LONG.replace("long.jsonl", "log.jsonl");
        let refused = unjinja(folder, &other, "");
        assert!(
            refused.contains("wrote here with different input, options"),
            "{refused}"
        );
        assert_eq!(
            unjinja(folder, LONG, ""),
            "! continuing after 5 rows that an earlier run answered\nexit 0"
        );
        assert_eq!(read(folder, "out.jsonl"), "part 0\npart 1\npart 2\n");
        assert!(!folder.join("out.jsonl.partial").exists());

        fs::remove_file(folder.join("out.jsonl")).expect("is there");
        leave(folder, LONG, 3);
        let said = unjinja(folder, &format!("{other} --force"), "");
        assert!(!said.contains("going on"), "{said}");
        assert_eq!(read(folder, "out.jsonl").lines().count(), 5);
        assert!(!folder.join("out.jsonl.partial").exists());
    }

    #[test]
    fn what_was_changed_after_a_run_is_done_again() {
        for change in ["part", "part 0\n and garbage", "pArt 0\n"] {
            let folder = place();
            let folder = folder.path();
            leave(folder, LONG, 3);
            fs::write(folder.join("out.jsonl.partial/0.part"), change).expect("is written");
            assert_eq!(
                unjinja(folder, LONG, ""),
                "! warning: out.jsonl.partial/0.part: this has changed since the run stopped: 5 rows are done again\nexit 0",
                "{change:?}"
            );
            assert_eq!(read(folder, "out.jsonl").lines().count(), 5);
        }
        let folder = place();
        let folder = folder.path();
        leave(folder, LONG, 3);
        fs::remove_file(folder.join("out.jsonl.partial/1.part")).expect("is there");
        assert_snapshot!(unjinja(folder, LONG, ""), @r"
        ! warning: out.jsonl.partial/1.part: this has changed since the run stopped: 2 rows are done again
        ! continuing after 3 rows that an earlier run answered
        exit 0
        ");
        let all = read(folder, "out.jsonl");
        assert!(all.starts_with("part 0\n{\"id\":3,"), "{}", &all[..40]);
        assert_eq!(all.lines().count(), 3);
    }

    #[test]
    fn a_signal_ends_the_run_while_parts_are_joined() {
        let folder = place();
        let folder = folder.path();
        leave(folder, LONG, 2);
        // A part that is at its end only when this test says so: once while it is checked, and once while it is joined.
        let part = folder.join("out.jsonl.partial/0.part");
        fs::remove_file(&part).expect("is there");
        let made = Command::new("mkfifo").arg(&part).status().expect("it runs");
        assert!(made.success());
        let mut run = Command::new(env!("CARGO_BIN_EXE_unjinja"))
            .args(LONG.split_whitespace())
            .current_dir(folder)
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
        fs::write(&part, "part 0\n").expect("the part is being checked");
        while !names(folder).iter().any(|name| name.starts_with('.')) {
            thread::yield_now();
        }
        let pipe = fs::File::options().write(true).open(&part);
        let pipe = pipe.expect("the part is being read");
        let sent = Command::new("kill")
            .args(["-INT", &run.id().to_string()])
            .status();
        assert!(sent.expect("it runs").success());
        drop(pipe);
        let status = run.wait().expect("it ends");
        assert_eq!(status.code(), None, "a signal has ended it");
        assert!(!folder.join("out.jsonl").exists());
        assert!(!names(folder).iter().any(|name| name.starts_with('.')));

        fs::remove_file(&part).expect("is there");
        fs::write(&part, "part 0\n").expect("is written");
        assert!(unjinja(folder, LONG, "").ends_with("exit 0"));
        assert_eq!(read(folder, "out.jsonl"), "part 0\npart 1\n");
    }

    #[test]
    fn the_same_command_goes_on() {
        let folder = place();
        let folder = folder.path();
        // Parts end after 65536 rows. Those of the second one are longer.
        let line = |id: usize| match id {
            66_000 => "no JSON\n".to_owned(),
            _ => {
                let text = "long ".repeat(if id < 65_600 { 1 } else { 600 });
                format!("{{\"id\": {id}, \"text\": \"{text}\"}}\n")
            }
        };
        let lines: String = (0..70_000).map(line).collect();
        fs::write(folder.join("many.jsonl"), &lines).expect("is written");
        let options = "parse -t t.json --jsonl many.jsonl --no-events";
        let uninterrupted = written(folder, &format!("{options} -o whole.jsonl"), "whole.jsonl");

        let arguments = format!("{options} -o out.jsonl");
        // Dash counts in 512 bytes, other shells in 1024: the first part is smaller than either, the second
        // larger.
        run_within(folder, 10_000, &arguments);
        assert!(!folder.join("out.jsonl").exists());
        let state = read(folder, "out.jsonl.partial/state.json");
        assert_eq!(counted(&state), 1, "{state}");

        let other = unjinja(folder, &format!("{arguments} --spans"), "");
        assert!(
            other.contains("wrote here with different options: repeat its command"),
            "{other}"
        );
        let again = written(folder, &format!("{arguments} --threads 1"), "out.jsonl");
        assert_eq!(
            again.replace(
                "! continuing after 65536 rows that an earlier run answered\n",
                ""
            ),
            uninterrupted
        );
        assert_ne!(again, uninterrupted);
        assert!(uninterrupted.contains("! error: many.jsonl:66001:"));
        assert!(!folder.join("out.jsonl.partial").exists());
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_program_without_parquet_says_how_to_build_one() {
    let folder = place();
    let arguments = "parse -t t.json --format parquet log.parquet -o out";
    fs::write(folder.path().join("log.parquet"), "").expect("is written");
    assert_snapshot!(unjinja(folder.path(), arguments, ""), @"
    ! error: this program was built without Parquet: build it with `cargo install --path cli --features parquet`
    exit 2
    ");
}

#[cfg(feature = "parquet")]
mod parquet_files;
