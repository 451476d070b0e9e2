//! Chat templates, and what is worked out of them.

use std::ffi::c_char;

use jiff::civil::DateTime;
use unjinja::chat_template::{ChatTemplate, RenderError, RenderInput};
use unjinja::derive::{DeriveOptions, ModelOutput, derive};
use unjinja::format::Format;
use unjinja::grammar::{Beyond, Grammar, Reasoning, Request, ToolChoice};
use unjinja::lint::{Complaint, LintOptions, lint, lint_chat_template};
use unjinja::profile::{Target, joins_for, language_for};
use unjinja::{Object, Remedy, Value, json};

use crate::border::{ErrorPlace, given, guarded, text};
use crate::error::{UnjinjaError, UnjinjaErrorKind};
use crate::options::Options;
use crate::template::UnjinjaTemplate;
use crate::text::UnjinjaText;

/// A chat template with its tokens, and with what all of its renderings have in common. Any number of threads may use it at the
/// same time.
#[derive(Debug)]
pub struct UnjinjaChatTemplate {
    template: ChatTemplate,
    base: RenderInput,
}

/// Asking a template nests deeply, and callers may have little stack.
#[cfg(not(target_family = "wasm"))]
const STACK: usize = 8 << 20;

/// Does work where there is stack enough. Where there are no threads, whoever builds the library sees to that.
fn deep<T: Send>(
    work: impl FnOnce() -> Result<T, Box<UnjinjaError>> + Send,
) -> Result<T, Box<UnjinjaError>> {
    #[cfg(target_family = "wasm")]
    return work();
    #[cfg(not(target_family = "wasm"))]
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let internal = |error| UnjinjaError::new(UnjinjaErrorKind::Internal, error);
        let thread = thread.spawn_scoped(scope, work);
        let done =
            thread.map_err(|error| internal(format!("there is no thread to be had: {error}")))?;
        done.join()
            .unwrap_or_else(|panic| Err(crate::border::internal(panic)))
    })
}

impl UnjinjaChatTemplate {
    /// What is wrong, with the template's name before it.
    fn failed(&self, kind: UnjinjaErrorKind, what: impl std::fmt::Display) -> Box<UnjinjaError> {
        UnjinjaError::new(kind, format!("{}: {what}", self.template.name))
    }

    /// It does not even render a question.
    fn no_question(&self, error: &RenderError) -> Box<UnjinjaError> {
        let what = format!("{}: {error}", error.of_question());
        self.failed(UnjinjaErrorKind::Render, what)
    }
}

/// What messages advise, under the names that the options have.
fn option_name(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::BosToken => "the option `bos_token`",
        Remedy::EosToken => "the option `eos_token`",
        Remedy::Variable => "the option `variables`",
        Remedy::Loosen => "the option `best_effort`",
        other => other.name(),
    }
}

fn texts(options: &mut Options, key: &str) -> Result<Vec<String>, Box<UnjinjaError>> {
    let list = options.list(key)?.into_iter();
    let list = list.map(|text| match text {
        Value::String(text) => Ok(text.to_string_lossy().into_owned()),
        other => Err(UnjinjaError::argument(format!(
            "`{key}`: expected texts, found {}",
            other.type_name()
        ))),
    });
    list.collect()
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Object::from_iter(members).into()
}

fn written(value: &Value) -> Box<UnjinjaText> {
    UnjinjaText::new(json::write(value))
}

/// A chat template that is given as its Jinja text.
///
/// @param jinja where the text begins
/// @param options a JSON object, or nothing: `name`, which stands in errors; `bos_token` and `eos_token`; `special_tokens` and
///     `added_tokens`, lists of texts; `now`, what the template takes for the current time, as `"2026-01-15T12:00:00"`;
///     `variables`, further variables of the template
/// @return the template, which `unjinja_chat_template_free` takes back. What is wrong with it shows when it is rendered
#[allow(unsafe_code, reason = "it is given texts")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjinja_chat_template_new(
    jinja: *const c_char,
    jinja_length: usize,
    options: *const c_char,
    options_length: usize,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaChatTemplate>> {
    guarded(error, || {
        // SAFETY: the caller gives texts.
        let (jinja, options) = unsafe {
            (
                text("the chat template", jinja, jinja_length)?,
                text("the options", options, options_length)?,
            )
        };
        let mut options = Options::read(options)?;
        let mut template = ChatTemplate::from_jinja(jinja);
        template.name = options
            .text("name")?
            .unwrap_or_else(|| "the chat template".into());
        template.bos_token = options.text("bos_token")?;
        template.eos_token = options.text("eos_token")?;
        template.special_tokens = texts(&mut options, "special_tokens")?;
        template.added_tokens = texts(&mut options, "added_tokens")?;
        let base = base_of(&mut options)?;
        options.nothing_else(&[
            "name",
            "bos_token",
            "eos_token",
            "special_tokens",
            "added_tokens",
            "now",
            "variables",
        ])?;
        Ok(Box::new(UnjinjaChatTemplate { template, base }))
    })
}

