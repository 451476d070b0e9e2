//! However an output is cut into chunks, it means the same.
//!
//! Some delimiters can't keep that promise, because they go by what a chunk's end shows; a
//! template's `Delimiter::is_chunk_dependent_in` says which. For all the others it is held to here.

use proptest::prelude::*;
use unjinja::response::Language;
use unjinja::{
    Event, Object, OnMalformed, OwnedEvent, ParseError, ParserOptions, ResponseParser,
    ResponseTemplate, Tools, Value, json,
};

use crate::root;

/// What a parser reported of an output.
#[derive(Debug, Clone, PartialEq)]
struct Reading {
    events: Vec<OwnedEvent>,
    message: Option<Object>,
}

fn options(tools: &Tools) -> ParserOptions {
    ParserOptions::default().tools(tools.clone()).spans(true)
}

/// Feeds the chunks; a failure ends the reading.
fn read(
    template: &ResponseTemplate,
    prefix: &str,
    chunks: &[&str],
    options: ParserOptions,
) -> Reading {
    let mut events = Vec::new();
    let message = feed_all(template, prefix, chunks, options, &mut events);
    Reading {
        events,
        message: message.ok(),
    }
}

fn feed_all(
    template: &ResponseTemplate,
    prefix: &str,
    chunks: &[&str],
    options: ParserOptions,
    events: &mut Vec<OwnedEvent>,
) -> Result<Object, ParseError> {
    let mut parser = ResponseParser::new(template, prefix, options)?;
    events.extend_from_slice(parser.initial_events());
    for chunk in chunks {
        parser.feed_with(chunk, |event| events.push(event.into_owned()))?;
    }
    parser.finalize_with(|event| events.push(event.into_owned()))
}

/// The same by a parser that is asked after each chunk what it looks for.
fn read_while_looking(
    template: &ResponseTemplate,
    prefix: &str,
    chunks: &[&str],
    options: ParserOptions,
) -> Reading {
    let mut events = Vec::new();
    let feed_all = |events: &mut Vec<OwnedEvent>| {
        let mut parser = ResponseParser::new(template, prefix, options)?;
        events.extend_from_slice(parser.initial_events());
        for chunk in chunks {
            parser.feed_with(chunk, |event| events.push(event.into_owned()))?;
            parser.outlook();
        }
        parser.finalize_with(|event| events.push(event.into_owned()))
    };
    let message = feed_all(&mut events);
    Reading {
        events,
        message: message.ok(),
    }
}

impl Reading {
    /// The reading with neighbouring chunks joined: what is left when only the cutting differs.
    fn joined(&self) -> Reading {
        let mut joined: Vec<OwnedEvent> = Vec::new();
        for event in &self.events {
            if let (Some(OwnedEvent::Chunk { text, .. }), OwnedEvent::Chunk { text: more, .. }) =
                (joined.last_mut(), event)
            {
                text.push_str(more);
            } else {
                joined.push(event.clone());
            }
        }
        Reading {
            events: joined,
            message: self.message.clone(),
        }
    }
}

/// Every byte of a region is in exactly one chunk: its chunks are the text between its delimiters.
fn check_chunks(events: &[OwnedEvent], text: &str) -> Result<(), String> {
    let mut open: Option<(String, usize, String)> = None;
    for event in events {
        match (event.as_event(), &mut open) {
            (
                Event::Open {
                    field,
                    opening: Some(opening),
                },
                None,
            ) => {
                open = Some((field.into(), opening.span.end, String::new()));
            }
            (Event::Chunk { field, text, .. }, Some((current, _, body))) if field == current => {
                body.push_str(text);
            }
            (
                Event::Close {
                    field,
                    span: Some(span),
                    ..
                },
                Some((current, start, body)),
            )
            | (
                Event::Malformed {
                    field,
                    span: Some(span),
                    ..
                },
                Some((current, start, body)),
            ) if field == current => {
                let expected = text.get(*start..span.start);
                if expected != Some(body.as_str()) {
                    return Err(format!("{field}: chunks {body:?}, text {expected:?}"));
                }
                open = None;
            }
            (event, open) => return Err(format!("{event:?} while {open:?}")),
        }
    }
    Ok(())
}

fn is_chunk_independent(template: &ResponseTemplate) -> bool {
    let delimiters = template
        .fields()
        .iter()
        .flat_map(|field| field.open().into_iter().chain(field.close()));
    delimiters
        .into_iter()
        .all(|d| d.is_chunk_dependent_in(template.language()) == Some(false))
}

