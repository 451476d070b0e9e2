//! The program `unjinja`.

fn main() -> std::process::ExitCode {
    unjinja_cli::main()
}