/// Loads a chat template from where models keep them: a .jinja file, a tokenizer_config.json, a model's folder or a GGUF file.
///
/// @param path the name of the file or folder
/// @param options a JSON object, or nothing: `variant`, which of several templates to take; `bos_token` and `eos_token`, if they do
///     not come with the template; `now` and `variables` as for `unjinja_chat_template_new`
/// @return the template, which `unjinja_chat_template_free` takes back
#[cfg(not(target_family = "wasm"))]
#[allow(unsafe_code, reason = "it is given texts")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjinja_chat_template_load(
    path: *const c_char,
    path_length: usize,
    options: *const c_char,
    options_length: usize,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaChatTemplate>> {
    use unjinja::chat_template::{LoadOptions, Source};
    guarded(error, || {
        // SAFETY: the caller gives texts.
        let (path, options) = unsafe {
            (
                text("the path", path, path_length)?,
                text("the options", options, options_length)?,
            )
        };
        let mut options = Options::read(options)?;
        let mut how = LoadOptions::default();
        how.variant = options.text("variant")?;
        let (bos, eos) = (options.text("bos_token")?, options.text("eos_token")?);
        let base = base_of(&mut options)?;
        options.nothing_else(&["variant", "bos_token", "eos_token", "now", "variables"])?;
        let load = || ChatTemplate::load(&Source::parse(path)?, &how);
        let mut template = load().map_err(|error| {
            UnjinjaError::new(UnjinjaErrorKind::Load, error.explain(option_name))
        })?;
        template.bos_token = bos.or(template.bos_token);
        template.eos_token = eos.or(template.eos_token);
        Ok(Box::new(UnjinjaChatTemplate { template, base }))
    })
}

fn base_of(options: &mut Options) -> Result<RenderInput, Box<UnjinjaError>> {
    let now = options.text("now")?.map(|now| {
        now.parse::<DateTime>().map_err(|_| {
            UnjinjaError::argument("`now`: this is no time: write it as 2026-01-15T12:00:00")
        })
    });
    Ok(RenderInput {
        now: now.transpose()?,
        variables: options.object("variables")?,
        ..RenderInput::default()
    })
}

/// Gives a chat template back.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_chat_template_free(chat_template: Option<Box<UnjinjaChatTemplate>>) {
    drop(chat_template);
}

/// Renders a conversation.
///
/// @param request a JSON object: `messages`; and `tools`, `add_generation_prompt` and `variables`, if there are any
/// @return the prompt, which `unjinja_text_free` takes back
#[allow(unsafe_code, reason = "it is given a text")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjinja_render(
    chat_template: Option<&UnjinjaChatTemplate>,
    request: *const c_char,
    request_length: usize,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaText>> {
    guarded(error, || {
        let chat = given("the chat template", chat_template)?;
        // SAFETY: the caller gives a text.
        let mut request = Options::read(unsafe { text("the request", request, request_length) }?)?;
        let mut input = RenderInput {
            messages: request.list("messages")?.into(),
            tools: request.take("tools").unwrap_or(Value::Null),
            add_generation_prompt: request.flag("add_generation_prompt")?.unwrap_or_default(),
            ..chat.base.clone()
        };
        input.variables.extend(request.object("variables")?);
        request.nothing_else(&["messages", "tools", "add_generation_prompt", "variables"])?;
        deep(move || {
            let rendered = chat.template.render(&input);
            let fail = |error| chat.failed(UnjinjaErrorKind::Render, error);
            Ok(UnjinjaText::new(rendered.map_err(fail)?.text))
        })
    })
}

