//! What the module answers, without a browser.

use std::fs;
use std::path::Path;

use unjinja::{Object, Value, json};
use unjinja_playground::Playground;

fn root(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Object::from_iter(members).into()
}

fn ask(playground: &mut Playground, request: &Value, file: &[u8]) -> Result<Value, String> {
    playground.answer(&json::write(request), file)
}

fn ask_once(request: &Value) -> Result<Value, String> {
    ask(&mut Playground::default(), request, b"")
}

fn open(name: &str, content: &[u8]) -> Result<Value, String> {
    let request = object([
        ("do", "open".into()),
        ("name", name.into()),
        ("length", content.len().into()),
    ]);
    ask(&mut Playground::default(), &request, content)
}

#[test]
fn files_are_known_by_their_content() {
    let template = r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#;
    let fixture = "response_template: {start_anchor: <bot>, fields: {content: {close: <end>}}}\n\
                   cases:\n  - {name: a greeting, output: Hello!<end>, message: {content: Hello!}}\n";
    for (name, content, kind, chat_templates, cases) in [
        ("pasted", "{{ messages }}", "chat template", 1, 0),
        (
            "pasted",
            r#"{"chat_template": "{{ messages }}"}"#,
            "configuration",
            1,
            0,
        ),
        (
            "pasted",
            r#"{"chat_template": [{"name": "default", "template": "a"}, {"name": "tools", "template": "b"}]}"#,
            "configuration",
            2,
            0,
        ),
        ("template.json", template, "response template", 0, 0),
        ("pasted", fixture, "fixture", 0, 1),
    ] {
        let opened = open(name, content.as_bytes()).expect(content);
        assert_eq!(opened.get("kind"), Some(&kind.into()), "{content}");
        for (key, count) in [("chat_templates", chat_templates), ("cases", cases)] {
            let items = opened.get(key).and_then(Value::as_array);
            assert_eq!(items.map(<[Value]>::len), Some(count), "{key} of {content}");
        }
    }
}

#[test]
fn what_is_nothing_of_that_is_refused_with_the_reason() {
    for (name, content, why) in [
        ("a", b" ".as_slice(), "a: there is nothing in it"),
        (
            "a",
            b"ab\xff",
            "a: byte 2 is not valid UTF-8: save the text as UTF-8",
        ),
        ("a.json", b"{", "a.json: "),
        ("a.json", b"[1]", "a.json: it is none of what can be opened"),
        (
            "a",
            br#"{"model": 1}"#,
            "a: it is none of what can be opened",
        ),
        ("a.yaml", b"cases: 1", "a.yaml"),
    ] {
        let error = open(name, content).expect_err(why);
        assert!(error.starts_with(why), "{error}");
    }
}

#[test]
fn of_a_gguf_file_the_head_is_enough() {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let head = [
        b"GGUF".as_slice(),
        &3_u32.to_le_bytes(),
        &0_u64.to_le_bytes(),
        &1_u64.to_le_bytes(),
        &text("tokenizer.chat_template"),
        &8_u32.to_le_bytes(),
        &text("{{ messages }}"),
    ]
    .concat();
    let opened = |file: &[u8]| {
        let request = object([
            ("do", "open".into()),
            ("name", "model.gguf".into()),
            ("length", (1_u64 << 33).into()),
        ]);
        ask(&mut Playground::default(), &request, file)
    };
    let whole = opened(&head).expect("all of the head is there");
    let jinja = whole.pointer("/chat_templates/0/jinja");
    assert_eq!(jinja, Some(&"{{ messages }}".into()));
    for length in 4..head.len() {
        assert_eq!(
            opened(&head[..length]),
            Err("more".to_owned()),
            "{length} bytes"
        );
    }
}

#[test]
fn faults_stand_where_they_are_also_behind_letters_that_are_long() {
    let text = "{\"start_anchor\": \"😀\",\n \"fields\": {\"content\": {\"clos\": \"<end>\"}}}";
    let request = object([("do", "check".into()), ("template", text.into())]);
    let checked = ask_once(&request).expect("it can be looked at");
    assert_eq!(checked.get("loads"), Some(&false.into()));
    let fault = checked.pointer("/faults/0").expect("there is a fault");
    let place = |key: &str| {
        let number = fault.get(key).and_then(Value::as_number);
        number.and_then(|number| number.as_i64()).expect("a place") as usize
    };
    let units: Vec<u16> = text.encode_utf16().collect();
    let marked = String::from_utf16(&units[place("from")..place("to")]).expect("whole letters");
    assert_eq!(marked, "\"clos\"", "{fault:?}");
}

#[test]
fn what_is_derived_is_what_the_program_prints() {
    let jinja = root("chat_templates/xml-calls.jinja");
    let request = object([
        ("do", "derive".into()),
        ("now", "2026-01-01T00:00:00".into()),
        ("chat_template", object([("jinja", jinja.into())])),
    ]);
    let derived = ask_once(&request).expect("it is derived");
    let cases = derived.get("cases").and_then(Value::as_array);
    assert!(cases.is_some_and(|cases| cases.len() > 2));
    assert_eq!(derived.get("is_whole"), Some(&true.into()));
    let template = derived.get("template").and_then(Value::as_str);
    assert_eq!(template, Some(root("derived/xml-calls.json").as_str()));
}

