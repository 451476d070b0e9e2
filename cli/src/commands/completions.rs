//! `unjinja completions`: how shells complete the commands.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, Failure};
use crate::printing;

/// Print a script by which a shell completes unjinja's commands and options
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  bash, where the package bash-completion is installed:
    mkdir -p ~/.local/share/bash-completion/completions
    unjinja completions bash > ~/.local/share/bash-completion/completions/unjinja

  zsh, in a folder that ~/.zshrc has to name before it calls compinit: fpath=(~/.zfunc $fpath)
    mkdir -p ~/.zfunc
    unjinja completions zsh > ~/.zfunc/_unjinja

  fish:
    mkdir -p ~/.config/fish/completions
    unjinja completions fish > ~/.config/fish/completions/unjinja.fish

The next shell that is started knows them. Print them again when unjinja is updated.

Exit codes:
  0  the script is printed
  2  wrong usage: the shell is not known")]
pub(crate) struct Args {
    /// The shell that is to complete
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    // Into memory first: clap_complete panics where it can't write, as into a pipe that is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "unjinja", &mut script);
    printing::print(String::from_utf8_lossy(&script))
}
