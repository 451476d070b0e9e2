//! The editor of the person's choice.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::{Command, Stdio};

use super::keyboard;

/// Opens a file in the editor of the person's choice, and waits until it has been closed.
pub(super) fn edit(path: &Path) -> Result<(), String> {
    let mut chosen = ["VISUAL", "EDITOR"].into_iter().filter_map(env::var_os);
    let editor = chosen.find(|editor| !editor.is_empty());
    let usual = if cfg!(windows) { "notepad" } else { "vi" };
    let editor = editor.unwrap_or_else(|| OsString::from(usual));
    // The variable may hold options, too.
    let mut command = match cfg!(unix) {
        true => {
            let mut command = Command::new("sh");
            let mut script = editor.clone();
            script.push(" \"$1\"");
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
    let remedy = "set EDITOR to one that is there";
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
