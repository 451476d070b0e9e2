//! `unjinja diff`: whether two response templates, or schemas, read the same texts alike.

use std::path::{Path, PathBuf};

use crate::options::option_name;
use crate::printing::{self, Painted};
use unjinja::chat_template::ChatTemplate;
use unjinja::check::{
    Comparison, ComparisonInput, Fixture, Reader, compare, compare_between, find,
};
use unjinja::derive::{DeriveOptions, derive};
use unjinja::profile::{Effect, Target, port};
use unjinja::{Object, Value};

use super::report::{ReportFormat, changed_lines, painted_diff};
use super::source::{SourceOptions, report_left_out};
use super::target::one;
use super::{Failure, input, output};

/// Find texts that two response templates disagree on
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  On texts that are put together from the markers of both:
    unjinja diff old.json new.json

  Also on what a chat template renders, and on what models make of such texts:
    unjinja diff old.json new.json --chat-template chat_template.jinja

  The published one, and the derived one:
    unjinja derive model/ > derived.json
    unjinja diff model/tokenizer_config.json derived.json

  On the outputs of fixtures:
    unjinja diff old.json new.json --fixtures fixtures/

  By what a package passes on: names of fields don't matter then, nor what it drops:
    unjinja diff old.json new.json --for vllm

  One template, as two versions of a package read it, or two packages:
    unjinja diff template.json --for transformers@5.23,transformers@5.24
    unjinja diff template.json --for transformers,vllm

  A response schema, the older language, and the response template that has taken its place:
    unjinja diff response_schema.json response_template.json

Two templates agree on a text if they read it into the same message, or if neither can parse it.
If they disagree, the smallest such text is shown. A response template leaves out what is empty;
compared with a response schema, that is no difference. With `--for`, numbers and unions are
read as the language says, whatever the package makes of them: `unjinja port --list` shows where
it reads them differently.

Exit codes:
  0  they agree on all texts
  1  they disagree
  2  a template is refused, or the input can't be read")]
pub(crate) struct Args {
    /// A response template or response schema, a tokenizer_config.json that has one, or a model's folder
    #[arg(value_name = "A")]
    first: PathBuf,

    /// The other one [default: A itself, if `--for` names two]
    #[arg(value_name = "B")]
    second: Option<PathBuf>,

    /// A chat template whose renderings both read [default: the one beside A or B]
    #[arg(long, value_name = "SOURCE")]
    chat_template: Option<String>,

    #[command(flatten)]
    options: SourceOptions,

    /// Fixtures, or folders that contain some, whose outputs both read
    #[arg(long, value_name = "PATH", num_args = 1..)]
    fixtures: Vec<PathBuf>,

    /// Compare the messages that this package passes on: transformers, vllm, sglang or trl, with a version if it
    /// matters. Given two, separated by a comma, the first reads A and the second B. A template that one of them
    /// refuses is an error
    #[arg(long = "for", value_name = "PROFILE", value_parser = one, value_delimiter = ',')]
    targets: Vec<Target>,

    /// How to print what was found
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: ReportFormat,
}

impl Args {
    fn second(&self) -> &PathBuf {
        self.second.as_ref().unwrap_or(&self.first)
    }

