//! The one place that prints: what goes to a terminal is escaped here, whoever has written it.
//!
//! Chat templates, outputs and files come from anyone, and a terminal obeys some characters instead of showing them.
//! So results that are printed to a terminal go through [`printable`]; a pipe or a file gets them as they are. What
//! is told people, on the standard error and in [reports](Painted), is escaped wherever it goes, since logs are read in
//! terminals, too.

use std::borrow::Cow;
use std::env;
use std::fmt;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};
use std::ops::ControlFlow;

use crate::commands::Failure;
use crate::printable;

/// Prints the result of a command. That its reader has gone is no failure: nobody wants to see more, and
/// what was found still decides the exit code.
pub(crate) fn print(text: impl AsRef<str>) -> Result<(), Failure> {
    match stream(text) {
        Err(Failure::Closed) => Ok(()),
        printed => printed,
    }
}

/// Prints a part of the result of a command, which ends when its reader has gone.
pub(crate) fn stream(text: impl AsRef<str>) -> Result<(), Failure> {
    let text = text.as_ref();
    let text = match io::stdout().is_terminal() {
        true => Cow::Owned(printable(text)),
        false => Cow::Borrowed(text),
    };
    write_out(&text)
}

/// Prints a report for people.
pub(crate) fn print_report(report: &Painted) -> Result<(), Failure> {
    match write_out(&report.text) {
        Err(Failure::Closed) => Ok(()),
        printed => printed,
    }
}

fn write_out(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    printed.map_err(failure)
}

/// What comes of an error while printing.
pub(crate) fn failure(error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Input(format!("can't write the result: {error}")),
    }
}

/// Results that come one after the other, and are printed when there are many of them.
pub(crate) struct Results {
    out: BufWriter<StdoutLock<'static>>,
    is_terminal: bool,
}

impl Results {
    pub(crate) fn new() -> Results {
        Results {
            out: BufWriter::new(io::stdout().lock()),
            is_terminal: io::stdout().is_terminal(),
        }
    }

    pub(crate) fn write(&mut self, text: &str) -> Result<ControlFlow<()>, Failure> {
        let written = match self.is_terminal {
            true => self.out.write_all(printable(text).as_bytes()),
            false => self.out.write_all(text.as_bytes()),
        };
        go_on(written)
    }

    pub(crate) fn flush(&mut self) -> Result<ControlFlow<()>, Failure> {
        go_on(self.out.flush())
    }
}

/// Where the reader of the answers has gone, nobody wants more of them, and what was found until then
/// counts.
fn go_on(written: io::Result<()>) -> Result<ControlFlow<()>, Failure> {
    match written.map_err(failure) {
        Err(Failure::Closed) => Ok(ControlFlow::Break(())),
        written => written.map(ControlFlow::Continue),
    }
}

/// Tells people something on the standard error, an error or a warning with its label in colour. Where nobody listens,
/// nothing is lost.
pub(crate) fn tell(text: fmt::Arguments<'_>) {
    let text = text.to_string();
    let mut painted = Painted::for_errors();
    let labels = [("error", "31"), ("warning", "33")];
    let labelled = labels.into_iter().find_map(|(label, colour)| {
        let rest = text.strip_prefix(label)?;
        rest.starts_with(':').then_some((label, colour, rest))
    });
    match labelled {
        Some((label, colour, rest)) => {
            painted.paint(label, colour);
            painted.push(rest);
        }
        None => painted.push(&text),
    }
    tell_report(&painted);
}

/// Tells people what a command has found.
pub(crate) fn tell_report(report: &Painted) {
    tell_as_it_is(&report.text);
}

/// Shows a line in place of the one that was shown last. Only a terminal can do that.
pub(crate) fn tell_over(line: &str) {
    tell_as_it_is(&format!("\r{}\u{1b}[K", printable(line)));
}

/// Takes such a line away.
pub(crate) fn clear_line() {
    tell_as_it_is("\r\u{1b}[K");
}

fn tell_as_it_is(text: &str) {
    let _nobody_listens = io::stderr().lock().write_all(text.as_bytes());
}

/// Whether people look at the results.
pub(crate) fn results_are_seen() -> bool {
    io::stdout().is_terminal()
}

/// Whether people look at what they are told.
pub(crate) fn errors_are_seen() -> bool {
    io::stderr().is_terminal()
}

/// Whether colours are wanted: where people look, unless they say otherwise.
pub(crate) fn wants_colours(is_terminal: bool) -> bool {
    let given = |name| env::var_os(name).filter(|value| !value.is_empty());
    let is_forced = given("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    given("NO_COLOR").is_none() && (is_terminal || is_forced)
}

/// A text for people, in colours where they are wanted. Of all else that is put into it, nothing moves a cursor.
#[derive(Debug, Clone)]
pub(crate) struct Painted {
    text: String,
    has_colours: bool,
}

impl Painted {
    /// One for the standard output.
    pub(crate) fn for_results() -> Painted {
        Painted {
            text: String::new(),
            has_colours: wants_colours(io::stdout().is_terminal()),
        }
    }

    /// One for the standard error.
    pub(crate) fn for_errors() -> Painted {
        Painted {
            text: String::new(),
            has_colours: wants_colours(io::stderr().is_terminal()),
        }
    }

    /// One with colours, wherever it goes.
    #[cfg(all(test, feature = "serve"))]
    pub(crate) fn coloured() -> Painted {
        Painted {
            text: String::new(),
            has_colours: true,
        }
    }

    /// One for documents, which have no colours.
    pub(crate) fn plain() -> Painted {
        Painted {
            text: String::new(),
            has_colours: false,
        }
    }

    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(&printable(text));
    }

    /// Adds a text in a colour, given by its code.
    pub(crate) fn paint(&mut self, text: &str, colour: &str) {
        match self.has_colours {
            true => {
                self.text.push_str("\u{1b}[");
                self.text.push_str(colour);
                self.text.push('m');
                self.push(text);
                self.text.push_str("\u{1b}[0m");
            }
            false => self.push(text),
        }
    }

    /// Adds what something writes, each line of it behind an indent.
    pub(crate) fn indent(&mut self, by: &str, write: impl FnOnce(&mut Painted)) {
        let mut inner = Painted {
            text: String::new(),
            has_colours: self.has_colours,
        };
        write(&mut inner);
        for line in inner.text.lines() {
            if !line.trim().is_empty() {
                self.text.push_str(by);
                self.text.push_str(line);
            }
            self.text.push('\n');
        }
    }

    /// Takes everything out.
    #[cfg(feature = "serve")]
    pub(crate) fn clear(&mut self) {
        self.text.clear();
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_of_its_own_get_into_a_report() {
        let mut painted = Painted {
            text: String::new(),
            has_colours: true,
        };
        painted.paint("FAIL\u{1b}[2J", "31");
        painted.push(" a\u{9b}31m\n");
        painted.indent("  ", |inner| inner.paint("b\u{202e}", "36"));
        assert_eq!(
            painted.as_str(),
            "\u{1b}[31mFAIL\\u{1b}[2J\u{1b}[0m a\\u{9b}31m\n  \u{1b}[36mb\\u{202e}\u{1b}[0m\n"
        );
    }
}
