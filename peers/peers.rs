//! How fast outputs are read beside other parsers of what models write, in one run: the nearest that are
//! published in Rust, and the reference implementation in Python, where that is at hand.
//!
//! None does the same as any other; the first table says what each of them finds. The reference reads by the
//! same response templates, so the second table has it beside this crate on each of the gallery.
//!
//! `UNJINJA_REFERENCE_PYTHON` names a Python with the transformers library, unless `python3` is one.

#[path = "../benches/gallery/mod.rs"]
mod gallery;
#[path = "../benches/reading/mod.rs"]
mod reading;
mod reference;

use std::hint::black_box;

use dynamo_parsers::{
    ReasoningParser, ReasoningParserType, get_available_reasoning_parsers,
    get_available_tool_parsers, try_tool_call_parse_aggregate,
};
use serde_json::json;
use tokio::runtime::Runtime;
use tool_parser::{ParserFactory, StreamingParseResult, ToolParser};
use unjinja::{EventBuffer, ParserOptions, ResponseParser, ResponseTemplate, parse};

use reading::{in_fours, in_tokens, least, prose};

/// A thought, a text and a call in JSON.
const TEMPLATE: &str = r#"{
    "defaults": {"role": "assistant"},
    "start_anchor": "<|assistant|>\n",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open": "<tool_call>", "close": "</tool_call>", "repeats": true, "content": "json",
            "transform": {"type": "function", "function": "{content}"}
        },
        "content": {"close": "<|end|>"}
    }
}"#;

/// The length of the thought and that of the text.
const PROSE: usize = 32 << 10;

/// The function that is called.
const FUNCTION: &str = "write_file";

/// Of each time, the least of so many is taken.
const RUNS: usize = 10;

/// A message that all of them know to read.
struct Message {
    text: String,
    thought: String,
    arguments: serde_json::Value,
}

impl Message {
    fn new() -> Message {
        let thought = prose(PROSE);
        let arguments = json!({"path": "notes.md", "text": prose(1 << 10)});
        let call = json!({"name": FUNCTION, "arguments": arguments});
        Message {
            text: format!(
                "<think>\n{thought}\n</think>\n\n{thought}\n<tool_call>\n{call}\n</tool_call>"
            ),
            thought,
            arguments,
        }
    }

    fn has_call(&self, name: &str, arguments: &str) -> bool {
        name == FUNCTION && serde_json::from_str(arguments).ok().as_ref() == Some(&self.arguments)
    }
}

/// A way to read the message.
struct Reader<'m> {
    name: &'static str,
    /// What it finds.
    finds: &'static str,
    in_chunks: Option<Box<dyn Fn(&[&str]) + 'm>>,
    whole: Option<Box<dyn Fn(&str) + 'm>>,
}

fn main() {
    let message = Message::new();
    let template = ResponseTemplate::from_json(TEMPLATE).expect("the template loads");
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.build().expect("a runtime without anything starts");
    let readers = [
        events(&template),
        owned(&template),
        buffered(&template),
        calls_in_rust(&runtime, &message),
        thoughts(&message),
        calls_whole(&runtime, &message),
    ];
    println!(
        "{:<28}{:<32}{:>12}{:>12}{:>12}{:>10}",
        "parser", "finds", "ns a chunk", "ns a token", "whole MB/s", "times"
    );
    let (fours, tokens) = (in_fours(&message.text), in_tokens(&message.text));
    let mut first = None;
    for reader in &readers {
        let each = |chunks: &[&str]| {
            let read = reader.in_chunks.as_ref()?;
            let time = least(RUNS, || read(chunks));
            Some(time.as_nanos() as f64 / chunks.len() as f64)
        };
        let whole = reader.whole.as_ref().map(|read| {
            let time = least(4 * RUNS, || read(&message.text));
            message.text.len() as f64 / time.as_secs_f64() / 1e6
        });
        let (four, token) = (each(&fours), each(&tokens));
        let first = *first.get_or_insert(four.unwrap_or_default());
        let shown = |figure: Option<f64>| figure.map_or("-".to_owned(), |f| format!("{f:.1}"));
        println!(
            "{:<28}{:<32}{:>12}{:>12}{:>12}{:>10}",
            reader.name,
            reader.finds,
            shown(four),
            shown(token),
            shown(whole),
            shown(four.map(|four| four / first)),
        );
    }
    reference::compare();
}

const ALL: &str = "thought, text, typed call";

fn parser(template: &ResponseTemplate) -> ResponseParser {
    let parser = ResponseParser::new(template, "", ParserOptions::default());
    parser.expect("the parser starts")
}

fn events(template: &ResponseTemplate) -> Reader<'_> {
    Reader {
        name: "unjinja, events",
        finds: ALL,
        in_chunks: Some(Box::new(|chunks| {
            reading::stream_in_stretches(template, "", chunks, |_| {});
        })),
        whole: Some(Box::new(|text| {
            let message = parse(template, "", text, ParserOptions::default());
            black_box(message.expect("the message parses"));
        })),
    }
}

fn owned(template: &ResponseTemplate) -> Reader<'_> {
    Reader {
        name: "unjinja, owned events",
        finds: ALL,
        in_chunks: Some(Box::new(|chunks| {
            let mut parser = parser(template);
            for chunk in chunks {
                black_box(parser.feed(chunk).expect("the message parses"));
            }
            black_box(parser.finalize().expect("the message parses"));
        })),
        whole: None,
    }
}

