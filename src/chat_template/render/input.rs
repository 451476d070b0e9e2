//! What a template is given: the messages as the transformers library passes them, and the
//! variables beside them.

use jiff::civil::DateTime;

use crate::value::{Object, Value};

use super::values::{pairs, to_template};

/// What a template is rendered with.
///
/// Name what you give, and take the rest from [`RenderInput::default`]; so your code goes on to work
/// when there is more that can be given.
///
/// ```
/// use unjinja::chat_template::RenderInput;
/// use unjinja::json;
///
/// let input = RenderInput {
///     messages: json::read(r#"[{"role": "user", "content": "Hi"}]"#)?,
///     add_generation_prompt: true,
///     ..RenderInput::default()
/// };
/// assert!(input.tools.is_null());
/// # Ok::<(), unjinja::json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RenderInput {
    /// The conversation.
    pub messages: Value,
    /// The tools that are offered: a list, or null.
    pub tools: Value,
    /// Whether the prompt is to end with the beginning of the assistant's turn.
    pub add_generation_prompt: bool,
    /// Further variables of the template. They win over those of the same name.
    pub variables: Object,
    /// The text that begins a prompt, if the model has one.
    pub bos_token: Option<String>,
    /// The text that ends a turn or a document, if the model has one.
    pub eos_token: Option<String>,
    /// What the template takes for the current time; without it, it is asked of the system.
    pub now: Option<DateTime>,
}

impl RenderInput {
    /// The same with these tokens where it names none.
    pub(crate) fn or_tokens(
        &self,
        bos_token: Option<&str>,
        eos_token: Option<&str>,
    ) -> RenderInput {
        let mut input = self.clone();
        input.bos_token = input.bos_token.or_else(|| bos_token.map(str::to_owned));
        input.eos_token = input.eos_token.or_else(|| eos_token.map(str::to_owned));
        input
    }
}

/// The names under which a message's reasoning may stand; the first is the one that most templates read.
pub(crate) const REASONING_KEYS: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// The other names under which templates read reasoning.
pub(crate) const OTHER_REASONING_KEYS: [&str; 10] = [
    "thought",
    "thoughts",
    "think",
    "thinking_content",
    "reasoning_text",
    "rationale",
    "scratchpad",
    "reflection",
    "analysis",
    "cot",
];

/// About how much is given, in bytes: of strings their length, and a few for each value.
pub(super) fn size(input: &RenderInput) -> usize {
    const EACH: usize = 16;
    let mut size = 0;
    let mut left = vec![&input.messages, &input.tools];
    while let Some(value) = left.pop() {
        size += EACH;
        match value {
            Value::String(text) => size += text.as_str().map_or(0, str::len),
            Value::Array(items) => left.extend(items),
            Value::Object(entries) => left.extend(entries.iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    size
}

/// All variables of a rendering, the tools as templates have them among them.
pub(super) fn context(input: &RenderInput, tools: minijinja::Value) -> minijinja::Value {
    let tokens = [
        ("bos_token", &input.bos_token),
        ("eos_token", &input.eos_token),
    ];
    let tokens = tokens
        .into_iter()
        .filter_map(|(name, token)| Some((name, minijinja::Value::from(token.as_deref()?))));
    let own = [
        ("messages", messages(&input.messages)),
        ("tools", tools),
        ("documents", to_template(&Value::Null)),
        ("add_generation_prompt", input.add_generation_prompt.into()),
    ];
    let own = own.into_iter().chain(tokens);
    let own = own.map(|(name, value)| (minijinja::Value::from(name), value));
    minijinja::Value::from_pairs(own.chain(pairs(&input.variables)))
}

/// The messages, each with its reasoning also under the names that templates read.
fn messages(messages: &Value) -> minijinja::Value {
    match messages {
        Value::Array(messages) => messages.iter().map(message).collect(),
        other => to_template(other),
    }
}

fn message(message: &Value) -> minijinja::Value {
    let object = message.as_object();
    let reasoning = REASONING_KEYS.iter().find_map(|key| {
        let value = object?.get(key);
        value.filter(|value| !value.is_null())
    });
    let (Some(object), Some(reasoning)) = (object, reasoning) else {
        return to_template(message);
    };
    let alias = |name: &str| [(minijinja::Value::from(name), to_template(reasoning))];
    let first = alias("thinking").into_iter();
    minijinja::Value::from_pairs(first.chain(pairs(object)).chain(alias("reasoning_content")))
}
