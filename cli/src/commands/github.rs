//! Workflow commands, by which GitHub annotates lines of files.

use std::env;

use crate::printable;
use unjinja::Position;
use unjinja::lint::Level;

/// A line that makes GitHub annotate a place of a file. Line and column count from 1.
pub(crate) fn command(
    level: Level,
    file: &str,
    position: Option<Position>,
    title: &str,
    message: &str,
) -> String {
    let place = match position {
        Some(Position { line, column, .. }) => format!(",line={line},col={column}"),
        None => String::new(),
    };
    let file = property(&printable(&in_repository(file)));
    let title = property(&printable(title));
    format!(
        "::{} file={file}{place},title={title}::{}\n",
        match level {
            Level::Note => "notice",
            level => level.key(),
        },
        data(&printable(message))
    )
}

/// A path as GitHub knows it: from the top of the repository on, wherever the program runs.
fn in_repository(file: &str) -> String {
    let top = env::var_os("GITHUB_WORKSPACE").filter(|top| !top.is_empty());
    let absolute = std::path::absolute(file);
    let relative = top.zip(absolute.ok()).and_then(|(top, path)| {
        let relative = path.strip_prefix(top).ok()?;
        Some(relative.to_string_lossy().into_owned())
    });
    relative.unwrap_or_else(|| file.to_owned())
}

/// What would end a command, or begin another one, is escaped.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// In a property, so is what would end it.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_place() {
        let text = "50%, a:b\n::error::no\r";
        let position = Position {
            offset: 9,
            line: 3,
            column: 5,
        };
        assert_eq!(
            command(Level::Warning, "a,b.yaml", Some(position), text, text),
            "::warning file=a%2Cb.yaml,line=3,col=5,title=50%25%2C a%3Ab%0A%3A%3Aerror%3A%3Ano\\r\
             ::50%25, a:b%0A::error::no\\r\n"
        );
        assert_eq!(
            command(
                Level::Error,
                "\u{1b}]0;a\u{7}",
                None,
                "\u{202e}t",
                "\u{9b}m"
            ),
            "::error file=\\u{1b}]0;a\\u{7},title=\\u{202e}t::\\u{9b}m\n"
        );
        assert_eq!(
            command(Level::Error, "a", None, "t", "m"),
            "::error file=a,title=t::m\n"
        );
    }
}
