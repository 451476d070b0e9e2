//! Outputs as chat completions: what is sent while a model writes, and that it is the message in the end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use proptest::prelude::*;
use unjinja::check::{Fixture, find};
use unjinja::completion::{
    Completion, CompletionMessage, CompletionOptions, Delta, Ending, Finished,
};
use unjinja::{
    OnMalformed, OnUnread, OwnedEvent, ParseError, ParserOptions, ResponseParser, ResponseTemplate,
    Tools, Value, json,
};

use crate::root;

fn value(text: &str) -> Value {
    json::read(text).expect("it is JSON")
}

/// An output with what it is read with.
#[derive(Debug, Clone)]
struct Output {
    name: String,
    template: ResponseTemplate,
    prefix: String,
    text: String,
    tools: Tools,
}

impl Output {
    fn options(&self, on_malformed: OnMalformed) -> ParserOptions {
        ParserOptions::default()
            .tools(self.tools.clone())
            .on_malformed(on_malformed)
            .on_unread(OnUnread::Malformed)
            .calls_end_thoughts(true)
    }

    fn completion(&self, on_malformed: OnMalformed) -> Result<Completion, ParseError> {
        let options = CompletionOptions::default()
            .reasoning("reasoning")
            .on_malformed(on_malformed);
        Completion::new(
            &self.template,
            &self.prefix,
            self.options(on_malformed),
            options,
        )
    }

    /// What clients are sent of the text in these pieces, and what comes of it.
    fn send(
        &self,
        pieces: &[&str],
        on_malformed: OnMalformed,
    ) -> Result<(Vec<Value>, Finished), ParseError> {
        let mut completion = self.completion(on_malformed)?;
        let mut deltas = completion.initial_deltas().to_vec();
        for piece in pieces {
            deltas.extend(completion.feed(piece)?);
        }
        let mut chunks: Vec<Value> = deltas.iter().map(|d| completion.chunk(d)).collect();
        let finished = completion.finish(Ending::Stop)?;
        chunks.extend(finished.chunks());
        Ok((chunks, finished))
    }

    /// What the parser makes of the same, and its events.
    fn parse(
        &self,
        pieces: &[&str],
        on_malformed: OnMalformed,
    ) -> Result<(Value, Vec<OwnedEvent>), ParseError> {
        let options = self.options(on_malformed);
        let mut parser = ResponseParser::new(&self.template, &self.prefix, options)?;
        let mut events = parser.initial_events().to_vec();
        for piece in pieces {
            events.extend(parser.feed(piece)?);
        }
        let (message, last) = parser.finalize()?;
        events.extend(last);
        Ok((message.into(), events))
    }

    fn is_chunk_dependent(&self) -> bool {
        let fields = self.template.fields().iter();
        let mut delimiters = fields
            .flat_map(|field| [field.open(), field.close()])
            .flatten();
        delimiters.any(|delimiter| delimiter.is_chunk_dependent() != Some(false))
    }
}

/// The value at a place that is known to be there.
fn at<'v>(value: &'v Value, pointer: &str) -> &'v Value {
    value.pointer(pointer).expect("it is there")
}

/// All outputs of the gallery.
fn gallery() -> Vec<Output> {
    GALLERY.clone()
}

static GALLERY: LazyLock<Vec<Output>> = LazyLock::new(|| {
    let files: Vec<PathBuf> = find(&[root().join("derived")]);
    let fixtures = files
        .iter()
        .map(|file| Fixture::load(file).expect("a fixture"));
    let outputs = fixtures.flat_map(|fixture| {
        let name = fixture
            .path()
            .file_name()
            .unwrap_or_default()
            .display()
            .to_string();
        let cases = fixture.cases().to_vec();
        cases.into_iter().map(move |case| Output {
            name: format!("{name}: {}", case.name),
            template: fixture.template().clone(),
            prefix: case.prefix,
            text: case.output,
            tools: case.tools,
        })
    });
    outputs.collect()
});

