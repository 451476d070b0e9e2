//! How long a chunk of four bytes takes from Rust, in nanoseconds: the best of many runs. `capi/bench/run` measures C beside it.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use unjinja::{Event, ParserOptions, ResponseParser, ResponseTemplate};

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = std::env::args()
        .skip(1)
        .map(std::fs::read_to_string)
        .collect::<Result<_, _>>()?;
    let [template, prefix, output] = &files[..] else {
        return Err("usage: chunk TEMPLATE PREFIX OUTPUT".into());
    };
    let template = ResponseTemplate::from_json(template)?;
    // Where a chunk ends may not lie within a character.
    assert!(output.is_ascii(), "the output is cut anywhere");
    let (mut heard, mut best) = (0, f64::MAX);
    for _ in 0..200 {
        let mut parser = ResponseParser::new(&template, prefix, ParserOptions::default())?;
        let mut hear = |event: Event<'_>| {
            if let Event::Chunk { text, .. } = event {
                heard += black_box(text).len();
            }
        };
        let begun = Instant::now();
        for chunk in output.as_bytes().chunks(4) {
            // As engines have it: bytes.
            parser.feed_with(std::str::from_utf8(chunk)?, &mut hear)?;
        }
        let took = begun.elapsed().as_nanos() as f64 / (output.len() as f64 / 4.0);
        best = best.min(took);
        parser.finalize_with(&mut hear)?;
    }
    println!("Rust {best:.2} ({heard})");
    Ok(())
}
