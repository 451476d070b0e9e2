//! Chat templates, and all that is worked out of them.

use std::sync::{Arc, OnceLock};

use jiff::civil::DateTime;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyList};

use unjinja::analysis::Capabilities;
use unjinja::chat_template::{ChatTemplate, LoadOptions, RenderError, RenderInput, Source};
use unjinja::conversation::{
    ConversationReader, HeaderSide, Marking, MaskError, MaskPolicy, Proof, RoleBoundary,
    role_boundaries,
};
use unjinja::derive::{DeriveOptions, ModelOutput, derive};
use unjinja::format::Format;
use unjinja::grammar::{Beyond, Grammar, Reasoning, Request, ToolChoice};
use unjinja::lint::{Complaint, LintOptions, lint, lint_chat_template};
use unjinja::mend::{Fault, Outcome, mend};
use unjinja::profile::{Target, joins_for, language_for};
use unjinja::{Object, Value, json};

use crate::errors::{ErrorKind, argument_name, detached, interruptible};
use crate::parser::{object, template_of, tools_of};
use crate::profiles::targets;
use crate::state;
use crate::values::{from_python, list_to_python, to_python};

/// A chat template with its tokens, and with what all of its renderings have in common.
#[pyclass(frozen, name = "ChatTemplate", module = "unjinja")]
#[derive(Clone)]
pub(crate) struct PyChatTemplate {
    template: ChatTemplate,
    base: RenderInput,
    /// What grammars are made of, found with the first of them.
    format: Arc<OnceLock<Format>>,
}

/// What is said of a template, with its name before it.
pub(crate) fn named(template: &ChatTemplate, what: impl std::fmt::Display) -> String {
    format!("{}: {what}", template.name)
}

#[pymethods]
impl PyChatTemplate {
    /// Loads a template from wherever models keep them.
    #[staticmethod]
    #[pyo3(signature = (source, *, variant=None, offline=false, bos_token=None, eos_token=None, now=None, variables=None))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn load(
        py: Python<'_>,
        source: PyBackedStr,
        variant: Option<String>,
        offline: bool,
        bos_token: Option<String>,
        eos_token: Option<String>,
        now: Option<&str>,
        variables: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyChatTemplate> {
        let base = base(now, variables)?;
        let loaded = interruptible(py, move || {
            let mut options = LoadOptions::default();
            options.variant = variant;
            options.offline = offline;
            ChatTemplate::load(&Source::parse(&source)?, &options)
        })?;
        let fail = |error: unjinja::chat_template::LoadError| {
            ErrorKind::Load.exception(py, error.explain(argument_name))
        };
        let template = loaded.map_err(fail)?;
        Ok(PyChatTemplate::with(template, bos_token, eos_token, base))
    }

    /// A template that is given as its Jinja text.
    #[staticmethod]
    #[pyo3(signature = (jinja, *, bos_token=None, eos_token=None, now=None, variables=None))]
    fn from_jinja(
        jinja: String,
        bos_token: Option<String>,
        eos_token: Option<String>,
        now: Option<&str>,
        variables: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyChatTemplate> {
        let template = ChatTemplate::from_jinja(jinja);
        let base = base(now, variables)?;
        Ok(PyChatTemplate::with(template, bos_token, eos_token, base))
    }

    #[getter]
    fn jinja(&self) -> &str {
        &self.template.jinja
    }

    #[getter]
    fn name(&self) -> &str {
        &self.template.name
    }

    #[getter]
    fn bos_token(&self) -> Option<&str> {
        self.template.bos_token.as_deref()
    }

    #[getter]
    fn eos_token(&self) -> Option<&str> {
        self.template.eos_token.as_deref()
    }

    fn __repr__(&self) -> String {
        format!("ChatTemplate({:?})", self.template.name)
    }

    #[pyo3(signature = (messages, *, tools=None, add_generation_prompt=false, **variables))]
    fn render(
        &self,
        py: Python<'_>,
        messages: &Bound<'_, PyAny>,
        tools: Option<&Bound<'_, PyAny>>,
        add_generation_prompt: bool,
        variables: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let mut input = self.input(messages, tools, add_generation_prompt)?;
        if let Some(variables) = variables {
            input.variables.extend(variables_of(variables.as_any())?);
        }
        let rendered = detached(py, || self.template.render(&input))?;
        let fail = |error| ErrorKind::Render.exception(py, named(&self.template, error));
        Ok(rendered.map_err(fail)?.text)
    }

    #[pyo3(signature = (*, reasoning_field="thinking", ids=false, guess_types=false, outputs=None, profiles=Vec::new()))]
    fn derive<'py>(
        &self,
        py: Python<'py>,
        reasoning_field: &str,
        ids: bool,
        guess_types: bool,
        outputs: Option<Vec<Bound<'py, PyAny>>>,
        profiles: Vec<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let outputs = outputs.unwrap_or_default().into_iter();
        let outputs = outputs.map(|output| model_output(&output));
        let targets = targets(&profiles)?;
        let language = language_for(&targets).unwrap_or(DeriveOptions::SERVED);
        let options = DeriveOptions::default()
            .language(language)
            .joins(joins_for(&targets))
            .base(self.base.clone())
            .reasoning_field(reasoning_field)
            .ids(ids)
            .guess_types(guess_types)
            .outputs(outputs.collect::<PyResult<Vec<ModelOutput>>>()?);
        let template = self.template.clone();
        let derived = interruptible(py, move || derive(&template, &options))?;
        let derivation = derived.map_err(|error| {
            let text = named(&self.template, error.explain(argument_name));
            ErrorKind::Derive.exception(py, text)
        })?;
        to_python(py, &derivation.to_value())
    }