/// The outputs that are recorded beside the project, if they are there.
fn recorded() -> Vec<Output> {
    let folder = root().join("../shared/cases");
    let mut outputs = Vec::new();
    for file in [
        "response_template.jsonl",
        "response_template_lookaround.jsonl",
    ] {
        let Ok(text) = std::fs::read_to_string(folder.join(file)) else {
            eprintln!("skipped: {file} is not here");
            continue;
        };
        for case in text.lines().map(value) {
            let chunks = at(&case, "/chunks").as_array().unwrap_or_default();
            outputs.push(Output {
                name: json::write(at(&case, "/id")),
                template: ResponseTemplate::from_value(at(&case, "/response_template"))
                    .expect("a template"),
                prefix: at(&case, "/prefix").as_str().unwrap_or_default().to_owned(),
                text: chunks.iter().filter_map(Value::as_str).collect(),
                tools: case.get("tools").map(Tools::from_value).unwrap_or_default(),
            });
        }
    }
    outputs
}

/// Puts chunks together as clients do: text behind text, calls by their index.
fn put_together(chunks: &[Value]) -> Value {
    fn add(whole: &mut Value, more: &Value) {
        match (whole, more) {
            (Value::String(whole), Value::String(more)) => whole.push(more),
            (Value::Object(whole), Value::Object(more)) => {
                for (key, more) in more.iter() {
                    let name = key.as_str().expect("a key");
                    match whole.get_mut(name) {
                        Some(whole) if !matches!(name, "index" | "type") => add(whole, more),
                        Some(_) => {}
                        None => {
                            whole.insert(name, more.clone());
                        }
                    }
                }
            }
            (Value::Array(whole), Value::Array(more)) => {
                for item in more {
                    match whole
                        .iter_mut()
                        .find(|known| known.get("index") == item.get("index"))
                    {
                        Some(known) => add(known, item),
                        None => whole.push(item.clone()),
                    }
                }
            }
            (whole, more) => *whole = more.clone(),
        }
    }
    let mut message = value(r#"{"content": null}"#);
    for chunk in chunks {
        let mut delta = at(chunk, "/choices/0/delta").clone();
        if let Some(Value::String(text)) = delta.get("content")
            && at(&message, "/content").is_null()
        {
            let text = text.clone();
            message
                .as_object_mut()
                .expect("a message")
                .insert("content", Value::String(text));
            delta.as_object_mut().expect("a delta").remove("content");
        }
        add(&mut message, &delta);
    }
    let calls = message
        .as_object_mut()
        .and_then(|message| message.get_mut("tool_calls"));
    for call in calls.and_then(Value::as_array_mut).into_iter().flatten() {
        call.as_object_mut().expect("a call").remove("index");
    }
    message
}

/// The message that was put together, without what turned out in the end to be no part of the message: calls that can't be read, and calls in
/// thoughts that they end.
fn without_what_is_no_part(mut together: Value, finished: &Finished) -> Value {
    let message = together.as_object_mut().expect("a message");
    if let Some(Value::Array(calls)) = message.get_mut("tool_calls") {
        let is_withdrawn = |call: &Value| {
            let id = call.get("id").and_then(Value::as_str);
            finished.withdrawn.iter().any(|call| Some(&*call.id) == id)
        };
        calls.retain(|call| !is_withdrawn(call));
        if calls.is_empty() {
            message.remove("tool_calls");
        }
    }
    let thought = finished.message.reasoning.as_deref();
    let sent = message.get("reasoning").and_then(Value::as_str);
    if let Some(sent) = sent
        && sent.starts_with(thought.unwrap_or_default())
        && !finished.message.tool_calls.is_empty()
    {
        match thought {
            Some(thought) => drop(message.insert("reasoning", thought)),
            None => drop(message.remove("reasoning")),
        }
    }
    together
}

/// A call without its id, its arguments as the value they stand for.
fn meaning_of_call(name: &Value, arguments: Option<&Value>) -> String {
    let arguments = match arguments {
        None => value("{}"),
        Some(Value::String(text)) => {
            let text = text.to_string_lossy();
            json::read(&text).unwrap_or(text.into_owned().into())
        }
        Some(arguments) => arguments.clone(),
    };
    let style = json::Style::COMPACT.sort_keys(true);
    format!(
        "{} {}",
        json::write(name),
        json::write_styled(&arguments, &style)
    )
}

fn calls_in(value: &Value, calls: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| calls_in(value, calls)),
        Value::Object(_) => {
            let function = value.get("function").unwrap_or(value);
            if let Some(name @ Value::String(_)) = function.get("name") {
                calls.push(meaning_of_call(name, function.get("arguments")));
            }
        }
        _ => {}
    }
}

