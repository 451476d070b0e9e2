//! Many outputs at once: what is asked for, and what a run that was interrupted goes on with.

use std::path::{Path, PathBuf};

use unjinja::chat_template::Source;
use unjinja::{Object, Value};

use crate::commands::batch::{Batch, BatchFormat, Columns, Target, column, kept, stamp};
use crate::commands::{Failure, input};

use super::Args;

/// What is asked for of a batch.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(super) struct ManyArgs {
    /// The column that holds something, such as `text=output`; `prefix=` ignores it
    #[arg(long = "column", value_name = "WHAT=NAME", requires = "batch", value_parser = column)]
    columns: Vec<(String, String)>,

    /// A column to copy to the answers, besides the id
    #[arg(long, value_name = "NAME", requires = "batch", value_delimiter = ',', value_parser = kept)]
    keep: Vec<String>,

    /// Write messages without their events, as `--format parquet` always does
    #[arg(long, requires = "batch")]
    no_events: bool,

    /// Write the answers to this file, whole or not at all; if interrupted, the same command continues
    #[arg(short = 'o', long = "output", value_name = "FILE", requires = "batch")]
    answers: Option<PathBuf>,

    /// Replace the existing file of `-o`, and what an interrupted run with other options left of it
    #[arg(long, requires = "answers")]
    force: bool,

    /// Use N threads [default: as many as there are cores]
    #[arg(long, value_name = "N", requires = "batch", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Show progress even if the standard error is not a terminal
    #[arg(long, requires = "batch")]
    progress: bool,
}

impl Args {
    /// The batch that is asked for, if one is.
    pub(super) fn batch(&self) -> Result<Option<Batch<'_>>, Failure> {
        let stdin = Path::new("-");
        let (path, format) = match (&self.jsonl, self.format) {
            (Some(path), _) => (path.as_path(), BatchFormat::Jsonl),
            (None, Some(format)) => (self.output.as_deref().unwrap_or(stdin), format),
            (None, None) => return Ok(None),
        };
        let many = &self.many;
        let target = match &many.answers {
            None => None,
            Some(answers) => Some(Target {
                path: answers,
                task: self.task(path)?,
                force: many.force,
                sources: self.sources(path),
            }),
        };
        Ok(Some(Batch {
            path,
            format,
            is_lossy: self.lossy,
            columns: Columns {
                names: many.columns.clone(),
                keep: many.keep.clone(),
            },
            threads: many.threads.map(usize::from),
            progress: many.progress,
            target,
            gives_completions: self.openai,
        }))
    }

    /// Whether the answers of a batch have events.
    pub(super) fn gives_events(&self) -> bool {
        !self.many.no_events && self.format != Some(BatchFormat::Parquet)
    }

    /// The files that a batch is read from.
    fn sources(&self, path: &Path) -> Vec<PathBuf> {
        let template = self.template.as_deref();
        let of_template =
            template.map(
                |template| match Source::parse(&template.to_string_lossy()) {
                    Ok(source) => source.files(),
                    Err(_) => vec![template.to_owned()],
                },
            );
        let mut sources = of_template.unwrap_or_default();
        sources.push(path.to_owned());
        sources
    }

    /// What answers go by: all but what changes nothing in them.
    fn task(&self, path: &Path) -> Result<Value, Failure> {
        let many = ManyArgs {
            answers: None,
            force: false,
            threads: None,
            progress: false,
            ..self.many.clone()
        };
        let options = Args {
            many,
            ..self.clone()
        };
        let mut task = Object::new();
        let is_stdin = path == Path::new("-");
        task.insert(
            "input",
            match is_stdin {
                true => input::name(path).into(),
                false => stamp(path)?,
            },
        );
        if let Some(template) = self.template.as_deref().filter(|path| path.exists()) {
            task.insert("template", stamp(template)?);
        }
        task.insert("options", format!("{options:?}"));
        task.insert("version", env!("CARGO_PKG_VERSION"));
        Ok(task.into())
    }
}
