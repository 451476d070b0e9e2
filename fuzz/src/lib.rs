//! What the fuzz targets share.
//!
//! Write something to start from, then run a target, both from the repository's root:
//!
//! ```sh
//! cargo run --manifest-path fuzz/Cargo.toml --example seeds
//! cargo +nightly fuzz run feed -- -max_total_time=60 -timeout=10 -len_control=0
//! ```
//!
//! Without `-len_control=0`, a short run tries short inputs only, and hardly any case is worth
//! trying. `template` gains from `-dict=fuzz/dict/template.dict`, `content_json` from `json.dict`,
//! the numbers from `number.dict`, the others from `pattern.dict`. The crate has no unsafe code, so
//! that `-s none` loses little, and gets through several times as many inputs.

pub mod args;
pub mod pattern;

use unjinja::{Number, Object, ResponseTemplate, Value, json};

/// A content parser, set up by a template as users set it up.
pub struct Parser(ResponseTemplate);

impl Parser {
    /// The parser of this name with these arguments, unless they are refused.
    pub fn new(name: &str, args: &Object) -> Option<Parser> {
        let mut field = Object::new();
        field.insert("content", name);
        field.insert("content_args", args.clone());
        let mut template = Object::new();
        template.insert("start_anchor", "A:");
        template.insert("fields", Object::from_iter([("field", field)]));
        ResponseTemplate::from_value(Value::from(template))
            .ok()
            .map(Parser)
    }

    /// The same for a parser that knows no argument but `strip`.
    pub fn plain(name: &str, strip: bool) -> Parser {
        let args = Object::from_iter([("strip", strip)]);
        Parser::new(name, &args).expect("`strip` is an argument of every plain parser")
    }

    /// Parses a text. A refusal has to say why.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let result = self.0.fields()[0].content().parse(text);
        let result = result.map_err(|error| error.to_string());
        if let Err(error) = &result {
            assert!(!error.is_empty(), "{text:?} is refused without a word");
        }
        result
    }
}

/// Whether two values are the same: keys in the same order, and any NaN equal to any other.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(Number::Float(a)), Value::Number(Number::Float(b))) => {
            a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let members = a.iter().zip(b);
            a.len() == b.len() && { members }.all(|((k, a), (l, b))| k == l && same(a, b))
        }
        _ => a == b,
    }
}

/// The same for what a parser answers.
pub fn same_result(a: &Result<Value, String>, b: &Result<Value, String>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => same(a, b),
        (Err(a), Err(b)) => a == b,
        _ => false,
    }
}

/// How deep arrays and objects are nested in a value.
pub fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(object) => 1 + object.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Sees to it that a value survives being written and read again.
pub fn assert_reads_back(value: &Value) {
    if depth(value) > json::MAX_DEPTH {
        return;
    }
    let styles = [
        json::Style::COMPACT,
        json::Style::PYTHON,
        json::Style::pretty(1),
    ];
    for style in styles {
        let written = json::write_styled(value, &style);
        let read = json::read(&written);
        assert!(
            read.as_ref().is_ok_and(|read| same(read, value)),
            "{value:?} is written as {written}, which is read as {read:?}"
        );
    }
}

/// A text without the white space around it, which for Python includes four separators.
pub fn stripped(text: &str) -> &str {
    let is_space = |c: char| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}');
    text.trim_start_matches(is_space).trim_end_matches(is_space)
}

/// The texts of a value, keys included.
pub fn texts(value: &Value) -> Vec<&unjinja::JsonString> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(object) => object
            .iter()
            .flat_map(|(key, value)| std::iter::once(key).chain(texts(value)))
            .collect(),
        _ => Vec::new(),
    }
}
