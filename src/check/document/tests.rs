use proptest::prelude::*;

use super::write::write_document;
use super::*;
use crate::json;
use crate::value::{Number, Object, Value};

fn yaml(text: &str) -> Document {
    Document::read(text, Language::Yaml).unwrap_or_else(|e| panic!("{text:?}: {e:?}"))
}

fn value(text: &str) -> Value {
    json::read(text).expect("JSON")
}

#[test]
fn yaml_is_read_as_its_core_schema_says() {
    for (text, expected) in [
        (
            "a: 1\nb: [x, 'y z', \"q\\n\"]",
            r#"{"a": 1, "b": ["x", "y z", "q\n"]}"#,
        ),
        ("- null\n- ~\n-\n- ''", r#"[null, null, null, ""]"#),
        ("[true, False, yes, no]", r#"[true, false, "yes", "no"]"#),
        (
            "[1, -2, +3, 007, 0x1F, 0o17, 1.5, .5, 1e3, 1.]",
            "[1, -2, 3, 7, 31, 15, 1.5, 0.5, 1000.0, 1.0]",
        ),
        (
            "[1.2.3, 0x, 12px, 1_000]",
            r#"["1.2.3", "0x", "12px", "1_000"]"#,
        ),
        (
            "[99999999999999999999, .inf, -.inf]",
            "[99999999999999999999, Infinity, -Infinity]",
        ),
        ("a: !!str 12\nb: !!int '7'", r#"{"a": "12", "b": 7}"#),
        (
            "a: |\n  x\n   y\n\nb: >-\n  x\n  y",
            r#"{"a": "x\n y\n", "b": "x y"}"#,
        ),
        ("a: &x {k: 1}\nb: *x", r#"{"a": {"k": 1}, "b": {"k": 1}}"#),
        ("{\"a\": [1, 2]}", r#"{"a": [1, 2]}"#),
        ("\u{feff}a: é", r#"{"a": "é"}"#),
        ("3", "3"),
    ] {
        assert_eq!(yaml(text).root.to_value(), value(expected), "{text:?}");
    }
}

#[test]
fn what_is_no_document_is_refused_with_its_place() {
    let bomb = "a: &a [xxxxxxxxxxxxxxxx, xxxxxxxxxxxxxxxx]\n".to_owned()
        + &(b'b'..b'z')
            .map(|c| {
                let (c, before) = (char::from(c), char::from(c - 1));
                format!("{c}: &{c} [*{before}, *{before}, *{before}, *{before}]\n")
            })
            .collect::<String>();
    let deep = "[".repeat(200);
    for (language, text, place, message) in [
        (
            Language::Yaml,
            "a:\n\t- x",
            (2, 2),
            "indent by spaces, not by tabs",
        ),
        (
            Language::Yaml,
            "a:\n  b: c\n \t d: e",
            (3, 2),
            "indent by spaces, not by tabs",
        ),
        (
            Language::Yaml,
            "é: 1\né: 2",
            (2, 1),
            "the key `é` stands here twice",
        ),
        (
            Language::Yaml,
            "a: b: c",
            (1, 5),
            "this is not YAML: mapping values",
        ),
        (
            Language::Yaml,
            "a: *x",
            (1, 4),
            "this is not YAML: while parsing node, found unknown",
        ),
        (
            Language::Yaml,
            "a: &x [*x]",
            (1, 8),
            "something that contains it",
        ),
        (
            Language::Yaml,
            "? [a]\n: b",
            (1, 3),
            "a key has to be a text",
        ),
        (
            Language::Yaml,
            "a: 1\n---\nb: 2",
            (2, 1),
            "a second document",
        ),
        (Language::Yaml, "a: !thing 1", (1, 4), "this tag"),
        (Language::Yaml, "# nothing\n", (1, 1), "the file is empty"),
        (Language::Yaml, bomb.as_str(), (9, 16), "expand to too much"),
        (
            Language::Yaml,
            deep.as_str(),
            (1, 101),
            "nested more than 100 deep",
        ),
        (
            Language::Json,
            "{\"a\": 1,\n \"a\": 2}",
            (2, 2),
            "the key `a` stands here twice",
        ),
        (
            Language::Json,
            "{\"a\": {\"x\": 1,\n\"x\": 2}, \"a\": 1}",
            (2, 1),
            "the key `x` stands here twice",
        ),
        (
            Language::Json,
            "{\"a\": 1,\n\"a\": [{\"x\": 1, \"x\": 2}]}",
            (2, 1),
            "the key `a` stands here twice",
        ),
        (
            Language::Json,
            "{\"a\": 1,\n\"a\": 2 3}",
            (2, 8),
            "this is not JSON: expected `,` or `}`",
        ),
        (
            Language::Json,
            "{\"a\" 1}",
            (1, 6),
            "this is not JSON: expected `:`",
        ),
    ] {
        let error = Document::read(text, language).expect_err(text);
        let text_of_error = format!("{}: {}", error.message, error.remedy.unwrap_or_default());
        assert!(
            text_of_error.contains(message),
            "{text:.60}: {}",
            error.message
        );
        assert_eq!(
            error.position.map(Position::line_column),
            Some(place),
            "{text:.60}: {}",
            error.message
        );
    }
}

#[test]
fn it_is_known_where_everything_stands() {
    let text = "# c\nname: 'a''b' # x\nlist:\n  - |\n    text\n  # tail\n  - {k: \"v\\\"\", l: [1]}\nlast: >-\n  é\n";
    let document = yaml(text);
    for (pointer, place, source) in [
        ("/name", (2, 1), "'a''b'"),
        ("/list/0", (4, 5), "|\n    text"),
        ("/list/1", (7, 5), "{k: \"v\\\"\", l: [1]}"),
        ("/list/1/k", (7, 6), "\"v\\\"\""),
        ("/list/1/l/0", (7, 20), "1"),
        ("/last", (8, 1), ">-\n  é"),
    ] {
        let steps = pointer.split('/').skip(1);
        let node = steps.fold(document.root(), |node, step| match step.parse::<usize>() {
            Ok(index) => &node.items().expect("a list")[index],
            Err(_) => node.get(step).expect("a key"),
        });
        assert_eq!(&document.text[node.span.clone()], source, "{pointer}");
        assert_eq!(
            document.position_of(pointer).line_column(),
            place,
            "{pointer}"
        );
    }
    assert_eq!(document.position_of("/list/7/x").line_column(), (3, 1));
    let json = Document::read("\u{feff}{\"a\": [1,\n {\"b\": \"x\\\"\"}]}", Language::Json);
    let json = json.expect("JSON");
    assert_eq!(json.position_of("/a").line_column(), (1, 2));
    assert_eq!(json.position_of("/a/1/b").line_column(), (2, 3));
}

/// What a document becomes when the first case is given another message.
fn changed(language: Language, text: &str, message: &str) -> String {
    let document = Document::read(text, language).expect("a document");
    let change = Change {
        pointer: "/cases/0".into(),
        key: "message",
        replaces: None,
        value: value(message),
    };
    let changed = document.changed(&[change]);
    assert_eq!(changed.impossible, [0; 0], "{text}");
    changed.text
}

#[test]
fn changes_leave_all_the_rest_as_it_is() {
    let all = include_str!("changes.txt");
    let mut count = 0;
    for case in all
        .split("\n=====\n")
        .filter(|case| !case.trim().is_empty())
    {
        let mut parts = case.split("\n-----\n");
        let mut part = || {
            parts
                .next()
                .unwrap_or_else(|| panic!("a part lacks in\n{case}"))
        };
        let (title, before, message, after) = (part(), part(), part(), part());
        let language = match before.trim_start().starts_with('{') {
            true => Language::Json,
            false => Language::Yaml,
        };
        assert_eq!(changed(language, before, message), after, "{title}");
        let windows = changed(language, &before.replace('\n', "\r\n"), message);
        assert_eq!(
            windows,
            after.replace('\n', "\r\n"),
            "{title}, with Windows line ends"
        );
        count += 1;
    }
    assert_eq!(count, 14);
}

#[test]
fn what_yaml_can_not_hold_is_not_written() {
    let document = yaml("cases:\n- name: a\n");
    let change = Change {
        pointer: "/cases/0".into(),
        key: "message",
        replaces: None,
        value: value(r#"{"content": "\ud800"}"#),
    };
    let changed = document.changed(&[change]);
    assert_eq!(changed.impossible, [0]);
    assert_eq!(changed.text, "cases:\n- name: a\n");
}

#[test]
fn what_can_not_be_changed_keeps_nothing_else_from_it() {
    // The last is impossible, and the one before has an anchor that another one needs.
    let document = yaml(
        "cases:\n- message: {content: a} # one\n- message: &m {content: old} # two\n\
         - message: *m\n- message: {content: b}\n",
    );
    let change = |case: usize, message: &str| Change {
        pointer: format!("/cases/{case}"),
        key: "message",
        replaces: None,
        value: value(message),
    };
    let changed = document.changed(&[
        change(0, r#"{"content": "new"}"#),
        change(1, r#"{"content": "new"}"#),
        change(3, r#"{"content": "\ud800"}"#),
    ]);
    assert_eq!(changed.impossible, [1, 2]);
    let expected = document.text.replace("content: a", "content: \"new\"");
    assert_eq!(changed.text, expected);
}

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n".to_owned()),
        Just(" ".to_owned()),
        Just("\t".to_owned()),
        Just("# ".to_owned()),
        Just(": ".to_owned()),
        Just("- ".to_owned()),
        "[a-zA-Zé水😀]{1,4}",
        "[-0-9.eE+x_~|>'\"\\\\{}\\[\\],&*!%@`?]{1,3}",
        any::<char>().prop_map(String::from),
        Just("no".to_owned()),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("is equal to itself", |n| !n.is_nan())
            .prop_map(|n| Value::Number(Number::Float(n))),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            proptest::collection::vec((text(), inner), 0..4)
                .prop_map(|pairs| pairs.into_iter().collect::<Object>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_back(value in any_value()) {
        let text = write_document(&value);
        let read = Document::read(&text, Language::Yaml);
        let read = read.unwrap_or_else(|e| panic!("{text}: {e:?}")).root.to_value();
        prop_assert_eq!(read, value, "{}", text);
    }

    #[test]
    fn a_value_becomes_any_other_in_its_place(old in any_value(), new in any_value(), pretty: bool) {
        let case: Object = [("name", Value::from("x")), ("message", old), ("z", 1.into())].into_iter().collect();
        let list = vec![Value::from(case), "last".into()];
        let root: Object = [("cases", Value::from(list)), ("end", "here".into())].into_iter().collect();
        let (text, language) = match pretty {
            true => (write_document(&root.into()), Language::Yaml),
            false => (json::write_styled(&root.into(), &json::Style::pretty(2)), Language::Json),
        };
        let change = Change { pointer: "/cases/0".into(), key: "message", replaces: None, value: new };
        let document = Document::read(&text, language).expect("reads back");
        // What is given away has been read back.
        prop_assert!(document.changed(&[change]).impossible.is_empty(), "{}", text);
    }

    #[test]
    fn a_list_grows_by_any_value_and_stays_what_it_was(
        old in proptest::collection::vec(any_value(), 1..4), new in any_value(), pretty: bool,
    ) {
        let root: Object = [("cases", Value::from(old)), ("end", "here".into())].into_iter().collect();
        let (text, language) = match pretty {
            true => (write_document(&root.into()), Language::Yaml),
            false => (json::write(&root.into()), Language::Json),
        };
        let document = Document::read(&text, language).expect("reads back");
        let grown = document.with_item("cases", new).expect("has been read back");
        let kept = text.bytes().zip(grown.bytes()).take_while(|(a, b)| a == b).count();
        prop_assert!(grown.ends_with(&text[text.floor_char_boundary(kept)..]), "{grown}");
    }

    #[test]
    fn no_text_is_too_odd_to_read(text in text(), pieces in proptest::collection::vec(text(), 0..12)) {
        for text in [text, pieces.concat(), pieces.join("\n")] {
            for language in [Language::Yaml, Language::Json] {
                let _read_or_refused = Document::read(&text, language);
            }
        }
    }
}
