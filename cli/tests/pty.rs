//! The real program in a real terminal: keys go in, and a screen comes out.

mod session;

use std::fs;

use crate::support::root::root;
use session::Session;
use tempfile::TempDir;

/// A template of what is shown between `<` and `>`, and of calls.
const TEMPLATE: &str = r#"{
  "defaults": {"role": "assistant"},
  "start_anchor": "<bot>",
  "fields": {
    "calls": {"open": "<call>", "close": "</call>", "repeats": true},
    "content": {"close": "<end>"}
  }
}
"#;

/// A folder with a chat template of the gallery, a response template, and an editor.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let chat = root().join("chat_templates/xml-calls.jinja");
    fs::copy(chat, folder.path().join("chat.jinja")).unwrap();
    fs::write(folder.path().join("template.json"), TEMPLATE).unwrap();
    folder
}

/// A workbench with a short text.
fn with_text(folder: &TempDir, text: &str) -> Session {
    fs::write(folder.path().join("output.txt"), text).unwrap();
    let arguments = ["-t", "template.json", "output.txt"];
    let session = Session::workbench(folder.path(), &arguments, (140, 45));
    session.wait_for("5 Events");
    session
}

#[test]
fn a_template_is_derived_stepped_through_broken_and_mended() {
    let folder = folder();
    let script = r#"stty -g; "$unjinja" tui chat.jinja; code=$?; stty -g; echo "left with $code""#;
    let mut session = Session::shell(folder.path(), script);
    session.wait_for("11 pass");
    // The third sample is a call.
    session.press("}}g");
    session.wait_without("▸ open");
    session.press("]");
    session.wait_for("▸ open  tool_calls");
    session.press("c");
    session.wait_for("cut by character");

    let file = folder.path().join("written.json");
    session.press("w");
    session.wait_for(".response_template.json");
    session.answer("written.json");
    session.wait_for("the response template is written to written.json");
    session.wait_for("11 pass");
    let good = fs::read_to_string(&file).unwrap();
    let broken = good.replace("<parameter=", "<argument=");
    assert_ne!(good, broken);
    fs::write(&file, &broken).unwrap();
    session.wait_for("8 broken");
    session.wait_for("8 fail, 3 pass");
    fs::write(&file, &good).unwrap();
    session.wait_for("8 fixed");
    fs::write(&file, good.replace("\"version\": 1,", "\"version\": 1")).unwrap();
    session.wait_for("the last good one stays in use: written.json:3:3");
    session.wait_for("11 pass");
    fs::remove_file(&file).unwrap();
    session.wait_for("the last good one stays in use: written.json: there is no such file");
    fs::write(&file, &good).unwrap();
    session.wait_for("every sample is read as well as before");

    // Editors write by renaming, and need the keys for themselves.
    let editor = r#"test -t 0 && echo "Which tag?" && read tag &&
        sed "s/<parameter=/<$tag=/" "$1" > new && mv new "$1""#;
    fs::write(folder.path().join("editor.sh"), editor).unwrap();
    session.press("e");
    session.wait_until("the editor", |screen| {
        Session::is_given_back(screen) && screen.contents().contains("Which tag?")
    });
    session.press("tag\r");
    session.wait_for("8 broken");
    session.press("q");
    session.wait_end();
    let screen = session.screen();
    let lines: Vec<&str> = screen.lines().collect();
    let [before, .., "Which tag?", "tag", after, "left with 0"] = lines.as_slice() else {
        panic!("{screen}");
    };
    assert_eq!(before, after, "the mode of the terminal");
}

