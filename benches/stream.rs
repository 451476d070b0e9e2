//! How fast outputs are read: by chunks of four bytes, as tokens come in, and whole.
//!
//! `cargo bench --bench stream` prints, for two templates and messages of growing size, the nanoseconds
//! that a chunk takes and the megabytes a second of a whole text. Then it prints what it costs to keep or
//! to print the events, what the parts of many short messages take, and what a list of calls takes in JSON and as Python
//! writes it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use unjinja::{EventBuffer, EventWriter, ParserOptions, ResponseParser, ResponseTemplate, parse};

mod reading;

use reading::{Figures, in_fours, in_tokens, least, prose, stream_in_stretches};

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

/// The size of the message whose events are kept or printed.
const REPORTED: usize = 256 << 10;

/// The size of a short message, of about 200 tokens.
const REQUEST: usize = 900;

/// So many short messages are read, of which so many at once.
const REQUESTS: usize = 1024;
const LIVE: [usize; 3] = [1, 16, 256];

/// Of each time, the least of so many is taken.
const RUNS: usize = 20;

/// A template with a message for it, of which half is thought, a quarter text, and the rest a call
/// that writes a file.
struct Case {
    name: &'static str,
    template: ResponseTemplate,
    write: fn(usize) -> String,
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

/// Prints the figures that people ask for, in their units.
fn summary(_: &mut Criterion) {
    println!(
        "{:<10}{:>10}{:>14}{:>14}{:>12}",
        "template", "message", "ns a chunk", "ns a token", "whole MB/s"
    );
    for case in cases() {
        for size in SIZES {
            let text = (case.write)(size);
            let runs = (64 << 20) / size.max(1 << 20);
            let figures = Figures::of(&case.template, "", &text, runs);
            println!(
                "{:<10}{:>6} KiB{:>14.1}{:>14.1}{:>12.0}",
                case.name,
                size >> 10,
                figures.four_bytes,
                figures.token,
                figures.whole
            );
        }
    }
    reports();
    requests();
    lists();
}

/// A list of calls between markers, read by a parser.
fn list_template(parser: &str) -> ResponseTemplate {
    let template = format!(
        r#"{{"start_anchor": "A:", "fields": {{"tool_calls": {{
            "open": "<calls>", "close": "</calls>", "content": "{parser}", "transform_each": true,
            "transform": {{"type": "function", "function": {{"name": "{{name}}", "arguments": "{{arguments}}"}}}}
        }}, "content": {{"close": "<end>"}}}}}}"#
    );
    ResponseTemplate::from_json(&template).expect("the templates of this file load")
}

/// The same call so many times.
fn list(call: &str, count: usize) -> String {
    format!("<calls>[{}]</calls><end>", vec![call; count].join(", "))
}

/// Prints what a list of calls takes as JSON, and the same calls as Python writes them: the milliseconds of a whole text, and how
/// many times as long that is, for the same calls and for as many bytes.
fn lists() {
    let json = r#"{"name": "find_pages", "arguments": {"words": "neap \"tide\"\n", "most": 25, "strict": true, "weight": 0.5, "places": ["north", "south"], "with": {"language": "fr"}}}"#;
    let python = r#"find_pages(words='neap "tide"\n', most=25, strict=True, weight=0.5, places=['north', 'south'], with={'language': 'fr'})"#;
    println!();
    println!(
        "{:<18}{:>10}{:>14}{:>14}{:>11}{:>14}{:>14}",
        "list of calls",
        "bytes",
        "ns a chunk",
        "ns a token",
        "whole, ms",
        "times, a call",
        "times, a byte"
    );
    for size in [64 << 10, 256 << 10, 1 << 20, 4 << 20] {
        let mut of_json = None;
        for (parser, call) in [("json", json), ("python-call-list", python)] {
            let text = list(call, size / json.len());
            let figures = Figures::of(&list_template(parser), "", &text, RUNS);
            let (bytes, speed) = (text.len() as f64, figures.whole);
            let (other_bytes, other_speed) = *of_json.get_or_insert((bytes, speed));
            println!(
                "{parser:<18}{bytes:>10}{:>14.1}{:>14.1}{:>11.2}{:>14.2}{:>14.2}",
                figures.four_bytes,
                figures.token,
                bytes / speed / 1e3,
                (bytes / speed) / (other_bytes / other_speed),
                other_speed / speed
            );
        }
    }
}

