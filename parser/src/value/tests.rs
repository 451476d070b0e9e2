use std::hash::BuildHasher;
use std::sync::Arc;

use super::*;

fn half() -> JsonString {
    JsonString::from_wtf8(b"a\xed\xa0\x80\xed\xbf\xbfb\xed\xa0\xbd".to_vec())
}

#[test]
fn strings_with_surrogates() {
    let text = half();
    assert_eq!(text.as_str(), None);
    assert_eq!(text.to_string_lossy(), "a\u{fffd}\u{fffd}b\u{fffd}");
    assert_eq!(text.to_string(), text.clone().into_string_lossy());
    assert_eq!(format!("{text:?}"), r#""a\u{d800}\u{dfff}b\u{d83d}""#);
    assert_eq!(text.len(), 11);
    let pieces: Vec<_> = text.pieces().collect();
    assert_eq!(
        pieces,
        [("a", Some(0xd800)), ("", Some(0xdfff)), ("b", Some(0xd83d))]
    );
    let hangul = JsonString::from_wtf8("\u{d7ff}x".into());
    assert_eq!(hangul.as_str(), Some("\u{d7ff}x"));
    let broken = JsonString::from_wtf8(vec![b'a', 0xff]);
    assert_eq!(broken.to_string(), "a\u{fffd}");
    assert_eq!(format!("{broken:?}"), r#""a\u{fffd}""#);
}

#[test]
fn lossy_keeps_neighbours_of_surrogates() {
    let text = JsonString::from_wtf8("\u{d7ff}\u{e000}ab".into());
    assert_eq!(text.to_string_lossy(), "\u{d7ff}\u{e000}ab");
    let mut bytes = "\u{d7ff}".as_bytes().to_vec();
    bytes.extend(b"\xed\xa0\x80");
    bytes.extend("\u{e000}é".as_bytes());
    let text = JsonString::from_wtf8(bytes);
    assert_eq!(text.to_string_lossy(), "\u{d7ff}\u{fffd}\u{e000}é");
}

#[test]
fn strings_compare_and_hash_as_str() {
    let text = JsonString::from("aé");
    assert_eq!(text, "aé");
    assert_eq!("aé", text);
    assert_ne!(half(), "a");
    assert_ne!(half(), *half().to_string_lossy());
    let state = std::hash::RandomState::new();
    assert_eq!(state.hash_one(&text), state.hash_one("aé"));
    assert_eq!(state.hash_one(half()), state.hash_one(half()));
    // In the order of code points, surrogates stand before U+E000.
    let texts = [
        JsonString::from("a\u{d7ff}"),
        half(),
        JsonString::from("a\u{e000}"),
    ];
    assert!(texts.is_sorted());
    assert!(JsonString::new().is_empty() && JsonString::default().as_str() == Some(""));
}

#[test]
fn objects_keep_their_order() {
    let mut object: Object = [("b", 1), ("a", 2), ("b", 3)].into_iter().collect();
    object.insert(half(), true);
    let shown = |object: &Object| json::write(&object.clone().into());
    let expected = r#"{"b":3,"a":2,"a\ud800\udfffb\ud83d":true}"#;
    assert_eq!(shown(&object), expected);
    assert_eq!(object.get_json_string(&half()), Some(&Value::from(true)));
    assert_eq!(object.get("a"), Some(&Value::from(2)));
    assert_eq!(object.get("c"), None);
    assert_eq!(object.remove("b"), Some(Value::from(3)));
    assert_eq!(object.remove("b"), None);
    assert!(object.contains_key("a") && !object.contains_key("b"));
    object.retain(|key, _| key.as_str().is_some());
    object.extend([("c", Value::Null)]);
    for (_, value) in &mut object {
        *value = vec![value.clone()].into();
    }
    if let Some(value) = object.get_mut("a") {
        *value = "x".into();
    }
    assert_eq!(shown(&object), r#"{"a":"x","c":[null]}"#);
    assert_eq!(object.iter().rev().len(), 2);
    let reversed: Object = object.clone().into_iter().rev().collect();
    assert_eq!(reversed, object);
    assert_eq!(reversed.values().count(), 2);
    assert_eq!(format!("{object:?}").chars().next(), Some('{'));
}

#[test]
fn clones_share_their_members_until_one_is_changed() {
    let original: Object = [("a", Value::from(1)), ("b", Object::new().into())]
        .into_iter()
        .collect();
    let share = |a: &Object, b: &Object| Arc::ptr_eq(&a.0, &b.0);
    type Change = fn(&mut Object);
    let changes: [(Change, &str); 7] = [
        (|o| drop(o.insert("c", 2)), r#"{"a":1,"b":{},"c":2}"#),
        (|o| drop(o.remove("a")), r#"{"b":{}}"#),
        (|o| o.retain(|key, _| *key == "a"), r#"{"a":1}"#),
        (|o| o.extend([("a", 2)]), r#"{"a":2,"b":{}}"#),
        (|o| *o.get_mut("a").unwrap() = 3.into(), r#"{"a":3,"b":{}}"#),
        (
            |o| o.iter_mut().for_each(|(_, value)| *value = Value::Null),
            r#"{"a":null,"b":null}"#,
        ),
        (
            |o| *o = o.clone().into_iter().rev().collect(),
            r#"{"b":{},"a":1}"#,
        ),
    ];
    for (change, expected) in changes {
        let mut clone = original.clone();
        assert!(share(&original, &clone));
        change(&mut clone);
        assert_eq!(json::write(&clone.into()), expected);
        assert_eq!(json::write(&original.clone().into()), r#"{"a":1,"b":{}}"#);
    }
}

#[test]
fn pointers_follow_the_rfc() {
    let text = r#"{"foo":["bar","baz"],"":0,"a/b":1,"m~n":8,"~1":9,"x":{"0":{"00":7}}}"#;
    let value = json::read(text).expect("is JSON");
    let cases: [(&str, Option<Value>); 15] = [
        ("", Some(value.clone())),
        ("/foo/0", Some("bar".into())),
        ("/foo/1", Some("baz".into())),
        ("/foo/2", None),
        ("/foo/01", None),
        ("/foo/+1", None),
        ("/foo/-", None),
        ("/foo/", None),
        ("/", Some(0.into())),
        ("/a~1b", Some(1.into())),
        ("/m~0n", Some(8.into())),
        ("/~01", Some(9.into())),
        ("/x/0/00", Some(7.into())),
        ("/x/0/00/1", None),
        ("foo", None),
    ];
    for (pointer, expected) in cases {
        assert_eq!(value.pointer(pointer), expected.as_ref(), "{pointer}");
    }
}

#[test]
fn values_from_rust() {
    for (value, shown, name) in [
        (Value::default(), "null", "null"),
        (true.into(), "true", "a boolean"),
        (i64::MIN.into(), "-9223372036854775808", "a number"),
        (u64::MAX.into(), "18446744073709551615", "a number"),
        (7_usize.into(), "7", "a number"),
        (1e16.into(), "1e+16", "a number"),
        (String::from("x").into(), "\"x\"", "a string"),
        (Vec::new().into(), "[]", "an array"),
        (Object::new().into(), "{}", "an object"),
    ] {
        assert_eq!(value.to_string(), shown);
        assert_eq!(value.type_name(), name);
    }
    assert_eq!(Number::from(u64::MAX).as_f64(), 18446744073709551616.0);
    assert_eq!(Number::from(3).as_i64(), Some(3));
    assert_ne!(Value::from(1), Value::from(1.0));
    assert_eq!(Number::Float(f64::INFINITY).to_string(), "Infinity");
}
