//! The samples: where they come from, and whether they pass.

use std::time::Duration;

use crossterm::event::KeyCode;
use unjinja::Tools;
use unjinja::check::{Case, Expected};
use unjinja_cli::tui::{Effect, Message, Origin, Sample, Target, Workbench};

use crate::support::root::root;
use crate::tui::desk::Desk;

const FIXTURE: &str = "tests/check/mixed.fixture.yaml";

#[test]
fn a_fixture_shows_its_cases() {
    let desk = Desk::open(FIXTURE);
    let samples = desk.pane("1 Samples").join("\n");
    insta::assert_snapshot!(samples);
}

#[test]
fn a_typed_text_is_replayed() {
    let mut desk = Desk::open("examples/template.json");
    desk.press("tHello<|end|>");
    desk.control('d');
    assert!(
        desk.pane("1 Samples").join("\n").contains("· typed 1"),
        "{}",
        desk.screen()
    );
    assert!(
        desk.pane("6 Message").join("\n").contains("content Hello"),
        "{}",
        desk.screen()
    );
    desk.press("a");
    assert!(
        desk.screen().contains("What comes out is a message:"),
        "{}",
        desk.screen()
    );
    desk.control('u');
    desk.press("a greeting⏎");
    assert!(
        desk.pane("1 Samples").join("\n").contains("✓ a greeting"),
        "{}",
        desk.screen()
    );
    desk.press("u");
    assert!(
        desk.pane("1 Samples").join("\n").contains("· typed 1"),
        "{}",
        desk.screen()
    );
}

#[test]
fn what_is_found_of_a_sample_as_it_was_does_not_count() {
    let loaded =
        Target::new(root().join("examples/template.json").display().to_string()).load(None);
    let case = Case::new("a", "", "Hi<|end|>", Tools::none(), Expected::default());
    let sample = Sample::new(Origin::Given, case);
    let mut workbench = Workbench::new(loaded.expect("it is there"), vec![sample], (140, 45));
    let mut tried_with = |message| {
        let effects = workbench.update(message);
        effects.into_iter().find_map(|effect| match effect {
            Effect::Judge { generation, .. } => Some(generation),
            _ => None,
        })
    };
    let first = tried_with(Message::Tick(Duration::ZERO));
    assert_eq!(tried_with(Message::Key(KeyCode::Char('a').into())), None);
    let accepted = tried_with(Message::Key(KeyCode::Enter.into()));
    assert!(first < accepted, "{first:?} {accepted:?}");
}

#[test]
fn a_pasted_text_is_shown_before_it_is_replayed() {
    let mut desk = Desk::open("examples/template.json");
    desk.send(Message::Paste("One\r\ntwo<|end|>".into()));
    assert!(desk.screen().contains("A text to replay"));
    desk.control('d');
    assert!(
        desk.pane("6 Message").join("\n").contains("content One⏎"),
        "{}",
        desk.screen()
    );
}

#[test]
fn a_live_text_is_shown_as_it_arrives() {
    let live = Sample::live(String::new(), Tools::none());
    let mut desk = Desk::with("examples/template.json", vec![live]);
    let at = Duration::from_millis;
    desk.send(Message::Live("<think>Let".into(), at(100)));
    assert!(
        desk.pane("6 Message").join("\n").contains("thinking Let"),
        "{}",
        desk.screen()
    );
    desk.send(Message::Live(" me see</th".into(), at(1500)));
    assert!(
        desk.screen().contains("4 held back from byte 17 on"),
        "{}",
        desk.screen()
    );
    assert!(
        desk.pane("5 Events")
            .join("\n")
            .contains("1.500   chunk thinking  me see"),
        "{}",
        desk.screen()
    );
    desk.press("c");
    assert!(
        desk.screen().contains("the text is still coming in"),
        "{}",
        desk.screen()
    );
    desk.send(Message::Live("ink>Hi".into(), at(1600)));
    desk.send(Message::LiveEnded(None));
    assert_eq!(desk.title(), "as it came, chunk 3 of 3, the end");
    let events = desk.pane("5 Events").join("\n");
    assert!(events.contains("1.600 ◂ close content"), "{events}");
    desk.press("c");
    assert_eq!(desk.title(), "by token, chunk 11 of 11, the end");
    desk.press("C");
    assert_eq!(desk.title(), "as it came, chunk 3 of 3, the end");
    desk.press("q");
    assert!(
        desk.screen()
            .contains("a text or an expectation is in no fixture yet"),
        "{}",
        desk.screen()
    );
    assert!(!desk.has_quit);
}

