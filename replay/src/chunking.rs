//! How a text comes in.

use std::fmt;

use unjinja::check::Cut;

/// How a text comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunking {
    /// In pieces like those of models.
    Tokens,
    /// Character by character.
    Characters,
    /// In pieces of so many bytes.
    Bytes(usize),
    /// In random pieces of so many bytes or so, by a seed.
    Random {
        /// How long pieces are on the average.
        mean: usize,
        /// What chance goes by.
        seed: u64,
    },
    /// All at once.
    Whole,
    /// As it came in, which is known of live texts only.
    AsItCame,
    /// In the fewest pieces that make the text mean something else, where such are known.
    AsItFails,
}

impl Chunking {
    /// The cuts of a text; none if they are known already.
    pub fn cut(self, text: &str) -> Option<Cut> {
        Some(match self {
            Chunking::Tokens => Cut::tokens(text),
            Chunking::Characters => Cut::characters(text),
            Chunking::Bytes(count) => Cut::bytes(text, count),
            Chunking::Random { mean, seed } => Cut::random(text, mean, seed),
            Chunking::Whole => Cut::whole(),
            Chunking::AsItCame | Chunking::AsItFails => return None,
        })
    }
}

impl fmt::Display for Chunking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Chunking::Tokens => f.write_str("by token"),
            Chunking::Characters => f.write_str("by character"),
            Chunking::Bytes(1) => f.write_str("by byte"),
            Chunking::Bytes(count) => write!(f, "by {count} bytes"),
            Chunking::Random { mean, seed } => write!(f, "random, {mean} bytes, seed {seed}"),
            Chunking::Whole => f.write_str("whole"),
            Chunking::AsItCame => f.write_str("as it came"),
            Chunking::AsItFails => f.write_str("as it fails"),
        }
    }
}
