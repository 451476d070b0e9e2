//! How a response template is to be derived.

use crate::chat_template::RenderInput;

/// How a response template is to be derived.
///
/// ```
/// use unjinja::derive::DeriveOptions;
///
/// let options = DeriveOptions::default()
///     .reasoning_field("reasoning_content")
///     .ids(true);
/// assert_eq!(options.reasoning_field, "reasoning_content");
/// assert!(options.ids && !options.guess_types);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeriveOptions {
    /// What all renderings have in common: tokens, the time, variables.
    pub base: RenderInput,
    /// The field for reasoning.
    pub reasoning_field: String,
    /// Whether calls keep their ids.
    pub ids: bool,
    /// Whether values that the format writes raw are read as JSON where they are JSON.
    pub guess_types: bool,
}

impl Default for DeriveOptions {
    fn default() -> Self {
        DeriveOptions {
            base: RenderInput::default(),
            reasoning_field: "thinking".into(),
            ids: false,
            guess_types: false,
        }
    }
}

impl DeriveOptions {
    /// Sets what all renderings have in common: tokens, the time, variables.
    pub fn base(mut self, base: RenderInput) -> DeriveOptions {
        self.base = base;
        self
    }

    /// Sets the field for reasoning.
    pub fn reasoning_field(mut self, name: impl Into<String>) -> DeriveOptions {
        self.reasoning_field = name.into();
        self
    }

    /// Sets whether calls keep their ids.
    pub fn ids(mut self, ids: bool) -> DeriveOptions {
        self.ids = ids;
        self
    }

    /// Sets whether values that the format writes raw are read as JSON where they are JSON.
    pub fn guess_types(mut self, guess_types: bool) -> DeriveOptions {
        self.guess_types = guess_types;
        self
    }
}
