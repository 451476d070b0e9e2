//! How fast the response templates that `derive` writes read outputs: those of the gallery, in chunks of
//! four bytes, as tokens come in, and whole.
//!
//! `cargo bench --bench derived` prints a line for each template, and the median and the slowest of all.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use unjinja::check::{Case, Fixture, find};
use unjinja::{ParserOptions, ResponseParser, ResponseTemplate, parse};

/// About so many bytes a message has.
const LENGTH: usize = 256 << 10;

/// Of each time, the least of so many is taken: what is over it is the machine's doing.
const RUNS: usize = 5;

/// A template of the gallery, and a long message for it.
struct Subject {
    name: String,
    template: ResponseTemplate,
    prefix: String,
    output: String,
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
    text.trim_end().to_owned()
}

/// The thought and the text that a template reads out of an output, as far as they stand there.
fn texts(template: &ResponseTemplate, case: &Case) -> Vec<String> {
    let message = parse(
        template,
        &case.prefix,
        &case.output,
        ParserOptions::default(),
    );
    let message = message.unwrap_or_default();
    let values = ["thinking", "content"].map(|key| message.get(key).and_then(|text| text.as_str()));
    let texts = values.into_iter().flatten().map(str::to_owned);
    texts.filter(|text| case.output.contains(text)).collect()
}

/// The case that has most in it, with long texts in place of its own.
fn subject(fixture: &Fixture, name: String) -> Option<Subject> {
    let template = fixture.template();
    let cases = fixture.cases().iter();
    let case = cases.max_by_key(|case| (texts(template, case).len(), case.output.len()))?;
    let texts = texts(template, case);
    let long = prose(LENGTH / texts.len().max(1));
    let output = texts.iter().fold(case.output.clone(), |output, text| {
        output.replacen(text, &long, 1)
    });
    Some(Subject {
        name,
        template: template.clone(),
        prefix: case.prefix.clone(),
        output,
    })
}

fn subjects() -> Vec<Subject> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("derived");
    let paths = find(&[folder]);
    let subjects = paths.iter().filter_map(|path| {
        let fixture = Fixture::load(path).expect("the fixtures of the gallery load");
        let name = path.file_name()?.to_string_lossy();
        subject(&fixture, name.split('.').next()?.to_owned())
    });
    subjects.collect()
}

fn least(mut run: impl FnMut()) -> Duration {
    let times = (0..RUNS).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    times.min().unwrap_or_default()
}

/// The text in pieces of four bytes, or a little more where a character would be cut.
fn chunks(text: &str) -> Vec<&str> {
    let mut chunks = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (chunk, after) = rest.split_at(rest.ceil_char_boundary(4));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

fn stream(subject: &Subject, chunks: &[&str]) {
    let parser = ResponseParser::new(&subject.template, &subject.prefix, ParserOptions::default());
    let mut parser = parser.expect("the parser starts");
    for chunk in chunks {
        let fed = parser.feed_with(chunk, |event| {
            black_box(event);
        });
        fed.expect("the message parses");
    }
    black_box(parser.finalize_with(|_| {}).expect("the message parses"));
}

/// The nanoseconds that a chunk takes, and the megabytes a second of the whole text.
fn measured(subject: &Subject) -> (f64, f64) {
    let chunks = chunks(&subject.output);
    let streamed = least(|| stream(subject, &chunks));
    let whole = least(|| {
        let options = ParserOptions::default();
        let message = parse(&subject.template, &subject.prefix, &subject.output, options);
        black_box(message.expect("the message parses"));
    });
    (
        streamed.as_nanos() as f64 / chunks.len() as f64,
        subject.output.len() as f64 / whole.as_secs_f64() / 1e6,
    )
}

fn main() {
    println!("{:<28}{:>12}{:>14}", "template", "ns a chunk", "whole MB/s");
    let line = |name: &str, (chunk, whole): (f64, f64)| {
        println!("{name:<28}{chunk:>12.1}{whole:>14.0}");
    };
    let (mut of_chunks, mut of_wholes) = (Vec::new(), Vec::new());
    for subject in subjects() {
        let (chunk, whole) = measured(&subject);
        line(&subject.name, (chunk, whole));
        of_chunks.push(chunk);
        of_wholes.push(whole);
    }
    of_chunks.sort_by(f64::total_cmp);
    of_wholes.sort_by(|a, b| f64::total_cmp(b, a));
    let middle = of_chunks.len() / 2;
    line("median", (of_chunks[middle], of_wholes[middle]));
    let last = of_chunks.len() - 1;
    line("slowest", (of_chunks[last], of_wholes[last]));
}
