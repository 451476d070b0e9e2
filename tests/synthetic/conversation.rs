//! Conversations, and the tools that they are about.

use unjinja::{Object, Value, json};

use crate::synthetic::format::{Body, Calls, Format, Ids, Json, Keys};
use crate::synthetic::random::Random;

/// What the assistant says at the end of a conversation.
#[derive(Debug, Clone)]
pub struct Case {
    pub name: &'static str,
    pub before: Before,
    pub thought: Option<&'static str>,
    pub content: Option<&'static str>,
    pub calls: Vec<(&'static str, Object)>,
}

/// What comes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    Question,
    /// A system's message, a question, an answer, and another question.
    Talk,
    /// A question, a call, and what came of it.
    Result,
}

/// The tools that are offered.
pub fn tools() -> Value {
    let tools = r#"[
        {"type": "function", "function": {"name": "look_up", "description": "Looks up a word",
            "parameters": {"type": "object", "properties": {
                "word": {"type": "string"},
                "limit": {"type": "integer"},
                "exact": {"type": "boolean"}}, "required": ["word"]}}},
        {"type": "function", "function": {"name": "bookTable", "description": "Books a table",
            "parameters": {"type": "object", "properties": {
                "place": {"type": "string"},
                "guests": {"type": "integer"},
                "budget": {"type": "number"},
                "outside": {"type": "boolean"},
                "dishes": {"type": "array", "items": {"type": "string"}},
                "extra_wishes": {"type": "object"}}, "required": ["place", "guests"]}}},
        {"type": "function", "function": {"name": "write_file2", "description": "Writes a file",
            "parameters": {"type": "object", "properties": {
                "path": {"type": "string"},
                "text": {"type": "string"}}, "required": ["path", "text"]}}},
        {"type": "function", "function": {"name": "calendar.add_event", "description": "Adds a date",
            "parameters": {"type": "object", "properties": {
                "title": {"type": "string"},
                "Day_Of_Month": {"type": "integer"}}, "required": ["title"]}}},
        {"type": "function", "function": {"name": "ping", "description": "Says hello",
            "parameters": {"type": "object", "properties": {}}}}
    ]"#;
    json::read(tools).expect("the tools are JSON")
}

const PLAIN: [&str; 5] = [
    "Lisbon",
    "green tea",
    "src/main.rs",
    "x",
    "a longer text, with a comma",
];

/// Strings that a careless parser would stumble over.
const AWKWARD: [&str; 18] = [
    "She said \"hi\" and left.",
    "it's 'quoted'",
    "\"",
    "first line\nsecond line\n\n  fourth line",
    "ends with a line\n",
    "\nbegins with one",
    "  two spaces before, two after  ",
    "if a < b && c > d: pass",
    "<b>bold</b> and <br/>",
    "<div class=\"x\">\n  <p>text</p>\n</div>",
    "naïve café – 東京 🗼",
    "C:\\new\\table\\u0041",
    "{\"a\": [1, 2], \"b\": {}}",
    "f(x, y=[1, 2])}]",
    "a, b = c; d: e | f & g",
    "tabs\tand\\n escapes",
    "[1] {2} (3) $4",
    "",
];

/// Texts that look like values of another type.
const LIKE_VALUES: [&str; 8] = [
    "42", "-3.50", "007", "true", "False", "null", "None", "[1, 2]",
];

const ANSWERS: [&str; 4] = [
    "It is sunny in Lisbon.",
    "Here you are:\n\n- one\n- two\n\nAnything else?",
    "A \"quoted\" <b>word</b>, 2 < 3, naïve 東京.",
    "Run this:\n\n```python\nprint({\"name\": \"x\", \"arguments\": [1]})\n```\n\nIt prints a dictionary.",
];

const LEADS: [&str; 3] = [
    "Let me look that up.",
    "One moment.\nI will check two things:",
    "Sure!",
];

const THOUGHTS: [&str; 3] = [
    "They want the weather.",
    "First, the question.\n\nSecond, the answer: a < b, so \"yes\".",
    "Hm. Is it 3 or 4? I will say 3.",
];

