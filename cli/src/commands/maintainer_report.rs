//! `unjinja report`: one file for a maintainer, of a chat template that is not read back as it should be.

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use crate::printing;
use unjinja::analysis::Findings;
use unjinja::chat_template::ChatTemplate;
use unjinja::derive::{Derivation, DeriveOptions, ProofRow, derive};
use unjinja::{Value, json};

use super::output::{self, Output};
use super::source::SourceArgs;
use super::{Failure, report};
use crate::options::option_name;
use crate::private::{Cleaned, Private};

/// So many renderings that are not read back are in a report.
const MAX_ROWS: usize = 20;

/// Where the report is written, if no other place is named.
const PLACE: &str = "unjinja-report.md";

/// Write a report for a maintainer, if something is not derived as it should be
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  Show the report, and ask before writing it to unjinja-report.md:
    unjinja report chat_template.jinja

  Unattended, or to another file:
    unjinja report model/ --yes
    unjinja report model/ -o report.md

  Only show it:
    unjinja report chat_template.jinja -o -

The report is a Markdown file to attach to an issue: the chat template, what was found out about
it, the response template, the renderings that are not read back, and versions. It does not say
where the template came from. Paths, access tokens, addresses, and your user name are blacked
out, as is anything that looks like one, and the number of such places is reported. A path ends
at its first blank, so what follows a blank in the name of a folder is kept. Please read the
report before you attach it: it contains everything that the chat template says.

Exit codes:
  0  the report is written
  1  it is not, because the answer was no
  2  there is no chat template, there is no terminal to ask in, or the file already exists")]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// Write it to this file (`-` is standard output) without asking [default: unjinja-report.md]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write it without asking
    #[arg(short, long)]
    yes: bool,

    /// Replace an existing file
    #[arg(long)]
    force: bool,

    /// Don't show it before writing it
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let place = args.output.as_deref().unwrap_or(Path::new(PLACE));
    let output = Output::of_sources([args.source.source.as_str()], args.force);
    output.check(place)?;
    let is_answered = args.yes || args.output.is_some();
    // Nobody is asked for what can't be done. Where nobody is asked, the same text may be there already.
    if !is_answered {
        output.check_new(place)?;
    }
    let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
    if !is_answered && !can_ask {
        return Err(Failure::Input(format!(
            "there is no terminal to ask in: write the report to {PLACE} with `--yes`, or to another \
             file with `-o FILE`"
        )));
    }
    let template = args.source.load()?;
    let cleaned = cleaned(args, &template);
    if output::is_stdout(place) {
        return printing::print(&cleaned.text);
    }
    if !args.quiet {
        printing::print(&cleaned.text)?;
    }
    let places = match cleaned.places {
        0 => "nothing was blacked out".to_owned(),
        1 => "1 place was blacked out".to_owned(),
        count => format!("{count} places were blacked out"),
    };
    if !is_answered {
        printing::tell(format_args!(
            "{places}; write this to {}? [y/N] ",
            place.display()
        ));
        if !is_yes()? {
            printing::tell(format_args!("nothing is written\n"));
            return Err(Failure::Reported(1));
        }
    }
    output.write(place, &cleaned.text)?;
    printing::tell(format_args!(
        "{}: written; {places}; please read it before you share it\n",
        place.display()
    ));
    Ok(())
}

/// Whether the answer is yes. No answer is none.
fn is_yes() -> Result<bool, Failure> {
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| Failure::Input(format!("the answer can't be read: {error}")))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// The report, without what is nobody's business.
fn cleaned(args: &Args, template: &ChatTemplate) -> Cleaned {
    let mut private = Private::of_environment();
    for name in [args.source.source.as_str(), template.name.as_str()] {
        // A mere word may stand in any template.
        if name.contains(['/', '\\', '.']) {
            private.add(name, "[source]");
        }
    }
    private.without(&written(args, template))
}

