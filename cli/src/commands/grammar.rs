//! `unjinja grammar`: what a model may write, as a constraint for engines.

use std::path::PathBuf;

use crate::printing;
use unjinja::grammar::Grammar;
use unjinja::{Object, Tools, Value};

use super::batch::Reply;
use super::request::{self, Formats, RequestArgs};
use super::source::SourceArgs;
use super::{Failure, batch, input, output};

/// Write a grammar of what a model may write, given its tools, for engines that constrain their output
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  A grammar for llama.cpp, for turns that call at least one tool:
    unjinja grammar chat_template.jinja --tools tools.json --tool-choice required

  A structural tag for vLLM and SGLang, after a prompt that may have begun the turn:
    unjinja grammar model/ --tools tools.json --format structural-tag --prefix prompt.txt

  Lark for llguidance, with one call of a certain tool and no reasoning:
    unjinja grammar model/ --tools tools.json --format lark --tool-choice get_weather \\
      --no-parallel --reasoning off

  A lazy grammar: only calls, with the texts that trigger it, as JSON:
    unjinja grammar model.gguf --tools tools.json --lazy

  Many at once, one JSON object per line, each with `id`, `tools`, `tool_choice` and `prefix`:
    unjinja grammar model/ --jsonl requests.jsonl > grammars.jsonl

The grammar describes what the model writes after the prompt, up to the end of its turn. A warning
names what it can't express of the tools' schemas, and formats of which `unjinja derive` does not
read all turns. Schemas have limits, such as how deep they are: what is beyond one is refused with
the tool's name and a JSON pointer, or allows any value with --best-effort.

Exit codes:
  0  the grammar is printed, or every line of the batch has its answer
  1  there is no grammar: the chat template does not render, or shows too little of its format
  2  the input can't be read, or a schema is beyond a limit")]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// The tools that are offered: a JSON list, or a request with `tools`
    #[arg(long, value_name = "FILE", conflicts_with = "jsonl")]
    tools: Option<PathBuf>,

    /// The language of the grammar
    #[arg(long, value_name = "FORMAT", default_value = "gbnf")]
    format: Language,

    #[command(flatten)]
    request: RequestArgs,

    /// The prompt, which may have begun the turn, for instance by opening reasoning
    #[arg(long, value_name = "FILE", conflicts_with = "jsonl")]
    prefix: Option<PathBuf>,

    /// Describe only calls, as JSON with `grammar`, `triggers` and `preserved_tokens`
    #[arg(long)]
    lazy: bool,

    /// Write a batch of grammars: one JSON object per line (`-` is standard input)
    #[arg(long, value_name = "FILE")]
    jsonl: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Language {
    /// For llama.cpp and xgrammar
    Gbnf,
    /// For llguidance
    Lark,
    /// For xgrammar, vLLM and SGLang, as JSON
    StructuralTag,
    /// One regular expression, where the tools allow it
    Regex,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let template = args.source.load()?;
    let formats = Formats::new(&args.source.options, template);
    if let Some(path) = &args.jsonl {
        warn(formats.warning());
        return batch::answer_lines(path, false, |case| answer(args, &formats, case));
    }
    let tools = match &args.tools {
        Some(path) => input::read_tools(path)?,
        None => Tools::none(),
    };
    let prompt = match &args.prefix {
        Some(path) => input::read_text(path)?,
        None => String::new(),
    };
    let grammar = formats.grammar(&args.request, &tools, prompt)?;
    let wrong = |error: String| formats.wrong(&error);
    let (written, warnings) = written(&grammar, args.format, args.lazy).map_err(wrong)?;
    warn(warnings.into_iter().chain(formats.warning()));
    match written {
        Value::String(text) => printing::print(&*text.to_string_lossy()),
        value => printing::print(output::pretty(&value)),
    }
}

fn warn(warnings: impl IntoIterator<Item = String>) {
    for warning in warnings {
        printing::tell(format_args!("warning: {warning}\n"));
    }
}

/// A grammar in a language, with what it does not hold.
fn written(
    grammar: &Grammar,
    language: Language,
    lazy: bool,
) -> Result<(Value, Vec<String>), String> {
    if lazy {
        let triggers = grammar.triggers();
        if triggers.is_empty() {
            return Err("this grammar has no calls, so nothing triggers it".to_owned());
        }
        let (text, warnings) = written(&grammar.lazy(), language, false)?;
        let lazy = Object::from_iter([
            ("grammar", text),
            ("triggers", triggers.iter().map(String::as_str).collect()),
            (
                "preserved_tokens",
                grammar
                    .preserved_tokens()
                    .iter()
                    .map(String::as_str)
                    .collect(),
            ),
        ]);
        return Ok((lazy.into(), warnings));
    }
    let written = match language {
        Language::Gbnf => grammar.to_gbnf(),
        Language::Lark => grammar.to_lark(),
        Language::Regex => {
            let mut written = grammar.to_regex().map_err(|error| error.to_string())?;
            written.text.push('\n');
            written
        }
        Language::StructuralTag => {
            let tag = grammar.to_structural_tag();
            return Ok((tag.value, tag.warnings));
        }
    };
    Ok((written.text.into(), written.warnings))
}

/// Answers one request of a batch.
fn answer(args: &Args, formats: &Formats<'_>, case: &Object) -> Reply {
    let mut reply = Reply::default();
    match answered(args, formats, case) {
        Ok((written, warnings)) => {
            reply.answer.insert("grammar", written);
            reply.warnings = warnings;
        }
        Err(error) => {
            reply.answer.insert("error", error);
        }
    }
    reply
}

/// What the options say holds where a line says nothing.
fn answered(
    args: &Args,
    formats: &Formats<'_>,
    case: &Object,
) -> Result<(Value, Vec<String>), String> {
    let mut language = args.format;
    if let Some(name) = request::text(case, "format")? {
        language = clap::ValueEnum::from_str(&name, false).map_err(|_| {
            format!("`format`: expected gbnf, lark, structural-tag or regex, found `{name}`")
        })?;
    }
    let grammar = formats.grammar_of_case(&args.request, case)?;
    written(&grammar, language, args.lazy)
}
