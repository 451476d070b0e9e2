//! `text` gives back what it was given, without the white space around it if it strips.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjinja_fuzz::{Parser, stripped};

fuzz_target!(|input: (bool, &str)| {
    let (strip, text) = input;
    let parser = Parser::plain("text", strip);
    let value = parser.parse(text).expect("any text is a text");
    let value = value.as_str().expect("a text gives a string");
    if strip {
        assert!(text.contains(value));
        assert_eq!(value, stripped(text));
    } else {
        assert_eq!(value, text);
    }
    assert_eq!(parser.parse(value), Ok(value.into()));
});
