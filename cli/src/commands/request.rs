//! What grammars are made of: the format of a chat template, and a request.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::derive::{DeriveOptions, derive};
use unjinja::format::Format;
use unjinja::grammar::{Beyond, Grammar, GrammarError, Reasoning, Request, ToolChoice};
use unjinja::{Object, Tools, Value};

use super::source::{SourceOptions, time};
use super::{Failure, input};
use crate::options::option_name;

/// What is asked of a model's turn.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RequestArgs {
    /// Whether the model calls tools: auto, required, none, or the name of a tool
    #[arg(long, value_name = "CHOICE", default_value = "auto", value_parser = tool_choice)]
    tool_choice: ToolChoice,

    /// Allow at most one call
    #[arg(long)]
    no_parallel: bool,

    /// Whether the model thinks before it answers
    #[arg(long, value_name = "MODE", default_value = "auto")]
    reasoning: Mode,

    /// Allow any value in place of a schema that is beyond a limit, with a warning that names it
    #[arg(long)]
    best_effort: bool,
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

impl RequestArgs {
    fn request(&self) -> Request {
        Request::new()
            .tool_choice(self.tool_choice.clone())
            .parallel(!self.no_parallel)
            .reasoning(self.reasoning.reasoning())
            .beyond(match self.best_effort {
                true => Beyond::Loosen,
                false => Beyond::Refuse,
            })
    }
}

/// What a line says under a key.
fn given<'c>(case: &'c Object, key: &str) -> Option<&'c Value> {
    case.get(key).filter(|value| !value.is_null())
}

fn wrong(key: &str, what: &str, value: &Value) -> String {
    format!("`{key}`: expected {what}, found {}", value.type_name())
}

/// The text that a line has under a key.
pub(crate) fn text(case: &Object, key: &str) -> Result<Option<String>, String> {
    let as_text = |value: &Value| {
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| wrong(key, "a string", value))
    };
    given(case, key).map(as_text).transpose()
}

/// The formats of a template, each of which is made once for all lines with the same variables.
pub(crate) struct Formats<'a> {
    options: &'a SourceOptions,
    template: ChatTemplate,
    known: Mutex<HashMap<String, Arc<Format>>>,
}

impl Formats<'_> {
    pub(crate) fn new(options: &SourceOptions, template: ChatTemplate) -> Formats<'_> {
        Formats {
            options,
            template,
            known: Mutex::default(),
        }
    }

    fn of(&self, base: &RenderInput) -> Result<Arc<Format>, String> {
        let tokens = (&base.bos_token, &base.eos_token);
        let key = format!("{tokens:?} {:?} {:?}", base.now, base.variables);
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(format) = known.get(&key) {
            return Ok(format.clone());
        }
        drop(known);
        let format = Format::of(&self.template, base).map_err(|error| error.to_string())?;
        let format = Arc::new(format);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(key, format.clone());
        Ok(format)
    }

    pub(crate) fn wrong(&self, error: &dyn fmt::Display) -> Failure {
        Failure::Wrong(format!("{}: {error}", self.template.name))
    }

    /// What is to be said of a format whose turns a derived response template does not all read: so it may be
    /// with what a grammar allows.
    pub(crate) fn warning(&self) -> Option<String> {
        let mut options = DeriveOptions::default();
        options.base = self.options.base();
        let derivation = match derive(&self.template, &options) {
            Ok(derivation) => derivation,
            Err(error) => {
                let error = error.explain(option_name);
                return Some(format!("no response template is derived: {error}"));
            }
        };
        let (read, all) = (derivation.recovered(), derivation.proof.len());
        (read < all).then(|| {
            format!("the response template that `unjinja derive` finds reads {read} of {all} renderings: what a grammar allows may be read differently")
        })
    }

    /// The grammar of one request.
    pub(crate) fn grammar(
        &self,
        args: &RequestArgs,
        tools: &Tools,
        prompt: String,
    ) -> Result<Grammar, Failure> {
        let format = self.of(&self.options.base());
        let format = format.map_err(|error| self.wrong(&error))?;
        let request = args.request().prompt(prompt);
        Grammar::of(&format, tools, &request).map_err(|error| {
            let explained = error.explain(option_name);
            match error {
                // It is what was asked for that is wrong, not the model.
                GrammarError::TooMuch(_) => Failure::Input(explained),
                _ => self.wrong(&explained),
            }
        })
    }

    /// The grammar of a request that stands in a line. What the options say holds where the line says
    /// nothing.
    pub(crate) fn grammar_of_case(
        &self,
        args: &RequestArgs,
        case: &Object,
    ) -> Result<Grammar, String> {
        let mut base = self.options.base();
        if let Some(now) = text(case, "now")? {
            base.now = Some(time(&now).map_err(|error| format!("`now`: {error}"))?);
        }
        base.bos_token = text(case, "bos_token")?;
        base.eos_token = text(case, "eos_token")?;
        match given(case, "kwargs") {
            Some(Value::Object(variables)) => base.variables.extend(variables.clone()),
            Some(other) => return Err(wrong("kwargs", "an object", other)),
            None => {}
        }
        let mut request = args.request();
        if let Some(name) = text(case, "tool_choice")? {
            request.tool_choice = tool_choice(&name)?;
        }
        if let Some(name) = text(case, "reasoning")? {
            let mode: Mode = clap::ValueEnum::from_str(&name, false)
                .map_err(|_| format!("`reasoning`: expected auto, on or off, found `{name}`"))?;
            request.reasoning = mode.reasoning();
        }
        if let Some(parallel) = given(case, "parallel") {
            request.parallel = parallel
                .as_bool()
                .ok_or_else(|| wrong("parallel", "true or false", parallel))?;
        }
        request.prompt = text(case, "prefix")?.unwrap_or_default();
        let tools = match given(case, "tools") {
            Some(tools) => {
                input::tools(tools)
                    .map_err(|error| format!("`tools`: {error}"))?
                    .0
            }
            None => Tools::none(),
        };
        let format = self.of(&base)?;
        Grammar::of(&format, &tools, &request).map_err(|error| error.explain(option_name))
    }
}
