//! What is known of a model's tokens, and how a text is cut into them.

use std::collections::HashSet;
use std::sync::Arc;

use unjinja::check::Cut;

use crate::tokenizer::Tokenizer;

/// Longer texts are cut in pieces like tokens, since to find the real ones takes too long.
const LONGEST_ENCODED: usize = 1 << 20;

/// What is known of a model's tokens.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelTokens {
    added: AddedTokens,
    tokenizer: Option<Arc<Tokenizer>>,
}

impl ModelTokens {
    pub(crate) fn new(added: &[String], tokenizer: Option<Arc<Tokenizer>>) -> ModelTokens {
        ModelTokens {
            added: AddedTokens::new(added),
            tokenizer,
        }
    }

    /// The places between a text's tokens: the real ones, if there is a tokenizer that takes it; or else
    /// pieces like tokens, of which added ones stay whole. None if nothing is known of them.
    pub(crate) fn places(&self, text: &str) -> Option<Vec<usize>> {
        let tokenizer = self.tokenizer.as_ref();
        let tokenizer = tokenizer.filter(|_| text.len() <= LONGEST_ENCODED);
        let real = tokenizer.and_then(|tokenizer| tokenizer.places(text));
        let whole = || self.added.keep_whole(text, Cut::token_places(text));
        real.or_else(|| (!self.added.tokens.is_empty()).then(whole))
    }
}

/// The texts that are single tokens of a model, whatever is in them.
#[derive(Debug, Clone, Default)]
struct AddedTokens {
    tokens: HashSet<String>,
    /// How long they are in bytes, the longest first.
    lengths: Vec<usize>,
    /// For each byte, whether one of them begins with it.
    starts: Vec<bool>,
}

impl AddedTokens {
    fn new(tokens: &[String]) -> AddedTokens {
        let tokens = tokens.iter().filter(|token| !token.is_empty());
        let tokens: HashSet<String> = tokens.cloned().collect();
        let lengths: HashSet<usize> = tokens.iter().map(String::len).collect();
        let mut lengths: Vec<usize> = lengths.into_iter().collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        let mut starts = vec![false; 256];
        for token in &tokens {
            starts[token.as_bytes()[0] as usize] = true;
        }
        AddedTokens {
            starts,
            tokens,
            lengths,
        }
    }

    /// The places where a text is cut, changed so that each of these tokens is a piece.
    fn keep_whole(&self, text: &str, places: impl Iterator<Item = usize>) -> Vec<usize> {
        let mut kept = Vec::new();
        let mut rest = places.peekable();
        let mut at = 0;
        while let Some(next) = self.next_start(text, at) {
            let Some(end) = self.end_of_token(text, next) else {
                at = next + 1;
                continue;
            };
            while let Some(place) = rest.next_if(|&place| place < end) {
                if place < next {
                    kept.push(place);
                }
            }
            kept.extend([next, end]);
            at = end;
        }
        kept.extend(rest);
        kept.dedup();
        kept
    }

    fn next_start(&self, text: &str, from: usize) -> Option<usize> {
        let mut rest = text.as_bytes()[from..].iter();
        let ahead = rest.position(|byte| self.starts[*byte as usize])?;
        Some(from + ahead)
    }

    /// Where the longest of them ends that begins at a byte.
    fn end_of_token(&self, text: &str, start: usize) -> Option<usize> {
        let mut ends = self.lengths.iter().map(|length| start + length);
        ends.find(|&end| {
            text.get(start..end)
                .is_some_and(|text| self.tokens.contains(text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_tokens_are_pieces_of_their_own() {
        let tokens = ["<|end|>", "<|end", "<t>", "日本"].map(str::to_owned);
        let tokens = AddedTokens::new(&tokens);
        for (text, pieces) in [
            ("a<|end|>b", vec!["a", "<|end|>", "b"]),
            (
                "<|end|><t><|end<x>",
                vec!["<|end|>", "<t>", "<|end", "<", "x", ">"],
            ),
            ("日本語", vec!["日本", "語"]),
            ("", vec![""]),
        ] {
            let places = text.char_indices().map(|(at, _)| at);
            let places = tokens.keep_whole(text, places);
            let ends = places.iter().copied().chain([text.len()]);
            let starts = [0].into_iter().chain(places.iter().copied());
            let cut: Vec<&str> = starts
                .zip(ends)
                .map(|(start, end)| &text[start..end])
                .collect();
            let cut: Vec<&str> = cut
                .into_iter()
                .filter(|piece| !piece.is_empty() || text.is_empty())
                .collect();
            let mut expected = pieces;
            expected.dedup();
            let mut cut = cut;
            cut.dedup();
            assert_eq!(cut, expected, "{text}");
        }
    }
}