/// Replays a text of a small format; gives what there is to see after each step.
fn replayed(output: &str, chunking: &str, steps: &[&str]) -> Vec<Value> {
    let template = r#"{"start_anchor": "<bot>", "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "content": {"close": "<end>"}
    }}"#;
    let mut playground = Playground::default();
    let request = object([
        ("do", "replay".into()),
        ("template", template.into()),
        ("chunking", chunking.into()),
        ("bytes", 2.into()),
        ("seed", 0.into()),
        ("cuts", [3, 9].iter().copied().collect()),
        ("case", object([("output", output.into())])),
    ]);
    ask(&mut playground, &request, b"").expect("it can be replayed");
    let read = object([("do", "read".into()), ("budget", (1 << 20).into())]);
    let read = ask(&mut playground, &read, b"").expect("it is read");
    assert_eq!(read.get("more"), Some(&false.into()));
    let mut place = object([("fed", 0.into()), ("events", 0.into())]).into_object();
    let look = |step: &&str| {
        let mut request = place.clone();
        request.insert("do", "look");
        request.insert("step", *step);
        let looked = ask(&mut playground, &request.into(), b"").expect("there is something to see");
        for key in ["fed", "events"] {
            place.insert(key, looked.get(key).expect("a place").clone());
        }
        looked
    };
    steps.iter().map(look).collect()
}

#[test]
fn what_is_held_back_and_why_is_shown_at_each_place() {
    let looks = replayed("<think>So</thi", "own", &["first", "next chunk", "last"]);
    let held = looks[1].pointer("/why/held/text");
    assert_eq!(held, Some(&"<th".into()), "three bytes were cut off");
    let lacks = looks[1].pointer("/why/watch/0/lacks");
    assert_eq!(lacks, Some(&"ink>".into()));
    assert_eq!(looks[2].get("is_end"), Some(&true.into()));
}

#[test]
fn the_pieces_of_the_text_are_the_text() {
    let output = "<think>Sö 😀</think>\nHello!<end>";
    for chunking in ["token", "character", "bytes", "random", "whole", "own"] {
        let steps = [
            "first",
            "next chunk",
            "next event",
            "next region",
            "last",
            "previous chunk",
        ];
        for look in replayed(output, chunking, &steps) {
            let pieces = look.pointer("/text/pieces").and_then(Value::as_array);
            let texts = pieces.expect("there are pieces").iter();
            let text: String = texts
                .filter_map(|piece| piece.get("text").and_then(Value::as_str))
                .collect();
            assert_eq!(text, output, "cut {chunking}");
        }
    }
}

#[test]
fn steps_may_begin_at_a_place_that_the_text_does_not_have() {
    let template = r#"{"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}}"#;
    let mut playground = Playground::default();
    let replay = object([
        ("do", "replay".into()),
        ("template", template.into()),
        ("chunking", "character".into()),
        ("case", object([("output", "Hello!<end>".into())])),
    ]);
    ask(&mut playground, &replay, b"").expect("it can be replayed");
    let read = object([("do", "read".into()), ("budget", (1 << 20).into())]);
    ask(&mut playground, &read, b"").expect("it is read");
    for step in [
        "stay",
        "next chunk",
        "previous chunk",
        "next event",
        "previous event",
        "next region",
        "previous region",
    ] {
        for (fed, events) in [(2, 1000), (1000, 0), (1000, 1000)] {
            let look = object([
                ("do", "look".into()),
                ("step", step.into()),
                ("fed", fed.into()),
                ("events", events.into()),
            ]);
            ask(&mut playground, &look, b"").expect(step);
        }
    }
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let mut playground = Playground::default();
    for request in [
        "",
        "1",
        "{}",
        r#"{"do": "dance"}"#,
        r#"{"do": "look"}"#,
        r#"{"do": "derive"}"#,
    ] {
        let answer = playground.answer(request, b"");
        assert!(answer.is_err(), "{request}: {answer:?}");
    }
}

/// A chat template that drops thoughts once somebody has answered, and prints the time.
const FAULTY: &str = "{{ strftime_now('%Y-%m-%d %H:%M') }}\n{% for m in messages %}<{{ m.role }}>\
    {% if m.reasoning_content and loop.last %}<think>{{ m.reasoning_content }}</think>{% endif %}\
    {{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

fn about(action: &str, jinja: &str) -> Object {
    let chat = object([("name", "template".into()), ("jinja", jinja.into())]);
    Object::from_iter([("do", Value::from(action)), ("chat_template", chat)])
}

#[test]
fn a_chat_template_is_linted_at_its_places_in_utf_16() {
    let jinja = format!("{{# 😀 #}}{FAULTY}");
    let found = ask_once(&about("lint", &jinja).into()).unwrap();
    let time = found.as_array().unwrap_or_default().iter();
    let mut time =
        time.filter(|complaint| complaint.get("code").and_then(Value::as_str) == Some("J025"));
    let time = time.next().expect("the time is too fine");
    // The sign in the comment has two units.
    for (key, expected) in [("line", 1), ("from", 11)] {
        assert_eq!(time.get(key), Some(&Value::from(expected)), "{time:?}");
    }
    assert!(time.get("shown").is_some_and(|shown| !shown.is_null()));
}

#[test]
fn a_chat_template_is_mended() {
    let mut request = about("mend", FAULTY);
    request.insert("faults", Value::from_iter(["prefix", "dates"]));
    let mended = ask_once(&request.clone().into()).unwrap();
    let jinja = mended.get("jinja").and_then(Value::as_str).unwrap();
    let expected = FAULTY
        .replace(" %H:%M", "")
        .replace("m.reasoning_content and loop.last", "m.reasoning_content");
    assert_eq!(jinja, expected);
    let outcomes = mended.get("outcomes").and_then(Value::as_array).unwrap();
    assert_eq!(outcomes.len(), 3);
    request.insert("faults", Value::from_iter(["thoughts"]));
    let error = ask_once(&request.into()).unwrap_err();
    assert!(error.contains("there is no fault `thoughts`"), "{error}");
}
