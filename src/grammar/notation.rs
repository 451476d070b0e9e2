//! How JSON values are written: as JSON, or in something close to it.

use crate::format::Dialect;

/// What stands around strings, and whether signs in them are escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quotes {
    pub(crate) open: String,
    pub(crate) close: String,
    pub(crate) escapes: bool,
}

/// How JSON values are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notation {
    /// Strings begin and end in one of these ways. The first is used for what is known.
    pub(crate) strings: Vec<Quotes>,
    pub(crate) bare_keys: bool,
    /// Whether literals are Python's.
    pub(crate) python_words: bool,
}

impl Quotes {
    fn escaping(quote: &str) -> Quotes {
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
        }
    }

    /// As Python's `repr` writes values.
    pub(crate) fn python() -> Notation {
        Notation {
            strings: vec![Quotes::escaping("'"), Quotes::escaping("\"")],
            bare_keys: false,
            python_words: true,
        }
    }

    pub(crate) fn of(dialect: &Dialect) -> Notation {
        let strings = match &dialect.string_delimiters {
            Some((open, close)) => Quotes {
                open: open.clone(),
                close: close.clone(),
                // A quote has to be escaped; what is longer is there so that nothing has.
                escapes: close.chars().count() == 1,
            },
            None => Quotes::escaping("\""),
        };
        Notation {
            strings: vec![strings],
            bare_keys: dialect.unquoted_keys,
            python_words: dialect.python_literals,
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        *self == Notation::json()
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
