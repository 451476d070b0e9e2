//! Whole conversations are read back from what chat templates make of them.

use std::fs;

use proptest::prelude::*;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::conversation::{Conversation, ConversationReader, Ending, Marking, MaskPolicy, Proof};
use unjinja::format::ConversationSlot;
use unjinja::{Value, json};

use crate::synthetic::{conversation, jinja, maker, random};

use crate::root;

fn value(text: &str) -> Value {
    json::read(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn base() -> RenderInput {
    RenderInput {
        bos_token: Some("<s>".to_owned()),
        eos_token: Some("</s>".to_owned()),
        now: Some("2026-01-15T12:00:00".parse().expect("a time")),
        ..RenderInput::default()
    }
}

fn template(jinja: &str) -> ChatTemplate {
    ChatTemplate::from_jinja(jinja)
}

fn reader(jinja: &str) -> ConversationReader {
    ConversationReader::new(&template(jinja), &base()).expect("the template renders a question")
}

/// A template with a system's text, reasoning, calls and tools.
const AGENT: &str = "{% if tools %}<tools>{% for t in tools %}{{ t | tojson }}\n{% endfor %}</tools>{% endif %}\
    {% for m in messages %}{% if m.role == 'tool' %}<result {{ m.name }}>{{ m.content }}</result>{% else %}\
    <{{ m.role }}>{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}\
    {{ m.content }}{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}<end>\
    {% endif %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

/// A template that knows no tools.
const PLAIN: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
    {% if add_generation_prompt %}<assistant>{% endif %}";

const TOOLS: &str = r#"[
    {"type": "function", "function": {"name": "weather", "description": "The weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "Where"},
        "days": {"type": "integer", "description": "How many"}}, "required": ["city"]}}},
    {"type": "function", "function": {"name": "ring", "description": "Rings a bell",
        "parameters": {"type": "object", "properties": {}, "required": []}}}
]"#;

const CONVERSATIONS: &[(&str, bool, &str)] = &[
    (
        "short",
        false,
        r#"[{"role": "user", "content": "Good morning"}, {"role": "assistant", "content": "And to you."}]"#,
    ),
    (
        "system",
        false,
        r#"[{"role": "system", "content": "Speak as sailors do."}, {"role": "user", "content": "Who goes there?"},
            {"role": "assistant", "content": "A friend."}, {"role": "user", "content": "Pass."},
            {"role": "assistant", "content": "Aye:\n\n- one\n- two"}]"#,
    ),
    (
        "thinks",
        false,
        r#"[{"role": "user", "content": "What is 6 x 7?"},
            {"role": "assistant", "content": "It is 42.", "reasoning_content": "Six sevens."}]"#,
    ),
    (
        "calls",
        true,
        r#"[{"role": "user", "content": "Rain in Oslo?"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "abcdefghi", "type": "function",
                "function": {"name": "weather", "arguments": {"city": "Oslo", "days": 2}}}]},
            {"role": "tool", "tool_call_id": "abcdefghi", "name": "weather", "content": "rain, then sun"},
            {"role": "assistant", "content": "It will clear up."},
            {"role": "user", "content": "Good."},
            {"role": "assistant", "content": "Indeed."}]"#,
    ),
];

