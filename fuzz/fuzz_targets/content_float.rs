//! `float` reads numbers, which read the same when they are written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjinja::{Number, Value};
use unjinja_fuzz::{Parser, assert_reads_back, same};

fuzz_target!(|input: (bool, &str)| {
    let (strip, text) = input;
    let parser = Parser::plain("float", strip);
    let result = parser.parse(text);
    // Without underscores and foreign digits, Rust and Python agree on what a number is.
    let trimmed = text.trim();
    if trimmed.is_ascii() && !trimmed.contains('_') {
        let outer = trimmed.trim_matches(|c| ('\u{1c}'..='\u{1f}').contains(&c));
        if outer == trimmed {
            let expected: Option<f64> = trimmed.parse().ok();
            let is_expected = match (&result, expected) {
                (Ok(value), Some(expected)) => same(value, &expected.into()),
                (Err(_), None) => true,
                _ => false,
            };
            assert!(is_expected, "{text:?}: {result:?} is not {expected:?}");
        }
    }
    let Ok(value) = result else { return };
    let Value::Number(number @ Number::Float(_)) = &value else {
        panic!("{text:?} gives {value:?}");
    };
    let written = number.to_string();
    let again = parser.parse(&written);
    let is_same = again.as_ref().is_ok_and(|again| same(again, &value));
    assert!(is_same, "{text:?}: {written} is read as {again:?}");
    assert_reads_back(&value);
});
