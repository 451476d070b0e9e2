//! `unjinja tui`: the workbench.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::tui::{self, Origin, Sample, Target, TerminalError, Workbench};
use unjinja::Tools;
use unjinja::check::{Case, Expected};

use super::source::SourceOptions;
use super::{Failure, input, print_error, report};

/// What takes longer to be loaded is reported.
const SOON: Duration = Duration::from_millis(300);

/// Watch an output go through the parser, step by step, and mend what is wrong
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  A chat template; its response template is derived on the spot:
    unjinja tui chat_template.jinja

  A fixture: its cases, each passing or failing:
    unjinja tui model.fixture.yaml

  A response template, with outputs of a model:
    unjinja tui -t response_template.json output.txt another.txt

  A conversation that the chat template has rendered: who says what, and what the model writes:
    unjinja tui chat_template.jinja --conversation prompt.txt

  An output while it comes in:
    model | unjinja tui -t response_template.json -

In the workbench, `?` shows all keys. `→` and `←` step by chunk, `.` and `,` by
event, `]` and `[` by region; `c` cuts the text otherwise; `d` goes to the first
difference from what was expected; `e` opens the response template in $EDITOR,
and every sample is read again when it has been saved. Nothing is overwritten
unasked. NO_COLOR is honoured.

Exit codes:
  0  the workbench was left
  2  there is no terminal, or it has gone, or the input can't be read
A signal, as when its window is closed, ends it as it ends other programs.")]
pub(crate) struct Args {
    /// A chat template (a .jinja file, a GGUF file, a model's folder, a model id), a response
    /// template, a tokenizer_config.json, or a fixture; with `-t` an output
    #[arg(value_name = "SOURCE", required_unless_present = "template")]
    source: Option<String>,

    /// Outputs of a model to be replayed; `-` is standard input, live
    #[arg(value_name = "OUTPUT")]
    outputs: Vec<PathBuf>,

    /// The response template: a JSON file, or a tokenizer_config.json that has one
    #[arg(short, long, value_name = "FILE")]
    template: Option<PathBuf>,

    /// A text to be replayed; may be given several times
    #[arg(long, value_name = "TEXT")]
    text: Vec<String>,

    /// A file with the prompt that the outputs and texts answer
    #[arg(long, value_name = "FILE", conflicts_with = "prefix_text")]
    prefix: Option<PathBuf>,

    /// The same as text
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
    let (samples, is_live) = args.samples()?;
    let loaded = telling_if_slow(&opening.source, || opening.load(None))
        .map_err(|error| Failure::Input(error.to_string()))?;
    let mut workbench = Workbench::new(loaded, samples, (80, 24));
    if !report::wants_colours(true) {
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
                print_error(format_args!("{name} is being loaded …\n"));
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

    /// The outputs and texts, and whether one of them comes in live.
    fn samples(&self) -> Result<(Vec<Sample>, bool), Failure> {
        let prefix = match (&self.prefix, &self.prefix_text) {
            (Some(path), _) => input::read_text(path)?,
            (None, text) => text.clone().unwrap_or_default(),
        };
        let tools = match &self.tools {
            Some(path) => input::read_tools(path)?,
            None => Tools::none(),
        };
        let first = self.source.iter().filter(|_| self.template.is_some());
        let outputs = first.map(PathBuf::from).chain(self.outputs.iter().cloned());
        let mut samples = Vec::new();
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
            let text = input::read_text(&path)?;
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
        Ok((samples, is_live))
    }
}

fn given(name: String, text: String, prefix: &str, tools: &Tools) -> Sample {
    let case = Case::new(name, prefix, text, tools.clone(), Expected::default());
    Sample::new(Origin::Given, case)
}
