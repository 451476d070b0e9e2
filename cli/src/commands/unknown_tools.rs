//! `--unknown-tools`: what becomes of calls of tools that were not offered.

use clap::ValueEnum;

use unjinja::UnknownTools;

/// What to do with calls of tools that were not offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unknown {
    /// Treat them as all others
    Keep,
    /// Add their text to the content
    Text,
    /// Leave them out
    Drop,
}

impl Unknown {
    pub(crate) fn policy(self) -> UnknownTools {
        match self {
            Unknown::Keep => UnknownTools::Keep,
            Unknown::Text => UnknownTools::Text,
            Unknown::Drop => UnknownTools::Drop,
        }
    }
}