const REASONING: [&str; 3] = ["thinking", "reasoning_content", "reasoning"];

/// What a field of text has to say: what the message says, but where the parser would keep only the last of
/// several values, or drop what it can't put anywhere, all of them one behind the other.
fn text_of(output: &Output, name: &str, message: &Value, events: &[OwnedEvent]) -> String {
    let written = |value: &Value| match value {
        Value::String(text) => text.to_string_lossy().into_owned(),
        Value::Null => String::new(),
        value => json::write(value),
    };
    let said = || message.get(name).map(written).unwrap_or_default();
    let Some(field) = output.template.field(name) else {
        return said();
    };
    let place = |key: &str| format!("/fields/{name}/{key}");
    let given = |key: &str| output.template.as_value().pointer(&place(key));
    let is_text = field.content().name() == "text" && given("transform").is_none();
    let strips = given("content_args/strip") != Some(&false.into());
    let mut is_dropped = false;
    let mut values = Vec::new();
    for event in events
        .iter()
        .filter(|event| event.as_event().field() == name)
    {
        match event {
            OwnedEvent::Close { value, .. } => values.push(written(value)),
            // What no field takes is a part of none.
            OwnedEvent::Malformed { error, .. } if error.starts_with("no field takes") => {}
            OwnedEvent::Malformed { raw, .. } if is_text => {
                is_dropped = true;
                values.push(if strips { raw.trim() } else { raw }.to_owned());
            }
            _ => {}
        }
    }
    match values.is_empty() || (field.join().is_some() && !is_dropped) {
        true => said(),
        false => values.join(field.join().unwrap_or_default()),
    }
}

/// Returns whether two texts differ in no more than white space, which stays between texts that stand one behind the other.
fn are_alike(text: &str, other: &str) -> bool {
    let dense = |text: &str| text.split_whitespace().collect::<String>();
    text == other || dense(text) == dense(other)
}

