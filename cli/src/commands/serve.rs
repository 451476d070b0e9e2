//! `unjinja serve`: structured answers in front of any engine.

mod explain;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use unjinja::chat_template::ChatTemplate;
use unjinja_serve::{Config, ENGINES, Engine, describe};

use super::source::SourceOptions;
use super::unknown_tools::Unknown;
use super::{Failure, output};
use crate::printing;

/// Serve the OpenAI and Anthropic interfaces in front of any engine
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  llama.cpp, which reports its model's chat template:
    llama-server -m model.gguf --port 8080
    unjinja serve --upstream http://127.0.0.1:8080

  Another engine, and the model's folder:
    unjinja serve --upstream http://127.0.0.1:8000/v1 --model model/

  Clients of both vendors then connect to it:
    OPENAI_BASE_URL=http://127.0.0.1:8787/v1 OPENAI_API_KEY=none python agent.py
    ANTHROPIC_BASE_URL=http://127.0.0.1:8787 ANTHROPIC_API_KEY=none python agent.py

  Record what models write; see whether it is read well, step through it, and derive a better
  response template from it:
    unjinja serve --upstream URL --model model/ --record outputs.jsonl
    unjinja check -t model/ outputs.jsonl
    unjinja tui model/ outputs.jsonl
    unjinja derive model/ --outputs outputs.jsonl

  Show what would be served, without serving it:
    unjinja serve --upstream URL --model model/ --print-config

It answers POST /v1/chat/completions, /v1/responses and /v1/messages, and GET /v1/models,
/health and /metrics, for this machine alone unless `--listen` says otherwise, until Ctrl-C.
Clients' keys are passed on to the engine and not stored. Calls and JSON are constrained by a
grammar where the engine supports one. Requests from web pages are refused. See docs/serve.md.

Exit codes:
  0  it was stopped
  2  it could not start: the engine does not answer, nothing can be derived from the chat template,
     or it can't listen at the address")]
pub(crate) struct Args {
    /// The engine's address, such as http://127.0.0.1:8080
    #[arg(long, value_name = "URL")]
    upstream: String,

    /// The model's chat template: a .jinja file, a tokenizer_config.json, a model's folder, a GGUF
    /// file or a model id [default: the engine is asked]
    #[arg(long, value_name = "SOURCE")]
    model: Option<String>,

    /// Which engine it is [default: the engine is asked]
    #[arg(long, value_name = "NAME", value_parser = engines())]
    engine: Option<String>,

    /// The name of the model there [default: the one that clients give]
    #[arg(long, value_name = "NAME")]
    upstream_model: Option<String>,

    /// The address to listen at
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787")]
    listen: String,

    /// A host name that clients use for this server, besides addresses and localhost
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,

    /// Send no grammars
    #[arg(long)]
    no_grammar: bool,

    /// Also answer requests that can't be enforced, such as a required call without a grammar
    #[arg(long)]
    best_effort: bool,

    /// What to do with calls of tools that a request does not offer
    #[arg(long, value_name = "WHAT", default_value = "keep")]
    unknown_tools: Unknown,

    /// How many answers to give at once
    #[arg(long, value_name = "NUMBER", default_value = "1024", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_requests: u32,

    /// How many requests to read, render and make grammars for at once; of large ones and new
    /// grammars an eighth of that
    #[arg(long, value_name = "NUMBER", default_value = "16", value_parser = clap::value_parser!(u16).range(1..=1024))]
    max_work: u16,

    /// How much requests and answers may hold at once, in bytes, each beyond its first 64 KiB
    #[arg(long, value_name = "BYTES", default_value = "1073741824")]
    max_held: usize,

    /// How large a request may be, in bytes
    #[arg(long, value_name = "BYTES", default_value = "33554432")]
    max_body: usize,

    /// How long the engine may be silent, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,

    /// How long a client may take to send the headers of a request, and to receive what it is sent, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    client_timeout: u64,

    /// Append outputs to a file, one JSON object per line, for `check -t`, `tui`, `derive --outputs` and
    /// `parse --jsonl`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Show live what comes from the model, where regions begin and end, and what is sent
    #[arg(long)]
    explain: bool,

    /// Print what would be served, as JSON
    #[arg(long)]
    print_config: bool,

    #[command(flatten)]
    source: SourceOptions,
}

/// The names of the engines, each with what it is.
fn engines() -> clap::builder::PossibleValuesParser {
    let names = ENGINES.iter();
    let names =
        names.map(|engine| clap::builder::PossibleValue::new(engine.name).help(engine.about));
    clap::builder::PossibleValuesParser::new(names.collect::<Vec<_>>())
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut config = Config::new(args.upstream.as_str());
    config.engine = args.engine.as_deref().and_then(Engine::named);
    config.upstream_model = args.upstream_model.clone();
    let model = args.model.as_deref();
    config.template = model.map(|model| args.source.load(model)).transpose()?;
    config.base = args.source.base();
    // They count for what the engine tells, too.
    let given = args.source.with_tokens(ChatTemplate::default());
    (config.base.bos_token, config.base.eos_token) = (given.bos_token, given.eos_token);
    config.listen = args.listen.clone();
    config.hosts = args.hosts.clone();
    config.grammars = !args.no_grammar;
    config.best_effort = args.best_effort;
    config.unknown_tools = args.unknown_tools.policy();
    config.limits.requests = usize::try_from(args.max_requests).unwrap_or(usize::MAX);
    config.limits.work = usize::from(args.max_work);
    config.limits.held = args.max_held;
    config.limits.body = args.max_body;
    config.limits.engine_timeout = Duration::from_secs(args.timeout);
    config.limits.client_timeout = Duration::from_secs(args.client_timeout);
    config.record = args.record.clone();
    config.explain = match args.explain {
        true => Some(Arc::new(explain::Explainer::default())),
        false => None,
    };
    config.tell = Arc::new(|line| printing::tell(format_args!("{line}\n")));
    let fail = |error: unjinja_serve::ServeError| Failure::Input(error.to_string());
    if args.print_config {
        let described = describe(config).map_err(fail)?;
        return printing::print(output::pretty(&described));
    }
    let mut printed = Ok(());
    let served = unjinja_serve::serve(config, |address| {
        printed = printing::print(format!("listening on http://{address}\n"));
    });
    served.map_err(fail)?;
    printed
}