fn buffered(template: &ResponseTemplate) -> Reader<'_> {
    Reader {
        name: "unjinja, buffered events",
        finds: ALL,
        in_chunks: Some(Box::new(|chunks| {
            let mut parser = parser(template);
            let mut events = EventBuffer::new();
            for chunk in chunks {
                events.clear();
                let fed = parser.feed_with(chunk, |event| events.push(event));
                fed.expect("the message parses");
                black_box(&events);
            }
            black_box(parser.finalize_with(|_| {}).expect("the message parses"));
        })),
        whole: None,
    }
}

/// `tool-parser`, with the first of its parsers that finds the call, whole and in chunks.
fn calls_in_rust<'m>(runtime: &'m Runtime, message: &'m Message) -> Reader<'m> {
    let factory = ParserFactory::new();
    let mut names = factory.list_parsers();
    names.sort();
    let make = move |name: &str| factory.registry().create_parser(name);
    let reads = |name: &String| {
        let parser = make(name)?;
        let parsed = runtime.block_on(parser.parse_complete(&message.text));
        let (_, calls) = parsed.ok()?;
        let [call] = &calls[..] else { return None };
        let is_right = message.has_call(&call.function.name, &call.function.arguments)
            && streams_call(runtime, message, make(name)?);
        is_right.then(|| name.clone())
    };
    let name = names.iter().find_map(reads);
    let name = name.expect("one of the parsers knows this format");
    let (in_chunks, whole) = (name.clone(), name);
    let make_whole = ParserFactory::new();
    Reader {
        name: "tool-parser",
        finds: "text and call as text",
        in_chunks: Some(Box::new(move |chunks| {
            let parser = make(&in_chunks).expect("it was made before");
            feed_calls(runtime, parser, chunks, |result| {
                black_box(result);
            });
        })),
        whole: Some(Box::new(move |text| {
            let parser = make_whole.registry().create_parser(&whole);
            let parser = parser.expect("it was made before");
            let parsed = runtime.block_on(parser.parse_complete(text));
            black_box(parsed.expect("the message parses"));
        })),
    }
}

/// Whether a parser finds the call in chunks, too.
fn streams_call(runtime: &Runtime, message: &Message, parser: Box<dyn ToolParser>) -> bool {
    let (mut name, mut arguments) = (String::new(), String::new());
    feed_calls(runtime, parser, &in_fours(&message.text), |result| {
        for call in result.calls {
            name.push_str(&call.name.unwrap_or_default());
            arguments.push_str(&call.parameters);
        }
    });
    message.has_call(&name, &arguments)
}

fn feed_calls(
    runtime: &Runtime,
    mut parser: Box<dyn ToolParser>,
    chunks: &[&str],
    mut take: impl FnMut(StreamingParseResult),
) {
    let tool = json!({"type": "function", "function": {"name": FUNCTION, "parameters": {}}});
    let tools: Vec<_> = serde_json::from_value(json!([tool])).expect("this is a tool");
    runtime.block_on(async {
        for chunk in chunks {
            // One that does not know the format may fail.
            if let Ok(result) = parser.parse_incremental(chunk, &tools).await {
                take(result);
            }
        }
    });
}

/// `dynamo-parsers` for thoughts, with the first of its parsers that finds the thought.
fn thoughts(message: &Message) -> Reader<'_> {
    let mut names = get_available_reasoning_parsers();
    names.sort();
    let make = ReasoningParserType::get_reasoning_parser_from_name;
    let finds = |name: &&str| {
        let whole = make(name).detect_and_parse_reasoning(&message.text, &[]);
        let mut streamed = String::new();
        let mut parser = make(name);
        for chunk in in_fours(&message.text) {
            let result = parser.parse_reasoning_streaming_incremental(chunk, &[]);
            streamed.push_str(&result.reasoning_text);
        }
        let thought = message.thought.trim();
        whole.reasoning_text.trim() == thought && streamed.trim() == thought
    };
    let name = names.into_iter().find(finds);
    let name = name.expect("one of the parsers knows this format");
    Reader {
        name: "dynamo-parsers, thoughts",
        finds: "thought, all else as text",
        in_chunks: Some(Box::new(move |chunks| {
            let mut parser = make(name);
            for chunk in chunks {
                black_box(parser.parse_reasoning_streaming_incremental(chunk, &[]));
            }
            black_box(parser.finish_reasoning_stream());
        })),
        whole: Some(Box::new(move |text| {
            black_box(make(name).detect_and_parse_reasoning(text, &[]));
        })),
    }
}

/// `dynamo-parsers` for calls, with the first of its parsers that finds the call. In a stream it takes and
/// gives whole responses of a server's protocol, which would be measured in place of it.
fn calls_whole<'m>(runtime: &'m Runtime, message: &'m Message) -> Reader<'m> {
    let mut names = get_available_tool_parsers();
    names.sort();
    let read = |name, text| {
        let parsed = try_tool_call_parse_aggregate(text, Some(name), None);
        runtime.block_on(parsed)
    };
    let finds = |name: &&'static str| {
        let parsed = read(*name, &message.text);
        let calls = parsed.map(|(calls, _)| calls).unwrap_or_default();
        matches!(&calls[..], [call] if message.has_call(&call.function.name, &call.function.arguments))
    };
    let name = names.into_iter().find(finds);
    let name = name.expect("one of the parsers knows this format");
    Reader {
        name: "dynamo-parsers, calls",
        finds: "text and call as text",
        in_chunks: None,
        whole: Some(Box::new(move |text| {
            black_box(read(name, text).expect("the message parses"));
        })),
    }
}
