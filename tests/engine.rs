//! What the engine does, as the cases in `tests/engine/*.json` say.
//!
//! A case has a `name` that reads like a statement, a `template`, an output (`text`, or `chunks`),
//! and may have a `prefix`, `tools`, `options`, and the release whose `language` the template is read in. The other keys say what is to come of it; events
//! are written shorter than they are exchanged, as `{"chunk": field, "text": "…"}`, and `dirty` only
//! where it is true. What is compared is the written form: the order of keys matters, and `1` is
//! not `1.0`.

use unjinja::response::{Language, UnknownLanguage};
use unjinja::{
    Event, Object, OnMalformed, OnUnread, ParseError, ParserOptions, Position, ResponseParser,
    ResponseTemplate, Tools, Unfinished, UnknownTools, Value, json,
};

use crate::root;

const INPUTS: &[&str] = &[
    "name", "template", "language", "prefix", "text", "chunks", "tools", "options",
];
const EXPECTATIONS: &[&str] = &[
    "initial_events",
    "events",
    "final_events",
    "message",
    "error",
    "load_faults",
    "warnings",
];
const OPTIONS: &[&str] = &[
    "spans",
    "on_malformed",
    "on_unread",
    "unknown_tools",
    "unfinished",
    "body_aware_close",
];

#[test]
fn the_engine_does_what_the_cases_say() {
    let (mut names, mut failures): (Vec<String>, Vec<String>) = Default::default();
    for (place, case) in cases() {
        let mut wrong = match check(&case) {
            Ok(differences) => differences,
            Err(unfit) => vec![unfit],
        };
        if names.contains(&place) {
            wrong.push("another case has this name".into());
        }
        failures.extend(wrong.iter().map(|what| format!("{place}\n{what}")));
        names.push(place);
    }
    assert!(!names.is_empty(), "there are no cases");
    assert!(
        failures.is_empty(),
        "{} differences in {} cases:\n\n{}\n",
        failures.len(),
        names.len(),
        failures.join("\n\n")
    );
}

/// All cases, each with its file and name.
fn cases() -> Vec<(String, Value)> {
    let directory = root().join("tests/engine");
    let mut files: Vec<_> = std::fs::read_dir(&directory)
        .expect("the cases are there")
        .map(|entry| entry.expect("the directory can be read").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    let mut all = Vec::new();
    for path in files {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(&path).expect("a file of cases can be read");
        let cases = match json::read(&text) {
            Ok(Value::Array(cases)) => cases,
            Ok(_) => panic!("{file} holds no array"),
            Err(error) => panic!("{file}: {error}"),
        };
        let place = |case: &Value| {
            let name = case.get("name").and_then(Value::as_str).unwrap_or("?");
            format!("{file}: {name}")
        };
        all.extend(cases.into_iter().map(|case| (place(&case), case)));
    }
    all
}

/// What a case is found to differ in; an error if it isn't well formed.
fn check(case: &Value) -> Result<Vec<String>, String> {
    let case = case.as_object().ok_or("a case is an object")?;
    refuse_unknown(case, &[INPUTS, EXPECTATIONS].concat())?;
    if !EXPECTATIONS.iter().any(|key| case.contains_key(key)) {
        return Err("the case expects nothing".into());
    }
    let actual = run(case)?;
    let mut differences = Vec::new();
    for key in EXPECTATIONS {
        let (expected, actual) = (case.get(key), actual.get(key));
        let agrees = match (*key, expected, actual) {
            ("error" | "load_faults", None, None) => true,
            // A failure that no one expects.
            ("error" | "load_faults", None, Some(_)) => false,
            (_, None, _) => true,
            ("error", Some(Value::String(part)), Some(Value::String(error))) => {
                let (part, error) = (part.to_string_lossy(), error.to_string_lossy());
                !part.is_empty() && error.contains(&*part)
            }
            (_, Some(expected), Some(actual)) => json::write(expected) == json::write(actual),
            (_, Some(_), None) => false,
        };
        if !agrees {
            let shown = |value: Option<&Value>| value.map_or("nothing".into(), json::write);
            differences.push(format!(
                "  expected {key}: {}\n    actual {key}: {}",
                shown(expected),
                shown(actual)
            ));
        }
    }
    Ok(differences)
}

fn refuse_unknown(object: &Object, known: &[&str]) -> Result<(), String> {
    let unknown = |key: &str| format!("the key `{key}` is not known");
    match object
        .keys()
        .map(|key| key.to_string_lossy())
        .find(|key| !known.contains(&&**key))
    {
        Some(key) => Err(unknown(&key)),
        None => Ok(()),
    }
}

/// What a case is about.
struct Input<'c> {
    template: &'c Value,
    language: Language,
    prefix: &'c str,
    chunks: Vec<&'c str>,
    options: ParserOptions,
}