#[test]
fn recorded_outputs_are_samples_with_their_own_prompts() {
    let folder = folder();
    let outputs = r#"{"id":"first","prefix":"<user>Hi<bot><call>","text":"look</call><end>"}
{"id":"second","prefix":"<bot>","text":"High water is at noon.<end>","finish_reason":"stop"}
"#;
    fs::write(folder.path().join("outputs.jsonl"), outputs).unwrap();
    let arguments = ["-t", "template.json", "outputs.jsonl"];
    let mut session = Session::workbench(folder.path(), &arguments, (140, 45));
    session.wait_for("first");
    session.wait_for("second");
    // The prompt of the first has begun a call.
    session.wait_for("▸ open  calls");
    session.press("}");
    session.wait_for("High water is at noon.");
    session.press("q");
    session.wait_end();
}

#[test]
fn outputs_before_the_template_are_named_as_such() {
    let folder = folder();
    fs::write(folder.path().join("outputs.jsonl"), "{}").unwrap();
    let script = r#""$unjinja" tui outputs.jsonl; echo "left with $?""#;
    let mut session = Session::shell(folder.path(), script);
    session.wait_for("outputs stand behind the template that reads them");
    session.wait_for("left with 2");
    session.wait_end();
}

#[test]
fn an_editor_that_fails_is_reported() {
    let folder = folder();
    fs::write(folder.path().join("editor.sh"), "exit 3").unwrap();
    let mut session = with_text(&folder, "Hello<end>");
    session.press("e");
    session.wait_for("the editor `sh editor.sh` ended with exit status: 3");
    session.press("q");
    session.wait_end();
}

