//! Outputs as a template itself writes them, for want of a model's.

use crate::analysis::Findings;
use crate::chat_template::{ChatTemplate, REASONING_KEYS, RenderInput};
use crate::conversation::{HeaderSide, Marking, MaskError, MaskPolicy};
use crate::value::{Object, Value, object};

/// An output, with the conversation before it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Example {
    /// What is said, in words.
    pub name: &'static str,
    /// The conversation before the output.
    pub conversation: RenderInput,
    /// What a model would have written.
    pub output: String,
}

/// Each letter is a message: `u` a user's, `o` a tool's answer, and of the assistant `t` a text, `r` thoughts and a text,
/// `c` a call, `q` thoughts and a call.
const CONVERSATIONS: [(&str, &str); 10] = [
    ("ut", "a text"),
    ("ur", "thoughts and a text"),
    ("uc", "a call"),
    ("uq", "thoughts and a call"),
    ("ucot", "a text after a result"),
    ("uqor", "thoughts and a text after a result"),
    ("uqoq", "thoughts and a call after a result"),
    ("utut", "a text after a second question"),
    ("urur", "thoughts and a text after a second question"),
    ("uqoruq", "thoughts and a call after a second question"),
];

/// Outputs of all kinds that a template writes, as far as it takes them. `base` has what all conversations have in common.
///
/// # Errors
///
/// If it can't be told where in the template the model's turns begin and end.
pub fn examples(template: &ChatTemplate, base: &RenderInput) -> Result<Vec<Example>, MaskError> {
    let policy = MaskPolicy {
        header: HeaderSide::Out,
        ..MaskPolicy::default()
    };
    let reasoning = Findings::of(template, base)?.reasoning;
    let writer = Writer {
        marking: Marking::of(template, base, policy)?,
        close: reasoning.and_then(|reasoning| reasoning.close),
        base,
    };
    let examples = CONVERSATIONS.iter().filter_map(|(shape, name)| {
        let mut all = IDS.iter().map(|ids| writer.example(shape, name, ids));
        all.find_map(|example| example)
    });
    Ok(examples.collect())
}

/// How the ids of calls begin; some templates want them to have nine letters.
const IDS: [&str; 2] = ["call_", "call0000"];

/// What is thought in examples.
const THOUGHT: &str = "Four times four: the fourth multiple of four.";

struct Writer<'b> {
    marking: Marking,
    /// What closes thoughts.
    close: Option<String>,
    base: &'b RenderInput,
}

impl Writer<'_> {
    fn example(&self, shape: &str, name: &'static str, ids: &str) -> Option<Example> {
        let messages = shape
            .chars()
            .enumerate()
            .map(|(index, letter)| message(index, letter, ids));
        let messages: Vec<Value> = messages.collect();
        let (last, before) = messages.split_last()?;
        let given = |messages: &[Value], add_generation_prompt| RenderInput {
            messages: messages.to_vec().into(),
            tools: match shape.contains(['c', 'q']) {
                true => vec![tool()].into(),
                false => Value::Null,
            },
            add_generation_prompt,
            ..self.base.clone()
        };
        let masked = self.marking.mask(&given(&messages, false)).ok()?;
        let prompt = self.marking.mask(&given(before, true)).ok()?.text;
        let span = masked.spans.ranges().last()?.clone();
        let written: String = masked.text.chars().take(span.end).collect();
        let thinks = last.get(REASONING_KEYS[0]).is_some();
        let output = match (written.strip_prefix(prompt.as_str()), &self.close) {
            (Some(output), _) => output.to_owned(),
            // The prompt opens thoughts that are not written in the conversation.
            (None, Some(close)) => {
                let turn: String = written.chars().skip(span.start).collect();
                let thought = if thinks { THOUGHT } else { "" };
                format!("{thought}\n{close}\n\n{turn}")
            }
            (None, None) => return None,
        };
        let says = |word: &str| output.contains(word);
        let is_called = last.get("tool_calls").is_some();
        let is_whole = (!thinks || says(THOUGHT))
            && match is_called {
                true => says("square") && says("number"),
                false => says("It is sixteen."),
            };
        is_whole.then(|| Example {
            name,
            conversation: given(before, false),
            output,
        })
    }
}

fn message(index: usize, letter: char, ids: &str) -> Value {
    let id = |index: usize| format!("{ids}{index}");
    let mut message = match letter {
        'u' => object! {"role": "user", "content": format!("What is four squared? ({index})")},
        'o' => object! {
            "role": "tool",
            "tool_call_id": id(index - 1),
            "name": "square",
            "content": r#"{"result": 16}"#,
        },
        'c' | 'q' => {
            let function =
                object! {"name": "square", "arguments": object! {"number": 4, "exact": true}};
            let call = object! {"id": id(index), "type": "function", "function": function};
            object! {"role": "assistant", "content": "", "tool_calls": Value::from_iter([call])}
        }
        _ => object! {"role": "assistant", "content": "It is sixteen."},
    };
    if matches!(letter, 'r' | 'q') {
        message.insert(
            REASONING_KEYS[0],
            "Four times four: the fourth multiple of four.",
        );
    }
    Value::from(message)
}

fn tool() -> Value {
    let properties: Object = object! {
        "number": object! {"type": "integer", "description": "The number"},
        "exact": object! {"type": "boolean", "description": "Whether it is to be exact"},
    };
    let parameters = object! {"type": "object", "properties": properties};
    let function = object! {
        "name": "square",
        "description": "Squares a number",
        "parameters": parameters,
    };
    object! {"type": "function", "function": function}.into()
}
