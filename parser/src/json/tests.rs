use super::special::special_from;
use super::*;
use crate::value::Number;

fn rewritten(text: &str) -> Result<String, ErrorKind> {
    match read(text) {
        Ok(value) => Ok(write(&value)),
        Err(error) => Err(error.kind()),
    }
}

#[test]
fn reads_what_python_reads() {
    for (text, expected) in [
        (" \t\r\nnull \t\r\n", "null"),
        ("[true,false]", "[true,false]"),
        ("NaN", "NaN"),
        ("[Infinity,-Infinity]", "[Infinity,-Infinity]"),
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("0e5", "0.0"),
        ("1E+5", "100000.0"),
        ("1e-5", "1e-05"),
        ("1e16", "1e+16"),
        ("-1.50", "-1.5"),
        ("1e400", "Infinity"),
        ("-1e400", "-Infinity"),
        ("1e-400", "0.0"),
        ("123456789012345678", "123456789012345678"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775809", "-9223372036854775809"),
        ("[ ]", "[]"),
        ("{ }", "{}"),
        ("[[],{},[{}]]", "[[],{},[{}]]"),
        (r#"{"a" : 1 , "b":[1 ,2]}"#, r#"{"a":1,"b":[1,2]}"#),
        (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
        (r#""\"\\\/\b\f\n\r\t\u00e9""#, r#""\"\\/\b\f\n\r\té""#),
        ("\"\u{7f}\u{2028}é😀\"", "\"\u{7f}\u{2028}é😀\""),
        (r#""\u0000\u001f""#, r#""\u0000\u001f""#),
        (r#""\ud83d\ude00""#, "\"😀\""),
        (r#""\uD83D\uDE00""#, "\"😀\""),
        (r#""\ud83d\ud83d\ude00""#, "\"\\ud83d😀\""),
        (r#""\ude00\ud83d""#, r#""\ude00\ud83d""#),
        (r#""\ud83d\u0041é""#, r#""\ud83dAé""#),
        (r#""\ud83d\n""#, r#""\ud83d\n""#),
        (r#"{"\ud800":1,"\ud800":2}"#, r#"{"\ud800":2}"#),
    ] {
        assert_eq!(rewritten(text).as_deref(), Ok(expected), "{text}");
    }
    assert_eq!(read("1"), Ok(Number::Int(1).into()));
    assert_eq!(read("1.0"), Ok(Number::Float(1.0).into()));
}

#[test]
fn refuses_what_python_refuses() {
    use ErrorKind::*;
    for (text, kind, offset) in [
        ("", ExpectedValue, 0),
        ("  ", ExpectedValue, 2),
        ("\u{a0}1", ExpectedValue, 0),
        ("\u{c}1", ExpectedValue, 0),
        ("\u{feff}1", ByteOrderMark, 0),
        ("nul", ExpectedValue, 0),
        ("True", ExpectedValue, 0),
        ("nan", ExpectedValue, 0),
        ("-", ExpectedValue, 0),
        ("-NaN", ExpectedValue, 0),
        ("-Inf", ExpectedValue, 0),
        ("+1", ExpectedValue, 0),
        (".5", ExpectedValue, 0),
        ("01", TrailingData, 1),
        ("1.", TrailingData, 1),
        ("1.5e", TrailingData, 3),
        ("1e+", TrailingData, 1),
        ("1 2", TrailingData, 2),
        ("nullx", TrailingData, 4),
        ("[1,]", ExpectedValue, 3),
        ("[,1]", ExpectedValue, 1),
        ("[1 2]", ExpectedCommaOrBracket, 3),
        ("[1}", ExpectedCommaOrBracket, 2),
        ("[", ExpectedValue, 1),
        ("[1", ExpectedCommaOrBracket, 2),
        ("[01]", ExpectedCommaOrBracket, 2),
        ("{", ExpectedKey, 1),
        ("{a:1}", ExpectedKey, 1),
        ("{'a':1}", ExpectedKey, 1),
        ("{\"a\"}", ExpectedColon, 4),
        ("{\"a\":}", ExpectedValue, 5),
        ("{\"a\":1,}", ExpectedKey, 7),
        ("{\"a\":1]", ExpectedCommaOrBrace, 6),
        ("{\"a\":1 \"b\":2}", ExpectedCommaOrBrace, 7),
        ("[\"abc", UnterminatedString, 1),
        ("\"abc\\", UnterminatedString, 0),
        ("\"a\\\"", UnterminatedString, 0),
        ("\"a\nb\"", ControlCharacter, 2),
        ("\"0123456789\u{1f}\"", ControlCharacter, 11),
        ("\"\\n\u{0}\"", ControlCharacter, 3),
        ("\"\\x41\"", InvalidEscape, 1),
        ("\"\\'\"", InvalidEscape, 1),
        ("\"\\é\"", InvalidEscape, 1),
        ("\"\\u12", InvalidUnicodeEscape, 1),
        ("\"\\u12\"", InvalidUnicodeEscape, 1),
        ("\"\\u+123\"", InvalidUnicodeEscape, 1),
        ("\"\\u1_23\"", InvalidUnicodeEscape, 1),
        ("\"\\u\u{ff11}234\"", InvalidUnicodeEscape, 1),
        ("\"\\ud83d\\u12g4\"", InvalidUnicodeEscape, 7),
    ] {
        let error = read(text).expect_err(text);
        assert_eq!((error.kind(), error.offset()), (kind, offset), "{text}");
        assert!(error.is_syntax());
    }
}

#[test]
fn long_integers_have_an_error_of_their_own() {
    let long = "1".repeat(4300);
    assert_eq!(rewritten(&long), Ok(long.clone()));
    assert_eq!(rewritten(&format!("-{long}")), Ok(format!("-{long}")));
    for text in [format!("{long}1"), format!("-{long}1"), format!("{long}1.")] {
        let error = read(&text).expect_err("too long");
        assert_eq!(error.kind(), ErrorKind::IntegerTooLong);
        assert!(!error.is_syntax() && error.is_at_end());
        assert!(
            !read(&format!("[{text}]"))
                .expect_err("too long")
                .is_at_end()
        );
    }
    // A float may have as many digits as it likes.
    assert_eq!(rewritten(&format!("{long}1.0")).as_deref(), Ok("Infinity"));
}

#[test]
fn depth_is_bounded() {
    let nested = |open: &str, close: &str, depth| open.repeat(depth) + &close.repeat(depth);
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let most = MAX_DEPTH;
        // Everything that goes down into a value works at that depth,
        // even on the small stacks that tests get.
        let text = nested(open, close, most).replace(":}", ":null}");
        let value = read(&text).expect("just fits");
        assert_eq!(write(&value), text);
        assert_eq!(
            read(&write_styled(&value, &Style::pretty(1))),
            Ok(value.clone())
        );
        assert!(locate(&text, "").is_some());
        assert!(format!("{value:?}").len() > most);
        let error = read(&nested(open, close, most + 1)).expect_err("too deep");
        assert_eq!(error.kind(), ErrorKind::TooDeep);
    }
    assert_eq!(rewritten(&"[".repeat(1_000_000)), Err(ErrorKind::TooDeep));
    assert_eq!(
        rewritten(&"[".repeat(MAX_DEPTH)),
        Err(ErrorKind::ExpectedValue)
    );
    let wide = format!("[{}[]]", "[],".repeat(5000));
    assert_eq!(rewritten(&wide), Ok(wide.clone()));
}

#[test]
fn errors_say_where() {
    for (text, shown) in [
        (
            "{\"é\":\n\"ü\" 1}",
            "expected `,` or `}` at line 2, column 5",
        ),
        (
            "[1",
            "expected `,` or `]` at line 1, column 3, but the text ends there",
        ),
        ("[\n\"a", "a string that does not end at line 2, column 1"),
        ("\n\n x", "expected a value at line 3, column 2"),
    ] {
        assert_eq!(read(text).expect_err(text).to_string(), shown);
    }
}

#[test]
fn errors_know_whether_more_text_could_help() {
    for text in [
        "",
        "[",
        "[1",
        "[1,",
        "{\"a\"",
        "{\"a\":",
        "\"a",
        "\"a\\",
        "\"\\u1",
        "\"\\u",
        "t",
        "nul",
        "[-",
        "-Infinit",
        "1.",
        "[-12.",
        "1.5e",
        "[1,2E+",
        "{\"a\": 0e-",
    ] {
        assert!(read(text).expect_err(text).is_at_end(), "{text}");
    }
    for text in [
        "x", "[}", "[1 x", "\"\\u1g", "\"\\x", "\"a\n", "nup", "[1 t", "1.5.", "1e5.", "1e5e",
        "1 .", "\"a\"e", "01",
    ] {
        assert!(!read(text).expect_err(text).is_at_end(), "{text}");
    }
}

#[test]
fn reads_raw_surrogates() {
    let value = read_wtf8(b"[\"a\xed\xa0\xbd\",\"\xed\xa0\xbd\\ude00\"]").expect("is JSON");
    // Half of the pair escaped, half of it not: Python keeps both apart.
    assert_eq!(write(&value), r#"["a\ud83d","\ud83d\ude00"]"#);
    assert_eq!(read_wtf8("{\"é\":1}".as_bytes()), read("{\"é\":1}"));
    let error = read_wtf8(b"\"\xed\xa0\xbd\" x").expect_err("trailing");
    assert_eq!((error.offset(), error.column()), (6, 5));
    assert!(read_wtf8(b"\"\xff\"").is_ok() && read_wtf8(b"\xed\xa0\xbd").is_err());
}

#[test]
fn writes_strings_as_python_does() {
    let cases = [
        ("", "\"\"", "\"\""),
        ("plain", "\"plain\"", "\"plain\""),
        ("\"\\/", r#""\"\\/""#, r#""\"\\/""#),
        ("\n\r\t\u{8}\u{c}", r#""\n\r\t\b\f""#, r#""\n\r\t\b\f""#),
        (
            "\0\u{1b}\u{1f}",
            r#""\u0000\u001b\u001f""#,
            r#""\u0000\u001b\u001f""#,
        ),
        ("\u{7f}", "\"\u{7f}\"", r#""\u007f""#),
        ("é\u{2028}", "\"é\u{2028}\"", r#""\u00e9\u2028""#),
        (
            "0123456é89😀",
            "\"0123456é89😀\"",
            r#""0123456\u00e989\ud83d\ude00""#,
        ),
    ];
    for (text, as_is, ascii) in cases {
        let mut out = String::new();
        write_str(&mut out, text, false);
        assert_eq!(out, as_is);
        out.clear();
        write_str(&mut out, text, true);
        assert_eq!(out, ascii);
        assert_eq!(read(as_is), Ok(text.into()));
        assert_eq!(read(ascii), Ok(text.into()));
    }
}

#[test]
fn every_byte_is_found_at_every_place() {
    for byte in 0..=0xFF_u8 {
        let special = byte < 0x20 || byte == b'"' || byte == b'\\';
        for place in 0..20 {
            // Neighbours on both sides of the limits try the borrows.
            for filler in [b' ', b'a', b'!', b'#', b'[', b']', b'~', 0x80, 0xFF] {
                let mut bytes = [filler; 21];
                bytes[place] = byte;
                let expected = if special { place } else { 21 };
                assert_eq!(special_from::<false>(&bytes, 0), expected);
                let plain = bytes.iter().position(|&b| !(0x20..0x7F).contains(&b));
                let expected = plain.unwrap_or(21).min(expected);
                assert_eq!(special_from::<true>(&bytes, 0), expected);
            }
        }
    }
    assert_eq!(special_from::<false>(b"ab", 2), 2);
}

#[test]
fn styles_are_pythons() {
    let value = read(r#"{"b":[],"a":{},"c":[1,{"é":2.0}]}"#).expect("is JSON");
    let zero = Style::pretty(0);
    let odd = Style {
        indent: Some(1),
        item_separator: " ;".into(),
        key_separator: "=".into(),
        sort_keys: true,
        ensure_ascii: true,
    };
    for (style, expected) in [
        (Style::default(), r#"{"b":[],"a":{},"c":[1,{"é":2.0}]}"#),
        (
            Style::PYTHON,
            r#"{"b": [], "a": {}, "c": [1, {"\u00e9": 2.0}]}"#,
        ),
        (
            Style::pretty(2),
            "{\n  \"b\": [],\n  \"a\": {},\n  \"c\": [\n    1,\n    {\n      \"é\": 2.0\n    }\n  ]\n}",
        ),
        (
            zero,
            "{\n\"b\": [],\n\"a\": {},\n\"c\": [\n1,\n{\n\"é\": 2.0\n}\n]\n}",
        ),
        (
            odd,
            "{\n \"a\"={} ;\n \"b\"=[] ;\n \"c\"=[\n  1 ;\n  {\n   \"\\u00e9\"=2.0\n  }\n ]\n}",
        ),
    ] {
        assert_eq!(write_styled(&value, &style), expected);
    }
    let mut out = String::from("x = ");
    write_into(&mut out, &Value::Null, &Style::COMPACT);
    assert_eq!(out, "x = null");
}

#[test]
fn sorts_by_code_point() {
    let value = read(r#"{"\ue000":1,"\ud800":2,"😀":3,"a":4,"B":5}"#).expect("is JSON");
    let style = Style {
        sort_keys: true,
        ..Style::COMPACT
    };
    let expected = "{\"B\":5,\"a\":4,\"\\ud800\":2,\"\u{e000}\":1,\"😀\":3}";
    assert_eq!(write_styled(&value, &style), expected);
}

#[test]
fn locates_values_and_keys() {
    let text =
        " {\"a\": {\"b\": 1}, \"c/d\": [true, \"x]\", [2]],\n\"a\": {\"e\": -1.5}, \"\": null}";
    let at = |needle: &str| text.find(needle);
    let cases = [
        ("", Some(1), None),
        ("/c~1d", at("[true"), at("\"c/d")),
        ("/c~1d/0", at("true"), None),
        ("/c~1d/1", at("\"x]"), None),
        ("/c~1d/2/0", at("2]]"), None),
        ("/c~1d/3", None, None),
        ("/c~1d/00", None, None),
        ("/a", at("{\"e"), at("\"a\": {\"e")),
        ("/a/e", at("-1.5"), at("\"e")),
        ("/a/b", None, None),
        ("/a/e/f", None, None),
        ("/", at("null"), at("\"\": n")),
        ("/x", None, None),
        ("a", None, None),
    ];
    let offset = |position: Position| position.offset;
    for (pointer, value, key) in cases {
        assert_eq!(locate(text, pointer).map(offset), value, "{pointer}");
        assert_eq!(locate_key(text, pointer).map(offset), key, "{pointer}");
    }
    let place = locate(text, "/a/e").expect("is there");
    assert_eq!((place.line, place.column), (2, 12));
    assert_eq!(locate("[1,", "/0"), None);
    assert_eq!(locate(" 7 ", "").map(offset), Some(1));
}

#[test]
fn later_keys_hide_what_earlier_ones_held() {
    let text = r#"{"a":{"b":1},"a":2,"c":[{"d":1,"d":[5]}]}"#;
    assert_eq!(locate(text, "/a/b"), None);
    assert_eq!(locate(text, "/a").map(|place| place.column), Some(18));
    assert_eq!(locate(text, "/c/0/d/0").map(|place| place.column), Some(37));
}
