//! What response schemas do, as the cases in `tests/response_schema/*.json` say.
//!
//! A case has a `name` that reads like a statement, and a `schema`. With a `text`, it has the `message`
//! or the `error` that comes of it; without, the `faults` for which the schema is refused, or the
//! `warnings` that it loads with. What is compared is the written form: the order of keys matters, and
//! `1` is not `1.0`.

use std::thread;

use proptest::prelude::*;

use unjinja::response_schema::ResponseSchema;
use unjinja::{Diagnostic, Object, Value, json};

use crate::root;

#[test]
fn response_schemas_do_what_the_cases_say() {
    let (mut names, mut failures): (Vec<String>, Vec<String>) = Default::default();
    for (place, case) in cases() {
        let expected: Object = case
            .iter()
            .filter(|(key, _)| !["name", "schema", "text"].contains(&&*key.to_string_lossy()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let actual = outcome(&case);
        if json::write(&expected.clone().into()) != json::write(&actual.clone().into()) {
            failures.push(format!(
                "{place}\n  expected: {}\n    actual: {}",
                json::write(&expected.into()),
                json::write(&actual.into())
            ));
        }
        assert!(!names.contains(&place), "{place} is there twice");
        names.push(place);
    }
    assert!(!names.is_empty(), "there are no cases");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// All cases, each with its file and name.
fn cases() -> Vec<(String, Object)> {
    let directory = root().join("tests/response_schema");
    let mut files: Vec<_> = std::fs::read_dir(&directory)
        .expect("the cases are there")
        .map(|entry| entry.expect("the directory can be read").path())
        .collect();
    files.sort();
    let mut all = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a file of cases can be read");
        let cases = json::read(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for case in cases.as_array().expect("a file holds a list of cases") {
            let case = case.clone().into_object();
            let name = case.get("name").and_then(Value::as_str).expect("a name");
            all.push((format!("{}: {name}", path.display()), case));
        }
    }
    all
}

/// What comes of a case.
fn outcome(case: &Object) -> Object {
    let schema = case.get("schema").expect("a case has a schema");
    let list =
        |found: &[Diagnostic]| -> Value { found.iter().map(Diagnostic::to_string).collect() };
    let schema = match ResponseSchema::from_value(schema) {
        Ok(schema) => schema,
        Err(error) => return Object::from_iter([("faults", list(&error.faults))]),
    };
    let Some(text) = case.get("text") else {
        return Object::from_iter([("warnings", list(schema.warnings()))]);
    };
    let text = text.as_str().expect("the text is a string");
    match schema.read(text) {
        Ok(message) => Object::from_iter([("message", message)]),
        Err(error) => Object::from_iter([("error", Value::from(error.to_string()))]),
    }
}

fn schema(json: &str) -> ResponseSchema {
    ResponseSchema::from_json(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

#[test]
fn faults_have_their_place_in_the_document() {
    let config = r#"{
  "eos_token": "<end>",
  "response_schema": {"type": "object", "properties": {
    "a": {"x-regex": "(?P<b"},
    "c": {"x-parser": "yml"}}}
}"#;
    let error = ResponseSchema::from_json_at(config, "/response_schema").unwrap_err();
    assert_eq!(
        error.in_file("config.json").to_string(),
        "config.json:4:22: /response_schema/properties/a/x-regex: the pattern can't have a group name \
         without its `>`, as at its byte 0"
    );
    let mended = config.replace("(?P<b", "(b)");
    let schema = ResponseSchema::from_json_at(&mended, "/response_schema").expect("it is mended");
    assert_eq!(
        schema.warnings()[0].to_string(),
        "5:23: /response_schema/properties/c/x-parser: there is no parser `yml`, so reading fails here: \
         known are `json`, `gemma4-tool-call`"
    );
    let error = schema.read("b").unwrap_err();
    assert_eq!(error.to_string(), "/properties/c: there is no parser `yml`");
}

/// Each would take a time or a memory that no text justifies.
#[test]
fn what_reading_costs_is_limited() {
    let doubled: Vec<String> = vec![r#"["(?s).*", "\\g<0>\\g<0>"]"#.into(); 40];
    let copies = vec!["[@, @]"; 60].join(" | ");
    let long = "a".repeat(100_000);
    for (schema_text, text, cause) in [
        (
            format!(r#"{{"x-regex-substitutions": [{}]}}"#, doubled.join(", ")),
            long.clone(),
            "many times as much",
        ),
        (
            r#"{"type": "array", "x-regex-iterator": "(?=(.*)).", "items": {}}"#.into(),
            long.clone(),
            "many times as much",
        ),
        (
            format!(r#"{{"x-parser": "json", "x-parser-args": {{"transform": "{copies}"}}}}"#),
            "[1]".into(),
            "many times as much",
        ),
        (
            r#"{"type": "array", "x-regex-iterator": "(<.*Q|<)", "items": {}}"#.into(),
            "<".repeat(100_000),
            "too many steps",
        ),
    ] {
        let error = schema(&schema_text).read(&text).unwrap_err();
        assert!(error.message.contains(cause), "{schema_text}: {error}");
    }
}

#[test]
fn schemas_may_be_so_large() {
    let nested = |depth: usize| {
        let (open, close) = (
            r#"{"type": "array", "items": "#.repeat(depth),
            "}".repeat(depth),
        );
        format!("{open}{{}}{close}")
    };
    assert!(ResponseSchema::from_json(&nested(100)).is_ok());
    let faults = |text: &str| ResponseSchema::from_json(text).unwrap_err().to_string();
    assert!(faults(&nested(101)).ends_with("schemas are nested more than 100 deep"));
    let wide = (0..1_200).map(|key| format!(r#""k{key}": {{}}"#));
    let wide = wide.collect::<Vec<_>>().join(", ");
    let wide = format!(r#"{{"type": "object", "properties": {{{wide}}}}}"#);
    assert!(faults(&wide).ends_with("there are more than 1000 schemas in this one"));
}

/// Expressions are read and run by functions that call themselves, on threads with small stacks, too.
#[test]
fn no_expression_takes_the_stack() {
    let deepest = [
        ("(", "a", ")", 150),
        ("!", "a", "", 150),
        ("[", "a", "]", 150),
        ("{a:", "a", "}", 150),
        ("a[*].", "a", "", 50),
        ("a[]", "a", "", 150),
        ("a.", "a", "", 150),
        ("a|", "a", "", 150),
        ("a==", "a", "", 75),
        ("length(", "a", ")", 150),
    ];
    for (open, middle, close, count) in deepest {
        let expression = format!("{}{middle}{}", open.repeat(count), close.repeat(count));
        let args = Object::from_iter([("transform", expression)]);
        let value = Object::from_iter([
            ("x-parser", Value::from("json")),
            ("x-parser-args", args.into()),
        ]);
        let done = thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(
                move || match ResponseSchema::from_value(Value::from(value)) {
                    Ok(schema) => schema.read(r#"{"a": {"a": []}}"#).is_ok(),
                    Err(_) => false,
                },
            )
            .expect("a thread can be made")
            .join();
        assert!(done.is_ok(), "{open}");
    }
    let refused = |expression: String| {
        let json =
            format!(r#"{{"x-parser": "json", "x-parser-args": {{"transform": "{expression}"}}}}"#);
        ResponseSchema::from_json(&json).unwrap_err().to_string()
    };
    let error = refused("(".repeat(151));
    assert!(
        error.ends_with("more than 150 brackets, dots and operators"),
        "{error}"
    );
    let error = refused("a".repeat(4_001));
    assert!(error.ends_with("it is longer than 4000 bytes"), "{error}");
}

#[test]
fn a_schema_is_found_where_it_stands() {
    for (document, expected) in [
        (r#"{"type": "object"}"#, Some("")),
        (r#"{"x-regex": "(a)"}"#, Some("")),
        (r#"{"response_schema": {}}"#, Some("/response_schema")),
        (
            "\u{feff}{\"response_schema\": {}}",
            Some("/response_schema"),
        ),
        (r#"{"response_schema": null, "eos_token": "e"}"#, None),
        (r#"{"response_schema": {}, "response_template": {}}"#, None),
        (
            r#"{"response_schema": {}, "response_template": null}"#,
            Some("/response_schema"),
        ),
        (r#"{"type": "object", "fields": {}}"#, None),
        (r#"{"eos_token": "e"}"#, None),
        ("[]", None),
        ("{", None),
    ] {
        assert_eq!(ResponseSchema::find_in(document), expected, "{document}");
    }
}

/// Pieces that texts and patterns are put together from.
fn pieces(of: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(of), 0..8).prop_map(|pieces| pieces.concat())
}

const TEXT: &[&str] = &[
    "<t>", "</t>", "a", "=", "1", "{", "\"a\"", ":", "}", "\n", "é", "<|\"|>", ",",
];
const PATTERN: &[&str] = &[
    "<t>",
    "(.*?)",
    "(?P<key>\\w+)",
    "(?P<value>.)",
    "=",
    "|",
    "$",
    "(?=a)",
    "(",
    ")",
    "*",
    "\\s*",
    "[",
];

proptest! {
    #[test]
    fn no_schema_and_no_text_panics(
        patterns in prop::collection::vec(pieces(PATTERN), 4),
        replacement in pieces(&["\\1", "\\g<key>", "a", "\\n", "\\"]),
        transform in pieces(&["a", ".", "[*]", "{b: @}", "(", ")", "keys(@)", " || ", "`1`", "[::-1]", "&"]),
        kind in prop::sample::select(&["object", "array", "string", "integer", "any", "?"][..]),
        keys in 0_usize..128,
        text in pieces(TEXT),
    ) {
        let mut object = Object::from_iter([("type", Value::from(kind)), ("items", Object::new().into())]);
        let substitution = vec![Value::from(patterns[3].as_str()), replacement.into()];
        let args = Object::from_iter([("transform", transform)]);
        for (bit, key, value) in [
            (1, "x-regex", Value::from(patterns[0].as_str())),
            (2, "x-regex-iterator", patterns[1].as_str().into()),
            (4, "x-regex-key-value", patterns[2].as_str().into()),
            (8, "x-regex-substitutions", vec![Value::from(substitution)].into()),
            (16, "x-parser", "json".into()),
            (32, "x-parser", "gemma4-tool-call".into()),
            (64, "x-parser-args", args.into()),
        ] {
            if keys & bit != 0 {
                object.insert(key, value);
            }
        }
        if let Ok(schema) = ResponseSchema::from_value(Value::from(object)) {
            let _either_way = schema.read(&text);
        }
    }
}
