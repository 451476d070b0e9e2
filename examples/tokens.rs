//! Tokens in, deltas out: what an engine does that has ids, and for each the bytes that it stands for. A character may be cut into
//! several tokens; a token that ends the turn is one whose text the template knows.
//!
//! ```console
//! $ cargo run --release --example tokens
//! ```

use std::error::Error;

use unjinja::{Event, ParserOptions, ResponseParser, ResponseTemplate, Utf8Decoder};

/// A vocabulary: the bytes of each token, special ones included.
const VOCABULARY: [&[u8]; 10] = [
    b"It is 8",
    b" \xc2",
    b"\xb0",
    b"C",
    b".\n</thi",
    b"nk>\n\n",
    b"Yes, ",
    b"it will \xe2",
    b"\x98\x94.",
    b"<|end|>",
];

fn main() -> Result<(), Box<dyn Error>> {
    let template = ResponseTemplate::from_json(include_str!("template.json"))?;
    let prompt = include_str!("prompt.txt");
    let mut show = |event: Event<'_>| match event {
        Event::Open { field, .. } => println!("{field} begins"),
        Event::Chunk { field, text, .. } => println!("{field}: {text:?}"),
        _ => println!("{} ends", event.field()),
    };

    let mut parser =
        ResponseParser::new_with(&template, prompt, ParserOptions::default(), &mut show)?;
    let mut decoder = Utf8Decoder::new();
    for token in VOCABULARY {
        // The beginning of a character is kept until the token with the rest of it comes.
        parser.feed_with(&decoder.push(token), &mut show)?;
    }
    parser.feed_with(decoder.finish(), &mut show)?;
    let message = parser.finalize_with(&mut show)?;
    println!("{}", unjinja::json::write(&message.into()));
    Ok(())
}
