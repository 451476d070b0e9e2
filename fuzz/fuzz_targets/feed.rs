//! A made-up template reads a made-up text, in chunks: the events make sense, and where they must
//! not depend on the chunks, they don't.

#![no_main]

#[path = "feed/case.rs"]
mod case;
#[path = "feed/walk.rs"]
mod walk;

use arbitrary::Unstructured;
use libfuzzer_sys::{Corpus, fuzz_target};
use unjinja::completion::{Completion, CompletionMessage, CompletionOptions, Ending};
use unjinja::{
    Object, OwnedEvent, ParseError, ParserOptions, ResponseParser, ResponseTemplate, Value, parse,
};
use unjinja_fuzz::{pattern, same};

use case::Case;
use walk::Walk;

/// From this many bytes on, what is held back is not searched at every chunk by patterns that need backtracking.
const PATIENT_FROM: usize = 256;

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(case) = Case::new(&mut Unstructured::new(data)) else {
        return Corpus::Reject;
    };
    let Ok(template) = ResponseTemplate::from_value(&case.template) else {
        return Corpus::Reject;
    };
    check(&case, &template);
    Corpus::Keep
});

fn check(case: &Case, template: &ResponseTemplate) {
    check_completion(case, template);
    let chunked = read(case, template, &case.prefix, &case.chunks);
    let looked_at = read_while_looking(case, template);
    if let Some(looked_at) = looked_at.filter(|reading| !reading.too_costly()) {
        let what = "a parser that is looked at and one that is not";
        assert_same(case, what, &looked_at.joined(), &chunked.joined());
    }
    let whole_text = [case.chunks.concat()];
    let whole = read(case, template, &case.prefix, &whole_text);
    let fresh = ResponseTemplate::from_value(&case.template).expect("it loaded before");
    let afresh = read(case, &fresh, &case.prefix, &whole_text);
    assert_same(case, "a fresh template and one in use", &whole, &afresh);
    if let Some(twin) = twin(case) {
        // In pieces, the slow one may be some chunks behind.
        let (fast, chunks) = match is_short(case) {
            true => (&chunked, case.chunks.as_slice()),
            false => (&whole, whole_text.as_slice()),
        };
        let slow = read(case, &twin, &case.prefix, chunks);
        if ![fast, &slow].iter().any(|reading| reading.too_costly()) {
            assert_same(case, "both engines", fast, &slow);
        }
    }
    if !case.may_match_nothing && is_chunk_independent(template) {
        let at_once = after_anchor(template, &case.prefix).to_owned() + &whole_text[0];
        let at_once = read(case, template, "", &[at_once]);
        let joined = chunked.joined();
        assert_same(case, "chunks and the whole", &joined, &whole.joined());
        assert_same(case, "two texts and one", &joined, &at_once.joined());
        let options = case.options.clone();
        let message = parse(template, &case.prefix, &whole_text[0], options);
        assert!(same_outcome(&message, &whole.outcome), "{case:?}");
    }
}

/// A completion fails where the parser does, has sent what it holds in the end, and does not depend on chunks
/// where events don't.
fn check_completion(case: &Case, template: &ResponseTemplate) {
    let chunked = complete(case, template, &case.chunks);
    let options = case.options.clone();
    let parsed = ResponseParser::new(template, &case.prefix, options).and_then(|mut parser| {
        for chunk in &case.chunks {
            parser.feed(chunk)?;
        }
        parser.finalize()
    });
    assert_eq!(chunked.as_ref().err(), parsed.as_ref().err(), "{case:?}");
    if !case.may_match_nothing && is_chunk_independent(template) {
        let whole = complete(case, template, &[case.chunks.concat()]);
        if let (Ok(chunked), Ok(whole)) = (chunked, whole) {
            assert_eq!(format!("{chunked:?}"), format!("{whole:?}"), "{case:?}");
        }
    }
}

fn complete(
    case: &Case,
    template: &ResponseTemplate,
    chunks: &[String],
) -> Result<CompletionMessage, ParseError> {
    let (parser, options) = (case.options.clone(), CompletionOptions::default());
    let mut completion = Completion::new(template, &case.prefix, parser, options)?;
    let mut together = CompletionMessage::default();
    let initial = completion.initial_deltas().to_vec();
    initial.iter().for_each(|delta| together.add(delta));
    for chunk in chunks {
        completion.feed_with(chunk, |delta| together.add(delta))?;
    }
    let finished = completion.finish(Ending::Stop)?;
    finished.deltas.iter().for_each(|delta| together.add(delta));
    // By their text, since NaN is not equal to itself.
    assert_eq!(format!("{together:?}"), format!("{:?}", finished.message));
    Ok(together)
}

/// What came out of a parser.
struct Reading {
    /// The events of the prefix, of each chunk, and of the end.
    events: Vec<Vec<OwnedEvent>>,
    outcome: Result<Object, ParseError>,
}

impl Reading {
    fn too_costly(&self) -> bool {
        matches!(self.outcome, Err(ParseError::TooCostly { .. }))
    }

    /// The same with all events in one list, neighbouring chunks of a region joined.
    fn joined(&self) -> Reading {
        let mut joined: Vec<OwnedEvent> = Vec::new();
        for event in self.events.iter().flatten() {
            match (joined.last_mut(), event) {
                (Some(OwnedEvent::Chunk { text, .. }), OwnedEvent::Chunk { text: more, .. }) => {
                    text.push_str(more)
                }
                _ => joined.push(event.clone()),
            }
        }
        let started = !self.events.is_empty();
        Reading {
            events: started.then_some(joined).into_iter().collect(),
            outcome: self.outcome.clone(),
        }
    }
}

