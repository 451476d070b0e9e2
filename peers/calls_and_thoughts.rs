//! Parsers for calls and for thoughts, each for formats that it knows.

use std::hint::black_box;

use dynamo_parsers::parsers::get_available_tool_parsers;
use dynamo_parsers::{
    ReasoningParser, ReasoningParserType, get_available_reasoning_parsers,
    try_tool_call_parse_aggregate,
};
use serde_json::json;
use tokio::runtime::Runtime;
use tool_parser::{ParserFactory, StreamingParseResult, ToolParser};

use crate::Peer;
use crate::reading::{in_fours, prose};

/// The length of the thought and that of the text.
const PROSE: usize = 32 << 10;

/// The function that is called.
const FUNCTION: &str = "write_file";

/// A message that all of them know to read.
pub(crate) struct Message {
    pub(crate) text: String,
    thought: String,
    arguments: serde_json::Value,
}

impl Message {
    pub(crate) fn new() -> Message {
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

/// Of each package, the first of its parsers that finds what is in the message.
pub(crate) fn readers(message: &Message) -> [Peer<'_>; 3] {
    [calls(message), thoughts(message), calls_of_whole(message)]
}

fn runtime() -> Runtime {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime
        .build()
        .expect("a runtime without anything in it starts")
}

/// `tool-parser`, whole and in chunks.
fn calls(message: &Message) -> Peer<'_> {
    let factory = ParserFactory::new();
    let make = move |name: &str| {
        let parser = factory.registry().create_parser(name);
        parser.expect("the factory makes what it lists")
    };
    let mut names = ParserFactory::new().list_parsers();
    names.sort();
    let find = runtime();
    let finds = |name: &String| {
        let parsed = find.block_on(make(name).parse_complete(&message.text));
        let calls = parsed.map(|(_, calls)| calls).unwrap_or_default();
        let [call] = &calls[..] else { return false };
        message.has_call(&call.function.name, &call.function.arguments)
            && streams_call(&find, message, make(name))
    };
    let name = names.into_iter().find(finds);
    let name = name.expect("one of the parsers knows this format");
    let factory = ParserFactory::new();
    let (of_chunks, of_whole) = (runtime(), runtime());
    let in_chunks = name.clone();
    Peer {
        name: "tool-parser",
        finds: "text, call as text",
        in_chunks: Some(Box::new(move |chunks| {
            feed_calls(&of_chunks, make(&in_chunks), chunks, |result| {
                black_box(result);
            });
        })),
        whole: Some(Box::new(move |text| {
            let parser = factory.registry().create_parser(&name);
            let parser = parser.expect("it was made before");
            let parsed = of_whole.block_on(parser.parse_complete(text));
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

/// `dynamo-parsers` for thoughts.
fn thoughts(message: &Message) -> Peer<'_> {
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
    Peer {
        name: "dynamo-parsers, thoughts",
        finds: "thought, the rest as text",
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

/// `dynamo-parsers` for calls. In a stream it takes and gives whole responses of a server's protocol, which
/// would be measured in place of it.
fn calls_of_whole(message: &Message) -> Peer<'_> {
    let mut names = get_available_tool_parsers();
    names.sort();
    let runtime = runtime();
    let read = move |name: &'static str, text: &str| {
        runtime.block_on(try_tool_call_parse_aggregate(text, Some(name), None))
    };
    let finds = |name: &&'static str| {
        let parsed = read(name, &message.text);
        let calls = parsed.map(|(calls, _)| calls).unwrap_or_default();
        matches!(&calls[..], [call] if message.has_call(&call.function.name, &call.function.arguments))
    };
    let name = names.into_iter().find(finds);
    let name = name.expect("one of the parsers knows this format");
    Peer {
        name: "dynamo-parsers, calls",
        finds: "text, call as text",
        in_chunks: None,
        whole: Some(Box::new(move |text| {
            black_box(read(name, text).expect("the message parses"));
        })),
    }
}