/// Works out the response template of a chat template, and proves it.
///
/// @param options a JSON object, or nothing: `reasoning_field`, the field for reasoning, `thinking` unless it is named; `ids`, whether
///     calls keep their ids; `guess_types`, whether values that are written raw are read as JSON where they are JSON; `outputs`,
///     a list of what the model has written, each a text, or an object with `output`, `prefix`, `message` and `tools`;
///     `profiles`, a list of those who have to take the template, as `"transformers@5.24"`
/// @return JSON, which `unjinja_text_free` takes back, and `unjinja_template_new` reads: the response template under
///     `response_template`; whether all that the chat template writes is recovered under `is_whole`; and what is known of it
#[allow(unsafe_code, reason = "it is given a text")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjinja_derive(
    chat_template: Option<&UnjinjaChatTemplate>,
    options: *const c_char,
    options_length: usize,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaText>> {
    guarded(error, || {
        let chat = given("the chat template", chat_template)?;
        // SAFETY: the caller gives a text.
        let mut options = Options::read(unsafe { text("the options", options, options_length) }?)?;
        let reasoning = options.text("reasoning_field")?;
        let outputs = options
            .list("outputs")?
            .into_iter()
            .map(|output| match output {
                Value::String(text) => Ok(ModelOutput::new(text.to_string_lossy())),
                value => ModelOutput::from_value(&value)
                    .map_err(|error| UnjinjaError::argument(format!("`outputs`: {error}"))),
            });
        let outputs = outputs.collect::<Result<Vec<ModelOutput>, Box<UnjinjaError>>>()?;
        let targets = texts(&mut options, "profiles")?.into_iter().map(|name| {
            name.parse::<Target>()
                .map_err(|error| UnjinjaError::argument(format!("`profiles`: {error}")))
        });
        let targets = targets.collect::<Result<Vec<Target>, Box<UnjinjaError>>>()?;
        let how = DeriveOptions::default()
            .language(language_for(&targets).unwrap_or(DeriveOptions::SERVED))
            .joins(joins_for(&targets))
            .base(chat.base.clone())
            .reasoning_field(reasoning.as_deref().unwrap_or("thinking"))
            .ids(options.flag("ids")?.unwrap_or_default())
            .guess_types(options.flag("guess_types")?.unwrap_or_default())
            .outputs(outputs);
        options.nothing_else(&[
            "reasoning_field",
            "ids",
            "guess_types",
            "outputs",
            "profiles",
        ])?;
        deep(move || {
            let derived = derive(&chat.template, &how);
            let fail = |error: unjinja::derive::DeriveError| {
                chat.failed(UnjinjaErrorKind::Derive, error.explain(option_name))
            };
            let mut report = derived.map_err(fail)?.to_value().into_object();
            let template = report.remove("template");
            report.insert("response_template", template.unwrap_or(Value::Null));
            Ok(written(&report.into()))
        })
    })
}