    #[pyo3(signature = (text, *, proof=true))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        text: PyBackedStr,
        proof: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (template, base) = self.cloned();
        let read = interruptible(py, move || {
            let reader = ConversationReader::new(&template, &base)
                .map_err(|error| (ErrorKind::Render, question(&template, &error)))?;
            let reader = match proof {
                true => reader,
                false => reader.without_proof(),
            };
            reader
                .read(&text)
                .map_err(|error| (ErrorKind::Read, error.to_string()))
        })?;
        let read = read.map_err(|(kind, error)| kind.exception(py, error))?;
        let is_proved = match &read.proof {
            Proof::Differs { .. } | Proof::Refused(_) => Value::from(false),
            _ => proof.into(),
        };
        let conversation = object([
            ("messages", read.messages.clone()),
            ("tools", read.tools.clone()),
            ("variables", read.variables.clone().into()),
            ("is_open", read.ending.is_open().into()),
            ("is_proved", is_proved),
            ("remarks", read.remarks.iter().map(String::as_str).collect()),
        ]);
        to_python(py, &conversation)
    }

    /// The masks of conversations, each a dict with `messages`, and `tools` if it has some.
    #[pyo3(signature = (conversations, *, ending=true, white_space=false, prefilled=false, header=None))]
    fn mask<'py>(
        &self,
        py: Python<'py>,
        conversations: Vec<(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>)>,
        ending: bool,
        white_space: bool,
        prefilled: bool,
        header: Option<bool>,
    ) -> PyResult<Bound<'py, PyList>> {
        let inputs = conversations.iter();
        let inputs = inputs.map(|(messages, tools)| self.input(messages, tools.as_ref(), false));
        let inputs = inputs.collect::<PyResult<Vec<RenderInput>>>()?;
        let mut policy = MaskPolicy::default();
        policy.ending = ending;
        policy.white_space = white_space;
        policy.prefilled = prefilled;
        policy.header = match header {
            None => HeaderSide::Auto,
            Some(true) => HeaderSide::In,
            Some(false) => HeaderSide::Out,
        };
        let (template, base) = self.cloned();
        let masked = interruptible(py, move || {
            let marking = Marking::of(&template, &base, policy).map_err(|error| match error {
                MaskError::Render(error) => question(&template, &error),
                error => named(&template, error),
            })?;
            let one = |(index, input): (usize, &RenderInput)| {
                let masked = marking.mask(input);
                masked.map_err(|error| format!("conversation {index}: {}", named(&template, error)))
            };
            inputs
                .iter()
                .enumerate()
                .map(one)
                .collect::<Result<Vec<_>, String>>()
        })?;
        let masked = masked.map_err(|error| ErrorKind::Mask.exception(py, error))?;
        let masks = masked.iter().map(|masked| {
            let warnings = masked
                .unmasked
                .iter()
                .map(|lack| Value::from(lack.to_string()));
            object([
                ("text", masked.text.as_str().into()),
                ("spans", masked.spans.to_value()),
                ("warnings", warnings.collect()),
            ])
        });
        list_to_python(py, &masks.collect::<Vec<Value>>())
    }

    /// The template with generation tags around what the model writes.
    fn tagged(&self, py: Python<'_>) -> PyResult<String> {
        let (template, base) = self.cloned();
        let marking = interruptible(py, move || {
            Marking::of(&template, &base, MaskPolicy::default())
        })?;
        let fail = |error| ErrorKind::Mask.exception(py, named(&self.template, error));
        Ok(marking.map_err(fail)?.tagged().to_owned())
    }

    /// The literals between which the assistant's turns lie.
    fn role_boundaries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (template, base) = self.cloned();
        let boundaries = interruptible(py, move || role_boundaries(&template, &base))?;
        let fail = |error| ErrorKind::Mask.exception(py, named(&self.template, error));
        let boundaries = boundaries.map_err(fail)?;
        let values = boundaries.iter().map(RoleBoundary::to_value);
        list_to_python(py, &values.collect::<Vec<Value>>())
    }

    /// A grammar, and what it does not hold.
    #[pyo3(signature = (tools=None, *, format="gbnf", tool_choice="auto", reasoning="auto", parallel=true, prefix="", best_effort=false))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn grammar<'py>(
        &self,
        py: Python<'py>,
        tools: Option<&Bound<'py, PyAny>>,
        format: &str,
        tool_choice: &str,
        reasoning: &str,
        parallel: bool,
        prefix: &str,
        best_effort: bool,
    ) -> PyResult<(Bound<'py, PyAny>, Vec<String>)> {
        let tools = tools_of(tools)?;
        let request = Request::new()
            .tool_choice(match tool_choice {
                "auto" => ToolChoice::Auto,
                "required" => ToolChoice::Required,
                "none" => ToolChoice::None,
                name => ToolChoice::Named(name.to_owned()),
            })
            .reasoning(match reasoning {
                "auto" => Reasoning::Auto,
                "on" => Reasoning::On,
                "off" => Reasoning::Off,
                other => return Err(choice("reasoning", "auto, on or off", other)),
            })
            .parallel(parallel)
            .prompt(prefix)
            .beyond(match best_effort {
                true => Beyond::Loosen,
                false => Beyond::Refuse,
            });
        if !["gbnf", "lark", "structural-tag", "regex"].contains(&format) {
            return Err(choice(
                "format",
                "gbnf, lark, structural-tag or regex",
                format,
            ));
        }
        let (template, base) = self.cloned();
        let known = Arc::clone(&self.format);
        let format = format.to_owned();
        let written = interruptible(py, move || {
            let fail = |error: &dyn std::fmt::Display| named(&template, error);
            let found = match known.get() {
                Some(found) => found,
                None => {
                    let found = Format::of(&template, &base).map_err(|error| fail(&error))?;
                    known.get_or_init(|| found)
                }
            };
            let grammar = Grammar::of(found, &tools, &request)
                .map_err(|error| fail(&error.explain(argument_name)))?;
            let written = match format.as_str() {
                "gbnf" => grammar.to_gbnf(),
                "lark" => grammar.to_lark(),
                "regex" => grammar.to_regex().map_err(|error| fail(&error))?,
                _ => {
                    let tag = grammar.to_structural_tag();
                    return Ok((tag.value, tag.warnings));
                }
            };
            Ok((Value::from(written.text), written.warnings))
        })?;
        let (grammar, warnings) =
            written.map_err(|error: String| ErrorKind::Grammar.exception(py, error))?;
        Ok((to_python(py, &grammar)?, warnings))
    }

    /// What is wrong with this chat template.
    fn lint_itself<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (template, base) = self.cloned();
        let found = interruptible(py, move || {
            let options = LintOptions::default().base(base);
            lint_chat_template(&template, &options).map_err(|error| question(&template, &error))
        })?;
        complaints_to_python(py, found)
    }

    /// The template without faults, and what came of each.
    fn mend<'py>(
        &self,
        py: Python<'py>,
        faults: Vec<String>,
    ) -> PyResult<(String, Bound<'py, PyList>)> {
        let named = faults.iter().map(|name| Fault::named(name));
        let named = named.collect::<Result<Vec<_>, _>>();
        let faults = named.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let (template, base) = self.cloned();
        let mended = interruptible(py, move || {
            let mended = mend(&template, &base, &faults.concat());
            mended.map_err(|error| question(&template, &error))
        })?;
        let mended = mended.map_err(|error| ErrorKind::Mend.exception(py, error))?;
        let outcomes: Vec<Value> = mended.outcomes.iter().map(Outcome::to_value).collect();
        Ok((mended.jinja, list_to_python(py, &outcomes)?))
    }

    /// What will hurt about a response template of this chat template.
    #[pyo3(signature = (template, *, profiles=Vec::new()))]
    fn lint<'py>(
        &self,
        py: Python<'py>,
        template: &Bound<'py, PyAny>,
        profiles: Vec<String>,
    ) -> PyResult<Bound<'py, PyList>> {
        complaints(py, template, targets(&profiles)?, Some(self.cloned()))
    }

    /// What the template renders, refuses, or silently drops.
    fn caps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (template, base) = self.cloned();
        let found = interruptible(py, move || {
            Capabilities::of(&template, &base).map_err(|error| question(&template, &error))
        })?;
        let found = found.map_err(|error| ErrorKind::Render.exception(py, error))?;
        to_python(py, &found.to_value())
    }

    /// For `pickle`.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let restore = py.get_type::<PyChatTemplate>().getattr("_restore")?;
        let state = state::of(&self.template, &self.base);
        Ok((restore, (json::write(&state),)))
    }

    /// The template that was pickled.
    #[staticmethod]
    fn _restore(state: &str) -> PyResult<PyChatTemplate> {
        let restored = json::read(state).ok().as_ref().and_then(state::read);
        let wrong = || PyValueError::new_err("this is no chat template that was pickled");
        let (template, base) = restored.ok_or_else(wrong)?;
        Ok(PyChatTemplate::new(template, base))
    }
}

