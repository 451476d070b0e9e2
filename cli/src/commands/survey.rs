//! `unjinja survey`: many chat templates in one table.

mod ledger;
mod page;
#[cfg(feature = "parquet")]
mod parquet;
mod row;
mod sources;
mod table;

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use jiff::civil::{DateTime, date};

use crate::printing;
use unjinja::chat_template::RenderInput;
use unjinja::{Object, Value, json};

use super::Failure;
use super::batch::{Answers, Earlier, Extent, LinesFormat, Parts, Progress, Step, pipeline};
use super::output::{self, Output};
use super::source::SourceOptions;

use ledger::Ledger;
use page::Page;
use row::Surveyor;
use sources::Item;
pub(crate) use sources::{Sources, is_list};
use table::Table;

/// What an interrupted run may lose.
const PART_TIME: Duration = Duration::from_secs(1);

/// Survey many chat templates in one table: what is derived and proved, what they can do, what is wrong with them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  Survey every chat template in a folder and its subfolders:
    unjinja survey models/

  Write the full results as JSON lines, one per source; run the command again to resume an
  interrupted survey:
    unjinja survey models/ -o survey.jsonl

  Also write one HTML page with each format, its response template and its proof:
    unjinja survey models/ -o survey.jsonl --html survey.html

  Make the page from an existing survey, without surveying anything again:
    unjinja survey survey.jsonl -o again.jsonl --html survey.html

  Survey the models in a list, one per line, each at its revision (needs the feature `hub`):
    unjinja survey models.txt -o survey.jsonl

  Survey the models in a Hub listing, an array of objects with `id` and `sha`:
    unjinja survey listing.json -o survey.jsonl

  Merge several surveys:
    unjinja survey monday.jsonl tuesday.jsonl -o week.jsonl

  List the sources whose format is not proved:
    jq -r 'select(.standing != \"proved\") | .source' survey.jsonl

A list is a file that ends in .jsonl, .ndjson or .txt, or `-` for standard input. Each line is a
source or a JSON object with a `source`; with a model's `id` and its `sha` or `revision`; with a
`chat_template` and its `name`, `bos_token` and `eos_token`; or a row of an earlier survey.
`base` names the model that this one was made from. A line may be an array of these, as the Hub
answers; a file of one ends in .json.

Identical templates are surveyed once. A broken, hostile or huge template affects only its own
row, since each template has its own limits. `unjinja watch` compares two surveys.

Exit codes:
  0  the survey is complete, whatever it found
  2  no source can be read, or a file can't be written")]
pub(crate) struct Args {
    /// The chat templates: files, folders that have some, GGUF files, model ids such as org/name[@revision], lists of
    /// these, and surveys
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<String>,

    #[command(flatten)]
    options: SourceOptions,

    /// Write the rows to this file as JSON lines; `-` prints them instead of the table
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write one HTML page that works offline, made from the file given with `-o`
    #[arg(long, value_name = "FILE", requires = "output")]
    html: Option<PathBuf>,

    /// Also write the rows as Parquet, made from the file given with `-o`
    #[arg(long, value_name = "FILE", requires = "output")]
    parquet: Option<PathBuf>,

    /// Replace existing files
    #[arg(long)]
    force: bool,

    /// The number of threads [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,

    /// Show progress and the time left, even if no terminal is attached
    #[arg(long)]
    progress: bool,

    /// Do not print the table
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let sources = Sources::of(&args.sources)?;
    let output = Output {
        sources: sources.files(),
        force: args.force,
    };
    let file = args
        .output
        .as_deref()
        .filter(|path| !output::is_stdout(path));
    let made = [&args.html, &args.parquet].into_iter().flatten();
    for path in made.map(PathBuf::as_path).chain(file) {
        output.check_new(path)?;
    }
    if file.is_none() && (args.html.is_some() || args.parquet.is_some()) {
        return Err(Failure::Input(
            "a page and Parquet are made of the rows in a file: name it with `-o FILE`".into(),
        ));
    }
    #[cfg(not(feature = "parquet"))]
    if args.parquet.is_some() {
        return Err(Failure::Input(
            "this program was built without Parquet: build it with `cargo install --path cli --features parquet`".into(),
        ));
    }
    let run = Run {
        options: &args.options,
        threads: threads(args.threads),
        progress: args.progress,
    };
    let prints = args.output.is_some() && file.is_none();
    let mut table = (!args.quiet && !prints).then(Table::default);
    let mut page = args.html.is_some().then(Page::default);
    let mut add = |row: &Object| {
        table.iter_mut().for_each(|table| table.add(row));
        page.iter_mut().for_each(|page| page.add(row));
    };
    match file {
        Some(path) => {
            run.write(sources, path, args.force)?;
            each_row(path, |row, _| {
                add(&row);
                Ok(())
            })?;
            #[cfg(feature = "parquet")]
            if let Some(out) = &args.parquet {
                parquet::write(path, out)?;
            }
        }
        None => run.print(sources, prints, |row| {
            add(&row);
            Ok(())
        })?,
    }
    if let (Some(page), Some(path)) = (page, &args.html) {
        output::change_with(path, |file| {
            let mut out = BufWriter::new(file);
            page.write(&mut out)?;
            out.flush()
        })?;
    }
    match table {
        Some(table) => printing::print_report(&table.report()),
        None => Ok(()),
    }
}

