//! How JSON values are written: as JSON, or in something close to it.

use std::sync::Arc;

use super::escape::text_within;
use super::expr::Expr;
use crate::format::Dialect;
use crate::json;
use crate::value::Value;

/// What stands around strings, and whether signs in them are escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quotes {
    pub(crate) open: String,
    pub(crate) close: String,
    pub(crate) escapes: bool,
}

/// How JSON values are written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Notation {
    /// Strings begin and end in one of these ways. The first is used for what is known.
    pub(crate) strings: Vec<Quotes>,
    pub(crate) bare_keys: bool,
    /// Whether literals are Python's.
    pub(crate) python_words: bool,
    /// The quotes of the string that the value stands in.
    pub(crate) within: Option<String>,
    /// Whether its beginning stands elsewhere.
    pub(crate) is_begun: bool,
    /// Which line breaks of a text belong to its markers.
    pub(crate) line_breaks: LineBreaks,
    /// What can't stand in strings as it is, since it ends or begins another part of the turn.
    pub(crate) outside: Arc<[Expr]>,
}

/// Which line breaks of a text as it is belong to the markers around it: its first one, its last one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LineBreaks {
    pub(crate) first: bool,
    pub(crate) last: bool,
}

impl LineBreaks {
    /// The text without them.
    pub(super) fn strip(self, text: &str) -> &str {
        let text = text
            .strip_prefix('\n')
            .filter(|_| self.first)
            .unwrap_or(text);
        text.strip_suffix('\n')
            .filter(|_| self.last)
            .unwrap_or(text)
    }
}

impl Quotes {
    pub(super) fn escaping(quote: &str) -> Quotes {
        Quotes {
            open: quote.to_owned(),
            close: quote.to_owned(),
            escapes: true,
        }
    }
}

impl Notation {
    pub(crate) fn json() -> Notation {
        Notation {
            strings: vec![Quotes::escaping("\"")],
            bare_keys: false,
            python_words: false,
            within: None,
            is_begun: false,
            line_breaks: LineBreaks::default(),
            outside: Arc::new([]),
        }
    }

    /// A text as it is.
    pub(crate) fn text(line_breaks: LineBreaks) -> Notation {
        Notation {
            strings: Vec::new(),
            line_breaks,
            ..Notation::json()
        }
    }

    /// As Python's `repr` writes values.
    pub(crate) fn python() -> Notation {
        Notation {
            // Python takes other quotes around texts with this one in them. Then response templates can't tell
            // the one from the other.
            strings: vec![Quotes::escaping("'")],
            bare_keys: false,
            python_words: true,
            within: None,
            is_begun: false,
            line_breaks: LineBreaks::default(),
            outside: Arc::new([]),
        }
    }

    pub(crate) fn of(dialect: &Dialect) -> Notation {
        let strings = match &dialect.string_delimiters {
            Some((open, close)) => Quotes {
                open: open.clone(),
                close: close.clone(),
                // A quote has to be escaped; others are there so that nothing has.
                escapes: close.chars().count() == 1 && open == close,
            },
            None => Quotes::escaping("\""),
        };
        Notation {
            strings: vec![strings],
            bare_keys: dialect.unquoted_keys,
            python_words: dialect.python_literals,
            within: None,
            is_begun: false,
            line_breaks: LineBreaks::default(),
            outside: Arc::new([]),
        }
    }

    /// The same where these can't stand in strings as they are.
    pub(crate) fn without(self, outside: Arc<[Expr]>) -> Notation {
        Notation { outside, ..self }
    }

    /// The same within a string, where signs are escaped.
    pub(crate) fn escaped(&self, quote: &str) -> Notation {
        Notation {
            within: Some(quote.to_owned()),
            ..self.clone()
        }
    }