impl PyChatTemplate {
    fn new(template: ChatTemplate, base: RenderInput) -> PyChatTemplate {
        PyChatTemplate {
            template,
            base,
            format: Arc::default(),
        }
    }

    fn with(
        mut template: ChatTemplate,
        bos_token: Option<String>,
        eos_token: Option<String>,
        base: RenderInput,
    ) -> PyChatTemplate {
        template.bos_token = bos_token.or(template.bos_token);
        template.eos_token = eos_token.or(template.eos_token);
        PyChatTemplate::new(template, base)
    }

    pub(crate) fn input(
        &self,
        messages: &Bound<'_, PyAny>,
        tools: Option<&Bound<'_, PyAny>>,
        add_generation_prompt: bool,
    ) -> PyResult<RenderInput> {
        let tools = tools.filter(|tools| !tools.is_none());
        Ok(RenderInput {
            messages: from_python(messages)?,
            tools: tools.map_or(Ok(Value::Null), from_python)?,
            add_generation_prompt,
            ..self.base.clone()
        })
    }

    /// What work on another thread needs.
    pub(crate) fn cloned(&self) -> (ChatTemplate, RenderInput) {
        (self.template.clone(), self.base.clone())
    }
}

pub(crate) fn question(template: &ChatTemplate, error: &RenderError) -> String {
    named(template, format_args!("{}: {error}", error.of_question()))
}

