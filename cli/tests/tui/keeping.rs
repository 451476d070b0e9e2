//! Mending a template, and keeping what has been found.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::{TempDir, tempdir};
use unjinja_cli::tui::{Effect, Message};

use crate::support::root::root;
use crate::tui::desk::Desk;

/// A folder with copies of some files.
fn folder(files: &[&str]) -> TempDir {
    let folder = tempdir().expect("a folder");
    for file in files {
        let name = Path::new(file).file_name().expect("a name");
        fs::copy(root().join(file), folder.path().join(name)).expect("a copy");
    }
    folder
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a file")
}

fn reload(desk: &mut Desk, template: Option<PathBuf>) {
    desk.perform(vec![Effect::Load { template }]);
    desk.settle();
}

#[test]
fn what_a_new_template_changes_is_reported() {
    let folder = folder(&["chat_templates/xml-calls.jinja"]);
    let source = folder.path().join("xml-calls.jinja");
    let written = folder.path().join("template.json");
    let mut desk = Desk::open(&source.display().to_string());
    desk.press("w").write_to(&written);
    assert!(
        desk.screen()
            .contains("the response template is written to"),
        "{}",
        desk.screen()
    );
    let right = read(&written);

    fs::write(&written, right.replace("<parameter=", "<param=")).expect("is written");
    reload(&mut desk, Some(written.clone()));
    assert!(desk.screen().contains("8 broken"), "{}", desk.screen());

    fs::write(&written, right.replace("\"fields\"", "\"felds\"")).expect("is written");
    reload(&mut desk, Some(written.clone()));
    let template = desk.pane("3 Template").join("\n");
    assert!(template.contains("unknown key `felds`"), "{template}");
    assert!(
        template.contains("the last good one stays in use"),
        "{template}"
    );

    fs::write(&written, right).expect("is written");
    reload(&mut desk, Some(written.clone()));
    assert!(desk.screen().contains("8 fixed"), "{}", desk.screen());
}

#[test]
fn a_fault_is_shown_at_its_place_in_a_file_of_one_long_line() {
    let folder = folder(&["examples/template.json"]);
    let file = folder.path().join("template.json");
    let mut desk = Desk::open(&file.display().to_string());
    let many: Vec<String> = (0..5000)
        .map(|number| format!("\"key{number}\": 1"))
        .collect();
    let right = r#""start_anchor": "A:", "fields": {"content": {}}"#;
    let text = format!(
        r#"{{"defaults": {{{}}}, {right}, "felds": {{}}}}"#,
        many.join(", ")
    );
    fs::write(&file, text).expect("is written");
    reload(&mut desk, None);
    let template = desk.pane("3 Template").join("").replace("     ", "");
    assert!(template.contains("\"felds\": {}"), "{template}");
    assert!(
        template.contains("the last good one stays in use"),
        "{template}"
    );
}

#[test]
fn a_derived_template_is_written_before_it_is_edited() {
    let folder = folder(&["chat_templates/xml-calls.jinja"]);
    let written = folder.path().join("template.json");
    let mut desk = Desk::open(&folder.path().join("xml-calls.jinja").display().to_string());
    desk.press("e").write_to(&written);
    assert_eq!(desk.edited, [written]);
    desk.press("e");
    assert_eq!(desk.edited.len(), 2);
}

#[test]
fn nothing_is_overwritten_unasked() {
    let folder = folder(&["chat_templates/xml-calls.jinja"]);
    let there = folder.path().join("there.json");
    fs::write(&there, "mine").expect("is written");
    let mut desk = Desk::open(&folder.path().join("xml-calls.jinja").display().to_string());
    desk.press("w").write_to(&there);
    assert!(
        desk.screen().contains("already exists. Replace it?"),
        "{}",
        desk.screen()
    );
    desk.press("n");
    assert_eq!(read(&there), "mine");
    desk.press("w").write_to(&there);
    desk.press("y");
    assert!(read(&there).starts_with("{\n  \"version\""));
}

#[test]
fn a_configuration_keeps_what_else_it_holds() {
    let folder = folder(&["chat_templates/xml-calls.jinja"]);
    let config = folder.path().join("tokenizer_config.json");
    fs::write(&config, "{\"eos_token\": \"<|im_end|>\"}").expect("is written");
    let mut desk = Desk::open(&folder.path().join("xml-calls.jinja").display().to_string());
    desk.press("w").write_to(&config);
    desk.press("y");
    let text = read(&config);
    assert!(
        text.starts_with("{\"eos_token\": \"<|im_end|>\", \"response_template\": {"),
        "{text}"
    );
}

