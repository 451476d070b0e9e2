//! The tokens of a template, its strings as Jinja reads them.

use std::ops::Range;

use minijinja::ErrorKind;
use minijinja::machinery::{Token, Tokenizer};

use super::{literals, syntax};

/// A template can't be cut into tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenError {
    pub(crate) message: String,
    /// The place, if it is a string that can't be read.
    pub(crate) place: Option<Range<usize>>,
}

/// The tokens of a template, each with its place.
pub(crate) struct Tokens<'t> {
    tokenizer: Tokenizer<'t>,
    jinja: &'t str,
    /// The end of the last one.
    at: usize,
    has_failed: bool,
}

/// The tokens of a template, one after the other.
pub(crate) fn tokens(jinja: &str) -> Tokens<'_> {
    Tokens {
        tokenizer: Tokenizer::new(jinja, "", false, syntax()),
        jinja,
        at: 0,
        has_failed: false,
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Result<(Token<'t>, Range<usize>), TokenError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let token = match self.tokenizer.next_token() {
            Ok(None) => return None,
            Ok(Some((Token::String(_), span))) => {
                self.string(span.start_offset as usize..span.end_offset as usize)
            }
            Ok(Some((token, span))) => {
                Ok((token, span.start_offset as usize..span.end_offset as usize))
            }
            // The tokenizer has read the string, and does not know what it means.
            Err(error) if error.kind() == ErrorKind::BadEscape => {
                let place = self.next_string();
                self.string(place)
            }
            Err(error) => Err(TokenError {
                message: error.to_string(),
                place: None,
            }),
        };
        match &token {
            Ok((_, place)) => self.at = place.end,
            Err(_) => self.has_failed = true,
        }
        Some(token)
    }
}

impl<'t> Tokens<'t> {
    /// The place of the string that comes next.
    fn next_string(&self) -> Range<usize> {
        let bytes = self.jinja.as_bytes();
        let blanks = bytes[self.at..]
            .iter()
            .take_while(|b| b.is_ascii_whitespace());
        let start = self.at + blanks.count();
        let quote = bytes.get(start);
        let mut end = start + 1;
        while end < bytes.len() && bytes.get(end) != quote {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        start..(end + 1).min(bytes.len())
    }

    fn string(&self, place: Range<usize>) -> Result<(Token<'t>, Range<usize>), TokenError> {
        let written = self.jinja.get(place.start + 1..place.end - 1);
        match literals::text(written.unwrap_or_default()) {
            Ok(text) => Ok((Token::String(text.into()), place)),
            Err(error) => {
                let start = place.start + 1 + error.at;
                Err(TokenError {
                    message: error.message,
                    place: Some(start..start + error.length),
                })
            }
        }
    }
}
