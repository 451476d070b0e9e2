//! `unjinja check`: whether texts are read as fixtures say.

mod changes;
mod human;
mod junit;
mod workflow;

use std::env;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::options::option_name;
use crate::printing;
use unjinja::check::{
    CheckOptions, Fixture, OutputReader, Report, Settings, check, check_outputs, find,
};

use super::source::SourceOptions;
use super::{Failure, input, output};
use crate::tui::Target;

/// What is reported where there is nothing to check.
const HOW_TO_BEGIN: &str = "make a first one with `unjinja new chat_template.jinja`, or write one: \
     `unjinja schema fixture` describes its format";

/// Check that outputs are read as fixtures expect, however they are cut
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  All fixtures in the current folder and below, or those that unjinja.toml names:
    unjinja check

  Those of one folder, and only the cases about calls:
    unjinja check fixtures/ --filter call

  Accept what comes out as the new expectation, then review each difference:
    unjinja check fixtures/ --update
    git diff fixtures/

  Outputs that `unjinja serve --record` has kept: is each of them read well?
    unjinja check -t response_template.json outputs.jsonl
    unjinja check -t model/ outputs.jsonl

  In CI:
    unjinja check --format github
    unjinja check --format junit > report.xml

Fixtures are files that end in .fixture.yaml, .fixture.yml or .fixture.json. Every output is read
several times: whole, byte by byte, character by character, and in random pieces. The message and
the events have to be the same each time.

With `-t`, the files hold outputs, one JSON object per line, each with `text` and, where they are
known, `prefix`, `tools`, `finish_reason`, `id` and `message`. An output is read well if it can be
parsed, however it is cut, if no marker of the format is left in a text, and if its calls name tools
that were offered. With a `message`, it has to mean that message.

unjinja.toml, in the current folder or a parent, may name the fixtures:
  [check]
  paths = [\"fixtures\"]

Exit codes:
  0  every case is as expected, every output is read well
  1  some are not
  2  a file or the template can't be read, or there is nothing to check")]
pub(crate) struct Args {
    /// Fixtures, and folders that contain some [default: those that unjinja.toml names, or the current
    /// folder]; with `-t`, files of outputs
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Check that outputs are read well with this: a response template, or a chat template whose response
    /// template is derived, in any source that `unjinja tui` takes
    #[arg(
        short,
        long,
        value_name = "SOURCE",
        requires = "paths",
        conflicts_with = "update"
    )]
    template: Option<String>,

    /// How to print what was found
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: CheckFormat,

    /// Check only cases whose `FILE: NAME` contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// Start no further case once one has failed
    #[arg(long)]
    fail_fast: bool,

    /// Rewrite expectations that are not met, in place, and show each difference. A message never
    /// becomes an error, nor an error a message
    #[arg(long)]
    update: bool,

    /// The seed of random cuts [default: that of unjinja.toml, or 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    #[command(flatten, next_help_heading = "The chat template, with -t")]
    source: SourceOptions,
}

/// How to print what was found.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum CheckFormat {
    /// For people
    Human,
    /// A JSON object
    Json,
    /// XML, as CI systems read it from test runners
    Junit,
    /// Annotations for GitHub
    Github,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let settings = super::settings()?;
    let mut options = CheckOptions::default();
    options.seed = args.seed.or(settings.seed).unwrap_or_default();
    options.filter.clone_from(&args.filter);
    options.fail_fast = args.fail_fast && !args.update;
    let report = match &args.template {
        Some(template) => check_outputs(&args.paths, &args.reader(template)?, &options),
        None => check_fixtures(args, &settings, &options)?,
    };
    print(&report, args.format)?;
    verdict(&report, args)
}

fn check_fixtures(
    args: &Args,
    settings: &Settings,
    options: &CheckOptions,
) -> Result<Report, Failure> {
    if let Some(path) = args.paths.iter().find(|path| input::holds_lines(path)) {
        let path = path.display();
        return Err(Failure::Input(format!(
            "{path}: outputs are checked with the template that reads them: name it, as in \
             `unjinja check -t response_template.json {path}`"
        )));
    }
    let paths = fixtures(&args.paths, settings)?;
    let report = check(&paths, options);
    match args.update && update_all(&report, options)? {
        true => Ok(check(&paths, options)),
        false => Ok(report),
    }
}