/// What will hurt about a response template, though it is valid.
///
/// @param chat_template the chat template that it belongs to, or NULL
/// @return a JSON list of complaints, which `unjinja_text_free` takes back
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_lint(
    response_template: Option<&UnjinjaTemplate>,
    chat_template: Option<&UnjinjaChatTemplate>,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaText>> {
    guarded(error, || {
        let template = given("the response template", response_template)?;
        deep(move || {
            let mut options = LintOptions::default();
            if let Some(chat) = chat_template {
                options = options
                    .chat_template(&chat.template)
                    .base(chat.base.clone());
            }
            let found = lint(&template.0, &options).map_err(|error| match chat_template {
                Some(chat) => chat.no_question(&error),
                None => UnjinjaError::new(UnjinjaErrorKind::Render, error),
            });
            Ok(complaints(&found?))
        })
    })
}

/// What is wrong with a chat template.
///
/// @return a JSON list of complaints, which `unjinja_text_free` takes back
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_lint_chat_template(
    chat_template: Option<&UnjinjaChatTemplate>,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaText>> {
    guarded(error, || {
        let chat = given("the chat template", chat_template)?;
        deep(move || {
            let options = LintOptions::default().base(chat.base.clone());
            let found = lint_chat_template(&chat.template, &options);
            Ok(complaints(
                &found.map_err(|error| chat.no_question(&error))?,
            ))
        })
    })
}

fn complaints(found: &[Complaint]) -> Box<UnjinjaText> {
    written(&found.iter().map(Complaint::to_value).collect())
}

/// A grammar of what the model may write.
///
/// @param request a JSON object, or nothing: `tools`; `format`: `"gbnf"`, `"lark"`, `"structural-tag"` or `"regex"`; `tool_choice`:
///     `"auto"`, `"required"`, `"none"`, or the name of a tool; `reasoning`: `"auto"`, `"on"` or `"off"`; `parallel`, whether there may
///     be several calls; `prefix`, the prompt; `best_effort`, whether any value is allowed in place of a schema that is beyond a limit
/// @return JSON, which `unjinja_text_free` takes back: the `grammar`, a text, or an object for a structural tag; and `warnings`
#[allow(unsafe_code, reason = "it is given a text")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjinja_grammar(
    chat_template: Option<&UnjinjaChatTemplate>,
    request: *const c_char,
    request_length: usize,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaText>> {
    guarded(error, || {
        let chat = given("the chat template", chat_template)?;
        // SAFETY: the caller gives a text.
        let mut request = Options::read(unsafe { text("the request", request, request_length) }?)?;
        let tools = request.tools()?;
        let format = request.choice(
            "format",
            &[
                ("gbnf", GrammarFormat::Gbnf),
                ("lark", GrammarFormat::Lark),
                ("structural-tag", GrammarFormat::StructuralTag),
                ("regex", GrammarFormat::Regex),
            ],
        )?;
        let reasoning = request.choice(
            "reasoning",
            &[
                ("auto", Reasoning::Auto),
                ("on", Reasoning::On),
                ("off", Reasoning::Off),
            ],
        )?;
        let choice = match request.text("tool_choice")?.as_deref() {
            None | Some("auto") => ToolChoice::Auto,
            Some("required") => ToolChoice::Required,
            Some("none") => ToolChoice::None,
            Some(name) => ToolChoice::Named(name.to_owned()),
        };
        let asked = Request::new()
            .tool_choice(choice)
            .reasoning(reasoning.unwrap_or(Reasoning::Auto))
            .parallel(request.flag("parallel")?.unwrap_or(true))
            .prompt(&*request.text("prefix")?.unwrap_or_default())
            .beyond(match request.flag("best_effort")?.unwrap_or(false) {
                true => Beyond::Loosen,
                false => Beyond::Refuse,
            });
        request.nothing_else(&[
            "tools",
            "format",
            "tool_choice",
            "reasoning",
            "parallel",
            "prefix",
            "best_effort",
        ])?;
        deep(move || {
            let found = Format::of(&chat.template, &chat.base)
                .map_err(|error| chat.failed(UnjinjaErrorKind::Grammar, error))?;
            let fail = |error: String| chat.failed(UnjinjaErrorKind::Grammar, error);
            let grammar = Grammar::of(&found, &tools, &asked)
                .map_err(|error| fail(error.explain(option_name)))?;
            let text = match format.unwrap_or(GrammarFormat::Gbnf) {
                GrammarFormat::Gbnf => grammar.to_gbnf(),
                GrammarFormat::Lark => grammar.to_lark(),
                GrammarFormat::Regex => grammar
                    .to_regex()
                    .map_err(|error| chat.failed(UnjinjaErrorKind::Grammar, error))?,
                GrammarFormat::StructuralTag => {
                    let tag = grammar.to_structural_tag();
                    return Ok(grammar_text(tag.value, &tag.warnings));
                }
            };
            Ok(grammar_text(text.text.into(), &text.warnings))
        })
    })
}

/// How a grammar is written.
#[derive(Clone, Copy)]
enum GrammarFormat {
    Gbnf,
    Lark,
    StructuralTag,
    Regex,
}

fn grammar_text(grammar: Value, warnings: &[String]) -> Box<UnjinjaText> {
    let warnings = warnings.iter().map(String::as_str).collect();
    written(&object([("grammar", grammar), ("warnings", warnings)]))
}