#[test]
fn a_text_and_its_message_become_a_case() {
    let folder = folder(&["examples/template.json"]);
    let fixture = folder.path().join("new.fixture.yaml");
    let mut desk = Desk::open(&folder.path().join("template.json").display().to_string());
    for text in ["Hello<|end|>", "Goodbye<|end|>"] {
        desk.press("t").press(text);
        desk.control('d');
        desk.press("s⏎").write_to(&fixture);
        assert!(desk.screen().contains("is saved in"), "{}", desk.screen());
    }
    let loaded = unjinja::check::Fixture::load(&fixture).expect("a fixture");
    let cases: Vec<(&str, String)> = loaded
        .cases()
        .iter()
        .map(|case| {
            let message = case.expected.message.clone().map(unjinja::Value::from);
            (case.name.as_str(), message.unwrap_or_default().to_string())
        })
        .collect();
    assert_eq!(
        cases,
        [
            (
                "typed 1",
                r#"{"role":"assistant","content":"Hello"}"#.to_owned()
            ),
            (
                "typed 2",
                r#"{"role":"assistant","content":"Goodbye"}"#.to_owned()
            ),
        ]
    );
}

#[test]
fn what_comes_out_of_a_case_is_accepted_when_it_is_confirmed() {
    let folder = folder(&["tests/check/mixed.fixture.yaml"]);
    let fixture = folder.path().join("mixed.fixture.yaml");
    let before = read(&fixture);
    let mut desk = Desk::open(&fixture.display().to_string());
    desk.select("a thought");
    assert!(
        desk.pane("1 Samples").join("\n").contains("✗ a thought"),
        "{}",
        desk.screen()
    );
    desk.press("an");
    assert_eq!(read(&fixture), before);
    desk.press("a");
    assert!(
        desk.screen().contains("What comes out is a message:"),
        "{}",
        desk.screen()
    );
    desk.press("y");
    assert_ne!(read(&fixture), before);
    desk.press("u");
    assert_eq!(read(&fixture), before);
    desk.press("ay");
    assert_ne!(read(&fixture), before);
    assert!(
        desk.pane("1 Samples").join("\n").contains("✓ a thought"),
        "{}",
        desk.screen()
    );
}

#[test]
fn a_candidate_takes_the_place_of_the_one_chosen() {
    let mut desk = Desk::open("chat_templates/xml-calls.jinja");
    desk.press("3z");
    let chosen = desk.pane("3 Template");
    desk.press("f");
    while !desk.screen().contains("- ") {
        desk.press("↓");
    }
    desk.press("⏎⎋");
    assert!(desk.screen().contains("(candidate"), "{}", desk.screen());
    let picked = desk.pane("3 Template");
    assert_ne!(picked, chosen);
    reload(&mut desk, None);
    assert!(desk.screen().contains("(candidate"), "{}", desk.screen());
    assert_eq!(desk.pane("3 Template"), picked);
}

#[test]
fn an_error_of_the_editor_is_not_lost_to_later_news() {
    let mut desk = Desk::open("examples/template.json");
    desk.send(Message::Failed("the editor is not there".into()));
    assert!(desk.screen().contains("the editor is not there"));
    reload(&mut desk, None);
    assert!(desk.screen().contains("the editor is not there"));
    desk.press("→");
    assert!(!desk.screen().contains("the editor is not there"));
    desk.press("L");
    let screen = desk.screen();
    assert!(screen.contains("✗ the editor is not there"), "{screen}");
    assert!(
        screen.contains("read anew: every sample is read as well as before"),
        "{screen}"
    );
}

#[test]
fn a_change_that_was_made_since_then_is_not_taken_back() {
    let folder = folder(&["tests/check/mixed.fixture.yaml"]);
    let fixture = folder.path().join("mixed.fixture.yaml");
    let mut desk = Desk::open(&fixture.display().to_string());
    desk.select("a thought");
    desk.press("ay");
    let changed = read(&fixture) + "# mine\n";
    fs::write(&fixture, &changed).expect("is written");
    desk.press("u");
    assert!(
        desk.screen().contains("has been changed since then"),
        "{}",
        desk.screen()
    );
    assert_eq!(read(&fixture), changed);
}

#[test]
fn what_was_saved_is_not_asked_for_again() {
    let folder = folder(&["examples/template.json"]);
    let mut desk = Desk::open(&folder.path().join("template.json").display().to_string());
    desk.press("tHello<|end|>");
    desk.control('d');
    desk.press("s⏎")
        .write_to(&folder.path().join("new.fixture.yaml"));
    desk.press("q");
    assert!(desk.has_quit);
}

