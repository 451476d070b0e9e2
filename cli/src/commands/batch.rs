//! Batches: many rows in, an answer for each, in the same order, on all cores.

mod columns;
mod lines;
#[cfg(feature = "parquet")]
mod parquet;
mod parts;
pub(crate) mod pipeline;
mod progress;
mod remarks;
mod reply;

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;

use clap::ValueEnum;

use crate::printing;
use unjinja::{Object, Value};

use super::output::{self, Output};
use super::{Failure, input};

pub(crate) use columns::{Columns, column, kept};
pub(crate) use lines::{Lines, LinesFormat};
pub(crate) use parts::{Earlier, Parts, stamp};
pub(crate) use pipeline::Step;
pub(crate) use progress::{Extent, Progress};
pub(crate) use reply::{Answers, Members, Reply};

use lines::Answering;
use remarks::Remarks;

/// How the rows of a batch are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BatchFormat {
    /// JSON lines: one object a line
    #[default]
    Jsonl,
    /// Parquet, from one file into another
    Parquet,
}

/// What is to be answered, and how.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    /// The file of rows; `-` is the standard input.
    pub(crate) path: &'a Path,
    pub(crate) format: BatchFormat,
    /// Bytes that are not UTF-8 are read as U+FFFD.
    pub(crate) is_lossy: bool,
    pub(crate) columns: Columns,
    /// How many threads work on it, or all there are.
    pub(crate) threads: Option<usize>,
    /// Whether progress is shown in any case.
    pub(crate) progress: bool,
    /// The file of answers, or the standard output.
    pub(crate) target: Option<Target<'a>>,
    /// Whether answers have a completion in place of a message.
    #[cfg_attr(
        not(feature = "parquet"),
        expect(dead_code, reason = "lines need not know what they hold")
    )]
    pub(crate) gives_completions: bool,
}

/// The file that answers are written to.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    pub(crate) path: &'a Path,
    /// What the answers go by: a run with the same goes on where another was interrupted.
    pub(crate) task: Value,
    /// Whether the file may be replaced.
    pub(crate) force: bool,
    /// What the command reads.
    pub(crate) sources: Vec<PathBuf>,
}

/// Answers every line of a file (`-` is standard input) with a line.
///
/// `work` answers one line's object; what it returns is written with the line's `id`. A line that
/// is no JSON object is reported on standard error, and makes the batch a failure in the end.
///
/// Warnings are reported with their line. One that comes again is counted, and the count is reported in the
/// end.
pub(crate) fn answer_lines(
    path: &Path,
    is_lossy: bool,
    work: impl Fn(&Object) -> Reply + Sync,
) -> Result<(), Failure> {
    let batch = Batch {
        path,
        format: BatchFormat::Jsonl,
        is_lossy,
        columns: Columns::default(),
        threads: None,
        progress: false,
        target: None,
        gives_completions: false,
    };
    batch.run(work)
}

