//! Checking one case.

use crate::response::{ParseError, ResponseTemplate};
use crate::value::{Object, Value};

use super::cuts::Cut;
use super::document::same;
use super::fixture::Case;
use super::shrink::smallest;
use super::story::Story;

/// What is wrong with a case.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Failure {
    /// The message is another.
    Message {
        /// What was expected.
        expected: Object,
        /// What came out, with its keys in the order of what was expected.
        actual: Object,
    },
    /// The events are others.
    Events {
        /// What was expected.
        expected: Vec<Value>,
        /// What happened.
        actual: Vec<Value>,
    },
    /// The text can't be parsed, which was not expected.
    NotParsed(ParseError),
    /// The text can't be parsed, and another reason was expected.
    OtherError {
        /// What the error should say.
        expected: String,
        /// What it says.
        actual: ParseError,
    },
    /// The text should not have been parsed.
    Parsed {
        /// What the error should have said.
        expected: String,
        /// What came out.
        actual: Object,
    },
    /// The prompt has no anchor, so that all of it was read as part of the message.
    NoAnchor,
    /// The case says nothing of what it expects.
    NothingExpected(Story),
    /// The text means something else when it arrives in pieces.
    Cut {
        /// How it was cut when this showed.
        cut: Cut,
        /// The fewest places at which it has to be cut, in bytes.
        places: Vec<usize>,
        /// What it means as a whole.
        whole: Story,
        /// What it means in these pieces.
        pieces: Story,
    },
}

impl Failure {
    /// A name for programs.
    pub fn key(&self) -> &'static str {
        match self {
            Failure::Message { .. } => "message",
            Failure::Events { .. } => "events",
            Failure::NotParsed(_) => "not parsed",
            Failure::OtherError { .. } => "other error",
            Failure::Parsed { .. } => "parsed",
            Failure::NoAnchor => "no anchor",
            Failure::NothingExpected(_) => "nothing expected",
            Failure::Cut { .. } => "cut",
        }
    }

    /// What is wrong, in one line.
    pub fn headline(&self) -> String {
        match self {
            Failure::Message { .. } => "the message is not what was expected".into(),
            Failure::Events { .. } => "the events are not what was expected".into(),
            Failure::NotParsed(error) => format!("the output can't be parsed: {error}"),
            Failure::OtherError { expected, actual } => {
                format!("the error should say {expected:?}, and says: {actual}")
            }
            Failure::Parsed { expected, .. } => {
                format!("the output can be parsed, where an error was expected: {expected:?}")
            }
            Failure::NoAnchor => {
                "the template's anchor is not in the prompt, so all of it is read \
                 as part of the message: mend the one or the other, or leave `prefix` out"
                    .into()
            }
            Failure::NothingExpected(_) => "the case says nothing of what it expects: write a \
                 `message`, or let `unjinja check --update` write what comes out"
                .into(),
            Failure::Cut { cut, .. } => {
                format!("the output means something else when it arrives {cut}")
            }
        }
    }
}

/// Everything that is wrong with a case.
pub(super) fn failures(template: &ResponseTemplate, case: &Case, seed: u64) -> Vec<Failure> {
    let read =
        |places: &[usize]| Story::read(template, &case.tools, &case.prefix, &case.output, places);
    let whole = read(Cut::whole().places());
    let mut failures = differences(template, case, &whole);
    for cut in Cut::all(&case.output, &case.name, seed) {
        let is_other = |places: &[usize]| !is_same_story(&read(places), &whole);
        if is_other(cut.places()) {
            let places = smallest(cut.places(), is_other);
            failures.push(Failure::Cut {
                pieces: read(&places),
                places,
                cut,
                whole,
            });
            break;
        }
    }
    failures
}

/// What the case did not expect of what the whole output means.
pub(super) fn differences(template: &ResponseTemplate, case: &Case, story: &Story) -> Vec<Failure> {
    // An anchor that takes too long to look for fails wherever the prompt is read.
    if !case.prefix.is_empty() && template.after_anchor(&case.prefix) == Ok(None) {
        return vec![Failure::NoAnchor];
    }
    let expected = &case.expected;
    let mut failures = Vec::new();
    if expected.is_nothing() {
        failures.push(Failure::NothingExpected(story.clone()));
    }
    match (&story.outcome, &expected.error, &expected.message) {
        (Err(actual), Some(expected), _) if !actual.to_string().contains(expected.as_str()) => {
            failures.push(Failure::OtherError {
                expected: expected.clone(),
                actual: actual.clone(),
            });
        }
        (Err(actual), None, _) if !case.expected.is_nothing() => {
            failures.push(Failure::NotParsed(actual.clone()));
        }
        (Ok(actual), Some(expected), _) => failures.push(Failure::Parsed {
            expected: expected.clone(),
            actual: actual.clone(),
        }),
        (Ok(actual), None, Some(expected)) => {
            let (wanted, found) = (expected.clone().into(), actual.clone().into());
            if !same(&wanted, &found) {
                failures.push(Failure::Message {
                    actual: in_order_of(expected, actual),
                    expected: expected.clone(),
                });
            }
        }
        _ => {}
    }
    if let Some(expected) = &expected.events {
        let actual = story.events_as_values();
        if !same(
            &Value::Array(expected.clone()),
            &Value::Array(actual.clone()),
        ) {
            failures.push(Failure::Events {
                expected: expected.clone(),
                actual,
            });
        }
    }
    failures
}

fn is_same_story(a: &Story, b: &Story) -> bool {
    let same_outcome = || match (&a.outcome, &b.outcome) {
        (Ok(a), Ok(b)) => same(&a.clone().into(), &b.clone().into()),
        (a, b) => a == b,
    };
    let events = |story: &Story| Value::Array(story.events_as_values());
    // Numbers that are no numbers are not equal to themselves, hence the second look.
    a == b || (same_outcome() && same(&events(a), &events(b)))
}

/// An object with its keys in the order of another, so that a difference shows no order.
fn in_order_of(model: &Object, object: &Object) -> Object {
    let known = model
        .keys()
        .filter_map(|key| object.get_text(key).map(|value| (key, value)));
    let new = object
        .iter()
        .filter(|(key, _)| model.get_text(key).is_none());
    let ordered = known.chain(new).map(|(key, value)| {
        let value = match model.get_text(key) {
            Some(model) => value_in_order_of(model, value),
            None => value.clone(),
        };
        (key.clone(), value)
    });
    ordered.collect()
}

fn value_in_order_of(model: &Value, value: &Value) -> Value {
    match (model, value) {
        (Value::Object(model), Value::Object(object)) => in_order_of(model, object).into(),
        (Value::Array(models), Value::Array(values)) => {
            let ordered = values.iter().enumerate().map(|(index, value)| {
                let model = models.get(index);
                model.map_or_else(|| value.clone(), |model| value_in_order_of(model, value))
            });
            Value::Array(ordered.collect())
        }
        _ => value.clone(),
    }
}
