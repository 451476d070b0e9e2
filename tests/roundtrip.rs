//! Outputs on their way back into prompts, and what leads from one turn to the next.

use std::collections::HashMap;
use std::fmt::Write as _;

use insta::assert_snapshot;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::conversation::{Bridge, BridgeError, HeaderSide, Marking, MaskPolicy};
use unjinja::mend::{Fault, mend};
use unjinja::roundtrip::{Cause, Roundtrip, RoundtripError};
use unjinja::{ResponseTemplate, Value, json};

use crate::masks::gallery;

const JINJA: &str = "{% for m in messages %}<{{ m.role }}>\
    {% if m.reasoning_content and not m.content.startswith('x') %}<think>{{ m.reasoning_content }}</think>{% endif %}\
    {{ m.content | trim if m.content }}\
    {% for c in m.tool_calls or [] %}<call>{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}\
    </call>{% endfor %}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

const RESPONSE: &str = r#"{
    "start_anchor": "<assistant>",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "content": {"close": "<end>"},
        "tool_calls": {
            "open": "<call>", "close": "</call>", "content": "json", "repeats": true,
            "transform": {"type": "function", "function": "{content}"}
        }
    }
}"#;

fn input(messages: &str) -> RenderInput {
    RenderInput {
        messages: json::read(messages).expect("the messages are JSON"),
        ..RenderInput::default()
    }
}

