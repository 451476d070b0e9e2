//! `unjinja derive`: from a chat template to a response template.

mod present;
mod siblings;
mod versions;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use clap::ValueEnum;

use crate::options::option_name;
use crate::printing::{self, Painted};
use unjinja::chat_template::{ChatTemplate, Source};
use unjinja::derive::{Derivation, DeriveOptions, Lenience, ModelOutput, derive};
use unjinja::profile::{Target, Verdict, joins_for, language_for, reasoning_for};
use unjinja::{Value, json};

use self::present::Comparison;
pub(crate) use self::siblings::Sibling;
use self::versions::Otherwise;
use super::output::Output;
use super::source::SourceOptions;
use super::target::TargetArgs;
use super::{Failure, input, output, report};

/// Work out the response template of a chat template, and prove it by round trips
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  The response template on standard output, the report beside it:
    unjinja derive chat_template.jinja > response_template.json

  Into the tokenizer_config.json of a model's folder, next to the chat template it is made for:
    unjinja derive model/ --write

  What would change in a configuration that already has a response template:
    unjinja derive model/ --diff

  In CI: does the existing response template still read what the chat template writes?
    unjinja derive model/ --check
    unjinja derive chat_template.jinja -o response_template.json --check

  The report for programs, with the response template in it:
    unjinja derive chat_template.jinja --format json-report

  With outputs of the model, one JSON object a line: what the chat template never writes is
  looked for in them, and the response template has to read them:
    unjinja derive model/ --outputs outputs.jsonl

  For target packages: with a name for the reasoning field that all of them accept, and in the
  newest version of the language that all of them read. Without `--for`, all known packages
  are targets:
    unjinja derive model/ --for transformers,vllm
    unjinja derive model/ --for transformers@5.24

  For one of a model's several chat templates, whatever the others write:
    unjinja derive model/ --variant tool_use

  Many at once, each into a file of its own:
    unjinja derive templates/*.jinja -o derived/

The chat template renders conversations, and the renderings are compared. Drafts are tried on all
of them, whole and damaged as models damage them, and the best one is printed. With several
sources, an object with a template for each is printed, and a table replaces the reports.

If a model has several chat templates (variants, or a chat_template.jinja beside another one in
the configuration), the response template that is printed reads the renderings of all of them, if
there is one that does. If not, the report says which are misread.

Exit codes:
  0  all that the chat template writes is recovered, and so are the outputs that were given
  1  some of it isn't, a token that the chat template writes is not known, another chat template of
     the model is misread, or a target of `--for` does not accept the template: the report says which,
     and the template is printed anyway.
     With `--check` and `--diff`: the existing response template reads something differently
  2  no template could be derived, or only one that loses most of what the chat template writes and
     `--force` is not given, or the input can't be read")]
pub(crate) struct Args {
    /// The chat templates: .jinja files, tokenizer_config.json files, models' folders, GGUF files,
    /// model ids such as org/name[@revision], or `-` for standard input
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<String>,

    #[command(flatten)]
    options: SourceOptions,

    /// Write the response template to a file (`-` is standard output); with several sources, to a file
    /// for each in this folder
    #[arg(short, long, value_name = "FILE", conflicts_with = "write")]
    output: Option<PathBuf>,

    /// Write it as `response_template` into the tokenizer_config.json that the chat template came
    /// from, or that is beside it, even if it does not recover everything
    #[arg(long, conflicts_with_all = ["diff", "check"])]
    write: bool,

    /// Replace the existing file of `-o`, or with `--write` the existing response template; and take a
    /// response template that loses most of what the chat template writes
    #[arg(long)]
    force: bool,

    /// Show how it differs from the existing one, in the file given with `-o` or else in the
    /// configuration, instead of writing or printing it
    #[arg(long)]
    diff: bool,

    /// Only check whether the existing one, in the file given with `-o` or else in the configuration,
    /// reads everything as the derived one does
    #[arg(long, conflicts_with = "diff")]
    check: bool,

    /// The field for reasoning [default: the one that the targets of `--for` accept, else thinking, which
    /// serving engines expect]
    #[arg(long, value_name = "NAME")]
    reasoning_field: Option<String>,

    #[command(flatten)]
    targets: TargetArgs,

    /// Keep the ids of calls, where the format carries any
    #[arg(long)]
    ids: bool,

    /// How to read values that the format writes raw, where no tool declares their type
    #[arg(long, value_name = "HOW", default_value = "text")]
    untyped: Untyped,

    /// Which damage delimiters tolerate: models write more sloppily than the chat template
    #[arg(long, value_name = "HOW", default_value = "usual")]
    lenience: AllowedDamage,

    /// Report why each delimiter is there: the texts that are misread without it
    #[arg(long, conflicts_with = "quiet")]
    explain: bool,

    /// Outputs of the model (`-` is standard input): on each line a JSON object with the `output` and, where
    /// known, its `prefix`, the `message` that it means, and the `tools`
    #[arg(long, value_name = "FILE")]
    outputs: Option<PathBuf>,

    /// How to print the response template
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    format: DeriveFormat,

    /// Print no report; errors are still reported
    #[arg(short, long)]
    quiet: bool,
}

/// How raw values are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Untyped {
    /// As text
    Text,
    /// As JSON where they are JSON: a text such as `40100` becomes a number, so the proof is not
    /// complete
    Guess,
}

/// Which damage delimiters tolerate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AllowedDamage {
    /// None: texts are read as the chat template writes them
    None,
    /// What can be read without losing an answer that mentions a marker
    Usual,
    /// As much as possible, even if answers are lost to it
    All,
}

/// How to print the response template.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum DeriveFormat {
    /// As JSON, indented
    Json,
    /// As JSON on one line
    Compact,
    /// The report as a JSON object that contains the response template
    JsonReport,
}

/// A source, and what came of it.
struct Outcome<'a> {
    source: &'a str,
    result: Result<Found, Failure>,
}

/// What was derived from a source.
struct Found {
    template: ChatTemplate,
    derivation: Derivation,
    siblings: Vec<Sibling>,
    otherwise: Option<Otherwise>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let sources = distinct(&args.sources)?;
    let outputs = outputs(args, &sources)?;
    let places = match args.file() {
        Some(path) => Some(places(path, &sources)?),
        None => None,
    };
    let output = output_of(args, &sources);
    for place in places.iter().flatten().filter(|_| !args.compares()) {
        output.check(place)?;
    }
    let outcomes = derive_all(args, &outputs, &sources);
    let mut result = Ok(());
    for (index, outcome) in outcomes.iter().enumerate() {
        let place = places.as_ref().map(|places| places[index].as_path());
        // What is worse is reported by the exit code: nothing derived, then not all recovered.
        let handed_out = hand_out(args, outcome, (&output, place), outcomes.len() == 1);
        result = worse(result, handed_out);
    }
    if outcomes.len() > 1 {
        let derived = outcomes.iter().filter_map(|outcome| {
            Some((outcome.source, &outcome.result.as_ref().ok()?.derivation))
        });
        if args.prints_template() {
            let kept =
                derived.filter(|(source, derivation)| args.loss(source, derivation).is_none());
            let all = kept.map(|(source, d)| (source, d.template.as_value().clone()));
            let all: Value = all.collect::<unjinja::Object>().into();
            print(&all, args.format)?;
        }
        if !args.quiet {
            let rows = outcomes.iter().map(|outcome| {
                let derived = outcome.result.as_ref().ok();
                (outcome.source, derived.map(|found| &found.derivation))
            });
            printing::tell(format_args!("{}", report::table(rows)));
            for outcome in &outcomes {
                if let Ok(found) = &outcome.result {
                    for warning in warnings(&found.derivation, &found.siblings) {
                        printing::tell(format_args!("{}: {warning}\n", outcome.source));
                    }
                }
            }
        }
    }
    if args.prints_report() {
        print_reports(args, &outcomes)?;
    }
    result
}

/// Prints the report for programs: of one source, or of each.
fn print_reports(args: &Args, outcomes: &[Outcome<'_>]) -> Result<(), Failure> {
    let reports = outcomes.iter().map(|outcome| {
        let report = match &outcome.result {
            Ok(found) => {
                let derivation = &found.derivation;
                let mut report =
                    report::derivation_value(&found.template, derivation, &found.siblings);
                if let Some(report) = report.as_object_mut() {
                    let verdicts = args.verdicts(derivation);
                    report.insert(
                        "for",
                        verdicts.iter().map(Verdict::to_value).collect::<Value>(),
                    );
                    let otherwise = found.otherwise.as_ref();
                    report.insert("otherwise", otherwise.map(Otherwise::to_value));
                }
                report
            }
            Err(failure) => unjinja::Object::from_iter([("error", failure.to_string())]).into(),
        };
        (outcome.source, report)
    });
    let reports: Vec<(&str, Value)> = reports.collect();
    match reports.as_slice() {
        [(_, report)] => printing::print(output::pretty(report)),
        _ => {
            let all: unjinja::Object = reports.into_iter().collect();
            printing::print(output::pretty(&all.into()))
        }
    }
}

impl Args {
    /// Whether those take it whom it is for.
    fn verdicts(&self, derivation: &Derivation) -> Vec<Verdict> {
        let targets = self.targets.targets().into_iter();
        targets
            .map(|target| target.verdict(&derivation.template))
            .collect()
    }

    /// Why each delimiter is there, if that is asked for.
    fn explained(&self, derivation: &Derivation) -> String {
        match self.explain {
            true => report::reasons(derivation),
            false => String::new(),
        }
    }

    /// The same in words, and why not.
    fn suits(&self, derivation: &Derivation) -> String {
        let mut out = String::new();
        for verdict in self.verdicts(derivation) {
            report::line(&mut out, "for", &verdict.to_string());
            for objection in verdict.target.objections(&derivation.template) {
                report::line(&mut out, "", &objection.diagnostic.to_string());
            }
        }
        out
    }

    /// Which versions take it, if nobody is named whom it is for, and what is derived for others.
    fn in_other_versions(&self, derivation: &Derivation, otherwise: Option<&Otherwise>) -> String {
        let taken = match self.targets.targets().is_empty() {
            true => versions::taken_by(derivation),
            false => String::new(),
        };
        let otherwise = otherwise.map(|otherwise| otherwise.statement(derivation));
        taken + &otherwise.unwrap_or_default()
    }

    /// Whether what was derived is printed as it is.
    fn prints_template(&self) -> bool {
        let elsewhere = self.file().is_some() || self.write || self.compares();
        !elsewhere && !self.prints_report()
    }

    /// The reason to hand out a response template only if that is forced: it loses most of what the chat template writes.
    fn loss(&self, source: &str, derivation: &Derivation) -> Option<String> {
        let is_asked = self.force || self.compares() || self.prints_report();
        (derivation.loses_most() && !is_asked).then(|| {
            let (recovered, total) = (derivation.recovered(), derivation.proof.len());
            format!(
                "{source}: what could be derived loses most of what the chat template writes: only {recovered} of {total} renderings \
                 are recovered; take it all the same with `--force`"
            )
        })
    }

    /// Whether what was derived is compared with what is there.
    fn compares(&self) -> bool {
        self.diff || self.check
    }

    /// Whether the report is printed for programs.
    fn prints_report(&self) -> bool {
        matches!(self.format, DeriveFormat::JsonReport)
    }

    /// The file or folder to write to, if it is not to be printed.
    fn file(&self) -> Option<&Path> {
        let given = self.output.as_deref();
        given.filter(|path| !output::is_stdout(path))
    }
}

/// How files are written that are made of these sources.
fn output_of(args: &Args, sources: &[&str]) -> Output {
    Output::of_sources(sources.iter().copied(), args.force)
}

/// The outputs of the model that are to be evidence of its format.
fn outputs(args: &Args, sources: &[&str]) -> Result<Vec<ModelOutput>, Failure> {
    let Some(path) = &args.outputs else {
        return Ok(Vec::new());
    };
    if sources.len() > 1 {
        return Err(Failure::Input(
            "`--outputs` are those of one model: derive from one source at a time".into(),
        ));
    }
    if sources == ["-"] && path == Path::new("-") {
        return Err(Failure::Input(
            "-: the chat template and the outputs can't both come from standard input".into(),
        ));
    }
    let text = input::read_text(path)?;
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let outputs = lines.map(|(at, line)| {
        let read = json::read(line).map_err(|error| error.to_string());
        read.and_then(|value| ModelOutput::from_value(&value))
            .map_err(|error| {
                Failure::Input(format!("{}: line {}: {error}", path.display(), at + 1))
            })
    });
    outputs.collect()
}

/// The sources, each once. Standard input can be read only once.
fn distinct(sources: &[String]) -> Result<Vec<&str>, Failure> {
    let mut distinct: Vec<&str> = Vec::new();
    for source in sources {
        if !distinct.contains(&source.as_str()) {
            distinct.push(source);
        } else if source == "-" {
            return Err(Failure::Input(
                "-: only one source can come from standard input".into(),
            ));
        }
    }
    Ok(distinct)
}

/// The file for each source: the one that was named, or one of its own in the folder.
fn places(path: &Path, sources: &[&str]) -> Result<Vec<PathBuf>, Failure> {
    let is_folder = path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/');
    match sources {
        [_] if !is_folder => return Ok(vec![path.to_owned()]),
        [_, _, ..] if path.exists() && !is_folder => {
            return Err(Failure::Input(format!(
                "{}: with several sources `-o` names a folder, and this is a file: choose another place",
                path.display()
            )));
        }
        _ => {}
    }
    let places: Vec<PathBuf> = sources
        .iter()
        .map(|source| path.join(file_name(source)))
        .collect();
    for (index, place) in places.iter().enumerate() {
        if let Some(other) = places[..index].iter().position(|other| other == place) {
            return Err(Failure::Input(format!(
                "{} and {} would both be written to {}: derive them one by one",
                sources[other],
                sources[index],
                place.display()
            )));
        }
    }
    Ok(places)
}

fn worse(one: Result<(), Failure>, other: Result<(), Failure>) -> Result<(), Failure> {
    let rank = |result: &Result<(), Failure>| match result {
        Ok(()) => 0,
        Err(failure) => failure.exit_code() + 1,
    };
    if rank(&other) > rank(&one) {
        other
    } else {
        one
    }
}

/// Derives from all sources on all cores.
fn derive_all<'s>(args: &Args, given: &[ModelOutput], sources: &[&'s str]) -> Vec<Outcome<'s>> {
    let count = sources.len();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let outcomes = Mutex::new(Vec::with_capacity(count));
    let shows_progress = count > 1 && !args.quiet && printing::errors_are_seen();
    thread::scope(|scope| {
        for _ in 0..cores.min(count) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&source) = sources.get(index) else {
                        break;
                    };
                    // Whatever is wrong with one template, the others are not lost.
                    let attempt = || derive_one(args, given, source);
                    let result = catch_unwind(AssertUnwindSafe(attempt)).unwrap_or_else(|_| {
                        Err(Failure::Input(format!(
                            "{source}: this template makes unjinja fail: please report it"
                        )))
                    });
                    let outcome = (index, Outcome { source, result });
                    outcomes
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(outcome);
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if shows_progress {
                        printing::tell_over(&report::progress(done, count));
                    }
                }
            });
        }
    });
    if shows_progress {
        printing::clear_line();
    }
    let mut outcomes = outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    outcomes.sort_by_key(|(index, _)| *index);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// What makes a response template unfit for what the model writes.
fn warnings(derivation: &Derivation, siblings: &[Sibling]) -> Vec<String> {
    let missing = derivation.missing_tokens.iter();
    let missing = missing.map(|token| token.explain(option_name));
    let misread = siblings.iter().filter(|sibling| sibling.is_misread());
    missing.chain(misread.map(Sibling::statement)).collect()
}

/// Derives for all chat templates of a model, unless one of them was asked for, and chooses.
fn derive_one(args: &Args, given: &[ModelOutput], source: &str) -> Result<Found, Failure> {
    let mut templates = args.options.load_all(source)?.into_iter();
    let Some(first) = templates.next() else {
        return Err(Failure::Input(format!(
            "{source}: there is no chat template"
        )));
    };
    let derivation = derive_for(args, given, &first)
        .map_err(|error| Failure::Input(format!("{}: {error}", first.name)))?;
    let (mut others, mut failed) = (Vec::new(), Vec::new());
    for template in templates {
        match derive_for(args, given, &template) {
            Ok(derivation) => others.push((template, derivation)),
            Err(error) => failed.push((template, error)),
        }
    }
    let ((template, derivation), siblings) = siblings::choose((first, derivation), others, failed);
    let otherwise = Otherwise::find(&derivation, |language| {
        let target = format!("transformers@{language}").parse::<Target>();
        let joins = target.is_ok_and(|target| joins_for(&[target]));
        let options = args.derive_options(given).language(language).joins(joins);
        derive(&template, &options).ok()
    });
    Ok(Found {
        template,
        derivation,
        siblings,
        otherwise,
    })
}

fn derive_for(
    args: &Args,
    given: &[ModelOutput],
    template: &ChatTemplate,
) -> Result<Derivation, String> {
    derive(template, &args.derive_options(given)).map_err(|error| error.explain(option_name))
}

impl Args {
    /// How templates are derived.
    fn derive_options(&self, given: &[ModelOutput]) -> DeriveOptions {
        let mut options = DeriveOptions::default();
        options.base = self.options.base();
        let targets = self.targets.targets();
        let suiting = reasoning_for(&targets).map(str::to_owned);
        if let Some(name) = self.reasoning_field.clone().or(suiting) {
            options.reasoning_field = name;
        }
        options.ids = self.ids;
        if let Some(language) = language_for(&targets) {
            options.language = language;
        }
        options.joins = joins_for(&targets);
        options.outputs = given.to_vec();
        options.guess_types = self.untyped == Untyped::Guess;
        options.lenience = match self.lenience {
            AllowedDamage::None => Lenience::None,
            AllowedDamage::Usual => Lenience::Usual,
            AllowedDamage::All => Lenience::All,
        };
        options
    }
}

/// Prints, writes or compares what was derived from one source, and reports on it.
fn hand_out(
    args: &Args,
    outcome: &Outcome<'_>,
    (output, place): (&Output, Option<&Path>),
    is_alone: bool,
) -> Result<(), Failure> {
    let found = match &outcome.result {
        Ok(found) => found,
        Err(failure) => {
            printing::tell(format_args!("error: {failure}\n"));
            return Err(failure.reported());
        }
    };
    let Found {
        template,
        derivation,
        siblings,
        otherwise,
    } = found;
    let derived = derivation.template.as_value();
    let loss = args.loss(outcome.source, derivation);
    let handed_out = if let Some(loss) = loss {
        if is_alone && !args.quiet {
            let report = report::derivation(template, derivation, siblings);
            printing::tell_report(&report::coloured(&report));
        }
        Err(Failure::Input(loss))
    } else if args.write {
        write_into_config(outcome.source, &template.name, derived, args.force)
    } else if args.compares() {
        compare_with_present(args, outcome.source, place, (template, derivation))
    } else if let Some(path) = place {
        output.write(path, &written(derived, args.format))
    } else if is_alone && args.prints_template() {
        print(derived, args.format)
    } else {
        Ok(())
    };
    if let Err(failure) = handed_out {
        if is_alone || matches!(failure, Failure::Reported(_)) {
            return Err(failure);
        }
        printing::tell(format_args!("error: {failure}\n"));
        return Err(failure.reported());
    }
    if is_alone && !args.quiet && !args.check && !args.prints_report() {
        let report = report::derivation(template, derivation, siblings)
            + &args.explained(derivation)
            + &args.suits(derivation)
            + &args.in_other_versions(derivation, otherwise.as_ref());
        printing::tell_report(&report::coloured(&report));
    }
    // What was compared need not be whole.
    let is_whole = args.compares() || derivation.is_whole();
    let is_taken = args.verdicts(derivation).iter().all(Verdict::is_taken);
    match warnings(derivation, siblings).is_empty() && is_whole && is_taken {
        true => Ok(()),
        false => Err(Failure::Reported(1)),
    }
}

fn written(template: &Value, format: DeriveFormat) -> String {
    let style = match format {
        DeriveFormat::Json | DeriveFormat::JsonReport => json::Style::pretty(2),
        DeriveFormat::Compact => json::Style::default(),
    };
    let mut text = json::write_styled(template, &style);
    text.push('\n');
    text
}

fn print(template: &Value, format: DeriveFormat) -> Result<(), Failure> {
    printing::print(written(template, format))
}

/// The name of the file for a source, among others in a folder.
fn file_name(source: &str) -> String {
    let path = Path::new(source);
    // Models keep these in a folder of their own, which names them better.
    let is_common = |name: &str| matches!(name, "chat_template.jinja" | "tokenizer_config.json");
    let name = path.file_name().map(|name| name.to_string_lossy());
    let folder = path.parent().filter(|folder| folder.file_name().is_some());
    let path = match folder {
        Some(folder) if name.is_some_and(|name| is_common(&name)) => folder,
        _ => path,
    };
    let stem = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_else(|| source.replace(['/', '\\'], "-"));
    format!("{stem}.json")
}

/// The tokenizer_config.json that a chat template came from, or that stands beside it.
fn config_path(source: &str) -> Result<PathBuf, Failure> {
    let Ok(Source::Path(path)) = Source::parse(source) else {
        return Err(Failure::Input(format!(
            "{source}: `--write` needs a file or a folder to write into: use `-o FILE`"
        )));
    };
    let is_json = path
        .extension()
        .is_some_and(|extension| extension == "json");
    let config = match (path.is_dir(), is_json) {
        (true, _) => path.join("tokenizer_config.json"),
        (false, true) => path,
        (false, false) => path.with_file_name("tokenizer_config.json"),
    };
    if matches!(config.try_exists(), Ok(false)) {
        return Err(Failure::Input(format!(
            "{}: there is no such file to write into: use `-o FILE`",
            config.display()
        )));
    }
    Ok(config)
}

/// Puts a response template into the configuration of a source, and says so of what it was made from.
pub(crate) fn write_into_config(
    source: &str,
    name: &str,
    response_template: &Value,
    force: bool,
) -> Result<(), Failure> {
    let path = config_path(source)?;
    let text = input::read_text(&path)?;
    let wrong = |error: json::EditError| Failure::Input(format!("{}: {error}", path.display()));
    let present = json::get_key(&text, "response_template").map_err(wrong)?;
    if present
        .as_ref()
        .is_some_and(|value| value.total_eq(response_template))
    {
        printing::tell(format_args!(
            "{}: the existing response template is the same\n",
            path.display()
        ));
        return Ok(());
    }
    if present.is_some_and(|value| !value.is_null()) && !force {
        return Err(Failure::Input(format!(
            "{}: it already has a `response_template`: see the difference with `--diff`, \
             and replace it with `--force`",
            path.display()
        )));
    }
    let edited = json::set_key(&text, "response_template", response_template).map_err(wrong)?;
    output::change(&path, &edited)?;
    printing::tell(format_args!("{}: written into {}\n", name, path.display()));
    Ok(())
}

/// Compares what is there with what was derived: whether it reads anything otherwise, and with `--diff`
/// how the texts differ. Where there is no response template yet, all of it is new.
fn compare_with_present(
    args: &Args,
    source: &str,
    place: Option<&Path>,
    (template, derivation): (&ChatTemplate, &Derivation),
) -> Result<(), Failure> {
    let present = present::find(source, template, place)?;
    let standing = present
        .as_ref()
        .map(|present| (present, present::compare_with(present, derivation)));
    let is_fine = match &standing {
        Some((present, standing)) => {
            if args.check || matches!(standing, Comparison::Same) {
                printing::tell(format_args!("{}\n", present.statement(standing)));
            }
            !matches!(standing, Comparison::Otherwise { .. })
        }
        None => {
            if args.check {
                let how = match place {
                    Some(path) => format!("-o {}", path.display()),
                    None => "--write".to_owned(),
                };
                printing::tell(format_args!(
                    "{source}: there is no response template yet: write it with `{how}`\n"
                ));
            }
            false
        }
    };
    if args.diff && !matches!(standing, Some((_, Comparison::Same))) {
        let old = present.as_ref().map(|present| &present.value);
        show_difference(source, old, derivation.template.as_value())?;
    }
    if args.check {
        for token in &derivation.missing_tokens {
            printing::tell(format_args!("{source}: {}\n", token.explain(option_name)));
        }
    }
    match is_fine {
        true => Ok(()),
        false => Err(Failure::Reported(1)),
    }
}

/// Shows what would change.
fn show_difference(source: &str, old: Option<&Value>, derived: &Value) -> Result<(), Failure> {
    let (old, new) = (old.map(output::pretty), output::pretty(derived));
    let names = format!("--- {source}: there\n+++ {source}: derived\n");
    let mut out = Painted::for_results();
    report::painted_diff(&names, &mut out);
    report::changed_lines(&old.unwrap_or_default(), &new, &mut out);
    printing::print_report(&out)
}
