//! Texts cut into tokens as a model cuts them, by its `tokenizer.json`.

use std::fmt;
use std::ops::Range;
use std::path::Path;

/// A tokenizer. There is none without the feature `tokenizers`.
#[cfg(feature = "tokenizers")]
pub(crate) struct Tokenizer(tokenizers::Tokenizer);

/// A tokenizer. There is none without the feature `tokenizers`.
#[cfg(not(feature = "tokenizers"))]
pub(crate) enum Tokenizer {}

/// A token of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) id: u32,
    /// Its text, in characters.
    pub(crate) characters: Range<usize>,
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokenizer")
    }
}

#[cfg(not(feature = "tokenizers"))]
impl Tokenizer {
    /// Says how to build the program with tokenizers.
    pub(crate) fn load(_: &Path) -> Result<Tokenizer, String> {
        Err("this program was built without tokenizers: build it with \
             `cargo install --path cli --features tokenizers`"
            .to_owned())
    }

    pub(crate) fn tokens(&self, _: &str) -> Result<Vec<Token>, String> {
        match *self {}
    }

    pub(crate) fn places(&self, _: &str) -> Option<Vec<usize>> {
        match *self {}
    }
}

#[cfg(feature = "tokenizers")]
impl Tokenizer {
    /// Reads a `tokenizer.json`.
    pub(crate) fn load(path: &Path) -> Result<Tokenizer, String> {
        use tokenizers::PostProcessorWrapper;

        /// Those of large vocabularies have some ten megabytes.
        const MAX_FILE: u64 = 256 << 20;

        let text = unjinja::files::read_text(path, MAX_FILE).map_err(|error| error.to_string())?;
        let wrong = |error| format!("{}: no tokenizer: {error}", path.display());
        let mut tokenizer = tokenizers::Tokenizer::from_bytes(text).map_err(wrong)?;
        // All of the text counts, and nothing but the text: the chat template has written what begins and
        // ends it. And a token begins with the blank before it, which some tokenizers do not say.
        tokenizer.with_truncation(None).map_err(wrong)?;
        tokenizer.with_padding(None);
        tokenizer.with_post_processor(None::<PostProcessorWrapper>);
        Ok(Tokenizer(tokenizer))
    }

    /// The tokens of a text.
    pub(crate) fn tokens(&self, text: &str) -> Result<Vec<Token>, String> {
        let encoded = self.0.encode_char_offsets(text, false);
        let encoded =
            encoded.map_err(|error| format!("the tokenizer does not take the text: {error}"))?;
        let tokens = encoded.get_ids().iter().zip(encoded.get_offsets());
        let tokens = tokens.map(|(&id, &(start, end))| Token {
            id,
            characters: start..end,
        });
        Ok(tokens.collect())
    }

    /// The bytes at which the tokens of a text end, if the tokenizer takes it.
    pub(crate) fn places(&self, text: &str) -> Option<Vec<usize>> {
        let encoded = self.0.encode(text, false).ok()?;
        let ends = encoded.get_offsets().iter().map(|&(_, end)| end);
        let mut ends: Vec<usize> = ends.filter(|end| *end < text.len()).collect();
        ends.dedup();
        Some(ends)
    }
}
