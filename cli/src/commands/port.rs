//! `unjinja port`: a response template for somebody else.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::printing;
use unjinja::check::PortTrial;
use unjinja::profile::{Ported, Profile, Target, port};

use super::output::Output;
use super::target::{self, one};
use super::{Failure, input, output};
use crate::printable;

/// Rewrite a response template for another package that reads it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  For one package, from a template that was made for another:
    unjinja port response_template.json --for vllm

  From a model's folder, into a file:
    unjinja port model/ --for sglang -o response_template.json

  For an older version of a package:
    unjinja port response_template.json --for transformers@5.20

  What each package accepts, since when, and what it reads differently, with the source of
  each fact:
    unjinja port --list

The reasoning field gets the name that the package uses, defaults that it does not know are left
out, as is what it does not allow in texts, and calls get the shape that it expects. Changes are
reported on the standard error. The rewritten template then reads texts that are put together
from its markers, and the messages have to be the same except for what was changed.

`unjinja lint --for vllm` only reports what a package does not accept.

Exit codes:
  0  the package accepts the rewritten template
  1  it does not: what can't be rewritten is reported, and the template is printed anyway
  2  the template is not valid, or the input can't be read")]
pub(crate) struct Args {
    /// The response template, a tokenizer_config.json that has one, or a model's folder
    #[arg(value_name = "TEMPLATE", required_unless_present = "list")]
    template: Option<PathBuf>,

    /// The target package: transformers, vllm, sglang or trl, with a version if it matters, as in
    /// transformers@5.15
    #[arg(long = "for", value_name = "PROFILE", value_parser = one, required_unless_present = "list")]
    target: Option<Target>,

    /// Write it to a file (`-` is standard output)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace an existing file
    #[arg(long)]
    force: bool,

    /// Don't report changes; errors are still reported
    #[arg(short, long)]
    quiet: bool,

    /// Print what is known about all packages, and exit
    #[arg(long, conflicts_with_all = ["template", "target", "output"])]
    list: bool,

    /// How to print what is known about packages
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "human",
        requires = "list"
    )]
    format: PortFormat,
}

/// How to print what is known of profiles.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PortFormat {
    /// Lines for people
    Human,
    /// A JSON list
    Json,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let (Some(path), Some(target)) = (&args.template, args.target) else {
        return printing::print(match args.format {
            PortFormat::Human => target::list(),
            PortFormat::Json => {
                output::pretty(&Profile::all().iter().map(Profile::to_value).collect())
            }
        });
    };
    let name = input::name(path);
    let template = input::read_template(path)?;
    let ported =
        port(&template, target).map_err(|error| Failure::Input(format!("{name}: {error}")))?;
    let trial = PortTrial::of(&template, &ported);
    let text = output::pretty(ported.template.as_value());
    match &args.output {
        Some(file) => {
            let output = Output {
                sources: output::files_of(path),
                force: args.force,
            };
            output.write(file, &text)?;
        }
        None => printing::print(text)?,
    }
    if !args.quiet {
        printing::tell(format_args!("{}", report(&name, &ported, &trial)));
    }
    if let Some(input) = trial.differing.first() {
        let text = printable(&input.output);
        printing::tell(format_args!(
            "error: {name}: the rewritten template reads `{text}` otherwise: please report it\n"
        ));
    }
    for objection in &ported.objections {
        let text = printable(&objection.diagnostic.to_string());
        printing::tell(format_args!("{name}: {text}\n"));
    }
    match target.verdict(&ported.template).is_taken() && trial.differing.is_empty() {
        true => Ok(()),
        false => Err(Failure::Reported(1)),
    }
}

/// What was changed, and whether both read the same texts alike.
fn report(name: &str, ported: &Ported, trial: &PortTrial) -> String {
    let mut out = String::new();
    for change in &ported.changes {
        let line = format!("{name}: {}: {}", change.pointer, change.says);
        out.push_str(&format!("{}\n", printable(&line)));
    }
    if ported.changes.is_empty() {
        return format!("{name}: nothing needs to change\n");
    }
    let (texts, differing) = (trial.texts, trial.differing.len());
    out.push_str(&format!(
        "{name}: {} of {texts} texts are read alike, but for that\n",
        texts - differing
    ));
    out
}
