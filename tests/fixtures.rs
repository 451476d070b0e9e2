//! Fixtures, as whoever writes them sees them: those in `fixtures/right` pass, those in
//! `fixtures/failing` fail, and those in `fixtures/broken` are refused.
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use tempfile::TempDir;
use unjinja::check::{CheckOptions, EventTrace, Failure, Fixture, Report, check, find};
use unjinja::{Position, json};

use crate::root;

const TEMPLATE: &str =
    "response_template: {start_anchor: <bot>, fields: {content: {close: <end>}}}\n";

/// The fixtures of a folder, in order.
fn fixtures(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new("fixtures").join(folder);
    let found = find(&[folder]);
    assert!(!found.is_empty());
    found
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.into_owned()
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder is made");
    fs::write(&path, text).expect("the file is written");
    path
}

/// What is said of a file that is refused; files of its folder are shown by their names alone.
fn refusal(path: &Path) -> String {
    let Err(error) = Fixture::load(path) else {
        panic!("{} is not refused", path.display());
    };
    let folder = format!("{}/", path.parent().unwrap_or(Path::new("")).display());
    error.to_string().replace(&folder, "")
}

/// Everything that is wrong in a report.
fn faults(report: &Report) -> Vec<String> {
    let unreadable = report.unreadable().map(ToString::to_string);
    let failures = report.cases().flat_map(|(file, case)| {
        let place = format!("{}:{}", name(&file.path), case.position.line);
        let line = move |f: &Failure| format!("{place}: {}: {}", f.key(), f.headline());
        case.failures.iter().map(line)
    });
    unreadable.chain(failures).collect()
}

fn assert_passes(paths: &[PathBuf]) {
    let report = check(paths, &CheckOptions::default());
    assert_eq!(faults(&report), Vec::<String>::new());
    assert!(report.cases().count() >= paths.len());
}

#[test]
fn broken_ones_are_refused_with_place_cause_and_remedy() {
    let broken = fixtures("broken");
    let refusals: Vec<String> = broken.iter().map(|path| refusal(path)).collect();
    assert_snapshot!("broken", refusals.join("\n\n"));
}

#[test]
fn right_ones_pass() {
    assert_passes(&fixtures("right"));
}

/// Whoever saves a file on another system means the same.
#[test]
fn line_ends_and_byte_order_marks_make_no_difference() {
    let folder = folder();
    for entry in fs::read_dir("fixtures/model").expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        write(&folder, &format!("model/{}", name(&path)), &read(&path));
    }
    let places = |path: &Path| {
        let fixture = Fixture::load(path).expect("it is a fixture");
        let places = fixture
            .cases()
            .iter()
            .map(|case| case.position.line_column());
        places.collect::<Vec<_>>()
    };
    for path in fixtures("right") {
        let crlf = read(&path).replace('\n', "\r\n");
        let marked = format!("\u{feff}{crlf}");
        for (kind, text) in [("crlf", crlf), ("marked", marked)] {
            let copy = write(&folder, &format!("{kind}/{}", name(&path)), &text);
            assert_eq!(places(&copy), places(&path), "{}", copy.display());
            assert_passes(&[copy]);
        }
    }
}

#[test]
fn what_a_fixture_names_may_begin_with_a_mark_as_well() {
    let folder = folder();
    for name in ["template.json", "tools.json"] {
        let text = read(&Path::new("fixtures/model").join(name));
        write(&folder, name, &format!("\u{feff}{text}"));
    }
    let text = "response_template: template.json\ntools: tools.json\ncases:\n  \
                - {name: nothing, output: \"\", message: {role: assistant}}\n";
    assert_passes(&[write(&folder, "it.fixture.yaml", text)]);
}

