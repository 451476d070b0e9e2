//! `unjinja tui`: the workbench.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::printing;
use crate::tui::{self, Origin, Sample, Target, TerminalError, Workbench};
use unjinja::check::{Case, Expected, outputs};
use unjinja::files::{ReadFault, read_text};
use unjinja::{ResponseTemplate, Tools};

use super::source::SourceOptions;
use super::{Failure, input};
use crate::incoming::Incoming;

/// What takes longer to be loaded is reported.
const SOON: Duration = Duration::from_millis(300);

/// Watch an output go through the parser, step by step, and fix what is wrong
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  A chat template, whose response template is derived on the spot:
    unjinja tui chat_template.jinja

  A fixture: its cases, each passing or failing:
    unjinja tui model.fixture.yaml

  A response template, with outputs of a model:
    unjinja tui -t response_template.json output.txt another.txt

  Outputs that `unjinja serve --record` has kept, each with its own prompt and tools:
    unjinja tui model/ outputs.jsonl

  A conversation that the chat template has rendered: who says what, and what the model writes:
    unjinja tui chat_template.jinja --conversation prompt.txt

  An output while it comes in; `-` may be left out:
    model | unjinja tui -t response_template.json -

In the workbench, `?` shows all keys. `→` and `←` step by chunk, `.` and `,` by
event, `]` and `[` by region; `c` cuts the text differently; `d` goes to the first
difference from what was expected; `e` opens the response template in $EDITOR,
and every sample is read again when it is saved. No file is overwritten without
a question. NO_COLOR is honoured.

Exit codes:
  0  the workbench was closed
  2  there is no terminal, or it is gone, or the input can't be read
A signal, as when the window is closed, ends it as it ends other programs.")]
pub(crate) struct Args {
    /// A chat template (a .jinja file, a GGUF file, a model's folder, a model id), a response
    /// template, a tokenizer_config.json, or a fixture; with `-t` an output
    #[arg(value_name = "SOURCE", required_unless_present = "template")]
    source: Option<String>,

    /// Outputs of a model to replay; `-` is standard input, live. A file that ends in .jsonl holds many,
    /// one JSON object per line, as `unjinja check -t` takes them
    #[arg(value_name = "OUTPUT")]
    outputs: Vec<PathBuf>,

    /// The response template: a JSON file, or a tokenizer_config.json that has one
    #[arg(short, long, value_name = "FILE")]
    template: Option<PathBuf>,

    /// A text to replay; may be given several times
    #[arg(long, value_name = "TEXT")]
    text: Vec<String>,

    /// A file with the prompt of the outputs and texts
    #[arg(long, value_name = "FILE", conflicts_with = "prefix_text")]
    prefix: Option<PathBuf>,

    /// The prompt, as text on the command line
    #[arg(long, value_name = "TEXT")]
    prefix_text: Option<String>,

    /// The tools that the prompt offered: a JSON file with a list
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,

    /// The text of a conversation that the chat template has rendered
    #[arg(long, value_name = "FILE", conflicts_with = "template")]
    conversation: Option<PathBuf>,

    #[command(flatten)]
    options: SourceOptions,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let no_terminal = |error: TerminalError| Failure::Input(error.to_string());
    tui::check_terminal().map_err(no_terminal)?;
    let opening = args.opening();
    if opening.source == "-" && io::stdin().is_terminal() {
        return Err(Failure::Input(
            "-: the standard input is the terminal: let a chat template come in by it, as in \
             `unjinja tui - < chat_template.jinja`, or name a file"
                .into(),
        ));
    }
    args.check_order(&opening.source)?;
    args.check_outputs()?;
    let given = args.samples()?;
    let is_live = given.samples.iter().any(Sample::is_live);
    let loaded = telling_if_slow(&opening.source, || opening.load(None)).map_err(|error| {
        let hint = args.hint_of_order(&opening.source).unwrap_or_default();
        Failure::Input(format!("{error}{hint}"))
    })?;
    let mut workbench = Workbench::new(loaded, given.samples, (80, 24)).with_tools(given.tools);
    for fault in given.faults {
        workbench = workbench.with_warning(fault);
    }
    if !printing::wants_colours(true) {
        workbench = workbench.without_colours();
    }
    let (sender, receiver) = mpsc::channel();
    if is_live {
        let sender = sender.clone();
        thread::spawn(move || tui::follow(io::stdin().lock(), &sender));
    }
    tui::run(workbench, opening, (sender, receiver)).map_err(no_terminal)
}