#[test]
fn events_of_texts_that_did_not_come_in_live_have_the_numbers_of_their_chunks() {
    let mut desk = Desk::open(FIXTURE);
    desk.select("an answer");
    let events = desk.pane("5 Events");
    let numbers = events
        .iter()
        .filter_map(|line| line.split_whitespace().next());
    let numbers = numbers.filter(|number| *number != "end");
    let numbers: Vec<usize> = numbers
        .map(|number| number.parse().expect("a number"))
        .collect();
    assert!(numbers.len() > 1 && numbers.is_sorted(), "{events:?}");
}

#[test]
fn what_fails_is_shown_first_and_can_be_gone_through() {
    let mut desk = Desk::open(FIXTURE);
    let shown = |desk: &Desk| {
        let screen = desk.screen();
        let title = screen.lines().next().unwrap_or_default().to_owned();
        title.split("  ").nth(1).unwrap_or_default().to_owned()
    };
    assert_eq!(shown(&desk), "a thought ✗");
    for (key, sample) in [
        ("x", "a broken call ✗"),
        ("x", "two calls, with events ✗"),
        ("x", "a thought ✗"),
        ("X", "two calls, with events ✗"),
    ] {
        desk.press(key);
        assert_eq!(shown(&desk), sample);
    }
    desk.press("1g");
    assert_eq!(shown(&desk), "an answer");
    desk.press("G");
    assert_eq!(shown(&desk), "only just begun");
    desk.control('u');
    assert_eq!(shown(&desk), "an answer");
}

#[test]
fn tools_of_the_prober_are_not_those_of_a_text_that_is_typed() {
    let mut desk = Desk::open("chat_templates/xml-calls.jinja");
    let folder = tempfile::tempdir().expect("a folder");
    let fixture = folder.path().join("new.fixture.yaml");
    desk.press("tHello");
    desk.control('d');
    desk.press("s⏎").write_to(&fixture);
    let text = std::fs::read_to_string(&fixture).expect("it is saved");
    assert!(!text.contains("tools"), "{text}");
}

#[test]
fn a_copy_of_a_text_can_be_changed_in_place() {
    let mut desk = Desk::open("chat_templates/xml-calls.jinja");
    desk.select("an answer");
    desk.press("E").press("And so on.");
    desk.control('d');
    let samples = desk.pane("1 Samples").join("\n");
    assert!(samples.contains("· typed 1"), "{samples}");
    let text = desk.pane("2 Text").join("\n");
    assert!(
        text.contains("High water is at noon.") && text.contains("And so on."),
        "{text}"
    );
}

#[test]
fn a_text_out_of_line_is_opened_as_a_sample() {
    let mut desk = Desk::open("chat_templates/xml-calls.jinja");
    desk.press("f");
    for _ in 0..40 {
        if desk.screen().contains("does not write") {
            break;
        }
        desk.press("↓");
    }
    let screen = desk.screen();
    assert!(
        screen.contains("the chat template does not write"),
        "{screen}"
    );
    desk.press("⏎");
    let screen = desk.screen();
    assert!(
        screen.contains("left out: the chat template does not write"),
        "{screen}"
    );
    assert!(screen.contains("2 Text"), "{screen}");
    // What it is about is said of the sample as long as it is there, with what was said in vain.
    desk.press("→");
    let message = desk.pane("6 Message").join(" ");
    let words: Vec<&str> = message.split_whitespace().collect();
    let message = words.join(" ");
    assert!(message.contains("left out in `"), "{message}");
    assert!(
        message.contains("the chat template does not write reasoning"),
        "{message}"
    );
    assert!(
        message.contains("thinking") || message.contains("reasoning_content"),
        "{message}"
    );
}