/// What a conversation says, as far as its text shows it.
fn said(messages: &Value, text: &str) -> Vec<String> {
    let messages = messages.as_array().unwrap_or_default().iter();
    let messages = messages.filter_map(|message| {
        let role = message.get("role")?.as_str()?;
        let texts = |value: Option<&Value>| match value {
            Some(Value::Array(parts)) => parts
                .iter()
                .filter_map(|part| part.get("text")?.as_str())
                .collect::<String>(),
            Some(value) => value.as_str().unwrap_or_default().to_owned(),
            None => String::new(),
        };
        let shown = |said: String| match text.contains(said.trim()) {
            true => said.trim().to_owned(),
            false => String::new(),
        };
        let content = shown(texts(message.get("content")));
        let parts = message.get("content").and_then(Value::as_array);
        let part = parts.and_then(|parts| parts.iter().find_map(|part| part.get("thinking")));
        let thought = message
            .get("reasoning_content")
            .or(message.get("reasoning"));
        let reasoning = shown(texts(thought.or(part)));
        let calls = message.get("tool_calls").and_then(Value::as_array);
        let calls = calls.unwrap_or_default().iter().filter_map(|call| {
            let function = call.get("function")?;
            let arguments = function.get("arguments")?;
            text.contains(function.get("name")?.as_str()?)
                .then_some(())?;
            let arguments = match arguments.as_str() {
                Some(text) => json::read(text).ok()?,
                None => arguments.clone(),
            };
            Some(format!(
                "{}{}",
                function.get("name")?.as_str()?,
                json::write(&arguments)
            ))
        });
        let calls: Vec<String> = calls.collect();
        let is_empty = content.is_empty() && reasoning.is_empty() && calls.is_empty();
        (!is_empty).then(|| format!("{role}: [{reasoning}] {content} {calls:?}"))
    });
    messages.collect()
}

fn rendered(
    template: &ChatTemplate,
    messages: &str,
    tools: Option<&str>,
    prompt: bool,
) -> Option<String> {
    let input = RenderInput {
        messages: value(messages),
        tools: tools.map(value).unwrap_or_default(),
        add_generation_prompt: prompt,
        ..base()
    };
    Some(template.render(&input).ok()?.text)
}

/// Conversations of the gallery that are not read as they were meant, and why.
const OTHERWISE: &[(&str, &str)] = &[
    (
        "calls-only-in-instructions/calls",
        "the template does not write calls",
    ),
    (
        "name-as-key/calls",
        "a comma may stand within an answer and between two",
    ),
];

