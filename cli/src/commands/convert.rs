//! `unjinja convert`: from a response schema to a response template.

use std::path::PathBuf;

use crate::printing;
use unjinja::chat_template::ChatTemplate;
use unjinja::check::SchemaComparison;
use unjinja::derive::{DeriveOptions, derive};
use unjinja::response_schema::{Difference, ResponseSchema, Trial, Way, convert};
use unjinja::{ResponseTemplate, Value, json};

use super::input::ReaderDocument;
use super::output::Output;
use super::source::SourceOptions;
use super::{Failure, derive as derive_command, output, report};
use crate::options::option_name;
use crate::printable;

/// So many texts are shown that differ in the same way.
const SHOWN: usize = 2;

/// Convert a response schema to the response template that reads the same
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  The response template on standard output, the report beside it:
    unjinja convert response_schema.json > response_template.json

  Into the tokenizer_config.json of a model's folder, next to its `response_schema`:
    unjinja convert model/ --write

  From the chat template, with the schema as a witness:
    unjinja convert response_schema.json --chat-template chat_template.jinja

  From the schema alone, though there is a chat template beside it:
    unjinja convert model/ --alone

  From the schema alone, for texts that are read while they stream:
    unjinja convert response_schema.json --streaming

Where there is a chat template, the response template is derived from it, as `unjinja derive`
does, and the schema is a second witness: both read all renderings, and texts damaged as models
damage them. Without one, the schema is converted key by key, and both read texts that are put
together from the schema's own patterns. Texts that they disagree on are shown. An empty text
that is left out of a message counts as no difference.

A schema looks at the whole text before it takes a part of it for a call. A template that reads
all texts the same has to do so, too: it reads whole texts only, and the report says so. With
`--streaming` it looks no further than necessary, and may read texts differently that break off
or continue after their calls.

Exit codes:
  0  they agree on all whole texts; on damaged ones they may not
  1  they disagree: the report shows the texts, and the template is printed anyway
  2  something in the schema has no counterpart, the schema is refused, or the input can't be read")]
pub(crate) struct Args {
    /// The response schema, a tokenizer_config.json that has one, or a model's folder
    #[arg(value_name = "SCHEMA")]
    schema: PathBuf,

    /// The chat template to derive from [default: the one beside the schema]
    #[arg(long, value_name = "SOURCE", conflicts_with = "alone")]
    chat_template: Option<String>,

    /// Convert the schema alone, even if there is a chat template beside it
    #[arg(long)]
    alone: bool,

    /// Convert the schema only as far as texts can be read while they stream. Damaged texts may be read
    /// differently from the schema
    #[arg(long, conflicts_with = "chat_template")]
    streaming: bool,

    #[command(flatten)]
    options: SourceOptions,

    /// Write the response template to a file (`-` is standard output)
    #[arg(short, long, value_name = "FILE", conflicts_with = "write")]
    output: Option<PathBuf>,

    /// Write it as `response_template` into the tokenizer_config.json that has the schema
    #[arg(long)]
    write: bool,

    /// Replace the existing file of `-o`, or with `--write` the existing response template
    #[arg(long)]
    force: bool,

    /// Print no report; errors are still reported
    #[arg(short, long)]
    quiet: bool,
}

/// A response template, and how it compares with the schema.
struct Converted {
    template: ResponseTemplate,
    trials: Vec<Trial>,
    /// How it was made.
    way: String,
    /// Whether white space around texts counts.
    is_exact: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let ReaderDocument::Schema(document) = ReaderDocument::find(&args.schema)? else {
        return Err(Failure::Input(format!(
            "{}: there is nothing to convert: name a file that is a response schema, or that has one under \
             `response_schema` and no response template yet",
            args.schema.display()
        )));
    };
    let name = &document.name;
    let schema = document.schema()?;
    let chat_template = match &args.chat_template {
        Some(source) => Some(args.options.load(source)?),
        None if args.alone || args.streaming => None,
        None => args.options.beside(&args.schema),
    };
    let converted = match chat_template {
        Some(template) => derived(args, &schema, &template)?,
        None => followed(&schema, args.way())
            .map_err(|error| Failure::Input(format!("{name}: {error}")))?,
    };
    hand_out(args, &converted)?;
    if !args.quiet {
        printing::tell_report(&report::coloured(&human(&converted)));
    }
    match converted.parted(false).next() {
        None => Ok(()),
        Some(_) => Err(Failure::Reported(1)),
    }
}