#[test]
fn a_damaged_text_fails_by_what_was_said() {
    let mut desk = Desk::open("chat_templates/python-dict-calls.jinja");
    desk.press("fG");
    // Behind the texts stands what is wrong with the chat template.
    for _ in 0..20 {
        if desk
            .screen()
            .contains("what was said, and is expected of it")
        {
            break;
        }
        desk.press("↑");
    }
    let screen = desk.screen();
    assert!(
        screen.contains("what was said, and is expected of it"),
        "{screen}"
    );
    desk.press("⏎");
    let screen = desk.screen();
    let title = screen.lines().next().unwrap_or_default();
    assert!(title.contains(" ✗ "), "{screen}");
    assert!(screen.contains("damaged: not all that is left of what was said comes back"));
    let message = desk.pane("6 Message").join("\n");
    assert!(message.contains("- tool_calls"), "{message}");
    desk.press("d");
    assert!(
        desk.screen()
            .contains("the first difference from what was expected")
    );
}

#[test]
fn an_empty_pipe_gives_way_to_what_else_there_is() {
    let said = "nothing came in by the standard input";
    let live = Sample::live(String::new(), Tools::none());
    let mut desk = Desk::with("examples/template.json", vec![live.clone()]);
    desk.send(Message::LiveEnded(None));
    let screen = desk.screen();
    assert!(screen.contains(said), "{screen}");
    assert!(!screen.contains("standard input\n"), "{screen}");
    assert!(screen.contains("4 fail"), "{screen}");
    assert!(
        screen.lines().next().unwrap_or_default().contains('✗'),
        "{screen}"
    );
    // With nothing else, there is still a place for a text.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("template.json");
    let template = r#"{"start_anchor": "A:", "fields": {"content": {}}}"#;
    std::fs::write(&path, template).expect("is written");
    let mut desk = Desk::with(&path.display().to_string(), vec![live]);
    desk.send(Message::LiveEnded(None));
    assert!(desk.screen().contains(said), "{}", desk.screen());
    desk.press("tHi");
    desk.control('d');
    assert!(
        desk.pane("6 Message").join("\n").contains("content Hi"),
        "{}",
        desk.screen()
    );
}

#[test]
fn what_comes_in_beside_a_named_text_is_a_sample_of_its_own() {
    let case = Case::new("named", "", "Hi<|end|>", Tools::none(), Expected::default());
    let live = Sample::live(String::new(), Tools::none());
    let samples = vec![Sample::new(Origin::Given, case), live];
    let mut desk = Desk::with("examples/template.json", samples);
    assert!(
        desk.screen()
            .contains("what comes in by the standard input is a sample of its own"),
        "{}",
        desk.screen()
    );
    desk.send(Message::Live("Hello".into(), Duration::ZERO));
    assert!(
        desk.pane("6 Message").join("\n").contains("content Hi"),
        "{}",
        desk.screen()
    );
    desk.press("}");
    assert!(
        desk.pane("6 Message").join("\n").contains("content Hello"),
        "{}",
        desk.screen()
    );
}

#[test]
fn where_there_is_no_text_it_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("template.json");
    let template = r#"{"start_anchor": "A:", "fields": {"content": {}}}"#;
    std::fs::write(&path, template).expect("is written");
    let desk = Desk::open(&path.display().to_string());
    assert!(
        desk.screen()
            .contains("there is no text yet: `t` takes one"),
        "{}",
        desk.screen()
    );
}

