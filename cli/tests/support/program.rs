//! Running the program as a person or a script does.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// What the program prints in a folder, what it reports, each line behind a `!`, and how it ends.
pub fn unjinja(folder: &Path, arguments: &str, stdin: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_unjinja"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut pipe = child.stdin.take().expect("it has a standard input");
    // It need not read all, nor anything.
    match pipe.write_all(stdin.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("{error}"),
        _ => drop(pipe),
    }
    let out = child.wait_with_output().expect("it ends");
    let [stdout, stderr] =
        [out.stdout, out.stderr].map(|text| String::from_utf8(text).expect("it prints text"));
    let said: String = stderr.lines().map(|line| format!("! {line}\n")).collect();
    let code = out.status.code().expect("it ends by itself");
    format!("{stdout}{said}exit {code}")
}
