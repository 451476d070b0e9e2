//! An engine's text in, deltas out: what an engine that detokenizes by itself does with each piece.
//!
//! ```console
//! $ cargo run --release --example text
//! ```

use std::error::Error;

use unjinja::completion::{Completion, CompletionOptions, Delta, Ending};
use unjinja::{ParserOptions, ResponseTemplate, Tools};

fn main() -> Result<(), Box<dyn Error>> {
    let template = ResponseTemplate::from_json(include_str!("template.json"))?;
    let parser = ParserOptions::default().tools(Tools::from_json(include_str!("tools.json"))?);
    let options = CompletionOptions::default().id("chatcmpl-7").model("small");
    let prompt = include_str!("prompt.txt");

    // What the prompt has opened comes by the same way as all that follows.
    let mut completion = Completion::new_with(&template, prompt, parser, options, show)?;
    for piece in include_str!("output.txt").split_inclusive(' ') {
        completion.feed_with(piece, show)?;
    }
    let finished = completion.finish(Ending::Stop)?;
    finished.deltas.iter().for_each(show);
    println!("finish_reason: {}", finished.finish_reason);
    Ok(())
}

fn show(delta: &Delta) {
    println!("{delta:?}");
}