#[test]
fn a_folder_is_made_only_when_that_is_confirmed_and_a_new_file_can_be_taken_back() {
    let folder = folder(&["examples/template.json"]);
    let fixture = folder.path().join("new/deep/a.fixture.yaml");
    let mut desk = Desk::open(&folder.path().join("template.json").display().to_string());
    desk.press("tHello<|end|>");
    desk.control('d');
    desk.press("s⏎").write_to(&fixture);
    assert!(
        desk.screen().contains("there is no folder"),
        "{}",
        desk.screen()
    );
    desk.press("n");
    assert!(!folder.path().join("new").exists());
    desk.press("s⏎").write_to(&fixture);
    desk.press("y");
    assert!(desk.screen().contains("is saved in"), "{}", desk.screen());
    assert!(read(&fixture).contains("typed 1"));
    desk.press("u");
    assert!(desk.screen().contains("is removed"), "{}", desk.screen());
    assert!(!folder.path().join("new").exists());
    // It is in no fixture again.
    desk.press("q");
    assert!(
        desk.screen().contains("in no fixture yet"),
        "{}",
        desk.screen()
    );
    assert!(!desk.has_quit);
}

#[test]
fn new_files_are_named_after_what_was_opened_and_lie_beside_it() {
    let folder = folder(&["chat_templates/xml-calls.jinja"]);
    let named = folder.path().join("my.model-1.5.jinja");
    fs::rename(folder.path().join("xml-calls.jinja"), &named).expect("is renamed");
    let mut desk = Desk::open(&named.display().to_string());
    for (keys, name) in [
        ("w", "my.model-1.5.response_template.json"),
        ("s⏎", "my.model-1.5.fixture.yaml"),
    ] {
        desk.press(keys);
        let path = folder.path().join(name).display().to_string();
        assert!(desk.screen().contains(&path), "{}", desk.screen());
        desk.press("⎋");
    }
}

#[test]
fn a_fixture_with_another_template_tells_that_a_case_fails_in_it() {
    let folder = folder(&["examples/template.json"]);
    let fixture = folder.path().join("other.fixture.yaml");
    let other = "response_template: {start_anchor: <bot>, fields: {content: {close: <end>}}}\ncases: \n  - {name: one, output: a, message: {content: a}}\n";
    fs::write(&fixture, other).expect("is written");
    let mut desk = Desk::open(&folder.path().join("template.json").display().to_string());
    desk.press("tHello<|end|>");
    desk.control('d');
    desk.press("s⏎").write_to(&fixture);
    assert!(
        desk.screen()
            .contains("where it fails: the fixture has another"),
        "{}",
        desk.screen()
    );
}

#[test]
fn a_fixture_is_not_replaced_by_a_template() {
    let folder = folder(&["tests/check/mixed.fixture.yaml"]);
    let fixture = folder.path().join("mixed.fixture.yaml");
    let before = read(&fixture);
    let mut desk = Desk::open(&fixture.display().to_string());
    desk.press("w").write_to(&fixture);
    assert!(
        desk.screen().contains("this is a fixture"),
        "{}",
        desk.screen()
    );
    desk.press("y");
    assert_eq!(read(&fixture), before);
}

#[test]
fn an_accepted_expectation_outlives_a_reload() {
    let folder = folder(&["chat_templates/xml-calls.jinja"]);
    let written = folder.path().join("template.json");
    let source = folder.path().join("xml-calls.jinja");
    let mut desk = Desk::open(&source.display().to_string());
    desk.press("w").write_to(&written);
    let broken = read(&written).replace("<parameter=", "<param=");
    fs::write(&written, broken).expect("is written");
    reload(&mut desk, Some(written.clone()));
    desk.select("two calls");
    let verdict = |desk: &Desk| {
        let samples = desk.pane("1 Samples");
        samples
            .into_iter()
            .find(|line| line.ends_with(" two calls"))
    };
    assert_eq!(verdict(&desk).as_deref(), Some("✗ two calls"));
    desk.press("a⏎");
    reload(&mut desk, Some(written));
    assert_eq!(verdict(&desk).as_deref(), Some("✓ two calls"));
}

#[test]
fn leaving_tells_once_what_would_be_lost() {
    let mut desk = Desk::open("examples/template.json");
    desk.press("tHello<|end|>");
    desk.control('d');
    desk.press("q");
    assert!(
        desk.screen().contains("in no fixture yet"),
        "{}",
        desk.screen()
    );
    assert!(!desk.has_quit);
    desk.press("→q");
    assert!(!desk.has_quit);
    desk.press("q");
    assert!(desk.has_quit);
}
