//! Probe conversations, and the words in them.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::chat_template::{ChatTemplate, RenderError, RenderInput, Renderer};
use crate::value::{Object, Value};

/// A conversation to be rendered.
#[derive(Debug, Clone, Default)]
pub(super) struct Probe {
    messages: Vec<Value>,
    tools: Value,
    prompt: bool,
    variables: Object,
}

/// An object out of pairs.
pub(super) fn object<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    pairs.into_iter().collect::<Object>().into()
}

/// A message with a text.
pub(super) fn message(role: &str, content: &str) -> Value {
    object([("role", role.into()), ("content", content.into())])
}

/// The message with another key.
pub(super) fn with(message: Value, key: &str, value: impl Into<Value>) -> Value {
    match message {
        Value::Object(mut object) => {
            object.insert(key, value);
            object.into()
        }
        other => other,
    }
}

/// A call of a tool.
pub(super) fn call(id: &str, name: &str, arguments: Value) -> Value {
    let function = object([("name", name.into()), ("arguments", arguments)]);
    object([
        ("id", id.into()),
        ("type", "function".into()),
        ("function", function),
    ])
}

/// What a tool answered to a call.
pub(super) fn result(id: &str, name: &str, content: &str) -> Value {
    let answer = with(message("tool", content), "tool_call_id", id);
    with(answer, "name", name)
}

/// A tool with one parameter, which is a string.
pub(super) fn tool(name: &str, description: &str, parameter: &str) -> Value {
    let described = object([
        ("type", "string".into()),
        ("description", "What it is about".into()),
    ]);
    let parameters = object([
        ("type", "object".into()),
        ("properties", object([(parameter, described)])),
        ("required", vec![Value::from(parameter)].into()),
    ]);
    let function = object([
        ("name", name.into()),
        ("description", description.into()),
        ("parameters", parameters),
    ]);
    object([("type", "function".into()), ("function", function)])
}

impl Probe {
    pub(super) fn of(messages: impl IntoIterator<Item = Value>) -> Probe {
        Probe {
            messages: messages.into_iter().collect(),
            ..Probe::default()
        }
    }

    pub(super) fn tools(mut self, tools: impl IntoIterator<Item = Value>) -> Probe {
        self.tools = tools.into_iter().collect::<Vec<Value>>().into();
        self
    }

    /// The conversation with the beginning of the assistant's turn at its end.
    pub(super) fn prompt(mut self) -> Probe {
        self.prompt = true;
        self
    }

    pub(super) fn variable(mut self, name: &str, value: impl Into<Value>) -> Probe {
        self.variables.insert(name, value);
        self
    }

    /// The messages exactly as they are, without the names for reasoning that the transformers
    /// library adds.
    pub(super) fn without_aliases(self) -> Probe {
        let messages = self.messages.clone();
        self.variable("messages", messages)
    }
}

/// How long the renderings of one template's probes may take together. Ordinary templates take some
/// milliseconds; one that loops could take most of a second for each probe.
const MAX_PROBING: Duration = Duration::from_secs(5);

/// How long a rendering may be to be worth looking at, in bytes.
const MAX_RENDERING: usize = 1 << 18;

/// Renders probes with a template.
pub(super) struct Prober<'t> {
    renderer: Renderer<'t>,
    base: RenderInput,
    /// Whether it is known what `bos_token` and `eos_token` are.
    known_tokens: [bool; 2],
    stem: String,
    words: Cell<usize>,
    /// What is given for tools where a probe has none.
    no_tools: Value,
    /// How long all renderings so far have taken.
    spent: Cell<Duration>,
}

impl<'t> Prober<'t> {
    /// `base` holds what all renderings have in common: the tokens, and the time. Where it names no
    /// tokens, the template's own are taken.
    pub(super) fn new(template: &ChatTemplate, renderer: Renderer<'t>, base: &RenderInput) -> Self {
        let mut stem = String::from("zq");
        while template.jinja.contains(&stem) {
            stem.push('q');
        }
        let base = with_tokens(template, base);
        let origins = &template.origins;
        Prober {
            renderer,
            known_tokens: [
                base.bos_token.is_some() || origins.bos_token.is_some(),
                base.eos_token.is_some() || origins.eos_token.is_some(),
            ],
            base,
            stem,
            words: Cell::new(0),
            no_tools: Value::Null,
            spent: Cell::new(Duration::ZERO),
        }
    }

    /// Finds out how the template is to be asked a question without tools: some don't take it that
    /// there are none at all, but take an empty list of them.
    pub(super) fn try_question(&mut self) -> Result<(), RenderError> {
        let question = Probe::of([message("user", &self.word("question"))]);
        let ask = |prober: &Self| {
            let answer = prober.render(&question.clone().prompt());
            answer.or_else(|_| prober.render(&question))
        };
        let first = ask(self);
        if first.is_err() {
            self.no_tools = Vec::new().into();
            if ask(self).is_ok() {
                return Ok(());
            }
            self.no_tools = Value::Null;
        }
        first.map(|_| ())
    }

    /// Gives the template a variable from now on.
    pub(super) fn give(&mut self, name: &str, value: impl Into<Value>) {
        self.base.variables.insert(name, value);
    }

    /// Gives the template a variable no more.
    pub(super) fn take_back(&mut self, name: &str) {
        self.base.variables.remove(name);
    }

    /// Whether it is known what a variable is: it is given, or it is a token that the model does not
    /// have.
    pub(super) fn knows(&self, name: &str) -> bool {
        match name {
            "bos_token" if self.known_tokens[0] => true,
            "eos_token" if self.known_tokens[1] => true,
            name => self.base.variables.contains_key(name),
        }
    }

    /// The token that ends a turn, if the template or the input names one.
    pub(super) fn eos_token(&self) -> Option<&str> {
        self.base.eos_token.as_deref()
    }

    /// What all words begin with.
    pub(super) fn stem(&self) -> &str {
        &self.stem
    }

    /// A word that occurs nowhere else.
    pub(super) fn word(&self, meaning: &str) -> String {
        let number = self.words.replace(self.words.get() + 1);
        // The number stands within, so that no word begins another.
        format!("{}{number:03}{meaning}", self.stem)
    }

    pub(super) fn render(&self, probe: &Probe) -> Result<String, RenderError> {
        let mut variables = self.base.variables.clone();
        variables.extend(probe.variables.clone());
        let input = RenderInput {
            messages: probe.messages.clone().into(),
            tools: match &probe.tools {
                Value::Null => self.no_tools.clone(),
                tools => tools.clone(),
            },
            add_generation_prompt: probe.prompt,
            variables,
            ..self.base.clone()
        };
        if self.spent.get() > MAX_PROBING {
            return Err(RenderError::given_up(
                "the renderings so far have taken too long to go on",
            ));
        }
        let start = Instant::now();
        let rendering = self.renderer.render(&input);
        self.spent.set(self.spent.get() + start.elapsed());
        let text = rendering?.text;
        if text.len() > MAX_RENDERING {
            return Err(RenderError::given_up(format!(
                "the rendering of a few short messages is longer than {MAX_RENDERING} bytes"
            )));
        }
        Ok(text)
    }
}

/// The input with the template's own tokens where it names none.
fn with_tokens(template: &ChatTemplate, base: &RenderInput) -> RenderInput {
    RenderInput {
        bos_token: base
            .bos_token
            .clone()
            .or_else(|| template.bos_token.clone()),
        eos_token: base
            .eos_token
            .clone()
            .or_else(|| template.eos_token.clone()),
        ..base.clone()
    }
}