#[test]
fn failing_ones_fail_with_what_is_wrong() {
    let report = check(&fixtures("failing"), &CheckOptions::default());
    assert_snapshot!(faults(&report).join("\n"), @r#"
    a_prompt_without_the_anchor.fixture.yaml:3: no anchor: the template's anchor is not in the prompt, so all of it is read as part of the message: fix one of them, or leave out `prefix`
    an_error_where_none_was_expected.fixture.yaml:3: not parsed: the output can't be parsed: field `content`, bytes 0 to 6 of the text since the anchor: this is not JSON: expected a value at line 1, column 1, in "Hello!"
    another_error.fixture.yaml:3: other error: the error should say "there is no content", and says: field `content`, bytes 0 to 6 of the text since the anchor: this is not JSON: expected a value at line 1, column 1, in "Hello!"
    another_message.fixture.yaml:3: message: the message is not what was expected
    conversations.fixture.yaml:4: reads: the conversation is not read as expected
    conversations.fixture.yaml:4: written: the model writes another part of the conversation than expected
    conversations.fixture.yaml:8: not read: the conversation can't be read: character 0: the template does not write "[INST] Hi [/INST]" here; expected `<user>`
    conversations.fixture.yaml:11: nothing expected: the case says nothing of what it expects: write `reads`, or let `update` write what comes out
    conversations.fixture.yaml:13: nothing expected: the case says nothing of what it expects: write `written`, or let `update` write what comes out
    it_depends_on_cuts.fixture.yaml:4: cut: the output means something else when it arrives byte by byte
    no_error_where_one_was_expected.fixture.yaml:3: parsed: the output can be parsed, where an error was expected: "there is no content"
    nothing_expected.fixture.yaml:3: nothing expected: the case says nothing of what it expects: write a `message`, or let `update` write what comes out
    other_events.fixture.yaml:3: events: the events are not what was expected
    two_faults_at_once.fixture.yaml:3: message: the message is not what was expected
    two_faults_at_once.fixture.yaml:3: events: the events are not what was expected
    two_faults_at_once.fixture.yaml:3: cut: the output means something else when it arrives byte by byte
    "#);
}

#[test]
fn a_difference_comes_with_both_sides() {
    let report = check(&fixtures("failing"), &CheckOptions::default());
    let mut sides = Vec::new();
    for (_, case) in report.cases() {
        for failure in &case.failures {
            sides.push(match failure {
                Failure::Message { expected, actual } => {
                    let [expected, actual] =
                        [expected, actual].map(|m| json::write(&m.clone().into()));
                    format!("{expected} / {actual}")
                }
                Failure::Reads { expected, actual } => {
                    let [expected, actual] =
                        [expected, actual].map(|m| json::write(&m.clone().into()));
                    format!("{expected} / {actual}")
                }
                Failure::Written { expected, actual } => format!("{expected:?} / {actual:?}"),
                Failure::Events { expected, actual } => {
                    format!("{} events / {}", expected.len(), actual.len())
                }
                _ => continue,
            });
        }
    }
    assert_snapshot!(sides.join("\n"), @r#"
    {"content":"Goodbye!"} / {"content":"Hello!"}
    {"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Goodbye!"}]} / {"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello!"}]}
    ["Goodbye!<end>"] / ["Hello!<end>"]
    2 events / 3
    {"content":"Goodbye!"} / {"content":"Hello!"}
    0 events / 3
    "#);
}

