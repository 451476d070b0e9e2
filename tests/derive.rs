//! What is derived from small chat templates that have one trait each, and what it makes of texts.
#![cfg(feature = "chat-template")]

use unjinja::chat_template::ChatTemplate;
use unjinja::derive::{DeriveOptions, derive};
use unjinja::{ParserOptions, ResponseTemplate, Value, json, parse};

/// Each turn has a header and an end; what the assistant's consists of is given.
fn chat_template(assistant: &str) -> ChatTemplate {
    ChatTemplate::from_jinja(format!(
        "{{%- for m in messages -%}}
{{%- if m.role == 'assistant' -%}}
{{{{- '<turn:bot>' }}}}{assistant}{{{{- '<turn:end>\\n' }}}}
{{%- else -%}}
{{{{- '<turn:' + m.role + '>' + m.content + '<turn:end>\\n' }}}}
{{%- endif -%}}
{{%- endfor -%}}
{{%- if add_generation_prompt -%}}{{{{- '<turn:bot>' }}}}{{%- endif -%}}"
    ))
}

/// What the template that is derived makes of an output.
fn message(assistant: &str, output: &str) -> Value {
    let derivation = derive(&chat_template(assistant), &DeriveOptions::default()).unwrap();
    let template = ResponseTemplate::from_value(&derivation.template).unwrap();
    let message = parse(&template, "<turn:bot>", output, ParserOptions::default());
    message.unwrap().into()
}

#[test]
fn words_open_reasoning_at_the_start_and_behind_a_header_and_not_within_an_answer() {
    let assistant = "
{%- if m.reasoning_content -%}
{{- '/ponder\\n' + m.reasoning_content + '<turn:end>\\n<turn:bot>' }}
{%- endif -%}
{{- '\\n' + m.content }}";
    let answer = "\nType /ponder to see more.<turn:end>";
    let expected = r#"{"role": "assistant", "content": "Type /ponder to see more."}"#;
    assert_eq!(message(assistant, answer), json::read(expected).unwrap());
    let both = format!("/ponder\nA command.<turn:end>\n<turn:bot>{answer}");
    let expected = r#"{"role": "assistant", "thinking": "A command.",
        "content": "Type /ponder to see more."}"#;
    assert_eq!(message(assistant, &both), json::read(expected).unwrap());
}

#[test]
fn a_name_may_be_a_part_of_a_string() {
    let call = "'{\"to\": \"tools.' + c.function.name + '\", \"with\": ' + c.function.arguments | tojson + '}'";
    let formats = [
        format!("{{{{- '<call>' + {call} + '</call>' }}}}"),
        format!(
            "{{{{- '<calls>[' if loop.first else ', ' }}}}{{{{- {call} }}}}{{{{- ']</calls>' if loop.last }}}}"
        ),
    ];
    let outputs = [
        r#"So:<call>{"to": "tools.look.up", "with": {"a": [1]}}</call><call>{"to": "tools.ping", "with": {}}</call>"#,
        r#"So:<calls>[{"to": "tools.look.up", "with": {"a": [1]}}, {"to": "tools.ping", "with": {}}]</calls>"#,
    ];
    let expected = r#"{"role": "assistant", "content": "So:", "tool_calls": [
        {"type": "function", "function": {"name": "look.up", "arguments": {"a": [1]}}},
        {"type": "function", "function": {"name": "ping", "arguments": {}}}]}"#;
    for (format, output) in formats.iter().zip(outputs) {
        let assistant = format!(
            "{{{{- m.content }}}}{{%- for c in m.tool_calls or [] -%}}{format}{{%- endfor -%}}"
        );
        let message = message(&assistant, &format!("{output}<turn:end>"));
        assert_eq!(message, json::read(expected).unwrap(), "{output}");
    }
}
