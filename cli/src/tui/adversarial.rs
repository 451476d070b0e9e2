//! Texts, templates and people of any kind come to the workbench: whatever they do, it goes on, and
//! what it shows is true.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use proptest::prelude::*;
use proptest::sample::select;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::glyphs::tests::texts;
use super::loaded::{Loaded, LoadedFormat, OpenError, TemplatePlace};
use super::message::{Done, Doubt, Effect, Message};
use super::sample::{Origin, Sample};
use super::state::Workbench;
use super::target::Target;
use super::view::{render, text};
use unjinja::check::{Case, Expected};
use unjinja::{
    OnMalformed, OnUnread, OwnedEvent, ParserOptions, ResponseParser, ResponseTemplate, Tools, json,
};
use unjinja_replay::Chunking;
use unjinja_replay::{EventKind, Position, Replay, Seen};

const TEMPLATES: &[&str] = &[
    r#"{"start_anchor": "A:", "defaults": {"role": "assistant", "calls": []}, "fields": {
        "thinking": {"open": "<x>", "close_pattern": "</x>\\s*", "repeats": true, "join": "\n"},
        "calls": {"open_pattern": "<k (?P<name>\\w+)>", "close": "</k>", "content": "json", "repeats": true,
            "transform": {"name": "{name}", "arguments": "{content}"}},
        "content": {"close": "END"}}}"#,
    // Regions without delimiters, one at the other.
    r#"{"start_anchor": "A:", "fields": {
        "digits": {"open_pattern": "(?=1)", "close_pattern": "(?=[^0-9])", "repeats": true},
        "letters": {"close_pattern": "(?=[0-9<])"}}}"#,
    r#"{"start_anchor": "A:", "fields": {
        "a": {"open": "日", "close": "本", "content": "kv-lines"},
        "b": {"open": "<", "content": "json", "optional": true}}}"#,
    r#"{"start_anchor": "A:", "fields": {"all": {"repeats": true}}}"#,
];

/// What a chat template says.
static FORMAT: LazyLock<Arc<LoadedFormat>> = LazyLock::new(|| {
    let loaded = Target::new("../examples/chat_template.jinja").load(None);
    let format = loaded.ok().and_then(|loaded| loaded.format);
    format.expect("the gallery has it")
});

const PIECES: &[&str] = &[
    "<x>",
    "</x>",
    " \n",
    "<k ab>",
    "{\"s\": [1]}",
    "{\"s\": ",
    "</k>",
    "END",
    "EN",
    "</",
    "12",
    "1",
    "ab",
    "日",
    "本",
    "é",
    "k: v\n",
    "e\u{301}",
    "\t",
    "\u{1b}[2J",
    "\u{202e}",
    "😀",
    "\n",
    "<",
];

const CHUNKINGS: [Chunking; 5] = [
    Chunking::Tokens,
    Chunking::Characters,
    Chunking::Bytes(3),
    Chunking::Random { mean: 5, seed: 1 },
    Chunking::Whole,
];

/// An output, now and then with characters that no template knows.
fn outputs() -> impl Strategy<Value = String> {
    let known = prop::collection::vec(select(PIECES), 0..24).prop_map(|pieces| pieces.concat());
    (known, prop_oneof![4 => Just(String::new()), 1 => texts()])
        .prop_map(|(known, strange)| known + &strange)
}

fn template(text: &str) -> ResponseTemplate {
    ResponseTemplate::from_json(text).expect("a template")
}

fn cases() -> impl Strategy<Value = Case> {
    let prefix = prop_oneof![Just(""), Just("A:"), Just("A:<x>日"), Just("no anchor")];
    let message = prop_oneof![
        Just(None),
        Just(Some(
            r#"{"content": "ab12", "calls": [{"name": "ab", "arguments": {"s": [1]}}]}"#
        )),
        Just(Some(
            r#"{"letters": "ab", "digits": ["12", "1"], "all": [], "a": {"k": "v"}}"#
        )),
    ];
    let names = select(&["one", "two"][..]);
    (names, prefix, outputs(), message).prop_map(|(name, prefix, output, message)| {
        let read = |text: &str| json::read(text).ok()?.as_object().cloned();
        let mut expected = Expected::default();
        expected.message = message.and_then(read);
        Case::new(name, prefix, output, Tools::none(), expected)
    })
}