fn summary(trace: &EventTrace) -> String {
    match &trace.outcome {
        Ok(message) => json::write(&message.clone().into()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_depends_on_cuts_is_told_with_the_fewest_places() {
    let path = "fixtures/failing/it_depends_on_cuts.fixture.yaml";
    let report = check(&[path.into()], &CheckOptions::default());
    let failures: Vec<&Failure> = report
        .cases()
        .flat_map(|(_, case)| &case.failures)
        .collect();
    let [
        Failure::Cut {
            cut,
            places,
            whole,
            pieces,
            ..
        },
    ] = failures[..]
    else {
        panic!("{failures:?}");
    };
    assert_eq!(cut.to_string(), "byte by byte");
    assert_eq!(places, &["Hello!<end".len()]);
    assert_eq!(summary(whole), r#"{"content":"Hello!"}"#);
    assert_eq!(summary(pieces), r#"{"content":"Hello!<end>"}"#);
}

/// Its length alone is looked at: there is nothing in it.
#[test]
fn a_file_that_is_far_too_large_is_refused() {
    let folder = folder();
    for name in ["large.fixture.yaml", "large.json"] {
        let file = File::create(folder.path().join(name)).expect("the file is made");
        file.set_len(50 << 20).expect("it can be long");
    }
    let path = folder.path().join("large.fixture.yaml");
    assert_snapshot!(refusal(&path), @"large.fixture.yaml: the file is larger than 32 MiB: divide it into several");
    let text = "response_template: large.json\ntools: large.json\ncases: [{name: a, output: b}]\n";
    assert_snapshot!(refusal(&write(&folder, "names.fixture.yaml", text)), @"
    names.fixture.yaml:1:1: large.json: the file is larger than 32 MiB: divide it into several
    names.fixture.yaml:2:1: large.json: the file is larger than 32 MiB: divide it into several
    ");
}

#[test]
fn of_very_many_faults_the_first_are_told() {
    let folder = folder();
    let keys: String = (0..100_000).map(|n| format!("key{n}: 1\n")).collect();
    let path = write(&folder, "keys.fixture.yaml", &keys);
    let Err(error) = Fixture::load(&path) else {
        panic!("it is not refused");
    };
    assert_eq!(error.faults.len(), 51);
    assert_eq!(
        error.faults[49].position.map(Position::line_column),
        Some((50, 1))
    );
    assert_eq!(
        error.faults[50].to_string(),
        "there are more faults: mend these first"
    );
}

/// To count from the beginning of the line for each case would take ten minutes.
#[test]
fn very_many_cases_may_stand_on_one_line() {
    let folder = folder();
    let cases: Vec<String> = (0..100_000)
        .map(|n| format!("{{name: é{n}, output: x}}"))
        .collect();
    let text = format!("{TEMPLATE}cases: [{}]\n", cases.join(","));
    let fixture = Fixture::load(&write(&folder, "long.fixture.yaml", &text));
    let fixture = fixture.expect("it is a fixture");
    let before: usize = cases[..99_999]
        .iter()
        .map(|case| case.chars().count() + 1)
        .sum();
    assert_eq!(
        fixture.cases()[99_999].position.line_column(),
        (2, "cases: [".len() + before + 1)
    );
}

#[test]
fn fixtures_are_found_by_the_ends_of_their_names() {
    let folder = folder();
    for name in [
        "b.fixture.yaml",
        "a/c.fixture.json",
        "a/deep/d.fixture.yml",
        "a/notes.yaml",
        "a/fixture.yaml",
        ".hidden/e.fixture.yaml",
        "a/.#c.fixture.yaml",
    ] {
        write(&folder, name, "");
    }
    let found = |paths: &[&str]| {
        let paths: Vec<PathBuf> = paths.iter().map(|path| folder.path().join(path)).collect();
        let found = find(&paths);
        let short = |path: PathBuf| {
            let path = path
                .strip_prefix(folder.path())
                .expect("it is in the folder");
            path.display().to_string()
        };
        found.into_iter().map(short).collect::<Vec<String>>()
    };
    let all = ["a/c.fixture.json", "a/deep/d.fixture.yml", "b.fixture.yaml"];
    assert_eq!(found(&[""]), all);
    assert_eq!(
        found(&["", "a", "a/../b.fixture.yaml"]).len(),
        all.len(),
        "none twice"
    );
    assert_eq!(found(&["a/notes.yaml"]), ["a/notes.yaml"]);
    // Reading it shows what is wrong.
    assert_eq!(
        found(&["a", "missing"]).last().map(String::as_str),
        Some("missing")
    );
}

#[cfg(unix)]
#[test]
fn pipes_are_not_waited_for() {
    let folder = folder();
    let pipe = folder.path().join("a.fixture.yaml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        return; // there are none here
    }
    assert!(find(&[folder.path().to_owned()]).is_empty());
}

#[test]
fn a_filter_chooses_by_file_and_name() {
    let chosen = |filter: &str| {
        let mut options = CheckOptions::default();
        options.filter = Some(filter.to_owned());
        check(&fixtures("right"), &options).cases().count()
    };
    assert_eq!(
        chosen("a_template_written_out.fixture.yaml: words alone"),
        1
    );
    assert_eq!(chosen("a_template_written_out"), 3);
    assert_eq!(chosen("thoughts that the prompt opens"), 1);
    assert_eq!(chosen("no such name"), 0);
}

#[test]
fn who_asks_to_fail_fast_is_told_of_the_first_failure_only() {
    let folder = folder();
    let cases: String = (0..1_000)
        .map(|n| format!("  - {{name: {n}th, output: x}}\n"))
        .collect();
    let path = write(
        &folder,
        "it.fixture.yaml",
        &format!("{TEMPLATE}cases:\n{cases}"),
    );
    let mut options = CheckOptions::default();
    let paths = [path];
    assert_eq!(check(&paths, &options).failed(), 1_000);
    options.fail_fast = true;
    let failed = check(&paths, &options).failed();
    // Those that others had begun in the meantime are reported as well.
    assert!((1..1_000).contains(&failed), "{failed}");
}

/// What an update leaves alone: text that can't be parsed where a message was expected, or the
/// other way round, and what depends on cuts.
const LEFT_ALONE: &[&str] = &["not parsed", "parsed", "cut", "no anchor"];

#[test]
fn an_update_makes_right_what_it_may_and_changes_nothing_else() {
    let folder = folder();
    for path in fixtures("failing").into_iter().chain(fixtures("right")) {
        let fixture = Fixture::load(&path).expect("it is a fixture");
        let updated = fixture.update(&CheckOptions::default());
        assert!(updated.left.is_empty());
        let copy = write(&folder, &name(&path), &updated.text);
        if updated.changes.is_empty() {
            assert_eq!(updated.text, read(&path));
            continue;
        }
        let [before, after] = [path, copy].map(|path| check(&[path], &CheckOptions::default()));
        let keys = |report: &Report| -> Vec<&str> {
            let failures = report.cases().flat_map(|(_, case)| &case.failures);
            failures.map(Failure::key).collect()
        };
        let mut left = keys(&before);
        left.retain(|key| LEFT_ALONE.contains(key));
        assert_eq!(keys(&after), left, "{}", updated.text);
    }
}

/// A piece of code in a page.
struct Block<'p> {
    language: &'p str,
    /// The file that the words before it say it stands in.
    file: Option<&'p str>,
    code: String,
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut is_inside = false;
    let mut before = "";
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(_) if is_inside => is_inside = false,
            Some(language) => {
                let words = before.strip_suffix("`:");
                let file = words.and_then(|words| Some(words.rsplit_once('`')?.1));
                is_inside = true;
                blocks.push(Block {
                    language,
                    file,
                    code: String::new(),
                });
            }
            None if is_inside => {
                let block = blocks.last_mut().expect("a block has begun");
                block.code.push_str(line);
                block.code.push('\n');
            }
            None if line.is_empty() => {}
            None => before = line,
        }
    }
    blocks
}

#[test]
fn every_example_of_the_page_passes() {
    let folder = folder();
    let page = read(&root().join("docs/fixtures.md"));
    let mut examples = Vec::new();
    for (index, block) in blocks(&page).into_iter().enumerate() {
        let is_fixture = block.code.contains("cases:") || block.code.contains("\"cases\":");
        assert!(is_fixture || block.language != "yaml", "{}", block.code);
        if is_fixture {
            let name = format!("{index}.fixture.{}", block.language);
            examples.push(write(&folder, &name, &block.code));
        } else if let Some(file) = block.file {
            write(&folder, file, &block.code);
        }
    }
    assert!(examples.len() > 10, "only {} examples", examples.len());
    assert_passes(&examples);
}

#[test]
fn where_very_many_expectations_can_not_be_written_an_update_ends_all_the_same() {
    // YAML has nothing for half a character.
    let cases: String = (0..3_000)
        .map(|n| {
            format!("- {{name: case {n}, output: '\"\\ud800\"', message: {{content: old}}}}\n")
        })
        .collect();
    let head = "response_template: {start_anchor: <bot>, fields: {content: {content: json}}}\n";
    let text = format!("{head}cases:\n{cases}");
    let path = Path::new("halves.fixture.yaml");
    let fixture = Fixture::parse(path, text.clone()).expect("a fixture");
    let update = fixture.update(&CheckOptions::default());
    assert_eq!(update.left.len(), 3_000);
    assert!(update.text == text, "nothing has changed");
}

#[test]
fn conversations_expect_what_comes_out_when_they_are_updated() {
    let folder = folder();
    for file in ["chat_template.jinja", "template.json"] {
        let text = read(&Path::new("fixtures/model").join(file));
        write(&folder, file, &text);
    }
    let text = "response_template: template.json
chat_template: chat_template.jinja
cases:
  - name: a greeting   # as it was logged
    conversation: <user>Hi<end><assistant>Hello!<end>
    reads: {messages: [{role: user, content: Hi}, {role: assistant, content: Goodbye!}]}
    written: [Goodbye!<end>]
  - name: an output
    output: Hello!<end>
  - name: messages
    conversation: [{role: user, content: Hi}, {role: assistant, content: Hello!}]
  - name: a text of another model
    conversation: \"[INST] Hi [/INST]\"
    reads: {messages: []}
";
    let path = write(&folder, "it.fixture.yaml", text);
    let fixture = Fixture::load(&path).expect("it is a fixture");
    let update = fixture.update(&CheckOptions::default());
    assert_snapshot!(update.text);
    let changes = update.changes.iter();
    let changes: Vec<_> = changes
        .map(|change| (change.case.as_str(), change.key))
        .collect();
    assert_eq!(
        changes,
        [
            ("a greeting", "reads"),
            ("a greeting", "written"),
            ("an output", "message"),
            ("messages", "written"),
        ]
    );
    let again = Fixture::load(&write(&folder, "again.fixture.yaml", &update.text));
    let again = again.expect("it is a fixture");
    assert!(again.update(&CheckOptions::default()).changes.is_empty());
    let one = fixture.update_case("messages").expect("there is one");
    assert_eq!(one.changes.len(), 1);
}
