//! Steps in a text: what they show, and where they lead.

use unjinja::Tools;
use unjinja::check::{Case, Expected};
use unjinja_cli::tui::{Origin, Sample, Target, Workbench};

use crate::tui::desk::Desk;

/// Two regions, the first with a capture, and markers that belong to no field.
const TEMPLATE: &str = r#"{"start_anchor": "<bot>", "fields": {
    "tool_calls": {"open_pattern": "<call (?P<name>\\w+)>", "close": "</call>", "content": "json", "repeats": true,
        "transform": {"name": "{name}", "arguments": "{content}"}},
    "content": {"close": "<end>"}}}"#;

const OUTPUT: &str = "Hello there<call wait>{\"s\": 1}</call><call go>{}</call><end>";

/// A template that takes the end of each chunk for the end of the text.
const DEPENDS_ON_CHUNKS: &str = r#"{"start_anchor": "<bot>", "fields": {
    "content": {"close_pattern": "<end>|$"}}}"#;

/// A text without any expectation, read with the template.
fn desk(output: &str) -> Desk {
    expecting(output, None)
}

fn expecting(output: &str, message: Option<&str>) -> Desk {
    reading(TEMPLATE, output, message)
}

fn reading(template: &str, output: &str, message: Option<&str>) -> Desk {
    let mut expected = Expected::default();
    expected.message = message.map(|message| {
        let message = unjinja::json::read(message).expect("JSON");
        message.as_object().expect("an object").clone()
    });
    let case = Case::new("a text", "", output, Tools::none(), expected);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("template.json");
    std::fs::write(&path, template).expect("a file");
    let sample = Sample::new(Origin::Given, case);
    Desk::with(&path.display().to_string(), vec![sample])
}

/// What lines say, wherever they are broken.
fn words(lines: &[String]) -> String {
    let words: Vec<&str> = lines
        .iter()
        .flat_map(|line| line.split_whitespace())
        .collect();
    words.join(" ")
}

/// The events that are seen, the last of them first, without their times.
fn last_event(desk: &Desk) -> String {
    let events = desk.pane("5 Events");
    let last = events.iter().rfind(|line| !line.is_empty());
    let words = last.map(|line| line.split_whitespace().skip(1).collect::<Vec<&str>>());
    words.unwrap_or_default().join(" ")
}

#[test]
fn keys_step_by_chunk_by_event_and_by_region() {
    let mut desk = desk(OUTPUT);
    for (keys, event) in [
        ("", "◂ close tool_calls = {\"name\": …"),
        ("⇤", ""),
        ("→", "chunk content Hello"),
        ("→", "chunk content there"),
        ("←", "chunk content Hello"),
        (",", "▸ open content"),
        (",", ""),
        (".", "▸ open content"),
        ("..", "chunk content there"),
        ("]", "▸ open tool_calls <call wait>…"),
        (".", "chunk tool_calls {"),
        ("]", "▸ open tool_calls <call go> n…"),
        ("[", "▸ open tool_calls <call wait>…"),
        ("[", "▸ open content"),
        ("[", ""),
        ("]]]]]]", "◂ close tool_calls = {\"name\": …"),
        // Only text that belongs to nothing comes after it.
        (",", "◂ close tool_calls = {\"name\": …"),
        (",", "chunk tool_calls }"),
        ("⇥", "◂ close tool_calls = {\"name\": …"),
    ] {
        desk.press(keys);
        assert_eq!(last_event(&desk), event, "after {keys}\n{}", desk.screen());
    }
}

#[test]
fn a_step_back_undoes_a_step_forward() {
    let mut desk = desk(OUTPUT);
    for (forth, back) in [("→", "←"), (".", ",")] {
        desk.press("⇤");
        let mut screens = vec![desk.screen()];
        while screens.len() < 200 {
            desk.press(forth);
            let screen = desk.screen();
            if screens.last() == Some(&screen) {
                break;
            }
            screens.push(screen);
        }
        assert!(screens.len() > 10);
        while let Some(screen) = screens.pop() {
            assert_eq!(desk.screen(), screen);
            desk.press(back);
        }
    }
}