/// What may be opened.
#[derive(Debug, Clone)]
struct HostileSource {
    template: &'static str,
    place: TemplatePlace,
    cases: Vec<Case>,
    has_format: bool,
}

impl HostileSource {
    fn load(self) -> Loaded {
        let cases = self.cases.into_iter();
        Loaded {
            name: "a source".into(),
            template: template(self.template),
            place: self.place,
            files: Vec::new(),
            samples: cases
                .map(|case| Sample::new(Origin::Fixture, case))
                .collect(),
            format: self.has_format.then(|| FORMAT.clone()),
            conversations: Vec::new(),
            tokens: vec!["<x>".into(), "</x>".into()],
            tokenizer: None,
            tokenizer_trouble: None,
        }
    }
}

fn hostile_sources() -> impl Strategy<Value = HostileSource> {
    let places = prop_oneof![
        Just(TemplatePlace::Derived),
        Just(TemplatePlace::File(PathBuf::from("a.json"))),
        Just(TemplatePlace::Fixture {
            path: PathBuf::from("a.fixture.yaml"),
            template: None,
        }),
    ];
    let cases = prop::collection::vec(cases(), 0..3);
    let all = (select(TEMPLATES), places, cases, any::<bool>());
    all.prop_map(|(template, place, cases, has_format)| HostileSource {
        template,
        place,
        cases,
        has_format,
    })
}

/// Something that may happen.
#[derive(Debug, Clone)]
enum Event {
    Message(Message),
    /// What was opened is another now.
    Load(HostileSource),
}

/// Something that may happen at any time.
fn events() -> impl Strategy<Value = Event> {
    const CODES: &[KeyCode] = &[
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Backspace,
        KeyCode::Delete,
    ];
    const LETTERS: &str = "lh.,][gG +-dcCb)(r}{kj123456z/nNftesaw?yé7xXuL";
    let letters: Vec<KeyCode> = LETTERS.chars().map(KeyCode::Char).collect();
    let key = |code| Message::Key(KeyEvent::new(code, KeyModifiers::NONE));
    let control = |letter| {
        let code = KeyCode::Char(letter);
        Message::Key(KeyEvent::new(code, KeyModifiers::CONTROL))
    };
    let kinds = &[
        MouseEventKind::Down(MouseButton::Left),
        MouseEventKind::Drag(MouseButton::Left),
        MouseEventKind::ScrollUp,
        MouseEventKind::ScrollDown,
    ];
    let mouse = (select(&kinds[..]), 0..160_u16, 0..60_u16);
    let mouse = mouse.prop_map(|(kind, column, row)| {
        Message::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers: KeyModifiers::NONE,
        })
    });
    let messages = prop_oneof![
        24 => select(letters).prop_map(key),
        12 => select(CODES).prop_map(key),
        2 => select(&['d', 'u'][..]).prop_map(control),
        6 => mouse,
        1 => outputs().prop_map(Message::Paste),
        2 => (0..160_u16, 0..60_u16).prop_map(|(width, height)| Message::Resize(width, height)),
        2 => (0..3000_u64).prop_map(|millis| Message::Tick(Duration::from_millis(millis))),
        2 => outputs().prop_map(|text| Message::Live(text, Duration::from_millis(7))),
        1 => Just(Message::LiveEnded(None)),
        1 => Just(Message::NotLoaded(OpenError::plain("no"))),
    ];
    prop_oneof![
        64 => messages.prop_map(Event::Message),
        1 => hostile_sources().prop_map(Event::Load),
    ]
}

/// Draws the screen, with every row of the text pane in its place.
fn look(workbench: &Workbench) -> Buffer {
    let (width, height) = workbench.size;
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    render(workbench, &mut buffer);
    buffer
}