/// Does something that may take long, and says what the person is waiting for.
fn telling_if_slow<T>(name: &str, load: impl FnOnce() -> T) -> T {
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            if is_done.recv_timeout(SOON) == Err(RecvTimeoutError::Timeout) {
                printing::tell(format_args!("{name} is being loaded …\n"));
            }
        });
        let loaded = load();
        drop(done);
        loaded
    })
}

impl Args {
    fn opening(&self) -> Target {
        let template = self
            .template
            .as_ref()
            .map(|path| path.display().to_string());
        let source = template.or(self.source.clone()).unwrap_or_default();
        let mut opening = Target::new(source);
        opening.conversation.clone_from(&self.conversation);
        self.options.fill(&mut opening);
        opening
    }

    /// A text without any Jinja would be taken for a chat template that writes nothing but itself.
    fn check_order(&self, source: &str) -> Result<(), Failure> {
        let path = Path::new(source);
        if input::holds_lines(path) {
            return Err(Failure::Input(format!(
                "{source}: outputs stand behind the template that reads them, as in \
                 `unjinja tui model/ {source}`"
            )));
        }
        let is_plain = path.is_file()
            && read_text(path, MAX_OUTPUT).is_ok_and(|text| {
                let starts = ["{", "["];
                let is_jinja = ["{%", "{{", "{#"].iter().any(|tag| text.contains(tag));
                !is_jinja
                    && !starts
                        .iter()
                        .any(|start| text.trim_start().starts_with(start))
            })
            && !looks_like_a_template(path)
            && path
                .extension()
                .is_none_or(|end| !["yaml", "yml", "json"].iter().any(|yaml| end == *yaml));
        match is_plain {
            false => Ok(()),
            true => {
                let hint = self.hint_of_order(source).unwrap_or_else(|| {
                    format!(
                        "\nan output stands behind the template that reads it, as in \
                         `unjinja tui -t template.json {source}`"
                    )
                });
                let words =
                    format!("{source}: this is no template, but a text without any Jinja{hint}");
                Err(Failure::Input(words))
            }
        }
    }

    /// The files that were named as outputs.
    fn output_files(&self) -> impl Iterator<Item = PathBuf> {
        let first = self.source.iter().filter(|_| self.template.is_some());
        first.map(PathBuf::from).chain(self.outputs.iter().cloned())
    }

    /// One template is opened, and what stands behind it is replayed: a template there is a mistake.
    fn check_outputs(&self) -> Result<(), Failure> {
        let Some(path) = self.output_files().find(|path| looks_like_a_template(path)) else {
            return Ok(());
        };
        let is_chat_template = is_chat_template(&path);
        let path = path.display();
        let words = match is_chat_template {
            true => format!(
                "{path}: a chat template stands where an output of a model should: open it by itself, as in \
                 `unjinja tui {path}`; with a response template, the file `chat_template.jinja` in its folder \
                 is opened, too"
            ),
            false => format!(
                "{path}: a response template stands where an output of a model should: it is named by `-t`, as in \
                 `unjinja tui -t {path} output.txt`; with it, the file `chat_template.jinja` in its folder is \
                 opened, too"
            ),
        };
        Err(Failure::Input(words))
    }

    /// Where another file than the first looks like the template: how they should be named.
    fn hint_of_order(&self, source: &str) -> Option<String> {
        let template = self
            .output_files()
            .find(|path| looks_like_a_template(path))?;
        Some(format!(
            "\n`{}` looks like a template: the template comes first, and outputs behind it, as in \
             `unjinja tui -t {0} {source}`",
            template.display()
        ))
    }

    /// Whether a text comes in by a pipe, though nothing says so: what is written into the program is to
    /// be looked at.
    fn has_pipe(&self) -> bool {
        let mut named = self.outputs.iter().map(PathBuf::as_path);
        let is_named = self.source.as_deref() == Some("-") || named.any(|path| path == "-");
        !is_named && is_pipe()
    }

