//! The commands: each reads its arguments, calls the library, and prints.

mod analyze;
mod batch;
mod caps;
mod check;
mod completions;
mod convert;
mod derive;
mod diff;
mod github;
mod grammar;
mod input;
mod into_source;
mod lint;
mod maintainer_report;
mod man;
mod mask;
mod mend;
mod new;
mod output;
mod parse;
#[cfg(feature = "playground")]
mod playground;
mod port;
mod read;
mod render;
mod report;
mod request;
mod roundtrip;
mod schema;
mod schema_comparison;
#[cfg(feature = "serve")]
mod serve;
mod source;
mod survey;
mod target;
mod tui;
mod unknown_tools;
mod watch;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};

use crate::printing;
use unjinja::check::Settings;

/// Read a language model's raw output back into a structured message.
#[derive(Debug, Parser)]
#[command(
    name = "unjinja",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Exit codes:\n  \
        0  everything is fine\n  \
        1  what was checked is wrong: an output that can't be parsed, or is not read as its fixture\n     \
        says, a chat template that can't be rendered, or whose turns can't all be read back, a\n     \
        response template with an error, or one that reads differently from another\n  \
        2  wrong usage, or input that can't be read: a missing file, broken JSON,\n     \
        a template that is refused, a chat template that nothing can be derived from,\n     \
        no fixture to check\n\n\
        `unjinja COMMAND --help` shows examples."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Derive(derive::Args),
    Convert(convert::Args),
    Analyze(analyze::Args),
    Parse(parse::Args),
    New(new::Args),
    Check(check::Args),
    Lint(lint::Args),
    Diff(diff::Args),
    Survey(survey::Args),
    Watch(watch::Args),
    Port(port::Args),
    Grammar(grammar::Args),
    Tui(tui::Args),
    #[cfg(feature = "serve")]
    Serve(serve::Args),
    #[cfg(feature = "playground")]
    Playground(playground::Args),
    Render(render::Args),
    Read(read::Args),
    Mask(mask::Args),
    Mend(mend::Args),
    Roundtrip(roundtrip::Args),
    Caps(caps::Args),
    Report(maintainer_report::Args),
    Schema(schema::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// What was checked is wrong.
    #[error("{0}")]
    Wrong(String),
    /// The command or its input is.
    #[error("{0}")]
    Input(String),
    /// One of these that has been reported already, with its exit code.
    #[error("reported already")]
    Reported(u8),
    /// The reader of the output has gone, and nobody is left to read it.
    #[error("the output is closed")]
    Closed,
}

impl Failure {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Closed => 0,
            Failure::Wrong(_) => 1,
            Failure::Input(_) => 2,
            Failure::Reported(code) => *code,
        }
    }

    /// The same, of which nothing is left to be reported.
    pub(crate) fn reported(&self) -> Failure {
        Failure::Reported(self.exit_code())
    }
}

/// The settings that count in the current folder.
pub(crate) fn settings() -> Result<Settings, Failure> {
    let here = env::current_dir().map_err(|error| Failure::Input(error.to_string()))?;
    let found = Settings::find(&here).map_err(|error| Failure::Input(error.to_string()))?;
    Ok(found.unwrap_or_default())
}

/// Commands that are built in on demand, and how.
const ON_DEMAND: [(&str, &str); 2] = [
    (
        "serve",
        "build it with `cargo install --path cli --features serve`",
    ),
    (
        "playground",
        "build the page with `playground/build`, and then the program with `cargo install --path cli --features playground`",
    ),
];

/// What to do about a command that this program was built without, if one was asked for.
fn left_out(usage: &clap::Error) -> Option<String> {
    let asked = usage.get(ContextKind::InvalidSubcommand)?;
    let (name, remedy) = ON_DEMAND
        .iter()
        .find(|(name, _)| *asked == ContextValue::String((*name).to_owned()))?;
    Some(format!(
        "this program was built without the command `{name}`: {remedy}"
    ))
}

/// Runs the command that the arguments of the process name.
pub fn main() -> ExitCode {
    ExitCode::from(run(env::args_os()))
}

/// Runs the command that some arguments name, of which the first is the program, and returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let command = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli.command,
        Err(usage) => {
            use clap::error::ErrorKind;
            if let Some(error) = left_out(&usage) {
                printing::tell(format_args!("error: {error}\n"));
                return 2;
            }
            match usage.kind() {
                // In its colours. Where nobody listens, nothing is lost.
                ErrorKind::DisplayHelp
                | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
                | ErrorKind::DisplayVersion => {
                    let _nobody_listens = usage.print();
                }
                // What was given stands in it.
                _ => printing::tell(format_args!("{}", usage.render())),
            }
            return u8::try_from(usage.exit_code()).unwrap_or(2);
        }
    };
    let result = match command {
        Command::Derive(args) => derive::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Analyze(args) => analyze::run(&args),
        Command::Parse(args) => parse::run(&args),
        Command::New(args) => new::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Lint(args) => lint::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Survey(args) => survey::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Port(args) => port::run(&args),
        Command::Grammar(args) => grammar::run(&args),
        Command::Tui(args) => tui::run(&args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(&args),
        #[cfg(feature = "playground")]
        Command::Playground(args) => playground::run(&args),
        Command::Render(args) => render::run(&args),
        Command::Read(args) => read::run(&args),
        Command::Mask(args) => mask::run(&args),
        Command::Mend(args) => mend::run(&args),
        Command::Roundtrip(args) => roundtrip::run(&args),
        Command::Caps(args) => caps::run(&args),
        Command::Report(args) => maintainer_report::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    match result {
        Ok(()) => 0,
        Err(failure) => {
            if !matches!(failure, Failure::Closed | Failure::Reported(_)) {
                printing::tell(format_args!("error: {failure}\n"));
            }
            failure.exit_code()
        }
    }
}