impl Batch<'_> {
    /// Answers every row with what `work` makes of it.
    pub(crate) fn run(&self, work: impl Fn(&Object) -> Reply + Sync) -> Result<(), Failure> {
        if let Some(target) = &self.target {
            target.check()?;
        }
        match (self.format, &self.target) {
            (BatchFormat::Jsonl, None) => self.print_lines(work),
            (BatchFormat::Jsonl, Some(target)) => self.write_lines(target, work),
            (BatchFormat::Parquet, _) if self.path == Path::new("-") => Err(Failure::Input(
                "Parquet can't be read from the standard input: give a file".into(),
            )),
            (BatchFormat::Parquet, None) => Err(Failure::Input(
                "Parquet is not printed: give a file to write with `-o FILE`".into(),
            )),
            (BatchFormat::Parquet, Some(target)) => self.write_rows(target, work),
        }
    }

    fn threads(&self) -> usize {
        let all = || thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(all)
    }

    fn print_lines(&self, work: impl Fn(&Object) -> Reply + Sync) -> Result<(), Failure> {
        let name = input::name(self.path);
        let mut lines = Lines::open(self.path, self.is_lossy, (0, 0))?;
        let extent = Extent {
            unit: "lines",
            rows: 0,
            start: 0,
            end: lines.size,
        };
        let progress = Progress::new(extent, true, self.progress);
        let mut remarks = Remarks::new(&name, "line", progress, 0);
        let answering = Answering {
            name: &name,
            columns: &self.columns,
            keeps_faults: false,
            work,
        };
        let mut out = printing::Results::new();
        let ended = pipeline::run(
            self.threads(),
            || lines.next_batch(),
            |batch| answering.answer(&batch),
            |step| match step {
                Step::Idle => out.flush(),
                Step::Next(answers) => {
                    let written = out.write(&answers.answers);
                    remarks.take(&answers.faults, answers.warnings);
                    if written?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    remarks.done(answers.rows, answers.end);
                    Ok(ControlFlow::Continue(()))
                }
            },
        );
        let _nobody_wants_more = out.flush()?;
        let reported = remarks.end();
        ended.and(reported)
    }

    fn write_lines(
        &self,
        target: &Target<'_>,
        work: impl Fn(&Object) -> Reply + Sync,
    ) -> Result<(), Failure> {
        let name = input::name(self.path);
        let mut parts = target.parts(self.path, LinesFormat)?;
        let done = parts.done();
        let mut lines = Lines::open(self.path, self.is_lossy, (done.rows, done.end))?;
        let extent = Extent {
            unit: "lines",
            rows: done.rows,
            start: done.end,
            end: lines.size,
        };
        let progress = Progress::new(extent, false, self.progress);
        let mut remarks = Remarks::new(&name, "line", progress, done.faults);
        let answering = Answering {
            name: &name,
            columns: &self.columns,
            keeps_faults: true,
            work,
        };
        let ended = pipeline::run(
            self.threads(),
            || lines.next_batch(),
            |batch| answering.answer(&batch),
            |step| write(step, &mut parts, &mut remarks),
        );
        let reported = remarks.end();
        ended?;
        parts.finish(target.path)?;
        reported
    }

    #[cfg(feature = "parquet")]
    fn write_rows(
        &self,
        target: &Target<'_>,
        work: impl Fn(&Object) -> Reply + Sync,
    ) -> Result<(), Failure> {
        use parquet::{ParquetFormat, Table};
        let name = input::name(self.path);
        let table = Table::open(
            self.path,
            self.is_lossy,
            &self.columns,
            self.gives_completions,
        )?;
        let plan = table.plan().clone();
        let schema = plan.schema.clone();
        let mut parts = target.parts(self.path, ParquetFormat { schema })?;
        let done = parts.done();
        let extent = Extent {
            unit: "rows",
            rows: done.rows,
            start: done.end,
            end: Some(table.rows()),
        };
        let mut rows = table.rows_after(done.rows)?;
        let progress = Progress::new(extent, false, self.progress);
        let mut remarks = Remarks::new(&name, "row", progress, done.faults);
        let ended = pipeline::run(
            self.threads(),
            || rows.next_batch(),
            |batch| plan.answer(&batch, &work),
            |step| write(step, &mut parts, &mut remarks),
        );
        let reported = remarks.end();
        ended?;
        parts.finish(target.path)?;
        reported
    }

    #[cfg(not(feature = "parquet"))]
    fn write_rows(
        &self,
        _: &Target<'_>,
        _: impl Fn(&Object) -> Reply + Sync,
    ) -> Result<(), Failure> {
        Err(Failure::Input(
            "this program was built without Parquet: build it with \
             `cargo install --path cli --features parquet`"
                .into(),
        ))
    }
}

fn write<F: parts::AnswerFile>(
    step: Step<reply::Answers<F::Answers>>,
    parts: &mut Parts<F>,
    remarks: &mut Remarks<'_>,
) -> Result<ControlFlow<()>, Failure> {
    if let Step::Next(mut answers) = step {
        let warnings = std::mem::take(&mut answers.warnings);
        remarks.take(&answers.faults, warnings);
        let (rows, end) = (answers.rows, answers.end);
        parts.write(answers)?;
        remarks.done(rows, end);
    }
    Ok(ControlFlow::Continue(()))
}

impl Target<'_> {
    /// Refuses a file that can't be written, or must not be. Nobody has to wait for that.
    fn check(&self) -> Result<(), Failure> {
        if output::is_stdout(self.path) {
            return Err(Failure::Input(
                "without `-o`, answers are printed: leave it out, or give a file".into(),
            ));
        }
        let output = Output {
            sources: self.sources.clone(),
            force: self.force,
        };
        output.check_new(self.path)
    }

    /// The parts of the file, of which there may be some already.
    fn parts<F: parts::AnswerFile>(&self, source: &Path, format: F) -> Result<Parts<F>, Failure> {
        // What comes from the standard input can't be gone on with.
        let is_file = source != Path::new("-")
            && File::open(source)
                .and_then(|file| file.metadata())
                .is_ok_and(|metadata| metadata.is_file());
        let earlier = match (is_file, self.force) {
            (false, _) => Earlier::Discarded,
            (true, true) => Earlier::KeptOrDiscarded,
            (true, false) => Earlier::Kept,
        };
        let parts = Parts::open(self.path, self.task.clone(), earlier, format)?;
        let done = parts.done();
        if done.rows > 0 {
            printing::tell(format_args!(
                "continuing after {} rows that an earlier run answered\n",
                done.rows
            ));
        }
        Ok(parts)
    }
}