/// The cause for which an output of the template above departs.
fn cause(output: &str) -> Option<Cause> {
    let template = ChatTemplate::from_jinja(JINJA);
    let response = ResponseTemplate::from_json(RESPONSE).expect("the response template is valid");
    let prepared = template.prepare();
    let roundtrip =
        Roundtrip::new(&template, &prepared, &response, &RenderInput::default()).unwrap();
    let conversation = input(r#"[{"role": "user", "content": "Hi"}]"#);
    let way = roundtrip.of(&conversation, output, None).unwrap();
    way.departure.map(|departure| departure.cause)
}

#[test]
fn each_difference_has_a_cause() {
    for (output, expected) in [
        ("Hello!<end>", None),
        ("Hello!", None),
        ("<think>Hm.</think>Hello!<end>", None),
        (
            r#"<call>{"name": "f", "arguments": {"a": 1}}</call><end>"#,
            None,
        ),
        (" Hello!<end>", Some(Cause::WhiteSpace)),
        ("<think></think>Hello!<end>", Some(Cause::EmptyPlace)),
        ("<think>Hm.</think>xyz<end>", Some(Cause::ThoughtDropped)),
        (
            r#"<call>{"arguments": {"a": 1}, "name": "f"}</call><end>"#,
            Some(Cause::KeyOrder),
        ),
        (
            r#"<call>{"name": "f", "arguments": {"a": 1e3}}</call><end>"#,
            Some(Cause::NumberFormat),
        ),
        (
            r#"<call>{"name": "f", "arguments":{"a":1}}</call><end>"#,
            Some(Cause::JsonStyle),
        ),
        (
            r#"<call>{"name": "f", "arguments": {"a": "\u00e9"}}</call><end>"#,
            Some(Cause::JsonStyle),
        ),
        (
            r#"<call>{"name": "f", "arguments": {}}</call>Hello!<end>"#,
            Some(Cause::Order),
        ),
        // A marker that the format does not know is a part of the text.
        ("Hello!<stop>", None),
    ] {
        assert_eq!(cause(output), expected, "{output}");
    }
}

#[test]
fn what_stood_before_the_output_may_be_what_differs() {
    let jinja = "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' and not loop.last %}\
        (said){% else %}{{ m.content }}{% endif %}<end>{% endfor %}\
        {% if add_generation_prompt %}<assistant>{{ prefill | default('') }}{% endif %}";
    let template = ChatTemplate::from_jinja(jinja);
    let response = ResponseTemplate::from_json(
        r#"{"start_anchor": "<assistant>", "fields": {"content": {"close": "<end>"}}}"#,
    );
    let response = response.unwrap();
    let prepared = template.prepare();
    let roundtrip =
        Roundtrip::new(&template, &prepared, &response, &RenderInput::default()).unwrap();
    let mut conversation = input(r#"[{"role": "user", "content": "Hi"}]"#);
    let way = roundtrip.of(&conversation, "Hello!<end>", None).unwrap();
    assert_eq!(way.departure.unwrap().cause, Cause::ContentDropped);
    conversation.variables = [("prefill", "Well. ")].into_iter().collect();
    let way = roundtrip.of(&conversation, "Hello!<end>", None).unwrap();
    let departure = way.departure.unwrap();
    assert_eq!((departure.cause, departure.at), (Cause::Prefill, 24));
    let refused = roundtrip.of(&RenderInput::default(), "", None);
    assert_eq!(refused, Err(RoundtripError::NoMessages));
}

/// A tokenizer of this test's own: markers are single tokens, and so are words with the blank before them, numbers, and
/// blanks that stand together. So texts that are cut amid a word or blanks have other tokens.
#[derive(Default)]
struct Tokenizer {
    ids: HashMap<String, u32>,
}

impl Tokenizer {
    fn tokens(&mut self, text: &str) -> Vec<u32> {
        let mut tokens = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let length = token(rest);
            let next = u32::try_from(self.ids.len()).unwrap();
            tokens.push(*self.ids.entry(rest[..length].to_owned()).or_insert(next));
            rest = &rest[length..];
        }
        tokens
    }
}

/// How long the first token of a text is.
fn token(text: &str) -> usize {
    let run = |from: usize, is_in: fn(char) -> bool| {
        let rest = &text[from..];
        from + rest.find(|c| !is_in(c)).unwrap_or(rest.len())
    };
    let is_named = |c: char| c.is_alphanumeric() || "_|/:-.=\"".contains(c);
    for (open, close) in [('<', '>'), ('[', ']')] {
        if text.starts_with(open) {
            let end = run(1, is_named);
            if end > 1 && text[end..].starts_with(close) {
                return end + 1;
            }
        }
    }
    let mut chars = text.chars();
    let first = chars.next().map_or(0, char::len_utf8);
    match (text.chars().next(), text[first..].chars().next()) {
        (Some(' '), Some(c)) if c.is_alphabetic() => run(1, char::is_alphabetic),
        (Some(c), _) if c.is_alphabetic() => run(0, char::is_alphabetic),
        (Some(c), _) if c == ' ' => run(0, |c| c == ' '),
        _ => first,
    }
}

/// Conversations of three turns.
const CONVERSATIONS: [(&str, &str); 3] = [
    (
        "texts",
        r#"[{"role": "user", "content": "One?"}, {"role": "assistant", "content": "First one."},
            {"role": "user", "content": "Two?"}, {"role": "assistant", "content": "Then two."},
            {"role": "user", "content": "Three?"}, {"role": "assistant", "content": "At last, three."}]"#,
    ),
    (
        "thoughts",
        r#"[{"role": "user", "content": "One?"},
            {"role": "assistant", "reasoning_content": "It begins.", "content": "First one."},
            {"role": "user", "content": "Two?"},
            {"role": "assistant", "reasoning_content": "It goes on.", "content": "Then two."},
            {"role": "user", "content": "Three?"},
            {"role": "assistant", "reasoning_content": "It ends.", "content": "At last, three."}]"#,
    ),
    (
        "calls",
        r#"[{"role": "user", "content": "One?"},
            {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "call00001", "type": "function",
             "function": {"name": "look", "arguments": {"at": "one"}}}]},
            {"role": "tool", "name": "look", "tool_call_id": "call00001", "content": "first"},
            {"role": "assistant", "content": "And again.", "tool_calls": [{"id": "call00002", "type": "function",
             "function": {"name": "look", "arguments": {"at": "two"}}}]},
            {"role": "tool", "name": "look", "tool_call_id": "call00002", "content": "second"},
            {"role": "assistant", "content": "At last, three."}]"#,
    ),
];

const TOOLS: &str = r#"[{"type": "function", "function": {"name": "look", "description": "Looks at something",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}}]"#;

/// What is known of a template, for all of its conversations.
struct Known {
    marking: Marking,
    bridge: Bridge,
}

impl Known {
    fn of(template: &ChatTemplate) -> Result<Known, String> {
        let base = RenderInput::default();
        let mut policy = MaskPolicy::default();
        policy.header = HeaderSide::Out;
        let marking = Marking::of(template, &base, policy).map_err(|error| error.to_string())?;
        let bridge = Bridge::of(template, &base).map_err(|error| error.to_string())?;
        Ok(Known { marking, bridge })
    }
}