fn object(pairs: &[(&str, Value)]) -> Object {
    pairs
        .iter()
        .map(|(key, value)| (*key, value.clone()))
        .collect()
}

fn value(text: &str) -> Value {
    json::read(text).expect("a value")
}

/// The cases for a format, each a bit different for another seed.
pub fn cases(format: &Format, random: &mut Random) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name, before, thought, content, calls: Vec<(&'static str, Object)>| {
        cases.push(Case {
            name,
            before,
            thought,
            content,
            calls,
        });
    };
    let befores = [Before::Question, Before::Talk, Before::Result];
    let before = |random: &mut Random| match format.calls {
        Some(_) => random.pick(&befores),
        None => random.pick(&befores[..2]),
    };
    let answer = |random: &mut Random| Some(random.pick(&ANSWERS));
    let lead = |random: &mut Random| Some(random.pick(&LEADS));
    let thought = |random: &mut Random| Some(random.pick(&THOUGHTS));
    add("content", Before::Question, None, answer(random), vec![]);
    add(
        "content later",
        before(random),
        None,
        answer(random),
        vec![],
    );
    let thinks = format.reasoning.is_some();
    if thinks {
        let (t, a) = (thought(random), answer(random));
        add("thought + content", Before::Question, t, a, vec![]);
        let (b, t, a) = (before(random), thought(random), answer(random));
        add("thought + content later", b, t, a, vec![]);
    }
    let Some(calls) = &format.calls else {
        return cases;
    };
    let simple = |random: &mut Random| {
        let word = random.pick(&PLAIN);
        // A name with a dot is no key without quotes.
        match random.below(if names_are_keys(calls) { 3 } else { 4 }) {
            0 => ("look_up", object(&[("word", word.into())])),
            1 => {
                let limit = random.pick(&[0_i64, 7, -12, 1_234_567]);
                (
                    "look_up",
                    object(&[("word", word.into()), ("limit", limit.into())]),
                )
            }
            2 => {
                let text = random.pick(&ANSWERS);
                (
                    "write_file2",
                    object(&[("path", word.into()), ("text", text.into())]),
                )
            }
            _ => {
                let day = random.pick(&[1_i64, 31]);
                (
                    "calendar.add_event",
                    object(&[("title", word.into()), ("Day_Of_Month", day.into())]),
                )
            }
        }
    };
    let one = simple(random);
    add("call", Before::Question, None, None, vec![one]);
    let (b, one) = (before(random), simple(random));
    add("call later", b, None, None, vec![one]);
    let (b, l, one) = (before(random), lead(random), simple(random));
    add("content + call", b, None, l, vec![one]);
    if thinks {
        let (b, t, one) = (before(random), thought(random), simple(random));
        add("thought + call", b, t, None, vec![one]);
        let (b, t, l) = (before(random), thought(random), lead(random));
        let one = simple(random);
        add("thought + content + call", b, t, l, vec![one]);
    }
    let ping = || ("ping", Object::new());
    add("no arguments", before(random), None, None, vec![ping()]);
    let typed = object(&[
        ("place", random.pick(&PLAIN).into()),
        ("guests", random.pick(&[1_i64, 0, 25]).into()),
        (
            "budget",
            random.pick(&[0.5_f64, -12.75, 3.0, 100.25]).into(),
        ),
        ("outside", (random.below(2) == 0).into()),
        (
            "dishes",
            value(random.pick(&[
                "[\"soup\", \"fish & chips\"]",
                "[\"x\"]",
                "[\"it's\", \"ok\"]",
                "[\"a [b], {c\", \"d) e]\"]",
                "[]",
            ])),
        ),
        (
            "extra_wishes",
            value(random.pick(&[
                "{\"music\": \"none\", \"lamps\": 2}",
                "{\"list\": [1, 2]}",
                "{\"a\": \"} ] )\", \"b\": {\"c\": [0.5, \"x\"]}}",
                "{}",
            ])),
        ),
    ]);
    add(
        "types",
        Before::Question,
        None,
        None,
        vec![("bookTable", typed)],
    );
    let mut awkward = Vec::new();
    for _ in 0..2 {
        let pair = [
            ("path", random.pick(&AWKWARD).into()),
            ("text", random.pick(&AWKWARD).into()),
        ];
        awkward.push(("write_file2", object(&pair)));
    }
    for call in awkward {
        add("awkward strings", before(random), None, None, vec![call]);
    }
    let pair = [
        ("path", random.pick(&LIKE_VALUES).into()),
        ("text", random.pick(&LIKE_VALUES).into()),
    ];
    let like_values = ("write_file2", object(&pair));
    add(
        "strings like values",
        Before::Question,
        None,
        None,
        vec![like_values],
    );
    if calls.several {
        let (a, b) = (simple(random), simple(random));
        add("two calls", before(random), None, None, vec![a, b]);
        let (a, b) = (simple(random), simple(random));
        let mut three = vec![a, b];
        three.insert(random.below(3), ping());
        let (t, l) = match thinks && random.chance(50) {
            true => (thought(random), None),
            false => (None, lead(random)),
        };
        let b = before(random);
        let name = if t.is_some() {
            "thought + three calls"
        } else {
            "content + three calls"
        };
        add(name, b, t, l, three);
    }
    cases
}