/// Prints what it costs to have the events as they are found, in a buffer, as JSON, and as values of their
/// own, and behind each how many times as long it takes as the first.
fn reports() {
    println!();
    println!(
        "{:<10}{:<10}{:>20}{:>12}{:>7}{:>12}{:>7}{:>12}{:>7}",
        "template",
        "cut",
        "events, ns a chunk",
        "buffered",
        "times",
        "written",
        "times",
        "owned",
        "times"
    );
    for case in cases() {
        let text = (case.write)(REPORTED);
        for (cut, chunks) in [
            ("4 bytes", in_fours(&text)),
            ("tokens", in_tokens(&text)),
            ("whole", vec![text.as_str()]),
        ] {
            let each = |time: Duration| time.as_nanos() as f64 / chunks.len() as f64;
            let as_found = each(least(RUNS, || stream(&case.template, &chunks)));
            print!("{:<10}{cut:<10}{as_found:>20.1}", case.name);
            for report in [buffered, written, owned] {
                let time = each(report(&case.template, &chunks));
                print!("{time:>12.1}{:>7.2}", time / as_found);
            }
            println!();
        }
    }
}

fn parser(template: &ResponseTemplate) -> ResponseParser {
    let parser = ResponseParser::new(template, "", ParserOptions::default());
    parser.expect("the parser starts")
}

fn buffered(template: &ResponseTemplate, chunks: &[&str]) -> Duration {
    let mut events = EventBuffer::new();
    least(RUNS, || {
        let mut parser = parser(template);
        for chunk in chunks {
            events.clear();
            let fed = parser.feed_with(chunk, |event| events.push(event));
            fed.expect("the message parses");
            black_box(&events);
        }
        black_box(parser.finalize_with(|_| {}).expect("the message parses"));
    })
}

fn written(template: &ResponseTemplate, chunks: &[&str]) -> Duration {
    let mut writer = EventWriter::new();
    least(RUNS, || {
        let mut parser = parser(template);
        for chunk in chunks {
            let fed = parser.feed_with(chunk, |event| {
                black_box(writer.write(&event));
            });
            fed.expect("the message parses");
        }
        black_box(parser.finalize_with(|_| {}).expect("the message parses"));
    })
}

fn owned(template: &ResponseTemplate, chunks: &[&str]) -> Duration {
    least(RUNS, || {
        let mut parser = parser(template);
        for chunk in chunks {
            black_box(parser.feed(chunk).expect("the message parses"));
        }
        black_box(parser.finalize_with(|_| {}).expect("the message parses"));
    })
}

/// Feeds all chunks and ends the message.
fn stream(template: &ResponseTemplate, chunks: &[&str]) {
    stream_in_stretches(template, "", chunks, |_| {});
}

/// Prints what the parts of many short messages take that are read at once, as a server does.
fn requests() {
    println!();
    println!(
        "{:<10}{:>10}{:>16}{:>14}{:>16}",
        "template", "at once", "ns to make one", "ns a token", "ns to finish"
    );
    for case in cases() {
        let text = (case.write)(REQUEST);
        let tokens = in_tokens(&text);
        for live in LIVE {
            let mut times = [Duration::MAX; 3];
            for _ in 0..RUNS {
                for (least, time) in times.iter_mut().zip(requested(&case, &tokens, live)) {
                    *least = time.min(*least);
                }
            }
            let [made, fed, finished] = times.map(|time| time.as_nanos() as f64 / REQUESTS as f64);
            println!(
                "{:<10}{live:>10}{made:>16.0}{:>14.1}{finished:>16.0}",
                case.name,
                fed / tokens.len() as f64
            );
        }
    }
}

/// How long it takes to make, to feed and to finish the parsers of all requests, of which so many are
/// live at once.
fn requested(case: &Case, tokens: &[&str], live: usize) -> [Duration; 3] {
    let mut times = [Duration::ZERO; 3];
    for _ in 0..REQUESTS / live {
        let start = Instant::now();
        let make = |_| ResponseParser::new(&case.template, "", ParserOptions::default());
        let made: Result<Vec<ResponseParser>, _> = (0..live).map(make).collect();
        let mut parsers = made.expect("the parsers start");
        times[0] += start.elapsed();

        let start = Instant::now();
        for token in tokens {
            for parser in &mut parsers {
                let fed = parser.feed_with(token, |event| {
                    black_box(event);
                });
                fed.expect("the message parses");
            }
        }
        times[1] += start.elapsed();

        let start = Instant::now();
        for parser in parsers {
            black_box(parser.finalize_with(|_| {}).expect("the message parses"));
        }
        times[2] += start.elapsed();
    }
    times
}

fn streams(criterion: &mut Criterion) {
    for case in cases() {
        let mut group = criterion.benchmark_group(case.name);
        for size in SIZES {
            let text = (case.write)(size);
            let chunks = in_fours(&text);
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
