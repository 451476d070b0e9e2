//! What is seen, at the smallest size and at one with room for all panes.

use ratatui::style::{Color, Modifier};
use unjinja::Tools;
use unjinja::check::{Case, Expected};
use unjinja_cli::tui::{Effect, Message, Origin, Sample};

use crate::tui::desk::Desk;

const CHAT_TEMPLATE: &str = "chat_templates/xml-calls.jinja";
const FIXTURE: &str = "tests/check/mixed.fixture.yaml";

/// Each view: its name, what is opened, and the keys that lead to it. `wait` and the like are the
/// names of samples to go to first.
const VIEWS: &[(&str, &str, Option<&str>, &str)] = &[
    ("samples", FIXTURE, None, "1"),
    ("text", CHAT_TEMPLATE, Some("a text and a call"), "2⇤]]→→"),
    ("template", CHAT_TEMPLATE, Some("two calls"), "3[[."),
    (
        "why",
        CHAT_TEMPLATE,
        Some("a text and a call"),
        "c4⇤]][→→→→→→→",
    ),
    ("events", CHAT_TEMPLATE, Some("two calls"), "5[["),
    ("message", CHAT_TEMPLATE, Some("two calls"), "6[→→→→→→→→→"),
    ("difference", FIXTURE, Some("a thought"), "6d"),
    ("zoomed", FIXTURE, Some("a thought"), "6z"),
    ("findings", CHAT_TEMPLATE, None, "f↓↓↓↓"),
    ("candidate", CHAT_TEMPLATE, None, "f↓↓↓↓↓↓↓"),
    ("help", CHAT_TEMPLATE, None, "?"),
    ("search", CHAT_TEMPLATE, None, "/call"),
    ("typing", CHAT_TEMPLATE, None, "tOne line,\nand another"),
    ("confirm", FIXTURE, Some("a thought"), "a"),
];

#[test]
fn every_view_at_both_sizes() {
    for &(name, source, sample, keys) in VIEWS {
        for (width, height) in [(80, 24), (140, 45)] {
            let mut desk = Desk::open(source).sized(width, height);
            if let Some(sample) = sample {
                desk.select(sample);
            }
            desk.press(keys);
            insta::assert_snapshot!(format!("{name}_{width}x{height}"), desk.screen());
        }
    }
}

#[test]
fn a_conversation_shows_who_says_what_and_what_the_model_writes() {
    for (width, height) in [(80, 24), (140, 45), (34, 12)] {
        let desk = Desk::conversation("examples/chat_template.jinja", "examples/conversation.txt")
            .sized(width, height);
        insta::assert_snapshot!(format!("conversation_{width}x{height}"), desk.screen());
    }
}

#[test]
fn a_conversation_scrolls_by_rows_and_gives_way_to_the_rest() {
    let mut desk = Desk::conversation("examples/chat_template.jinja", "examples/conversation.txt")
        .sized(80, 12);
    let top = desk.screen();
    desk.press("↓↓");
    assert_ne!(desk.screen(), top);
    desk.press("↑↑↑");
    assert_eq!(desk.screen(), top);
    desk.press("G");
    let end = desk.screen();
    assert!(end.contains("<think>") && end != top, "{end}");
    desk.press("g");
    assert_eq!(desk.screen(), top);
    desk.press("v");
    assert!(desk.screen().contains("2 Text"), "{}", desk.screen());
    desk.press("v");
    assert_eq!(desk.screen(), top);
}

#[test]
fn what_a_conversation_lacks_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prompt.txt");
    std::fs::write(
        &path,
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    )
    .unwrap();
    let mut desk = Desk::conversation("chat_templates/chatml-json-calls.jinja", &path);
    let screen = desk.screen();
    assert!(
        screen.contains("nothing of the conversation is the model's"),
        "{screen}"
    );
    assert!(screen.contains("open at the end: prompt"), "{screen}");
    // When the file changes to what the template does not write, the last good one stays.
    std::fs::write(&path, "[INST] Hi [/INST]").unwrap();
    desk.perform(vec![Effect::Load { template: None }]);
    desk.settle();
    let screen = desk.screen();
    assert!(
        screen.contains("the last good one stays in use"),
        "{screen}"
    );
    assert!(screen.contains("character 0"), "{screen}");
}

/// A desk with one text, read with the template of the examples.
fn desk(output: &str) -> Desk {
    let case = Case::new("a text", "", output, Tools::none(), Expected::default());
    Desk::with(
        "examples/template.json",
        vec![Sample::new(Origin::Given, case)],
    )
}