impl Args {
    /// What reads outputs. Where the chat template is known, so are all markers of the format.
    fn reader(&self, template: &str) -> Result<OutputReader, Failure> {
        let mut target = Target::new(template);
        self.source.fill(&mut target);
        let loaded = target.load(None);
        let loaded = loaded.map_err(|error| Failure::Input(error.to_string()))?;
        let reader = OutputReader::new(&loaded.template);
        Ok(match &loaded.format {
            Some(format) => reader.with_findings(&format.findings),
            None => reader,
        })
    }
}

/// The fixtures that paths name.
pub(super) fn fixtures(given: &[PathBuf], settings: &Settings) -> Result<Vec<PathBuf>, Failure> {
    let here = env::current_dir().unwrap_or_default();
    // People and annotations know paths from the current folder on.
    let shortened = |path: &PathBuf| match path.strip_prefix(&here) {
        Ok(path) if path == Path::new("") => ".".into(),
        Ok(path) => path.to_owned(),
        Err(_) => path.clone(),
    };
    let paths = match (given, settings.paths.as_slice()) {
        ([], []) => vec![PathBuf::from(".")],
        ([], named) => {
            let named: Vec<PathBuf> = named.iter().map(shortened).collect();
            let is_missing = |path: &&PathBuf| matches!(path.try_exists(), Ok(false));
            if let Some(missing) = named.iter().find(is_missing) {
                return Err(Failure::Input(not_there(missing)));
            }
            named
        }
        (given, _) => given.to_vec(),
    };
    let found = find(&paths);
    if found.is_empty() {
        let paths: Vec<String> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        return Err(Failure::Input(format!(
            "there is no fixture in {}: {HOW_TO_BEGIN}",
            paths.join(", ")
        )));
    }
    Ok(found)
}

/// What is said of a path of unjinja.toml where there is nothing.
fn not_there(path: &Path) -> String {
    let path = path.display().to_string();
    let remedy = match path.contains(['*', '?', '[']) {
        true => "patterns are not supported: name a folder to check all fixtures in it",
        false => "name an existing path, relative to the folder of unjinja.toml",
    };
    format!("unjinja.toml: [check] paths: there is nothing at {path}: {remedy}")
}

/// Shows and writes what is expected from now on. Whether anything was written.
fn update_all(report: &Report, options: &CheckOptions) -> Result<bool, Failure> {
    let mut has_changed = false;
    let failed = |file: &&unjinja::check::FileReport| match &file.cases {
        Ok(cases) => cases.iter().any(|case| !case.passed()),
        Err(_) => false,
    };
    for file in report.files.iter().filter(failed) {
        let fixture = Fixture::load(&file.path)
            .map_err(|e| Failure::Input(e.explained(option_name).to_string()))?;
        let update = fixture.update(options);
        for left in &update.left {
            let (path, (line, column)) = (file.path.display(), left.position.line_column());
            let (case, key) = (&left.case, left.key);
            printing::tell(format_args!(
                "{path}:{line}:{column}: {case}: `{key}` can't be updated in place: change it by hand\n"
            ));
        }
        if update.changes.is_empty() {
            continue;
        }
        printing::tell_report(&changes::shown(&file.path, &update));
        output::change(&file.path, &update.text)?;
        has_changed = true;
    }
    Ok(has_changed)
}

fn print(report: &Report, format: CheckFormat) -> Result<(), Failure> {
    let text = match format {
        CheckFormat::Human => return printing::print_report(&human::report(report)),
        CheckFormat::Json => output::pretty(&report.explain_to_value(option_name)),
        CheckFormat::Junit => junit::report(report),
        CheckFormat::Github => workflow::report(report),
    };
    printing::print(&text)
}

fn verdict(report: &Report, args: &Args) -> Result<(), Failure> {
    if report.unreadable().next().is_some() {
        return Err(Failure::Reported(2));
    }
    if report.cases().next().is_none() && args.filter.is_none() {
        let paths = args.paths.iter().map(|path| path.display().to_string());
        let paths = paths.collect::<Vec<String>>().join(", ");
        return Err(Failure::Input(format!(
            "there is nothing to check in {paths}"
        )));
    }
    if report.cases().next().is_none() {
        let filter = args.filter.as_deref().unwrap_or_default();
        return Err(Failure::Input(format!(
            "no case has {filter:?} in its `FILE: NAME`"
        )));
    }
    match report.failed() {
        0 => Ok(()),
        _ => Err(Failure::Reported(1)),
    }
}