/// What becomes of the effects: samples are tried at once, and files are written to in words only.
fn answers(effects: Vec<Effect>) -> Vec<Message> {
    let answer = |effect| match effect {
        Effect::Judge {
            generation,
            template,
            cases,
        } => cases
            .into_iter()
            .map(|(sample, case)| Message::Judged {
                generation,
                sample,
                failures: case.check(&template, 0),
            })
            .collect(),
        Effect::Keep(keep) if keep.is_confirmed => vec![Message::Kept(keep, Done::new("kept"))],
        Effect::Keep(keep) => vec![Message::Unconfirmed(keep, Doubt::IsThere)],
        _ => Vec::new(),
    };
    effects.into_iter().flat_map(answer).collect()
}

fn happens(workbench: &mut Workbench, message: Message) {
    let effects = workbench.update(message);
    for answer in answers(effects) {
        happens(workbench, answer);
    }
}

fn is_within(replay: &Replay, place: Position) -> bool {
    let last = replay.last();
    place.fed <= last.fed
        && place.events <= last.events
        && replay.previous_chunk(replay.next_chunk(place)) <= replay.last()
}

/// A text that has been read to its end.
fn read(template: &ResponseTemplate, case: &Case, chunking: Chunking) -> Replay {
    let mut replay = Replay::new(template, case, chunking);
    while replay.read_on(usize::MAX, true) {}
    replay
}

