//! The conversations that drafts are tried on, and the tools in them.

use std::borrow::Cow;

use crate::analysis::assistant_turn::{AssistantTurn, ToolCall};
use crate::analysis::turn_prober::PrecedingMessages;
use crate::json;
use crate::response::Tools;
use crate::value::{Object, Value};

// An empty line stands in it: what ends a thought at a line break is found out.
pub(super) const THOUGHT: &str = "They ask about the tide.\n\nA table would tell, so I look there.";
pub(super) const ANSWER: &str = "High water is at noon.";
pub(super) const LEAD: &str = "One moment, I look it up.";
// An example of a call, which has to stay text.
const CODE: &str =
    "Try this:\n\n```json\n{\"name\": \"tide\", \"arguments\": {}}\n```\n\nThat should do.";
// Quotes of both kinds, brackets, an escape, a tag, and signs beyond ASCII, all of which a format may take for its
// own.
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
                "written": {"type": "object", "description": "How they are written",
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
    let written = Object::from_iter([("language", "fr")]);
    tool_call(
        "find_pages",
        &[
            ("words", "neap tide".into()),
            ("most", 25.into()),
            ("strict", true.into()),
            ("weight", 0.5.into()),
            ("places", place.into()),
            // The last, by the order of the keys as well: where nothing closes the call, it takes along what follows.
            ("written", written.into()),
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
    pub(super) name: Cow<'static, str>,
    /// What comes before the assistant's turn.
    pub(super) preceding: PrecedingMessages,
    /// The assistant's turn, with which it ends.
    pub(super) turn: AssistantTurn,
    /// Whether tools are offered.
    pub(super) has_tools: bool,
}

/// All conversations, from the plainest on.
pub(super) fn conversations() -> Vec<Conversation> {
    use PrecedingMessages::{AfterTool, Question, SecondQuestion};
    let (tide, pages, knock) = (tide_call(), pages_call(), tool_call("knock", &[]));
    let (code, digits) = (
        note_call("bits/a b.py", AWKWARD),
        // Texts that look like values of other types have to stay texts.
        note_call("40100", "false"),
    );
    // What each is about, and what comes before the turn; what is thought, said and called in it, and whether
    // tools are offered.
    #[rustfmt::skip]
    let rows: [(_, _, _, _, &[&ToolCall], _); 18] = [
        ("an answer", Question, "", ANSWER, &[], false),
        ("an answer, with tools at hand", Question, "", ANSWER, &[], true),
        ("a thought and an answer", Question, THOUGHT, ANSWER, &[], false),
        ("an answer with code in it", Question, "", CODE, &[], false),
        ("a second answer", SecondQuestion, "", ANSWER, &[], false),
        ("a call", Question, "", "", &[&tide], true),
        ("a text and a call", Question, "", LEAD, &[&tide], true),
        ("a thought and a call", Question, THOUGHT, "", &[&tide], true),
        ("a thought, a text and a call", Question, THOUGHT, LEAD, &[&tide], true),
        ("two calls", Question, "", "", &[&tide, &pages], true),
        ("a text and two calls", Question, "", LEAD, &[&pages, &tide], true),
        ("three calls", Question, "", "", &[&pages, &knock, &tide], true),
        ("a call with values of all types", Question, "", "", &[&typed_call()], true),
        ("a call without arguments", Question, "", "", &[&knock], true),
        ("a call with code in it", Question, "", "", &[&code], true),
        ("a call with texts that look like numbers", Question, "", "", &[&digits], true),
        ("an answer after a call", AfterTool, "", ANSWER, &[], true),
        ("a thought and an answer after a call", AfterTool, THOUGHT, ANSWER, &[], true),
    ];
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let rows = rows.into_iter();
    let conversations =
        rows.map(
            |(name, preceding, thought, said, calls, has_tools)| Conversation {
                name: Cow::from(name),
                preceding,
                turn: AssistantTurn {
                    reasoning: text(thought),
                    content: text(said),
                    calls: calls.iter().copied().cloned().collect(),
                },
                has_tools,
            },
        );
    conversations.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_conversation_is_another_and_calls_what_is_declared() {
        let tools = tools();
        let mut names = HashSet::new();
        for conversation in conversations() {
            let Conversation {
                name,
                turn,
                has_tools,
                ..
            } = conversation;
            assert!(names.insert(name.clone()), "{name}");
            assert_eq!(turn.reasoning.is_some(), name.contains("thought"), "{name}");
            // A call of something else would be one that no chat template has to write.
            for call in &turn.calls {
                let tool = tools.as_list().iter().find(|tool| {
                    let declared = tool.pointer("/function/name");
                    declared.and_then(Value::as_str) == Some(call.name.as_str())
                });
                let properties =
                    tool.and_then(|tool| tool.pointer("/function/parameters/properties"));
                let properties = properties.and_then(Value::as_object).expect(&name);
                let mut keys = call.arguments.iter().map(|(key, _)| key.to_string_lossy());
                assert!(has_tools, "{name}");
                assert!(keys.all(|key| properties.contains_key(&key)), "{name}");
            }
        }
    }
}
