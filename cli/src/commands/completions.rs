//! `unjinja completions`: how shells complete the commands.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, Failure};
use crate::printing;

/// Print a script with which a shell completes unjinja's commands and options
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bash, with the package bash-completion installed:
    mkdir -p ~/.local/share/bash-completion/completions
    unjinja completions bash > ~/.local/share/bash-completion/completions/unjinja

  zsh, in a folder that ~/.zshrc names before it calls compinit: fpath=(~/.zfunc $fpath)
    mkdir -p ~/.zfunc
    unjinja completions zsh > ~/.zfunc/_unjinja

  fish:
    mkdir -p ~/.config/fish/completions
    unjinja completions fish > ~/.config/fish/completions/unjinja.fish

They take effect in the next shell. Print them again whenever unjinja is updated.

Exit codes:
  0  the script is printed
  2  wrong usage: unknown shell")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    // Into memory first: clap_complete panics where it can't write, as into a pipe that is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "unjinja", &mut script);
    printing::print(String::from_utf8_lossy(&script))
}
