//! One file prints and escapes what goes to terminals, and what never ends is refused.

use std::fs;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use crate::habits::program::Folder;
use crate::support::root::root;

/// What writes to the program's outputs.
const PRINTING: [&str; 4] = ["println!(", "print!(", "io::stdout()", "io::stderr()"];

/// Who may: the file that escapes; and the workbench, which draws its screen on the standard output.
const ALLOWED: [(&str, &[&str]); 2] = [
    ("printing.rs", &PRINTING),
    ("tui/terminal/guard.rs", &["io::stdout()"]),
];

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("it is a folder");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files_below(&path),
            false => vec![path],
        })
        .collect()
}

#[test]
fn nothing_prints_past_the_file_that_escapes() {
    let source = root().join("cli/src");
    let mut printing = Vec::new();
    for path in files_below(&source) {
        let text = fs::read_to_string(&path).expect("sources are texts");
        let code = text.split("\nmod tests {").next().unwrap_or_default();
        // Asking whether there is a terminal prints nothing.
        let lines = code.lines().filter(|line| !line.contains(".is_terminal()"));
        let name = path.strip_prefix(&source).expect("it is there");
        let allowed = ALLOWED
            .iter()
            .find(|(allowed, _)| Path::new(allowed) == name);
        let allowed = allowed.map_or(&[][..], |(_, ways)| ways);
        for line in lines.filter(|line| !line.trim_start().starts_with("//")) {
            let ways = PRINTING.iter().filter(|way| line.contains(*way));
            let ways = ways.filter(|way| !allowed.contains(way));
            printing.extend(ways.map(|way| format!("{}: {way}", name.display())));
        }
    }
    assert!(printing.is_empty(), "{}", printing.join("\n"));
}

#[cfg(unix)]
#[test]
fn an_output_that_never_ends_is_refused() {
    let outcome = Folder::new().run("parse -t template.json /dev/zero");
    assert_eq!(outcome.code, Some(2));
    let refusal = "/dev/zero: the output is larger than 64 MiB";
    assert!(outcome.stderr.contains(refusal), "{}", outcome.stderr);
}
