//! `python-call-list` gives calls that can be written and read again, and refuses a list that goes on.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjinja::{Value, json};
use unjinja_fuzz::{Parser, assert_reads_back, same_result};

fuzz_target!(|text: &str| {
    let parser = Parser::plain("python-call-list", true);
    let Ok(value) = parser.parse(text) else {
        return;
    };
    assert_reads_back(&value);
    let calls = value.as_array().expect("calls are a list");
    let written: Vec<String> = calls.iter().map(written).collect();
    let written = format!("[{}]", written.join(", "));
    let again = parser.parse(&written);
    assert!(same_result(&again, &Ok(value)), "{written}: {again:?}");
    for other in [format!("{text},"), format!("{text}]"), format!("[{text}")] {
        assert!(parser.parse(&other).is_err(), "{other}");
    }
});

/// A call as Python could write it: JSON's values are among those of Python calls.
fn written(call: &Value) -> String {
    let member = |key: &str| call.get(key).expect("a call has a name and arguments");
    let arguments = member("arguments").as_object().expect("they have names");
    let arguments = arguments
        .iter()
        .map(|(name, value)| format!("{}={}", name.to_string_lossy(), json::write(value)));
    let name = member("name").as_str().expect("a text");
    format!("{name}({})", arguments.collect::<Vec<_>>().join(","))
}