#[test]
fn the_text_can_be_cut_otherwise_and_the_place_stays() {
    let mut desk = desk(OUTPUT);
    desk.press("⇤→→");
    assert_eq!(desk.title(), "by token, chunk 2 of 30");
    for (keys, title) in [
        ("c", "by character, chunk 11 of 60"),
        ("c", "by 4 bytes, chunk 3 of 15"),
        (")", "by 8 bytes, chunk 2 of 8"),
        ("((", "by 2 bytes, chunk 6 of 30"),
        ("b3⏎", "by 3 bytes, chunk 4 of 20"),
        ("C", "by character, chunk 11 of 60"),
        ("r", "random, 3 bytes, seed 0, chunk 4 of 21"),
        ("r", "random, 3 bytes, seed 1, chunk 6 of 24"),
        ("c", "whole, within chunk 1 of 1"),
        ("c", "by token, chunk 2 of 30"),
    ] {
        desk.press(keys);
        assert_eq!(desk.title(), title, "after {keys}");
    }
}

#[test]
fn a_place_within_a_chunk_stays_when_the_text_is_cut_otherwise() {
    let mut desk = desk(OUTPUT);
    desk.press("⇤cccc..");
    assert_eq!(last_event(&desk), "chunk content Hello there");
    desk.press("c");
    assert_eq!(desk.title(), "by token, chunk 2 of 30");
    assert_eq!(last_event(&desk), "chunk content there");
}

#[test]
fn a_place_stays_at_its_byte_through_all_ways_of_cutting() {
    let ways = 5;
    for keys in ["⇤]", "⇤]]", "⇤]].", "⇤]]]"] {
        let mut desk = desk(OUTPUT);
        desk.press(keys);
        let before = (desk.title(), last_event(&desk));
        for _ in 0..ways {
            desk.press("c");
        }
        assert_eq!((desk.title(), last_event(&desk)), before, "{keys}");
    }
}

#[test]
fn events_of_one_chunk_can_be_gone_through() {
    let mut desk = desk(OUTPUT);
    desk.press("⇤cccc");
    assert_eq!(desk.title(), "whole, chunk 0 of 1");
    desk.press("..");
    assert_eq!(last_event(&desk), "chunk content Hello there");
    assert!(
        desk.screen().contains("7 more events of this chunk"),
        "{}",
        desk.screen()
    );
    desk.press("]");
    assert_eq!(last_event(&desk), "▸ open tool_calls <call wait>…");
    desk.press("→");
    assert!(!desk.screen().contains("more events of this chunk"));
}

#[test]
fn playing_goes_on_by_itself_until_the_end() {
    let mut desk = desk(OUTPUT);
    desk.press(" ");
    assert_eq!(desk.title(), "by token, chunk 0 of 30, playing 20 a second");
    desk.elapse(100);
    assert_eq!(desk.title(), "by token, chunk 2 of 30, playing 20 a second");
    desk.press("+").elapse(100);
    assert_eq!(desk.title(), "by token, chunk 7 of 30, playing 50 a second");
    desk.press(" ").elapse(1000);
    assert_eq!(desk.title(), "by token, chunk 7 of 30");
    desk.press(" ").elapse(1000);
    assert_eq!(desk.title(), "by token, chunk 30 of 30, the end");
}

