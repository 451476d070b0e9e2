//! `int` reads whole numbers, which read the same when they are written as decimals.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjinja::{Number, Value};
use unjinja_fuzz::{Parser, assert_reads_back};

/// Python reads no number of more digits.
const MOST_DIGITS: usize = 4300;

fuzz_target!(|input: (bool, &str)| {
    let (strip, text) = input;
    let parser = Parser::plain("int", strip);
    let value = match parser.parse(text) {
        Ok(value) => value,
        Err(error) => {
            let number = text.trim().parse::<i128>();
            assert!(number.is_err(), "{text:?} is a number, but: {error}");
            return;
        }
    };
    let Value::Number(number) = &value else {
        panic!("{text:?} gives {value:?}");
    };
    let written = number.to_string();
    match number {
        Number::Int(int) => assert_eq!(int.to_string(), written),
        Number::BigInt(digits) => {
            let positive = digits.trim_start_matches('-');
            assert!(digits.len() - positive.len() <= 1);
            assert!(positive.bytes().all(|byte| byte.is_ascii_digit()));
            assert!(!positive.starts_with('0') && positive.len() <= MOST_DIGITS);
            assert!(digits.parse::<i64>().is_err(), "{digits} is not that big");
        }
        Number::Float(float) => panic!("{text:?} gives the float {float}"),
    }
    assert_eq!(parser.parse(&written).as_ref(), Ok(&value));
    if let Ok(expected) = text.trim().parse::<i128>() {
        assert_eq!(expected.to_string(), written);
    }
    assert_reads_back(&value);
    // What is a whole number is a number too, and the same one.
    let float = Parser::plain("float", strip).parse(text);
    assert_eq!(float, Ok(number.as_f64().into()), "{text:?}");
});
