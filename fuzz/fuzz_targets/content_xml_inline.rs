//! `xml-inline` gives an object of pieces of its text, whatever was parsed before, and both
//! engines that run its pattern find the same.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use unjinja::{Object, Value};
use unjinja_fuzz::{Parser, args, assert_reads_back, pattern, same_result};

fuzz_target!(|data: &[u8]| {
    let _ = run(&mut Unstructured::new(data));
});

fn run(u: &mut Unstructured<'_>) -> Result<()> {
    if u.ratio(1, 2)? {
        check_engines(u)
    } else {
        check_parser(u)
    }
}

fn check_parser(u: &mut Unstructured<'_>) -> Result<()> {
    let args = args::xml_inline(u)?;
    let texts = [text(u)?, text(u)?];
    let Some(parser) = Parser::new("xml-inline", &args) else {
        return Ok(());
    };
    for text in &texts {
        let result = parser.parse(text);
        let fresh = Parser::new("xml-inline", &args).expect("it was made a moment ago");
        assert!(
            same_result(&result, &fresh.parse(text)),
            "{args:?} read {texts:?} before, and now {text:?} as {result:?}"
        );
        let Ok(value) = result else { continue };
        assert_reads_back(&value);
        let object = value.as_object().expect("tags give an object");
        let merges = args.get("merge_duplicates") == Some(&true.into());
        for (key, value) in object {
            assert!(is_piece(key.as_str(), text), "{args:?}, {text:?}: {key:?}");
            if args.contains_key("value_parser") {
                continue;
            }
            let values = match value {
                Value::Array(values) if merges => {
                    assert!(values.len() > 1);
                    values.as_slice()
                }
                single => std::slice::from_ref(single),
            };
            for value in values {
                let known = value.is_null() || is_piece(value.as_str(), text);
                assert!(known, "{args:?}, {text:?}: {value:?}");
            }
        }
    }
    Ok(())
}

fn is_piece(piece: Option<&str>, text: &str) -> bool {
    piece.is_some_and(|piece| text.contains(piece))
}

/// Lists all matches of a pattern by means of either engine.
fn check_engines(u: &mut Unstructured<'_>) -> Result<()> {
    let pattern = pattern::any(u)?.text;
    let text = text(u)?;
    let listing = format!("(?P<key>)(?P<value>{pattern})");
    let parser = |listing: &str| {
        let mut args = Object::from_iter([("tag_pattern", listing)]);
        args.insert("merge_duplicates", true);
        Parser::new("xml-inline", &args)
    };
    let (first, second) = (parser(&listing), parser(&pattern::backtracking(&listing)));
    assert_eq!(first.is_some(), second.is_some(), "{listing:?}");
    let (Some(first), Some(second)) = (first, second) else {
        return Ok(());
    };
    let (first, second) = (first.parse(&text), second.parse(&text));
    let too_costly = |result: &std::result::Result<Value, String>| matches!(result, Err(error) if error.contains("too many steps"));
    if !too_costly(&first) && !too_costly(&second) {
        assert!(
            same_result(&first, &second),
            "{listing:?} finds in {text:?}: {first:?}, or else {second:?}"
        );
    }
    Ok(())
}

/// A text that tag patterns may find something in.
fn text(u: &mut Unstructured<'_>) -> Result<String> {
    let tags = [
        "<p=k>",
        "</p>",
        "<key>",
        "k=1",
        "12",
        "{\"a\": 1}",
        "a: b\n",
    ];
    let mut text = String::new();
    for _ in 0..u.int_in_range(0..=24)? {
        match u.int_in_range(0..=7)? {
            0 | 1 => text.push_str(u.choose(&tags)?),
            2..=6 => text.push_str(u.choose(pattern::CHARACTERS)?),
            _ => text.push(u.arbitrary()?),
        }
    }
    Ok(text)
}