#[test]
fn the_first_difference_is_where_the_message_begins_to_be_another() {
    let expected = r#"{"content": "Hello where", "tool_calls": [{"name": "wait", "arguments": {"s": 1}}, {"name": "go", "arguments": {}}]}"#;
    for (output, message, event) in [
        (OUTPUT, expected, "chunk content there"),
        (
            OUTPUT,
            r#"{"content": "Hello there", "tool_calls": [{"name": "wait", "arguments": {"s": 2}}]}"#,
            "◂ close tool_calls = {\"name\": …",
        ),
        (
            OUTPUT,
            r#"{"content": "Hello there", "tool_calls": [{"name": "wait", "arguments": {"s": 1}}]}"#,
            "◂ close tool_calls = {\"name\": …",
        ),
        // What is missing shows in the end.
        (
            "Hello<end>",
            r#"{"content": "Hello", "more": 1}"#,
            "◂ close content = \"Hello\"",
        ),
        (
            "Hello<end>",
            r#"{"content": "Hello you"}"#,
            "◂ close content = \"Hello\"",
        ),
    ] {
        let mut desk = expecting(output, Some(message));
        desk.press("⇤d");
        assert_eq!(last_event(&desk), event, "{message}");
        assert!(desk.screen().contains("the first difference"));
    }
    let mut desk = expecting("Hi<end>", Some(r#"{"content": "Hi"}"#));
    assert!(desk.press("d").screen().contains("all is as expected"));
}

#[test]
fn what_the_stream_has_made_stands_beside_what_the_whole_text_means() {
    let mut desk = reading(DEPENDS_ON_CHUNKS, "Hello there<end>", None);
    let message = desk.pane("6 Message").join("\n");
    assert!(
        message.contains("Read as a whole, the text means something else"),
        "{message}"
    );
    assert!(message.contains("≠ content Hello"), "{message}");
    assert!(message.contains("Hello there"), "{message}");
    desk.press("⇤d");
    assert!(
        desk.screen()
            .contains("from here on the stream means something else than the whole text"),
        "{}",
        desk.screen()
    );
}

#[test]
fn a_difference_that_shows_in_other_pieces_is_shown_in_those() {
    let expected = r#"{"content": "Hello there"}"#;
    let mut desk = reading(DEPENDS_ON_CHUNKS, "Hello there<end>", Some(expected));
    desk.press("cccc");
    assert!(desk.title().starts_with("whole"), "{}", desk.title());
    desk.press("d");
    assert!(desk.title().starts_with("as it fails"), "{}", desk.title());
    assert!(
        desk.screen()
            .contains("the first difference from what was expected"),
        "{}",
        desk.screen()
    );
}

#[test]
fn what_can_not_be_parsed_fails_without_any_expectation() {
    let mut desk = desk("Hello<call wait>{oops</call> and<end>");
    let screen = desk.screen();
    assert!(screen.contains("  a text ✗  "), "{screen}");
    assert!(screen.contains("1 fail"), "{screen}");
    let timeline = screen.lines().nth(1).unwrap_or_default().to_owned();
    assert!(timeline.contains('✗'), "{timeline}");
    desk.press("⇤d");
    assert!(
        last_event(&desk).starts_with("! malformed tool_calls"),
        "{}",
        desk.screen()
    );
    assert!(
        desk.screen().contains("here the text can't be parsed"),
        "{}",
        desk.screen()
    );
}

#[test]
fn values_of_other_types_show_these_and_nothing_that_is_there_is_blank() {
    let call = |arguments: &str| {
        format!(r#"{{"tool_calls": [{{"name": "wait", "arguments": {arguments}}}]}}"#)
    };
    for (written, expected, seen) in [
        (r#"{"a": 25}"#, r#"{"a": "25"}"#, "a 25 (number)"),
        (r#"{"a": "25"}"#, r#"{"a": 25}"#, "a \"25\" (string)"),
        (r#"{"a": null}"#, r#"{"a": ""}"#, "a null (null)"),
        (r#"{"a": ""}"#, r#"{"a": "x"}"#, "a \"\""),
        (r#"{"a": " "}"#, r#"{"a": " "}"#, "a \" \""),
        // Blanks at an end, of any kind, and quotes that are part of the text.
        (r#"{"a": "x "}"#, r#"{"a": "x"}"#, "a \"x \""),
        (r#"{"a": "x "}"#, r#"{"a": "x"}"#, "a \"x\""),
        (r#"{"a": " x"}"#, r#"{"a": " x"}"#, "a \" x\""),
        (r#"{"a": "\t"}"#, r#"{"a": ""}"#, "a \"\\t\""),
        (r#"{"a": "\n"}"#, r#"{"a": " "}"#, "a \"\\n\""),
        (r#"{"a": "x\n"}"#, r#"{"a": "x"}"#, "a x⏎"),
        (r#"{"a": "\u00a0x"}"#, r#"{"a": " x"}"#, "\\u{a0}x"),
        (r#"{"a": "\"\""}"#, r#"{"a": ""}"#, r#"a "\"\"""#),
        // A text that would look like another value, by itself, too.
        (r#"{"a": "25"}"#, r#"{"a": "25"}"#, "a \"25\""),
        (r#"{"a": "null"}"#, r#"{"a": "null"}"#, "a \"null\""),
        // What is empty, and keys of nothing.
        (r#"{"a": []}"#, r#"{"a": [1]}"#, "a []"),
        (r#"{"a": {}}"#, r#"{"a": {"b": 1}}"#, "a {}"),
        (r#"{"": 1}"#, r#"{"": 1}"#, "\"\" 1"),
        (r#"{"a": [1]}"#, r#"{"a": {"b": 1}}"#, "a [1] (array)"),
        (
            r#"{"a": {"b": 1}}"#,
            r#"{"a": [1]}"#,
            "a {\"b\": 1} (object)",
        ),
    ] {
        let output = format!("<call wait>{written}</call>");
        let mut desk = expecting(&output, Some(&call(expected)));
        let message = desk.press("6z").pane("6 Message").join("\n");
        assert!(message.contains(seen), "{seen}\n{message}");
    }
}

#[test]
fn of_an_object_with_many_members_those_around_the_difference_are_shown() {
    let object = |different: usize| {
        let members = (0..2000).map(|number| match number == different {
            true => format!("\"k{number}\": true"),
            false => format!("\"k{number}\": {number}"),
        });
        format!("{{{}}}", members.collect::<Vec<String>>().join(", "))
    };
    let expected = format!(
        r#"{{"tool_calls": [{{"name": "wait", "arguments": {}}}]}}"#,
        object(1500)
    );
    let desk = expecting(
        &format!("<call wait>{}</call>", object(2000)),
        Some(&expected),
    );
    let message = desk.pane("6 Message").join("\n");
    for seen in ["k1500 1500", "k1500 true", "k1499 1499"] {
        assert!(message.contains(seen), "{message}");
    }
    assert!(!message.contains("k100 "), "{message}");
}

#[test]
fn words_are_searched_in_the_text_and_in_the_events() {
    let mut desk = desk(OUTPUT);
    desk.press("/call⏎");
    assert!(desk.screen().contains("`call`: 1 of"), "{}", desk.screen());
    desk.press("/name=go⏎");
    assert_eq!(last_event(&desk), "▸ open tool_calls <call go> n…");
    desk.press("/open content⏎");
    assert_eq!(last_event(&desk), "▸ open content");
    desk.press("/nowhere⏎");
    assert!(desk.screen().contains(
        "`nowhere` is neither in the text, nor in its events, nor in the name of a sample"
    ));
}

#[test]
fn a_search_counts_what_it_finds_while_it_is_typed() {
    let mut desk = desk(OUTPUT);
    let counted = |desk: &Desk| {
        let screen = desk.screen();
        let asked = screen.lines().find(|line| line.contains("Esc leaves"));
        asked.map(|line| line.split(':').next().unwrap_or_default().to_owned())
    };
    let mut all = Vec::new();
    for keys in ["⇤/", "<call", " ", "go", "x"] {
        desk.press(keys);
        all.extend(counted(&desk));
    }
    let expected = [
        "┌ Search the text, its events and the names of samples",
        "┌ 1 of 2 places",
        "┌ 1 of 2 places",
        "┌ 1 place",
        "┌ nothing",
    ];
    assert_eq!(all, expected);
    desk.press("⎋/there⏎");
    assert!(
        desk.screen().contains("`there`: the only place"),
        "{}",
        desk.screen()
    );
}

#[test]
fn names_are_counted_where_they_are_gone_to() {
    let mut desk = Desk::open("tests/check/mixed.fixture.yaml");
    let title = |desk: &Desk| desk.screen().lines().next().unwrap_or_default().to_owned();
    desk.press("/ONLY JUST");
    assert!(
        desk.screen()
            .contains("no place, but the name of a sample: Enter goes there"),
        "{}",
        desk.screen()
    );
    desk.press("⏎");
    assert!(
        title(&desk).contains("only just begun"),
        "{}",
        desk.screen()
    );
    // Names of other samples have these words, too, but they stand in the text.
    desk.press("⎋/a");
    let asked = desk.screen();
    assert!(!asked.contains("name of"), "{asked}");
}

#[test]
fn what_was_found_is_marked_in_the_text_the_events_and_the_samples() {
    let mut desk = desk(OUTPUT);
    desk.press("⇤/OPEN CONTENT⏎");
    assert!(is_marked(&desk, "open  content"), "{}", desk.screen());
    desk.press("/hello⏎");
    assert!(is_marked(&desk, "Hello"), "{}", desk.screen());
    let mut desk = Desk::open("tests/check/mixed.fixture.yaml");
    desk.press("/only just");
    assert!(is_marked(&desk, "only just"), "{}", desk.screen());
}

/// Whether a word on the screen looks like what was searched for.
fn is_marked(desk: &Desk, word: &str) -> bool {
    let (screen, buffer) = (desk.screen(), desk.buffer());
    let mut lines = (0..).zip(screen.lines());
    lines.any(|(row, line)| {
        line.match_indices(word).any(|(at, _)| {
            let column = line[..at].chars().count() as u16;
            let cells = (column..).take(word.chars().count());
            cells
                .map(|column| buffer[(column, row)].bg)
                .all(|colour| colour == ratatui::style::Color::White)
        })
    })
}

#[test]
fn a_region_without_text_says_so() {
    let mut desk = desk("<call wait>{}</call>");
    desk.press("⇤]6");
    let message = desk.pane("6 Message").join("\n");
    assert!(message.contains("1 nothing yet"), "{message}");
}

#[test]
fn why_tells_what_is_waited_for_and_what_fired_last() {
    let mut desk = desk("Hi <call wait>{}</call>");
    desk.press("⇤cc(((→→→→→");
    let why = words(&desk.pane("4 Why"));
    assert!(why.contains("held <c 2 from byte 3 on"), "{why}");
    assert!(why.contains("has <c lacks the rest"), "{why}");
    assert!(why.contains("if it is no delimiter, it goes to"), "{why}");
    desk.press("]");
    let why = desk.pane("4 Why").join("\n");
    assert!(why.contains("tool_calls opened <call wait>"), "{why}");
    assert!(why.contains("name = wait"), "{why}");
}

#[test]
fn the_timeline_can_be_dragged() {
    use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
    use unjinja_cli::tui::Message;

    let mut desk = desk(OUTPUT);
    let mut to = |kind, column| {
        desk.send(Message::Mouse(MouseEvent {
            kind,
            column,
            row: 1,
            modifiers: KeyModifiers::NONE,
        }));
        desk.title()
    };
    let (down, drag) = (
        MouseEventKind::Down(MouseButton::Left),
        MouseEventKind::Drag(MouseButton::Left),
    );
    assert_eq!(to(down, 0), "by token, chunk 0 of 30");
    assert_eq!(to(drag, 70), "by token, chunk 13 of 30");
    assert_eq!(to(drag, 139), "by token, chunk 30 of 30, the end");
}

#[test]
fn what_can_not_be_parsed_is_reported_and_the_stream_goes_on() {
    let mut desk = desk("<call wait>{oops</call>Hello<end>");
    let events = desk.pane("5 Events").join("\n");
    assert!(events.contains("! malformed tool_calls"), "{events}");
    assert!(events.contains("◂ close content"), "{events}");
    let message = desk.pane("6 Message").join(" ");
    let error = "field `tool_calls`, bytes 11 to 16 of the text since the anchor";
    assert!(message.contains(error), "{message}");
    assert!(message.contains("content Hello"), "{message}");
    // It is said once, and the event says the rest of it on its row.
    let screen = desk.screen().replace('\n', " ");
    assert_eq!(
        screen.matches("bytes 11 to").count(),
        1,
        "{}",
        desk.screen()
    );
    desk.press("a");
    assert!(
        desk.screen().contains("What comes out is an error"),
        "{}",
        desk.screen()
    );
    desk.press("⏎");
    assert!(
        desk.screen().contains("this error is expected from now on"),
        "{}",
        desk.screen()
    );
    assert!(desk.screen().contains("1 pass"), "{}", desk.screen());
    desk.press("u");
    assert!(desk.screen().contains("1 fail"), "{}", desk.screen());
}

#[test]
fn keys_that_come_while_a_long_text_is_read_lead_where_they_would_later() {
    let output = format!("{}<end>", "word ".repeat(40_000));
    for keys in ["c", "c←", "c→←", "c←→c←→", "←c←C←", "cc←c"] {
        let [mut patient, mut hasty] = [desk(&output), desk(&output)];
        patient.press("←←←←←").press(keys);
        hasty.press("←←←←←");
        keys.chars().for_each(|key| hasty.press_only(key));
        hasty.settle();
        assert_eq!(hasty.title(), patient.title(), "{keys}");
    }
}

#[test]
fn a_very_long_text_is_shown_and_gone_through_before_it_has_been_read() {
    let mut desk = desk("Hi<end>");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("template.json");
    std::fs::write(&path, TEMPLATE).expect("a file");
    let loaded = Target::new(path.display().to_string()).load(None);
    let output = format!("{}<end>", "word ".repeat(4_000_000));
    let case = Case::new("long", "", output, Tools::none(), Expected::default());
    let samples = vec![Sample::new(Origin::Given, case)];
    desk.workbench = Workbench::new(loaded.expect("it is valid"), samples, (140, 45));
    // Nothing has been waited for.
    assert!(desk.title().contains(", read "), "{}", desk.title());
    assert!(desk.screen().contains("word word"), "{}", desk.screen());
    desk.press_only('?');
    assert!(
        desk.screen().contains("one chunk back"),
        "{}",
        desk.screen()
    );
    for key in "⎋:12⏎".chars() {
        desk.press_only(key);
    }
    assert!(
        desk.title().starts_with("by token, chunk 3 of "),
        "{}",
        desk.title()
    );
    desk.press_only('→');
    assert!(
        desk.title().starts_with("by token, chunk 4 of "),
        "{}",
        desk.title()
    );
    let message = desk.pane("6 Message").join("\n");
    assert!(message.contains("content word word word word"), "{message}");
}

#[test]
fn of_a_literal_it_is_said_what_lacks() {
    let mut desk = desk("Hi<en");
    desk.press("cc");
    let why = desk.pane("4 Why").join("\n");
    assert!(!why.contains("lacks"), "the text has ended\n{why}");
    desk.press("←");
    let why = words(&desk.pane("4 Why"));
    assert!(why.contains("◂ content <end> has <en lacks d>"), "{why}");
}

#[test]
fn of_a_pattern_it_is_said_whether_all_of_it_has_come() {
    let template = r#"{"start_anchor": "<bot>", "fields": {"content": {"close_pattern": "</t>\\s*"}, "rest": {"open": "["}}}"#;
    for (output, said) in [
        ("Hi</", "has </ lacks the rest"),
        (
            "Hi</t> ",
            "has \"</t> \", which is all of it or more to come",
        ),
    ] {
        let mut desk = reading(template, output, None);
        desk.press("c←");
        let why = words(&desk.pane("4 Why"));
        assert!(why.contains(said), "{why}");
    }
}

#[test]
fn at_the_start_it_is_not_said_that_all_has_come_as_expected() {
    let mut desk = expecting("Hi<end>", Some(r#"{"content": "Hi"}"#));
    let verdict = |desk: &Desk| words(&desk.pane("6 Message"));
    assert!(
        verdict(&desk).starts_with("as expected, however it is cut"),
        "{}",
        desk.screen()
    );
    desk.press("⇤");
    assert!(
        verdict(&desk).starts_with("at its end, all is as expected"),
        "{}",
        desk.screen()
    );
}

#[test]
fn what_held_back_texts_cost_stands_at_the_end() {
    let mut desk = desk("Hi <em> you<end>");
    desk.press("c");
    let why = words(&desk.pane("4 Why"));
    assert!(
        why.contains(
            "delay content was held back: 4 bytes at the most, for 4 chunks at the longest"
        ),
        "{why}"
    );
}

#[test]
fn of_several_spellings_the_one_that_was_found_is_marked() {
    let template = r#"{"start_anchor": "<bot>", "fields": {
        "thinking": {"open": ["<think>", "<thought>"], "close": "</t>"}, "content": {}}}"#;
    let mut desk = reading(template, "<thought>Hm</t>Hi", None);
    desk.press("⇤]3z");
    let buffer = desk.buffer();
    let marked = |word: &str| {
        let screen = desk.screen();
        let row = screen
            .lines()
            .position(|line| line.contains(word))
            .expect("it is there");
        let line = screen.lines().nth(row).expect("the row");
        let column = line[..line.find(word).expect("it is there")]
            .chars()
            .count();
        let modifier = buffer[(column as u16, row as u16)].modifier;
        modifier.contains(ratatui::style::Modifier::REVERSED)
    };
    assert!(marked("<thought>"));
    assert!(!marked("<think>"));
}

#[test]
fn chunks_of_regions_that_have_closed_share_a_row_that_opens() {
    let mut desk = desk(OUTPUT);
    desk.press("5z");
    let events = desk.pane("5 Events").join("\n");
    assert!(events.contains("chunk content ×2 Hello there"), "{events}");
    desk.press("o");
    let events = desk.pane("5 Events").join("\n");
    assert!(events.contains("chunk content Hello\n"), "{events}");
    assert!(events.contains("chunk content  there\n"), "{events}");
}

#[test]
fn a_byte_can_be_gone_to() {
    let mut desk = desk(OUTPUT);
    desk.press("c:11⏎");
    assert_eq!(desk.title(), "by character, chunk 12 of 60");
    let text = desk.pane("2 Text");
    assert!(
        text[1].ends_with(" 11"),
        "the ruler says where rows begin\n{text:?}"
    );
    desk.press(":1000⏎");
    assert!(
        desk.screen().contains("the text has 60 bytes"),
        "{}",
        desk.screen()
    );
}

#[test]
fn what_a_pane_shows_can_be_copied() {
    let mut desk = desk("Hi<end>");
    desk.press("6y");
    assert_eq!(desk.copied, "{\n  \"content\": \"Hi\"\n}\n");
    desk.press("5y");
    assert_eq!(desk.copied.lines().count(), 3, "{}", desk.copied);
    assert!(desk.copied.starts_with("{\"type\""), "{}", desk.copied);
    desk.press("2y");
    assert_eq!(desk.copied, "Hi<end>");
    desk.press("1y");
    assert_eq!(desk.copied, "· a text\n");
    desk.press("3y");
    let template = unjinja::json::read(&desk.copied).expect("JSON");
    let opened = unjinja::json::read(TEMPLATE).expect("JSON");
    assert!(template.total_eq(&opened), "{}", desk.copied);
    desk.press("4y");
    assert!(
        desk.copied.contains("content closed <end>"),
        "{}",
        desk.copied
    );
    let mut desk = Desk::open("chat_templates/xml-calls.jinja");
    desk.press("f↓↓↓↓y");
    assert!(
        desk.copied.contains("⟦<function=first_tool>⟧"),
        "{}",
        desk.copied
    );
}

#[test]
fn a_search_shows_while_it_is_typed_and_regards_no_case() {
    let mut desk = desk(OUTPUT);
    desk.press("⇤/HELLO");
    assert_eq!(desk.title(), "by token, chunk 1 of 30");
    desk.press("⎋");
    assert_eq!(desk.title(), "by token, chunk 0 of 30");
    let mut desk = Desk::open("tests/check/mixed.fixture.yaml");
    desk.press("/ONLY JUST⏎");
    assert!(
        desk.screen().contains("is in the name of this sample"),
        "{}",
        desk.screen()
    );
    assert!(
        desk.screen().contains("  only just begun"),
        "{}",
        desk.screen()
    );
}

#[test]
fn added_tokens_of_a_configuration_stay_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("chat_template.jinja");
    let chat = crate::support::root::root().join("chat_templates/xml-calls.jinja");
    std::fs::copy(chat, &source).expect("a copy");
    let chunks = |desk: &mut Desk| {
        desk.select("an answer");
        let title = desk.title();
        let count = title
            .split(" of ")
            .nth(1)
            .and_then(|rest| rest.split(',').next());
        count
            .and_then(|count| count.parse::<usize>().ok())
            .expect("a number")
    };
    let before = chunks(&mut Desk::open(&folder.path().display().to_string()));
    let config = r#"{"added_tokens_decoder": {"7": {"content": "<|im_end|>", "special": true}}}"#;
    std::fs::write(folder.path().join("tokenizer_config.json"), config).expect("is written");
    let mut desk = Desk::open(&folder.path().display().to_string());
    let after = chunks(&mut desk);
    assert!(after < before, "{after} {before}");
    desk.press("4");
    while !desk.title().contains("chunk 1 of") {
        desk.press("←");
        let why = desk.pane("4 Why").join("\n");
        assert!(
            !why.contains("has <|im") || why.contains("has <|im_end|>"),
            "{why}"
        );
    }
}

#[test]
fn what_depends_on_the_cutting_is_not_expected() {
    let output = "Good day!<end> And more.";
    let mut desk = reading(DEPENDS_ON_CHUNKS, output, None);
    for key in ["a", "s"] {
        desk.press(key);
        let why = "what comes out depends on how the text is cut: mend the template first";
        assert!(desk.screen().contains(why), "{}", desk.screen());
    }
    // Where the marker begins, the whole text closes, and the stream has closed behind a chunk before.
    desk.press("⇤d");
    assert_eq!(desk.title(), "by token, chunk 4 of 9");
}

#[test]
fn what_is_about_to_be_expected_can_be_scrolled() {
    let members: Vec<String> = (0..60)
        .map(|number| format!("\"k{number}\": {number}"))
        .collect();
    let object = format!("{{{}}}", members.join(", "));
    let mut desk = desk(&format!("<call wait>{object}</call>"));
    desk.press("a");
    assert!(desk.screen().contains("rows more"), "{}", desk.screen());
    assert!(!desk.screen().contains("k39"), "{}", desk.screen());
    desk.press("⇟⇟⇟⇟⇟");
    assert!(desk.screen().contains("k39"), "{}", desk.screen());
}

/// A tokenizer of words, blanks and whatever stands between `<` and `>`.
#[cfg(feature = "tokenizers")]
const TOKENIZER: &str = r#"{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
    "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?s)<[^>]*>|\\s+|[^<\\s]+"}, "behavior": "Isolated", "invert": false},
    "post_processor": null, "decoder": null, "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0}}}"#;

#[cfg(feature = "tokenizers")]
#[test]
fn a_tokenizer_beside_the_template_gives_its_tokens() {
    let folder = tempfile::tempdir().expect("a folder");
    let chat = crate::support::root::root().join("chat_templates/xml-calls.jinja");
    std::fs::copy(chat, folder.path().join("chat_template.jinja")).expect("a copy");
    let tokenizer = folder.path().join("tokenizer.json");
    std::fs::write(&tokenizer, TOKENIZER).expect("is written");
    let source = folder.path().display().to_string();
    let mut desk = Desk::open(&source);
    desk.select("an answer");
    // Five words, the blanks between them, what ends the turn, and the end of the line.
    assert_eq!(desk.title(), "by token, chunk 11 of 11, the end");
    std::fs::write(&tokenizer, "{}").expect("is written");
    let desk = Desk::open(&source);
    assert!(
        desk.screen().contains("tokenizer.json: no tokenizer"),
        "{}",
        desk.screen()
    );
}
