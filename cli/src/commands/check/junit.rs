//! What a check has found, as the XML that CI systems read from test runners.

use std::time::Duration;

use crate::options::option_name;
use crate::printing::Painted;
use unjinja::check::{CaseReport, FileReport, FixtureError, Report};

use super::human;

pub(super) fn report(report: &Report) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str(&format!(
        "<testsuites name=\"unjinja\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{}\">\n",
        report.cases().count() + report.unreadable().count(),
        report.failed(),
        report.unreadable().count(),
        seconds(report.elapsed),
    ));
    for file in &report.files {
        suite(&mut out, file);
    }
    out.push_str("</testsuites>\n");
    out
}

fn suite(out: &mut String, file: &FileReport) {
    let path = file.path.display().to_string();
    let name = attribute(&path);
    let begin = |tests: usize, failures: usize, errors: usize, time: Duration| {
        format!(
            "  <testsuite name=\"{name}\" file=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" \
             errors=\"{errors}\" time=\"{}\">\n",
            seconds(time)
        )
    };
    match &file.cases {
        Ok(cases) => {
            let failures = cases.iter().filter(|case| !case.passed()).count();
            let time = cases.iter().map(|case| case.elapsed).sum();
            out.push_str(&begin(cases.len(), failures, 0, time));
            for one in cases {
                case(out, &path, one);
            }
        }
        Err(error) => {
            out.push_str(&begin(1, 0, 1, Duration::ZERO));
            unreadable(out, &path, &error.explained(option_name));
        }
    }
    out.push_str("  </testsuite>\n");
}

/// The places stand in the texts, since not all versions of the schema have attributes for them.
fn case(out: &mut String, path: &str, case: &CaseReport) {
    let (name, class) = (attribute(&case.name), attribute(path));
    out.push_str(&format!(
        "    <testcase name=\"{name}\" classname=\"{class}\" time=\"{}\"",
        seconds(case.elapsed)
    ));
    if case.passed() {
        out.push_str("/>\n");
        return;
    }
    out.push_str(">\n");
    let (line, column) = case.position.line_column();
    let place = format!("{path}:{line}:{column}");
    for failure in &case.failures {
        let mut details = Painted::plain();
        human::details(failure, case, &mut details);
        out.push_str(&format!(
            "      <failure type=\"{}\" message=\"{}\">{}</failure>\n",
            failure.key(),
            attribute(&failure.explain(option_name)),
            text(&format!("{place}\n{}", details.as_str())),
        ));
    }
    out.push_str("    </testcase>\n");
}

fn unreadable(out: &mut String, path: &str, error: &FixtureError) {
    let name = attribute(path);
    let first = error
        .faults
        .first()
        .map(ToString::to_string)
        .unwrap_or_default();
    out.push_str(&format!(
        "    <testcase name=\"{name}\" classname=\"{name}\" time=\"0.000\">\n      \
         <error type=\"unreadable\" message=\"{}\">{}</error>\n    </testcase>\n",
        attribute(&first),
        text(&error.to_string()),
    ));
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// A text within quotes, where line breaks would be taken for spaces.
fn attribute(value: &str) -> String {
    let escaped = text(value).replace('"', "&quot;");
    escaped.replace('\n', "&#10;").replace('\t', "&#9;")
}

/// A text between tags. XML has no place for most control characters.
fn text(value: &str) -> String {
    let mut out = String::new();
    for c in value.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#13;"),
            '\n' | '\t' => out.push(c),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_has_its_place_in_xml() {
        assert_eq!(
            text("<a b=\"c\">&\u{1b}[0m\r\n"),
            "&lt;a b=\"c\"&gt;&amp;\u{fffd}[0m&#13;\n"
        );
        assert_eq!(attribute("\"\n\t<"), "&quot;&#10;&#9;&lt;");
    }
}
