//! What parsing costs in memory, counted by the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use unjinja_parser::{
    Event, EventBuffer, EventWriter, ParseError, ParserOptions, ResponseParser, ResponseTemplate,
    json, parse,
};

/// Counts what the thread that asks for it allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

fn note(allocations: usize, grown: usize, shrunk: usize) {
    // The counters are gone while a thread ends, and nobody asks any more.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + allocations));
    let _ = HELD.try_with(|held| {
        held.set((held.get() + grown).saturating_sub(shrunk));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call is handed to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size(), 0);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(0, 0, layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // While a block is moved, both the old and the new one are there.
        note(1, size, 0);
        note(0, 0, layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const TEMPLATE: &str = r#"{
    "start_anchor": "A:",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open_pattern": "<call\\s+(?P<name>\\w+)>", "close_pattern": "\\s*</call>", "repeats": true,
            "content": "kv-lines",
            "transform": {"name": "{name}", "arguments": "{content}"}
        },
        "content": {"close_pattern": "<end>\\s*"}
    }
}"#;

fn parser() -> ResponseParser {
    let template = ResponseTemplate::from_json(TEMPLATE).expect("the template loads");
    ResponseParser::new(&template, "", ParserOptions::default()).expect("the parser starts")
}

fn feed(parser: &mut ResponseParser, text: &str) -> usize {
    let mut chunks = 0;
    let mut from = 0;
    while from < text.len() {
        let to = text.ceil_char_boundary(from + 4);
        parser
            .feed_with(&text[from..to], |event| {
                chunks += usize::from(matches!(event, Event::Chunk { .. }));
            })
            .expect("the text parses");
        from = to;
    }
    chunks
}

#[test]
fn chunks_allocate_nothing_but_the_growth_of_the_body() {
    let line = "Is 1 < 2 or </b> 日本 <thin air? <cal it what you like.\n";
    for opener in ["<think>", "", "<call it>"] {
        let mut parser = parser();
        feed(&mut parser, opener);
        // The automata have met every kind of text once.
        feed(&mut parser, &line.repeat(50));
        let body = line.repeat(2_000);
        let before = ALLOCATIONS.get();
        let chunks = feed(&mut parser, &body);
        let allocations = ALLOCATIONS.get() - before;
        assert!(chunks > 20_000, "{chunks} chunks");
        // A body that doubles its room whenever it is full does so six times here.
        assert!(
            allocations <= 8,
            "{allocations} allocations for {chunks} chunks after {opener:?}"
        );
    }
}

#[test]
fn chunks_are_kept_and_written_in_room_that_is_there() {
    let mut parser = parser();
    let (mut events, mut writer) = (EventBuffer::new(), EventWriter::new());
    let mut keep = |parser: &mut ResponseParser, text: &str| {
        for chunk in text.as_bytes().chunks(4) {
            let chunk = str::from_utf8(chunk).expect("the text is ASCII");
            events.clear();
            let fed = parser.feed_with(chunk, |event| {
                writer.write(&event);
                events.push(event);
            });
            fed.expect("the text parses");
        }
    };
    let line = "Is 1 < 2 or </b> \"so\" <thin air?\n";
    keep(&mut parser, "<think>");
    keep(&mut parser, &line.repeat(50));
    let body = line.repeat(2_000);
    let before = ALLOCATIONS.get();
    keep(&mut parser, &body);
    let allocations = ALLOCATIONS.get() - before;
    assert!(allocations <= 8, "{allocations} allocations");
}

#[test]
fn a_message_of_100_mb_stays_under_three_times_its_size() {
    let size = 100_000_000;
    let mut parser = parser();
    let piece = "a line of thought that goes on and on, and then some more\n";
    feed(&mut parser, "<think>");
    let before = HELD.get();
    PEAK.set(before);
    for _ in 0..size / piece.len() {
        feed(&mut parser, piece);
    }
    let message = parser.finalize_with(|_| {}).expect("the text parses");
    let thinking = message.get("thinking").and_then(|value| value.as_str());
    let length = thinking.map_or(0, str::len);
    let peak = PEAK.get() - before;
    assert!(length > size - 100, "{length} bytes");
    assert!(peak < 3 * size, "{peak} bytes for a message of {size}");
}

#[test]
fn places_where_lookaround_waits_for_more_text_leave_nothing_behind() {
    let template = ResponseTemplate::from_json(
        r#"{"start_anchor": "A:", "fields": {"content": {"close_pattern": "-(?=>)"}}}"#,
    )
    .expect("the template loads");
    let mut parser =
        ResponseParser::new(&template, "", ParserOptions::default()).expect("the parser starts");
    let piece = "a-";
    let size = 1_000_000;
    let before = HELD.get();
    PEAK.set(before);
    for _ in 0..size / piece.len() {
        parser.feed_with(piece, |_| {}).expect("the text parses");
    }
    let peak = PEAK.get() - before;
    assert!(peak < 4 * size, "{peak} bytes for a message of {size}");
}

#[test]
fn text_without_a_place_to_try_takes_no_notes() {
    let template = ResponseTemplate::from_json(
        r#"{"start_anchor": "A:", "fields": {"content": {"close_pattern": "<end>(?!x|yz)"}}}"#,
    )
    .expect("the template loads");
    let text = "a line of thought that goes on and on\n".repeat(30_000) + "<end>";
    let before = HELD.get();
    PEAK.set(before);
    let message = parse(&template, "", &text, ParserOptions::default()).expect("the text parses");
    let content = message.get("content").and_then(|value| value.as_str());
    let peak = PEAK.get() - before;
    assert_eq!(
        content.map(str::len),
        Some(text.trim_end_matches("\n<end>").len())
    );
    assert!(peak < 3 * text.len(), "{peak} bytes for {}", text.len());
}

/// What reading a text takes at most, and the error that it ends in.
fn peak_of_refusal(template: &str, text: &str) -> (usize, String) {
    let template = ResponseTemplate::from_json(template).expect("the template loads");
    let before = HELD.get();
    PEAK.set(before);
    let error = parse(&template, "", text, ParserOptions::default()).expect_err("it is refused");
    assert!(matches!(error, ParseError::Region { .. }), "{error}");
    (PEAK.get() - before, error.to_string())
}

#[test]
fn what_would_be_many_times_as_long_as_its_text_is_refused_before_it_is_made() {
    let calls = "<v></v>".repeat(100_000);
    let list = format!("<v>[{}]</v>", vec![r#"{"a": 1}"#; 50_000].join(","));
    let long = "x".repeat(100_000);
    let repeated = vec![r#""{content}""#; 70].join(",");
    for (field, text, reason) in [
        (
            format!(r#""repeats": true, "join": "{long}""#),
            calls.as_str(),
            "`join` would make the message many times as long as its text",
        ),
        (
            format!(r#""repeats": true, "transform": ["{long}"]"#),
            &calls,
            "the transform would make the message many times as long as its text",
        ),
        (
            format!(r#""transform": [{repeated}]"#),
            &format!("<v>{}</v>", "a line\n".repeat(100_000)),
            "the transform would make the message many times as long as its text",
        ),
        (
            format!(
                r#""content": "json", "transform_each": true, "transform": ["{long}", "{{a}}"]"#
            ),
            &list,
            "the transform would make the message many times as long as its text",
        ),
    ] {
        let template = format!(
            r#"{{"start_anchor": "A:", "fields": {{"v": {{"open": "<v>", "close": "</v>", {field}}}}}}}"#
        );
        let (peak, error) = peak_of_refusal(&template, text);
        assert!(error.contains(reason), "{error}");
        // A value of JSON takes more than its text does: some 40 bytes for each of these.
        assert!(
            peak < 60 * text.len(),
            "{peak} bytes for a text of {}",
            text.len()
        );
    }
}

#[test]
fn a_literal_that_is_too_long_is_refused_before_it_is_compiled() {
    let text = json::write(&"x".repeat(1_000_000).into());
    for key in ["open", "open_pattern"] {
        let template =
            format!(r#"{{"start_anchor": "A:", "fields": {{"v": {{"{key}": {text}}}}}}}"#);
        let before = HELD.get();
        PEAK.set(before);
        let error = ResponseTemplate::from_json(&template).expect_err("it is refused");
        let peak = PEAK.get() - before;
        assert!(
            error.to_string().contains("are allowed")
                || error.to_string().contains("more than 10000 steps"),
            "{error}"
        );
        assert!(
            peak < 10 * text.len(),
            "{peak} bytes for a template of {}",
            template.len()
        );
    }
}
