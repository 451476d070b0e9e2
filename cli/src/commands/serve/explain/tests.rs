//! What people see of an answer while it comes.

use std::time::Duration;

use unjinja::completion::{Completion, CompletionOptions, Ending};
use unjinja::{OnMalformed, ParserOptions, ResponseTemplate};
use unjinja_serve::Begun;

use super::Answer;
use crate::printing::Painted;

const TEMPLATE: &str = r#"{
    "start_anchor": "<bot>",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open_pattern": "<call (?P<name>\\w+)>", "close": "</call>", "repeats": true, "content": "json",
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
        },
        "content": {"open": "<say>", "close": "<end>"}
    }
}"#;

/// What is told of an answer that comes in these pieces.
fn told(prompt: &str, pieces: &[&str], out: Painted) -> String {
    let template = ResponseTemplate::from_json(TEMPLATE).expect("it is one");
    let options = ParserOptions::default().on_malformed(OnMalformed::Event);
    let begun = Begun::new("chatcmpl-7", "/v1/chat/completions", prompt, &template)
        .options(options.clone());
    let named = CompletionOptions::default().id("chatcmpl-7");
    let completion = Completion::new(&template, prompt, options, named);
    let mut completion = completion.expect("the prompt can be read");
    let mut answer = Answer::new(3, &begun, out);
    answer.sent(completion.initial_deltas());
    for (piece, at) in pieces.iter().zip(1..) {
        answer.came(piece, Duration::from_millis(20 * at));
        answer.sent(&completion.feed(piece).expect("it can be read"));
    }
    let finished = completion.finish(Ending::Stop).expect("it can be read");
    answer.sent(&finished.deltas);
    answer.ended("the model was done", Duration::from_millis(400));
    answer.out.as_str().to_owned()
}

const PIECES: [&str; 9] = [
    "Is it\n\"東京\"?",
    "</thi",
    "nk>\n<call ",
    "look_up>{\"city\": ",
    "\"東京\"}</call>",
    " um ",
    "<call look_up>{</call>",
    "<say>Yes,\u{1b}[2J",
    " maybe.",
];

#[test]
fn all_that_happens_is_told() {
    let text = told("<user>Rain?<bot><think>", &PIECES, Painted::plain());
    insta::assert_snapshot!(text);
}

#[test]
fn regions_have_the_colours_of_the_workbench() {
    let text = told("<user>Rain?<bot><think>", &PIECES, Painted::coloured());
    // As it stands there, escapes can be read.
    insta::assert_snapshot!(text.replace('\u{1b}', "␛"));
}

#[test]
fn of_a_long_prompt_the_end_is_shown() {
    let prompt = format!("<user>{}<bot>", "ebb and flow, ".repeat(20));
    let text = told(&prompt, &["<say>So."], Painted::plain());
    insta::assert_snapshot!(text);
}
