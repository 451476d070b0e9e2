//! Where a command's chat template comes from.

use std::fmt;
use std::path::Path;

use jiff::civil::DateTime;

use crate::options::option_name;
use crate::printing;
use crate::tui::Target;
use unjinja::chat_template::{ChatTemplate, LoadError, LoadOptions, Progress, RenderInput, Source};
use unjinja::{Object, Value, json};

use super::Failure;

/// The chat template of a command.
#[derive(Debug, clap::Args)]
pub(crate) struct SourceArgs {
    /// The chat template: a .jinja file, a tokenizer_config.json, a model's folder, a GGUF file,
    /// a model id such as org/name[@revision], or `-` for standard input
    #[arg(value_name = "SOURCE")]
    pub(crate) source: String,

    #[command(flatten)]
    pub(crate) options: SourceOptions,
}

/// How chat templates are to be loaded and rendered.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct SourceOptions {
    /// Which of several chat templates to use, such as tool_use
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,

    /// Look up model ids in the cache only
    #[arg(long)]
    offline: bool,

    /// The token that begins a prompt [default: the one that comes with the template]
    #[arg(long, value_name = "TOKEN")]
    bos_token: Option<String>,

    /// The token that ends a turn [default: the one that comes with the template]
    #[arg(long, value_name = "TOKEN")]
    pub(crate) eos_token: Option<String>,

    /// The time to use as the current one, such as 2026-01-15T12:00:00
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) now: Option<DateTime>,

    /// A variable for the template; the value is read as JSON, or as Python's True, False or None,
    /// or else as text
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = variable)]
    variables: Vec<(String, Value)>,
}

/// The time that a text means.
pub(crate) fn time(text: &str) -> Result<DateTime, String> {
    text.parse()
        .map_err(|_| "this is not a time: write it as 2026-01-15T12:00:00".to_owned())
}

/// The name and the value of a variable.
fn variable(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    let value = match value {
        "True" => true.into(),
        "False" => false.into(),
        "None" => Value::Null,
        value => json::read(value).unwrap_or_else(|_| value.into()),
    };
    Ok((name.to_owned(), value))
}

impl SourceArgs {
    /// Loads the template.
    pub(crate) fn load(&self) -> Result<ChatTemplate, Failure> {
        self.options.load(&self.source)
    }
}

impl SourceOptions {
    /// Loads a template.
    pub(crate) fn load(&self, source: &str) -> Result<ChatTemplate, Failure> {
        let fail = |error: LoadError| Failure::Input(error.explain(option_name));
        let source = Source::parse(source).map_err(fail)?;
        let loaded = self.with_load_options(|options| ChatTemplate::load(&source, options));
        let template = loaded.map_err(fail)?;
        Ok(self.with_tokens(template))
    }

    /// Loads a template, if there is one that can be loaded.
    pub(crate) fn try_load(&self, source: &str) -> Option<ChatTemplate> {
        self.load(source).ok()
    }

    /// Loads all templates that a model has, the one in use first; or only the variant that was asked
    /// for.
    pub(crate) fn load_all(&self, source: &str) -> Result<Vec<ChatTemplate>, Failure> {
        if self.variant.is_some() {
            return Ok(vec![self.load(source)?]);
        }
        let fail = |error: LoadError| Failure::Input(error.explain(option_name));
        let source = Source::parse(source).map_err(fail)?;
        let loaded = self.with_load_options(|options| ChatTemplate::load_all(&source, options));
        let all = loaded.map_err(fail)?.into_iter();
        Ok(all.map(|template| self.with_tokens(template)).collect())
    }

    /// The chat template that stands beside a response template. Nobody has asked for it, so what is
    /// wrong with it is reported, and no reason to do nothing.
    pub(crate) fn beside(&self, path: &Path) -> Option<ChatTemplate> {
        if path == Path::new("-") {
            return None;
        }
        match self.with_load_options(|options| ChatTemplate::beside(path, options)) {
            Ok(template) => template.map(|template| self.with_tokens(template)),
            Err(error) => {
                report_left_out(&error.explain(option_name));
                None
            }
        }
    }

    fn with_load_options<T>(&self, load: impl FnOnce(&LoadOptions<'_>) -> T) -> T {
        let is_terminal = printing::errors_are_seen();
        let progress = |progress: &Progress| {
            if is_terminal {
                printing::tell(format_args!("{}\n", progress.explain(option_name)));
            }
        };
        let mut options = LoadOptions::default();
        options.variant = self.variant.clone();
        options.offline = self.offline;
        options.on_progress = Some(&progress);
        load(&options)
    }

    /// The template with the tokens that were given.
    pub(crate) fn with_tokens(&self, mut template: ChatTemplate) -> ChatTemplate {
        if let Some(token) = &self.bos_token {
            template.bos_token = Some(token.clone());
        }
        if let Some(token) = &self.eos_token {
            template.eos_token = Some(token.clone());
        }
        template
    }

    /// Lets the workbench load a template in the same way.
    pub(crate) fn fill(&self, opening: &mut Target) {
        opening.variant = self.variant.clone();
        opening.offline = self.offline;
        opening.bos_token = self.bos_token.clone();
        opening.eos_token = self.eos_token.clone();
        opening.derive.base = self.base();
    }

    /// The first option that is given, and that a fixture can't keep.
    pub(crate) fn beyond_fixtures(&self) -> Option<&'static str> {
        let given = [
            (self.variant.is_some(), "--variant"),
            (self.bos_token.is_some(), "--bos-token"),
            (self.eos_token.is_some(), "--eos-token"),
            (!self.variables.is_empty(), "--var"),
        ];
        given
            .into_iter()
            .find(|(given, _)| *given)
            .map(|(_, option)| option)
    }

    /// All of them, for runs that go on only with the same.
    pub(crate) fn to_value(&self) -> Value {
        let now = self.now.map(|now| now.to_string());
        Object::from_iter([
            ("variant", Value::from(self.variant.as_deref())),
            ("bos_token", self.bos_token.as_deref().into()),
            ("eos_token", self.eos_token.as_deref().into()),
            ("now", now.into()),
            (
                "variables",
                self.variables.iter().cloned().collect::<Object>().into(),
            ),
        ])
        .into()
    }

    /// What all renderings of probes have in common.
    pub(crate) fn base(&self) -> RenderInput {
        RenderInput {
            now: self.now,
            variables: self.variables.iter().cloned().collect(),
            ..RenderInput::default()
        }
    }
}

/// Tells why the chat template that stands beside a response template is not made use of.
pub(crate) fn report_left_out(error: &dyn fmt::Display) {
    printing::tell(format_args!(
        "warning: the chat template beside it is not used: {error}\n"
    ));
}
