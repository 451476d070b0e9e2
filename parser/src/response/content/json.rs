//! JSON, and what models make of it.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use crate::json;
use crate::response::language::{Language, Trait};
use crate::response::pattern::{Pattern, TooCostly};
use crate::value::Value;

use super::{Content, ContentError, excerpt};

/// Stand around the number of a string that has been taken out of the text.
const TAKEN_OUT: (char, char) = ('\u{1}', '\u{2}');

/// Finds keys without quotes, and strings, in which there are none. A string that holds a backslash before a line's end is
/// none, as in the reference.
static UNQUOTED_KEY: LazyLock<Pattern> =
    LazyLock::new(|| unquoted_key(r#""(?:\\[^\n]|[^"\\])*"|[{,]\s*(?P<key>\w+)\s*:"#));
/// Finds keys without quotes and without white space around them, wherever they stand.
static BARE_KEY: LazyLock<Pattern> = LazyLock::new(|| unquoted_key(r"[{,](?P<key>\w+):"));

fn unquoted_key(pattern: &str) -> Pattern {
    #[expect(clippy::expect_used, reason = "constants that the tests compile")]
    Pattern::new(pattern).expect("the pattern of unquoted keys")
}

/// The arguments of the `json` parser.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct JsonArgs {
    pub unquoted_keys: bool,
    pub allow_non_json: bool,
    /// Markers that stand around strings in place of quotes.
    pub string_delims: Vec<(String, String)>,
    /// Says what an unquoted key is.
    pub language: Language,
}

impl JsonArgs {
    /// Whether the text is JSON as it stands there, or none.
    pub fn is_plain(&self) -> bool {
        !self.unquoted_keys && self.string_delims.is_empty()
    }

    pub(super) fn parse(&self, text: &str, content: &Content) -> Result<Value, ContentError> {
        let result = if self.is_plain() {
            json::read(text)
        } else {
            json::read(&self.to_json(text)?)
        };
        match result {
            Ok(value) => Ok(value),
            Err(error) if self.allow_non_json && error.is_syntax() => {
                Ok(content.stripped(text).into())
            }
            Err(error) => Err(ContentError::new(format!(
                "this is not JSON: {error}, in {}",
                excerpt(text)
            ))),
        }
    }

    /// Rewrites the dialect as JSON.
    ///
    /// Strings between markers are taken out first, so that the search for keys can't disturb
    /// them, and put back quoted.
    pub fn to_json(&self, text: &str) -> Result<String, ContentError> {
        let reserved = [TAKEN_OUT.0, TAKEN_OUT.1];
        if !self.string_delims.is_empty() && text.contains(reserved) {
            return Err(ContentError::new(
                "the text contains U+0001 or U+0002, which can't be told from strings taken out",
            ));
        }
        let mut strings = Vec::new();
        let mut working = text.to_owned();
        for (open, close) in &self.string_delims {
            working = take_out(&working, open, close, &mut strings);
        }
        if self.unquoted_keys {
            working = quote_keys(&working, self.language)?;
        }
        Ok(match strings.is_empty() {
            true => working,
            false => put_back(&working, &strings),
        })
    }
}

fn take_out(text: &str, open: &str, close: &str, strings: &mut Vec<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let Some((string, after)) = after.split_once(close) else {
            break;
        };
        out.push_str(before);
        out.push(TAKEN_OUT.0);
        out.push_str(&strings.len().to_string());
        out.push(TAKEN_OUT.1);
        strings.push(string.to_owned());
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Sets quotes around keys that have none.
pub fn quote_keys(text: &str, language: Language) -> Result<String, ContentError> {
    let pattern = match language.has(Trait::FreeKeys) {
        true => &*UNQUOTED_KEY,
        false => &*BARE_KEY,
    };
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut copied = 0;
    let searched = pattern.for_each_match(text, |found| {
        if let Some(key) = found.group(0) {
            out.push_str(&text[copied..key.start]);
            out.push('"');
            out.push_str(&text[key.clone()]);
            out.push('"');
            copied = key.end;
        }
        ControlFlow::Continue(())
    });
    searched.map_err(|TooCostly| {
        ContentError::new("the search for unquoted keys takes too many steps")
    })?;
    out.push_str(&text[copied..]);
    Ok(out)
}

fn put_back(text: &str, strings: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(TAKEN_OUT.0) {
        out.push_str(before);
        let Some((number, after)) = after.split_once(TAKEN_OUT.1) else {
            rest = after;
            break;
        };
        if let Some(string) = number.parse::<usize>().ok().and_then(|n| strings.get(n)) {
            json::write_str(&mut out, string, false);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}
