//! How fast outputs are read: by chunks of four bytes, as tokens come in, and whole.
//!
//! `cargo bench --bench stream` prints, for two templates and messages of growing size, the
//! nanoseconds that a chunk takes and the megabytes a second of a whole text.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use unjinja::{ParserOptions, ResponseParser, ResponseTemplate, parse};

/// Thinking, text and a call in JSON, all between literals.
const LITERALS: &str = r#"{
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

/// Thinking, text and a call whose name and arguments stand in tags.
const PATTERNS: &str = r#"{
    "defaults": {"role": "assistant"},
    "start_anchor": "<|assistant|>\n",
    "fields": {
        "thinking": {"open_pattern": "<think>\\s*", "close_pattern": "\\s*</think>\\s*"},
        "tool_calls": {
            "open_pattern": "<tool_call>\\s*<function=(?P<name>\\w+)>",
            "close_pattern": "\\s*</function>\\s*</tool_call>",
            "repeats": true,
            "content": "xml-inline",
            "content_args": {
                "tag_pattern": "<parameter=(?P<key>\\w+)>\\s*(?P<value>.*?)\\s*</parameter>",
                "value_parser": {"name": "json", "args": {"allow_non_json": true}}
            },
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
        },
        "content": {"close_pattern": "<\\|end\\|>\\s*"}
    }
}"#;

const SIZES: [usize; 5] = [16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];

/// A template with a message for it, of which half is thought, a quarter text, and the rest a call
/// that writes a file.
struct Case {
    name: &'static str,
    template: ResponseTemplate,
    write: fn(usize) -> String,
}

/// So many bytes of prose, with what prose has: lines, quotes, comparisons.
fn prose(bytes: usize) -> String {
    let lines = [
        "The caller asks for a summary, so the file has to be read before anything is said.\n",
        "If the count is < 10 it fits on a page; else \"more\" is shown, and the rest follows.\n",
        "Naïve splitting would cut the word in two — better to look for the next space.\n\n",
    ];
    let mut text: String = lines.iter().cycle().take(bytes / 60 + 1).copied().collect();
    text.truncate(text.floor_char_boundary(bytes));
    text
}

/// So many bytes of a program.
fn code(bytes: usize) -> String {
    let lines = [
        "def total(rows):\n",
        "    return sum(row.price * row.count for row in rows if row.count > 0)\n",
        "\n",
        "print(f\"{total(load('orders.csv')):.2f} <eur>\")\n",
    ];
    let mut text: String = lines.iter().cycle().take(bytes / 25 + 4).copied().collect();
    text.truncate(text.floor_char_boundary(bytes));
    text
}

fn literals_message(bytes: usize) -> String {
    let file = code(bytes / 4)
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!(
        "<think>{}</think>{}<tool_call>{{\"name\": \"write_file\", \"arguments\": \
         {{\"path\": \"a.py\", \"text\": \"{file}\"}}}}</tool_call><|end|>",
        prose(bytes / 2),
        prose(bytes / 4),
    )
}

fn patterns_message(bytes: usize) -> String {
    format!(
        "<think>\n{}\n</think>\n\n{}<tool_call>\n<function=write_file>\n<parameter=path>\na.py\n\
         </parameter>\n<parameter=text>\n{}\n</parameter>\n</function>\n</tool_call><|end|>\n",
        prose(bytes / 2),
        prose(bytes / 4),
        code(bytes / 4),
    )
}

fn cases() -> Vec<Case> {
    let load = |json| ResponseTemplate::from_json(json).expect("the templates of this file load");
    vec![
        Case {
            name: "literals",
            template: load(LITERALS),
            write: literals_message,
        },
        Case {
            name: "patterns",
            template: load(PATTERNS),
            write: patterns_message,
        },
    ]
}

/// The text in pieces of four bytes, or a little more where a character would be cut.
fn chunks(text: &str) -> Vec<&str> {
    let mut chunks = Vec::new();
    let mut from = 0;
    while from < text.len() {
        let to = text.ceil_char_boundary(from + 4);
        chunks.push(&text[from..to]);
        from = to;
    }
    chunks
}

/// Feeds all chunks and ends the message.
fn stream(template: &ResponseTemplate, chunks: &[&str]) -> usize {
    let mut parser = ResponseParser::new(template, "", ParserOptions::default()).expect("starts");
    let mut events = 0;
    for chunk in chunks {
        parser
            .feed_with(chunk, |event| {
                black_box(event);
                events += 1;
            })
            .expect("the message parses");
    }
    black_box(
        parser
            .finalize_with(|_| events += 1)
            .expect("the message parses"),
    );
    events
}

/// The least time of several runs: what is over it is the machine's doing.
fn least(runs: usize, mut run: impl FnMut()) -> Duration {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..runs).map(time).min().unwrap_or_default()
}

/// Prints the figures that people ask for, in their units.
fn summary(_: &mut Criterion) {
    println!(
        "{:<10}{:>10}{:>16}{:>14}",
        "template", "message", "ns a chunk", "whole MB/s"
    );
    for case in cases() {
        for size in SIZES {
            let text = (case.write)(size);
            let chunks = chunks(&text);
            let runs = (64 << 20) / size.max(1 << 20);
            let streamed = least(runs, || {
                stream(&case.template, &chunks);
            });
            let whole = least(runs, || {
                let message = parse(&case.template, "", &text, ParserOptions::default());
                black_box(message.expect("the message parses"));
            });
            println!(
                "{:<10}{:>6} KiB{:>16.1}{:>14.0}",
                case.name,
                size >> 10,
                streamed.as_nanos() as f64 / chunks.len() as f64,
                text.len() as f64 / whole.as_secs_f64() / 1e6,
            );
        }
    }
}

fn streams(criterion: &mut Criterion) {
    for case in cases() {
        let mut group = criterion.benchmark_group(case.name);
        for size in SIZES {
            let text = (case.write)(size);
            let chunks = chunks(&text);
            group.sample_size(10);
            group.throughput(Throughput::Elements(chunks.len() as u64));
            group.bench_with_input(
                BenchmarkId::new("chunks of 4 bytes", size >> 10),
                &chunks,
                |bencher, chunks| bencher.iter(|| stream(&case.template, chunks)),
            );
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.bench_with_input(
                BenchmarkId::new("whole", size >> 10),
                &text,
                |bencher, text| {
                    bencher.iter(|| parse(&case.template, "", text, ParserOptions::default()));
                },
            );
        }
        group.finish();
    }
}

criterion_group!(benches, summary, streams);
criterion_main!(benches);