/// A text in pieces of lengths that a seed determines.
fn cut(text: &str, seed: u64) -> Vec<&str> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (piece, others) = rest.split_at(rest.ceil_char_boundary(1 + (state % 9) as usize));
        pieces.push(piece);
        rest = others;
    }
    pieces
}

fn by_character(text: &str) -> Vec<&str> {
    text.split("").filter(|c| !c.is_empty()).collect()
}

/// Holds one output, cut in several ways, against the same output whole.
fn check_cuts(
    template: &ResponseTemplate,
    prefix: &str,
    text: &str,
    options: &ParserOptions,
) -> Result<(), String> {
    let since_anchor = [
        template
            .after_anchor(prefix)
            .expect("the anchor is found")
            .unwrap_or(prefix),
        text,
    ]
    .concat();
    let whole = read(template, prefix, &[text], options.clone());
    let mut cuts = vec![by_character(text), vec!["", text, ""]];
    cuts.extend((1..=3).map(|seed| cut(text, seed)));
    // A beginning of a delimiter, then all the rest, with others in it.
    cuts.extend(text.match_indices('<').map(|(at, _)| {
        let (before, rest) = text.split_at(text.ceil_char_boundary(at + 2));
        vec![before, rest]
    }));
    check_chunks(&whole.events, &since_anchor).or_else(|why| unfinished(&whole, why))?;
    for chunks in cuts {
        let reading = read(template, prefix, &chunks, options.clone());
        check_chunks(&reading.events, &since_anchor).or_else(|why| unfinished(&reading, why))?;
        let looking = read_while_looking(template, prefix, &chunks, options.clone());
        if looking.joined() != reading.joined() {
            return Err(format!(
                "{chunks:?}\n  looking: {:?}\n  not: {:?}",
                looking.joined(),
                reading.joined()
            ));
        }
        if is_chunk_independent(template) && reading.joined() != whole.joined() {
            return Err(format!(
                "{chunks:?}\n  in pieces: {:?}\n  whole: {:?}",
                reading.joined(),
                whole.joined()
            ));
        }
    }
    Ok(())
}

