//! What a check has found, for people at a terminal.

use crate::options::option_name;
use crate::printable;
use unjinja::Value;
use unjinja::check::{
    CaseReport, Cut, EventTrace, Failure, MarkedText, Region, RegionKind, Report,
};

use crate::printing::Painted;

use super::changes;

/// How much of a region is shown, in characters.
const SHOWN: usize = 120;

/// How much of a text is shown before and after a place where it is cut, in characters.
const AROUND: usize = 24;

/// So many places where a text is cut are shown.
const MAX_PLACES: usize = 8;

pub(super) fn report(report: &Report) -> Painted {
    let mut out = Painted::for_results();
    for error in report.unreadable() {
        for line in error.explained(option_name).to_string().lines() {
            out.paint("ERROR", "31");
            out.push(&format!(" {line}\n"));
        }
    }
    for (file, case) in report.cases().filter(|(_, case)| !case.passed()) {
        let (line, column) = case.position.line_column();
        let path = file.path.display();
        out.paint("FAIL", "31");
        out.push(&format!(" {path}:{line}:{column}: {}\n", case.name));
        for failure in &case.failures {
            out.push(&format!("  {}\n", failure.explain(option_name)));
            out.indent("    ", |out| details(failure, case, out));
        }
        if case.text.is_some() {
            out.push("  the text, region by region:\n");
            out.indent("    ", |out| regions(case, out));
        }
    }
    out.push(&summary(report));
    out
}

/// How many there were, and how many are right.
pub(super) fn summary(report: &Report) -> String {
    let counted = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let count = report.cases().count();
    let mut parts = vec![format!(
        "{} of {} passed",
        count - report.failed(),
        counted(count, "case")
    )];
    parts.push(counted(report.files.len(), "file"));
    match report.unreadable().count() {
        0 => {}
        count => parts.push(format!("{} can't be read", counted(count, "file"))),
    }
    parts.push(format!("each cut in {} ways", Cut::COUNT));
    parts.push(format!("seed {}", report.seed));
    format!(
        "{}, {:.2} s\n",
        parts.join(", "),
        report.elapsed.as_secs_f64()
    )
}

pub(super) fn details(failure: &Failure, case: &CaseReport, out: &mut Painted) {
    match failure {
        Failure::Message { expected, actual } => {
            changes::of_values(&expected.clone().into(), &actual.clone().into(), out);
        }
        Failure::Events { expected, actual } => {
            let value = |events: &[Value]| Value::Array(events.to_vec());
            changes::of_values(&value(expected), &value(actual), out);
        }
        Failure::Reads { expected, actual } => {
            changes::of_values(&expected.clone().into(), &actual.clone().into(), out);
        }
        Failure::Written { expected, actual } => {
            let value = |texts: &[String]| texts.iter().map(String::as_str).collect::<Value>();
            changes::of_values(&value(expected), &value(actual), out);
        }
        Failure::Renders { expected, actual } => {
            let value = |text: &String| Value::from(text.as_str());
            changes::of_values(&value(expected), &value(actual), out);
        }
        Failure::Parsed { actual, .. } => out.push(&unjinja::json::write(&actual.clone().into())),
        Failure::Cut {
            places,
            whole,
            pieces,
            ..
        } => {
            if let Some(marked) = &case.text {
                places_in(marked, places, out);
            }
            parting(whole, pieces, out);
        }
        _ => {}
    }
}

/// The places of the output where it has to be cut.
fn places_in(marked: &MarkedText, places: &[usize], out: &mut Painted) {
    out.push(&match places {
        [_] => "it is enough to cut it here:\n".to_owned(),
        places => format!("it is enough to cut it at these {} places:\n", places.len()),
    });
    for &place in places.iter().take(MAX_PLACES) {
        let (before, after) = around(&marked.text, marked.output + place);
        out.push(&format!("  {before}"));
        out.paint("┊", "33");
        out.push(&format!("{after}\n"));
    }
    if places.len() > MAX_PLACES {
        out.push(&format!("  and {} more\n", places.len() - MAX_PLACES));
    }
}

/// What a text means as a whole, and in pieces.
fn parting(whole: &EventTrace, pieces: &EventTrace, out: &mut Painted) {
    out.push("whole (-) and in pieces (+):\n");
    changes::of_values(&events_of(whole), &events_of(pieces), out);
}

/// What a trace comes to: what happened, and the message or the error.
fn events_of(trace: &EventTrace) -> Value {
    let mut lines = trace.events_as_values();
    lines.push(match &trace.outcome {
        Ok(message) => message.clone().into(),
        Err(error) => error.to_string().into(),
    });
    Value::Array(lines)
}

/// What stands before and after a place of a text.
fn around(text: &str, place: usize) -> (String, String) {
    let place = text.floor_char_boundary(place);
    let (before, after) = text.split_at(place);
    let from = before
        .char_indices()
        .rev()
        .nth(AROUND)
        .map_or(0, |(at, _)| at);
    let to = after
        .char_indices()
        .nth(AROUND)
        .map_or(after.len(), |(at, _)| at);
    (visible(&before[from..]), visible(&after[..to]))
}

fn regions(case: &CaseReport, out: &mut Painted) {
    let Some(MarkedText { text, regions, .. }) = &case.text else {
        return;
    };
    let names = regions.iter().map(|region| field(region).chars().count());
    let width = names.max().unwrap_or(0);
    for region in regions {
        let (kind, colour) = match region.kind {
            RegionKind::Open => ("opens", "36"),
            RegionKind::Close => ("closes", "36"),
            RegionKind::Skipped => ("dropped", "90"),
            _ => ("", "0"),
        };
        out.push(&format!("{:<width$}  {kind:<7}  ", field(region)));
        out.paint(&shortened(&text[region.span.clone()]), colour);
        out.push("\n");
        if region.replaces {
            out.push(&format!(
                "{:<width$}  {:<7}  ↑ this replaces what was `{}` before\n",
                "",
                "",
                field(region)
            ));
        }
    }
    let end = regions.last().map_or(0, |region| region.span.end);
    if end < text.len() {
        out.push(&format!(
            "{:<width$}  {:<7}  {}\n",
            "-",
            "unread",
            shortened(&text[end..])
        ));
    }
}

fn field(region: &Region) -> &str {
    region.field.as_deref().unwrap_or("-")
}

/// A text on one line, without its middle if it is long.
fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= SHOWN {
        return visible(text);
    }
    let half = SHOWN / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{} … {}", visible(&head), visible(&tail))
}

/// A text on one line.
fn visible(text: &str) -> String {
    printable(text).replace('\n', "⏎").replace('\t', "→")
}