/// What is wrong with a response template by itself.
#[pyfunction]
#[pyo3(signature = (template, *, profiles=Vec::new()))]
pub(crate) fn lint_template<'py>(
    py: Python<'py>,
    template: &Bound<'py, PyAny>,
    profiles: Vec<String>,
) -> PyResult<Bound<'py, PyList>> {
    complaints(py, template, targets(&profiles)?, None)
}

fn complaints<'py>(
    py: Python<'py>,
    template: &Bound<'py, PyAny>,
    targets: Vec<Target>,
    chat_template: Option<(ChatTemplate, RenderInput)>,
) -> PyResult<Bound<'py, PyList>> {
    let template = template_of(template)?;
    let found = interruptible(py, move || {
        let mut options = LintOptions::default().targets(targets);
        if let Some((chat_template, base)) = &chat_template {
            options = options.chat_template(chat_template).base(base.clone());
        }
        lint(&template, &options)
    })?;
    complaints_to_python(py, found)
}

fn complaints_to_python<E: std::fmt::Display>(
    py: Python<'_>,
    found: Result<Vec<Complaint>, E>,
) -> PyResult<Bound<'_, PyList>> {
    let found = found.map_err(|error| ErrorKind::Render.exception(py, error))?;
    let found: Vec<Value> = found.iter().map(Complaint::to_value).collect();
    list_to_python(py, &found)
}

/// Variables that are given as a dict.
fn variables_of(variables: &Bound<'_, PyAny>) -> PyResult<Object> {
    match from_python(variables)? {
        Value::Null => Ok(Object::new()),
        Value::Object(variables) => Ok(variables),
        other => Err(PyTypeError::new_err(format!(
            "`variables`: expected a dict, found {}",
            other.type_name()
        ))),
    }
}

fn base(now: Option<&str>, variables: Option<&Bound<'_, PyAny>>) -> PyResult<RenderInput> {
    let wrong =
        |_| PyValueError::new_err("`now`: this is not a time: write it as 2026-01-15T12:00:00");
    let now = now.map(str::parse::<DateTime>).transpose().map_err(wrong)?;
    let variables = variables.map(variables_of).transpose()?.unwrap_or_default();
    Ok(RenderInput {
        now,
        variables,
        ..RenderInput::default()
    })
}

/// An output of the model: its text, or a dict of `output` and what is known besides.
fn model_output(output: &Bound<'_, PyAny>) -> PyResult<ModelOutput> {
    match from_python(output)? {
        Value::String(text) => Ok(ModelOutput::new(text.to_string_lossy())),
        value => ModelOutput::from_value(&value)
            .map_err(|error| PyValueError::new_err(format!("`outputs`: {error}"))),
    }
}

fn choice(name: &str, of: &str, found: &str) -> PyErr {
    PyValueError::new_err(format!("`{name}`: expected {of}, found `{found}`"))
}
