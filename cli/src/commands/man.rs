//! `unjinja man`: the help of the commands as manual pages.

use std::io;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::output::{self, Output};
use super::{Cli, Failure};
use crate::printing;

/// Print a manual page, or write all of them into a folder
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  Read a page right here:
    unjinja man derive | man -l -

  Install all pages for yourself:
    unjinja man -o ~/.local/share/man/man1
    man unjinja-derive

  Install them for everyone, replacing those of an older unjinja:
    sudo unjinja man -o /usr/local/share/man/man1 --force

The pages have the text of `--help`. man searches ~/.local/share/man if ~/.local/bin is in your
PATH.

Exit codes:
  0  the page is printed, or all of them are written
  2  there is no such command, or the folder is not writable")]
pub(crate) struct Args {
    /// The command whose page to print [default: the page of unjinja itself]
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    command: Option<String>,

    /// Write all pages into this folder, such as unjinja.1 and unjinja-parse.1; `-` prints them all
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,

    /// Replace existing pages
    #[arg(long, requires = "output")]
    force: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut main = Cli::command().disable_help_subcommand(true);
    // Only now do the subcommands know that their names begin with `unjinja`.
    main.build();
    if let Some(folder) = &args.output {
        return write_all(&main, folder, args.force);
    }
    let command = match &args.command {
        None => &main,
        Some(name) => main
            .find_subcommand(name)
            .ok_or_else(|| Failure::Input(unknown(name, &main)))?,
    };
    let page = page(command).map_err(printing::failure)?;
    printing::print(&page)
}

fn unknown(name: &str, main: &clap::Command) -> String {
    let known: Vec<&str> = main
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    format!(
        "there is no command `{name}`: known are `{}`",
        known.join("`, `")
    )
}

fn write_all(main: &clap::Command, folder: &Path, force: bool) -> Result<(), Failure> {
    let sources = Vec::new();
    let output = Output { sources, force };
    for command in [main].into_iter().chain(main.get_subcommands()) {
        let name = command.get_display_name().unwrap_or(command.get_name());
        let page = page(command).map_err(printing::failure)?;
        let place = match output::is_stdout(folder) {
            true => folder.to_owned(),
            false => folder.join(format!("{name}.1")),
        };
        output.write(&place, &page)?;
    }
    Ok(())
}

/// The manual page of a command.
fn page(command: &clap::Command) -> io::Result<String> {
    let about = command.get_about().map(ToString::to_string);
    let help = command.get_after_help().map(ToString::to_string);
    let help = HelpEnd::read(help.as_deref().unwrap_or_default());
    let mut description = vec![about.as_deref().unwrap_or_default()];
    description.extend(&help.prose);
    let command = command
        .clone()
        .after_help(None::<&str>)
        .long_about(description.join("\n\n"));
    let mut page = Vec::new();
    Man::new(command)
        // The page has no date. That has to be said in quotes, or what follows would be it.
        .date("\"\"")
        .source(concat!("unjinja ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)?;
    help.sections().to_writer(&mut page)?;
    Ok(with_plain_quotes(&String::from_utf8_lossy(&page)))
}

/// What roff takes for accents and typographic quotes, but programs mean as it stands.
fn with_plain_quotes(page: &str) -> String {
    page.replace('`', r"\(ga")
        .replace('^', r"\(ha")
        .replace('~', r"\(ti")
}

/// What stands at the end of a command's help: examples and exit codes below their headings, and
/// paragraphs between them.
#[derive(Debug, Default)]
struct HelpEnd<'t> {
    /// Each heading with the lines below it.
    headed: Vec<(&'t str, Vec<&'t str>)>,
    prose: Vec<&'t str>,
}

impl<'t> HelpEnd<'t> {
    fn read(text: &'t str) -> HelpEnd<'t> {
        let mut end = HelpEnd::default();
        for block in text.split("\n\n") {
            let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
            match (first.strip_suffix(':'), end.headed.last_mut()) {
                // What is indented goes on with what stands above it.
                (_, Some((_, lines))) if block.starts_with(' ') => {
                    lines.push("");
                    lines.extend(block.lines());
                }
                (Some(heading), _) if rest.starts_with(' ') => {
                    end.headed.push((heading, rest.lines().collect()));
                }
                _ => end.prose.push(block),
            }
        }
        end
    }

    /// The headings and what stands below them, line by line.
    fn sections(&self) -> Roff {
        let mut roff = Roff::new();
        for (heading, lines) in &self.headed {
            roff.control("SH", [heading.to_uppercase().as_str()]);
            roff.control("nf", []);
            for line in lines {
                roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
            }
            roff.control("fi", []);
        }
        roff
    }
}
