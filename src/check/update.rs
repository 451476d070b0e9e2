//! Making what comes out the expectation.

use crate::position::Position;
use crate::response::{ParseError, ResponseTemplate};
use crate::value::{Object, Value};

use super::case::Failure;
use super::cuts::Cut;
use super::document::Change;
use super::fixture::{Case, Fixture};
use super::run::CheckOptions;

/// A fixture that expects what comes out.
#[derive(Debug, Clone, PartialEq)]
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
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Updated {
    /// The case's name.
    pub case: String,
    /// Where the case stands in its file.
    pub position: Position,
    /// What is expected otherwise: `message`, `events` or `error`.
    pub key: &'static str,
    /// What was expected, if anything was: under another key, where a message becomes an error or
    /// an error a message.
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
    /// use unjinja::check::{Fixture, CheckOptions};
    ///
    /// let fixture = Fixture::parse(Path::new("greeting.fixture.yaml"), "
    /// response_template: {start_anchor: <bot>, fields: {content: {close: <end>}}}
    /// cases:
    ///   - name: a greeting   # the first one
    ///     output: Hello!<end>
    /// ".into())?;
    /// let update = fixture.update(&CheckOptions::default());
    /// assert_eq!(update.changes[0].case, "a greeting");
    /// assert!(update.text.ends_with("
    ///   - name: a greeting   # the first one
    ///     output: Hello!<end>
    ///     message:
    ///       content: Hello!
    /// "));
    /// # Ok::<(), unjinja::check::FixtureError>(())
    /// ```
    pub fn update(&self, options: &CheckOptions) -> Update {
        let cases = self.cases().iter().enumerate();
        let selected = cases.filter(|(_, case)| options.selects(self, &case.name));
        let new = selected.flat_map(|(index, case)| {
            let new = new_expectations(self.template(), case).into_iter();
            new.filter(|new| new.replaces.is_none())
                .map(move |new| (index, new))
        });
        self.updated(new.collect())
    }

    /// The fixture as it would be if one case, which has just this name, expected what comes out.
    /// Its message may become an error, or its error a message, in the same place: whoever asks for
    /// one case means it. Nothing, if no case has this name.
    ///
    /// No expectation helps where the prompt has no anchor, or where the text means something else
    /// in pieces: there, nothing changes.
    ///
    /// ```
    /// use std::path::Path;
    /// use unjinja::check::Fixture;
    ///
    /// let fixture = Fixture::parse(Path::new("greeting.fixture.yaml"), "
    /// response_template: {start_anchor: <bot>, fields: {content: {close: <end>}}}
    /// cases:
    ///   - name: a greeting
    ///     error: can't be parsed   # as it was once
    ///     output: Hello!<end>
    /// ".into())?;
    /// let update = fixture.update_case("a greeting").expect("there is one");
    /// assert!(update.text.ends_with("
    ///   - name: a greeting
    ///     message:
    ///       content: Hello!   # as it was once
    ///     output: Hello!<end>
    /// "));
    /// assert!(fixture.update_case("a farewell").is_none());
    /// # Ok::<(), unjinja::check::FixtureError>(())
    /// ```
    pub fn update_case(&self, name: &str) -> Option<Update> {
        let index = self.cases().iter().position(|case| case.name == name)?;
        let new = new_expectations(self.template(), &self.cases()[index]).into_iter();
        Some(self.updated(new.map(|new| (index, new)).collect()))
    }

    /// The fixture with what is new of some cases, which are given by their numbers.
    fn updated(&self, new: Vec<(usize, Expectation)>) -> Update {
        let changes: Vec<Change> = new
            .iter()
            .map(|(index, new)| Change {
                pointer: format!("/cases/{index}"),
                key: new.key,
                replaces: new.replaces,
                value: new.value.clone(),
            })
            .collect();
        let changed = self.document.changed(&changes);
        let mut update = Update {
            text: changed.text,
            changes: Vec::new(),
            left: Vec::new(),
        };
        for (number, (index, new)) in new.into_iter().enumerate() {
            let updated = new.of(&self.cases()[index]);
            match changed.impossible.contains(&number) {
                true => update.left.push(updated),
                false => update.changes.push(updated),
            }
        }
        update
    }
}

