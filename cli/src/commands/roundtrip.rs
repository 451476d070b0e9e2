//! `unjinja roundtrip`: whether the next prompt still begins with what the model wrote.

mod answer;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::options::option_name;
use crate::printing;
use unjinja::conversation::Bridge;
use unjinja::derive::{DeriveOptions, derive};
use unjinja::roundtrip::{Cause, Roundtrip, examples};
use unjinja::{ResponseTemplate, Value, json};

use super::report::ReportFormat;
use super::source::SourceArgs;
use super::{Failure, batch, input, output};
use answer::{Answerer, Found};

/// Check whether the next prompt still begins with what a model wrote
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  With outputs that the chat template itself writes:
    unjinja roundtrip model/

  With outputs of the model, one JSON object per line, each with `messages` (and `tools`) and
  the `output` that followed; a table of causes is printed at the end:
    unjinja roundtrip model/ --jsonl outputs.jsonl > ways.jsonl

  With the first token that differs, and the ids to append to those of the prompt and the
  output, so that the model continues and nothing it wrote is tokenized again:
    unjinja roundtrip model/ --jsonl outputs.jsonl --tokens model/tokenizer.json > ways.jsonl

An output is parsed, and its message is appended to the conversation, with what follows: the
`following` messages of a line, or else an answer to each call, or a question. All of it is
rendered as a prompt. If that does not begin with the prompt and the output as they were, caches
are lost, and training sees what the model did not write.

`unjinja mend --for prefix` mends templates that drop what they have written.

Exit codes:
  0  each prompt begins with what was written before
  1  one does not, or an output can't be parsed
  2  the input can't be read")]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Outputs of the model, one JSON object per line (`-` is standard input)
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,

    /// The response template to read outputs with [default: derived from the chat template]
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,

    /// A tokenizer.json: show the first token that differs, and the ids to append
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,

    /// Also show the text to append to a prompt and its output
    #[arg(long, requires = "jsonl")]
    append: bool,

    /// How to print what was found, without `--jsonl`
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "human",
        conflicts_with = "jsonl"
    )]
    format: ReportFormat,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let tokenizer = input::tokenizer(args.tokens.as_deref())?;
    let template = args.source.load()?;
    let base = args.source.options.base();
    let wrong =
        |error: &dyn std::fmt::Display| Failure::Wrong(format!("{}: {error}", template.name));
    let response: ResponseTemplate = match &args.template {
        Some(path) => input::read_template(path)?,
        None => {
            let options = DeriveOptions::default().base(base.clone());
            let derivation = derive(&template, &options).map_err(|error| {
                Failure::Input(format!("{}: {}", template.name, error.explain(option_name)))
            })?;
            derivation.template
        }
    };
    let prepared = template.prepare();
    let roundtrip = Roundtrip::new(&template, &prepared, &response, &base);
    let roundtrip = roundtrip.map_err(|error| wrong(&error))?;
    let bridge = match args.append || tokenizer.is_some() {
        true => Some(Bridge::of(&template, &base).map_err(|error| wrong(&error))?),
        false => None,
    };
    let writer = bridge.as_ref().map(Bridge::writer).transpose();
    let answerer = Answerer {
        roundtrip,
        writer: writer.map_err(|error| wrong(&error))?,
        tokenizer: tokenizer.as_ref(),
        options: &args.source.options,
    };
    let Some(path) = &args.jsonl else {
        return of_examples(
            args,
            &answerer,
            &examples(&template, &base).map_err(|error| wrong(&error))?,
        );
    };
    let causes = Mutex::new(Causes::default());
    batch::answer_lines(path, false, |case| {
        let found = answerer.line(case);
        let mut causes = causes.lock().unwrap_or_else(PoisonError::into_inner);
        causes.add(&found);
        found.reply()
    })?;
    let causes = causes.into_inner().unwrap_or_else(PoisonError::into_inner);
    printing::tell(format_args!("{}", causes.table()));
    causes.verdict()
}

/// The ways of outputs as the chat template writes them.
fn of_examples(
    args: &Args,
    answerer: &Answerer<'_>,
    examples: &[unjinja::roundtrip::Example],
) -> Result<(), Failure> {
    let mut causes = Causes::default();
    let mut lines = String::new();
    let mut values = Vec::new();
    for example in examples {
        let found = answerer.of(&example.conversation, &example.output, None);
        causes.add(&found);
        lines.push_str(&format!("{:<46}{}\n", example.name, found.in_words()));
        let mut value = found.value();
        value.insert("name", example.name);
        value.insert("output", example.output.as_str());
        values.push(Value::from(value));
    }
    printing::print(match args.format {
        ReportFormat::Human => lines + "\n" + &causes.table(),
        ReportFormat::Json => output::pretty(&values.into_iter().collect()),
    })?;
    causes.verdict()
}

/// How many outputs depart for which cause, and the first of each.
#[derive(Debug, Default)]
struct Causes {
    kept: usize,
    failed: usize,
    departed: BTreeMap<Cause, (usize, String)>,
}

impl Causes {
    fn add(&mut self, found: &Found) {
        match found {
            Found::Failed(_) => self.failed += 1,
            Found::Way {
                departure: None, ..
            } => self.kept += 1,
            Found::Way {
                departure: Some(departure),
                ..
            } => {
                let [wrote, renders] = [&departure.wrote, &departure.renders]
                    .map(|text| json::write(&text.as_str().into()));
                let (count, first) = self.departed.entry(departure.cause).or_default();
                *count += 1;
                if first.is_empty() {
                    *first = format!("{wrote} becomes {renders}");
                }
            }
        }
    }

    fn table(&self) -> String {
        let departed: usize = self.departed.values().map(|(count, _)| count).sum();
        let mut table = format!("{} outputs are kept, {departed} are not", self.kept);
        if self.failed > 0 {
            table.push_str(&format!(", and {} have no way back", self.failed));
        }
        table.push('\n');
        for (cause, (count, first)) in &self.departed {
            table.push_str(&format!("{count:>8}  {:<50}{first}\n", cause.description()));
        }
        table
    }

    fn verdict(&self) -> Result<(), Failure> {
        match self.departed.is_empty() && self.failed == 0 {
            true => Ok(()),
            false => Err(Failure::Reported(1)),
        }
    }
}