/// Whether the chunks of each region of text, joined, are its value, where white space around it is left out
/// of both.
fn check_stripped_chunks(events: &[OwnedEvent]) -> Result<(), String> {
    let mut streamed = None;
    for event in events {
        match event {
            OwnedEvent::Open { .. } => streamed = Some(String::new()),
            OwnedEvent::Chunk { dirty: true, .. } => streamed = None,
            OwnedEvent::Chunk { text, .. } => {
                streamed.iter_mut().for_each(|all| all.push_str(text))
            }
            OwnedEvent::Close { field, value, .. } => {
                let differs = streamed
                    .as_deref()
                    .filter(|all| value.as_str() != Some(*all));
                if let Some(all) = differs {
                    return Err(format!("{field}: streamed {all:?}, value {value}"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn stripped_chunks_are_what_is_in_the_message(
        text in r"([ab日]|[ \n\t\u{a0}]{1,3}|<t>|</t>|<c>|<end>|<){0,30}",
        seed in any::<u64>(),
    ) {
        let template = ResponseTemplate::from_json(
            r#"{"start_anchor": "A:", "fields": {
                "thinking": {"open": "<t>", "close_pattern": "</t>\\s*", "repeats": true},
                "calls": {"open": "<c>", "close": "<end>", "content": "json",
                    "content_args": {"allow_non_json": true}, "repeats": true},
                "content": {"close": "<end>"}}}"#,
        ).expect("the template loads");
        let options = ParserOptions::default().stripped_chunks(true);
        let plain = read(&template, "", &[&text], ParserOptions::default());
        for chunks in [vec![text.as_str()], by_character(&text), cut(&text, seed)] {
            let reading = read(&template, "", &chunks, options.clone());
            prop_assert_eq!(&reading.message, &plain.message);
            let checked = check_stripped_chunks(&reading.events);
            prop_assert!(checked.is_ok(), "{:?}: {:?}", chunks, checked);
        }
    }
}

/// A reading that ends in an error may end amid a region.
fn unfinished(reading: &Reading, why: String) -> Result<(), String> {
    if reading.message.is_some() {
        Err(why)
    } else {
        Ok(())
    }
}

#[test]
fn recorded_outputs_mean_the_same_however_they_are_cut() {
    let cases = root().join("../shared/cases");
    let files = [
        "response_template.jsonl",
        "response_template_lookaround.jsonl",
    ];
    let (mut steady, mut others, mut failures) = (0, 0, Vec::new());
    for file in files {
        let Ok(lines) = std::fs::read_to_string(cases.join(file)) else {
            println!("skipped: there is no ../shared/cases/{file}");
            continue;
        };
        for line in lines.lines() {
            let case = json::read(line).expect("a recorded case is JSON");
            let Ok(template) = ResponseTemplate::from_value(case.get("response_template").unwrap())
            else {
                continue;
            };
            let text: String = case
                .get("chunks")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let prefix = case
                .get("prefix")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let tools = case.get("tools").map_or(Tools::none(), Tools::from_value);
            if is_chunk_independent(&template) {
                steady += 1;
            } else {
                others += 1;
            }
            if let Err(why) = check_cuts(&template, prefix, &text, &options(&tools)) {
                failures.push(format!("{}: {why}\n{line}", case.get("id").unwrap()));
            }
        }
    }
    println!("{steady} outputs cut-independent, {others} with delimiters that go by a chunk's end");
    assert!(
        failures.is_empty(),
        "{} failures, such as:\n{}",
        failures.len(),
        failures[0]
    );
}

/// Delimiters of every kind that keep their promise, each with texts that match it.
const OPENERS: &[(&str, &str, &[&str])] = &[
    ("open", r#""<think>""#, &["<think>"]),
    (
        "open",
        r#"["<a>", "<aa>", "<a>!"]"#,
        &["<a>", "<aa>", "<a>!"],
    ),
    ("open", r#""«""#, &["«"]),
    (
        "open_pattern",
        r#""<t(?:ool)?>\\s*""#,
        &["<t>", "<tool>\n\n", "<t> "],
    ),
    (
        "open_pattern",
        r#""call:[\\w.-]+\\{?""#,
        &["call:f", "call:f.g{"],
    ),
    ("open_pattern", r#""<x+>""#, &["<x>", "<xxx>"]),
    ("open_pattern", r#""\\bGO\\b""#, &[" GO ", "GO"]),
    (
        "open_pattern",
        r#""(?i)begin:.*?;""#,
        &["Begin: x;", "BEGIN:;"],
    ),
    // A set without regard to case, and words that begin where a chunk may.
    (
        "open_pattern",
        r#""(?ia)<<(?:q|\\p{Lu})+:""#,
        &["<<q:", "<<aZ:"],
    ),
    ("open_pattern", r#""\\m日+;""#, &[" 日;", "-日日;"]),
    // The first call behind a marker, and others only where it has come before.
    (
        "open_pattern",
        r#""(?:<do>\\s*|\\s+)(?=\\{\"k\")(?<=<do>.*?)""#,
        &["<do> {\"k\"", " {\"k\"", "<do>"],
    ),
    (
        "open_pattern",
        r#""(?:<do>|,)\\w\\((?<=<do>.*?)""#,
        &["<do>f(", ",b(", ",<do>f("],
    ),
    // All text waits for what comes further on.
    ("open_pattern", r#""<a>(?=[^;]*;)""#, &["<a>", "<a>b;"]),
];

const CLOSERS: &[(&str, &str, &[&str])] = &[
    ("close", r#""</think>""#, &["</think>"]),
    ("close", r#"["»", "\n\n"]"#, &["»", "\n\n"]),
    ("close", r#"["<e>", "<ee>"]"#, &["<e>", "<ee>"]),
    ("close_pattern", r#""\\s*</x>\\s*""#, &["</x>", " \n</x> "]),
    ("close_pattern", r#""\\s+END""#, &[" END", "\n\n  END"]),
    ("close_pattern", r#""</\\p{Lu}\\w*>""#, &["</É1>", "</A>"]),
    ("close_pattern", r#""(?:ab)+c""#, &["abc", "ababc"]),
    ("close_pattern", r#""\\Z""#, &[""]),
    (
        "close_pattern",
        r#""(?i)</[σ\\p{Nd}]>""#,
        &["</Σ>", "</ς>", "</٣>"],
    ),
    ("close_pattern", r#""b\\b;""#, &["b;"]),
    (
        "close_pattern",
        r#""\\s*(?<=a[^\\n]*)</y>""#,
        &["a </y>", "a\n</y>"],
    ),
];

const CONTENTS: &[&str] = &[
    r#""content": "text""#,
    r#""content": "text", "content_args": {"strip": false}"#,
    r#""content": "json", "content_args": {"allow_non_json": true}"#,
    r#""content": "json", "content_args": {"unquoted_keys": true, "string_delims": [["«", "»"]]}"#,
    r#""content": "kv-lines", "repeats": true"#,
    r#""content": "bool", "repeats": true"#,
    r#""content": "int""#,
    r#""content": "text", "repeats": true, "join": "+""#,
    r#""content": "xml-inline", "content_args": {"tag_pattern": "<(?P<key>\\w+)>(?P<value>[^<]*)<"}"#,
];

const NOISE: &[&str] = &[
    "a",
    "b",
    " ",
    "\n",
    "<",
    "</",
    "é",
    "日本",
    "😀",
    "ab",
    "END",
    "GO",
    "call:",
    "{\"k\": 1}",
    "12",
    "true",
    "k: v",
    "<think",
    "</thin",
    "<x",
    "\"",
    "»",
    "<k>v<",
    "{k: «</think>»}",
];

/// A field, and a text of it.
fn field() -> impl Strategy<Value = (String, String)> {
    let noise = prop::collection::vec(prop::sample::select(NOISE), 0..6);
    let delimiter = |known: &'static [(&str, &str, &[&str])]| {
        let texts =
            |(key, pattern, texts): (&'static str, &'static str, &'static [&'static str])| {
                (
                    Just(format!("\"{key}\": {pattern}")),
                    prop::sample::select(texts),
                )
            };
        prop::sample::select(known).prop_flat_map(texts)
    };
    (
        delimiter(OPENERS),
        delimiter(CLOSERS),
        prop::sample::select(CONTENTS),
        noise,
    )
        .prop_map(|((open, begins), (close, ends), content, noise)| {
            (
                format!("{{{open}, {close}, {content}}}"),
                format!("{begins}{}{ends}", noise.concat()),
            )
        })
}

/// A template, with or without a field for what is left over, and an output for it.
fn template_and_output() -> impl Strategy<Value = (String, String)> {
    let pieces = prop::collection::vec(
        (
            0..4usize,
            prop::collection::vec(prop::sample::select(NOISE), 0..4),
        ),
        1..6,
    );
    (
        prop::collection::vec(field(), 1..4),
        any::<Option<bool>>(),
        pieces,
    )
        .prop_map(|(fields, rest, pieces)| {
            let mut written: Vec<String> = fields
                .iter()
                .enumerate()
                .map(|(index, (field, _))| format!("\"f{index}\": {field}"))
                .collect();
            match rest {
                Some(true) => written.push(r#""rest": {"close": "<end>"}"#.into()),
                Some(false) => written.push(r#""rest": {"repeats": true}"#.into()),
                None => {}
            }
            let template = format!(
                r#"{{"start_anchor": "A:", "fields": {{{}}}}}"#,
                written.join(", ")
            );
            let output: String = pieces
                .iter()
                .map(|(field, noise)| {
                    let text = fields.get(*field).map_or("<end>", |(_, text)| text);
                    [text, &noise.concat()].concat()
                })
                .collect();
            (template, output)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn outputs_mean_the_same_however_they_are_cut(
        (template, output) in template_and_output(),
        goes_on in any::<bool>(),
        aware in any::<bool>(),
    ) {
        let template = ResponseTemplate::from_json(&template).expect("the template loads");
        prop_assert!(is_chunk_independent(&template));
        let options = options(&Tools::none())
            .on_malformed(if goes_on { OnMalformed::Event } else { OnMalformed::Fail })
            .body_aware_close(aware);
        prop_assert_eq!(check_cuts(&template, "A:", &output, &options), Ok(()));
    }
}

/// All texts of up to so many pieces.
fn texts_of(pieces: &[&str], most: usize) -> Vec<String> {
    let mut texts = vec![String::new()];
    let mut from = 0;
    for _ in 0..most {
        let shorter = from..texts.len();
        from = texts.len();
        for at in shorter {
            let longer = pieces.iter().map(|piece| texts[at].clone() + piece);
            texts.extend(longer.collect::<Vec<_>>());
        }
    }
    texts
}

/// Whether some text of these pieces means something else in two chunks than as a whole, or character by character.
fn depends_on_cuts(template: &ResponseTemplate, pieces: &[&str], language: Language) -> bool {
    let template = template.in_language(language).expect("all have it");
    let reading = |chunks: &[&str]| read(&template, "A:", chunks, options(&Tools::none())).joined();
    texts_of(pieces, 5).iter().any(|text| {
        let whole = reading(&[text]);
        let halves = text
            .char_indices()
            .map(|(at, _)| vec![&text[..at], &text[at..]]);
        halves
            .chain([by_character(text)])
            .any(|chunks| reading(&chunks) != whole)
    })
}

#[test]
fn delimiters_that_go_by_a_chunks_end_are_distinguished() {
    for (pattern, pieces, dependent) in [
        (r"</think>\s*", "</think>| |\n", Some(false)),
        (r"call:\w+\{?", "call:|f|{", Some(false)),
        (r"<a+>|<b>", "<|a|b|>", Some(false)),
        (r"\bGO\b", "GO|a|.", Some(false)),
        (r"\Z", "a|b|\n", Some(false)),
        (r"end\Z", "end|a|\n", Some(false)),
        // Takes `)` out of `)]`, though more might follow.
        (r"\)(?:\]<end>)?", ")|]|<end>", Some(true)),
        // Every chunk's end is an end, and hides that `<en` may grow.
        (r"<end>|$", "<end>|a", Some(true)),
        (r"<end>|\Z", "<end>|a", Some(true)),
        // `c` hides that `abc` may grow.
        (r"abcd|c", "a|b|c|d", Some(true)),
        (r"end$", "end|a|\n", Some(true)),
        // A shorter literal is taken although a longer one may still grow.
        (r"<aa>|<a>|<a", "<|a|>", Some(true)),
        (r"a(?=b)", "a|b|c", Some(false)),
        (
            r"(?:<a>|<b>)\s*|(?<! |<c>)(?=<c>)",
            "<a>|<b>|<c>| ",
            Some(false),
        ),
        // In `abb` the match of `ab` is taken, though another `b` would make it `abb`.
        (r"ab*(?=b)", "a|b|c", Some(true)),
        (r"a(?=b\s*)", "a|b|\n", Some(false)),
        (r"a(?=(?P<x>b+))", "a|b|c", Some(true)),
        (r"a(?=(?P<x>b))", "a|b|c", Some(false)),
        (r"(?<=\s)a(?:bc)?", "a|b|c|\n", Some(true)),
        // Where the text behind does not allow it, a thread ends whatever follows.
        (r"(?:<do>|,)\w\((?<=<do>.*?)", "<do>|f(|,", Some(false)),
        (
            r"(?:<do>\s*|\s+)(?=\{\s*)(?<=<do>.*?)",
            "<do>|{|\n",
            Some(false),
        ),
        // A match that ends with the chunk waits for more.
        (r"a(?!b)", "a|b|c", Some(false)),
        (r"a(?=b|\Z)", "a|b|c", Some(false)),
        (r"a\s*(?=b|\Z)", "a|b|c|\n", Some(false)),
        (r"a(?:bc)?(?=b|\Z)", "a|b|c", Some(true)),
        (r"a(?:b+c)?(?=d|\Z)", "a|b|c|d", Some(false)),
        // At the end of a chunk, nothing that must not come has come, and a word ends.
        (r"a(?!bc)", "a|b|c", Some(true)),
        (r"a(?!.*?c)", "a|b|c|\n", Some(true)),
        (r"(?=<a>(?!.*?<b>))", "<a>|<b>|c|\n", Some(true)),
        (r"a(?=bc|b\Z)", "a|b|c", Some(true)),
        (r"a(?=b\b)", "a|b|.", Some(true)),
        // What waits is kept from its own start on.
        (r"(?:[ab][ab][^a]|[ab])(?=b\Z)", "a|b|c", Some(true)),
        (r"a(?!b|cd)", "a|b|c|d", None),
        (r"a++b", "a|b", None),
    ] {
        // Whatever is captured has to be used.
        let transform = match pattern.contains("?P<x>") {
            true => r#", "transform": "{x}""#,
            false => "",
        };
        let template = format!(
            r#"{{"start_anchor": "A:", "fields": {{"x": {{"close_pattern": {}{transform}}}}}}}"#,
            json::write(&pattern.into())
        );
        let template = ResponseTemplate::from_json(&template).expect("the template loads");
        let close = template.field("x").and_then(|field| field.close());
        assert_eq!(
            close.and_then(|close| close.is_chunk_dependent()),
            dependent,
            "{pattern}"
        );
        let pieces: Vec<&str> = pieces.split('|').collect();
        let close = close.expect("it is there");
        let [older, newest] = [Language::V5_20, Language::V5_24].map(|language| {
            let said = close.is_chunk_dependent_in(language);
            (said, depends_on_cuts(&template, &pieces, language))
        });
        // What closes a field is at hand in its transform in the newest alone.
        assert_eq!(
            dependent,
            dependent.and(Some(older.1 || newest.1)),
            "{pattern}"
        );
        assert_eq!(newest.0, newest.0.and(Some(newest.1)), "{pattern}");
    }
}

/// A pattern of few letters, with looks where a match ends.
fn pattern() -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c", "ab", "[ab]", "[^a]", ".", r"\s"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec![r"\b", r"\Z", "$", "(?<=a)"]).prop_map(str::to_owned),
    ];
    let body = atom.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| parts.concat()),
            prop::collection::vec(inner.clone(), 2..3)
                .prop_map(|parts| format!("(?:{})", parts.join("|"))),
            (inner, prop::sample::select(vec!["?", "*", "+", "*?"]))
                .prop_map(|(part, times)| format!("(?:{part}){times}")),
        ]
    });
    let look = prop::sample::select(vec!["(?=", "(?!", "(?!.*?", r"(?![\s\S]*?", "(?!b"]);
    (body.clone(), prop::option::of((look, body))).prop_map(|(body, look)| match look {
        Some((look, ahead)) => format!("{body}{look}{ahead})"),
        None => body,
    })
}

proptest! {
    #[test]
    fn what_is_said_not_to_depend_on_cuts_does_not(pattern in pattern()) {
        let template = format!(
            r#"{{"start_anchor": "A:", "fields": {{"x": {{"close_pattern": {}}}}}}}"#,
            json::write(&pattern.into())
        );
        let Ok(template) = ResponseTemplate::from_json(&template) else {
            return Ok(());
        };
        for language in [Language::V5_20, Language::V5_24] {
            let template = template.in_language(language).expect("all have it");
            if is_chunk_independent(&template) {
                let depends = depends_on_cuts(&template, &["a", "b", "c", "\n"], language);
                prop_assert!(!depends, "in {language}");
            }
        }
    }
}

#[test]
fn asking_what_is_looked_for_loses_nothing() {
    let template = |pattern: &str| {
        let template = format!(
            r#"{{"start_anchor": "A:", "fields": {{"y": {{"close_pattern": {}, "repeats": true,
                "content_args": {{"strip": false}}}}}}}}"#,
            json::write(&pattern.into())
        );
        ResponseTemplate::from_json(&template).expect("the template loads")
    };
    for pattern in [
        r"\s*(?<=a[^\n]*)</y>",
        r"\s*</y>",
        r"\n*(?=</y>)",
        r"\s*(?:</y>|(?<!b\s*)<x>)",
    ] {
        let template = template(pattern);
        for chunks in rows_of(&["a", "b\nc", "d ", " ", "\n", "</y>"], 4) {
            let options = options(&Tools::none());
            let not_looking = read(&template, "A:", &chunks, options.clone());
            let looking = read_while_looking(&template, "A:", &chunks, options);
            assert_eq!(
                looking.joined(),
                not_looking.joined(),
                "{pattern}: {chunks:?}"
            );
        }
    }
}

/// All rows of so many pieces.
fn rows_of<'p>(pieces: &[&'p str], length: usize) -> Vec<Vec<&'p str>> {
    let mut rows = vec![Vec::new()];
    for _ in 0..length {
        let longer = rows.iter().flat_map(|row| {
            let more = pieces.iter();
            more.map(move |piece| [row.as_slice(), &[*piece]].concat())
        });
        rows = longer.collect();
    }
    rows
}

/// These need backtracking, of which it is not known whether they depend on cuts; here they don't.
#[test]
fn what_needs_backtracking_is_found_in_chunks() {
    let template = ResponseTemplate::from_json(
        r#"{"start_anchor": "A:", "fields": {
            "thinking": {"open": "<go>", "close_pattern": "(?>!+)\\."},
            "content": {"close": "<end>"}}}"#,
    )
    .expect("the template loads");
    let text = "So <go <<go>why! yes!!.Well.<end>";
    let whole = read(&template, "A:", &[text], options(&Tools::none()));
    assert!(whole.message.is_some());
    for chunks in (1..=9)
        .map(|seed| cut(text, seed))
        .chain([by_character(text)])
    {
        let reading = read(&template, "A:", &chunks, options(&Tools::none()));
        assert_eq!(reading.joined(), whole.joined(), "{chunks:?}");
    }
}
