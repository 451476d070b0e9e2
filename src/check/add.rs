//! Fixtures with one more case.

use std::collections::HashSet;
use std::iter;

use crate::diagnostic::Diagnostic;
use crate::response::Tools;
use crate::value::{Object, Value};

use super::fixture::{Case, Fixture, FixtureError};

impl Fixture {
    /// The text of the fixture with one more case at its end. All that stands there stays as it is.
    ///
    /// ```
    /// use std::path::Path;
    /// use unjinja::check::{Case, Expected, Fixture};
    /// use unjinja::Tools;
    ///
    /// let fixture = Fixture::parse(Path::new("greeting.fixture.yaml"), "
    /// response_template: {start_anchor: <bot>, fields: {content: {close: <end>}}}
    /// cases:
    ///   - name: a greeting   # the first one
    ///     output: Hello!<end>
    ///     message: {content: Hello!}
    /// ".into())?;
    /// let mut expected = Expected::default();
    /// expected.message = Some([("content", "Bye!")].into_iter().collect());
    /// let name = fixture.free_name("a greeting");
    /// let case = Case::new(name, "", "Bye!<end>", Tools::none(), expected);
    ///
    /// assert!(fixture.with_case(&case)?.ends_with("
    ///   - name: a greeting   # the first one
    ///     output: Hello!<end>
    ///     message: {content: Hello!}
    ///   - name: a greeting (2)
    ///     output: Bye!<end>
    ///     message:
    ///       content: Bye!
    /// "));
    /// # Ok::<(), unjinja::check::FixtureError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a case has this name already, if the case expects both a message and an error, or if there
    /// is no place for it, such as where the cases stand for others that are written elsewhere.
    pub fn with_case(&self, case: &Case) -> Result<String, FixtureError> {
        let fail = |fault| FixtureError::new(self.path(), vec![fault]);
        if let Some(fault) = self.objection(case) {
            return Err(fail(fault));
        }
        let entry = Value::from(entry(case, self.tools()));
        match self.document.with_item("cases", entry.clone()) {
            Some(text) => Ok(text),
            None => Err(fail(self.no_place(&entry))),
        }
    }

    /// The name, or the next to it that no case has.
    ///
    /// ```
    /// # use std::path::Path;
    /// # use unjinja::check::Fixture;
    /// let fixture = Fixture::parse(Path::new("calls.fixture.json"), r#"{
    ///     "response_template": {"start_anchor": "<bot>", "fields": {"content": {"close": "<end>"}}},
    ///     "cases": [{"name": "a call", "output": ""}]
    /// }"#.into())?;
    /// assert_eq!(fixture.free_name("two calls"), "two calls");
    /// assert_eq!(fixture.free_name("a call"), "a call (2)");
    /// # Ok::<(), unjinja::check::FixtureError>(())
    /// ```
    pub fn free_name(&self, name: &str) -> String {
        let taken: HashSet<&str> = self.names().map(|(name, _)| name).collect();
        free_name(name, |name| taken.contains(name))
    }

    /// What would be wrong with the fixture if it had the case as well.
    fn objection(&self, case: &Case) -> Option<Diagnostic> {
        if let Some((_, position)) = self.names().find(|(name, _)| *name == case.name) {
            let message = format!("a case called `{}` already exists", case.name);
            let fault = Diagnostic::new(message)
                .at_position(position)
                .with_remedy(format!("call this one `{}`", self.free_name(&case.name)));
            return Some(fault);
        }
        let expected = &case.expected;
        (expected.message.is_some() && expected.error.is_some()).then(|| {
            Diagnostic::new("a case expects a `message` or an `error`, and not both")
                .with_remedy("keep one of them")
        })
    }

    /// Why a case can't be written behind the others.
    fn no_place(&self, entry: &Value) -> Diagnostic {
        let (message, remedy) = match self.document.can_hold(entry) {
            true => (
                "no case can be written after the last one without changing another",
                "write out aliases (`*`), end the file with a line end, or choose another \
                 fixture",
            ),
            false => (
                "the case has half a character in it, which YAML can't hold",
                "put it into a JSON fixture",
            ),
        };
        Diagnostic::new(message)
            .at_position(self.document.position_of("/cases"))
            .with_remedy(remedy)
    }
}

/// A name for a case, or the next to it that is not taken.
///
/// ```
/// use unjinja::check::free_name;
///
/// let taken = ["a call", "a call (2)"];
/// assert_eq!(free_name("a call", |name| taken.contains(&name)), "a call (3)");
/// ```
pub fn free_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    let mut names = iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

