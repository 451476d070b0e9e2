//! What a check has found, for programs.

use std::time::Duration;

use crate::diagnostic::Diagnostic;
use crate::position::Position;
use crate::remedy::Remedy;
use crate::value::{Number, Object, Value};

use super::case::Failure;
use super::run::{CaseReport, FileReport, Report};

/// What a caller calls the things that messages advise to make use of.
type Words<'w> = &'w dyn Fn(Remedy) -> &'static str;

impl Report {
    /// For programs: an object of how many cases `passed` and `failed`, how many files are
    /// `unreadable`, the `seed`, how many `seconds` it took, and the `files`, as
    /// [`FileReport::to_value`] gives them.
    pub fn to_value(&self) -> Value {
        self.explain_to_value(Remedy::name)
    }

    /// What [`to_value`](Self::to_value) gives, with names of the caller for what messages advise
    /// to make use of.
    pub fn explain_to_value(&self, words: impl Fn(Remedy) -> &'static str) -> Value {
        let (count, failed) = (self.cases().count(), self.failed());
        let files = self.files.iter().map(|file| file.value(&words));
        Object::from_iter([
            ("passed", Value::from(count - failed)),
            ("failed", failed.into()),
            ("unreadable", self.unreadable().count().into()),
            ("seed", Number::from(self.seed).into()),
            ("seconds", seconds(self.elapsed)),
            ("files", files.collect()),
        ])
        .into()
    }
}

impl FileReport {
    /// For programs: an object of the `path`, and of the `cases`, as [`CaseReport::to_value`] gives
    /// them, or of the `faults` of a file that can't be read.
    pub fn to_value(&self) -> Value {
        self.value(&Remedy::name)
    }

    fn value(&self, words: Words<'_>) -> Value {
        let mut out = Object::from_iter([("path", self.path.display().to_string())]);
        match &self.cases {
            Ok(cases) => {
                let cases = cases.iter().map(|case| case.value(words));
                out.insert("cases", cases.collect::<Value>())
            }
            Err(error) => {
                let faults = error.explained(words).faults;
                out.insert("faults", faults.iter().map(fault).collect::<Value>())
            }
        };
        out.into()
    }
}

/// What is known of a fault.
fn fault(fault: &Diagnostic) -> Object {
    let mut out = place(fault.position);
    if !fault.pointer.is_empty() {
        out.insert("pointer", &fault.pointer);
    }
    out.insert("message", &fault.message);
    if let Some(remedy) = &fault.remedy {
        out.insert("remedy", remedy);
    }
    out
}

/// Line and column, if they are known.
fn place(position: Option<Position>) -> Object {
    let members = position.map(|place| [("line", place.line), ("column", place.column)]);
    members.into_iter().flatten().collect()
}

/// To the microsecond.
fn seconds(time: Duration) -> Value {
    (time.as_micros() as f64 / 1e6).into()
}

impl CaseReport {
    /// For programs: an object of the `name`, the `line` and the `column`, whether the case
    /// `passed`, how many `seconds` it took, and, if it failed, the `failures`, as
    /// [`Failure::to_value`] gives them.
    pub fn to_value(&self) -> Value {
        self.value(&Remedy::name)
    }

    fn value(&self, words: Words<'_>) -> Value {
        let mut out = Object::from_iter([("name", &self.name)]);
        out.extend(place(Some(self.position)));
        out.insert("passed", self.passed());
        out.insert("seconds", seconds(self.elapsed));
        if !self.passed() {
            let failures = self.failures.iter().map(|failure| failure.value(words));
            out.insert("failures", failures.collect::<Value>());
        }
        out.into()
    }
}

impl Failure {
    /// For programs: an object of `kind`, which is the [`key`](Self::key), a `message`, and what
    /// was `expected` and the `actual`, if there is something to compare. Of a text that was cut
    /// the former is what it means as a whole, the latter what it means in pieces, and `places`
    /// says where it was cut.
    pub fn to_value(&self) -> Value {
        self.value(&Remedy::name)
    }

    fn value(&self, words: Words<'_>) -> Value {
        let mut out = Object::from_iter([
            ("kind", self.key().to_owned()),
            ("message", self.explain(words)),
        ]);
        if let Failure::Cut { places, .. } = self {
            out.insert("places", places.iter().copied().collect::<Value>());
        }
        let (expected, actual) = self.compared();
        for (key, value) in [("expected", expected), ("actual", actual)] {
            if let Some(value) = value {
                out.insert(key, value);
            }
        }
        out.into()
    }

    /// What was expected, and what there is.
    fn compared(&self) -> (Option<Value>, Option<Value>) {
        match self {
            Failure::Message { expected, actual } => {
                (Some(expected.clone().into()), Some(actual.clone().into()))
            }
            Failure::Events { expected, actual } => {
                (Some(expected.clone().into()), Some(actual.clone().into()))
            }
            Failure::NotParsed(error) => (None, Some(error.to_string().into())),
            Failure::OtherError { expected, actual } => {
                (Some(expected.into()), Some(actual.to_string().into()))
            }
            Failure::Parsed { expected, actual } => {
                (Some(expected.into()), Some(actual.clone().into()))
            }
            Failure::Cut { whole, pieces, .. } => (Some(whole.to_value()), Some(pieces.to_value())),
            Failure::Reads { expected, actual } => {
                (Some(expected.clone().into()), Some(actual.clone().into()))
            }
            Failure::Written { expected, actual } => {
                let value = |texts: &[String]| Some(texts.iter().map(String::as_str).collect());
                (value(expected), value(actual))
            }
            Failure::Renders { expected, actual } => (Some(expected.into()), Some(actual.into())),
            Failure::NoConversationExpected { actual, .. } => (None, Some(actual.clone())),
            Failure::MarkerLeft { .. }
            | Failure::UnknownTool(_)
            | Failure::Unread(_)
            | Failure::NoAnchor
            | Failure::NothingExpected(_)
            | Failure::NotRendered(_)
            | Failure::NotRead(_)
            | Failure::NotMasked(_) => (None, None),
        }
    }
}