#[test]
fn nothing_of_a_text_reaches_the_terminal_that_it_would_obey() {
    let output = "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\r\u{8}\u{202e}abc\u{200b}\u{feff}\tx\u{7f}\
                  日本語 e\u{301} שלום\u{2066}<|end|>";
    for size in [(80, 24), (140, 45)] {
        let mut desk = desk(output).sized(size.0, size.1);
        for keys in ["", "⇤→→→", "z", "z5z", "z6z", "z4z", "z1z", "z"] {
            desk.press(keys);
            let buffer = desk.buffer();
            let dangerous = |c: char| {
                c.is_control()
                    || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
            };
            let cells = buffer.content().iter();
            let wrong: Vec<&str> = cells
                .map(|cell| cell.symbol())
                .filter(|symbol| symbol.contains(dangerous))
                .collect();
            assert!(wrong.is_empty(), "{wrong:?}");
        }
    }
    let screen = desk(output).press("z").screen();
    assert!(
        screen.contains("␛]0;title␇␛[2J\\u{9b}31m␍␈\\u{202e}abc\\u{200b}"),
        "{screen}"
    );
    assert!(screen.contains("日本語 e\u{301} שלום"), "{screen}");
}

/// How the glyphs of a word in the text look.
fn look(desk: &Desk, word: &str) -> (Color, Color, Modifier) {
    let buffer = desk.buffer();
    let width = buffer.area.width;
    for y in 2..buffer.area.height {
        for x in 0..width {
            let is_there = word
                .chars()
                .zip(x..width)
                .all(|(c, x)| buffer[(x, y)].symbol() == c.to_string());
            if is_there {
                let cell = &buffer[(x, y)];
                return (cell.fg, cell.bg, cell.modifier);
            }
        }
    }
    panic!("it is not seen: {word}\n{}", desk.screen());
}

#[test]
fn parts_of_a_text_can_be_reported_apart_with_colours_and_without() {
    for colours in [true, false] {
        let mut desk = desk("<think>Hmm</think>said<|end|>gone");
        if !colours {
            desk.workbench = desk.workbench.without_colours();
        }
        desk.press("2z⇤cb3⏎⇤→→→→→");
        // Of what closes, a part has come in and is held back.
        let parts = ["<think>", "Hmm", "</th", "said"];
        let looks = parts.map(|part| look(&desk, part));
        for (index, one) in looks.iter().enumerate() {
            for other in &looks[index + 1..] {
                assert_ne!(one, other, "{colours} {looks:?}");
            }
            let has_colour = one.0 != Color::Reset || one.1 != Color::Reset;
            assert!(colours || !has_colour);
        }
        let screen = desk.screen();
        for sign in [
            "thinking   ▸ <think>",
            "thinking   : Hmm",
            "5 held back from byte 10",
        ] {
            assert!(screen.contains(sign), "{screen}");
        }
    }
}

#[test]
fn no_size_is_too_small() {
    let mut desk = Desk::open(FIXTURE);
    for (width, height) in [
        (0, 0),
        (1, 1),
        (3, 2),
        (20, 5),
        (79, 7),
        (200, 60),
        (33, 40),
    ] {
        desk = desk.sized(width, height);
        for keys in [
            "1", "↓⇟", "2", "⇞↓", "3⇟", "4⇟", "5⇟", "6⇟", "z", "z?⇟", "⎋/x⏎", "tx\n", "⎋w", "⎋a",
            "n⎋",
        ] {
            desk.press(keys);
            desk.buffer();
        }
    }
    let mut desk = Desk::open(CHAT_TEMPLATE);
    for (width, height) in [(0, 0), (1, 1), (3, 2), (20, 5), (200, 60)] {
        desk = desk.sized(width, height);
        for keys in ["f", "↓↓⇟", "↓↓↓↓⇟⏎", "f"] {
            desk.press(keys);
            desk.buffer();
        }
    }
}

#[test]
fn the_screen_follows_the_size_of_the_terminal() {
    let mut desk = Desk::open(FIXTURE).sized(80, 24);
    assert!(!desk.screen().contains("┌ 1 Samples"));
    desk.send(Message::Resize(140, 45));
    let desk = desk.sized(140, 45);
    assert!(desk.screen().contains("┌ 1 Samples"));
}

#[test]
fn the_keys_at_the_bottom_are_those_of_the_pane_that_has_the_focus() {
    let mut desk = Desk::open(CHAT_TEMPLATE);
    for (pane, keys) in [
        ("1", "x failing"),
        ("2", ". event  ] region"),
        ("3", "e edit  w write to a file"),
        ("5", "o unfold"),
        ("6", "a expect  y copy"),
    ] {
        let screen = desk.press(pane).screen();
        let bottom = screen.lines().last().unwrap_or_default();
        assert!(bottom.starts_with("? help  q quit"), "{bottom}");
        assert!(bottom.contains(keys), "{pane}: {bottom}");
    }
}

#[test]
fn frames_go_before_content_does() {
    let mut desk = Desk::open(CHAT_TEMPLATE).sized(40, 10);
    desk.select("a call");
    let mut screens = Vec::new();
    for pane in ["1", "2", "3", "4", "5", "6"] {
        screens.push(desk.press(pane).screen());
    }
    let title = "xml-calls.jinja  a call  57/57 end";
    assert!(
        screens.iter().all(|screen| screen.starts_with(title)),
        "{}",
        screens[0]
    );
    insta::assert_snapshot!(screens.join("\n"));
}

