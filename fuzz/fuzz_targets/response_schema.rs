//! A made-up response schema reads a made-up text: it is refused with a reason, or it reads the text
//! twice alike, makes no more of it than it may, and is brought over or not, with a reason.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use unjinja::response_schema::{ResponseSchema, Trial, Way, convert};
use unjinja::{Object, ResponseTemplate, Value, json};
use unjinja_fuzz::{assert_reads_back, pattern, same};

/// Schemas are nested so deep at the most.
const DEPTH: usize = 3;

const TYPES: &[&str] = &[
    "object", "array", "string", "integer", "number", "boolean", "any", "null",
];

const PATTERNS: &[&str] = &[
    "(?P<x>.*?)</t>(?P<y>.*)",
    "<t>(.*?)</t>",
    "(\\w)",
    "(?P<key>\\w)=(?P<value>.*?)(?:;|$)",
    "(?=(.*)).",
    "(a)?b",
    "nothing",
    "(",
];

const REPLACEMENTS: &[&str] = &[
    "",
    "\\1",
    "\\g<0>\\g<0>",
    "\\g<x>",
    "<\\2>",
    "\\n",
    "{\"a\": \\1}",
    "\\q",
];

/// Pieces that transforms and texts are put together from.
const EXPRESSIONS: &[&str] = &[
    "@",
    "a",
    "b",
    ".",
    "[*]",
    "[]",
    "[0]",
    "[::-1]",
    "[?",
    "]",
    "{a: @, b: a}",
    " || ",
    " && ",
    "!",
    " == ",
    " < ",
    " | ",
    "`1`",
    "'x'",
    "(",
    ")",
    "&",
    ", ",
    "merge(",
    "sort_by(",
    "map(",
    "length(",
    "sum(",
    "to_string(",
    "join('-', ",
    "keys(",
];
const TEXTS: &[&str] = &[
    "<t>",
    "</t>",
    "a",
    "b",
    "=",
    ";",
    "\n",
    " ",
    "é",
    "1",
    "true",
    "null",
    "{\"a\": [1, ",
    "2.5",
    "]}",
    "[",
    "{",
    "}",
    "\"",
    ":",
    ",",
    "<|\"|>",
    "\0",
    "{a:",
];

fuzz_target!(|data: &[u8]| {
    let _ = run(&mut Unstructured::new(data));
});

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    let value = Value::from(schema(u, DEPTH)?);
    let text = pieces(u, TEXTS, 40)?;
    let schema = match ResponseSchema::from_value(&value) {
        Ok(schema) => schema,
        Err(error) => {
            assert!(!error.faults.is_empty() && !error.to_string().is_empty());
            return Ok(());
        }
    };
    let written = json::write(&value);
    let again = ResponseSchema::from_json(&written).expect("it loaded before");
    assert_eq!(schema.warnings().len(), again.warnings().len());
    match (schema.read(&text), again.read(&text)) {
        (Ok(first), Ok(second)) => {
            assert!(
                same(&first, &second),
                "{written} reads {text:?} in two ways"
            );
            assert_reads_back(&first);
            assert!(json::write(&first).len() < (8 << 20) + 512 * text.len() + written.len());
        }
        (Err(first), Err(second)) => {
            assert_eq!(first, second);
            let place = value.pointer(&first.pointer);
            assert!(
                place.is_some() || first.pointer.ends_with("/additionalProperties"),
                "{first}"
            );
        }
        (first, second) => panic!("{written} reads {text:?} as {first:?} and as {second:?}"),
    }
    if u.ratio(1, 4)? {
        brought_over(
            &schema,
            if u.arbitrary()? {
                Way::Exact
            } else {
                Way::Streaming
            },
        );
    }
    Ok(())
}

/// What a schema is brought over to reads its texts as was said, and was written to a file as it is.
fn brought_over(schema: &ResponseSchema, way: Way) {
    match convert(schema, way) {
        Ok(conversion) => {
            let written = json::write(conversion.template.as_value());
            let template = ResponseTemplate::from_json(&written).expect("it loaded before");
            for trial in conversion.trials.iter().take(4) {
                let again = Trial::new(schema, &template, &trial.text);
                assert_eq!(
                    again.difference(),
                    trial.difference(),
                    "{written} {:?}",
                    trial.text
                );
            }
        }
        Err(error) => assert!(!error.faults.is_empty() && !error.to_string().is_empty()),
    }
}

fn schema(u: &mut Unstructured<'_>, depth: usize) -> Result<Object> {
    let mut object = Object::new();
    if u.ratio(1, 12)? {
        object.insert("const", value(u)?);
    }
    if u.ratio(9, 10)? {
        object.insert("type", *u.choose(TYPES)?);
    }
    for key in ["x-regex", "x-regex-iterator", "x-regex-key-value"] {
        if u.ratio(1, 4)? {
            object.insert(key, a_pattern(u)?);
        }
    }
    if u.ratio(1, 5)? {
        let pair = |u: &mut Unstructured<'_>| -> Result<Value> {
            Ok(vec![
                Value::from(a_pattern(u)?),
                Value::from(*u.choose(REPLACEMENTS)?),
            ]
            .into())
        };
        object.insert("x-regex-substitutions", vec![pair(u)?, pair(u)?]);
    }
    if u.ratio(1, 3)? {
        object.insert(
            "x-parser",
            *u.choose(&["json", "gemma4-tool-call", "yaml"])?,
        );
        let mut args = Object::new();
        if u.ratio(1, 2)? {
            args.insert("transform", pieces(u, EXPRESSIONS, 8)?);
        }
        args.insert("allow_non_json", u.arbitrary::<bool>()?);
        object.insert("x-parser-args", args);
    }
    if u.ratio(1, 6)? {
        object.insert("default", value(u)?);
    }
    if u.ratio(1, 8)? {
        object.insert("required", vec![Value::from("x")]);
    }
    if depth == 0 {
        return Ok(object);
    }
    if u.ratio(1, 2)? {
        let (first, second) = (schema(u, depth - 1)?, schema(u, depth - 1)?);
        object.insert(
            "properties",
            Object::from_iter([("x", first), ("a", second)]),
        );
    }
    if u.ratio(1, 4)? {
        object.insert("additionalProperties", schema(u, depth - 1)?);
    }
    match u.int_in_range(0..=3)? {
        0 => {}
        1 => {
            object.insert("prefixItems", vec![Value::from(schema(u, depth - 1)?)]);
        }
        _ => {
            object.insert("items", schema(u, depth - 1)?);
        }
    }
    Ok(object)
}

fn a_pattern(u: &mut Unstructured<'_>) -> Result<String> {
    Ok(match u.ratio(1, 2)? {
        true => (*u.choose(PATTERNS)?).to_owned(),
        false => format!("({})", pattern::any(u)?.text),
    })
}

fn value(u: &mut Unstructured<'_>) -> Result<Value> {
    Ok(json::read(&pieces(u, TEXTS, 6)?).unwrap_or_default())
}

fn pieces(u: &mut Unstructured<'_>, of: &[&str], most: usize) -> Result<String> {
    let count = u.int_in_range(0..=most)?;
    (0..count).map(|_| Ok(*u.choose(of)?)).collect()
}
