//! JSON whose keys have no quotes, and whose strings stand between `<|"|>`.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use crate::json;
use crate::response::pattern::{Dialect, Meter, Pattern, TooCostly};

/// What stands around strings.
const QUOTE: &str = "<|\"|>";
/// What stands for a string that has been taken out of the text.
const TAKEN_OUT: char = '\0';

/// Finds keys without quotes.
static KEY: LazyLock<Pattern> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant that the tests compile")]
    Pattern::new_as(Dialect::Re, r"[{,](\w+):").expect("the pattern of unquoted keys")
});

/// Why such a text can't be rewritten.
#[derive(Debug)]
pub(super) enum Fault {
    /// It holds the character that strings are taken out for, which JSON can't have there.
    Nul,
    TooCostly,
}

/// Rewrites such a text as JSON. Strings are taken out first, so that nothing in them is taken for a
/// key.
pub(super) fn to_json(text: &str, meter: &mut Meter) -> Result<String, Fault> {
    let (plain, strings) = take_out(text)?;
    let mut quoted = String::with_capacity(plain.len() + plain.len() / 8);
    let mut copied = 0;
    let searched = KEY.for_each_match_within(&plain, meter, |found| {
        if let Some(key) = found.group(0) {
            quoted.push_str(&plain[copied..key.start]);
            quoted.push('"');
            quoted.push_str(&plain[key.clone()]);
            quoted.push('"');
            copied = key.end;
        }
        ControlFlow::Continue(())
    });
    searched.map_err(|TooCostly| Fault::TooCostly)?;
    quoted.push_str(&plain[copied..]);
    Ok(put_back(&quoted, &strings))
}

fn take_out(text: &str) -> Result<(String, Vec<&str>), Fault> {
    let mut out = String::with_capacity(text.len());
    let mut strings = Vec::new();
    let mut rest = text;
    loop {
        let string = rest.split_once(QUOTE).and_then(|(plain, after)| {
            let (string, after) = after.split_once(QUOTE)?;
            Some((plain, string, after))
        });
        let plain = string.map_or(rest, |(plain, ..)| plain);
        if plain.contains(TAKEN_OUT) {
            return Err(Fault::Nul);
        }
        out.push_str(plain);
        let Some((_, string, after)) = string else {
            return Ok((out, strings));
        };
        out.push(TAKEN_OUT);
        strings.push(string);
        rest = after;
    }
}

fn put_back(text: &str, strings: &[&str]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pieces = text.split(TAKEN_OUT);
    out.push_str(pieces.next().unwrap_or_default());
    for (string, piece) in strings.iter().zip(pieces) {
        json::write_str(&mut out, string, true);
        out.push_str(piece);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_strings_get_their_quotes() {
        let rewritten = |text| to_json(text, &mut Meter::new(100)).ok();
        for (text, expected) in [
            ("{}", "{}"),
            ("{a:1,b_2:[true]}", r#"{"a":1,"b_2":[true]}"#),
            ("{a: 1, b:2}", r#"{"a": 1, b:2}"#),
            (r#"{a:<|"|>x "y"<|"|>}"#, r#"{"a":"x \"y\""}"#),
            (r#"{a:<|"|>{b:1}é<|"|>}"#, r#"{"a":"{b:1}\u00e9"}"#),
            (r#"{<|"|>a<|"|>:1}"#, r#"{"a":1}"#),
            (r#"{a:<|"|>open"#, r#"{"a":<|"|>open"#),
            (r#"{<|"|>a<|"|>b:1}"#, r#"{"a"b:1}"#),
            ("{größe:1,:2,a::3}", r#"{"größe":1,:2,"a"::3}"#),
            ("{a:<|\"|>\0<|\"|>}", r#"{"a":"\u0000"}"#),
        ] {
            assert_eq!(rewritten(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(rewritten("{a:\0}"), None);
    }
}
