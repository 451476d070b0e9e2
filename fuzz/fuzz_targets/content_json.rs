//! `json` reads what can be written and read again, and each dialect still reads plain JSON.

#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use unjinja::{Object, Value, json};
use unjinja_fuzz::{Parser, args, assert_reads_back, same, same_result, stripped, texts};

fuzz_target!(|data: &[u8]| {
    let _ = run(Unstructured::new(data));
});

fn run(mut u: Unstructured<'_>) -> Result<()> {
    let args = args::json(&mut u)?;
    let cut: u8 = u.arbitrary()?;
    let text = <&str>::arbitrary_take_rest(u)?;
    let Some(parser) = Parser::new("json", &args) else {
        return Ok(());
    };
    let dialect = Dialect::new(&args);
    let result = parser.parse(text);
    if let Ok(value) = &result {
        assert_reads_back(value);
    }
    dialect.check(text, &result);
    match json::read(text) {
        Ok(value) => {
            check_places(text, &value);
            check_beginning(text, cut.into());
            dialect.check_plain(&parser, &value);
        }
        Err(error) => check_error(text, &error),
    }
    Ok(())
}

/// The arguments, as the target knows them.
struct Dialect {
    unquoted_keys: bool,
    allow_non_json: bool,
    strip: bool,
    openers: Vec<String>,
}

impl Dialect {
    fn new(args: &Object) -> Dialect {
        let flag = |name| args.get(name).and_then(Value::as_bool).unwrap_or_default();
        let pairs = args.get("string_delims").and_then(Value::as_array);
        Dialect {
            unquoted_keys: flag("unquoted_keys"),
            allow_non_json: flag("allow_non_json"),
            strip: flag("strip"),
            openers: pairs
                .into_iter()
                .flatten()
                .filter_map(|pair| Some(pair.as_array()?[0].as_str()?.to_owned()))
                .collect(),
        }
    }

    fn is_plain(&self) -> bool {
        !self.unquoted_keys && self.openers.is_empty()
    }

    /// What holds for any text.
    fn check(&self, text: &str, result: &std::result::Result<Value, String>) {
        let bare = if self.strip { stripped(text) } else { text };
        let is_bare = result == &Ok(bare.into());
        if self.is_plain() {
            match (json::read(text), result) {
                (Ok(expected), Ok(value)) => assert!(same(value, &expected), "{text:?}"),
                (Err(error), Err(_)) => assert!(!self.allow_non_json || !error.is_syntax()),
                (Err(error), Ok(_)) => {
                    assert!(
                        self.allow_non_json && error.is_syntax() && is_bare,
                        "{text:?}"
                    );
                }
                (Ok(_), Err(error)) => panic!("{text:?} is JSON, but: {error}"),
            }
        }
        // No dialect has control characters in it, but for what its markers enclose; and these
        // two stand for such strings while they are taken out.
        if text.contains(['\u{1}', '\u{2}']) {
            assert!(
                result.is_err() || (self.allow_non_json && is_bare),
                "{text:?} is read as {result:?}"
            );
        }
    }

    /// What is no dialect is still read, unless it looks like one.
    fn check_plain(&self, parser: &Parser, value: &Value) {
        let written = json::write(value);
        let mut inner = texts(value).into_iter();
        let looks_keyed = inner.any(|text| text.to_string_lossy().contains(':'));
        let wrapped = format!("{{key:{written}}}");
        if (self.unquoted_keys && looks_keyed)
            || self.openers.iter().any(|open| wrapped.contains(open))
        {
            return;
        }
        let plain = parser.parse(&written);
        assert!(
            same_result(&plain, &Ok(value.clone())),
            "{written}: {plain:?}"
        );
        if self.unquoted_keys && unjinja_fuzz::depth(value) < json::MAX_DEPTH {
            let keyed = Object::from_iter([("key", value.clone())]);
            let read = parser.parse(&wrapped);
            assert!(same_result(&read, &Ok(keyed.into())), "{wrapped}: {read:?}");
        }
    }
}

/// Errors point into the text.
fn check_error(text: &str, error: &json::Error) {
    assert!(error.offset() <= text.len());
    assert!(!error.to_string().is_empty());
    let position = json::Position::at(text, error.offset());
    assert_eq!(position, error.position(), "{text:?}");
}

/// The beginning of a document is known to be one.
fn check_beginning(text: &str, cut: usize) {
    let beginning = &text[..text.floor_char_boundary(cut)];
    if let Err(error) = json::read(beginning) {
        assert!(error.is_at_end(), "{beginning:?} could go on, but: {error}");
    }
}

/// The members and items of a document are found where they stand.
fn check_places(text: &str, value: &Value) {
    let place = json::locate(text, "").expect("the document is there");
    assert!(!text[place.offset..].starts_with(char::is_whitespace));
    let names: Vec<String> = match value {
        Value::Array(items) => (0..items.len()).map(|index| index.to_string()).collect(),
        // Half a character in a key has no pointer that leads to it.
        Value::Object(object) => { object.keys() }
            .filter_map(|key| Some(key.as_str()?.to_owned()))
            .collect(),
        _ => Vec::new(),
    };
    for name in names.iter().take(8) {
        let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        let part = value.pointer(&pointer).expect("it was just listed");
        let place = json::locate(text, &pointer).expect("it was just listed");
        let first = text[place.offset..].chars().next();
        let written = json::write(part);
        let is_number = matches!(part, Value::Number(_));
        assert!(
            is_number || first == written.chars().next(),
            "{text:?}: {pointer} is {written}, and {first:?} stands there"
        );
        let key = json::locate_key(text, &pointer);
        assert_eq!(key.is_some(), value.as_object().is_some());
        assert!(key.is_none_or(|key| text[key.offset..].starts_with('"')));
    }
}
