//! JSON with quotes of its own, or with keys without any, as JSON while it is written.

use crate::json;
use crate::response::language::{Language, Trait};
use crate::response::{JsonArgs, quote_keys};

/// Turns text of the dialect into JSON, piece by piece: put together, the pieces are what the parser makes of all of
/// the text before it reads it, if that is JSON.
#[derive(Debug, Clone)]
pub(super) struct JsonDialect {
    unquoted_keys: bool,
    /// Says what a key is.
    language: Language,
    /// What stands around strings.
    quotes: Option<(String, String)>,
    place: JsonPosition,
    /// The word that follows a brace or a comma, and may turn out to be a key.
    word: Option<String>,
    /// Text that is not translated yet.
    held: String,
    /// Only the end of the text shows what it means.
    waits: bool,
}

/// Where in the text one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonPosition {
    Outside,
    /// Within the quotes of JSON.
    Quoted {
        is_escaped: bool,
    },
    /// Within quotes of the dialect's own.
    String,
}

impl JsonDialect {
    /// For text that is read with these arguments; `None` if it can't be turned into JSON before it has ended.
    pub(super) fn of(args: &JsonArgs) -> Option<JsonDialect> {
        let quotes = match args.string_delims.as_slice() {
            [] => None,
            // What is no quote for want of a second one makes the text something else than JSON.
            [(open, close)] if open.contains(is_foreign) => Some((open.clone(), close.clone())),
            // Of several, those that come first count, wherever they stand.
            _ => return None,
        };
        let is_certain = !args.is_plain() && !args.allow_non_json;
        is_certain.then_some(JsonDialect {
            unquoted_keys: args.unquoted_keys,
            language: args.language,
            quotes,
            place: JsonPosition::Outside,
            word: None,
            held: String::new(),
            waits: false,
        })
    }

    /// The JSON of more text.
    pub(super) fn feed(&mut self, text: &str) -> String {
        self.held.push_str(text);
        match self.waits {
            true => String::new(),
            false => self.translate(false),
        }
    }

    /// The JSON of what is left when the text has ended.
    pub(super) fn end(&mut self) -> String {
        let mut out = self.translate(true);
        out.push_str(&self.word.take().unwrap_or_default());
        out
    }

    fn translate(&mut self, is_last: bool) -> String {
        let text = std::mem::take(&mut self.held);
        let quotes = self.quotes.clone();
        let mut out = String::with_capacity(text.len() + text.len() / 8);
        let mut at = 0;
        while let Some(next) = text[at..].chars().next() {
            let rest = &text[at..];
            if let (JsonPosition::String, Some((_, close))) = (self.place, &quotes) {
                let end = rest.find(close.as_str());
                let length = match end {
                    Some(end) => end,
                    None if is_last => rest.len(),
                    None => rest.len() - begun(rest, close),
                };
                write_within(&mut out, &rest[..length]);
                at += length;
                if end.is_none() {
                    break;
                }
                out.push('"');
                at += close.len();
                self.place = JsonPosition::Outside;
                continue;
            }
            if let Some((open, close)) = &quotes {
                if !is_last && rest.len() < open.len() && open.starts_with(rest) {
                    break;
                }
                if let Some(string) = rest.strip_prefix(open.as_str()) {
                    let is_quoted = self.place != JsonPosition::Outside;
                    if is_quoted && !is_last {
                        // Within quotes of JSON it is one only if it is closed.
                        self.waits = true;
                        break;
                    }
                    if is_quoted && !string.contains(close.as_str()) {
                        self.quotes = None;
                        self.held = text[at..].to_owned();
                        return out + &self.translate(true);
                    }
                    out.push_str(&self.word.take().unwrap_or_default());
                    out.push('"');
                    at += open.len();
                    self.place = JsonPosition::String;
                    continue;
                }
            }
            self.character(next, &mut out);
            at += next.len_utf8();
        }
        self.held = text[at..].to_owned();
        out
    }