/// As many threads as are asked for, or as there are cores.
pub(crate) fn threads(given: Option<u16>) -> usize {
    let all = || thread::available_parallelism().map_or(1, usize::from);
    given.map_or_else(all, usize::from)
}

/// How templates are surveyed.
pub(crate) struct Run<'a> {
    pub(crate) options: &'a SourceOptions,
    pub(crate) threads: usize,
    pub(crate) progress: bool,
}

impl Run<'_> {
    /// What all renderings have in common. The time is the same in all surveys, or none could be compared.
    fn base(&self) -> RenderInput {
        let mut base = self.options.base();
        let noon: DateTime = date(2026, 1, 15).at(12, 0, 0, 0);
        base.now = base.now.or(Some(noon));
        base
    }

    /// Writes all rows to a file; what an earlier run has written of it is kept.
    fn write(&self, mut sources: Sources, path: &Path, force: bool) -> Result<(), Failure> {
        let base = self.base();
        let task = Object::from_iter([
            ("sources", sources.stamp()?),
            ("options", self.options.to_value()),
            ("version", env!("CARGO_PKG_VERSION").into()),
        ]);
        let earlier = match (sources.can_be_repeated, force) {
            (false, _) => Earlier::Discarded,
            (true, true) => Earlier::KeptOrDiscarded,
            (true, false) => Earlier::Kept,
        };
        let mut parts = Parts::open(path, task.into(), earlier, LinesFormat)?;
        parts.end_after(PART_TIME);
        let done = parts.done();
        let mut ledger = Ledger::default();
        if done.rows > 0 {
            printing::tell(format_args!(
                "resuming after {} sources that an earlier run surveyed\n",
                done.rows
            ));
        }
        for part in parts.paths() {
            each_row(&part, |row, _| {
                ledger.note(row);
                Ok(())
            })?;
        }
        for _ in 0..done.rows {
            sources.next()?;
        }
        let surveyor = Surveyor::new(self.options, base, ledger.keys());
        self.each(
            sources,
            done.rows,
            &surveyor,
            &mut ledger,
            false,
            |lines, end| {
                parts.write(Answers {
                    answers: lines,
                    rows: 1,
                    end,
                    faults: Vec::new(),
                    warnings: Vec::new(),
                })?;
                Ok(ControlFlow::Continue(()))
            },
        )?;
        parts.finish(path)
    }

    /// Hands out all rows, and prints them if that is asked for.
    pub(crate) fn print(
        &self,
        sources: Sources,
        prints: bool,
        mut add: impl FnMut(Object) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let surveyor = Surveyor::new(self.options, self.base(), []);
        let mut ledger = Ledger::default();
        self.each(sources, 0, &surveyor, &mut ledger, prints, |lines, _| {
            if prints {
                // Whoever asks for rows one by one waits for the next.
                match printing::stream(&lines) {
                    Err(Failure::Closed) => return Ok(ControlFlow::Break(())),
                    printed => printed?,
                }
            }
            for line in lines.lines() {
                if let Ok(Value::Object(row)) = json::read(line) {
                    add(row)?;
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Surveys all items on all threads, and hands out the lines of each in the order of the items.
    fn each(
        &self,
        mut sources: Sources,
        done: u64,
        surveyor: &Surveyor<'_>,
        ledger: &mut Ledger,
        prints: bool,
        mut write: impl FnMut(String, u64) -> Result<ControlFlow<()>, Failure>,
    ) -> Result<(), Failure> {
        let extent = Extent {
            unit: "sources",
            rows: done,
            start: done,
            end: sources.count,
        };
        let mut progress = Progress::new(extent, prints, self.progress);
        let mut end = done;
        let ended = pipeline::run(
            self.threads,
            || sources.next(),
            |item: Item| surveyor.answers(item),
            |step| {
                let Step::Next(answers) = step else {
                    return Ok(ControlFlow::Continue(()));
                };
                ledger.take(answers);
                while let Some(lines) = ledger.next(|key| surveyor.is_taken(key)) {
                    end += 1;
                    if write(lines, end)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    progress.add(1, end);
                }
                Ok(ControlFlow::Continue(()))
            },
        );
        progress.end();
        ended
    }
}

/// Reads the rows of a survey, each with the byte at which it begins.
pub(crate) fn each_row(
    path: &Path,
    mut take: impl FnMut(Object, u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let fail =
        |error: &dyn std::fmt::Display| Failure::Input(format!("{}: {error}", path.display()));
    let mut file = BufReader::new(File::open(path).map_err(|error| fail(&error))?);
    let (mut at, mut number) = (0, 0);
    let mut line = String::new();
    loop {
        line.clear();
        let length = file.read_line(&mut line).map_err(|error| fail(&error))?;
        if length == 0 {
            return Ok(());
        }
        number += 1;
        match json::read(&line) {
            Ok(Value::Object(row)) => take(row, at)?,
            _ => return Err(fail(&format_args!("line {number} is no row of a survey"))),
        }
        at += length as u64;
    }
}