/// Reads the keys of a case that say what it is about.
fn input(case: &Object) -> Result<Input<'_>, String> {
    let prefix = match case.get("prefix") {
        None => "",
        Some(prefix) => prefix.as_str().ok_or("the prefix is a string")?,
    };
    let chunks = match (case.get("text"), case.get("chunks")) {
        (None, None) => Vec::new(),
        (Some(text), None) => vec![text.as_str().ok_or("the text is a string")?],
        (None, Some(chunks)) => chunks
            .as_array()
            .and_then(|chunks| chunks.iter().map(Value::as_str).collect())
            .ok_or("the chunks are strings")?,
        (Some(_), Some(_)) => return Err("there are both `text` and `chunks`".into()),
    };
    Ok(Input {
        template: case.get("template").ok_or("there is no template")?,
        language: match case.get("language").map(Value::as_str) {
            None => Language::default(),
            Some(release) => release
                .unwrap_or_default()
                .parse()
                .map_err(|error: UnknownLanguage| error.to_string())?,
        },
        prefix,
        chunks,
        options: options(case)?,
    })
}

/// Runs a case. The result has a key for each expectation that the run has an answer to.
fn run(case: &Object) -> Result<Object, String> {
    let input = input(case)?;
    let mut actual = Object::new();
    let faults = |faults: &[unjinja::Diagnostic]| -> Value {
        let faults = faults.iter().map(|fault| Value::from(fault.to_string()));
        faults.collect::<Vec<Value>>().into()
    };
    let newest = ResponseTemplate::from_value(input.template);
    match newest.and_then(|template| template.in_language(input.language)) {
        Ok(template) => {
            actual.insert("warnings", faults(template.warnings()));
            if let Err(error) = parse(&template, &input, &mut actual) {
                actual.insert("error", error.to_string());
            }
        }
        Err(error) => {
            actual.insert("load_faults", faults(&error.faults));
        }
    }
    Ok(actual)
}

fn options(case: &Object) -> Result<ParserOptions, String> {
    let mut options =
        ParserOptions::default().tools(case.get("tools").map_or(Tools::none(), Tools::from_value));
    let Some(given) = case.get("options") else {
        return Ok(options);
    };
    let given = given.as_object().ok_or("the options are an object")?;
    refuse_unknown(given, OPTIONS)?;
    let flag = |name: &str| match given.get(name) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(format!("the option `{name}` is true or false")),
    };
    options.spans = flag("spans")?;
    options.body_aware_close = flag("body_aware_close")?;
    options.on_malformed = match given.get("on_malformed").map(Value::as_str) {
        None | Some(Some("fail")) => OnMalformed::Fail,
        Some(Some("event")) => OnMalformed::Event,
        Some(Some("text")) => OnMalformed::Text,
        Some(_) => {
            return Err("the option `on_malformed` is \"fail\", \"event\" or \"text\"".into());
        }
    };
    options.on_unread = match given.get("on_unread").map(Value::as_str) {
        None | Some(Some("pass")) => OnUnread::Pass,
        Some(Some("malformed")) => OnUnread::Malformed,
        Some(_) => return Err("the option `on_unread` is \"pass\" or \"malformed\"".into()),
    };
    options.unknown_tools = match given.get("unknown_tools").map(Value::as_str) {
        None | Some(Some("keep")) => UnknownTools::Keep,
        Some(Some("text")) => UnknownTools::Text,
        Some(Some("drop")) => UnknownTools::Drop,
        Some(_) => {
            return Err("the option `unknown_tools` is \"keep\", \"text\" or \"drop\"".into());
        }
    };
    options.unfinished = match given.get("unfinished").map(Value::as_str) {
        None | Some(Some("keep")) => Unfinished::Keep,
        Some(Some("mark")) => Unfinished::Mark,
        Some(Some("drop")) => Unfinished::Drop,
        Some(_) => return Err("the option `unfinished` is \"keep\", \"mark\" or \"drop\"".into()),
    };
    Ok(options)
}

/// Parses an output. What happens before a failure is kept.
fn parse(
    template: &ResponseTemplate,
    input: &Input<'_>,
    actual: &mut Object,
) -> Result<(), ParseError> {
    let mut parser = ResponseParser::new(template, input.prefix, input.options.clone())?;
    let initial = parser.initial_events().iter();
    let initial: Vec<Value> = initial.map(|event| brief(&event.as_event())).collect();
    actual.insert("initial_events", initial);
    let mut events: Vec<Value> = Vec::new();
    for chunk in &input.chunks {
        let mut of_chunk = Vec::new();
        let result = parser.feed_with(chunk, |event| of_chunk.push(brief(&event)));
        events.push(of_chunk.into());
        actual.insert("events", events.clone());
        result?;
    }
    actual.insert("events", events);
    let mut last = Vec::new();
    let message = parser.finalize_with(|event| last.push(brief(&event)));
    actual.insert("final_events", last);
    actual.insert("message", message?);
    Ok(())
}

