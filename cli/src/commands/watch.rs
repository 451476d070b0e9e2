//! `unjinja watch`: what has changed from one survey to the next.

mod difference;
mod patch;
mod report;
mod side;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;

use clap::ValueEnum;

use crate::printing;
use unjinja::Object;

use super::Failure;
use super::batch::{Step, pipeline};
use super::output::{self, Output};
use super::source::SourceOptions;
use super::survey::{Run, threads};

use difference::Difference;
use report::Report;
use side::{Known, Side};

/// Compare two surveys of chat templates: what behaves differently, and what only changed its text
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  Compare two folders directly, without surveying them first:
    unjinja watch before/ now/

  Compare this week's survey with last week's:
    unjinja survey models.txt -o now.jsonl
    unjinja watch before.jsonl now.jsonl

  For a pull request, write a report and a patch with the new response templates and fixtures:
    unjinja watch before.jsonl now.jsonl --format markdown --patch changes.patch > report.md
    git apply changes.patch

  Compare two versions of one template, whatever their file names:
    unjinja watch old/chat_template.jinja new/chat_template.jinja

Sources match by name, ignoring the revision after `@`; sources in folders match by their
relative paths. If a template's text has changed, the renderings of both versions, and texts
made from the markers of both, are read with both response templates. The behaviour has changed
if any of these texts is read differently, if a turn or a prompt is written differently, if the
template renders, drops or refuses something else, or if a conversation shows a fault in only
one version. Complaints of the linter about the text alone are reported, and do not count as
behaviour.

If a list names the `base` of a model, or a GGUF file is in the folder of a model, the two are
compared as well.

Exit codes:
  0  no behaviour has changed; templates may be new, gone, or changed in text only
  1  the behaviour of a template has changed, or a template is newly broken
  2  one of the two can't be read")]
pub(crate) struct Args {
    /// The earlier state: a survey, or any source that `unjinja survey` takes
    #[arg(value_name = "OLD")]
    old: String,

    /// The current state
    #[arg(value_name = "NEW")]
    new: String,

    #[command(flatten)]
    options: SourceOptions,

    /// How to print what was found
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: WatchFormat,

    /// Write a patch to this file that updates response templates and fixtures to what is derived now
    #[arg(long, value_name = "FILE")]
    patch: Option<PathBuf>,

    /// Replace an existing file
    #[arg(long)]
    force: bool,

    /// The number of threads [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Show progress and the time left, even if no terminal is attached
    #[arg(long)]
    progress: bool,
}

/// How to print what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WatchFormat {
    /// Lines for people
    Human,
    /// For a pull request
    Markdown,
    /// A JSON object
    Json,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let output = Output::of_sources([args.old.as_str(), args.new.as_str()], args.force);
    if let Some(path) = args
        .patch
        .as_deref()
        .filter(|path| !output::is_stdout(path))
    {
        output.check_new(path)?;
    }
    let run = Run {
        options: &args.options,
        threads: threads(args.threads),
        progress: args.progress,
    };
    let (mut old, mut new) = (Side::of(&args.old, &run)?, Side::of(&args.new, &run)?);
    let mut report = pair(&old, &new);
    let differences = differences(&mut old, &mut new, &report, run.threads)?;
    report.take(&old, &new, differences);
    match args.format {
        WatchFormat::Human => printing::print_report(&report.human())?,
        WatchFormat::Markdown => printing::print(report.markdown())?,
        WatchFormat::Json => printing::print(output::pretty(&report.to_value()))?,
    }
    if let Some(path) = &args.patch {
        output.write(path, &patch::of(&report, &mut old, &mut new)?)?;
    }
    match report.is_behavioural() {
        true => Err(Failure::Reported(1)),
        false => Ok(()),
    }
}

/// Which sources belong together.
fn pair(old: &Side, new: &Side) -> Report {
    let mut report = Report::default();
    let is_alone = |side: &Side| side.rows.len() == 1;
    let found: Vec<Option<usize>> = match is_alone(old) && is_alone(new) {
        // There is nothing else that it could be.
        true => vec![Some(0)],
        false => new.rows.iter().map(|row| old.place(&row.key)).collect(),
    };
    let mut kept = vec![false; old.rows.len()];
    for (at, before) in found.into_iter().enumerate() {
        match before {
            Some(before) => {
                kept[before] = true;
                report.add_pair((before, at), (&old.rows[before], &new.rows[at]));
            }
            None => report.new.push(at),
        }
    }
    let gone = kept.iter().enumerate().filter(|(_, kept)| !**kept);
    report.gone.extend(gone.map(|(at, _)| at));
    for (at, row) in new.rows.iter().enumerate() {
        let base = row
            .base
            .as_deref()
            .and_then(|base| new.place(&side::key(base, None)));
        if let Some(base) = base.filter(|base| *base != at) {
            report.add_fork((base, at), (&new.rows[base], row));
        }
    }
    report
}

/// How each two templates differ that have to be compared, each pair once, on all threads.
fn differences(
    old: &mut Side,
    new: &mut Side,
    report: &Report,
    threads: usize,
) -> Result<HashMap<(String, String), Rc<Difference>>, Failure> {
    let mut waiting: Vec<(bool, usize, usize)> = Vec::new();
    let mut asked: HashMap<(String, String), ()> = HashMap::new();
    for (is_fork, pairs) in [(false, &report.changed), (true, &report.forks)] {
        for &(before, now) in pairs {
            let before_row = if is_fork {
                &new.rows[before]
            } else {
                &old.rows[before]
            };
            let key = (before_row.id(), new.rows[now].id());
            if asked.insert(key, ()).is_none() {
                waiting.push((is_fork, before, now));
            }
        }
    }
    let mut waiting = waiting.into_iter();
    let mut found = HashMap::new();
    let read = || {
        let Some((is_fork, before, now)) = waiting.next() else {
            return Ok(None);
        };
        let first = match is_fork {
            true => new.row(before)?,
            false => old.row(before)?,
        };
        let second = new.row(now)?;
        let first_id = if is_fork {
            new.rows[before].id()
        } else {
            old.rows[before].id()
        };
        Ok(Some(((first_id, new.rows[now].id()), first, second)))
    };
    pipeline::run(
        threads,
        read,
        |(key, first, second): ((String, String), Object, Object)| {
            (key, Difference::of(&first, &second))
        },
        |step| {
            if let Step::Next((key, difference)) = step {
                found.insert(key, Rc::new(difference));
            }
            Ok(ControlFlow::Continue(()))
        },
    )?;
    Ok(found)
}

/// Whether two rows have to be compared: their templates are not the same.
fn differ(old: &Known, new: &Known) -> bool {
    old.id() != new.id()
}