fn followed(schema: &ResponseSchema, way: Way) -> Result<Converted, String> {
    let conversion = convert(schema, way).map_err(|error| {
        format!("this can't be converted: derive from the chat template instead, with `--chat-template`\n{error}")
    })?;
    Ok(Converted {
        template: conversion.template,
        trials: conversion.trials,
        way: "converted from the schema, and tried on texts from its own patterns".into(),
        is_exact: true,
    })
}

/// Derives from a chat template, and lets the schema read all texts as well.
fn derived(
    args: &Args,
    schema: &ResponseSchema,
    template: &ChatTemplate,
) -> Result<Converted, Failure> {
    let mut options = DeriveOptions::default();
    options.base = args.options.base();
    if let Some(field) = schema.reasoning_field() {
        options.reasoning_field = field;
    }
    let derivation = derive(template, &options).map_err(|error| {
        Failure::Input(format!("{}: {}", template.name, error.explain(option_name)))
    })?;
    let comparison = SchemaComparison::of(schema, &derivation);
    Ok(Converted {
        trials: [comparison.renderings, comparison.damaged].concat(),
        way: format!(
            "derived from {}, with {} of {} renderings recovered; the schema reads all texts, too",
            template.name,
            derivation.recovered(),
            derivation.proof.len()
        ),
        template: derivation.template.clone(),
        is_exact: false,
    })
}

impl Args {
    fn way(&self) -> Way {
        match self.streaming {
            true => Way::Streaming,
            false => Way::Exact,
        }
    }
}

impl Converted {
    /// Whether what is read may depend on how a text is cut into chunks.
    fn reads_whole_texts_only(&self) -> bool {
        let fields = self.template.fields().iter();
        let mut delimiters = fields.flat_map(|field| field.open().into_iter().chain(field.close()));
        delimiters.any(|delimiter| delimiter.is_chunk_dependent() != Some(false))
    }

    /// The trials of whole texts, or of damaged ones, that are not read alike, and how they differ.
    fn parted(&self, damaged: bool) -> impl Iterator<Item = (&Trial, Difference)> {
        let trials = self.trials.iter();
        let trials = trials.filter(move |trial| trial.damage.is_some() == damaged);
        let parted = trials.filter_map(|trial| Some((trial, trial.difference()?)));
        parted.filter(|(_, difference)| self.is_exact || *difference != Difference::WhiteSpace)
    }

    fn count(&self, damaged: bool) -> usize {
        let trials = self.trials.iter();
        trials
            .filter(|trial| trial.damage.is_some() == damaged)
            .count()
    }
}

fn hand_out(args: &Args, converted: &Converted) -> Result<(), Failure> {
    let value = converted.template.as_value();
    let text = output::pretty(value);
    if args.write {
        let source = args.schema.display().to_string();
        return derive_command::write_into_config(&source, &source, value, args.force);
    }
    match &args.output {
        Some(path) => {
            let output = Output {
                sources: output::files_of(&args.schema),
                force: args.force,
            };
            output.write(path, &text)
        }
        None => printing::print(text),
    }
}

fn human(converted: &Converted) -> String {
    let mut out = format!("{}\n", printable(&converted.way));
    if converted.is_exact && converted.reads_whole_texts_only() {
        out.push_str(
            "it looks ahead: give it whole texts, or make one that streams with `--streaming`\n",
        );
    }
    for (damaged, what) in [(false, "whole texts"), (true, "damaged ones")] {
        let parted: Vec<(&Trial, Difference)> = converted.parted(damaged).collect();
        let all = converted.count(damaged);
        let alike = all - parted.len();
        out.push_str(&format!("{alike} of {all} {what} are read alike\n"));
        let mut differences: Vec<Difference> = parted.iter().map(|(_, how)| *how).collect();
        differences.sort();
        differences.dedup();
        for difference in differences {
            let alike = parted.iter().filter(|(_, how)| *how == difference);
            let trials: Vec<&Trial> = alike.map(|(trial, _)| *trial).collect();
            out.push_str(&format!("  {}: {difference}\n", trials.len()));
            let shown = trials.iter().take(SHOWN).map(|trial| compared(trial));
            out.extend(shown);
            if trials.len() > SHOWN {
                out.push_str(&format!("    and {} more\n", trials.len() - SHOWN));
            }
        }
    }
    out
}

/// A text, and what both make of it.
fn compared(trial: &Trial) -> String {
    let damage = trial.damage.as_ref();
    let damage = damage.map_or(String::new(), |damage| format!("   ({damage})"));
    let made = |made: &Result<Value, String>| match made {
        Ok(message) => printable(&json::write(message)),
        Err(error) => format!("error: {}", printable(error)),
    };
    format!(
        "    the text    {:?}{damage}\n      schema    {}\n      template  {}\n",
        trial.text,
        made(&trial.by_schema),
        made(&trial.by_template)
    )
}
