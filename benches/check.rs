//! How long it takes to check ten thousand cases of two kibibytes each, and how much memory.
//!
//! `cargo bench --bench check -- nothing` prints the summary alone.

use std::fs;
use std::path::{Path, PathBuf};

use criterion::{Criterion, Throughput};
use unjinja::check::{CheckOptions, Cut, check, find};
use unjinja::{Object, Value, json};

const FILES: usize = 100;
const CASES: usize = 100;

/// About so many bytes an output takes.
const LENGTH: usize = 2048;

const TEMPLATE: &str = r#"{
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open_pattern": "<tool_call>\\s*", "close": "</tool_call>", "repeats": true,
            "content": "json", "transform": {"type": "function", "function": "{content}"}
        },
        "content": {"close_pattern": "<\\|im_end\\|>\\s*"}
    }
}"#;

/// Some text of a length, another one for each number.
fn words(length: usize, number: usize) -> String {
    let words = [
        "the", "tide", "würde", "rise", "水", "again", "at", "noon,", "a < b,",
    ];
    let mut text = String::new();
    let mut at = number;
    while text.len() < length {
        at = at * 31 + 7;
        text.push_str(words[(at / 8) % words.len()]);
        text.push(' ');
    }
    text.trim_end().to_owned()
}

fn object(pairs: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    pairs.into_iter().collect::<Object>().into()
}

fn case(number: usize) -> Value {
    let (thinking, content) = (
        words(LENGTH / 2 - 90, number),
        words(LENGTH / 2 - 140, number + 1),
    );
    let arguments = object([("words", words(100, number).into()), ("most", 3.into())]);
    let call = object([("name", "find_pages".into()), ("arguments", arguments)]);
    let output = format!(
        "<think>{thinking}</think>{content}<tool_call>{}</tool_call><|im_end|>",
        json::write(&call)
    );
    let call = object([("type", "function".into()), ("function", call)]);
    let message = object([
        ("role", "assistant".into()),
        ("thinking", thinking.into()),
        ("content", content.into()),
        ("tool_calls", vec![call].into()),
    ]);
    object([
        ("name", format!("case {number}").into()),
        ("output", output.into()),
        ("message", message),
    ])
}

/// Writes the fixtures, and returns how long an output is on the average.
fn write(folder: &Path) -> usize {
    let template = json::read(TEMPLATE).expect("JSON");
    let mut length = 0;
    for file in 0..FILES {
        let cases: Vec<Value> = (0..CASES).map(|n| case(file * CASES + n)).collect();
        let output = |case: &Value| {
            case.get("output")
                .and_then(Value::as_str)
                .map_or(0, str::len)
        };
        length += cases.iter().map(output).sum::<usize>();
        let fixture = object([
            ("response_template", template.clone()),
            ("cases", cases.into()),
        ]);
        let text = json::write_styled(&fixture, &json::Style::pretty(1));
        fs::write(folder.join(format!("{file}.fixture.json")), text).expect("is written");
    }
    length / (FILES * CASES)
}

/// The most memory that the process has had, in MiB, where the system reports it.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib >> 10)
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let length = write(folder.path());
    let paths = |count| -> Vec<PathBuf> {
        let all = find(&[folder.path().to_owned()]);
        all.into_iter().take(count).collect()
    };
    let report = check(&paths(FILES), &CheckOptions::default());
    assert_eq!(report.failed(), 0);
    println!("| cases | bytes each | cuts each | seconds | peak memory, MiB |");
    println!("|---:|---:|---:|---:|---:|");
    println!(
        "| {} | {length} | {} | {:.2} | {} |",
        report.cases().count(),
        Cut::COUNT,
        report.elapsed.as_secs_f64(),
        peak().map_or_else(|| "?".to_owned(), |mib| mib.to_string()),
    );
    let mut criterion = Criterion::default().configure_from_args();
    let few = paths(2);
    let mut group = criterion.benchmark_group("check");
    group.throughput(Throughput::Elements((2 * CASES) as u64));
    group.bench_function("cases", |bencher| {
        bencher.iter(|| check(&few, &CheckOptions::default()));
    });
    group.finish();
    criterion.final_summary();
}
