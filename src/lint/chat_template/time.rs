//! What makes one prompt differ from the next, though nothing else has been said.

use jiff::ToSpan;
use jiff::civil::{DateTime, date};

use crate::chat_template::program::What;
use crate::lint::Lint;

use super::blame;
use super::elsewhere::time_letters;
use super::stage::Stage;
use super::{Fault, Report};

/// What stands for the current time where nobody says what it is.
fn usual() -> DateTime {
    date(2026, 3, 5).at(14, 7, 9, 0)
}

/// The letters of what is finer than a day.
const FINE: &str = "HIMSfpcXsTRr";

pub(super) fn check(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    fine_time(stage, report);
    chance(stage, report);
}

fn fine_time(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    let mut calls = stage
        .program
        .uses
        .iter()
        .filter(|used| matches!(&used.what, What::Function(name, _) if name == "strftime_now"));
    let Some(first) = calls.clone().next() else {
        return;
    };
    let fine = calls.find(|used| match &used.what {
        What::Function(_, arguments) => arguments.texts.iter().any(|format| {
            time_letters(format)
                .iter()
                .any(|letter| FINE.contains(*letter))
        }),
        _ => false,
    });
    const REMEDY: &str = "write the day only: `{{ strftime_now('%Y-%m-%d') }}`; or let a variable say the time, and put it \
                          behind all that stays";
    let now = stage.base().now.unwrap_or_else(usual);
    let at = |now: DateTime, shape: &str| {
        let mut input = stage.input(&stage.talk(shape).prompt());
        input.now = Some(now);
        stage.render_input(&input).ok()
    };
    for shape in ["u", "su", "uco"] {
        let Some(text) = at(now, shape) else {
            continue;
        };
        let later = [
            (1.second(), "second"),
            (1.minute(), "minute"),
            (1.hour(), "hour"),
        ];
        for (span, unit) in later {
            let later = now
                .checked_add(span)
                .ok()
                .filter(|later| later.date() == now.date());
            let Some(changed) = later.and_then(|later| at(later, shape)) else {
                continue;
            };
            if changed == text {
                continue;
            }
            report.add(
                Fault::new(
                    Lint::FinerThanADay,
                    format!("the prompt changes with every {unit}, so that no cache holds longer"),
                    REMEDY,
                )
                .at(fine.unwrap_or(first).place.clone())
                .shown_by(&stage.talk(shape).prompt()),
            );
            return;
        }
    }
    // Where no conversation led, it may still be written.
    if let Some(fine) = fine {
        report.add(
            Fault::new(
                Lint::FinerThanADay,
                "the prompt may change within the day, so that no cache holds longer",
                REMEDY,
            )
            .at(fine.place.clone()),
        );
    }
}

/// Signs of what Python prints for things that have no text: where they lie in memory.
const ADDRESSES: [&str; 2] = ["<generator object", " object at 0x"];

fn chance(stage: &Stage<'_>, report: &mut Report<'_, '_>) {
    for used in &stage.program.uses {
        let what = match &used.what {
            What::Filter(name, _) if matches!(name.as_str(), "random" | "shuffle") => {
                format!("the filter `{name}`")
            }
            What::Function(name, _) if name == "lipsum" => format!("the function `{name}`"),
            _ => continue,
        };
        report.add(
            Fault::new(
                Lint::DiffersFromCallToCall,
                format!("{what} makes the prompt differ from call to call"),
                "let a variable say what is to be chosen: no cache holds, and no test can be repeated",
            )
            .at(used.place.clone()),
        );
    }
    for shape in ["su", "uco", "urut"] {
        let mut talk = stage.talk(shape).prompt();
        talk.tools = vec![stage.writer.tool(1)];
        let Some(text) = stage.text(&talk) else {
            continue;
        };
        for sign in ADDRESSES {
            let found = text.find(sign);
            let Some((at, place)) = found.zip(blame::origin(stage, &talk, sign)) else {
                continue;
            };
            report.add(
                Fault::new(
                    Lint::DiffersFromCallToCall,
                    format!("`{sign}…` is printed, with an address in memory that differs from call to call"),
                    "put `| list` or `| join(', ')` behind filters such as `map` and `select`, and `()` behind methods",
                )
                .at(place)
                .shown_by(&talk)
                .marked(at..at + sign.len()),
            );
        }
    }
}