#[test]
fn names_that_differ_at_their_ends_look_different() {
    let name = |end: &str| format!("a long conversation about tides and harbours {end}");
    let samples = ["at noon", "at night", "at night (2)"].map(|end| {
        let case = Case::new(
            name(end),
            "",
            "Hi<|end|>",
            Tools::none(),
            Expected::default(),
        );
        Sample::new(Origin::Given, case)
    });
    let desk = Desk::with("examples/template.json", samples.to_vec());
    let list = desk.pane("1 Samples");
    for (line, end) in list.iter().zip(["at noon", "at night", "at night (2)"]) {
        assert!(
            line.contains("a long") && line.contains('…') && line.ends_with(end),
            "{list:?}"
        );
    }
    let screen = desk.sized(60, 24).screen();
    let title = screen.lines().next().unwrap_or_default();
    assert!(title.contains("at noon"), "{title}");
}

#[test]
fn a_message_that_is_cut_says_where_all_of_it_stands() {
    let mut desk = Desk::open(FIXTURE).sized(60, 24);
    desk.press("f");
    let news = |desk: &Desk| {
        let screen = desk.screen();
        let lines: Vec<&str> = screen.lines().collect();
        lines[lines.len() - 2].to_owned()
    };
    assert_eq!(
        news(&desk),
        "there is no chat template: its findings would stand here"
    );
    let mut desk = desk.sized(40, 24);
    assert_eq!(news(&desk), "there is no chat template: … L all of it");
    desk.press("L");
    assert!(
        desk.screen().contains("! there is no chat template"),
        "{}",
        desk.screen()
    );
    assert!(
        desk.screen().contains("would stand here"),
        "{}",
        desk.screen()
    );
}

#[test]
fn an_event_that_was_expected_stands_below_what_came_in_its_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("events.fixture.yaml");
    let open = "{type: region_open, field: content}";
    let chunk = "{type: region_chunk, field: content, text: Hi, dirty: false}";
    let close = "{type: region_close, field: content, value: Hi}";
    for (expected, rows) in [
        (
            vec![open, chunk, close],
            vec!["open content", "chunk content Hi", "close content = \"Hi\""],
        ),
        (
            vec![
                open,
                "{type: region_chunk, field: content, text: Ho, dirty: false}",
                close,
            ],
            vec![
                "open content",
                "chunk content Hi",
                "≠ expected chunk content Ho",
                "close content = \"Hi\"",
            ],
        ),
        (
            vec![open, chunk],
            vec![
                "open content",
                "chunk content Hi",
                "close content = \"Hi\"",
                "≠ expected nothing more",
            ],
        ),
        (
            vec![open, chunk, close, open],
            vec![
                "open content",
                "chunk content Hi",
                "close content = \"Hi\"",
                "≠ expected open content",
            ],
        ),
    ] {
        let events = expected.join("\n      - ");
        let fixture = format!(
            "response_template: {{start_anchor: <bot>, fields: {{content: {{close: <end>}}}}}}\n\
             cases:\n  - name: a greeting\n    output: Hi<end>\n    events:\n      - {events}\n"
        );
        std::fs::write(&path, fixture).expect("is written");
        let mut desk = Desk::open(&path.display().to_string());
        let seen = |desk: &Desk| {
            let lines = desk.pane("5 Events");
            let lines = lines
                .iter()
                .map(|line| line.split_whitespace().collect::<Vec<&str>>().join(" "));
            let lines = lines.filter(|line| !line.is_empty());
            lines.collect::<Vec<String>>()
        };
        let all = seen(&desk);
        assert_eq!(all.len(), rows.len(), "{all:?}");
        for (line, row) in all.iter().zip(&rows) {
            assert!(line.ends_with(row), "{line:?} {row:?}");
        }
        // What has not come yet is not missed yet.
        desk.press("⇤.");
        assert!(
            seen(&desk).iter().all(|line| !line.contains('≠')),
            "{:?}",
            seen(&desk)
        );
    }
}