#[test]
fn how_samples_fare_is_seen_where_their_list_is_not() {
    for size in [(80, 24), (40, 10)] {
        let desk = Desk::open(FIXTURE).sized(size.0, size.1);
        assert!(!desk.screen().contains("✗ a thought"), "{}", desk.screen());
        assert!(
            desk.screen().contains("3 fail, 1 pass"),
            "{}",
            desk.screen()
        );
    }
}

#[test]
fn the_title_tells_where_it_is_cut() {
    for width in 20..140 {
        let mut desk = Desk::open(FIXTURE).sized(width, 24);
        desk.press("⇥");
        assert!(
            desk.screen()
                .lines()
                .next()
                .is_some_and(|title| title.contains(" ✗ "))
        );
        let screen = desk.screen();
        let title = screen.lines().next().unwrap_or_default();
        let is_told = title.ends_with(", the end") || title.ends_with(" end");
        let is_whole = is_told && title.contains("  a thought ✗  ");
        assert!(is_whole || title.contains('…'), "{width}: {title}");
    }
}

#[test]
fn words_stay_together_in_narrow_panes() {
    let output = "<think>considerations of navigational importance</think>\
                  Unfortunately extraordinary circumstances prevented departure yesterday morning<|end|>";
    let words = output
        .split(['<', '>', ' ', '/', '|'])
        .filter(|word| word.len() > 3);
    let words: Vec<&str> = words.collect();
    let mut desk = desk(output);
    for width in 36..80 {
        desk = desk.sized(width, 24);
        for pane in ["2", "6"] {
            let screen = desk.press(pane).screen();
            for word in words.iter().filter(|word| **word != "think") {
                assert!(screen.contains(word), "{width} {pane} {word}\n{screen}");
            }
        }
    }
}

#[test]
fn red_is_for_what_is_wrong_alone() {
    for (source, sample) in [(CHAT_TEMPLATE, "two calls"), (FIXTURE, "an answer")] {
        let mut desk = Desk::open(source);
        desk.select(sample);
        for keys in ["⇤", "]→→→→", "c→→→→→→", "/e⏎", "f", "f?"] {
            desk.press(keys);
            let buffer = desk.buffer();
            let is_red = |colour| matches!(colour, Color::Red | Color::LightRed);
            let area = buffer.area;
            // The list of samples shows which of them are wrong.
            let cells = (0..area.height).flat_map(|y| (0..area.width).map(move |x| (x, y)));
            let red = cells.filter(|&place| is_red(buffer[place].fg) || is_red(buffer[place].bg));
            let red: Vec<&str> = red.map(|place| buffer[place].symbol()).collect();
            let wrong: Vec<&str> = red
                .into_iter()
                .filter(|symbol| !["✗", " "].contains(symbol))
                .collect();
            assert!(wrong.is_empty(), "{keys}: {wrong:?}\n{}", desk.screen());
        }
    }
}

#[test]
fn a_key_that_the_screen_at_the_front_does_not_know_does_nothing() {
    let conversation =
        || Desk::conversation("examples/chat_template.jinja", "examples/conversation.txt");
    let findings = || {
        let mut desk = Desk::open(CHAT_TEMPLATE);
        desk.press("f");
        desk
    };
    for (name, mut desk, keys) in [
        ("findings", findings(), "}{xX→←.,[] +-dcCb)(r:/notsaeEuz↹"),
        (
            "a conversation",
            conversation(),
            "xX→←.,[] +-dcCb)(r:/notsaeEuwz⏎↹",
        ),
    ] {
        let before = desk.screen();
        for key in keys.chars() {
            desk.press(&key.to_string());
            assert_eq!(desk.screen(), before, "{name}: {key}");
        }
        // Behind it, everything is as it was.
        desk.press("⎋");
        let behind = desk.screen();
        let mut fresh = Desk::open(match name {
            "findings" => CHAT_TEMPLATE,
            _ => "examples/chat_template.jinja",
        });
        assert_eq!(
            behind.lines().next(),
            fresh.press("⎋").screen().lines().next(),
            "{name}"
        );
        // The number of a pane leads there.
        desk.press("f1");
        assert!(desk.screen().contains("1 Samples"), "{}", desk.screen());
    }
}

#[test]
fn what_shows_a_finding_says_how_much_of_it_is_below() {
    let mut desk = Desk::open(CHAT_TEMPLATE).sized(80, 24);
    desk.press("f↓↓↓↓");
    let below = |desk: &Desk| {
        let screen = desk.screen();
        let line = screen
            .lines()
            .find(|line| line.contains("rows more: PgDn"))?;
        let digits: String = line.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<usize>().ok()
    };
    let all = below(&desk).expect("there is more than fits");
    desk.press("⇟");
    let rest = below(&desk);
    assert!(rest.is_none_or(|rest| rest < all), "{}", desk.screen());
    for _ in 0..20 {
        desk.press("⇟");
    }
    assert_eq!(below(&desk), None, "{}", desk.screen());
}