/// A case as a fixture holds it that has these tools for all cases.
pub(super) fn entry(case: &Case, common: &Tools) -> Object {
    let mut entry = Object::new();
    entry.insert("name", case.name.as_str());
    if !case.prefix.is_empty() {
        entry.insert("prefix", case.prefix.as_str());
    }
    entry.insert("output", case.output.as_str());
    // A fixture refuses a list in which there is no tool.
    let list = |tools: &Tools| match tools.names().next() {
        Some(_) => tools.as_value().clone(),
        None => Value::Array(Vec::new()),
    };
    let tools = list(&case.tools);
    if !tools.total_eq(&list(common)) {
        entry.insert("tools", tools);
    }
    let expected = case.expected.clone();
    if let Some(message) = expected.message {
        entry.insert("message", message);
    }
    if let Some(events) = expected.events {
        entry.insert("events", events);
    }
    if let Some(error) = expected.error {
        entry.insert("error", error);
    }
    entry
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::check::Expected;
    use crate::json;

    fn case(name: &str, message: &str) -> Case {
        let expected = Expected {
            message: json::read(message).expect("JSON").as_object().cloned(),
            ..Expected::default()
        };
        Case::new(name, "<bot>", "one\ntwo<end>", Tools::none(), expected)
    }

    fn fixture(text: &str) -> Fixture {
        let path = match text.starts_with('{') {
            true => "a.fixture.json",
            false => "a.fixture.yaml",
        };
        Fixture::parse(Path::new(path), text.to_owned()).unwrap_or_else(|e| panic!("{text}\n{e}"))
    }

    #[test]
    fn a_case_comes_last_and_all_the_rest_stays_as_it_is() {
        let new = case("new", r#"{"content": "one\ntwo", "n": [1, {"a": "b"}]}"#);
        let mut count = 0;
        for texts in include_str!("added.txt").split("\n=====\n") {
            let texts: Vec<&str> = texts.split("\n-----\n").collect();
            let &[title, before, after] = texts.as_slice() else {
                panic!("a part lacks in\n{}", texts[0]);
            };
            assert_eq!(
                fixture(before).with_case(&new).expect(title),
                after,
                "{title}"
            );
            let windows = |text: &str| text.replace('\n', "\r\n");
            let added = fixture(&windows(before)).with_case(&new).expect(title);
            assert_eq!(added, windows(after), "{title}, with Windows line ends");

            let cases = fixture(after).cases().to_vec();
            assert_eq!(cases.len(), fixture(before).cases().len() + 1, "{title}");
            let last = cases.last().map(|last| entry(last, &Tools::none()));
            assert_eq!(last, Some(entry(&new, &Tools::none())), "{title}");
            count += 1;
        }
        assert_eq!(count, 12);
    }

    #[test]
    fn tools_are_written_where_they_are_others_than_those_of_the_file() {
        let head = "response_template: {start_anchor: <bot>, fields: {content: {close: <end>}}}\n";
        let cases = "cases: [{name: a, output: x}]";
        let all = "tools: [{function: {name: wait, description: Waits.}}]\n";
        let tools = |text: &str| Tools::from_value(&json::read(text).expect("JSON"));
        let wait = r#"[{"function": {"description": "Waits.", "name": "wait"}}]"#;
        for (file, tools, expected) in [
            (head.to_owned() + cases, Tools::none(), None),
            (head.to_owned() + cases, tools("[{}]"), None),
            (head.to_owned() + cases, tools(wait), Some(tools(wait))),
            (head.to_owned() + all + cases, tools(wait), None),
            (
                head.to_owned() + all + cases,
                Tools::none(),
                Some(Tools::none()),
            ),
        ] {
            let there = fixture(&file);
            let new = Case {
                tools,
                ..case("new", "{}")
            };
            let entry = entry(&new, there.tools());
            let expected = expected.map(|tools| tools.as_value().clone());
            assert_eq!(entry.get("tools"), expected.as_ref(), "{file}");
            let text = there.with_case(&new).expect("there is a place");
            assert_eq!(
                fixture(&text).cases()[1].tools.names().collect::<Vec<_>>(),
                new.tools.names().collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn what_can_not_be_added_is_refused_with_a_remedy() {
        let head = "response_template: {start_anchor: <bot>, fields: {content: {close: <end>}}}\n";
        let a_case = "cases:\n  - {name: a, output: x}\n";
        let variables = "variables: {cases: &c [{name: a, output: x}]}\ncases: *c\n";
        let anchor = "cases: &c\n  - {name: a, output: x}\nvariables: {cases: *c}\n";
        let contradiction = Case {
            expected: Expected {
                error: Some("no".into()),
                ..case("", "{}").expected
            },
            ..case("new", "{}")
        };
        let half = case("new", r#"{"content": "\ud800"}"#);
        let no_place = "no case can be written after the last one without changing another: write \
                        out aliases (`*`), end the file with a line end, or choose another fixture";
        let keeps_blank_lines = "cases:\n  - name: a\n    output: |+\n      x";
        for (text, new, expected) in [
            (
                a_case,
                case("a", "{}"),
                ":3:5: a case called `a` already exists: call this one `a (2)`".to_owned(),
            ),
            (
                a_case,
                contradiction,
                ": a case expects a `message` or an `error`, and not both: keep one of them".into(),
            ),
            (
                a_case,
                half,
                ":2:1: the case has half a character in it, which YAML can't hold: put it into a \
                 JSON fixture"
                    .into(),
            ),
            (variables, case("new", "{}"), format!(":3:1: {no_place}")),
            (anchor, case("new", "{}"), format!(":2:1: {no_place}")),
            (
                keeps_blank_lines,
                case("new", "{}"),
                format!(":2:1: {no_place}"),
            ),
        ] {
            let error = fixture(&(head.to_owned() + text)).with_case(&new);
            let error = error.expect_err(&expected).to_string();
            assert_eq!(error, format!("a.fixture.yaml{expected}"));
        }
    }
}
