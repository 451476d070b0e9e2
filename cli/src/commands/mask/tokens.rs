//! Masks of tokens, by a `tokenizer.json`.

use std::path::Path;

use unjinja::Object;
use unjinja::conversation::Masked;

use crate::commands::Failure;

/// Cuts texts into tokens as a model does.
#[cfg(feature = "tokenizers")]
pub(super) struct Tokenizer {
    tokenizer: tokenizers::Tokenizer,
}

/// There are none without the feature.
#[cfg(not(feature = "tokenizers"))]
pub(super) enum Tokenizer {}

/// The tokens of a text.
pub(super) struct TokensMasked {
    /// Their ids and their mask, under the names that `apply_chat_template` gives them.
    pub(super) value: Object,
    pub(super) count: usize,
    /// How many of them are the model's.
    pub(super) masked: usize,
    /// What is to be said of them.
    pub(super) warnings: Vec<String>,
}

#[cfg(not(feature = "tokenizers"))]
impl Tokenizer {
    pub(super) fn load(_: &Path) -> Result<Tokenizer, Failure> {
        Err(Failure::Input(
            "--tokens: this program was built without tokenizers: build it with \
             `cargo install --path cli --features tokenizers`"
                .to_owned(),
        ))
    }

    pub(super) fn mask(&self, _: &Masked) -> Result<TokensMasked, String> {
        match *self {}
    }
}

#[cfg(feature = "tokenizers")]
impl Tokenizer {
    pub(super) fn load(path: &Path) -> Result<Tokenizer, Failure> {
        use tokenizers::PostProcessorWrapper;

        let text = crate::commands::input::read_text(path)?;
        let wrong = |error| Failure::Input(format!("{}: no tokenizer: {error}", path.display()));
        let mut tokenizer = tokenizers::Tokenizer::from_bytes(text).map_err(wrong)?;
        // All of the text counts, and nothing but the text: the chat template has written what begins and
        // ends it. And a token begins with the blank before it, which some tokenizers do not say.
        tokenizer.with_truncation(None).map_err(wrong)?;
        tokenizer.with_padding(None);
        tokenizer.with_post_processor(None::<PostProcessorWrapper>);
        Ok(Tokenizer { tokenizer })
    }

    pub(super) fn mask(&self, masked: &Masked) -> Result<TokensMasked, String> {
        let encoded = self
            .tokenizer
            .encode_char_offsets(masked.text.as_str(), false)
            .map_err(|error| format!("the tokenizer does not take the text: {error}"))?;
        let ranges: Vec<_> = encoded
            .get_offsets()
            .iter()
            .map(|&(start, end)| start..end)
            .collect();
        let found = masked.spans.of_tokens(&ranges);
        let ids = encoded.get_ids().iter().map(|id| i64::from(*id));
        let mask = found.mask.iter().map(|is_masked| i64::from(*is_masked));
        let value = Object::from_iter([
            ("input_ids", ids.collect::<unjinja::Value>()),
            ("assistant_masks", mask.collect()),
        ]);
        let count = found.mask.len();
        let masked_count = found.mask.iter().filter(|is_masked| **is_masked).count();
        let mut warnings = Vec::new();
        if let Some((first, others)) = found.across.split_first() {
            let range = ranges[*first].clone();
            let text: String = masked
                .text
                .chars()
                .skip(range.start)
                .take(range.len())
                .collect();
            let more = match others.len() {
                0 => String::new(),
                count => format!(", and so do {count} more"),
            };
            warnings.push(format!(
                "token {first}, {text:?}, lies across a border, in characters {} to {}{more}; a token is in \
                 the mask if the model writes a part of it",
                range.start, range.end
            ));
        }
        if masked_count == 0 && !masked.spans.is_empty() {
            warnings.push("none of the tokens is the model's".to_owned());
        }
        Ok(TokensMasked {
            value,
            count,
            masked: masked_count,
            warnings,
        })
    }
}
