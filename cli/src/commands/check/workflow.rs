//! What a check has found, as annotations for GitHub.

use unjinja::check::Report;

use crate::options::option_name;
use crate::printable;
use unjinja::lint::Level;

use crate::commands::github::command;

use super::human;

pub(super) fn report(report: &Report) -> String {
    let mut out = String::new();
    for error in report.unreadable() {
        let path = error.path.display().to_string();
        for fault in &error.explained(option_name).faults {
            let mut without_place = fault.clone();
            without_place.position = None;
            let message = printable(&without_place.to_string());
            out.push_str(&command(
                Level::Error,
                &path,
                fault.position,
                "unreadable",
                &message,
            ));
        }
    }
    for (file, case) in report.cases() {
        let path = file.path.display().to_string();
        for failure in &case.failures {
            let details = human::details(failure, case, false);
            let message = printable(&format!("{}\n{details}", failure.explain(option_name)));
            let name = printable(&case.name);
            let position = Some(case.position_of(failure));
            out.push_str(&command(
                Level::Error,
                &path,
                position,
                &name,
                message.trim_end(),
            ));
        }
    }
    out.push_str(&human::summary(report));
    out
}
