//! Masks of tokens.

use std::ops::Range;

use unjinja::Object;
use unjinja::conversation::Masked;

use crate::tokenizer::Tokenizer;

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

/// The mask of a text's tokens.
pub(super) fn masked_tokens(
    tokenizer: &Tokenizer,
    masked: &Masked,
) -> Result<TokensMasked, String> {
    let tokens = tokenizer.tokens(&masked.text)?;
    let ranges: Vec<Range<usize>> = tokens
        .iter()
        .map(|token| token.characters.clone())
        .collect();
    let found = masked.spans.of_tokens(&ranges);
    let ids = tokens.iter().map(|token| i64::from(token.id));
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
