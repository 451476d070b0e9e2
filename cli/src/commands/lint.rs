//! `unjinja lint`: warns about problems of response templates and chat templates early.

mod chat;

use std::path::{Component, Path, PathBuf};

use clap::{ArgAction, ArgMatches, FromArgMatches, ValueEnum};

use crate::files::is_same_file;
use crate::options::option_name;
use crate::printing::{self, Painted};
use unjinja::analysis::Findings;
use unjinja::chat_template::ChatTemplate;
use unjinja::check::{Fixture, VersionReading};
use unjinja::lint::{
    Complaint, Demonstration, Level, Lint, LintOptions, Ruling, Rulings, Selector, TemplateText,
    lint, lint_schema,
};
use unjinja::{Diagnostic, Object, Position, Value, json};

use super::input::{ReaderDocument, SchemaDocument};
use super::source::{SourceOptions, report_left_out};
use super::target::TargetArgs;
use super::{Failure, github, output};
use chat::{Subjects, is_chat_template};

/// Warn about problems in a chat template or a response template early
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  Problems of a chat template, each with its line, a conversation that shows it, and what to
  write instead:
    unjinja lint chat_template.jinja

  Problems of a response template, each with its place, the reason, and what to do:
    unjinja lint response_template.json

  Checked against the prompts and the ends of turns that the chat template writes:
    unjinja lint response_template.json --chat-template chat_template.jinja

  Both, in a model's folder; a response schema, the older language, is reported if newer
  readers ignore it:
    unjinja lint model/

  The templates that the fixtures name, which unjinja.toml says where to find:
    unjinja lint

  In a workflow on GitHub, where everything worse than a note fails:
    unjinja lint templates/*.json --format github --deny all

  Whether target packages accept it, and if not, why:
    unjinja lint response_template.json --for vllm,transformers@5.20
    unjinja lint response_template.json --for all

  Which versions of the language accept it, and which read it differently from the newest:
    unjinja lint response_template.json --versions

  What a code means:
    unjinja lint --explain U003

unjinja.toml, in the current folder or a parent, sets what is always allowed or denied:
  [lint]
  deny = [\"all\", \"not-portable\"]
  allow = [\"unknown-field\"]

Exit codes:
  0  there are no problems, or only notes and warnings
  1  there is an error, or something that is denied; or the chat template renders nothing
  2  a template is refused, or can't be read; the others are still checked")]
pub(crate) struct Args {
    /// The templates: .jinja files and GGUF files with chat templates, JSON files with response templates,
    /// tokenizer_config.json files and models' folders with either or both, or model ids
    /// [default: those that the fixtures name of which `[check] paths` in unjinja.toml says where they are]
    #[arg(value_name = "TEMPLATE")]
    templates: Vec<PathBuf>,

    /// The chat template of the model: a .jinja file, a tokenizer_config.json, a model's folder, a
    /// GGUF file, or a model id [default: the one in the same configuration or folder]
    #[arg(long, value_name = "SOURCE")]
    chat_template: Option<String>,

    #[command(flatten)]
    options: SourceOptions,

    #[command(flatten)]
    targets: TargetArgs,

    /// Show which versions of the language accept the templates, and which read them differently from the
    /// newest, each with a text
    #[arg(long)]
    versions: bool,

    #[command(flatten)]
    rulings: RulingArgs,

    /// How to print what was found
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: LintFormat,

    /// Print the page of a code or name, and exit
    #[arg(long, value_name = "CODE", conflicts_with_all = ["templates", "list"])]
    explain: Option<String>,

    /// Print all codes, one per line, and exit
    #[arg(long, conflicts_with = "templates")]
    list: bool,
}

/// How to print what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LintFormat {
    /// Lines for people
    Human,
    /// A JSON list
    Json,
    /// Commands that show what was found at its line in a pull request on GitHub
    Github,
}

/// `--deny` and `--allow`, in the order in which they are given.
#[derive(Debug, Clone)]
struct RulingArgs(Vec<(Selector, Ruling)>);

const RULINGS: [(&str, Ruling, &str); 2] = [
    (
        "deny",
        Ruling::Deny,
        "Report these as errors: codes or names, separated by commas, or `all`, which leaves out notes. \
         A single code overrides `all`, and a later option an earlier one about the same code",
    ),
    ("allow", Ruling::Allow, "Don't report these"),
];

impl clap::Args for RulingArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        let arg = |(name, _, help): (&'static str, Ruling, &'static str)| {
            clap::Arg::new(name)
                .long(name)
                .value_name("CODE")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .value_parser(clap::value_parser!(Selector))
                .help(help)
        };
        command.args(RULINGS.map(arg))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        RulingArgs::augment_args(command)
    }
}

impl FromArgMatches for RulingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<RulingArgs, clap::Error> {
        let mut given: Vec<(usize, Selector, Ruling)> = Vec::new();
        for (name, ruling, _) in RULINGS {
            let selectors = matches.get_many::<Selector>(name).into_iter().flatten();
            let places = matches.indices_of(name).into_iter().flatten();
            given.extend(
                places
                    .zip(selectors)
                    .map(|(at, about)| (at, *about, ruling)),
            );
        }
        given.sort_by_key(|&(at, ..)| at);
        let rulings = given.into_iter().map(|(_, about, ruling)| (about, ruling));
        Ok(RulingArgs(rulings.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = RulingArgs::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A fault for which a template is refused, or a complaint.
struct Finding {
    file: String,
    /// What kind of complaint it is.
    lint: Option<Lint>,
    level: Level,
    /// What it means for the exit code.
    exit_code: u8,
    diagnostic: Diagnostic,
    /// What programs are given, beside the file: what a complaint is as a value.
    members: Object,
    /// Of a chat template, its text.
    source: Option<String>,
    /// The conversation that shows it.
    shown: Option<Demonstration>,
    /// Whether the position is one in a text within the file.
    is_embedded: bool,
}

impl Finding {
    fn of_fault(file: &str, fault: Diagnostic) -> Finding {
        Finding::without_lint(file.to_owned(), fault, 2)
    }

    /// What is no complaint has neither code nor name.
    fn without_lint(file: String, diagnostic: Diagnostic, exit_code: u8) -> Finding {
        let level = Level::Error;
        let mut members = Object::from_iter([
            ("level", Value::from(level.key())),
            ("code", Value::Null),
            ("name", Value::Null),
        ]);
        members.extend(diagnostic.to_value().into_object());
        Finding {
            file,
            lint: None,
            level,
            exit_code,
            diagnostic,
            members,
            source: None,
            shown: None,
            is_embedded: false,
        }
    }

    /// A file that can't be looked at.
    fn unreadable(path: &Path, failure: &Failure) -> Finding {
        let file = path.display().to_string();
        let text = failure.to_string();
        let message = text.strip_prefix(&format!("{file}: ")).unwrap_or(&text);
        let diagnostic = Diagnostic::new(message);
        Finding::without_lint(file, diagnostic, failure.exit_code())
    }

    fn of_complaint(file: &str, complaint: Complaint) -> Finding {
        Finding {
            file: file.to_owned(),
            lint: Some(complaint.lint),
            level: complaint.level,
            exit_code: u8::from(complaint.level == Level::Error),
            members: complaint.to_value().into_object(),
            diagnostic: complaint.diagnostic,
            source: None,
            shown: complaint.shown,
            is_embedded: false,
        }
    }

    fn title(&self) -> String {
        match self.lint {
            Some(lint) => format!("{} {}", lint.code(), lint.name()),
            None => "can't be used".to_owned(),
        }
    }

    /// What it is about, and what is wrong; some faults are about the whole file.
    fn message(&self) -> String {
        match self.diagnostic.pointer.as_str() {
            "" => self.diagnostic.message.clone(),
            pointer => format!("{pointer}: {}", self.diagnostic.message),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if args.list {
        return printing::print(list());
    }
    if let Some(code) = &args.explain {
        let lint: Lint = code.parse().map_err(|_| {
            Failure::Input(format!(
                "there is no lint `{code}`: `unjinja lint --list` lists them all"
            ))
        })?;
        return printing::print(lint.page());
    }
    let given = match &args.chat_template {
        Some(source) => Some(args.options.load(source)?),
        None => None,
    };
    let rulings = rulings(args)?;
    let (templates, mut found) = match args.templates.as_slice() {
        [] => of_fixtures()?,
        given => (given.to_vec(), Vec::new()),
    };
    let mut verdicts = Vec::new();
    let mut looked_at = 0;
    for path in &distinct(templates) {
        let subjects = Subjects::of(path, &args.options);
        let chat = subjects
            .chat
            .then(|| chat::look_at(path, &args.options, &rulings));
        let response = subjects
            .response
            .then(|| look_at(args, given.as_ref(), &rulings, path));
        for looked in [chat, response].into_iter().flatten() {
            match looked {
                Ok(looked) => {
                    found.extend(looked.findings);
                    verdicts.extend(looked.verdicts);
                    looked_at += 1;
                }
                Err(failure) => found.push(Finding::unreadable(path, &failure)),
            }
        }
    }
    match args.format {
        LintFormat::Human => {
            let mut report = for_people(&found, looked_at);
            report.push(&verdicts.concat());
            printing::print_report(&report)?;
        }
        LintFormat::Json => printing::print(for_programs(&found))?,
        LintFormat::Github => printing::print(found.iter().map(for_github).collect::<String>())?,
    }
    let codes = found.iter().map(|finding| finding.exit_code);
    match codes.fold(0, u8::max) {
        0 => Ok(()),
        code => Err(Failure::Reported(code)),
    }
}

/// The templates that the fixtures of unjinja.toml name, each once, and the fixtures that can't be read.
fn of_fixtures() -> Result<(Vec<PathBuf>, Vec<Finding>), Failure> {
    let settings = super::settings()?;
    if settings.paths.is_empty() {
        return Err(Failure::Input(
            "there is nothing to lint: name a template, or let `[check] paths` in unjinja.toml say where fixtures are that \
             name some"
                .into(),
        ));
    }
    let (mut templates, mut found): (Vec<PathBuf>, Vec<Finding>) = (Vec::new(), Vec::new());
    for path in super::check::fixtures(&[], &settings)? {
        let fixture = match Fixture::load(&path) {
            Ok(fixture) => fixture,
            Err(error) => {
                let failure = Failure::Input(error.explained(option_name).to_string());
                found.push(Finding::unreadable(&path, &failure));
                continue;
            }
        };
        // Texts stand in files, too.
        let is_template = |file: &&PathBuf| {
            fixture.template_file() == Some(file) || file.is_dir() || is_chat_template(file)
        };
        let files = fixture.files().iter().filter(is_template);
        templates.extend(files.map(|file| shortened(whole(file))));
    }
    Ok((templates, found))
}

/// The folder whose configuration a file is, or the file.
fn whole(file: &Path) -> &Path {
    let is_configuration = file.file_name() == Some("tokenizer_config.json".as_ref());
    let folder = file
        .parent()
        .filter(|folder| is_configuration && *folder != Path::new(""));
    folder.unwrap_or(file)
}

/// A path without `folder/..`, where that is the same file: so do pull requests name it.
fn shortened(path: &Path) -> PathBuf {
    let mut short = PathBuf::new();
    for part in path.components() {
        let ends_with_name = matches!(short.components().next_back(), Some(Component::Normal(_)));
        match part {
            Component::ParentDir if ends_with_name => drop(short.pop()),
            part => short.push(part),
        }
    }
    match is_same_file(&short, path) {
        true => short,
        false => path.to_owned(),
    }
}

/// Templates, each once.
fn distinct(templates: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut known: Vec<PathBuf> = Vec::new();
    for template in templates {
        if !known.iter().any(|known| is_same_file(known, &template)) {
            known.push(template);
        }
    }
    known
}

/// What is allowed and denied: by unjinja.toml, and by the options, which come later.
fn rulings(args: &Args) -> Result<Rulings, Failure> {
    let settings = super::settings()?;
    let mut rulings = Rulings::default();
    for (selectors, ruling) in [
        (settings.deny, Ruling::Deny),
        (settings.allow, Ruling::Allow),
    ] {
        for about in selectors {
            rulings.add(about, ruling);
        }
    }
    for &(about, ruling) in &args.rulings.0 {
        rulings.add(about, ruling);
    }
    Ok(rulings)
}

/// What is to be said about one template.
struct LookedAt {
    findings: Vec<Finding>,
    /// Whether those take it whom it is for, each in a line.
    verdicts: Vec<String>,
}

impl From<Vec<Finding>> for LookedAt {
    fn from(findings: Vec<Finding>) -> LookedAt {
        LookedAt {
            findings,
            verdicts: Vec::new(),
        }
    }
}

/// Looks at one template.
fn look_at(
    args: &Args,
    given: Option<&ChatTemplate>,
    rulings: &Rulings,
    path: &Path,
) -> Result<LookedAt, Failure> {
    let document = match ReaderDocument::find(path)? {
        ReaderDocument::Template(document) => document,
        ReaderDocument::Schema(document) => return Ok(of_schema(&document, rulings).into()),
    };
    let file = document.name.as_str();
    let template = match document.template() {
        Ok(template) => template,
        Err(error) => {
            let faults = error.faults.into_iter();
            let faults = faults.map(|fault| Finding::of_fault(file, fault));
            return Ok(faults.collect::<Vec<Finding>>().into());
        }
    };
    let beside = match given {
        None => beside(args, path),
        Some(_) => None,
    };
    let ends = args.options.eos_token.iter().chain(&document.eos_token);
    let options = LintOptions::default()
        .chat_template(given.or(beside.as_ref()))
        .base(args.options.base())
        .turn_ends(ends.take(1))
        .document(TemplateText::new(&document.text).at(document.pointer))
        .targets(args.targets.targets())
        .rulings(rulings.clone());
    let complaints = lint(&template, &options).map_err(|error| {
        let name = options.chat_template.map_or("", |template| &template.name);
        Failure::Wrong(format!("{name}: {}: {error}", error.of_question()))
    })?;
    let complaints = complaints.into_iter();
    let verdicts = options.targets.iter();
    let mut verdicts: Vec<String> = verdicts
        .map(|target| format!("{file}: {}\n", target.verdict(&template)))
        .collect();
    if args.versions {
        let readings = VersionReading::all(&template);
        let alike = readings.chunk_by(|newer, older| match (&newer.reading, &older.reading) {
            (Ok(newer), Ok(older)) => newer == older,
            (newer, older) => newer.is_err() && older.is_err(),
        });
        verdicts.extend(alike.map(|versions| of_versions(file, versions)));
    }
    Ok(LookedAt {
        findings: complaints
            .map(|complaint| Finding::of_complaint(file, complaint))
            .collect(),
        verdicts,
    })
}

/// What versions of the language make of a template, in a line: the same, the newest of them first.
fn of_versions(file: &str, versions: &[VersionReading]) -> String {
    let [newest, ..] = versions else {
        return String::new();
    };
    let title = match versions.last() {
        Some(oldest) if oldest.language < newest.language => {
            format!("{} to {}", oldest.language, newest.language)
        }
        _ => newest.language.to_string(),
    };
    let outcome = |outcome: &Result<Value, String>| match outcome {
        Ok(message) => json::write(message),
        Err(error) => format!("an error ({error})"),
    };
    let says = match &newest.reading {
        Err(error) => format!("refused: {error}"),
        Ok(None) => "accepted; no text was found that is read differently".to_owned(),
        Ok(Some(parts)) => {
            let pieces = match parts.input.by_character {
                true => ", character by character,",
                false => "",
            };
            format!(
                "accepted, but {:?}{pieces} is read as {}, and in the newest as {}",
                parts.input.output,
                outcome(&parts.first),
                outcome(&parts.second)
            )
        }
    };
    format!("{file}: language {title}: {says}\n")
}

/// What is to be said about a response schema: that it is refused, or that newer readers ignore it.
fn of_schema(document: &SchemaDocument, rulings: &Rulings) -> Vec<Finding> {
    let file = document.name.as_str();
    match document.load() {
        Ok(_) => {
            let text = TemplateText::new(&document.text).at(document.pointer);
            let complaints = lint_schema(text, rulings).into_iter();
            complaints
                .map(|complaint| Finding::of_complaint(file, complaint))
                .collect()
        }
        Err(error) => {
            let faults = error.faults.into_iter();
            faults.map(|fault| Finding::of_fault(file, fault)).collect()
        }
    }
}

/// The chat template that stands beside a response template, if it can be made use of.
fn beside(args: &Args, path: &Path) -> Option<ChatTemplate> {
    let template = args.options.beside(path)?;
    match Findings::of(&template, &args.options.base()) {
        Ok(_) => Some(template),
        Err(error) => {
            report_left_out(&error);
            None
        }
    }
}

fn list() -> String {
    let line = |lint: &Lint| {
        let (code, name, level) = (lint.code(), lint.name(), lint.level().key());
        format!("{code}  {name:<20}  {level:<7}  {}\n", lint.summary())
    };
    Lint::all().iter().map(line).collect()
}

fn for_people(found: &[Finding], templates: usize) -> Painted {
    let mut out = Painted::for_results();
    for finding in found {
        let place = match finding.diagnostic.position {
            Some(position) if finding.is_embedded => {
                let Position { line, column, .. } = position;
                format!("{}: chat_template:{line}:{column}", finding.file)
            }
            Some(position) => format!("{}:{}:{}", finding.file, position.line, position.column),
            None => finding.file.clone(),
        };
        let colour = match finding.level {
            Level::Error => "31",
            Level::Note => "34",
            _ => "33",
        };
        out.push(&format!("{place}: "));
        out.paint(finding.level.key(), colour);
        out.push(&format!(": {}\n  {}\n", finding.title(), finding.message()));
        if let Some(remedy) = &finding.diagnostic.remedy {
            out.push("  ");
            out.paint("help", "36");
            out.push(&format!(": {remedy}\n"));
        }
        if let (Some(source), Some(position)) = (&finding.source, finding.diagnostic.position) {
            chat::push_source(&mut out, source, position);
        }
        if let Some(shown) = &finding.shown {
            chat::push_demonstration(&mut out, shown);
        }
        out.push("\n");
    }
    let count = |level| {
        found
            .iter()
            .filter(|finding| finding.level == level)
            .count()
    };
    let some = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    out.push(&format!(
        "{}: {}, {}",
        some(templates, "template"),
        some(count(Level::Error), "error"),
        some(count(Level::Warning), "warning")
    ));
    if count(Level::Note) > 0 {
        out.push(&format!(", {}", some(count(Level::Note), "note")));
    }
    out.push("\n");
    out
}

fn for_programs(found: &[Finding]) -> String {
    let object = |finding: &Finding| -> Object {
        let mut out = Object::from_iter([("file", &finding.file)]);
        out.extend(finding.members.clone());
        out
    };
    output::pretty(&found.iter().map(object).collect())
}

fn for_github(finding: &Finding) -> String {
    let about = &finding.diagnostic;
    let remedy = about.remedy.iter().map(|remedy| format!("\n{remedy}"));
    let mut message = finding.message() + &remedy.collect::<String>();
    let mut position = about.position;
    if let Some(place) = position.take_if(|_| finding.is_embedded) {
        message = format!("in {place} of the chat template: {message}");
    }
    let (level, file, title) = (finding.level, &finding.file, finding.title());
    github::command(level, file, position, &title, &message)
}
