//! The conversations that drafts are tried on, and the tools in them.

use crate::analysis::asking::{Called, Said, Scene};
use crate::json;
use crate::value::{Object, Value};

pub(super) const THOUGHT: &str = "They ask about the tide.\n\nA table would tell, so I look there.";
pub(super) const ANSWER: &str = "High water is at noon.";
pub(super) const LEAD: &str = "One moment, I look it up.";
const CODE: &str =
    "Try this:\n\n```json\n{\"name\": \"tide\", \"arguments\": {}}\n```\n\nThat should do.";
const AWKWARD: &str = "for x in [1]:\n    put({'a': \"<i>\", \"b\": [x, '\\n']})  # naïve → 水\n";

/// The tools that the calls of the samples are calls of.
pub(super) fn tools() -> Value {
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
    json::read(tools).unwrap_or_default()
}

fn called(name: &str, arguments: &[(&str, Value)]) -> Called {
    let pairs = arguments.iter();
    Called::new(
        name,
        pairs.map(|(key, value)| ((*key).to_owned(), value.clone())),
    )
}

/// The call of most conversations.
pub(super) fn tide() -> Called {
    called(
        "read_tide",
        &[("harbour", "Brest".into()), ("scale", "metres".into())],
    )
}

fn pages() -> Called {
    called(
        "find_pages",
        &[("words", "spring tide".into()), ("most", 3.into())],
    )
}

fn typed() -> Called {
    let place: Vec<Value> = vec!["north".into(), "south".into()];
    let with = Object::from_iter([("language", "fr")]);
    called(
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

fn note(title: &str, body: &str) -> Called {
    called(
        "save_note",
        &[("title", title.into()), ("body", body.into())],
    )
}

/// A conversation to be rendered.
pub(super) struct Plan {
    pub(super) name: &'static str,
    pub(super) scene: Scene,
    pub(super) said: Said,
    /// Whether tools are offered.
    pub(super) tools: bool,
}

/// All conversations, from the plainest on.
pub(super) fn plans() -> Vec<Plan> {
    let plan = |name, scene, said, tools| Plan {
        name,
        scene,
        said,
        tools,
    };
    let question = |name, said, tools| plan(name, Scene::Question, said, tools);
    let calls = |calls: &[Called]| Said::calls(calls.iter().cloned());
    vec![
        question("an answer", Said::content(ANSWER), false),
        question("an answer, with tools at hand", Said::content(ANSWER), true),
        question(
            "a thought and an answer",
            Said::content(ANSWER).reasoning(THOUGHT),
            false,
        ),
        question("an answer with code in it", Said::content(CODE), false),
        plan(
            "a second answer",
            Scene::SecondQuestion,
            Said::content(ANSWER),
            false,
        ),
        question("a call", calls(&[tide()]), true),
        question(
            "a text and a call",
            calls(&[tide()]).with_content(LEAD),
            true,
        ),
        question(
            "a thought and a call",
            calls(&[tide()]).reasoning(THOUGHT),
            true,
        ),
        question(
            "a thought, a text and a call",
            calls(&[tide()]).reasoning(THOUGHT).with_content(LEAD),
            true,
        ),
        question("two calls", calls(&[tide(), pages()]), true),
        question(
            "a text and two calls",
            calls(&[pages(), tide()]).with_content(LEAD),
            true,
        ),
        question(
            "three calls",
            calls(&[pages(), called("knock", &[]), tide()]),
            true,
        ),
        question("a call with values of all types", calls(&[typed()]), true),
        question(
            "a call without arguments",
            calls(&[called("knock", &[])]),
            true,
        ),
        question(
            "a call with code in it",
            calls(&[note("bits/a b.py", AWKWARD)]),
            true,
        ),
        question(
            "a call with texts that look like numbers",
            calls(&[note("40100", "false")]),
            true,
        ),
        plan(
            "an answer after a call",
            Scene::AfterTool,
            Said::content(ANSWER),
            true,
        ),
        plan(
            "a thought and an answer after a call",
            Scene::AfterTool,
            Said::content(ANSWER).reasoning(THOUGHT),
            true,
        ),
    ]
}
