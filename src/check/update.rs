//! Making what comes out the expectation.

use crate::position::Position;
use crate::response::{ParseError, ResponseTemplate};
use crate::value::{Object, Value};

use super::case::Failure;
use super::conversation::ConversationCase;
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
    /// What is expected otherwise: `message`, `events` or `error`, or of a conversation `reads`, `written` or `renders`.
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
        let cases = self.cases().iter();
        let selected = cases.filter(|case| options.selects(self.path(), &case.name));
        let new = selected.flat_map(|case| new_expectations(self.template(), case));
        let conversations = self.conversations().iter();
        let selected = conversations.filter(|case| options.selects(self.path(), &case.name));
        let new = new.chain(selected.flat_map(|case| self.new_of_conversation(case)));
        let mut new: Vec<Expectation> = new.filter(|new| new.replaces.is_none()).collect();
        new.sort_by_key(|new| new.number);
        self.updated(new)
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
        if let Some(case) = self.cases().iter().find(|case| case.name == name) {
            return Some(self.updated(new_expectations(self.template(), case)));
        }
        let mut conversations = self.conversations().iter();
        let case = conversations.find(|case| case.name == name)?;
        Some(self.updated(self.new_of_conversation(case)))
    }

    /// What comes out of a conversation and was not expected.
    fn new_of_conversation(&self, case: &ConversationCase) -> Vec<Expectation> {
        let new = |key, value| Expectation {
            number: case.number,
            case: case.name.clone(),
            position: case.position,
            key,
            replaces: None,
            before: case.before(key),
            value,
        };
        let failures = self.check_conversation(case).into_iter();
        let new = failures.filter_map(|failure| match failure {
            Failure::Reads { actual, .. } => Some(new("reads", actual.into())),
            Failure::Written { actual, .. } => Some(new("written", actual.into_iter().collect())),
            Failure::Renders { actual, .. } => Some(new("renders", actual.into())),
            Failure::NoConversationExpected { key, actual } => Some(new(key, actual)),
            _ => None,
        });
        new.collect()
    }

    /// The fixture with what is new of some cases.
    fn updated(&self, new: Vec<Expectation>) -> Update {
        let changes: Vec<Change> = new
            .iter()
            .map(|new| Change {
                pointer: format!("/cases/{}", new.number),
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
        for (number, new) in new.into_iter().enumerate() {
            let updated = Updated {
                case: new.case,
                position: new.position,
                key: new.key,
                before: new.before,
                after: new.value,
            };
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
    /// The number of the case, its name and its place.
    number: usize,
    case: String,
    position: Position,
    key: &'static str,
    /// The key that goes for it, where a message becomes an error or the other way round.
    replaces: Option<&'static str>,
    /// What was expected.
    before: Option<Value>,
    value: Value,
}

/// What comes out of a case and was not expected.
fn new_expectations(template: &ResponseTemplate, case: &Case) -> Vec<Expectation> {
    let new = |key, replaces: Option<&'static str>, value: Value| {
        let expected = case.expected.clone();
        Expectation {
            number: case.number,
            case: case.name.clone(),
            position: case.position,
            key,
            replaces,
            before: match replaces.unwrap_or(key) {
                "message" => expected.message.map(Value::from),
                "events" => expected.events.map(Value::Array),
                _ => expected.error.map(Value::from),
            },
            value,
        }
    };
    let message = |message: Object, replaces| new("message", replaces, message.into());
    let error = |error: ParseError, replaces| new("error", replaces, error.to_string().into());
    let trace = case.read(template, &Cut::whole());
    let failures = case.differences(template, &trace).into_iter();
    let new = failures.filter_map(|failure| match failure {
        Failure::Message { actual, .. } => Some(message(actual, None)),
        Failure::Events { actual, .. } => Some(new("events", None, actual.into())),
        Failure::OtherError { actual, .. } => Some(error(actual, None)),
        Failure::NothingExpected(trace) => Some(match trace.outcome {
            Ok(outcome) => message(outcome, None),
            Err(outcome) => error(outcome, None),
        }),
        Failure::NotParsed(actual) => Some(error(actual, Some("message"))),
        Failure::Parsed { actual, .. } => Some(message(actual, Some("error"))),
        _ => None,
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