/// Whether names are keys without quotes.
fn names_are_keys(calls: &Calls) -> bool {
    let Body::Object { keys, json, .. } = &calls.body else {
        return false;
    };
    *keys == Keys::NameAsKey && matches!(json, Json::Dialect(_))
}

fn message(role: &str, content: &str) -> Object {
    Object::from_iter([("role", role), ("content", content)])
}

fn id(ids: Ids, name: &str, index: usize) -> String {
    match ids {
        Ids::Nine => format!("aB3dE{:04}", 7010 + index),
        Ids::Prefixed => format!("call_x{:05}", 60_210 + index),
        Ids::Named => format!("functions.{name}:{index}"),
    }
}

fn assistant(format: &Format, case: &Case) -> Object {
    let mut message = message("assistant", case.content.unwrap_or_default());
    if let Some(thought) = case.thought {
        message.insert("reasoning", thought);
    }
    if let (Some(shape), false) = (&format.calls, case.calls.is_empty()) {
        let calls = case.calls.iter().enumerate();
        let calls = calls.map(|(index, (name, arguments))| {
            let mut function = Object::from_iter([("name", *name)]);
            function.insert("arguments", arguments.clone());
            let mut call = Object::from_iter([("type", "function")]);
            call.insert("id", id(shape.ids, name, index));
            call.insert("function", function);
            Value::from(call)
        });
        message.insert("tool_calls", calls.collect::<Vec<Value>>());
    }
    message
}

/// The messages before the last one, and the last one.
pub fn messages(format: &Format, case: &Case) -> (Vec<Value>, Value) {
    let question = message("user", "How is the weather in Lisbon?").into();
    let earlier = |thought, content, calls| {
        let case = Case {
            name: "",
            before: Before::Question,
            thought,
            content,
            calls,
        };
        Value::from(assistant(format, &case))
    };
    let before = match case.before {
        Before::Question => vec![question],
        Before::Talk => vec![
            message("system", "You are friendly.").into(),
            message("user", "Hello!").into(),
            earlier(Some("A greeting."), Some("Good morning!"), vec![]),
            question,
        ],
        Before::Result => {
            let call = ("look_up", object(&[("word", "weather".into())]));
            let mut result = message("tool", "sunny, 24 degrees");
            let ids = format
                .calls
                .as_ref()
                .map_or(Ids::Prefixed, |calls| calls.ids);
            result.insert("name", "look_up");
            result.insert("tool_call_id", id(ids, "look_up", 0));
            vec![question, earlier(None, None, vec![call]), result.into()]
        }
    };
    (before, assistant(format, case).into())
}
