//! `unjinja analyze`: what a chat template says of a format.

use crate::printing::{self, Painted};
use unjinja::analysis::{Evidence, Findings, Statement, Subject};
use unjinja::derive::DeriveError;
use unjinja::format::Format;
use unjinja::{Object, Value};

use super::report;
use super::source::SourceArgs;
use super::{Failure, output};

/// Show how a model writes its turn, as far as its chat template shows
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  Where a turn begins and ends, how reasoning, text and calls are written:
    unjinja analyze chat_template.jinja

  With the two renderings that show each finding, and their difference:
    unjinja analyze model/ --evidence

  For programs, such as jq; `unjinja schema format` describes the key `format`:
    unjinja analyze model/ --format json | jq .format.ways

The lines at `ways` show how the parts of a turn follow each other, lined up from renderings:
fixed texts in backquotes, and in capitals what is a different text each time.

A finding that was seen in a rendering is certain. One marked `inferred` is never rendered, but a
prompt begins it or the template cuts it out; one marked `guessed` shows only in instructions or
in the names of special tokens.

Exit codes:
  0  the findings are printed
  1  the chat template can't even render a question, or renders nothing that the assistant says
  2  the input can't be read")]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Show the renderings that the findings were made from
    #[arg(long)]
    evidence: bool,

    /// How to print the findings
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: report::ReportFormat,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let template = args.source.load()?;
    let base = args.source.options.base();
    let (findings, format, mut evidence) =
        Findings::with_format(&template, &base).map_err(|error| {
            Failure::Wrong(format!(
                "{}: {}: {error}",
                template.name,
                error.of_question()
            ))
        })?;
    if findings.drops_all_said {
        // As `unjinja derive` has it.
        let nothing = DeriveError::NoTurn(None);
        return Err(Failure::Wrong(format!("{}: {nothing}", template.name)));
    }
    if !args.evidence {
        evidence.clear();
    }
    match args.format {
        report::ReportFormat::Human => {
            let report = for_people(&template.name, &findings, &format, &evidence);
            printing::print_report(&report)
        }
        report::ReportFormat::Json => {
            printing::print(for_programs(&template.name, &findings, &format, &evidence))
        }
    }
}

fn for_people(name: &str, findings: &Findings, format: &Format, evidence: &[Evidence]) -> Painted {
    let mut out = Painted::for_results();
    out.push(&format!("{name}\n{}", report::findings(findings)));
    out.push(&report::format(format));
    for subject in [
        Subject::Turn,
        Subject::Reasoning,
        Subject::Content,
        Subject::Calls,
    ] {
        let about: Vec<&Evidence> = evidence
            .iter()
            .filter(|evidence| evidence.subject == subject)
            .collect();
        if !about.is_empty() {
            out.push(&format!("\n  {}\n", subject.key()));
            report::evidence(&about, &mut out);
        }
    }
    out
}

fn for_programs(name: &str, findings: &Findings, format: &Format, evidence: &[Evidence]) -> String {
    let statements = findings.statements();
    let mut out = Object::from_iter([
        ("source", Value::from(name)),
        ("findings", findings.to_value()),
        ("format", format.to_value()),
        (
            "statements",
            statements.iter().map(Statement::to_value).collect(),
        ),
    ]);
    if !evidence.is_empty() {
        let evidence: Value = evidence.iter().map(Evidence::to_value).collect();
        out.insert("evidence", evidence);
    }
    output::pretty(&out.into())
}