fn assert_same(case: &Case, what: &str, a: &Reading, b: &Reading) {
    let values =
        |events: &[OwnedEvent]| Value::Array(events.iter().map(|e| e.to_value()).collect());
    let all = |reading: &Reading| -> Value {
        let feeds = reading.events.iter();
        Value::Array(feeds.map(|events| values(events)).collect())
    };
    // A prefix that fails leaves nobody to ask for its events.
    let started = !a.events.is_empty() && !b.events.is_empty();
    let same_events = !started || same(&all(a), &all(b));
    assert!(
        same_events && same_outcome(&a.outcome, &b.outcome),
        "{what} differ for {case:#?}\none: {}\n{:?}\nother: {}\n{:?}",
        all(a),
        a.outcome,
        all(b),
        b.outcome
    );
}

fn same_outcome(a: &Result<Object, ParseError>, b: &Result<Object, ParseError>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => same(&a.clone().into(), &b.clone().into()),
        (Err(a), Err(b)) => a == b,
        _ => false,
    }
}

/// The part of a prefix that a parser reads.
fn after_anchor<'p>(template: &ResponseTemplate, prefix: &'p str) -> &'p str {
    let after = template.after_anchor(prefix);
    after.expect("the anchor is a literal").unwrap_or(prefix)
}

/// Feeds a parser, and looks at all that comes out.
fn read(case: &Case, template: &ResponseTemplate, prefix: &str, chunks: &[String]) -> Reading {
    let read_of_prefix = after_anchor(template, prefix);
    assert!(prefix.ends_with(read_of_prefix));
    let text = read_of_prefix.to_owned() + &chunks.concat();
    let mut walk = Walk::new(case, template, &text);
    let mut events = Vec::new();
    let mut parser = match ResponseParser::new(template, prefix, case.options.clone()) {
        Ok(parser) => parser,
        Err(error) => {
            walk.check_error(&error, true);
            return Reading {
                events,
                outcome: Err(error),
            };
        }
    };
    events.push(parser.initial_events().to_vec());
    walk.go(parser.initial_events());
    walk.check_parser(&parser);
    for chunk in chunks {
        let mut of_chunk = Vec::new();
        let result = parser.feed_with(chunk, |event| {
            let owned = event.clone().into_owned();
            assert!(same(&owned.to_value(), &event.to_value()));
            of_chunk.push(owned);
        });
        walk.go(&of_chunk);
        events.push(of_chunk);
        if let Err(error) = result {
            walk.check_error(&error, false);
            assert_eq!(parser.feed("<a>").err(), Some(ParseError::AfterFailure));
            assert_eq!(parser.feed("").err(), Some(ParseError::AfterFailure));
            assert_eq!(parser.finalize().err(), Some(ParseError::AfterFailure));
            return Reading {
                events,
                outcome: Err(error),
            };
        }
        walk.check_parser(&parser);
    }
    let mut last = Vec::new();
    let outcome = parser.finalize_with(|event| last.push(event.into_owned()));
    walk.go(&last);
    events.push(last);
    match &outcome {
        Ok(message) => walk.check_message(message),
        Err(error) => walk.check_error(error, false),
    }
    Reading { events, outcome }
}

/// The same by a parser that is asked after each chunk what it looks for; `None` if it does not start.
fn read_while_looking(case: &Case, template: &ResponseTemplate) -> Option<Reading> {
    let mut parser = ResponseParser::new(template, &case.prefix, case.options.clone()).ok()?;
    let mut events = vec![parser.initial_events().to_vec()];
    for chunk in &case.chunks {
        let mut of_chunk = Vec::new();
        let result = parser.feed_with(chunk, |event| of_chunk.push(event.into_owned()));
        events.push(of_chunk);
        if let Err(error) = result {
            let outcome = Err(error);
            return Some(Reading { events, outcome });
        }
        parser.outlook();
    }
    let mut last = Vec::new();
    let outcome = parser.finalize_with(|event| last.push(event.into_owned()));
    events.push(last);
    Some(Reading { events, outcome })
}

fn is_chunk_independent(template: &ResponseTemplate) -> bool {
    let fields = template.fields().iter();
    fields
        .flat_map(|field| field.open().into_iter().chain(field.close()))
        .all(|delimiter| delimiter.is_chunk_dependent() == Some(false))
}

/// Whether all patterns are asked at every chunk.
fn is_short(case: &Case) -> bool {
    let chunks = case.chunks.iter().map(String::len);
    case.prefix.len() + chunks.sum::<usize>() < PATIENT_FROM
}

/// The template with patterns that mean the same, but that the backtracking engine has to run;
/// unless there are none, or that engine might not be asked behind the prefix.
fn twin(case: &Case) -> Option<ResponseTemplate> {
    if case.prefix.len() >= PATIENT_FROM {
        return None;
    }
    let mut template = case.template.clone();
    let fields = template.as_object_mut()?.get_mut("fields")?;
    let mut changed = false;
    for (_, field) in fields.as_object_mut()?.iter_mut() {
        for key in ["open_pattern", "close_pattern"] {
            if let Some(value) = field.as_object_mut()?.get_mut(key) {
                *value = pattern::backtracking(value.as_str()?).into();
                changed = true;
            }
        }
    }
    let twin = ResponseTemplate::from_value(&template);
    changed.then(|| twin.expect("an empty lookahead hurts no pattern"))
}

/// Options, shown in reports.
fn shown(options: &ParserOptions) -> String {
    format!(
        "on_malformed: {:?}, spans: {}, body_aware_close: {}",
        options.on_malformed, options.spans, options.body_aware_close
    )
}