fn written(args: &Args, template: &ChatTemplate) -> String {
    let mut options = DeriveOptions::default();
    options.base = args.source.options.base();
    let derived = derive(template, &options).map_err(|error| error.explain(option_name));
    let mut out = "# A report on a chat template\n\n".to_owned();
    out.push_str(&versions(template));
    match &derived {
        Ok(derivation) => {
            let found = report::derivation(template, derivation, &[]);
            section(&mut out, "What was found", "text", &found);
            let derived = output::pretty(derivation.template.as_value());
            section(&mut out, "The response template", "json", &derived);
            out.push_str(&renderings(derivation));
        }
        Err(error) => {
            section(&mut out, "Nothing is derived", "text", error);
            if let Ok(findings) = Findings::of(template, &options.base) {
                let found = report::findings(&findings);
                section(&mut out, "What was found", "text", &found);
            }
        }
    }
    let present = template.response_template.as_ref();
    if let Some(present) = present {
        section(
            &mut out,
            "The response template that it has",
            "json",
            &output::pretty(present),
        );
    }
    if let Some(schema) = &template.response_schema {
        section(
            &mut out,
            "The response schema that it has",
            "json",
            &output::pretty(schema),
        );
    }
    section(&mut out, "The chat template", "jinja", &template.jinja);
    out
}

/// Versions, and what comes with the template.
fn versions(template: &ChatTemplate) -> String {
    let token = |token: &Option<String>| match token {
        Some(token) => json::write(&token.as_str().into()),
        None => "none".to_owned(),
    };
    let features = [
        (cfg!(feature = "hub"), "hub"),
        (cfg!(feature = "tokenizers"), "tokenizers"),
    ];
    let features = features.into_iter().filter(|(is_on, _)| *is_on);
    let features: Vec<&str> = features.map(|(_, name)| name).collect();
    format!(
        "- unjinja {}, {} {}, features: {}\n- bos_token {}, eos_token {}\n- variants: {}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        listed(&features),
        token(&template.bos_token),
        token(&template.eos_token),
        listed(
            &template
                .variants
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
        ),
    )
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}

/// What is not read back, and what is refused.
fn renderings(derivation: &Derivation) -> String {
    let mut out = String::new();
    let rows = derivation.proof.iter();
    let failing: Vec<&ProofRow> = rows
        .filter(|row| row.recovery.difference().is_some())
        .collect();
    let refused = derivation.refused.iter();
    let refused: String = refused
        .map(|refused| format!("{}: {}\n", refused.name, refused.explain(option_name)))
        .collect();
    if failing.is_empty() {
        out.push_str("\nAll renderings are read back.\n");
    }
    for row in failing.iter().take(MAX_ROWS) {
        let title = format!("Not read back: {}", row.name);
        section(&mut out, &title, "json", &output::pretty(&row.to_value()));
    }
    if failing.len() > MAX_ROWS {
        out.push_str(&format!("\nAnd {} more.\n", failing.len() - MAX_ROWS));
    }
    if !refused.is_empty() {
        section(&mut out, "Refused by the chat template", "text", &refused);
    }
    let damaged = derivation.damaged.iter().filter(|text| !text.is_recovered);
    let damaged: Vec<Value> = damaged.take(MAX_ROWS).map(|text| text.to_value()).collect();
    if !damaged.is_empty() {
        let text = output::pretty(&damaged.into());
        section(
            &mut out,
            "Damaged texts that are not read back",
            "json",
            &text,
        );
    }
    out
}

/// A section of which the text stands as it is: its fence is longer than any in the text.
fn section(out: &mut String, title: &str, language: &str, text: &str) {
    let mut longest = 2;
    for run in text.split(|c| c != '`') {
        longest = longest.max(run.len());
    }
    let fence = "`".repeat(longest + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    out.push_str(&format!(
        "\n## {title}\n\n{fence}{language}\n{text}{end}{fence}\n"
    ));
}