    /// What stands at one side: the file, and for whom it is read where there are two.
    fn title(&self, side: usize) -> String {
        let path = [&self.first, self.second()][side].display();
        match self.targets.as_slice() {
            [_, _] => format!("{path} for {}", self.targets[side]),
            _ => path.to_string(),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let targets = match args.targets.as_slice() {
        [] => None,
        [target] => Some([*target; 2]),
        [one, other] => Some([*one, *other]),
        _ => return Err(Failure::Input("name one or two with `--for`".into())),
    };
    if args.second.is_none() && args.targets.len() < 2 {
        let remedy =
            "name another, or two with `--for`, such as `--for transformers@5.23,transformers`";
        return Err(Failure::Input(format!(
            "there is one template only: {remedy}"
        )));
    }
    let first = input::read_reader(&args.first)?;
    let second = match &args.second {
        Some(path) => input::read_reader(path)?,
        None => first.clone(),
    };
    let mut texts = ComparisonInput::synthetic(&first, &second);
    if let (Some([one, other]), Reader::Template(template)) = (targets, &first)
        && one.language() != other.language()
    {
        texts.extend(ComparisonInput::telling_versions(template));
    }
    texts.extend(of_fixtures(&args.fixtures)?);
    texts.extend(rendered(args)?);
    if texts.is_empty() {
        return Err(Failure::Input(
            "no text can be put together from these schemas: give some with `--fixtures` or `--chat-template`"
                .into(),
        ));
    }
    let comparison = match targets {
        Some(targets) => {
            let both = [(&args.first, &first), (args.second(), &second)];
            for (target, (path, reader)) in targets.into_iter().zip(both) {
                check_taken(target, path, reader)?;
            }
            compare_between(targets, &first, &second, &texts)
        }
        None => compare(&first, &second, &texts),
    };
    match args.format {
        ReportFormat::Human => printing::print_report(&human(args, &comparison, texts.len()))?,
        ReportFormat::Json => printing::print(for_programs(&comparison, texts.len()))?,
    }
    match comparison.smallest {
        None => Ok(()),
        Some(_) => Err(Failure::Reported(1)),
    }
}

/// Refuses what the one whom it is for does not read at all.
fn check_taken(target: Target, path: &Path, reader: &Reader) -> Result<(), Failure> {
    let name = path.display();
    let Reader::Template(template) = reader else {
        return Err(Failure::Input(format!(
            "{name}: {target} reads no response schemas: convert it with `unjinja convert {name}`"
        )));
    };
    let objections = target.objections(template).into_iter();
    let mut refused = objections.filter(|objection| objection.effect == Effect::Refused);
    match refused.next() {
        None => Ok(()),
        Some(objection) => {
            let ported = port(template, target).ok();
            let ported = ported.filter(|ported| target.verdict(&ported.template).is_taken());
            let (profile, version) = (target.profile.name(), target.version);
            let remedy = match ported {
                Some(_) => {
                    format!("\nrewrite it with `unjinja port {name} --for {profile}@{version}`")
                }
                None => String::new(),
            };
            Err(Failure::Input(format!(
                "{name}: {}{remedy}",
                objection.diagnostic
            )))
        }
    }
}

fn of_fixtures(paths: &[PathBuf]) -> Result<Vec<ComparisonInput>, Failure> {
    let found = find(paths);
    if found.is_empty() && !paths.is_empty() {
        return Err(Failure::Input(
            "there is no fixture in what `--fixtures` names".into(),
        ));
    }
    let mut texts = Vec::new();
    for path in found {
        let fixture = Fixture::load(&path)
            .map_err(|e| Failure::Input(e.explained(option_name).to_string()))?;
        texts.extend(ComparisonInput::of_fixture(&fixture));
    }
    Ok(texts)
}

/// What the chat template renders, if there is one.
fn rendered(args: &Args) -> Result<Vec<ComparisonInput>, Failure> {
    let mut options = DeriveOptions::default();
    options.base = args.options.base();
    let texts = |template: &ChatTemplate| {
        derive(template, &options)
            .map(|derivation| ComparisonInput::of_derivation(&derivation))
            .map_err(|error| format!("{}: {}", template.name, error.explain(option_name)))
    };
    if let Some(source) = &args.chat_template {
        return texts(&args.options.load(source)?).map_err(Failure::Input);
    }
    // One that is not asked for need not be there, nor be of use.
    for path in [&args.first, args.second()] {
        match args.options.beside(path).map(|template| texts(&template)) {
            Some(Ok(texts)) => return Ok(texts),
            Some(Err(error)) => report_left_out(&error),
            None => {}
        }
    }
    Ok(Vec::new())
}

fn human(args: &Args, comparison: &Comparison, count: usize) -> Painted {
    let mut out = Painted::for_results();
    let Some(divergence) = &comparison.smallest else {
        out.push(&format!(
            "they agree on all of {count} texts; on others they may not\n"
        ));
        return out;
    };
    let diverging = comparison.diverging.len();
    out.push(&format!(
        "they disagree on {diverging} of {count} texts\n\n"
    ));
    let origin = &divergence.input.origin;
    out.push(&format!(
        "the smallest text that they disagree on, out of one that is {origin}\n"
    ));
    if !divergence.input.prefix.is_empty() {
        out.push(&format!("the prompt   {:?}\n", divergence.input.prefix));
    }
    let pieces = match divergence.input.by_character {
        true => ", character by character",
        false => "",
    };
    out.push(&format!(
        "the output   {:?}{pieces}\n",
        divergence.input.output
    ));
    let (first, second) = (outcome(&divergence.first), outcome(&divergence.second));
    let files = format!("--- {}\n+++ {}\n", args.title(0), args.title(1));
    painted_diff(&files, &mut out);
    changed_lines(&first, &second, &mut out);
    out
}

fn outcome(outcome: &Result<Value, String>) -> String {
    match outcome {
        Ok(message) => output::pretty(message),
        Err(error) => format!("error: {error}\n"),
    }
}

fn for_programs(comparison: &Comparison, count: usize) -> String {
    let mut out = Object::from_iter([("texts", count)]);
    out.extend(comparison.to_value().into_object());
    output::pretty(&out.into())
}