#[test]
fn what_the_chat_template_has_left_out_has_a_sign() {
    let desk = Desk::open("chat_templates/plain-turns.jinja");
    let samples = desk.pane("1 Samples").join("\n");
    assert!(
        samples.contains("~ a call") && samples.contains("✓ an answer"),
        "{samples}"
    );
}

/// A fixture of conversations, in a folder with its chat template.
fn with_conversations(cases: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let chat = "{% for m in messages %}{{ '<' + m.role + '>' + m.content + '<end>' }}{% endfor %}\
                {% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}";
    std::fs::write(folder.path().join("chat.jinja"), chat).expect("is written");
    let path = folder.path().join("chat.fixture.yaml");
    std::fs::write(&path, format!("derive: chat.jinja\ncases:\n{cases}")).expect("is written");
    (folder, path.display().to_string())
}

const GREETINGS: &str = "
  - name: a greeting
    conversation: <user>Hi<end><assistant>Ho!<end>
    written: [Ho!<end>]
  - name: another greeting
    conversation: <user>Hello<end><assistant>Good day!<end>
    written: [Good night!<end>]
";

#[test]
fn the_conversations_of_a_fixture_show_who_says_what() {
    let (_folder, path) = with_conversations(GREETINGS);
    let mut desk = Desk::open(&path);
    // Nothing else is there, and the one that fails comes first.
    let screen = desk.screen();
    for seen in [
        "Conversation 2 of 2: another greeting ✗",
        "the model writes another part of the conversation than expected",
        "expected: \"Good night!<end>\", number 1",
        "came:     \"Good day!<end>\", number 1",
        "0 user",
        "1 assistant",
        "┃ Good day!",
    ] {
        assert!(screen.contains(seen), "no {seen} in\n{screen}");
    }
    desk.press("{");
    let screen = desk.screen();
    for seen in ["Conversation 1 of 2: a greeting ✓", "┃ Ho!"] {
        assert!(screen.contains(seen), "no {seen} in\n{screen}");
    }
    // Beyond the ends there is nothing.
    desk.press("{");
    assert_eq!(desk.screen(), screen);
    // When the fixture changes, the same one is shown.
    let mended = std::fs::read_to_string(&path).expect("it is there");
    std::fs::write(&path, mended.replace("Ho!", "Hu!")).expect("is written");
    desk.perform(vec![Effect::Load { template: None }]);
    desk.settle();
    assert!(desk.screen().contains("┃ Hu!"), "{}", desk.screen());
}

#[test]
fn beside_outputs_conversations_are_pointed_to() {
    let output =
        "  - {name: an answer, output: Ho!<end>, message: {role: assistant, content: Ho!}}";
    let (_folder, path) = with_conversations(&format!("{GREETINGS}{output}\n"));
    let mut desk = Desk::open(&path);
    let screen = desk.screen();
    assert!(screen.contains("✓ an answer"), "{screen}");
    assert!(
        screen.contains("1 of 2 conversations of the fixture: not as expected, `v` shows them"),
        "{screen}"
    );
    desk.press("v");
    assert!(
        desk.screen().contains("another greeting ✗"),
        "{}",
        desk.screen()
    );
}

#[test]
fn a_text_that_is_always_the_same_is_no_template() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("output.txt");
    let text = "Two days.\n</think>\n<call name=\"forecast\">\ncity: Oslo\n</call><|end|>";
    std::fs::write(&path, text).expect("is written");
    let error = Target::new(path.display().to_string()).load(None);
    let error = error.expect_err("nothing can be derived").to_string();
    assert!(
        error.contains("never rendered, not even its text"),
        "{error}"
    );
}

#[test]
fn a_fixture_that_is_not_there_is_no_model() {
    for name in [
        "nowhere/bot.fixture.yaml",
        "nowhere/bot.yml",
        "bot.fixture.json",
    ] {
        let error = Target::new(name).load(None).expect_err("it is not there");
        let error = error.to_string();
        assert!(
            error.contains(name) && error.contains("there is no such file"),
            "{error}"
        );
        assert!(!error.contains("hub"), "{error}");
    }
}
