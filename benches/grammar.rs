//! How long it takes to make and write grammars of 1, 10 and 100 tools, and to read turns by them as they
//! come in.
//!
//! `cargo bench --bench grammar -- nothing` prints the summary alone.

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::Criterion;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::format::Format;
use unjinja::grammar::{Grammar, Request};
use unjinja::{Tools, json};

/// A format of each kind: arguments as JSON, and each by itself.
const FORMATS: [&str; 2] = ["chatml-think-json-calls", "xml-calls"];

/// How many bytes come at a time, as a token has them.
const CHUNK: usize = 4;

fn format_of(name: &str) -> Format {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../chat_templates/{name}.jinja"));
    let jinja = fs::read_to_string(file).expect("the template is there");
    let template = ChatTemplate::from_jinja(jinja);
    Format::of(&template, &RenderInput::default()).expect("it has a format")
}

/// So many tools, each with some parameters of all kinds.
fn tools(count: usize) -> Tools {
    let all: Vec<String> = (0..count)
        .map(|number| {
            format!(
                r##"{{"type": "function", "function": {{"name": "tool_{number}", "parameters": {{
                    "type": "object", "required": ["path", "mode"], "properties": {{
                        "path": {{"type": "string", "minLength": 1}},
                        "mode": {{"enum": ["read", "write", "append"]}},
                        "lines": {{"type": "integer", "minimum": 1, "maximum": 5000}},
                        "text": {{"type": "string"}},
                        "options": {{"type": "object", "properties": {{
                            "force": {{"type": "boolean"}},
                            "tags": {{"type": "array", "items": {{"type": "string"}}}}
                        }}}}
                    }}
                }}}}}}"##
            )
        })
        .collect();
    let tools = json::read(&format!("[{}]", all.join(","))).expect("it is JSON");
    Tools::from_value(&tools)
}

/// A turn that calls the last of some tools with a text of so many bytes.
fn turn(format: &str, tools: usize, bytes: usize) -> String {
    let name = format!("tool_{}", tools - 1);
    let text = "High water is at noon. ".repeat(bytes / 23 + 1);
    match format {
        "xml-calls" => format!(
            "I look.\n<tool_call>\n<function={name}>\n<parameter=path>\n/a\n</parameter>\n\
             <parameter=mode>\nwrite\n</parameter>\n<parameter=text>\n{text}\n</parameter>\n\
             </function>\n</tool_call>"
        ),
        _ => format!(
            "<think>\nThey ask.\n</think>\n\nI look.\n<tool_call>\n{{\"name\": \"{name}\", \
             \"arguments\": {{\"path\": \"/a\", \"mode\": \"write\", \"text\": \"{text}\"}}}}\n</tool_call>"
        ),
    }
}

/// Reads a turn chunk by chunk; how many chunks there were.
fn read(grammar: &Grammar, text: &str) -> usize {
    let mut stream = grammar.stream();
    let chunks = text.as_bytes().chunks(CHUNK);
    let count = chunks.len();
    for chunk in chunks {
        let chunk = std::str::from_utf8(chunk).expect("it is ASCII");
        black_box(stream.feed(chunk).expect("the grammar allows it"));
    }
    black_box(stream.finish().expect("the grammar allows it"));
    count
}

/// The best of some runs.
fn best<T>(mut run: impl FnMut() -> T) -> Duration {
    let time = |_| {
        let start = Instant::now();
        black_box(run());
        start.elapsed()
    };
    (0..15).map(time).min().unwrap_or_default()
}

fn main() {
    println!(
        "ms to make a grammar of a known format, and to write it as GBNF, Lark and a structural tag"
    );
    for name in FORMATS {
        let format = format_of(name);
        for count in [1, 10, 100] {
            let tools = tools(count);
            let request = Request::new();
            let make = || Grammar::of(&format, &tools, &request).expect("there is one");
            let grammar = make();
            let times = [
                best(make),
                best(|| grammar.to_gbnf()),
                best(|| grammar.to_lark()),
                best(|| grammar.to_structural_tag()),
            ];
            let times = times.map(|time| format!("{:7.2}", time.as_secs_f64() * 1e3));
            println!("{name:24} {count:3} tools {}", times.join(" "));
        }
    }
    println!("ns a chunk of {CHUNK} bytes, while a turn of 10 tools is read");
    for name in FORMATS {
        let grammar = Grammar::of(&format_of(name), &tools(10), &Request::new());
        let grammar = grammar.expect("there is one");
        for bytes in [1_000, 10_000, 100_000] {
            let text = turn(name, 10, bytes);
            let chunks = read(&grammar, &text);
            let time = best(|| read(&grammar, &text));
            let each = time.as_nanos() / chunks as u128;
            println!("{name:24} {bytes:7} bytes {each:6}");
        }
    }

    let mut criterion = Criterion::default().configure_from_args();
    for name in FORMATS {
        let format = format_of(name);
        let tools = tools(10);
        let request = Request::new();
        criterion.bench_function(&format!("make/{name}"), |b| {
            b.iter(|| Grammar::of(&format, &tools, &request));
        });
        let grammar = Grammar::of(&format, &tools, &request).expect("there is one");
        let text = turn(name, 10, 10_000);
        criterion.bench_function(&format!("read/{name}"), |b| {
            b.iter(|| read(&grammar, &text))
        });
    }
    criterion.final_summary();
}
