//! How fast outputs are read beside other parsers of what models write, in one run: the nearest that are
//! published in Rust, and the reference implementation in Python, where that is at hand.
//!
//! In this folder, `cargo bench --bench peers` prints, for one message that all of them know to read, what each
//! of them finds and how long it takes; then the same for `openai-harmony`, which knows one format only; then, for
//! each template of the gallery, how many times as long the reference takes.
//!
//! `UNJINJA_REFERENCE_PYTHON` names a Python with the transformers library, unless `python3` is one.
//! `TIKTOKEN_ENCODINGS_BASE` names a folder with the vocabulary that `openai-harmony` wants.

mod calls_and_thoughts;
#[path = "../benches/gallery/mod.rs"]
mod gallery;
mod harmony;
#[path = "../benches/reading/mod.rs"]
mod reading;
mod reference;

use std::hint::black_box;

use unjinja::{EventBuffer, EventWriter, ParserOptions, ResponseParser, ResponseTemplate};

use calls_and_thoughts::Message;
use gallery::subjects;
use reading::{Figures, in_fours, in_tokens, least};

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

/// The size of the messages by which the gallery is read.
const OF_GALLERY: usize = 64 << 10;

/// Of each time, the least of so many is taken.
const RUNS: usize = 10;

/// A way to read a message.
struct Peer<'m> {
    name: &'static str,
    /// What it finds.
    finds: &'static str,
    in_chunks: Option<Box<dyn Fn(&[&str]) + 'm>>,
    whole: Option<Box<dyn Fn(&str) + 'm>>,
}

fn main() {
    let message = Message::new();
    let template = ResponseTemplate::from_json(TEMPLATE).expect("the template loads");
    let mut table = Table::begin();
    let ours = Figures::of(&template, "", &message.text, RUNS);
    table.line("unjinja, events", ALL, some(ours));
    for reader in [buffered(&template), owned(&template), written(&template)] {
        table.reader(&reader, &message.text);
    }
    for reader in calls_and_thoughts::readers(&message) {
        table.reader(&reader, &message.text);
    }
    match reference::figures(&template, "", &message.text) {
        Ok(figures) => table.line("the reference, in Python", ALL, some(figures)),
        Err(why) => println!("the reference is not at hand: {why}"),
    }
    println!("{NOTES}");
    harmony::compare();
    by_template();
}

/// What the table can't say in a column.
const NOTES: &str = "
unjinja and the reference read by a template, any format that one can be written for, and give the message. The
others have a parser for each format they know. tool-parser leaves thoughts in the text; dynamo-parsers has
one parser for thoughts and another for calls, and the latter takes whole texts, or a stream of whole
responses in a server's protocol. Both give arguments as text, and no message.";

/// The figures of several ways to read one message, as a table.
struct Table {
    /// Those of the first line, to which the others are compared.
    first: Option<[Option<f64>; 3]>,
}

impl Table {
    fn begin() -> Table {
        println!(
            "{:<26}{:<28}{:>12}{:>8}{:>12}{:>8}{:>12}{:>8}",
            "parser", "finds", "ns a chunk", "times", "ns a token", "times", "whole MB/s", "times"
        );
        Table { first: None }
    }

    fn reader(&mut self, reader: &Peer<'_>, text: &str) {
        let each = |chunks: Vec<&str>| {
            let read = reader.in_chunks.as_ref()?;
            let time = least(RUNS, || read(&chunks));
            Some(time.as_nanos() as f64 / chunks.len() as f64)
        };
        let whole = reader.whole.as_ref().map(|read| {
            let time = least(4 * RUNS, || read(text));
            text.len() as f64 / time.as_secs_f64() / 1e6
        });
        let figures = [each(in_fours(text)), each(in_tokens(text)), whole];
        self.line(reader.name, reader.finds, figures);
    }

    /// Prints what there is of the figures, and behind each how many times as long it takes as in the first line.
    fn line(&mut self, name: &str, finds: &str, figures: [Option<f64>; 3]) {
        let first = *self.first.get_or_insert(figures);
        let shown = |figure: Option<f64>| figure.map_or("-".to_owned(), |f| format!("{f:.1}"));
        let times = |index: usize| {
            let (figure, first) = figures[index].zip(first[index])?;
            // The last is a speed, the others are times.
            Some(if index == 2 {
                first / figure
            } else {
                figure / first
            })
        };
        print!("{name:<26}{finds:<28}");
        for (index, figure) in figures.into_iter().enumerate() {
            print!("{:>12}{:>8}", shown(figure), shown(times(index)));
        }
        println!();
    }
}

fn some(figures: Figures) -> [Option<f64>; 3] {
    [figures.four_bytes, figures.token, figures.whole].map(Some)
}

const ALL: &str = "thought, text, typed call";

fn parser(template: &ResponseTemplate) -> ResponseParser {
    let parser = ResponseParser::new(template, "", ParserOptions::default());
    parser.expect("the parser starts")
}

/// Every event as a value of its own.
fn owned(template: &ResponseTemplate) -> Peer<'_> {
    Peer {
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

/// The events of each chunk in a buffer.
fn buffered(template: &ResponseTemplate) -> Peer<'_> {
    Peer {
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

/// Every event as JSON.
fn written(template: &ResponseTemplate) -> Peer<'_> {
    Peer {
        name: "unjinja, events as JSON",
        finds: ALL,
        in_chunks: Some(Box::new(|chunks| {
            let mut parser = parser(template);
            let mut writer = EventWriter::new();
            for chunk in chunks {
                let fed = parser.feed_with(chunk, |event| {
                    black_box(writer.write(&event));
                });
                fed.expect("the message parses");
            }
            black_box(parser.finalize_with(|_| {}).expect("the message parses"));
        })),
        whole: None,
    }
}

/// Prints how many times as long the reference takes by each template of the gallery.
fn by_template() {
    println!();
    println!(
        "{:<28}{:>12}{:>14}{:>8}{:>12}{:>14}{:>8}",
        "template", "ns a chunk", "reference", "times", "whole MB/s", "reference", "times"
    );
    let mut ratios = Vec::new();
    for subject in subjects(concat!(env!("CARGO_MANIFEST_DIR"), "/../derived")) {
        let text = subject.message(OF_GALLERY);
        let theirs = match reference::figures(&subject.template, &subject.prefix, &text) {
            Ok(theirs) => theirs,
            Err(why) => return println!("the reference is not at hand: {why}"),
        };
        let ours = Figures::of(&subject.template, &subject.prefix, &text, RUNS);
        let chunk = theirs.four_bytes / ours.four_bytes;
        let whole = ours.whole / theirs.whole;
        println!(
            "{:<28}{:>12.1}{:>14.1}{chunk:>8.1}{:>12.0}{:>14.0}{whole:>8.1}",
            subject.name, ours.four_bytes, theirs.four_bytes, ours.whole, theirs.whole
        );
        ratios.push([chunk, whole]);
    }
    for (name, index) in [("in chunks of four bytes", 0), ("whole", 1)] {
        let mut of_all: Vec<f64> = ratios.iter().map(|ratios| ratios[index]).collect();
        of_all.sort_by(f64::total_cmp);
        if let Some(least) = of_all.first() {
            let median = of_all[of_all.len() / 2];
            println!(
                "{name}, the reference takes {least:.1} times as long at least, {median:.1} in the median"
            );
        }
    }
}