/// What a case is to expect.
struct Expectation {
    key: &'static str,
    /// The key that goes for it, where a message becomes an error or the other way round.
    replaces: Option<&'static str>,
    value: Value,
}

impl Expectation {
    fn new(key: &'static str, value: impl Into<Value>) -> Expectation {
        Expectation {
            key,
            replaces: None,
            value: value.into(),
        }
    }

    fn in_place_of(self, key: &'static str) -> Expectation {
        Expectation {
            replaces: Some(key),
            ..self
        }
    }

    fn of(self, case: &Case) -> Updated {
        let expected = case.expected.clone();
        let before = match self.replaces.unwrap_or(self.key) {
            "message" => expected.message.map(Value::from),
            "events" => expected.events.map(Value::Array),
            _ => expected.error.map(Value::from),
        };
        Updated {
            case: case.name.clone(),
            position: case.position,
            key: self.key,
            before,
            after: self.value,
        }
    }
}

/// What comes out of a case and was not expected.
fn new_expectations(template: &ResponseTemplate, case: &Case) -> Vec<Expectation> {
    let message = |message: Object| Expectation::new("message", message);
    let error = |error: ParseError| Expectation::new("error", error.to_string());
    let trace = case.read(template, &Cut::whole());
    let failures = case.differences(template, &trace).into_iter();
    let new = failures.filter_map(|failure| match failure {
        Failure::Message { actual, .. } => Some(message(actual)),
        Failure::Events { actual, .. } => Some(Expectation::new("events", actual)),
        Failure::OtherError { actual, .. } => Some(error(actual)),
        Failure::NothingExpected(trace) => Some(trace.outcome.map_or_else(error, message)),
        Failure::NotParsed(actual) => Some(error(actual).in_place_of("message")),
        Failure::Parsed { actual, .. } => Some(message(actual).in_place_of("error")),
        Failure::NoAnchor | Failure::Cut { .. } => None,
    });
    new.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn updated(text: &str) -> Update {
        let path = match text.starts_with('{') {
            true => "a.fixture.json",
            false => "a.fixture.yaml",
        };
        let fixture = Fixture::parse(Path::new(path), text.to_owned());
        let fixture = fixture.unwrap_or_else(|error| panic!("{text}\n{error}"));
        fixture.update_case("a").expect("there is such a case")
    }

    #[test]
    fn one_case_expects_what_comes_out_and_all_the_rest_stays_as_it_is() {
        let mut count = 0;
        for texts in include_str!("updated.txt").split("\n=====\n") {
            let texts: Vec<&str> = texts.split("\n-----\n").collect();
            let &[title, before, after] = texts.as_slice() else {
                panic!("a part lacks in\n{}", texts[0]);
            };
            let update = updated(before);
            assert_eq!(update.text.trim_end(), after.trim_end(), "{title}");
            assert!(update.left.is_empty(), "{title}");
            assert!(updated(after).changes.is_empty(), "{title}, once more");
            count += 1;
        }
        assert_eq!(count, 7);
    }

    #[test]
    fn what_was_expected_is_reported_under_the_key_that_goes() {
        let update = updated(
            "response_template: {start_anchor: <bot>, fields: {content: {close: <end>}}}\n\
             cases: [{name: a, output: x, error: no}]\n",
        );
        let [change] = update.changes.as_slice() else {
            panic!("{update:?}");
        };
        assert_eq!(
            (change.key, &change.before),
            ("message", &Some("no".into()))
        );
        assert_eq!(change.after.to_string(), r#"{"content":"x"}"#);
    }

    #[test]
    fn what_is_needed_elsewhere_is_left() {
        let text = "response_template: {start_anchor: <bot>, fields: {content: {close: <end>}}}\n\
                    cases:\n- {name: a, output: x, error: &e no}\n- {name: b, output: x, error: *e}\n";
        let update = updated(text);
        assert_eq!(update.text, text);
        assert_eq!((update.changes.len(), update.left.len()), (0, 1));
    }
}
