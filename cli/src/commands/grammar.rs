//! `unjinja grammar`: what a model may write, as a constraint for engines.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::format::Format;
use unjinja::grammar::{Grammar, Reasoning, Request, ToolChoice};
use unjinja::{Object, Tools, Value};

use super::jsonl::Reply;
use super::source::{SourceArgs, SourceOptions, time};
use super::{Failure, input, jsonl, output};

/// Write a grammar of what a model may write, given its tools, for engines that constrain it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  A grammar for llama.cpp, of turns that call at least one tool:
    unjinja grammar chat_template.jinja --tools tools.json --tool-choice required

  A structural tag for vLLM and SGLang, behind a prompt that may have begun the turn:
    unjinja grammar model/ --tools tools.json --format structural-tag --prefix prompt.txt

  Lark for llguidance, with one call of a certain tool and no reasoning:
    unjinja grammar model/ --tools tools.json --format lark --tool-choice get_weather \\
      --no-parallel --reasoning off

  Only what begins with a call, with the texts that trigger it, as JSON:
    unjinja grammar model.gguf --tools tools.json --lazy

  Many at once, one JSON object a line, each with `id`, `tools`, `tool_choice` and `prefix`:
    unjinja grammar model/ --jsonl requests.jsonl > grammars.jsonl

The grammar holds what the model writes behind the prompt, up to what ends its turn. What of the
tools' schemas it can't hold is named in a warning.

Exit codes:
  0  the grammar is printed, or every line of the batch has its answer
  1  there is no such grammar: the chat template does not render, or shows too little of its format
  2  the input can't be read")]
pub(crate) struct Args {
    #[command(flatten)]
    source: SourceArgs,

    /// The tools that are offered: a JSON list, or a request with `tools`
    #[arg(long, value_name = "FILE", conflicts_with = "jsonl")]
    tools: Option<PathBuf>,

    /// The language of the grammar
    #[arg(long, value_name = "FORMAT", default_value = "gbnf")]
    format: Language,

    /// Whether the model is to call tools: auto, required, none, or the name of the tool
    #[arg(long, value_name = "CHOICE", default_value = "auto", value_parser = tool_choice)]
    tool_choice: ToolChoice,

    /// At most one call
    #[arg(long)]
    no_parallel: bool,

    /// Whether the model is to think before it answers
    #[arg(long, value_name = "MODE", default_value = "auto")]
    reasoning: Mode,

    /// The prompt, which may have begun the turn, for instance by opening reasoning
    #[arg(long, value_name = "FILE", conflicts_with = "jsonl")]
    prefix: Option<PathBuf>,

    /// Only what begins with a call, as JSON with `grammar`, `triggers` and `preserved_tokens`
    #[arg(long)]
    lazy: bool,