    /// A character that belongs to no string of the dialect.
    fn character(&mut self, next: char, out: &mut String) {
        let is_free = self.language.has(Trait::FreeKeys);
        if let Some(word) = &mut self.word {
            if is_free && next.is_ascii_whitespace() {
                // Before the key it changes nothing; behind it, it shows that the word is none unless a colon comes.
                let before = if word.is_empty() { &mut *out } else { word };
                before.push(next);
                return;
            }
            if next.is_ascii_alphanumeric() || next == '_' || !next.is_ascii() {
                word.push(next);
                return;
            }
            let word = self.word.take().unwrap_or_default();
            match next {
                ':' => out.push_str(&as_key(&word, self.language)),
                _ => out.push_str(&word),
            }
        }
        out.push(next);
        self.place = match (self.place, next) {
            (JsonPosition::Quoted { is_escaped: true }, _) => {
                JsonPosition::Quoted { is_escaped: false }
            }
            (JsonPosition::Quoted { .. }, '\\') => JsonPosition::Quoted { is_escaped: true },
            (JsonPosition::Quoted { .. }, '"') => JsonPosition::Outside,
            (JsonPosition::Outside, '"') => JsonPosition::Quoted { is_escaped: false },
            (place, _) => place,
        };
        let may_be_key = self.place == JsonPosition::Outside || !is_free;
        if self.unquoted_keys && may_be_key && matches!(next, '{' | ',') {
            self.word = Some(String::new());
        }
    }
}

/// Whether a character can't stand in JSON outside of strings.
fn is_foreign(c: char) -> bool {
    !(c.is_alphanumeric() || c.is_whitespace() || "{}[]:,\"+-.\\".contains(c))
}

/// How much at the end of a text may be the beginning of a delimiter.
fn begun(text: &str, delimiter: &str) -> usize {
    let starts = delimiter.char_indices().map(|(at, _)| at).rev();
    let mut starts = starts.filter(|&length| text.ends_with(&delimiter[..length]));
    starts.next().unwrap_or(0)
}

/// Writes what stands within a string.
fn write_within(out: &mut String, text: &str) {
    let mut quoted = String::with_capacity(text.len() + 2);
    json::write_str(&mut quoted, text, false);
    out.push_str(&quoted[1..quoted.len() - 1]);
}