/// Whether the ids of a conversation that is written turn by turn are those of its text.
fn turn_by_turn(known: &Known, messages: &str, with_tools: bool) -> Result<(), String> {
    let all: Value = json::read(messages).unwrap();
    let all = all.as_array().unwrap();
    let up_to = |count: usize, add_generation_prompt: bool| RenderInput {
        messages: all[..count].to_vec().into(),
        tools: match with_tools {
            true => json::read(TOOLS).unwrap(),
            false => Value::Null,
        },
        add_generation_prompt,
        ..RenderInput::default()
    };
    let Known { marking, bridge } = known;
    let writer = bridge.writer().map_err(|error| error.to_string())?;
    let turns: Vec<usize> = (0..all.len())
        .filter(|index| all[*index].get("role").and_then(Value::as_str) == Some("assistant"))
        .collect();
    let mut tokenizer = Tokenizer::default();
    let prompt = marking
        .mask(&up_to(turns[0], true))
        .map_err(|error| error.to_string())?;
    let mut ids = tokenizer.tokens(&prompt.text);
    let mut text = prompt.text;
    for (number, &turn) in turns.iter().enumerate() {
        let masked = marking
            .mask(&up_to(turn + 1, false))
            .map_err(|error| error.to_string())?;
        let end = masked
            .spans
            .ranges()
            .last()
            .ok_or("nothing is the model's")?
            .end;
        let written: String = masked.text.chars().take(end).collect();
        let Some(output) = written.strip_prefix(&text) else {
            let at = written
                .chars()
                .zip(text.chars())
                .take_while(|(one, other)| one == other)
                .count();
            let text: String = text.chars().skip(at).take(30).collect();
            let written: String = written.chars().skip(at).take(30).collect();
            return Err(format!("{text:?} is written as {written:?}"));
        };
        ids.extend(tokenizer.tokens(output));
        text.push_str(output);
        if let Some(next) = turns.get(number + 1) {
            let more = writer
                .text(&up_to(*next, true), output)
                .map_err(|error| error.to_string())?;
            ids.extend(tokenizer.tokens(&more));
            text.push_str(&more);
        }
    }
    assert_eq!(ids, tokenizer.tokens(&text), "{text}");
    Ok(())
}

#[test]
fn ids_that_are_appended_turn_by_turn_are_those_of_the_whole_text() {
    let mut out = String::new();
    for (name, template) in gallery() {
        let mended = mend(
            &template,
            &RenderInput::default(),
            &[Fault::Results, Fault::Questions],
        )
        .unwrap();
        let mut template = template;
        template.jinja = mended.jinja;
        let known = Known::of(&template);
        for (kind, messages) in CONVERSATIONS {
            let found = known.as_ref().map_err(String::clone);
            let found = found.and_then(|known| turn_by_turn(known, messages, kind == "calls"));
            let found = found.map_or_else(|error| error, |()| "the same".to_owned());
            writeln!(out, "{name:<30}{kind:<10}{found}").unwrap();
        }
    }
    assert_snapshot!(out);
}

#[test]
fn what_leads_to_the_next_turn_ends_the_one_before_if_the_output_does_not() {
    let template = ChatTemplate::from_jinja(
        "{% for m in messages %}<{{ m.role }}>\n{{ m.content }}<end>\n{% endfor %}\
         {% if add_generation_prompt %}<assistant>\n{% endif %}",
    );
    let bridge = Bridge::of(&template, &RenderInput::default()).unwrap();
    let writer = bridge.writer().unwrap();
    let mut conversation = input(
        r#"[{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"},
            {"role": "user", "content": "C"}]"#,
    );
    conversation.add_generation_prompt = true;
    for (output, expected) in [
        ("B<end>", "\n<user>\nC<end>\n<assistant>\n"),
        ("B<end>\n", "<user>\nC<end>\n<assistant>\n"),
        ("B", "<end>\n<user>\nC<end>\n<assistant>\n"),
        ("another text\n", "<end>\n<user>\nC<end>\n<assistant>\n"),
        ("", "<end>\n<user>\nC<end>\n<assistant>\n"),
    ] {
        assert_eq!(
            writer.text(&conversation, output).as_deref(),
            Ok(expected),
            "{output:?}"
        );
    }
    for messages in ["[]", r#"[{"role": "user", "content": "A"}]"#] {
        assert_eq!(writer.text(&input(messages), "B"), Err(BridgeError::NoTurn));
    }
}
