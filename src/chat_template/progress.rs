//! What happens while a model is fetched.

use std::fmt;

use crate::remedy::Remedy;

use super::error::LoadError;
use super::model_id::ModelId;

/// What happens while a model is fetched from the hub.
///
/// It prints as a line for people, such as
/// `org/name: fetching tokenizer_config.json (9 kB)`.
#[derive(Debug)]
#[non_exhaustive]
pub enum Progress {
    /// The hub is asked for the model.
    Asking {
        /// The model.
        model: ModelId,
        /// The address of the hub.
        endpoint: String,
    },
    /// A file is fetched.
    Fetching {
        /// The model.
        model: ModelId,
        /// The path of the file in the model's folder.
        path: String,
        /// Its size in bytes.
        size: u64,
    },
    /// The hub could not be asked, so what the cache has is taken.
    FallingBack {
        /// Why the hub could not be asked.
        error: LoadError,
    },
}

impl Progress {
    /// The line, with names of the caller for what it advises to make use of.
    pub fn explain(&self, words: impl Fn(Remedy) -> &'static str) -> String {
        match self {
            Self::Asking { model, endpoint } => format!("{model}: asking {endpoint}"),
            Self::Fetching { model, path, size } => {
                format!("{model}: fetching {path} ({})", amount(*size))
            }
            Self::FallingBack { error } => {
                format!("{}; taking what the cache has", error.explain(words))
            }
        }
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.explain(Remedy::name))
    }
}

fn amount(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
