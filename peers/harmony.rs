//! `openai-harmony`, which reads the one format of its model, by tokens.

use std::hint::black_box;

use openai_harmony::chat::Role;
use openai_harmony::{
    HarmonyEncoding, HarmonyEncodingName, StreamableParser, load_harmony_encoding,
};
use unjinja::{ParserOptions, ResponseTemplate, parse};

use crate::reading::{least, prose, stream_in_stretches};
use crate::{RUNS, Table};

const TEMPLATE: &str = r#"{
    "defaults": {"role": "assistant"},
    "start_anchor": "<|start|>assistant",
    "fields": {
        "thinking": {"open": "<|channel|>analysis<|message|>", "close": "<|end|>"},
        "content": {"open": "<|channel|>commentary<|message|>", "close": "<|end|>"},
        "tool_calls": {
            "open_pattern": "<\\|channel\\|>commentary to=functions\\.(?P<name>\\w+) <\\|constrain\\|>json<\\|message\\|>",
            "close": "<|call|>", "repeats": true, "content": "json",
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
        }
    }
}"#;

/// The length of the thought and that of the text.
const PROSE: usize = 32 << 10;

/// The variable that names the folder of vocabularies. Without it the package would fetch one.
const VOCABULARIES: &str = "TIKTOKEN_ENCODINGS_BASE";

/// Prints how long both take for one message, cut into the tokens of that model.
pub(crate) fn compare() {
    println!();
    let encoding = match std::env::var_os(VOCABULARIES) {
        Some(_) => load_harmony_encoding(HarmonyEncodingName::HarmonyGptOss),
        None => {
            return println!(
                "openai-harmony is left out: {VOCABULARIES} names no folder with its vocabulary"
            );
        }
    };
    match encoding {
        Ok(encoding) => measure(&encoding),
        Err(error) => println!("openai-harmony is left out: {error:#}"),
    }
}

fn message() -> String {
    let prose = prose(PROSE);
    let start = "<|start|>assistant";
    format!(
        "<|channel|>analysis<|message|>{prose}<|end|>{start}<|channel|>commentary<|message|>{prose}<|end|>\
         {start}<|channel|>commentary to=functions.look <|constrain|>json<|message|>{{\"at\": 5}}<|call|>"
    )
}

fn measure(encoding: &HarmonyEncoding) {
    let text = message();
    let ranks = encoding.tokenizer().encode_with_special_tokens(&text);
    let bytes: Vec<Vec<u8>> = ranks
        .iter()
        .map(|rank| {
            encoding
                .tokenizer()
                .decode_bytes([*rank])
                .expect("it was encoded")
        })
        .collect();
    let tokens: Vec<&str> = bytes
        .iter()
        .filter_map(|token| str::from_utf8(token).ok())
        .collect();
    let each = |time: std::time::Duration| Some(time.as_nanos() as f64 / ranks.len() as f64);
    let speed = |time: std::time::Duration| Some(text.len() as f64 / time.as_secs_f64() / 1e6);

    let mut table = Table::begin();
    let template = ResponseTemplate::from_json(TEMPLATE).expect("the template loads");
    let streamed = least(RUNS, || stream_in_stretches(&template, "", &tokens, |_| {}));
    let whole = least(4 * RUNS, || {
        let message = parse(&template, "", &text, ParserOptions::default());
        black_box(message.expect("the message parses"));
    });
    let figures = [None, each(streamed), speed(whole)];
    table.line("unjinja, events", "thought, text, typed call", figures);

    let streamed = least(RUNS, || {
        let parser = StreamableParser::new(encoding.clone(), Some(Role::Assistant));
        let mut parser = parser.expect("the parser starts");
        for &rank in &ranks {
            parser.process(rank).expect("the message parses");
            black_box(parser.last_content_delta().expect("the message parses"));
        }
        black_box(parser.into_messages());
    });
    let whole = least(4 * RUNS, || {
        let ranks = ranks.iter().copied();
        let messages = encoding.parse_messages_from_completion_tokens(ranks, Some(Role::Assistant));
        black_box(messages.expect("the message parses"));
    });
    let figures = [None, each(streamed), speed(whole)];
    table.line("openai-harmony", "messages, call as text", figures);
    println!("It is given tokens, not text: to cut the text into them is not measured.");
}