/// A word before a colon, as a key if it is one.
fn as_key(word: &str, language: Language) -> String {
    let written = format!("{{{word}:");
    let quoted = quote_keys(&written, language).unwrap_or(written);
    quoted[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn args(unquoted_keys: bool, quotes: &[(&str, &str)]) -> JsonArgs {
        let quotes = quotes.iter();
        JsonArgs {
            unquoted_keys,
            allow_non_json: false,
            language: Language::default(),
            string_delims: quotes
                .map(|&(open, close)| (open.to_owned(), close.to_owned()))
                .collect(),
        }
    }

    /// The JSON of pieces, put together.
    fn translated(args: &JsonArgs, pieces: &[&str]) -> String {
        let Some(mut dialect) = JsonDialect::of(args) else {
            panic!("this is certain only in the end: {args:?}");
        };
        let mut out: String = pieces.iter().map(|piece| dialect.feed(piece)).collect();
        out.push_str(&dialect.end());
        out
    }

    #[test]
    fn pieces_come_as_soon_as_they_are_certain() {
        let args = args(true, &[("<|\"|>", "<|\"|>")]);
        let Some(mut dialect) = JsonDialect::of(&args) else {
            panic!("it can be turned into JSON");
        };
        for (text, expected) in [
            ("{ci", "{"),
            ("ty:<|", "\"city\":"),
            ("\"|>Os", "\"Os"),
            ("lo \"x\"\n<|\"", "lo \\\"x\\\"\\n"),
            ("|>,days:", "\",\"days\":"),
            ("[1,tr", "[1,"),
            ("ue]}", "true]}"),
        ] {
            assert_eq!(dialect.feed(text), expected, "{text}");
        }
        assert_eq!(dialect.end(), "");
    }

    #[test]
    fn what_only_the_end_shows_waits_for_it() {
        for quotes in [
            &[("'", "'"), ("`", "`")][..],
            &[("\"", "\"")],
            &[("a", "b")],
        ] {
            assert!(
                JsonDialect::of(&args(false, quotes)).is_none(),
                "{quotes:?}"
            );
        }
        let own = args(true, &[("'", "'")]);
        assert_eq!(translated(&own, &["{a:\"it", "'s\"}"]), "{\"a\":\"it's\"}");
        assert_eq!(
            translated(&args(false, &[("'", "'")]), &["['a", "', 'b']"]),
            "[\"a\", \"b\"]"
        );
    }

    /// Values of the dialect: a string between quotes of its own is one of these.
    fn values(strings: Vec<&'static str>) -> impl Strategy<Value = String> {
        let plain = [
            "1",
            "-0.5e3",
            "true",
            "null",
            "\"s\"",
            "\"it\\\"s\"",
            "[]",
            "{}",
            " \n2",
        ];
        let all: Vec<&str> = plain.into_iter().chain(strings).collect();
        let leaf = prop::sample::select(all).prop_map(String::from);
        leaf.prop_recursive(4, 24, 4, |inner| {
            let key = prop::sample::select(vec!["\"k\"", "\"a b\"", "a", "b_1", "é"]);
            let member = (key, inner.clone()).prop_map(|(key, value)| format!("{key}:{value}"));
            prop_oneof![
                prop::collection::vec(inner, 0..4)
                    .prop_map(|items| format!("[{}]", items.join(","))),
                prop::collection::vec(member, 0..4)
                    .prop_map(|all| format!("{{{}}}", all.join(","))),
            ]
        })
    }

    /// What is checked of a text that comes in pieces of these lengths.
    fn is_translated(args: &JsonArgs, text: &str, lengths: &[usize]) -> Result<(), TestCaseError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        for length in lengths.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let end = rest
                .char_indices()
                .nth(*length)
                .map_or(rest.len(), |(at, _)| at);
            pieces.push(&rest[..end]);
            rest = &rest[end..];
        }
        let all = translated(args, &pieces);
        if let Ok(json) = args.to_json(text)
            && crate::json::read(&json).is_ok()
        {
            prop_assert_eq!(&all, &json);
        }
        // However it is cut.
        prop_assert_eq!(&all, &translated(args, &[text]));
        Ok(())
    }

    proptest! {
        /// Whatever is JSON in the end is the same JSON, however it comes in.
        #[test]
        fn pieces_put_together_are_what_the_parser_reads(
            text in values(vec!["<q>x</q>", "<q></q>", "<q>it's \"q\" <\n\\</q>", "<q>[1,a:{</q>"]),
            other in values(vec!["'x'", "'a \"b\" é'", "\"it's\""]),
            lengths in prop::collection::vec(1..9_usize, 1..5),
        ) {
            is_translated(&args(true, &[("<q>", "</q>")]), &text, &lengths)?;
            is_translated(&args(true, &[("'", "'")]), &other, &lengths)?;
            is_translated(&args(true, &[]), &other, &lengths)?;
        }

        /// What is no JSON may be cut anywhere, too.
        #[test]
        fn what_is_no_json_comes_to_an_end(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "{", "}", "[", ",", ":", "a", "é", "\"", "\\", "'", "<q>", "<", "q>", "</q>", "</", "{a:",
                ]),
                0..14,
            ),
            lengths in prop::collection::vec(1..4_usize, 1..5),
        ) {
            let text = pieces.concat();
            for quotes in [&[][..], &[("<q>", "</q>")], &[("'", "'")]] {
                is_translated(&args(true, quotes), &text, &lengths)?;
            }
        }
    }
}
