//! The reference implementation beside this crate, by the same templates.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::gallery::subjects;
use crate::reading::{Figures, in_fours};

/// The lengths of the messages that come in chunks, and of those that come whole.
const STREAMED: usize = 64 << 10;
const WHOLE: usize = 1 << 20;

/// Of each time, the least of so many is taken.
const RUNS: usize = 10;

/// Reads requests, one a line, and answers with the seconds that a message takes.
const PROGRAM: &str = include_str!("reference.py");

/// How many times as long the reference takes.
struct Ratios {
    name: String,
    chunks: f64,
    whole: f64,
}

/// Prints how many times as long the reference takes as this crate with each template of the gallery.
pub(crate) fn compare() {
    println!();
    let python = std::env::var("UNJINJA_REFERENCE_PYTHON").unwrap_or("python3".into());
    let is_there = Command::new(&python)
        .args(["-c", "import transformers.utils.chat_parsing"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !is_there {
        println!("the reference is not at hand: {python} has no transformers library");
        return;
    }
    println!("the reference takes so many times as long:");
    println!("{:<28}{:>12}{:>12}", "template", "in fours", "whole");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../derived");
    let ratios = subjects(folder).into_iter().map(|subject| {
        let (streamed, whole) = (subject.message(STREAMED), subject.message(WHOLE));
        let request = json!({
            "template": serde_json::from_str::<Value>(&unjinja::json::write(subject.template.as_value()))
                .expect("a template is JSON"),
            "prefix": subject.prefix,
            "chunks": in_fours(&streamed),
            "whole": whole,
        });
        let [their_chunk, their_whole] = ask(&python, &request);
        let in_chunks = Figures::of(&subject.template, &subject.prefix, &streamed, RUNS);
        let in_one = Figures::of(&subject.template, &subject.prefix, &whole, RUNS);
        let ratios = Ratios {
            name: subject.name,
            chunks: their_chunk * 1e9 / in_chunks.four_bytes,
            whole: their_whole / (whole.len() as f64 / in_one.whole / 1e6),
        };
        println!("{:<28}{:>12.1}{:>12.1}", ratios.name, ratios.chunks, ratios.whole);
        ratios
    });
    let ratios: Vec<Ratios> = ratios.collect();
    let [chunks, whole] = [|r: &Ratios| r.chunks, |r: &Ratios| r.whole].map(|of| {
        let mut all: Vec<f64> = ratios.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        (all[all.len() / 2], all[0])
    });
    println!("{:<28}{:>12.1}{:>12.1}", "the median", chunks.0, whole.0);
    println!("{:<28}{:>12.1}{:>12.1}", "the least", chunks.1, whole.1);
}

/// The seconds that a chunk takes, and those that the message takes whole.
fn ask(python: &str, request: &Value) -> [f64; 2] {
    let mut child = Command::new(python)
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it has been started before");
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(request.to_string().as_bytes()).expect("it reads its input");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "the reference fails");
    serde_json::from_slice(&output.stdout).expect("it prints two numbers")
}