    /// The same of which the beginning has come already.
    pub(crate) fn begun(&self) -> Notation {
        Notation {
            is_begun: true,
            ..self.clone()
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        let json = Notation::json();
        *self == json.without(Arc::clone(&self.outside))
    }

    /// What stands between two items. Python writes it always alike, and what reads it may go by that. Keys
    /// without quotes are found by the sign before and the colon behind them.
    pub(crate) fn comma(&self) -> Expr {
        match (self.python_words, self.bare_keys) {
            (true, false) => ", ".into(),
            (_, true) => Expr::sequence([Expr::Space, ",".into()]),
            (false, false) => Expr::sequence([Expr::Space, ",".into(), Expr::Space]),
        }
    }

    /// What stands between a key and its value.
    pub(crate) fn colon(&self) -> Expr {
        match (self.python_words, self.bare_keys) {
            (true, false) => ": ".into(),
            (_, true) => Expr::sequence([":".into(), Expr::Space]),
            (false, false) => Expr::sequence([Expr::Space, ":".into(), Expr::Space]),
        }
    }

    /// What may stand within brackets beside items.
    pub(crate) fn gap(&self) -> Expr {
        match self.python_words || self.bare_keys {
            true => Expr::Empty,
            false => Expr::Space,
        }
    }

    /// A text between quotes, if it can be written so.
    pub(crate) fn quoted(text: &str, quotes: &Quotes) -> Option<String> {
        let written = match (quotes.escapes, quotes.close.as_str()) {
            // Without escapes, a text with its own quote in it can't be written.
            (false, close) if text.contains(close) => return None,
            (false, _) => text.to_owned(),
            (true, "\"") => return Some(json::write(&Value::from(text))),
            (true, quote) => text_within(text, quote)?,
        };
        Some(format!("{}{written}{}", quotes.open, quotes.close))
    }

    /// A word for true, false or nothing.
    pub(crate) fn word(&self, value: Option<bool>) -> &'static str {
        match (value, self.python_words) {
            (Some(true), false) => "true",
            (Some(false), false) => "false",
            (None, false) => "null",
            (Some(true), true) => "True",
            (Some(false), true) => "False",
            (None, true) => "None",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::regex::of_regular;
    use super::*;

    #[test]
    fn line_breaks_of_markers_are_no_part_of_a_text() {
        for (first, last, expected) in [
            (false, false, "\n\na\n\n"),
            (true, false, "\na\n\n"),
            (false, true, "\n\na\n"),
            (true, true, "\na\n"),
        ] {
            let breaks = LineBreaks { first, last };
            assert_eq!(breaks.strip("\n\na\n\n"), expected);
            assert_eq!(breaks.strip("a"), "a");
        }
        let both = LineBreaks {
            first: true,
            last: true,
        };
        // A single one is the first.
        assert_eq!(both.strip("\n"), "");
    }

    #[test]
    fn a_text_is_quoted_if_it_can_be() {
        let quotes = |open: &str, close: &str, escapes| Quotes {
            open: open.to_owned(),
            close: close.to_owned(),
            escapes,
        };
        for (text, quotes, expected) in [
            ("it's", quotes("\"", "\"", true), Some("\"it's\"")),
            (
                "a\"b\u{1}",
                quotes("\"", "\"", true),
                Some(r#""a\"b\u0001""#),
            ),
            ("it's", quotes("'", "'", true), None),
            ("its", quotes("'", "'", true), Some("'its'")),
            ("a\nb", quotes("<q>", "</q>", false), Some("<q>a\nb</q>")),
            ("a</q>", quotes("<q>", "</q>", false), None),
        ] {
            assert_eq!(
                Notation::quoted(text, &quotes).as_deref(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn what_reads_a_notation_goes_by_its_signs() {
        let dialect = |unquoted_keys, string_delimiters: Option<(&str, &str)>| {
            let owned = |(open, close): (&str, &str)| (open.to_owned(), close.to_owned());
            Notation::of(&Dialect {
                unquoted_keys,
                string_delimiters: string_delimiters.map(owned),
                python_literals: false,
            })
        };
        let white = r"[ \t\r\n]*";
        let free = |sign: &str| format!("{white}{sign}{white}");
        for (notation, is_json, comma, colon, gap, word) in [
            (Notation::json(), true, free(","), free(":"), white, "true"),
            (
                Notation::python(),
                false,
                ", ".to_owned(),
                ": ".to_owned(),
                "",
                "True",
            ),
            // Keys without quotes are found by the sign before and the colon behind them.
            (
                dialect(true, None),
                false,
                format!("{white},"),
                format!(":{white}"),
                "",
                "true",
            ),
            (
                dialect(false, Some(("'", "'"))),
                false,
                free(","),
                free(":"),
                white,
                "true",
            ),
            (
                dialect(false, None),
                true,
                free(","),
                free(":"),
                white,
                "true",
            ),
            (
                Notation::json().without(Arc::new(["<call>".into()])),
                true,
                free(","),
                free(":"),
                white,
                "true",
            ),
            (
                Notation::json().escaped("\""),
                false,
                free(","),
                free(":"),
                white,
                "true",
            ),
        ] {
            assert_eq!(notation.is_json(), is_json, "{notation:?}");
            assert_eq!(of_regular(&notation.comma()), Some(comma), "{notation:?}");
            assert_eq!(of_regular(&notation.colon()), Some(colon), "{notation:?}");
            assert_eq!(
                of_regular(&notation.gap()).as_deref(),
                Some(gap),
                "{notation:?}"
            );
            assert_eq!(notation.word(Some(true)), word, "{notation:?}");
        }
    }

    #[test]
    fn quotes_are_escaped_and_other_delimiters_are_there_so_that_nothing_has_to_be() {
        for (delimiters, escapes) in [
            (None, true),
            (Some(("'", "'")), true),
            (Some(("<q>", "<q>")), false),
            (Some(("«", "»")), false),
        ] {
            let notation = Notation::of(&Dialect {
                string_delimiters: delimiters
                    .map(|(open, close)| (open.to_owned(), close.to_owned())),
                ..Dialect::default()
            });
            assert_eq!(notation.strings[0].escapes, escapes, "{delimiters:?}");
        }
    }
}