/// An event as the cases write it.
fn brief(event: &Event<'_>) -> Value {
    let mut brief = Object::new();
    for (key, value) in event.to_value().as_object().into_iter().flatten() {
        match key.to_string_lossy().as_ref() {
            "type" => {
                let kind = value.as_str().unwrap_or_default();
                brief.insert(kind.trim_start_matches("region_"), event.field());
            }
            "field" => {}
            "dirty" if *value == Value::from(false) => {}
            _ => {
                brief.insert(key.clone(), value.clone());
            }
        }
    }
    brief.into()
}

/// Of a text, of which all is read once more from each of its places.
const MOST_CHARACTERS: usize = 120;

#[test]
fn a_clone_goes_on_as_its_original_does() {
    let mut count = 0;
    for (place, case) in cases() {
        let case = case.as_object().expect("a case is an object");
        let input = input(case).expect("a case is well formed");
        let Ok(template) = ResponseTemplate::from_value(input.template) else {
            continue;
        };
        let Ok(mut walker) = ResponseParser::new(&template, input.prefix, input.options) else {
            continue;
        };
        let text = input.chunks.concat();
        let characters: Vec<&str> = text.split("").filter(|c| !c.is_empty()).collect();
        if characters.len() > MOST_CHARACTERS {
            continue;
        }
        let whole = goes_on(walker.clone(), &characters);
        let mut before = Vec::new();
        for (index, character) in characters.iter().enumerate() {
            let kept = walker.clone();
            let read = |parser| [&before[..], &goes_on(parser, &characters[index..])].concat();
            assert_eq!(read(kept.clone()), whole, "{place}, at {index}");
            assert_eq!(read(kept), whole, "{place}, at {index}, once more");
            count += 1;
            // The original goes on as a clone of itself.
            walker = walker.clone();
            if walker
                .feed_with(character, |event| before.push(summary(&event)))
                .is_err()
            {
                break;
            }
        }
    }
    assert!(count > 1_000, "only {count} places");
}

/// All that is reported of the rest of a text.
fn goes_on(mut parser: ResponseParser, rest: &[&str]) -> Vec<String> {
    let mut trace = Vec::new();
    for piece in rest {
        if let Err(error) = parser.feed_with(piece, |event| trace.push(summary(&event))) {
            trace.push(error.to_string());
            return trace;
        }
    }
    let outcome = parser.finalize_with(|event| trace.push(summary(&event)));
    trace.push(format!("{outcome:?}"));
    trace
}

/// An event in words: numbers that are no numbers are not equal to themselves.
fn summary(event: &Event<'_>) -> String {
    format!("{event:?}")
}

#[test]
fn faults_and_warnings_tell_their_place_in_the_document() {
    let document = r#"{"inner": {
  "start_anchor": "",
  "fields": {
    "a": {"opne": 1, "open": ["<a>",
          5], "close_pattern": "é(b"},
    "b": {"open": "<b>", "transform": ["{content}", {"x/y": "-{content}"}]}
  }
}}"#;
    let error = ResponseTemplate::from_json_at(document, "/inner").unwrap_err();
    let places: Vec<_> = error
        .faults
        .iter()
        .map(|fault| {
            (
                fault.position.map(Position::line_column),
                fault.pointer.as_str(),
            )
        })
        .collect();
    assert_eq!(
        places,
        [
            (Some((2, 19)), "/inner/start_anchor"),
            (Some((4, 11)), "/inner/fields/a/opne"),
            (Some((5, 11)), "/inner/fields/a/open/1"),
            (Some((5, 32)), "/inner/fields/a/close_pattern"),
            (Some((6, 61)), "/inner/fields/b/transform/1/x~1y"),
        ]
    );
    let first = error.in_file("it.json").to_string();
    let first = first.lines().next();
    assert!(first.is_some_and(|line| line.starts_with("it.json:2:19: /inner/start_anchor: ")));

    let error = ResponseTemplate::from_json("{\n  \"fields\": }").unwrap_err();
    assert_eq!(
        error.to_string(),
        "2:13: this is not JSON: expected a value"
    );
    let error = ResponseTemplate::from_json_at("{}", "/inner").unwrap_err();
    assert_eq!(
        error.to_string(),
        "/inner: there is no response template here"
    );
}

#[test]
fn a_flood_of_faults_is_cut_off_and_says_so() {
    let fields: Vec<String> = (0..300)
        .map(|n| format!("\"f{n}\": {{\"opne\": 1}}"))
        .collect();
    let json = format!(
        r#"{{"start_anchor": "A:", "fields": {{{}}}}}"#,
        fields.join(", ")
    );
    let error = ResponseTemplate::from_json(&json).expect_err("nothing of it is right");
    assert_eq!(error.faults.len(), 101);
    let last = error.faults.last().map(ToString::to_string);
    assert_eq!(
        last.as_deref(),
        Some("there are more faults: mend these first")
    );
}