#[test]
fn the_file_that_a_fixture_names_is_watched_and_edited() {
    let folder = folder();
    let fixture = "response_template: template.json
cases:
  - {name: a greeting, prefix: <bot>, output: Hello<end>, message: {role: assistant, content: Hello}}
";
    fs::write(folder.path().join("greeting.fixture.yaml"), fixture).unwrap();
    fs::write(folder.path().join("editor.sh"), r#"echo "$1" > edited"#).unwrap();
    let arguments = ["greeting.fixture.yaml"];
    let mut session = Session::workbench(folder.path(), &arguments, (140, 45));
    session.wait_for("1 pass");
    let broken = TEMPLATE.replace("\"content\"", "\"text\"");
    fs::write(folder.path().join("template.json"), broken).unwrap();
    session.wait_for("1 broken");
    session.press("e");
    session.wait_for("every sample is read as well as before");
    let edited = fs::read_to_string(folder.path().join("edited")).unwrap();
    assert_eq!(edited, "template.json\n");
    session.press("q");
    session.wait_end();
}

#[test]
fn a_text_is_shown_while_it_comes_in_and_keys_work() {
    let folder = folder();
    let script = r#"(printf 'One moment, '; until [ -e go ]; do sleep 0.02; done; printf 'the tide.<end>') |
        "$unjinja" tui -t template.json -"#;
    let mut session = Session::shell(folder.path(), script);
    session.wait_for("One moment, ");
    session.wait_for(", live");
    session.press("?");
    session.wait_for("one chunk back");
    session.press("\x1b");
    session.wait_without("one chunk back");
    fs::write(folder.path().join("go"), "").unwrap();
    session.wait_for("the tide.");
    session.wait_for("the text has ended");
    session.press("q");
    session.wait_for("in no fixture yet");
    session.press("q");
    session.wait_end();
}

#[test]
fn a_pipe_is_looked_at_though_nothing_says_so() {
    let folder = folder();
    let script = r#"printf 'One moment.<end>' | "$unjinja" tui template.json"#;
    let mut session = Session::shell(folder.path(), script);
    session.wait_for("content One moment.");
    session.press("qq");
    session.wait_end();
}

#[test]
fn a_pipe_beside_a_named_text_is_looked_at_and_an_empty_one_is_explained() {
    let folder = folder();
    fs::write(folder.path().join("output.txt"), "Hello<end>").unwrap();
    let script = r#"printf 'One moment.<end>' | "$unjinja" tui -t template.json output.txt"#;
    let mut session = Session::shell(folder.path(), script);
    session.wait_for("content Hello");
    session.wait_for("standard input");
    session.press("}");
    session.wait_for("content One moment.");
    session.press("qq");
    session.wait_end();

    let script = r#": | "$unjinja" tui template.json"#;
    let mut session = Session::shell(folder.path(), script);
    session.wait_for(
        "nothing came in by the standard input: does the command before `|` write anything?",
    );
    session.press("q");
    session.wait_end();
}

#[test]
fn bytes_that_are_no_text_are_shown_and_reported() {
    let folder = folder();
    fs::write(folder.path().join("output.txt"), b"so\xff far<end>").unwrap();
    let mut session = Session::workbench(
        folder.path(),
        &["-t", "template.json", "output.txt"],
        (140, 45),
    );
    session.wait_for("byte 2 is not valid UTF-8: it is shown as U+FFFD");
    session.press("q");
    session.wait_end();
}

#[test]
fn what_was_named_in_another_order_is_explained() {
    for (arguments, why) in [
        (
            "output.txt chat.jinja",
            "the template comes first, and outputs behind it",
        ),
        (
            "-t output.txt template.json",
            "the template comes first, and outputs behind it",
        ),
        (
            "chat.jinja chat.jinja",
            "open it by itself, as in `unjinja tui chat.jinja`",
        ),
        (
            "chat.jinja template.json",
            "as in `unjinja tui -t template.json output.txt`",
        ),
        ("-", "let a chat template come in by it"),
    ] {
        let folder = folder();
        fs::write(folder.path().join("output.txt"), "Hello<end>").unwrap();
        let script = format!(r#""$unjinja" tui {arguments}; echo "left with $?""#);
        let mut session = Session::shell(folder.path(), &script);
        session.wait_end();
        let screen = session.screen().replace('\n', " ");
        let words = |text: &str| text.split_whitespace().collect::<String>();
        assert!(words(&screen).contains(&words(why)), "{screen}");
        assert!(screen.trim_end().ends_with("left with 2"), "{screen}");
    }
}

#[test]
fn without_a_terminal_it_is_reported_why_it_does_not_begin() {
    for (script, why) in [
        (
            r#""$unjinja" tui chat.jinja > out; echo "left with $?""#,
            "the standard output goes elsewhere",
        ),
        (
            r#"TERM=dumb "$unjinja" tui chat.jinja; echo "left with $?""#,
            "can't move its cursor",
        ),
    ] {
        let folder = folder();
        let mut session = Session::shell(folder.path(), script);
        session.wait_end();
        let screen = session.screen();
        assert!(screen.contains(why), "{screen}");
        assert!(screen.ends_with("left with 2"), "{screen}");
    }
}

#[test]
fn signals_end_it_with_the_terminal_given_back() {
    let folder = folder();
    for (signal, name) in [
        ("TERM", "Terminated"),
        ("HUP", "Hangup"),
        ("INT", "Interrupt"),
    ] {
        let mut session = with_text(&folder, "Hello<end>");
        session.signal(signal);
        let status = session.wait_exit();
        let died_of = status.signal().unwrap_or_default();
        assert!(died_of.starts_with(name), "{signal}: {status:?}");
        session.wait_until("given back", Session::is_given_back);
    }
}

/// The standard error goes to the terminal, too, so a panic would show in the exit code only.
#[test]
fn when_its_terminal_goes_away_it_ends_as_by_the_signal_of_that() {
    let folder = folder();
    fs::write(folder.path().join("output.txt"), "Hello<end>").unwrap();
    let arguments = ["-t", "template.json", "output.txt"];
    let status = Session::hung_up(folder.path(), &arguments, "Events");
    let died_of = status.signal().unwrap_or_default();
    assert!(died_of.starts_with("Hangup"), "{status:?}");
}

#[test]
fn ctrl_z_goes_to_the_shell_and_fg_comes_back() {
    let script = r#"set -m; stty -g; "$unjinja" tui chat.jinja; echo "stopped with $?"
        stty -g; echo "Come back?"; read answer; fg; echo "left with $?""#;
    let folder = folder();
    let mut session = Session::shell(folder.path(), script);
    session.wait_for("11 pass");
    session.press("w\x1a");
    session.wait_until("the shell", |screen| {
        Session::is_given_back(screen) && screen.contents().contains("Come back?")
    });
    let screen = session.screen();
    let lines: Vec<&str> = screen.lines().collect();
    let [before, .., after, "Come back?"] = lines.as_slice() else {
        panic!("{screen}");
    };
    assert_eq!(before, after, "the mode of the terminal");
    session.press("yes\r");
    session.wait_for("11 pass");
    // What was asked is still there.
    session.wait_for(".response_template.json");
    session.press("\x03q");
    session.wait_for("left with 0");
    session.wait_end();
}

#[test]
fn without_a_shell_ctrl_z_does_nothing() {
    let folder = folder();
    let mut session = with_text(&folder, "Hello<end>");
    session.press("\x1a");
    session.press("?");
    session.wait_for("one chunk back");
    session.press("qq");
    session.wait_end();
}

#[test]
fn after_it_was_stopped_from_outside_the_screen_is_drawn_again() {
    let folder = folder();
    let mut session = with_text(&folder, "Hello<end>");
    session.signal("STOP");
    session.blank();
    session.signal("CONT");
    session.wait_for("5 Events");
    session.press("q");
    session.wait_end();
}

#[test]
fn nothing_in_a_text_reaches_the_terminal_as_a_command() {
    let text = "\x1b]0;evil\x07\x1b[2J\x1b]52;c;ZXZpbA==\x07\u{9b}31m\u{85}\u{202e}drow\u{202c}\u{7}\r\ttab \
                日本 e\u{301} שלום\u{200b}\u{feff}<end>";
    let folder = folder();
    let mut session = with_text(&folder, text);
    for shown in ["]0;evil", "[2J", "31m", "drow", "tab", "日本", "e\u{301}"] {
        session.wait_for(shown);
    }
    let screen = session.screen();
    let is_command =
        |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{202c}\u{200b}\u{feff}".contains(c);
    assert!(!screen.contains(is_command), "{screen}");
    assert!(screen.starts_with("unjinja"), "{screen}");
    session.press("q");
    session.wait_end();
    assert_eq!(session.strange(), Vec::<String>::new());
}

#[test]
fn what_a_command_prints_is_shown_and_not_obeyed() {
    let folder = folder();
    let written = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    // What is obeyed clears the screen, and writes over its first line.
    let clears = "\u{1b}[2J\u{1b}[H\u{9b}2J";
    let turn = "{{- '<' + m.role + '>' + m.content + '<end>' }}";
    let asked = "{% if add_generation_prompt %}<assistant>{% endif %}";
    written(
        "prints.jinja",
        &format!("{clears}{{% for m in messages %}}{turn}{{% endfor %}}{asked}"),
    );
    written(
        "raises.jinja",
        &format!("{{{{ raise_exception('{clears}') }}}}"),
    );
    written(
        "messages.json",
        &format!(r#"[{{"role": "user", "content": "{clears}Hi"}}, {{"role": "assistant", "content": "Ho"}}]"#).replace('\u{1b}', "\\u001b"),
    );
    let escaped = clears.replace('\u{1b}', "\\u001b");
    written(
        "variants.json",
        &format!(
            r#"{{"chat_template": [{{"name": "a{escaped}", "template": "{{{{ 1 }}}}"}}, {{"name": "b", "template": "{{{{ 2 }}}}"}}]}}"#
        ),
    );
    written(
        "refused.json",
        &format!(
            r#"{{"start_anchor": "A:", "fields": {{"content": {{"open_pattern": "({escaped}"}}}}}}"#
        ),
    );
    written(
        "tools.json",
        &format!(
            r#"[{{"type": "function", "function": {{"name": "f{escaped}", "parameters": {{"type": "object", "properties": {{"k{escaped}": {{"type": "string", "pattern": "({escaped}"}}}}}}}}}}]"#
        ),
    );
    written(
        &format!("{clears}.fixture.json"),
        r#"{"response_template": {"start_anchor": "A:", "fields": {"content": {}}},
            "cases": [{"name": "one", "prefix": "A:", "output": "b", "message": {"content": "c"}}]}"#,
    );
    let calls = "<tool_call>{{ m.tool_calls[0].function | tojson }}</tool_call>";
    written(
        "calls.jinja",
        &format!(
            "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.tool_calls %}}{calls}{{% else %}}{{{{ m.content }}}}{{% endif %}}<end>{{% endfor %}}{asked}"
        ),
    );
    written(
        "output.txt",
        "<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call><end>",
    );
    for command in [
        "render variants.json --messages messages.json",
        "parse -t refused.json output.txt",
        "lint refused.json *.fixture.json",
        "check .",
        "check . --format github",
        "grammar calls.jinja --tools tools.json --tool-choice required",
        "grammar calls.jinja --tools tools.json --tool-choice nobody",
        "parse --strict -t calls.jinja --tools tools.json output.txt",
        "render prints.jinja --messages messages.json",
        "render prints.jinja --messages messages.json --show-whitespace",
        "mask prints.jinja --messages messages.json",
        "mask prints.jinja --tag",
        "derive raises.jinja",
        "report prints.jinja -o -",
    ] {
        let script = format!(r#"echo "it begins"; "$unjinja" {command}; echo "left""#);
        let mut session = Session::shell(folder.path(), &script);
        session.wait_end();
        let screen = session.screen();
        assert!(screen.contains("left"), "{command}: {screen}");
        let is_command = |c: char| c.is_control() && c != '\n';
        assert!(!screen.contains(is_command), "{command}: {screen}");
        assert_eq!(session.strange(), Vec::<String>::new(), "{command}");
        if screen.lines().count() < 24 {
            assert!(screen.starts_with("it begins"), "{command}: {screen}");
        }
    }
}

#[test]
fn the_screen_follows_the_size_of_the_terminal() {
    let folder = folder();
    let mut session = with_text(&folder, "Hello<end>");
    session.wait_for("nothing is expected of this text");
    let first = session.screen();
    for (columns, rows) in [(80, 24), (20, 5), (80, 24), (140, 45)] {
        session.blank();
        session.resize(columns, rows);
        session.wait_until("something", |screen| !screen.contents().trim().is_empty());
    }
    // There is no room for anything.
    session.resize(1, 1);
    session.resize(140, 45);
    session.wait_until("the first screen", |screen| screen.contents() == first);
    session.press("q");
    session.wait_end();
}

#[test]
fn no_key_waits_for_a_text_that_never_ends() {
    let folder = folder();
    let script = r#"yes '<call>the tide</call>' | "$unjinja" tui -t template.json -"#;
    let mut session = Session::shell(folder.path(), script);
    session.wait_for(", live");
    session.wait_for("the tide");
    session.press("?");
    session.wait_for("one chunk back");
    // The first closes the help, the second says that the text would be lost.
    session.press("qq");
    session.wait_for("in no fixture yet");
    session.press("q");
    session.wait_end();
}

#[test]
fn a_report_is_shown_and_written_only_when_the_answer_is_yes() {
    let folder = folder();
    let place = folder.path().join("unjinja-report.md");
    for (answer, ending, is_written) in [
        ("", "left with 1", false),
        ("no", "left with 1", false),
        ("y", "left with 0", true),
    ] {
        let script = r#""$unjinja" report chat.jinja; echo "left with $?""#;
        let mut session = Session::shell(folder.path(), script);
        session.wait_for("write this to unjinja-report.md? [y/N]");
        session.wait_for("add_generation_prompt");
        assert!(!place.exists());
        session.press(&format!("{answer}\r"));
        session.wait_for(ending);
        session.wait_end();
        assert_eq!(place.is_file(), is_written, "{answer}");
    }
}