    /// Write a batch of grammars: one JSON object a line (`-` is standard input)
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

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Mode {
    /// As the model likes, or as the prompt has begun
    Auto,
    /// In any case
    On,
    /// Not at all
    Off,
}

/// The choice of tools that a text means. Its error is never.
fn tool_choice(text: &str) -> Result<ToolChoice, String> {
    Ok(match text {
        "auto" => ToolChoice::Auto,
        "required" => ToolChoice::Required,
        "none" => ToolChoice::None,
        name => ToolChoice::Named(name.to_owned()),
    })
}

impl Mode {
    fn reasoning(self) -> Reasoning {
        match self {
            Mode::Auto => Reasoning::Auto,
            Mode::On => Reasoning::On,
            Mode::Off => Reasoning::Off,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let template = args.source.load()?;
    let formats = Formats::new(&args.source.options, template);
    if let Some(path) = &args.jsonl {
        return jsonl::run(path, false, |case| answer(args, &formats, case));
    }
    let tools = match &args.tools {
        Some(path) => input::read_tools(path)?,
        None => Tools::none(),
    };
    let prompt = match &args.prefix {
        Some(path) => input::read_text(path)?,
        None => String::new(),
    };
    let name = &formats.template.name;
    let wrong = |error: String| Failure::Wrong(format!("{name}: {error}"));
    let format = formats
        .of(&formats.template, &args.source.options.base())
        .map_err(wrong)?;
    let request = args.request().prompt(prompt);
    let grammar =
        Grammar::of(&format, &tools, &request).map_err(|error| wrong(error.to_string()))?;
    let (written, warnings) = written(&grammar, args.format, args.lazy).map_err(wrong)?;
    for warning in warnings {
        super::print_error(format_args!("warning: {warning}\n"));
    }
    match written {
        Value::String(text) => output::print(&*text.to_string_lossy()),
        value => output::print(output::pretty(&value)),
    }
}

impl Args {
    fn request(&self) -> Request {
        Request::new()
            .tool_choice(self.tool_choice.clone())
            .parallel(!self.no_parallel)
            .reasoning(self.reasoning.reasoning())
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
            return Err("nothing of this grammar is triggered: it has no calls".to_owned());
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

/// The formats of a template, each of which is made once for all lines with the same variables.
struct Formats<'a> {
    options: &'a SourceOptions,
    template: ChatTemplate,
    known: Mutex<HashMap<String, Arc<Format>>>,
}

impl Formats<'_> {
    fn new(options: &SourceOptions, template: ChatTemplate) -> Formats<'_> {
        Formats {
            options,
            template,
            known: Mutex::default(),
        }
    }

    fn of(&self, template: &ChatTemplate, base: &RenderInput) -> Result<Arc<Format>, String> {
        let tokens = (&base.bos_token, &base.eos_token);
        let key = format!("{tokens:?} {:?} {:?}", base.now, base.variables);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(format) = known.get(&key) {
            return Ok(format.clone());
        }
        drop(known);
        let format = Format::of(template, base).map_err(|error| error.to_string())?;
        let format = Arc::new(format);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, format.clone());
        Ok(format)
    }
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
    let given = |key: &str| case.get(key).filter(|value| !value.is_null());
    let wrong = |key: &str, what: &str, value: &Value| {
        format!("`{key}`: expected {what}, found {}", value.type_name())
    };
    let text = |key: &str| {
        let as_text = |value: &Value| {
            let text = value.as_str().map(str::to_owned);
            text.ok_or_else(|| wrong(key, "a string", value))
        };
        given(key).map(as_text).transpose()
    };
    let mut base = formats.options.base();
    if let Some(now) = text("now")? {
        base.now = Some(time(&now).map_err(|error| format!("`now`: {error}"))?);
    }
    base.bos_token = text("bos_token")?;
    base.eos_token = text("eos_token")?;
    match given("kwargs") {
        Some(Value::Object(variables)) => base.variables.extend(variables.clone()),
        Some(other) => return Err(wrong("kwargs", "an object", other)),
        None => {}
    }
    let mut language = args.format;
    let mut request = args.request();
    if let Some(name) = text("format")? {
        language = clap::ValueEnum::from_str(&name, false).map_err(|_| {
            format!("`format`: expected gbnf, lark, structural-tag or regex, found `{name}`")
        })?;
    }
    if let Some(name) = text("tool_choice")? {
        request.tool_choice = tool_choice(&name)?;
    }
    if let Some(name) = text("reasoning")? {
        let mode: Mode = clap::ValueEnum::from_str(&name, false)
            .map_err(|_| format!("`reasoning`: expected auto, on or off, found `{name}`"))?;
        request.reasoning = mode.reasoning();
    }
    if let Some(parallel) = given("parallel") {
        request.parallel = parallel
            .as_bool()
            .ok_or_else(|| wrong("parallel", "true or false", parallel))?;
    }
    request.prompt = text("prefix")?.unwrap_or_default();
    let tools = match given("tools") {
        Some(tools) => {
            input::tools(tools)
                .map_err(|error| format!("`tools`: {error}"))?
                .0
        }
        None => Tools::none(),
    };
    let format = formats.of(&formats.template, &base)?;
    let grammar = Grammar::of(&format, &tools, &request).map_err(|error| error.to_string())?;
    written(&grammar, language, args.lazy)
}
