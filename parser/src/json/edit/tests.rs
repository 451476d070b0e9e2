use super::*;
use proptest::prelude::*;

use crate::value::Object;

#[test]
fn values_are_replaced_where_they_stand() {
    for (text, value, expected) in [
        (r#"{"k":1}"#, "[1,2]", r#"{"k":[1,2]}"#),
        (r#"{"k": 1}"#, "[1,2]", r#"{"k": [1, 2]}"#),
        (
            " { \"k\" : 1 } \n",
            "{\"a\":0}",
            " { \"k\" : {\"a\" : 0} } \n",
        ),
        (
            r#"{"a": 1e0,"k": {"x": "\/"},"b": "\u0041"}"#,
            "[1,2]",
            r#"{"a": 1e0,"k": [1,2],"b": "\u0041"}"#,
        ),
        // The last of equal keys is the one that readers see.
        (
            r#"{"k":1,"k":2,"a":{"k":3}}"#,
            "4",
            r#"{"k":1,"k":4,"a":{"k":3}}"#,
        ),
        (r#"{"\u006b":1}"#, "2", r#"{"\u006b":2}"#),
        (
            "{\n  \"k\": 1,\n  \"a\": 2\n}\n",
            "{\"x\":[1,{}]}",
            "{\n  \"k\": {\n    \"x\": [\n      1,\n      {}\n    ]\n  },\n  \"a\": 2\n}\n",
        ),
        (
            "{\r\n\t\"a\": 2,\r\n\t\"k\": [\r\n\t]\r\n}",
            "[1]",
            "{\r\n\t\"a\": 2,\r\n\t\"k\": [\r\n\t\t1\r\n\t]\r\n}",
        ),
        // The key does not begin its line.
        (
            "{\"k\": 1, \"a\": [\n   1\n]}",
            "[2]",
            "{\"k\": [\n   2\n], \"a\": [\n   1\n]}",
        ),
        ("{\"k\"\n:\n1}", "[2]", "{\"k\"\n:\n[\n2\n]}"),
        // The object itself is indented.
        (
            "  {\n    \"k\": 1\n  }",
            "[2]",
            "  {\n    \"k\": [\n      2\n    ]\n  }",
        ),
    ] {
        assert_set(text, "k", value, expected);
    }
}

#[test]
fn keys_are_added_at_the_end() {
    for (text, value, expected) in [
        ("{}", "[1,{}]", r#"{"k": [1, {}]}"#),
        ("{ }\n", "1", "{ \"k\": 1 }\n"),
        ("{\n}\n", "[1]", "{\n  \"k\": [\n    1\n  ]\n}\n"),
        ("\t{\r\n\r\n\t}", "1", "\t{\r\n\t  \"k\": 1\r\n\t}"),
        (r#"{"a":1}"#, "[1,2]", r#"{"a":1,"k":[1,2]}"#),
        (r#"{ "a": 1 }"#, "[1,2]", r#"{ "a": 1, "k": [1, 2] }"#),
        (
            r#"{"a": 1,"b": 2}"#,
            "[1,2]",
            r#"{"a": 1,"b": 2,"k": [1,2]}"#,
        ),
        (
            "{\"a\":1 , \"b\"  :  2}\r\n",
            "{\"x\":1,\"y\":2}",
            "{\"a\":1 , \"b\"  :  2 , \"k\":{\"x\":1 , \"y\":2}}\r\n",
        ),
        (
            "{\n \"a\": 1\n}",
            "[1]",
            "{\n \"a\": 1,\n \"k\": [\n  1\n ]\n}",
        ),
        ("{\n\"a\": 1\n}", "[1]", "{\n\"a\": 1,\n\"k\": [\n1\n]\n}"),
        (
            "{\r\t\"a\":1\r}",
            "[1]",
            "{\r\t\"a\":1,\r\t\"k\":[\r\t\t1\r\t]\r}",
        ),
        (
            "{\n  \"a\": 1,  \n\n\n  \"b\": 2\n\n}\n\n",
            "3",
            "{\n  \"a\": 1,  \n\n\n  \"b\": 2,\n  \"k\": 3\n\n}\n\n",
        ),
        // Commas begin lines, or members share one.
        (
            "{ \"a\": 1\n, \"b\": 2\n}",
            "[3]",
            "{ \"a\": 1\n, \"b\": 2\n, \"k\": [\n3\n]\n}",
        ),
        (
            "{\"a\": 1,\n \"b\": 2, \"c\": 3}",
            "[4]",
            "{\"a\": 1,\n \"b\": 2, \"c\": 3, \"k\": [\n  4\n ]}",
        ),
        (
            "{\"a\": [\n    1\n]}",
            "[2]",
            "{\"a\": [\n    1\n], \"k\": [\n    2\n]}",
        ),
        ("{\"a\": 1\n}", "[2]", "{\"a\": 1, \"k\": [\n  2\n]\n}"),
        ("{\"a\"\n:1}", "2", "{\"a\"\n:1, \"k\": 2}"),
    ] {
        assert_set(text, "k", value, expected);
    }
}

#[test]
fn characters_are_written_as_the_document_does() {
    for (text, expected) in [
        (r#"{"a":"x"}"#, r#"{"a":"x","é":"日\ud800"}"#),
        (
            r#"{"a":"\u00fc"}"#,
            r#"{"a":"\u00fc","\u00e9":"\u65e5\ud800"}"#,
        ),
        (r#"{"\u00fc":1}"#, r#"{"\u00fc":1,"\u00e9":"\u65e5\ud800"}"#),
        (r#"{"a":"ü\u00fc"}"#, r#"{"a":"ü\u00fc","é":"日\ud800"}"#),
        // None of these needs more than ASCII.
        (
            r#"{"a":"\\u00fc\u003c\n"}"#,
            r#"{"a":"\\u00fc\u003c\n","é":"日\ud800"}"#,
        ),
        ("\u{feff}{}", "\u{feff}{\"é\": \"日\\ud800\"}"),
        (
            "\u{feff}{\n\"\\u00fc\":1\n}",
            "\u{feff}{\n\"\\u00fc\":1,\n\"\\u00e9\":\"\\u65e5\\ud800\"\n}",
        ),
    ] {
        assert_set(text, "é", r#""日\ud800""#, expected);
    }
}

#[test]
fn keys_are_told_from_what_only_looks_like_them() {
    let text = "\u{feff}{\"a\": {\"b\": 1}, \"c/d\": null, \"c\": \"\\\"e\\\"\", \"a\": 2}";
    for (key, expected) in [
        ("a", Some(2.into())),
        ("b", None),
        ("c/d", Some(Value::Null)),
        ("e", None),
        ("", None),
    ] {
        assert_eq!(get_key(text, key), Ok(expected), "{key}");
    }
}

#[test]
fn what_is_no_object_is_refused_with_its_place() {
    for (text, shown, place) in [
        (
            "",
            "this is not JSON: expected a value at line 1, column 1, but the text ends there",
            0,
        ),
        (
            "{\"a\": 1,\n}",
            "this is not JSON: expected a key in double quotes at line 2, column 1",
            9,
        ),
        (
            "\u{feff}{a}",
            "this is not JSON: expected a key in double quotes at line 1, column 2",
            4,
        ),
        (
            "\n [{}]",
            "expected an object, found an array at line 2, column 2",
            2,
        ),
        (
            "\u{feff}null",
            "expected an object, found null at line 1, column 1",
            3,
        ),
    ] {
        let error = set_key(text, "k", &Value::Null).expect_err(text);
        assert_eq!(error.to_string(), shown);
        assert_eq!(
            error.position().map(|position| position.offset),
            Some(place)
        );
        assert_eq!(get_key(text, "k"), Err(error));
    }
}

#[test]
fn nothing_is_written_that_could_not_be_read() {
    let nested = |depth| read(&("[".repeat(depth) + &"]".repeat(depth))).expect("is JSON");
    let deepest = super::super::MAX_DEPTH;
    for text in ["{}", "{\n}", "{\"k\": 1}"] {
        assert!(set_key(text, "k", &nested(deepest - 1)).is_ok());
        let error = set_key(text, "k", &nested(deepest)).expect_err("too deep");
        assert_eq!(error, EditError::Unreadable(ErrorKind::TooDeep));
        assert_eq!(error.position(), None);
    }
}

/// Also tries that setting the key again changes nothing.
fn assert_set(text: &str, key: &str, value: &str, expected: &str) {
    let value = read(value).expect("is JSON");
    for text in [text, expected] {
        assert_eq!(
            set_key(text, key, &value).as_deref(),
            Ok(expected),
            "{text}"
        );
        assert_eq!(get_key(expected, key).as_ref(), Ok(&Some(value.clone())));
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        "[ab\\\\\"/,:{}\\[\\]\n é😀]{0,5}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-dé]{0,2}", inner), 0..4)
                .prop_map(|members| members.into_iter().collect::<Object>().into()),
        ]
    })
}

/// Space as it may stand between any two parts of a document.
fn space() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(&["", "", " ", "\t", "\n", "\r\n", "\r", "\n    "][..]);
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

/// What a program makes of an object that writes in a style of its own.
fn printed(object: &Object, indent: Option<&str>, line_break: &str, style: &Style) -> String {
    let style = Style {
        indent: indent.map(|_| 1),
        ..style.clone()
    };
    let mut out = String::new();
    for line in write_styled(&object.clone().into(), &style).split_inclusive('\n') {
        let content = line.trim_start_matches(' ');
        out += &indent
            .unwrap_or_default()
            .repeat(line.len() - content.len());
        out += &content.replace('\n', line_break);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a document looks like, all of it stays but what is set.
    #[test]
    fn all_other_bytes_stay(
        members in prop::collection::vec(("[a-dé]{0,1}", values(), space(), space(), space()), 0..5),
        key in "[a-dé]{0,1}",
        value in values(),
        ascii: bool,
        mark: bool,
        around in (space(), space(), space()),
    ) {
        let style = Style { ensure_ascii: ascii, ..Style::COMPACT };
        let mark = if mark { "\u{feff}" } else { "" };
        let mut text = format!("{mark}{}{{{}", around.0, around.1);
        let mut end = None;
        let mut replaced = None;
        let mut expected = Object::new();
        for (name, member, before, between, after) in members {
            if end.is_some() {
                text += ",";
            }
            text += &before;
            write_str(&mut text, &name, ascii);
            text += &format!("{between}:{between}");
            let start = text.len();
            write_into(&mut text, &member, &style);
            end = Some(text.len());
            if name == key {
                replaced = Some(start..text.len());
            }
            text += &after;
            expected.insert(name, member);
        }
        text += &format!("}}{}", around.2);
        expected.insert(key.as_str(), value.clone());

        let edited = set_key(&text, &key, &value).expect("is an object");
        prop_assert_eq!(read(&edited[mark.len()..]), Ok(expected.into()));
        // The space inside of an empty object is not kept.
        let brace = mark.len() + around.0.len() + 1;
        let kept = replaced.unwrap_or(match end {
            Some(end) => end..end,
            None => brace..brace + around.1.len(),
        });
        prop_assert!(edited.starts_with(&text[..kept.start]), "{text:?} {edited:?}");
        prop_assert!(edited.ends_with(&text[kept.end..]), "{text:?} {edited:?}");
    }

    /// What is set looks as if the document's own program had written it.
    #[test]
    fn the_style_stays(
        members in prop::collection::vec(("[a-d]{1,2}", values()), 0..4),
        key in "[a-dxé]{1,2}",
        value in values(),
        indent in prop::option::of(prop::sample::select(&["", " ", "  ", "    ", "\t"][..])),
        line_break in prop::sample::select(&["\n", "\r\n"][..]),
        item_separator in prop::sample::select(&[",", ", "][..]),
        key_separator in prop::sample::select(&[":", ": ", " : "][..]),
        ensure_ascii: bool,
    ) {
        // With less than this, separators and escapes would be a guess.
        let mut object: Object = [("é", 1), ("x", 2)].into_iter().collect();
        object.extend(members);
        let item_separator = if indent.is_some() { "," } else { item_separator };
        let style = Style {
            item_separator: item_separator.into(),
            key_separator: key_separator.into(),
            ensure_ascii,
            ..Style::COMPACT
        };
        let text = printed(&object, indent, line_break, &style);
        object.insert(key.as_str(), value.clone());
        let expected = printed(&object, indent, line_break, &style);
        prop_assert_eq!(set_key(&text, &key, &value), Ok(expected));
    }
}
