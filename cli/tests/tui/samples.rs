//! The samples: where they come from, and whether they pass.

use std::time::Duration;

use crossterm::event::KeyCode;
use unjinja::Tools;
use unjinja::check::{Case, Expected};
use unjinja_cli::tui::{Effect, Message, Origin, Sample, Target, Workbench};

use crate::desk::Desk;
use crate::root::root;

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
        desk.pane("1 Samples").join("\n").contains("✓ typed 1"),
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
    let accepted = tried_with(Message::Key(KeyCode::Char('a').into()));
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
}
