//! The conversations that drafts are tried on, and the tools in them.

use crate::analysis::assistant_turn::{AssistantTurn, ToolCall};
use crate::analysis::turn_prober::Situation;
use crate::json;
use crate::response::Tools;
use crate::value::{Object, Value};

pub(super) const THOUGHT: &str = "They ask about the tide.\n\nA table would tell, so I look there.";
pub(super) const ANSWER: &str = "High water is at noon.";
pub(super) const LEAD: &str = "One moment, I look it up.";
const CODE: &str =
    "Try this:\n\n```json\n{\"name\": \"tide\", \"arguments\": {}}\n```\n\nThat should do.";
const AWKWARD: &str = "for x in [1]:\n    put({'a': \"<i>\", \"b\": [x, '\\n']})  # naïve → 水\n";

/// The tools that the calls of the samples are calls of.
pub(super) fn tools() -> Tools {
    let tools = r#"[
        {"type": "function", "function": {"name": "read_tide", "description": "Tells the tide",
            "parameters": {"type": "object", "properties": {
                "harbour": {"type": "string", "description": "Where"},
                "scale": {"type": "string", "description": "Metres or feet"}},
                "required": ["harbour"]}}},
        {"type": "function", "function": {"name": "find_pages", "description": "Looks for pages",
            "parameters": {"type": "object", "properties": {
                "words": {"type": "string", "description": "What to look for"},
                "most": {"type": "integer", "description": "How many at most"},
                "strict": {"type": "boolean", "description": "Whether all words must be there"},
                "weight": {"type": "number", "description": "How much they count"},
                "places": {"type": "array", "items": {"type": "string"}, "description": "Where"},
                "with": {"type": "object", "description": "What else they need",
                    "properties": {}, "additionalProperties": {"type": "string"}}},
                "required": ["words"]}}},
        {"type": "function", "function": {"name": "save_note", "description": "Keeps a text",
            "parameters": {"type": "object", "properties": {
                "title": {"type": "string", "description": "Its name"},
                "body": {"type": "string", "description": "The text"}},
                "required": ["title", "body"]}}},
        {"type": "function", "function": {"name": "knock", "description": "Sees who is there",
            "parameters": {"type": "object", "properties": {}, "required": []}}}
    ]"#;
    Tools::from_value(&json::read(tools).unwrap_or_default())
}

fn tool_call(name: &str, arguments: &[(&str, Value)]) -> ToolCall {
    let pairs = arguments.iter();
    ToolCall::new(
        name,
        pairs.map(|(key, value)| ((*key).to_owned(), value.clone())),
    )
}

/// The call of most conversations.
pub(super) fn tide_call() -> ToolCall {
    tool_call(
        "read_tide",
        &[("harbour", "Brest".into()), ("scale", "metres".into())],
    )
}

fn pages_call() -> ToolCall {
    tool_call(
        "find_pages",
        &[("words", "spring tide".into()), ("most", 3.into())],
    )
}

fn typed_call() -> ToolCall {
    let place: Vec<Value> = vec!["north".into(), "south".into()];
    let with = Object::from_iter([("language", "fr")]);
    tool_call(
        "find_pages",
        &[
            ("words", "neap tide".into()),
            ("most", 25.into()),
            ("strict", true.into()),
            ("weight", 0.5.into()),
            ("places", place.into()),
            ("with", with.into()),
        ],
    )
}

fn note_call(title: &str, body: &str) -> ToolCall {
    tool_call(
        "save_note",
        &[("title", title.into()), ("body", body.into())],
    )
}

/// A conversation to be rendered.
pub(super) struct Conversation {
    /// What it is about.
    pub(super) name: &'static str,
    /// What comes before the assistant's turn.
    pub(super) situation: Situation,
    /// The assistant's turn, with which it ends.
    pub(super) turn: AssistantTurn,
    /// Whether tools are offered.
    pub(super) has_tools: bool,
}

/// All conversations, from the plainest on.
pub(super) fn conversations() -> Vec<Conversation> {
    let conversation = |name, situation, turn, has_tools| Conversation {
        name,
        situation,
        turn,
        has_tools,
    };
    let question = |name, turn, has_tools| conversation(name, Situation::Question, turn, has_tools);
    let calls = |calls: &[ToolCall]| AssistantTurn::calls(calls.iter().cloned());
    vec![
        question("an answer", AssistantTurn::content(ANSWER), false),
        question(
            "an answer, with tools at hand",
            AssistantTurn::content(ANSWER),
            true,
        ),
        question(
            "a thought and an answer",
            AssistantTurn::content(ANSWER).with_reasoning(THOUGHT),
            false,
        ),
        question(
            "an answer with code in it",
            AssistantTurn::content(CODE),
            false,
        ),
        conversation(
            "a second answer",
            Situation::SecondQuestion,
            AssistantTurn::content(ANSWER),
            false,
        ),
        question("a call", calls(&[tide_call()]), true),
        question(
            "a text and a call",
            calls(&[tide_call()]).with_content(LEAD),
            true,
        ),
        question(
            "a thought and a call",
            calls(&[tide_call()]).with_reasoning(THOUGHT),
            true,
        ),
        question(
            "a thought, a text and a call",
            calls(&[tide_call()])
                .with_reasoning(THOUGHT)
                .with_content(LEAD),
            true,
        ),
        question("two calls", calls(&[tide_call(), pages_call()]), true),
        question(
            "a text and two calls",
            calls(&[pages_call(), tide_call()]).with_content(LEAD),
            true,
        ),
        question(
            "three calls",
            calls(&[pages_call(), tool_call("knock", &[]), tide_call()]),
            true,
        ),
        question(
            "a call with values of all types",
            calls(&[typed_call()]),
            true,
        ),
        question(
            "a call without arguments",
            calls(&[tool_call("knock", &[])]),
            true,
        ),
        question(
            "a call with code in it",
            calls(&[note_call("bits/a b.py", AWKWARD)]),
            true,
        ),
        question(
            "a call with texts that look like numbers",
            calls(&[note_call("40100", "false")]),
            true,
        ),
        conversation(
            "an answer after a call",
            Situation::AfterTool,
            AssistantTurn::content(ANSWER),
            true,
        ),
        conversation(
            "a thought and an answer after a call",
            Situation::AfterTool,
            AssistantTurn::content(ANSWER).with_reasoning(THOUGHT),
            true,
        ),
    ]
}