/// What differs between a completion and what the parser says, if anything does.
fn difference(
    output: &Output,
    finished: &Finished,
    (message, events): &(Value, Vec<OwnedEvent>),
) -> Option<String> {
    let sent = &finished.message;
    let content = text_of(output, "content", message, events);
    if !are_alike(sent.content.as_deref().unwrap_or_default(), &content) {
        return Some(format!("content: {:?}, not {content:?}", sent.content));
    }
    let mut reasoning: Vec<String> = REASONING
        .map(|name| text_of(output, name, message, events))
        .to_vec();
    reasoning.retain(|text| !text.is_empty());
    let thought = sent.reasoning.as_deref().unwrap_or_default();
    if reasoning.len() < 2 && !are_alike(thought, &reasoning.concat()) {
        return Some(format!(
            "reasoning: {:?}, not {reasoning:?}",
            sent.reasoning
        ));
    }
    let mut expected = Vec::new();
    let closed = events.iter().filter_map(|event| match event {
        OwnedEvent::Close { field, value, .. } if field == "tool_calls" => Some(value),
        _ => None,
    });
    let closed: Vec<&Value> = closed.collect();
    match (closed.is_empty(), message.get("tool_calls")) {
        (true, Some(default)) => calls_in(default, &mut expected),
        _ => closed
            .into_iter()
            .for_each(|value| calls_in(value, &mut expected)),
    }
    let calls: Vec<String> = sent
        .tool_calls
        .iter()
        .map(|call| {
            let arguments = Value::from(call.arguments.as_str());
            meaning_of_call(&call.name.as_str().into(), Some(&arguments))
        })
        .collect();
    let malformed = events
        .iter()
        .filter(|event| matches!(event, OwnedEvent::Malformed { .. }))
        .count();
    let mut rest = calls.iter();
    let are_there = expected.iter().all(|call| rest.any(|sent| sent == call));
    if !are_there || (malformed == 0 && calls.len() != expected.len()) {
        return Some(format!("calls: {calls:#?}, not {expected:#?}"));
    }
    let known =
        |name: &str| ["role", "content", "tool_calls"].contains(&name) || REASONING.contains(&name);
    for (name, value) in message.as_object().expect("a message").iter() {
        let name = name.as_str().expect("a name");
        if !known(name) && sent.fields.get(name) != Some(value) {
            return Some(format!(
                "{name}: {:?}, not {value:?}",
                sent.fields.get(name)
            ));
        }
    }
    None
}

/// What is wrong with what is sent of an output in these pieces.
fn fault(output: &Output, pieces: &[&str], on_malformed: OnMalformed) -> Option<String> {
    let parsed = output.parse(pieces, on_malformed);
    let (chunks, finished) = match (output.send(pieces, on_malformed), &parsed) {
        (Ok(sent), Ok(_)) => sent,
        (Err(error), Err(expected)) if error == *expected => return None,
        (sent, _) => return Some(format!("{:?}, but {parsed:?}", sent.map(|_| "sent"))),
    };
    let message = at(&finished.to_value(), "/choices/0/message").clone();
    let together = without_what_is_no_part(put_together(&chunks), &finished);
    if !together.total_eq(&message) {
        return Some(format!(
            "put together it is {}, not {}",
            json::write(&together),
            json::write(&message)
        ));
    }
    if !output.is_chunk_dependent() {
        let (_, whole) = output.send(&[&output.text], on_malformed).ok()?;
        if whole.message != finished.message {
            return Some(format!(
                "cut it is {:?}, whole {:?}",
                finished.message, whole.message
            ));
        }
    }
    difference(output, &finished, parsed.as_ref().ok()?)
}

/// Cuts a text behind so many characters, again and again.
fn cut<'t>(text: &'t str, lengths: &[usize]) -> Vec<&'t str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let end = rest
            .char_indices()
            .nth(*length)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, others) = rest.split_at(end);
        pieces.push(piece);
        rest = others;
    }
    pieces
}

fn check(outputs: &[Output], lengths: &[usize]) {
    check_but(outputs, lengths, |_| false);
}

/// The same but for outputs whose calls may differ from the parser's.
fn check_but(outputs: &[Output], lengths: &[usize], differs: impl Fn(&Output) -> bool) {
    let mut faults = Vec::new();
    for output in outputs {
        for on_malformed in [OnMalformed::Fail, OnMalformed::Event, OnMalformed::Text] {
            let fault = fault(output, &cut(&output.text, lengths), on_malformed);
            if let Some(fault) =
                fault.filter(|fault| !fault.starts_with("calls") || !differs(output))
            {
                faults.push(format!("{}: {fault}\n{:?}", output.name, output.text));
            }
        }
    }
    let shown = faults
        .iter()
        .take(5)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n\n");
    assert!(faults.is_empty(), "{} faults, as\n{shown}", faults.len());
}

#[test]
fn what_is_sent_is_the_message_in_the_end() {
    let outputs = [gallery(), recorded()].concat();
    assert!(outputs.len() > 100, "there are few outputs");
    for lengths in [&[usize::MAX][..], &[1], &[4], &[3, 1, 7]] {
        check(&outputs, lengths);
    }
}

