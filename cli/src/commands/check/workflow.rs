//! What a check has found, as annotations for GitHub.

use unjinja::check::Report;

use crate::options::option_name;
use crate::printing::Painted;
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
            let message = without_place.to_string();
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
            let mut message = Painted::plain();
            message.push(&format!("{}\n", failure.explain(option_name)));
            human::details(failure, case, &mut message);
            let position = Some(case.position_of(failure));
            out.push_str(&command(
                Level::Error,
                &path,
                position,
                &case.name,
                message.as_str().trim_end(),
            ));
        }
    }
    out.push_str(&human::summary(report));
    out
}
