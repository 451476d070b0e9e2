//! The editor of the person's choice.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{Command, Stdio};

use unjinja::files::read_text;

use super::keyboard;

/// The editors that take the line to begin at as `+LINE`.
const BY_LINE: &[&str] = &[
    "vi",
    "vim",
    "nvim",
    "view",
    "nano",
    "emacs",
    "emacsclient",
    "kak",
    "micro",
    "joe",
    "mg",
    "ne",
];

/// Files may be this large to be looked into for the line.
const MAX_FILE: u64 = 64 << 20;

/// Opens a file in the editor of the person's choice, where a field stands in it, and waits until it has
/// been closed.
pub(super) fn edit(path: &Path, field: Option<&str>) -> Result<(), String> {
    let mut chosen = ["VISUAL", "EDITOR"].into_iter().filter_map(env::var_os);
    let editor = chosen.find(|editor| !editor.is_empty());
    let usual = if cfg!(windows) { "notepad" } else { "vi" };
    let editor = editor.unwrap_or_else(|| OsString::from(usual));
    // The variable may hold options, too.
    let mut command = match cfg!(unix) {
        true => {
            let mut command = Command::new("sh");
            let mut script = editor.clone();
            script.push(" \"$@\"");
            command.arg("-c").arg(script).arg("sh");
            command
        }
        false => Command::new(&editor),
    };
    if !io::stdin().is_terminal()
        && let Some(keyboard) = keyboard::device()
    {
        command.stdin(Stdio::from(keyboard));
    }
    let editor = editor.to_string_lossy().into_owned();
    let remedy = "set EDITOR to one that exists";
    let line = field.and_then(|field| line_of(&read_text(path, MAX_FILE).ok()?, field));
    if let Some(line) = line.filter(|_| takes_a_line(&editor)) {
        command.arg(format!("+{line}"));
    }
    match command.arg(path).status() {
        Ok(status) if status.success() => Ok(()),
        // So a shell says that there is no such command.
        Ok(status) if status.code() == Some(127) => {
            Err(format!("the editor `{editor}` can't be run: {remedy}"))
        }
        Ok(status) => Err(format!("the editor `{editor}` ended with {status}")),
        Err(error) => Err(format!(
            "the editor `{editor}` can't be run: {error}: {remedy}"
        )),
    }
}

/// Whether an editor, which may have options behind its name, takes a line.
fn takes_a_line(editor: &str) -> bool {
    let name = editor.split_whitespace().next().unwrap_or_default();
    let name = Path::new(name).file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| BY_LINE.contains(&name))
}

/// The line on which a field of a response template stands, from 1, in JSON or in YAML.
fn line_of(text: &str, field: &str) -> Option<usize> {
    let keys = [format!("\"{field}\":"), format!("{field}:")];
    let mut lines = (1..).zip(text.lines());
    lines.find(|(_, line)| line.contains("fields"))?;
    let begins = |line: &str| {
        keys.iter()
            .any(|key| line.trim_start().starts_with(key.as_str()))
    };
    lines
        .find(|(_, line)| begins(line))
        .map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_where_it_stands_in_a_file() {
        let json = "{\n  \"defaults\": {\"content\": \"\"},\n  \"fields\": {\n    \"content\": {}\n  }\n}\n";
        let yaml = "response_template:\n  fields:\n    content: {}\n";
        assert_eq!(line_of(json, "content"), Some(4));
        assert_eq!(line_of(yaml, "content"), Some(3));
        assert_eq!(line_of(json, "calls"), None);
    }

    #[test]
    fn editors_are_known_by_their_names() {
        assert!(takes_a_line("/usr/bin/vim -u NONE"));
        assert!(!takes_a_line("code --wait"));
    }
}
