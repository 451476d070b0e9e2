//! What the name of a source means.

use std::fmt;
use std::path::{Path, PathBuf};

use super::error::LoadError;
use super::model_id::ModelId;
use super::text_file::is_missing;

/// Where a chat template is to be loaded from.
///
/// It prints as the name that it is parsed from.
///
/// ```
/// use unjinja::chat_template::Source;
///
/// assert_eq!(Source::parse("-")?, Source::Stdin);
/// assert_eq!(Source::parse("Cargo.toml")?, Source::Path("Cargo.toml".into()));
///
/// let Source::Hub(model) = Source::parse("some-org/some-model@v1.0")? else {
///     panic!("there is no such file");
/// };
/// assert_eq!((model.repo(), model.revision()), ("some-org/some-model", Some("v1.0")));
/// assert_eq!(Source::from(model).to_string(), "some-org/some-model@v1.0");
/// # Ok::<(), unjinja::chat_template::LoadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// Standard input.
    Stdin,
    /// A file or folder.
    Path(PathBuf),
    /// A model on the Hugging Face hub.
    Hub(ModelId),
}

impl Source {
    /// Finds out what a name means: `-` is standard input, a path that exists is that path, and
    /// `org/name` or `org/name@revision` is a model on the hub. It looks at the files there are.
    ///
    /// # Errors
    ///
    /// If it is none of these.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        if text == "-" {
            return Ok(Self::Stdin);
        }
        let path = Path::new(text);
        // A link to nowhere, or what may not be looked at, is a path nevertheless.
        if path
            .symlink_metadata()
            .map_or_else(|error| !is_missing(&error), |_| true)
        {
            return Ok(Self::Path(path.to_owned()));
        }
        let not_a_model = match text.parse() {
            Ok(model) => {
                if !names_a_file(path) {
                    return Ok(Self::Hub(model));
                }
                "it ends as a file does"
            }
            Err(error) => error.reason(),
        };
        Err(LoadError::NoSuchSource {
            source_name: text.to_owned(),
            not_a_model,
        })
    }
}

impl From<PathBuf> for Source {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}

impl From<&Path> for Source {
    fn from(path: &Path) -> Self {
        Self::Path(path.to_owned())
    }
}

impl From<ModelId> for Source {
    fn from(model: ModelId) -> Self {
        Self::Hub(model)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("-"),
            Self::Path(path) => path.display().fmt(f),
            Self::Hub(model) => model.fmt(f),
        }
    }
}

/// Whether a name ends as the files do that hold templates: models are not called so.
fn names_a_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        ["jinja", "jinja2", "j2", "json", "gguf", "txt"]
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_file_nor_model() {
        for (text, reason) in [
            ("no-such-file", "it has no `/`"),
            ("no/such.jinja", "it ends as a file does"),
            ("no/such.GGUF", "it ends as a file does"),
            ("/no/such/thing", "it has more than one `/`"),
            ("Cargo.toml/thing.jinja", "it ends as a file does"),
        ] {
            let error = Source::parse(text).expect_err(text).to_string();
            assert!(error.starts_with(&format!("{text}: ")), "{error}");
            assert!(error.contains(reason), "{error}");
        }
    }
}