    /// The outputs and texts that were given.
    fn samples(&self) -> Result<Given, Failure> {
        let prefix = match (&self.prefix, &self.prefix_text) {
            (Some(path), _) => input::read_text(path)?,
            (None, text) => text.clone().unwrap_or_default(),
        };
        let tools = match &self.tools {
            Some(path) => input::read_tools(path)?,
            None => Tools::none(),
        };
        let outputs = self.output_files();
        let outputs = outputs.chain(self.has_pipe().then(|| PathBuf::from("-")));
        let mut samples = Vec::new();
        let mut faults = Vec::new();
        let mut is_live = false;
        for path in outputs {
            if path == Path::new("-") {
                if io::stdin().is_terminal() {
                    return Err(Failure::Input(
                        "-: the standard input is the terminal: let a model write into it, as in \
                         `model | unjinja tui -t response_template.json -`"
                            .into(),
                    ));
                }
                if std::mem::replace(&mut is_live, true) {
                    return Err(Failure::Input(
                        "-: standard input can be read only once".into(),
                    ));
                }
                samples.push(Sample::live(prefix.clone(), tools.clone()));
                continue;
            }
            if input::holds_lines(&path) {
                samples.extend(recorded(&path, &prefix, &tools)?);
                continue;
            }
            let (text, fault) = read_output(&path)?;
            faults.extend(fault);
            samples.push(given(path.display().to_string(), text, &prefix, &tools));
        }
        for (number, text) in (1..).zip(&self.text) {
            samples.push(given(
                format!("text {number}"),
                text.clone(),
                &prefix,
                &tools,
            ));
        }
        Ok(Given {
            samples,
            tools,
            faults,
        })
    }
}

/// What was given to be looked at.
struct Given {
    samples: Vec<Sample>,
    tools: Tools,
    /// What is wrong with the bytes of files.
    faults: Vec<String>,
}

/// Outputs may be this large.
const MAX_OUTPUT: u64 = 256 << 20;

/// Larger files are no templates.
const MAX_TEMPLATE: u64 = 32 << 20;

/// Reads an output of a model. Bytes that are no UTF-8 are shown as U+FFFD, and the first of them is
/// reported: what comes from a model should be looked at all the same.
fn read_output(path: &Path) -> Result<(String, Option<String>), Failure> {
    let fail = |error: io::Error| {
        Failure::Input(format!("{}: {}", path.display(), ReadFault::from(error)))
    };
    let file = File::open(path).map_err(fail)?;
    let mut incoming = Incoming::new(file.take(MAX_OUTPUT + 1));
    let mut text = String::new();
    let mut fault = None;
    while let Some(piece) = incoming.next().map_err(fail)? {
        text.push_str(&piece.text);
        fault = fault.or(piece.fault);
        if text.len() as u64 > MAX_OUTPUT {
            let limit = MAX_OUTPUT >> 20;
            let words = format!("{}: the file is larger than {limit} MiB", path.display());
            return Err(Failure::Input(words));
        }
    }
    let fault = fault.map(|fault| {
        let (path, offset) = (path.display(), fault.offset);
        format!("{path}: byte {offset} is not valid UTF-8: it is shown as U+FFFD")
    });
    Ok((text, fault))
}

/// Whether the standard input is one that someone writes into, or a file: not a terminal, and not what
/// programs have that were started without any.
fn is_pipe() -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{FileType, fstat};
        let kind = fstat(io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
        matches!(
            kind,
            Ok(FileType::Fifo | FileType::Socket | FileType::RegularFile)
        )
    }
    #[cfg(not(unix))]
    {
        false
    }
}

/// Whether a file is more likely a template than an output of a model.
fn looks_like_a_template(path: &Path) -> bool {
    let is_response_template = || {
        // What comes by a pipe can be read only once.
        let text = path.is_file().then(|| read_text(path, MAX_TEMPLATE));
        text.is_some_and(|text| text.is_ok_and(|text| ResponseTemplate::from_config(&text).is_ok()))
    };
    is_chat_template(path) || is_response_template()
}

fn is_chat_template(path: &Path) -> bool {
    let mut ends = ["jinja", "jinja2", "gguf"].iter();
    path.extension()
        .is_some_and(|extension| ends.any(|end| extension == *end))
}

/// The outputs in a file of lines. What one of them lacks is taken from what was given for all.
fn recorded(path: &Path, prefix: &str, tools: &Tools) -> Result<Vec<Sample>, Failure> {
    let cases = outputs(path).map_err(|error| Failure::Input(error.to_string()))?;
    let samples = cases.into_iter().map(|mut case| {
        if case.prefix.is_empty() {
            case.prefix = prefix.to_owned();
        }
        if case.tools.names().next().is_none() {
            case.tools = tools.clone();
        }
        Sample::new(Origin::Given, case)
    });
    Ok(samples.collect())
}

fn given(name: String, text: String, prefix: &str, tools: &Tools) -> Sample {
    let case = Case::new(name, prefix, text, tools.clone(), Expected::default());
    Sample::new(Origin::Given, case)
}
