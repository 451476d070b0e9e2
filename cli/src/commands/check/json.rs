//! What a check has found, for programs.

use std::time::Duration;

use crate::options::option_name;
use unjinja::check::{CaseReport, Failure, FileReport, Report};
use unjinja::{Object, Value, json};

pub(super) fn report(report: &Report) -> String {
    let mut out = Object::new();
    let count = report.cases().count();
    out.insert("passed", count - report.failed());
    out.insert("failed", report.failed());
    out.insert("unreadable", report.unreadable().count());
    out.insert("seed", unjinja::Number::from(report.seed));
    out.insert("seconds", seconds(report.elapsed));
    out.insert("files", list(report.files.iter().map(file)));
    json::write_styled(&out.into(), &json::Style::pretty(2)) + "\n"
}

/// To the microsecond.
fn seconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e6
}

fn list(values: impl Iterator<Item = Object>) -> Value {
    Value::Array(values.map(Value::from).collect())
}

fn file(file: &FileReport) -> Object {
    let mut out = Object::new();
    out.insert("path", file.path.display().to_string());
    match &file.cases {
        Ok(cases) => out.insert("cases", list(cases.iter().map(case))),
        Err(error) => out.insert("faults", list(error.faults.iter().map(fault))),
    };
    out
}

fn fault(fault: &unjinja::Diagnostic) -> Object {
    let mut out = Object::new();
    place(&mut out, fault.position);
    if !fault.pointer.is_empty() {
        out.insert("pointer", fault.pointer.as_str());
    }
    out.insert("message", fault.message.as_str());
    if let Some(remedy) = &fault.remedy {
        out.insert("remedy", remedy.as_str());
    }
    out
}

fn place(out: &mut Object, position: Option<unjinja::Position>) {
    if let Some(position) = position {
        out.insert("line", position.line);
        out.insert("column", position.column);
    }
}

fn case(case: &CaseReport) -> Object {
    let mut out = Object::new();
    out.insert("name", case.name.as_str());
    place(&mut out, Some(case.position));
    out.insert("passed", case.passed());
    out.insert("seconds", seconds(case.elapsed));
    if !case.passed() {
        out.insert("failures", list(case.failures.iter().map(failure)));
    }
    out
}

fn failure(failure: &Failure) -> Object {
    let mut out = Object::new();
    out.insert("kind", failure.key());
    out.insert("message", failure.explain(option_name));
    let (expected, actual) = match failure {
        Failure::Message { expected, actual } => {
            (Some(expected.clone().into()), Some(actual.clone().into()))
        }
        Failure::Events { expected, actual } => {
            let value = |events: &[Value]| Some(Value::Array(events.to_vec()));
            (value(expected), value(actual))
        }
        Failure::NotParsed(error) => (None, Some(error.to_string().into())),
        Failure::OtherError { expected, actual } => (
            Some(expected.as_str().into()),
            Some(actual.to_string().into()),
        ),
        Failure::Parsed { expected, actual } => {
            (Some(expected.as_str().into()), Some(actual.clone().into()))
        }
        Failure::Cut {
            places,
            whole,
            pieces,
            ..
        } => {
            let places = places.iter().map(|&place| Value::from(place as i64));
            out.insert("places", Value::Array(places.collect()));
            (Some(trace(whole)), Some(trace(pieces)))
        }
        _ => (None, None),
    };
    for (key, value) in [("expected", expected), ("actual", actual)] {
        if let Some(value) = value {
            out.insert(key, value);
        }
    }
    out
}

fn trace(trace: &unjinja::check::EventTrace) -> Value {
    let mut out = Object::new();
    match &trace.outcome {
        Ok(message) => out.insert("message", message.clone()),
        Err(error) => out.insert("error", error.to_string()),
    };
    out.insert("events", Value::Array(trace.events_as_values()));
    out.into()
}
