//! `bool` is true for `true` and `1`, and false for everything else.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjinja_fuzz::{Parser, stripped};

fuzz_target!(|input: (bool, &str)| {
    let (strip, text) = input;
    let value = Parser::plain("bool", strip).parse(text);
    let value = value.expect("any text is true or false").as_bool();
    let text = if strip { stripped(text) } else { text };
    let is_true = ["true", "1"].contains(&text.to_ascii_lowercase().as_str());
    assert_eq!(value, Some(is_true), "{text:?}");
});