#[test]
fn conversations_of_the_gallery_are_read_and_render_to_the_same_text_again() {
    let folder = root().join("chat_templates");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("the gallery is there")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "jinja")
        })
        .collect();
    paths.sort();
    let (mut read, mut wrong) = (0, Vec::new());
    for path in paths {
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a name");
        let template = template(&fs::read_to_string(&path).expect("a text"));
        let reader = ConversationReader::new(&template, &base()).expect("it renders a question");
        for (kind, with_tools, messages) in CONVERSATIONS {
            let tools = with_tools.then_some(TOOLS);
            let Some(text) = rendered(&template, messages, tools, false) else {
                continue;
            };
            let case = format!("{name}/{kind}");
            read += 1;
            let why = match reader.read(&text) {
                Err(error) => error.to_string(),
                Ok(found) => {
                    let same = said(&found.messages, &text) == said(&value(messages), &text);
                    match (same, &found.proof) {
                        (true, Proof::Same) => continue,
                        (true, proof) => format!("{proof:?}"),
                        (false, _) => format!("{:#?}", said(&found.messages, &text)),
                    }
                }
            };
            if !OTHERWISE.iter().any(|(known, _)| *known == case) {
                wrong.push(format!("{case}: {why}\n{text}"));
            }
        }
    }
    assert!(read > 100, "only {read} conversations were rendered");
    assert!(
        wrong.is_empty(),
        "{} of {read}:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

#[test]
fn tools_answers_and_ids_are_read() {
    let template = template(AGENT);
    let text = rendered(&template, CONVERSATIONS[3].2, Some(TOOLS), true).expect("it renders");
    let read = reader(AGENT).read(&text).expect("it is a conversation");
    assert_eq!(read.tools, value(TOOLS));
    assert_eq!(read.ending, Ending::Prompt);
    let messages = read.messages.as_array().expect("a list");
    let id = messages[1].pointer("/tool_calls/0/id").expect("an id");
    assert_eq!(messages[2].get("tool_call_id"), Some(id));
    assert_eq!(messages[2].get("name"), Some(&"weather".into()));
    // Each part says where its text stands.
    let texts = read
        .parts
        .iter()
        .map(|part| (part.slot, part.message, &text[part.range.clone()]));
    let texts: Vec<_> = texts
        .filter(|(slot, ..)| *slot != ConversationSlot::Tool)
        .collect();
    assert_eq!(texts[0], (ConversationSlot::User, Some(0), "Rain in Oslo?"));
    assert_eq!(
        texts[2],
        (ConversationSlot::Result, Some(2), "rain, then sun")
    );
}

#[test]
fn unfinished_conversations_are_read_as_far_as_they_go() {
    let whole = "<user>Hi<end><assistant><think>Polite.</think>Hello<end>";
    let cases = [
        ("<user>Hi<end><assistant>", Ending::Prompt, 1),
        (
            "<user>Hi<end><assistant><think>Pol",
            Ending::Within(ConversationSlot::Reasoning),
            2,
        ),
        (
            "<user>Hi<end><assistant><think>Polite.</think>He",
            Ending::Within(ConversationSlot::Content),
            2,
        ),
        ("<user>Hi", Ending::Within(ConversationSlot::User), 1),
        ("<us", Ending::BeforeMessages, 0),
        // Cut amid a marker, and amid a call.
        (
            "<user>Hi<end><assi",
            Ending::Behind(ConversationSlot::User),
            1,
        ),
        ("<user>Hi<e", Ending::Within(ConversationSlot::User), 1),
        (
            "<user>Hi<end><assistant><call>{\"name\": \"ri",
            Ending::Within(ConversationSlot::Calls),
            2,
        ),
        (whole, Ending::Message, 2),
    ];
    let reader = reader(AGENT);
    for (text, ending, count) in cases {
        let read = reader
            .read(text)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(read.ending, ending, "{text}");
        assert_eq!(
            read.messages.as_array().map(<[Value]>::len),
            Some(count),
            "{text}"
        );
        assert_eq!(ending.is_open(), text != whole);
        assert_eq!(read.proof, Proof::Same, "{text}");
    }
}

#[test]
fn calls_at_the_end_of_a_text_are_read_whatever_stands_behind_them() {
    let reader = reader(&AGENT.replace("<end>", "<end>\n"));
    let call = r#"<user>Hi<end>
<assistant>I ring.<call>{"name": "ring", "arguments": {}}</call>"#;
    for end in ["", "<end>", "<end>\n"] {
        let read = reader.read(&format!("{call}{end}"));
        let read = read.unwrap_or_else(|error| panic!("{end:?}: {error}"));
        let turn = read.messages.pointer("/1").unwrap();
        assert_eq!(turn.get("content"), Some(&"I ring.".into()), "{end:?}");
        let name = turn.pointer("/tool_calls/0/function/name");
        assert_eq!(name, Some(&"ring".into()), "{end:?}");
        assert_eq!(read.proof, Proof::Same, "{end:?}");
        assert_eq!(read.remarks, [""; 0], "{end:?}");
    }
}

#[test]
fn what_begins_calls_is_told_in_a_text() {
    let reader = reader(AGENT);
    let text = "<user>Hi<end><assistant>It is <call> that begins it.<end>";
    let read = reader.read(text).expect("it is a text");
    assert_eq!(
        read.messages.pointer("/1/content"),
        Some(&"It is <call> that begins it.".into())
    );
    assert_eq!(
        read.remarks,
        [
            "character 30: <call> begins calls, and was read as content: the template does not write a call as it stands here"
        ]
    );
    let text = "<user>What is <call>?<end><assistant>It begins calls.<end>";
    assert_eq!(reader.read(text).expect("it is a text").remarks, [""; 0]);
}

#[test]
fn a_text_that_the_template_does_not_write_says_where_it_departs() {
    let reader = reader(PLAIN);
    let cases = [
        ("[INST] Hi [/INST]", 0, "`<user>`"),
        ("<user>Hi<end><bot>Hello", 8, "`<end><assistant>`"),
        ("<user>Größe<end>[assistant]Hello", 11, "`<end><assistant>`"),
    ];
    for (text, character, expected) in cases {
        let error = match reader.read(text) {
            Err(error) => error,
            Ok(read) => panic!("{text}: {read:?}"),
        };
        assert_eq!(error.character, character, "{text}: {error}");
        assert!(
            error.expected.iter().any(|text| text.contains(expected)),
            "{text}: {error}"
        );
    }
}

#[test]
fn markers_in_a_text_are_told() {
    let text = "<user>What does <end> mean?<end><assistant>It ends a turn.<end>";
    let read = reader(PLAIN).read(text).expect("it is a conversation");
    assert_eq!(
        read.messages.pointer("/0/content"),
        Some(&"What does <end> mean?".into())
    );
    assert_eq!(read.proof, Proof::Same);
    assert!(
        read.remarks[0].starts_with("character 16:"),
        "{:?}",
        read.remarks
    );
}

#[test]
fn variables_that_the_text_shows_are_read() {
    let jinja = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
        {% if add_generation_prompt %}<assistant>{% if enable_thinking is false %}<think></think>{% endif %}{% endif %}";
    let reader = reader(jinja);
    let read = reader
        .read("<user>Hi<end><assistant><think></think>")
        .expect("a prompt");
    assert_eq!(
        json::write(&read.variables.into()),
        r#"{"enable_thinking":false}"#
    );
    let read = reader.read("<user>Hi<end><assistant>").expect("a prompt");
    assert!(read.variables.is_empty());
}

#[test]
fn what_a_template_adds_by_itself_is_not_taken_for_what_was_said() {
    let jinja = "{% if messages[0].role != 'system' %}<system>You are kind. It is {{ strftime_now('%d %B %Y') }}.<end>{% endif %}\
        {% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
        {% if add_generation_prompt %}<assistant>{% endif %}";
    let reader = reader(jinja);
    let read = |text| -> Conversation { reader.read(text).expect("a conversation") };
    let own = read("<system>You are kind. It is 15 January 2026.<end><user>Hi<end>");
    assert_eq!(
        json::write(&own.messages),
        r#"[{"role":"user","content":"Hi"}]"#
    );
    let given = read("<system>You are cold.<end><user>Hi<end>");
    assert_eq!(
        given.messages.pointer("/0/content"),
        Some(&"You are cold.".into())
    );
    assert_eq!((own.proof, given.proof), (Proof::Same, Proof::Same));
}

#[test]
fn a_text_with_two_readings_says_so() {
    let jinja = "{% for m in messages %}{% if m.role == 'system' %}<user>{{ m.content }}\n\n{% elif m.role == 'user' %}\
        {% if not loop.previtem or loop.previtem.role != 'system' %}<user>{% endif %}{{ m.content }}<end>{% else %}\
        <assistant>{{ m.content }}<end>{% endif %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
    let reader = reader(jinja);
    let read = reader
        .read("<user>Be brief.\n\nHi<end><assistant>Hello<end>")
        .expect("a conversation");
    assert_eq!(read.proof, Proof::Same);
    assert!(
        read.remarks
            .iter()
            .any(|remark| remark.contains("two readings")),
        "{read:#?}"
    );
    let one = reader
        .read("<user>Hi<end><assistant>Hello<end>")
        .expect("a conversation");
    assert!(one.remarks.is_empty(), "{:?}", one.remarks);
}

#[test]
fn long_texts_are_read_and_long_noise_is_refused() {
    let turn =
        "<user>Tell me more of it.<end><assistant>There is always more to be told, and so on.<end>";
    let text = turn.repeat((10 << 20) / turn.len());
    let reader = reader(PLAIN).without_proof();
    let read = reader.read(&text).expect("a conversation");
    assert_eq!(read.proof, Proof::NotTried);
    assert_eq!(
        read.messages.as_array().map(<[Value]>::len),
        Some(2 * (text.len() / turn.len()))
    );
    for piece in [
        "<user>",
        "<end>",
        "<user>x<end>",
        "noise ",
        "<end><assistant>",
        "{\"a\": [",
    ] {
        let noise = piece.repeat((1 << 20) / piece.len());
        let noise = format!("<user>{noise}");
        // Whatever comes of it, it comes to an end.
        let _ = reader.read(&noise);
    }
}

#[test]
fn a_template_that_renders_nothing_reads_nothing() {
    let template = template("{{ '' }}");
    let reader = ConversationReader::new(&template, &base()).expect("it renders, though nothing");
    let error = reader
        .read("anything")
        .expect_err("it is not the template's");
    assert_eq!((error.at, error.expected), (0, vec!["nothing".to_owned()]));
    let error =
        Marking::of(&template, &base(), MaskPolicy::default()).expect_err("there is nothing");
    assert_eq!(
        error.to_string(),
        "tags can't be written: the template writes nothing of what the assistant says"
    );
}

/// What comes of a text that somebody has edited: of what is refused, the place; else what is said of it.
#[test]
fn a_text_that_was_edited_has_its_place_told() {
    let reader = reader(AGENT);
    let cases = [
        // A role that is none, a word between messages.
        ("<user>Hi<end><asistant>Ho<end>", "character 8"),
        ("<user>Hi<end>and<assistant>Ho<end>", "character 8"),
        // A call that is no JSON any more, and one that is written in another way.
        (
            "<user>Hi<end><assistant><call>{\"name\": \"ring\", \"arguments\": {\"a\": }}</call><end>",
            "character 24",
        ),
        (
            "<user>Hi<end><assistant><call>{\"name\":\"ring\",\"arguments\":{}}</call><end>",
            "character 38",
        ),
    ];
    for (text, place) in cases {
        let said = match reader.read(text) {
            Err(error) => error.to_string(),
            Ok(read) => {
                let objection = read.objection(text).into_iter();
                let said: Vec<String> = objection.chain(read.remarks).collect();
                said.join("\n")
            }
        };
        assert!(said.contains(&format!("{place}:")), "{text}: {said}");
    }
}

/// What these say may be taken for markers, or for other values, so that their text can have several readings.
const AMBIGUOUS: [&str; 2] = ["awkward strings", "strings like values"];

/// Formats as models have them, with conversations of all roles. Values that are written without quotes count as
/// texts.
#[test]
fn conversations_of_formats_made_by_chance_are_read() {
    let (mut read, mut wrong) = (0, Vec::new());
    for number in 0..60 {
        let format = maker::make_up(12, number);
        let template = template(&jinja::chat_template(&format));
        let reader = ConversationReader::new(&template, &base()).expect("it renders a question");
        let mut random = random::Random::new(12, number);
        for case in conversation::cases(&format, &mut random) {
            if AMBIGUOUS.contains(&case.name) {
                continue;
            }
            let (mut messages, last) = conversation::messages(&format, &case);
            messages.push(last);
            // The conversation goes on, so that what is said stands amid it.
            messages.push(message(&[
                ("role", "user".into()),
                ("content", "Thank you!".into()),
            ]));
            let messages = Value::from(messages);
            let tools = json::write(&conversation::tools());
            let Some(text) = rendered(&template, &json::write(&messages), Some(&tools), true)
            else {
                continue;
            };
            read += 1;
            let why = match reader.read(&text) {
                Err(error) => error.to_string(),
                Ok(found) => {
                    let (found_said, meant) =
                        (said(&found.messages, &text), said(&messages, &text));
                    let plain = |said: &[String]| said.join("\n").replace(['"', '\\'], "");
                    match (plain(&found_said) == plain(&meant), found.objection(&text)) {
                        (true, None) => continue,
                        (true, Some(objection)) => objection,
                        (false, _) => format!("{found_said:#?}"),
                    }
                }
            };
            wrong.push(format!("{number}, {}: {why}\n{text}", case.name));
        }
    }
    assert!(read > 400, "only {read} conversations were rendered");
    assert!(
        wrong.is_empty(),
        "{} of {read}:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

/// Formats of which every conversation is unambiguous: what ends a text occurs in none.
fn formats() -> impl Strategy<Value = String> {
    let pairs = prop::sample::select(vec![
        ("<|im_start|>ROLE\n", "<|im_end|>\n"),
        ("<ROLE>", "</ROLE>"),
        ("[ROLE] ", " [/ROLE]\n"),
        ("«ROLE»\n", "\n«end»\n"),
        ("<|ROLE|>", "<|eot|>"),
    ]);
    let thoughts = prop::sample::select(vec![
        ("<think>\n", "\n</think>\n\n"),
        ("[THINK]", "[/THINK]"),
    ]);
    let tools = prop::sample::select(vec![
        "{{ tools | tojson }}",
        "{% for t in tools %}{{ t | tojson }}\n{% endfor %}",
        "{% for t in tools %}* {{ t.function | tojson }}\n{% endfor %}",
        "{{ tools | tojson(indent=2) }}",
    ]);
    let calls = prop::sample::select(vec![
        "<call>{{ c.function | tojson }}</call>",
        "<invoke>{{ c.function.name }}\n{{ c.function.arguments | tojson }}</invoke>",
    ]);
    (pairs, thoughts, tools, calls).prop_map(|((open, close), thought, tools, calls)| {
        let role = |text: &str| text.replace("ROLE", "{{ m.role }}");
        format!(
            "{{% if tools %}}<tools>\n{tools}\n</tools>\n{{% endif %}}{{% for m in messages %}}{}\
             {{% if m.reasoning_content %}}{}{{{{ m.reasoning_content }}}}{}{{% endif %}}{{{{ m.content }}}}\
             {{% for c in m.tool_calls or [] %}}{calls}{{% endfor %}}{}{{% endfor %}}\
             {{% if add_generation_prompt %}}{}{{% endif %}}",
            role(open),
            thought.0,
            thought.1,
            role(close),
            open.replace("ROLE", "assistant"),
        )
    })
}

/// Texts as people write them, without what formats have for markers.
fn texts() -> impl Strategy<Value = String> {
    "[a-zäöü東京,.!?'\"{}0-9]([a-zäöü ,.!?'\"{}0-9\n]{0,30}[a-z.!?])?"
}

#[derive(Debug, Clone)]
enum Turn {
    Says(String),
    Thinks(String, String),
    Calls(Vec<(String, i64)>, String),
}

fn turns() -> impl Strategy<Value = Turn> {
    prop_oneof![
        texts().prop_map(Turn::Says),
        (texts(), texts()).prop_map(|(thought, text)| Turn::Thinks(thought, text)),
        (
            prop::collection::vec((texts(), any::<i64>()), 1..3),
            texts()
        )
            .prop_map(|(calls, answer)| Turn::Calls(calls, answer)),
    ]
}

fn message(pairs: &[(&str, Value)]) -> Value {
    let pairs = pairs.iter().cloned();
    pairs.collect::<unjinja::Object>().into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_was_rendered_is_read(
        jinja in formats(),
        system in prop::option::of(texts()),
        exchanges in prop::collection::vec((texts(), turns()), 1..4),
        prompt in any::<bool>(),
    ) {
        let mut messages = Vec::new();
        messages.extend(system.map(|text| message(&[("role", "system".into()), ("content", text.into())])));
        let mut has_calls = false;
        for (number, (question, turn)) in exchanges.into_iter().enumerate() {
            messages.push(message(&[("role", "user".into()), ("content", question.into())]));
            match turn {
                Turn::Says(text) => {
                    messages.push(message(&[("role", "assistant".into()), ("content", text.into())]));
                }
                Turn::Thinks(thought, text) => messages.push(message(&[
                    ("role", "assistant".into()),
                    ("content", text.into()),
                    ("reasoning_content", thought.into()),
                ])),
                Turn::Calls(calls, answer) => {
                    has_calls = true;
                    let written = calls.iter().enumerate().map(|(at, (city, days))| {
                        let arguments = message(&[("city", city.as_str().into()), ("days", (*days).into())]);
                        let function = message(&[("name", "weather".into()), ("arguments", arguments)]);
                        message(&[("id", format!("call{number}{at}").into()), ("type", "function".into()), ("function", function)])
                    });
                    let written: Vec<Value> = written.collect();
                    messages.push(message(&[
                        ("role", "assistant".into()), ("content", "".into()), ("tool_calls", written.into()),
                    ]));
                    for (at, (city, _)) in calls.iter().enumerate() {
                        messages.push(message(&[
                            ("role", "tool".into()),
                            ("tool_call_id", format!("call{number}{at}").into()),
                            ("name", "weather".into()),
                            ("content", city.as_str().into()),
                        ]));
                    }
                    messages.push(message(&[("role", "assistant".into()), ("content", answer.into())]));
                }
            }
        }
        let messages = Value::from(messages);
        let tools = has_calls.then_some(TOOLS);
        let text = rendered(&template(&jinja), &json::write(&messages), tools, prompt).expect("it renders");
        let read = reader(&jinja).read(&text);
        let read = read.map_err(|error| TestCaseError::fail(format!("{error}\n{jinja}\n{text}")))?;
        prop_assert_eq!(said(&read.messages, &text), said(&messages, &text), "{}\n{}", jinja, text);
        prop_assert_eq!(&read.proof, &Proof::Same, "{}\n{}", jinja, text);
        prop_assert_eq!(read.tools, tools.map(value).unwrap_or_default());
        prop_assert_eq!(read.ending == Ending::Prompt, prompt);
    }
}

#[test]
fn what_the_assistant_says_may_follow_its_calls_at_once() {
    let jinja = "{% for m in messages %}<{{ m.role }}>{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>\
        {% endfor %}{{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
    let call = |name: &str| {
        format!(
            r#"{{"id": "abcdefghi", "type": "function", "function": {{"name": "{name}", "arguments": {{"to": "<end>"}}}}}}"#
        )
    };
    let messages = format!(
        r#"[{{"role": "user", "content": "Hi"}}, {{"role": "assistant", "content": "I ring.", "tool_calls": [{}]}},
            {{"role": "user", "content": "And?"}}, {{"role": "assistant", "content": "Both.", "tool_calls": [{}, {}]}}]"#,
        call("ring"),
        call("ring"),
        call("call"),
    );
    let text = rendered(&template(jinja), &messages, None, false).expect("it renders");
    let read = reader(jinja).read(&text).expect("it is a conversation");
    assert_eq!(said(&read.messages, &text), said(&value(&messages), &text));
    assert_eq!(read.proof, Proof::Same);
}

#[test]
fn only_what_is_a_string_of_json_is_read_as_one() {
    let said_in = |text: &str| {
        format!(
            "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.role == 'assistant' %}}{text}{{% else %}}\
             {{{{ m.content }}}}{{% endif %}}<end>{{% endfor %}}{{% if add_generation_prompt %}}<assistant>{{% endif %}}"
        )
    };
    let messages = r#"[{"role": "user", "content": "Where?"}, {"role": "assistant", "content": "see C:\\new"}]"#;
    for text in [
        "{{ m.content | tojson }}",
        "{{ m.content | replace('\"', \"'\") }}",
        "{{ m.content | e }}",
    ] {
        let jinja = said_in(text);
        let text = rendered(&template(&jinja), messages, None, false).expect("it renders");
        let read = reader(&jinja).read(&text).expect("it is a conversation");
        assert_eq!(
            said(&read.messages, &text),
            said(&value(messages), &text),
            "{text}"
        );
        assert_eq!(read.proof, Proof::Same, "{text}");
    }
}

/// A template that writes definitions of tools in a way that can't be undone.
const OWN_WORDS: &str = "{% if tools %}<tools>{% for t in tools %}- {{ t.function.name }}: {{ t.function.description | upper }}\n\
    {% endfor %}</tools>{% endif %}{% for m in messages %}<{{ m.role }}>{{ m.content }}\
    {% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}</call>{% endfor %}<end>{% endfor %}\
    {% if add_generation_prompt %}<assistant>{% endif %}";

#[test]
fn definitions_that_are_not_read_back_are_told_and_the_rest_is_proved() {
    let template = template(OWN_WORDS);
    let text = rendered(&template, CONVERSATIONS[3].2, Some(TOOLS), false).expect("it renders");
    let reader = reader(OWN_WORDS);
    let read = reader.read(&text).expect("it is a conversation");
    let Proof::SameButTools { tools } = &read.proof else {
        panic!("{:?}", read.proof);
    };
    assert_eq!(
        &text[tools.clone()],
        "weather: THE WEATHER OF A CITY\n- ring: RINGS A BELL"
    );
    assert_eq!(read.tools, Value::Null);
    assert_eq!(
        said(&read.messages, &text),
        said(&value(CONVERSATIONS[3].2), &text)
    );
    assert_eq!(
        read.objection(&text).as_deref(),
        Some(
            "characters 9 to 60: the template writes definitions of tools in words of its own, which are not read \
             back; all else renders to the same text again"
        )
    );
    // The mask is that of the messages with their tools.
    let marking = Marking::of(&template, &base(), MaskPolicy::default()).expect("it is marked");
    let given = RenderInput {
        messages: value(CONVERSATIONS[3].2),
        tools: value(TOOLS),
        ..base()
    };
    assert_eq!(
        marking
            .mask_text(&reader, &text)
            .expect("it has a mask")
            .spans,
        marking.mask(&given).expect("it has a mask").spans
    );
    // What is not proved says so all the same.
    let read = reader
        .without_proof()
        .read(&text)
        .expect("it is a conversation");
    assert!(
        read.remarks[0].contains("not read back"),
        "{:?}",
        read.remarks
    );
}

#[test]
fn tools_may_be_written_once_more_with_every_question() {
    let jinja = |tools: &str| {
        format!(
            "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.role == 'user' %}}{{% for t in tools or [] %}}{tools}\
            {{% endfor %}}{{% endif %}}{{{{ m.content }}}}{{% for c in m.tool_calls or [] %}}\
            <call>{{{{ c.function | tojson }}}}</call>{{% endfor %}}<end>{{% endfor %}}\
            {{% if add_generation_prompt %}}<assistant>{{% endif %}}"
        )
    };
    let messages = CONVERSATIONS[3].2;
    let values = jinja("<tool>{{ t | tojson }}</tool>");
    let text = rendered(&template(&values), messages, Some(TOOLS), false).expect("it renders");
    let read = reader(&values).read(&text).expect("it is a conversation");
    assert_eq!(said(&read.messages, &text), said(&value(messages), &text));
    assert_eq!(read.tools, value(TOOLS));
    assert_eq!(read.proof, Proof::Same);
    // Words of the template's own are not told from the question behind them, and all else is read.
    let words = jinja("def {{ t.function.name }}(): {{ t.function.description }}\n");
    for (name, _, messages) in CONVERSATIONS {
        let text = rendered(&template(&words), messages, None, false).expect("it renders");
        let read = reader(&words).read(&text).expect("it is a conversation");
        assert_eq!(
            said(&read.messages, &text),
            said(&value(messages), &text),
            "{name}"
        );
    }
}

#[test]
fn tools_may_stand_within_what_the_system_says() {
    let jinja = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.role == 'system' and tools %}\
        <tools>{{ tools | tojson }}</tools>{% endif %}<end>{% endfor %}\
        {% if add_generation_prompt %}<assistant>{% endif %}";
    let messages = CONVERSATIONS[1].2;
    let text = rendered(&template(jinja), messages, Some(TOOLS), false).expect("it renders");
    let read = reader(jinja).read(&text).expect("it is a conversation");
    assert_eq!(said(&read.messages, &text), said(&value(messages), &text));
    assert_eq!(read.tools, value(TOOLS));
    assert_eq!(read.proof, Proof::Same);
}
