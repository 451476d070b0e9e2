//! `unjinja mend`: a chat template that lacks a fault, and is otherwise as it was.

use std::path::{Path, PathBuf};

use crate::printing;
use unjinja::json;
use unjinja::mend::{Fault, FaultLocation, Outcome, Verdict, mend};

use super::output::Output;
use super::source::SourceArgs;
use super::{Failure, into_source};

/// Remove a fault from a chat template, and change nothing else
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  Everything that training of agents needs, at once:
    unjinja mend model/ --for prefix,json,arguments,content,generation --write

  For training agents: what was rendered stays the same when tools answer and users continue:
    unjinja mend chat_template.jinja --for prefix > training_template.jinja

  What would be changed, line by line:
    unjinja mend model/ --for prefix --diff

  Into the file that the chat template came from:
    unjinja mend model/ --for prefix --write

The faults:
  results    the text so far changes once a tool answers
  questions  the text so far changes once the user continues: thoughts are left out
  prefix     both of them
  json       arguments or tools are encoded twice, as a string within JSON
  arguments  the arguments of calls are refused, or written differently, as a text or as an object
  content    a message whose content is null or absent is refused, or its content written as None
  dates      the prompt changes every minute, so that nothing can be cached
  generation {% generation %} is missing; the same as `unjinja mask --tag`

Conversations of all kinds are rendered. A change is made only if no conversation shows the
fault any more, and if all others render to the same text as before. What was changed, and what
could not be, is reported on the standard error.

Exit codes:
  0  the template no longer has any of the faults
  1  it still has one; what could be mended is printed or written anyway
  2  the input can't be read")]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// The faults to mend, separated by commas
    #[arg(long = "for", value_name = "FAULT", value_delimiter = ',', required = true, value_parser = faults)]
    faults: Vec<Faults>,

    /// Print what is changed, line by line, instead of the template
    #[arg(long, conflicts_with_all = ["output", "write"])]
    diff: bool,

    /// Write the template to a file (`-` is standard output)
    #[arg(short, long, value_name = "FILE", conflicts_with = "write")]
    output: Option<PathBuf>,

    /// Write it into the file that the chat template came from
    #[arg(long)]
    write: bool,

    /// Replace the existing file of `-o`
    #[arg(long, requires = "output")]
    force: bool,
}

/// The faults that one name stands for.
#[derive(Debug, Clone)]
struct Faults(Vec<Fault>);

fn faults(name: &str) -> Result<Faults, String> {
    let named = Fault::named(name).map_err(|error| error.to_string())?;
    Ok(Faults(named))
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let template = args.source.load()?;
    let faults: Vec<Fault> = args
        .faults
        .iter()
        .flat_map(|faults| faults.0.clone())
        .collect();
    let mended = mend(&template, &args.source.options.base(), &faults);
    let mended = mended.map_err(|error| {
        let question = error.of_question();
        Failure::Wrong(format!("{}: {question}: {error}", template.name))
    })?;
    let is_changed = mended.jinja != template.jinja;
    if args.diff {
        let name = &template.name;
        printing::print(into_source::difference(
            name,
            &template.jinja,
            &mended.jinja,
        ))?;
    } else if !args.write {
        write(args, &mended.jinja)?;
    } else if is_changed {
        into_source::write(&args.source.source, &template, &mended.jinja)?;
    }
    for outcome in &mended.outcomes {
        printing::tell(format_args!("{}", report(&template.name, outcome)));
    }
    let is_left = |outcome: &Outcome| matches!(outcome.verdict, Verdict::Left { .. });
    match mended.outcomes.iter().any(is_left) {
        true => Err(Failure::Reported(1)),
        false => Ok(()),
    }
}

fn write(args: &Args, jinja: &str) -> Result<(), Failure> {
    let output = Output::of_sources([args.source.source.as_str()], args.force);
    output.write(args.output.as_deref().unwrap_or(Path::new("-")), jinja)
}

/// A line that is no longer than this is shown as a whole, in bytes.
const LINE: usize = 240;

/// What is shown of a longer one around what differs.
const AROUND: usize = 60;

/// A line as it was and as it is, as much of both as is needed to see what differs.
fn shown(before: &str, after: &str) -> (String, String) {
    if before.len().max(after.len()) <= LINE {
        return (before.to_owned(), after.to_owned());
    }
    let same =
        |pairs: &mut dyn Iterator<Item = (u8, u8)>| pairs.take_while(|(a, b)| a == b).count();
    let start = same(&mut before.bytes().zip(after.bytes()));
    let most = before.len().min(after.len()) - start;
    let end = same(&mut before.bytes().rev().zip(after.bytes().rev())).min(most);
    let cut = |text: &str| {
        let from = text.floor_char_boundary(start.saturating_sub(AROUND));
        let to = text.ceil_char_boundary((text.len() - end + AROUND).min(text.len()));
        let sign = |is_cut| if is_cut { "…" } else { "" };
        format!(
            "{}{}{}",
            sign(from > 0),
            &text[from..to],
            sign(to < text.len())
        )
    };
    (cut(before), cut(after))
}

/// What came of a fault, in words.
fn report(name: &str, outcome: &Outcome) -> String {
    let fault = outcome.fault;
    match &outcome.verdict {
        Verdict::Absent { conversations } => {
            format!("{name}: {fault}: none of {conversations} conversations shows the fault\n")
        }
        Verdict::Mended {
            changes,
            mended,
            same,
            ..
        } => {
            let mut text = format!(
                "{name}: {fault}: mended in {mended} conversations; {same} more render to the same text\n"
            );
            for change in changes {
                let line = change.line;
                let (before, after) = shown(&change.before, &change.after);
                text.push_str(&format!("  line {line}: `{before}` is `{after}` now\n"));
            }
            text
        }
        Verdict::Left {
            conversations,
            place,
            why,
            ..
        } => {
            let mut text = format!(
                "{name}: {fault}: left as it was, in {conversations} conversations: {why}\n"
            );
            if let Some(FaultLocation {
                line,
                text: here,
                other,
                ..
            }) = place
            {
                let [here, other] = [here, other].map(|text| json::write(&text.as_str().into()));
                text.push_str(&format!("  line {line}: {here} becomes {other}\n"));
            }
            text
        }
        _ => String::new(),
    }
}
