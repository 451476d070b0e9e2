//! The command line: each subcommand reads its arguments, calls the library, and prints.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