/// All places of a text: where chunks have been fed, and where events have been reported.
fn places(replay: &Replay) -> (Vec<Position>, Vec<Position>) {
    let mut chunks = vec![replay.first()];
    let mut events = vec![replay.first()];
    while chunks.last() != Some(&replay.last()) {
        chunks.extend(chunks.last().map(|&place| replay.next_chunk(place)));
    }
    while events.last() != Some(&replay.last()) {
        events.extend(events.last().map(|&place| replay.next_event(place)));
    }
    (chunks, events)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_workbench_goes_on(
        source in hostile_sources(),
        given in prop::collection::vec(cases(), 0..2),
        is_live in any::<bool>(),
        size in (0..160_u16, 0..60_u16),
        events in prop::collection::vec(events(), 1..80),
    ) {
        let given = given.into_iter().map(|case| Sample::new(Origin::Given, case));
        let live = is_live.then(|| Sample::live("A:".into(), Tools::none()));
        let mut workbench = Workbench::new(source.load(), given.chain(live).collect(), size);
        look(&workbench);
        for event in events {
            happens(&mut workbench, match event {
                Event::Message(message) => message,
                Event::Load(source) => Message::Loaded(Box::new(source.load())),
            });
            look(&workbench);
            prop_assert!(is_within(&workbench.replay, workbench.at));
            prop_assert!(workbench.selected < workbench.samples.len());
            let whole = format!("{}{}", &workbench.replay.text()[..workbench.replay.output()], workbench.sample().case.output);
            prop_assert_eq!(workbench.replay.text(), whole);
        }
    }

    #[test]
    fn a_step_back_is_where_one_came_from(
        text in select(TEMPLATES),
        case in cases(),
        chunking in select(&CHUNKINGS[..]),
    ) {
        let template = template(text);
        let replay = read(&template, &case, chunking);
        let (chunks, events) = places(&replay);
        for pair in chunks.windows(2) {
            prop_assert!(pair[0] < pair[1]);
            prop_assert_eq!(replay.previous_chunk(pair[1]), pair[0]);
        }
        for pair in events.windows(2) {
            prop_assert!(pair[0] < pair[1]);
            prop_assert_eq!(replay.previous_event(pair[1]), pair[0]);
        }
    }

    #[test]
    fn what_is_kept_of_events_is_what_the_parser_has_reported(
        text in select(TEMPLATES),
        case in cases(),
        chunking in select(&CHUNKINGS[..]),
    ) {
        let template = template(text);
        let mut replay = read(&template, &case, chunking);
        let on_unread = match case.expected.is_nothing() {
            // The workbench shows what nothing reads.
            true => OnUnread::Malformed,
            false => OnUnread::Pass,
        };
        let options = ParserOptions::default().on_malformed(OnMalformed::Event).on_unread(on_unread);
        let mut parser = ResponseParser::new(&template, "", options).expect("a parser");
        let mut events = parser.feed(&replay.text()[..replay.output()]).expect("events");
        let cut = chunking.cut(&case.output).expect("is cut");
        let mut place = replay.first();
        for piece in cut.pieces(&case.output).filter(|piece| !piece.is_empty()) {
            prop_assert_eq!(&replay.message(place), parser.message_so_far());
            let looked_at = replay.fields(place).into_iter();
            let looked_at = looked_at.map(|(name, seen)| match seen {
                Seen::Items(items) => (name, items.into_iter().cloned().collect()),
                Seen::Value(value) => (name, value.into_owned()),
            });
            prop_assert_eq!(&looked_at.collect::<unjinja::Object>(), parser.message_so_far());
            let waiting = replay.waiting(place);
            let outlook = parser.outlook();
            let field = waiting.as_ref().and_then(|waiting| waiting.field.as_deref());
            prop_assert_eq!(field, outlook.field);
            let held = waiting.as_ref().map(|waiting| &replay.text()[waiting.held.clone()]);
            prop_assert_eq!(held, Some(outlook.held_back));
            events.extend(parser.feed(piece).expect("events"));
            place = replay.next_chunk(place);
        }
        events.extend(parser.finalize().expect("an end").1);
        let known = replay.events(replay.last());
        prop_assert_eq!(known.len(), events.len());
        let mut end = 0;
        for (known, event) in known.iter().zip(&events) {
            prop_assert!(known.span().start >= end);
            end = known.span().end;
            match (known.what, event) {
                (EventKind::Chunk { .. }, OwnedEvent::Chunk { text, .. }) => {
                    prop_assert_eq!(&replay.text()[known.span()], text);
                }
                (EventKind::Open(_), OwnedEvent::Open { .. }) => {}
                (EventKind::Close(number), OwnedEvent::Close { value, .. }) => {
                    prop_assert_eq!(replay.value(known), Some(value), "{}", number);
                }
                (EventKind::Malformed(_), OwnedEvent::Malformed { .. }) => {}
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }

    #[test]
    fn the_open_region_is_the_text_since_it_opened(
        text in select(TEMPLATES),
        case in cases(),
        chunking in select(&CHUNKINGS[..]),
    ) {
        let template = template(text);
        let replay = read(&template, &case, chunking);
        for place in places(&replay).1 {
            let mut text = None;
            for event in replay.events(place) {
                match event.what {
                    EventKind::Open(_) => text = Some((event.field, String::new())),
                    EventKind::Chunk { .. } => {
                        if let Some((_, text)) = &mut text {
                            text.push_str(&replay.text()[event.span()]);
                        }
                    }
                    EventKind::Close(_) | EventKind::Malformed(_) => text = None,
                }
            }
            let open = replay.open_region(place);
            let open = open.map(|(field, span)| (field, replay.text()[span].to_owned()));
            prop_assert_eq!(open, text, "{:?}", place);
        }
    }

    #[test]
    fn every_byte_of_a_text_is_in_one_row(
        source in hostile_sources(),
        case in cases(),
        size in (20..100_u16, 7..40_u16),
    ) {
        let sample = Sample::new(Origin::Given, case);
        let mut workbench = Workbench::new(source.load(), vec![sample], size);
        let press = |workbench: &mut Workbench, code: KeyCode| {
            workbench.update(Message::Key(code.into()));
        };
        press(&mut workbench, KeyCode::Char('z'));
        press(&mut workbench, KeyCode::Home);
        for _ in 0..=workbench.replay.text().len() {
            press(&mut workbench, KeyCode::Up);
        }
        let mut end = 0;
        let mut top = None;
        loop {
            let rows = text::row_spans(&workbench);
            for row in &rows {
                prop_assert!(row.start <= end, "{row:?} after {end}");
                end = end.max(row.end);
            }
            for pair in rows.windows(2) {
                prop_assert_eq!(pair[0].end, pair[1].start);
            }
            if rows.first().map(|row| row.start) == top {
                break;
            }
            top = rows.first().map(|row| row.start);
            press(&mut workbench, KeyCode::Down);
        }
        prop_assert_eq!(end, workbench.replay.text().len());
    }
}
