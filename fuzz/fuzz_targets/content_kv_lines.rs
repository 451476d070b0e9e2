//! `kv-lines` gives an object of its lines.

#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use unjinja::{Object, Value};
use unjinja_fuzz::{Parser, args, assert_reads_back, same_result, stripped};

fuzz_target!(|data: &[u8]| {
    let _ = run(Unstructured::new(data));
});

fn run(mut u: Unstructured<'_>) -> Result<()> {
    let args = args::kv_lines(&mut u)?;
    let text = <&str>::arbitrary_take_rest(u)?;
    let separator = |name, default| args.get(name).and_then(Value::as_str).unwrap_or(default);
    let (line_sep, kv_sep) = (separator("line_sep", "\n"), separator("kv_sep", ":"));
    let Some(parser) = Parser::new("kv-lines", &args) else {
        // What else could there be to refuse?
        let delims = format!("{:?}", args.get("value_parser"));
        assert!(line_sep.is_empty() || kv_sep.is_empty() || delims.contains("\"\""));
        return Ok(());
    };
    let result = parser.parse(text);
    if let Ok(value) = &result {
        assert_reads_back(value);
        assert!(value.as_object().is_some());
    }
    let strip = args.get("strip") == Some(&true.into());
    let bare = |text| if strip { stripped(text) } else { text };
    let lines = text.split(line_sep).map(bare);
    let entries = lines
        .filter_map(|line| line.split_once(kv_sep))
        .map(|(key, value)| (bare(key), bare(value)));
    if !args.contains_key("value_parser") {
        let expected = Object::from_iter(entries);
        assert!(
            same_result(&result, &Ok(expected.into())),
            "{args:?}, {text:?}: {result:?}"
        );
    } else if let Ok(value) = &result {
        let object = value.as_object().expect("seen above");
        let keys: std::collections::HashSet<&str> = entries.map(|(key, _)| key).collect();
        assert_eq!(object.len(), keys.len());
        assert!(
            object
                .keys()
                .all(|key| key.as_str().is_some_and(|key| keys.contains(key)))
        );
    }
    Ok(())
}