#[test]
fn outputs_that_break_off_are_sent_as_far_as_they_go() {
    let mut outputs = Vec::new();
    for output in gallery() {
        for (at, _) in output.text.char_indices().step_by(11) {
            let text = output.text[..at].to_owned();
            outputs.push(Output {
                text,
                ..output.clone()
            });
        }
    }
    check(&outputs, &[2]);
}

/// Wherever an output is cut for want of room, the calls that come out are calls of the whole output, and whole.
#[test]
fn no_call_that_is_cut_off_is_handed_out() {
    let (mut cuts, mut handed_out, mut left_out) = (0, 0, 0);
    let mut seen = BTreeMap::new();
    for output in gallery() {
        let Ok((_, whole)) = output.send(&[&output.text], OnMalformed::Fail) else {
            continue;
        };
        // Of each kind of message in each format one.
        let calls = whole.message.tool_calls;
        let kind = (
            output.name.split(':').next().map(str::to_owned),
            calls.len(),
        );
        if calls.is_empty() || seen.insert(kind, ()).is_some() {
            continue;
        }
        for (at, _) in output.text.char_indices() {
            let place = || format!("{}: {:?}", output.name, &output.text[..at]);
            let mut completion = output.completion(OnMalformed::Fail).expect("a completion");
            completion.feed(&output.text[..at]).expect("it is read");
            let finished = completion.finish(Ending::Length);
            let finished = finished.unwrap_or_else(|error| panic!("{}: {error}", place()));
            let message = finished.message;
            assert!(calls.starts_with(&message.tool_calls), "{}", place());
            cuts += 1;
            handed_out += message.tool_calls.len();
            left_out += finished.unfinished.len();
        }
    }
    assert!(
        cuts > 5_000 && handed_out > 500 && left_out > 2_000,
        "{cuts} {handed_out} {left_out}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    #[test]
    fn cuts_do_not_matter(lengths in prop::collection::vec(1usize..12, 1..20)) {
        check(&gallery(), &lengths);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn whatever_stands_in_a_text_is_sent_as_it_is_read(
        places in prop::collection::vec(0usize..400, 1..5),
        pieces in prop::collection::vec(prop::sample::select(vec![
            "\"", "\\", "{", "}", "[", "]", ",", ":", "'", " ", "\n", "é", "\\u00", "null", "1e5", "{\"a\": \"b\"}",
            "\"name\": \"other\", ", "\"arguments\": [1]", "</parameter>", "<parameter=x>", "<|im_end|>", "</think>",
            "<tool_call>", "</tool_call>", "\u{85}", "\u{1}",
        ]), 4),
        length in 1usize..9,
    ) {
        let outputs: Vec<Output> = gallery()
            .into_iter()
            .skip(places[0] % 7)
            .step_by(7)
            .map(|mut output| {
                for (place, piece) in places.iter().zip(&pieces) {
                    let at = output.text.floor_char_boundary(*place);
                    output.text.insert_str(at, piece);
                }
                output
            })
            .collect();
        check_but(&outputs, &[length], |output| names_come_twice(&output.text));
    }
}

/// Whether the text may have equal keys beside the arguments of a call: of these the first is sent.
fn names_come_twice(text: &str) -> bool {
    ["\"name\": \"other\"", "\"arguments\": [1]"]
        .iter()
        .any(|key| text.contains(key))
}

/// What is sent piece by piece, shorter than clients are sent it.
fn shown(template: &str, tools: &str, pieces: &[&str]) -> String {
    let template = ResponseTemplate::from_json(template).expect("a template");
    let tools = Tools::from_value(&value(tools));
    let options = ParserOptions::default().tools(tools);
    let mut completion = Completion::new(&template, "", options, CompletionOptions::default())
        .expect("a completion");
    let show = |deltas: &[Delta]| {
        let deltas = deltas.iter().map(|delta| match delta {
            Delta::Content(text) => format!("{text:?}"),
            Delta::Reasoning(text) => format!("thinks {text:?}"),
            Delta::Call { index, id, name } => format!("calls {name} as {index}, {id}"),
            Delta::Arguments { index, text } => format!("{index} {text}"),
            other => format!("{other:?}"),
        });
        deltas.collect::<Vec<_>>().join("; ")
    };
    let mut lines = Vec::new();
    for piece in pieces {
        lines.push(show(&completion.feed(piece).expect("it is read")));
    }
    let finished = completion.finish(Ending::Stop).expect("it is read");
    lines.push(show(&finished.deltas));
    lines.push(finished.finish_reason.into());
    lines.join("\n")
}

#[test]
fn calls_are_sent_while_they_are_written() {
    let tools = r#"[{"name": "f", "parameters": {"properties": {
        "n": {"type": "integer"}, "s": {"type": "string"}}}}]"#;
    let calls = |keys: &str, function: &str| {
        format!(
            r#"{{"start_anchor": "<bot>", "fields": {{"content": {{}}, "tool_calls": {{"repeats": true,
                {keys}, "transform": {{"type": "function", "function": {function}}}}}}}}}"#
        )
    };
    let named = |more: &str| {
        let keys = format!(r#""open_pattern": "<(?P<name>\\w+)>", "close": "</>", {more}"#);
        calls(&keys, r#"{"name": "{name}", "arguments": "{content}"}"#)
    };
    let tags = named(
        r#""content": "xml-inline", "content_args": {"tag_pattern": "<p (?P<key>\\w+)>(?P<value>.*?)</p>"}"#,
    );
    let rows: Vec<(&str, String, &[&str])> = vec![
        (
            "JSON behind the name",
            named(r#""content": "json""#),
            &["Hi <f", ">", "{\"s\": \"a", "\\", "\"b\"", ", \"n\": \"1", "2\"}", "</>"],
        ),
        (
            "the name in JSON",
            calls(r#""open": "<call>", "close": "</>", "content": "json""#, "\"{content}\""),
            &["<call>{\"na", "me\": \"f", "\", ", "\"arguments\"", ": {\"s\": [1", "]}", "}</>"],
        ),
        (
            "arguments before the name",
            calls(r#""open": "<call>", "close": "</>", "content": "json""#, "\"{content}\""),
            &["<call>{\"arguments\": {}, \"name\": \"f\"", "}</>"],
        ),
        (
            "a list of calls with ids",
            r#"{"start_anchor": "<bot>", "fields": {"tool_calls": {"open": "<calls>", "close": "</>", "content": "json",
                "transform_each": true,
                "transform": {"id": "{id}", "function": {"name": "{name}", "arguments": "{arguments}"}}}}}"#
                .into(),
            &["<calls>[{\"id\": \"a\", ", "\"name\": \"f\", \"arguments\": {\"n\": 1", "}}", ",{\"name\": \"g\"", ",\"arguments\":{}, \"id\": 7}]", "</>"],
        ),
        ("tags", tags, &["<f><p s>1", "</p><p n", ">2</p>", "</>"]),
        (
            "lines",
            named(r#""content": "kv-lines""#),
            &["<f>s: 1", "\nn", ": 2", "\n</>"],
        ),
        (
            "text that was to be JSON",
            named(r#""content": "json", "content_args": {"allow_non_json": true}"#),
            &["<f>{\"s\": ", "1}", " ", "or so ", "</>"],
        ),
        ("text", named(r#""content": "text""#), &["<f> print", "(1) ", "</>"]),
        (
            "keys without quotes",
            named(r#""content": "json", "content_args": {"unquoted_keys": true}"#),
            &["<f>{n", ":1}", "</>"],
        ),
        ("a call that is cut off", named(r#""content": "kv-lines""#), &["<f>s: 1\nn: "]),
    ];
    let mut all = String::new();
    for (name, template, pieces) in rows {
        all.push_str(&format!(
            "# {name}: {pieces:?}\n{}\n\n",
            shown(&template, tools, pieces)
        ));
    }
    insta::assert_snapshot!(all);
}

/// White space at the end of a text belongs to it if more follows, whatever has come of a thought meanwhile.
#[test]
fn white_space_between_texts_stays_unless_they_are_joined() {
    let template = r#"{"start_anchor": "<bot>", "fields": {
        "thinking": {"open": "<t>", "close": "</t>", "repeats": true, "join": "|"}, "content": {}}}"#;
    for (pieces, expected) in [
        (&["a\n", "\nb"][..], "\"a\"\n\"\\n\\nb\"\n\nstop"),
        // A thought that says nothing.
        (
            &["a\n\n", "<t> </t>", "\nb"],
            "\"a\"\n\n\"\\n\\n\\nb\"\n\nstop",
        ),
        (
            &["<t>x </t>", "<t> y</t>"],
            "thinks \"x\"\nthinks \"|\"; thinks \"y\"\n\nstop",
        ),
    ] {
        assert_eq!(shown(template, "[]", pieces), expected, "{pieces:?}");
    }
}

/// The words of a text: what may be another one in another output.
fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    words.retain(|word| !word.is_empty());
    words.sort_unstable();
    words.dedup();
    words
}

/// Texts that may follow the beginning of an output, its own rest among them.
fn tails(template: &ResponseTemplate, rest: &str) -> Vec<String> {
    let mut tails = vec![rest.to_owned(), String::new()];
    tails.extend(["x", " ", "\n", "\""].map(|more| format!("{more}{rest}")));
    for word in words(rest) {
        tails.push(rest.replacen(word, &format!("{word}x"), 1));
        tails.push(rest.replacen(word, &format!("x{word}"), 1));
    }
    let fields = template.fields().iter();
    let delimiters = fields
        .flat_map(|field| [field.open(), field.close()])
        .flatten();
    let literals = delimiters
        .filter_map(|delimiter| delimiter.literals())
        .flatten();
    tails.extend(literals.map(|literal| format!("{literal}{rest}")));
    tails
}

fn common(a: &str, b: &str) -> usize {
    let same = a.char_indices().zip(b.chars()).find(|((_, a), b)| a != b);
    same.map_or(a.len().min(b.len()), |((at, _), _)| at)
}

/// What all messages have in common: content, reasoning, and of each call its name and its arguments.
fn in_common(messages: &[CompletionMessage]) -> Vec<(&'static str, String)> {
    let text = |of: &dyn Fn(&CompletionMessage) -> Option<String>| {
        let mut texts = messages
            .iter()
            .map(|message| of(message).unwrap_or_default());
        let first = texts.next().unwrap_or_default();
        texts.fold(first, |first, other| {
            first[..common(&first, &other)].to_owned()
        })
    };
    let mut parts = vec![
        ("content", text(&|message| message.content.clone())),
        ("reasoning", text(&|message| message.reasoning.clone())),
    ];
    let most = messages
        .iter()
        .map(|message| message.tool_calls.len())
        .max();
    for index in 0..most.unwrap_or(0) {
        let call = |message: &CompletionMessage| message.tool_calls.get(index).cloned();
        let name = call(&messages[0]).map(|call| call.name);
        let is_certain = messages
            .iter()
            .all(|m| call(m).map(|call| call.name) == name);
        let name = name.filter(|_| is_certain).unwrap_or_default();
        parts.push(("name", name));
        let mut arguments = text(&|message| call(message).map(|call| call.arguments));
        // That there are arguments at all says nothing: here, all calls have some.
        if ["{", "{\"", "{}"].contains(&arguments.as_str()) {
            arguments.clear();
        }
        parts.push(("arguments", arguments));
    }
    parts
}

/// How a template writes the arguments of calls.
fn way(template: &ResponseTemplate) -> &'static str {
    let Some(calls) = template.field("tool_calls") else {
        return "";
    };
    let given = |key: &str| {
        let place = format!("/fields/tool_calls/content_args/{key}");
        template.as_value().pointer(&place)
    };
    let looks_ahead = |pattern: &Value| pattern.as_str().is_some_and(|p| p.contains("(?="));
    match calls.content().name() {
        "json" if given("string_delims").or(given("unquoted_keys")).is_some() => "JSON of its own",
        "json" => "JSON",
        _ if given("tag_pattern").is_some_and(looks_ahead) => "tags in context",
        _ => "tags",
    }
}

/// How much of what is certain has not been sent after each character. Certain is what the messages of many
/// texts have in common that begin as this one.
#[test]
fn what_is_certain_is_sent_at_once() {
    let mut seen = Vec::new();
    let mut table: BTreeMap<(&str, &str), [usize; 4]> = BTreeMap::new();
    for output in gallery() {
        let family = output.name.split(':').next().unwrap_or_default().to_owned();
        let Ok((_, finished)) = output.send(&[&output.text], OnMalformed::Fail) else {
            continue;
        };
        let has_calls = !finished.message.tool_calls.is_empty();
        let kind = (family, has_calls, finished.message.reasoning.is_some());
        if output.text.len() > 250 || seen.contains(&kind) {
            continue;
        }
        seen.push(kind);
        let way = way(&output.template);
        let mut completion = output.completion(OnMalformed::Fail).expect("a completion");
        let options = output.options(OnMalformed::Fail).stripped_chunks(true);
        let mut parser =
            ResponseParser::new(&output.template, &output.prefix, options).expect("a parser");
        let mut body = 0;
        for (at, character) in output.text.char_indices() {
            let (before, rest) = output.text.split_at(at + character.len_utf8());
            completion.feed(&before[at..]).expect("it is read");
            let events = parser.feed(&before[at..]).expect("it is read");
            if events
                .iter()
                .any(|event| matches!(event, OwnedEvent::Open { .. }))
            {
                body = before.len();
            }
            let is_held_back = !parser.outlook().held_back.is_empty();
            let mut tails = tails(&output.template, rest);
            // What was written of the region may come again.
            tails.push(format!("{}{rest}", &before[body..]));
            let messages: Vec<CompletionMessage> = tails
                .iter()
                .filter_map(|tail| output.send(&[before, tail], OnMalformed::Fail).ok())
                .map(|(_, finished)| finished.message)
                .collect();
            let sent = in_common(&[completion.message_so_far().clone()]);
            for (index, (what, certain)) in in_common(&messages).into_iter().enumerate() {
                let sent = sent.get(index).map_or(0, |(_, text)| text.len());
                let lag = certain.len().saturating_sub(sent);
                let way = if index > 1 { way } else { "" };
                let row = table.entry((what, way)).or_default();
                row[0] += 1;
                row[1] += usize::from(lag > 0 && is_held_back);
                row[2] += usize::from(lag > 0 && !is_held_back);
                row[3] = row[3].max(lag);
                if lag > 0 && std::env::var_os("SHOW_LAG").is_some() {
                    println!(
                        "{}: {what} lags {lag} behind {before:?}: {certain:?}",
                        output.name
                    );
                }
            }
        }
    }
    println!("what       written as       characters  held back  behind  most bytes");
    for ((what, way), [characters, held_back, behind, most]) in &table {
        println!("{what:<10} {way:<16} {characters:>10} {held_back:>10} {behind:>7} {most:>11}");
    }
    for ((what, way), [_, _, behind, _]) in &table {
        // A key without quotes is one when its colon comes, and of tags in context only what follows shows where they
        // end.
        let waits = [
            ("arguments", "JSON of its own"),
            ("name", "tags in context"),
            ("arguments", "tags in context"),
        ];
        if !waits.contains(&(*what, *way)) {
            assert_eq!(*behind, 0, "{what}, {way}");
        }
    }
}
