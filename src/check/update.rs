//! Making what comes out the expectation.

use crate::value::Value;

use super::case::Failure;
use super::cuts::Cut;
use super::document::Change;
use super::fixture::{Case, Fixture};
use super::run::Options;
use super::story::Story;

/// A fixture that expects what comes out.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Update {
    /// Its text. Whatever is right already stays as it was, with all comments.
    pub text: String,
    /// What has changed; nothing if all was as expected.
    pub changes: Vec<Updated>,
    /// What can't be changed where it stands, such as a value that is written elsewhere, too, where
    /// it is to stay.
    pub left: Vec<Updated>,
}

/// An expectation that has changed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Updated {
    /// The case's name.
    pub case: String,
    /// Line and column of the case, both from 1.
    pub position: (usize, usize),
    /// What is expected otherwise: `message`, `events` or `error`.
    pub key: &'static str,
    /// What was expected, if anything was.
    pub before: Option<Value>,
    /// What is expected now.
    pub after: Value,
}

impl Fixture {
    /// The fixture as it would be if it expected what comes out. A message does not become an
    /// error, nor an error a message: such a case is left alone, since it is hardly meant.
    ///
    /// ```
    /// use std::path::Path;
    /// use unjinja::check::{Fixture, Options};
    ///
    /// let fixture = Fixture::parse(Path::new("greeting.fixture.yaml"), "
    /// response_template: {start_anchor: <bot>, fields: {content: {close: <end>}}}
    /// cases:
    ///   - name: a greeting   # the first one
    ///     output: Hello!<end>
    /// ".into())?;
    /// let update = fixture.update(&Options::default());
    /// assert_eq!(update.changes[0].case, "a greeting");
    /// assert!(update.text.ends_with("
    ///   - name: a greeting   # the first one
    ///     output: Hello!<end>
    ///     message:
    ///       content: Hello!
    /// "));
    /// # Ok::<(), unjinja::check::FixtureError>(())
    /// ```
    pub fn update(&self, options: &Options) -> Update {
        let mut changes = Vec::new();
        let mut updated = Vec::new();
        for (index, case) in self.cases().iter().enumerate() {
            if !options.selects(self, &case.name) {
                continue;
            }
            for (key, after) in new_expectations(self, case) {
                changes.push(Change {
                    pointer: format!("/cases/{index}"),
                    key,
                    replaces: None,
                    value: after.clone(),
                });
                updated.push(Updated {
                    case: case.name.clone(),
                    position: case.position,
                    key,
                    before: before(case, key),
                    after,
                });
            }
        }
        let changed = self.document.changed(&changes);
        let (left, changes) = updated
            .into_iter()
            .enumerate()
            .partition::<Vec<_>, _>(|(number, _)| changed.impossible.contains(number));
        let without_numbers = |all: Vec<(usize, Updated)>| all.into_iter().map(|(_, one)| one);
        Update {
            text: changed.text,
            changes: without_numbers(changes).collect(),
            left: without_numbers(left).collect(),
        }
    }
}

fn before(case: &Case, key: &str) -> Option<Value> {
    let expected = case.expected.clone();
    match key {
        "message" => expected.message.map(Value::from),
        "events" => expected.events.map(Value::Array),
        _ => expected.error.map(Value::from),
    }
}

fn new_expectations(fixture: &Fixture, case: &Case) -> Vec<(&'static str, Value)> {
    let story = case.read(fixture.template(), &Cut::whole());
    let outcome = |story: Story| match story.outcome {
        Ok(message) => ("message", message.into()),
        Err(error) => ("error", error.to_string().into()),
    };
    let failures = case.differences(fixture.template(), &story).into_iter();
    let new = failures.filter_map(|failure| match failure {
        Failure::Message { actual, .. } => Some(("message", actual.into())),
        Failure::Events { actual, .. } => Some(("events", Value::Array(actual))),
        Failure::OtherError { actual, .. } => Some(("error", actual.to_string().into())),
        Failure::NothingExpected(story) => Some(outcome(story)),
        _ => None,
    });
    new.collect()
}
