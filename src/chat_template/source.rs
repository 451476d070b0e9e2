//! What the name of a source means.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::error::LoadError;

/// Where a chat template is to be loaded from.
///
/// ```
/// use unjinja::Source;
///
/// assert_eq!(Source::parse("-")?, Source::Stdin);
/// assert_eq!(Source::parse("Cargo.toml")?, Source::Path("Cargo.toml".into()));
///
/// let Source::Hub(model) = Source::parse("some-org/some-model@v1.0")? else {
///     panic!("there is no such file");
/// };
/// assert_eq!((model.repo(), model.revision()), ("some-org/some-model", Some("v1.0")));
/// # Ok::<(), unjinja::LoadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// `org/name` or `org/name@revision` is a model on the hub.
    ///
    /// # Errors
    ///
    /// If it is none of these.
    pub fn parse(text: &str) -> Result<Self, LoadError> {
        if text == "-" {
            return Ok(Self::Stdin);
        }
        let path = Path::new(text);
        // A link to nowhere, or one that may not be looked at, is a path nevertheless.
        if path.symlink_metadata().is_ok() {
            return Ok(Self::Path(path.to_owned()));
        }
        let not_a_model = match text.parse() {
            Ok(model) => {
                if !names_a_file(path) {
                    return Ok(Self::Hub(model));
                }
                "it ends as a file does"
            }
            Err(NotAModelId(reason)) => reason,
        };
        Err(LoadError::NoSuchSource {
            source_name: text.to_owned(),
            not_a_model,
        })
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

/// A model on the Hugging Face hub: `org/name`, or `org/name@revision`.
///
/// A revision is a branch, a tag, or a commit.
///
/// ```
/// use unjinja::ModelId;
///
/// let model: ModelId = "org/name@refs/pr/1".parse().unwrap();
/// assert_eq!((model.repo(), model.revision()), ("org/name", Some("refs/pr/1")));
/// assert_eq!(model.to_string(), "org/name@refs/pr/1");
/// assert!("../name".parse::<ModelId>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ModelId {
    repo: String,
    revision: Option<String>,
}

impl ModelId {
    /// The organization and the name: `org/name`.
    pub fn repo(&self) -> &str {
        &self.repo
    }

    /// The revision, if one was named.
    pub fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.repo)?;
        match &self.revision {
            Some(revision) => write!(f, "@{revision}"),
            None => Ok(()),
        }
    }
}

/// A text is not the id of a model on the hub, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a model id such as `org/name`: {0}")]
pub struct NotAModelId(&'static str);

impl FromStr for ModelId {
    type Err = NotAModelId;

    fn from_str(text: &str) -> Result<Self, NotAModelId> {
        let (repo, revision) = match text.split_once('@') {
            Some((repo, revision)) => (repo, Some(revision)),
            None => (text, None),
        };
        let Some((org, name)) = repo.split_once('/') else {
            return Err(NotAModelId("it has no `/`"));
        };
        if name.contains('/') {
            return Err(NotAModelId("it has more than one `/`"));
        }
        if repo.len() > MAX_ID {
            return Err(NotAModelId("it is too long"));
        }
        if !is_part(org) || !is_part(name) {
            return Err(NotAModelId(
                "its parts must be letters, digits, `-`, `_` and `.`, with none of `-` and `.` \
                 at their ends or twice in a row",
            ));
        }
        if !revision.is_none_or(is_revision) {
            return Err(NotAModelId("what follows the `@` is not a revision"));
        }
        Ok(Self {
            repo: repo.to_owned(),
            revision: revision.map(str::to_owned),
        })
    }
}

/// The longest ids and revisions. The hub allows 96 characters to an id; here it is only to keep
/// out what can't be one.
const MAX_ID: usize = 200;

/// One side of `org/name`. It becomes part of the name of a folder in the cache, in which `--`
/// stands for the slash.
fn is_part(part: &str) -> bool {
    let may_end = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = part.as_bytes();
    bytes.first().copied().is_some_and(may_end)
        && bytes.last().copied().is_some_and(may_end)
        && part
            .bytes()
            .all(|byte| may_end(byte) || matches!(byte, b'-' | b'.'))
        && !part.contains("--")
        && !part.contains("..")
}

/// Follows the rules of git, so that it is safe as a path in the cache.
fn is_revision(revision: &str) -> bool {
    let allowed = |char: char| !char.is_control() && !" ~^:?*[\\\"<>|".contains(char);
    revision.len() <= MAX_ID
        && revision.chars().all(allowed)
        && revision.split('/').all(|part| {
            !part.is_empty()
                && !part.starts_with('.')
                && !part.ends_with('.')
                && !part.contains("..")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_models() {
        for (text, repo, revision) in [
            ("Org-1/model_2.5-x", "Org-1/model_2.5-x", None),
            ("_a/b_", "_a/b_", None),
            ("a/b@main", "a/b", Some("main")),
            ("a/b@refs/pr/1", "a/b", Some("refs/pr/1")),
            ("a/b@feature/x@y", "a/b", Some("feature/x@y")),
        ] {
            let model: ModelId = text.parse().expect(text);
            assert_eq!((model.repo(), model.revision()), (repo, revision));
            assert_eq!(model.to_string(), text);
        }
        for text in [
            "", "/", "a", "a/", "/b", "./b", "../b", "a/..", "a/b/c", "a/b ", "a b/c", "a--b/c",
            "a/b..c", "-a/b", "a/b-", "a/b.", "a/b@", "a/b@..", "a/b@../x", "a/b@/x", "a/b@x/",
            "a/b@x//y", "a/b@.git", "a/b@x\\y", "a/b@C:", "a\\b/c", "ä/b", "~/b", "a/b\0",
            "a/b@\n",
        ] {
            assert!(text.parse::<ModelId>().is_err(), "{text:?}");
        }
        assert!(
            format!("a/{}", "b".repeat(MAX_ID))
                .parse::<ModelId>()
                .is_err()
        );
    }

    #[test]
    fn what_is_neither_file_nor_model() {
        for (text, reason) in [
            ("no-such-file", "it has no `/`"),
            ("no/such.jinja", "it ends as a file does"),
            ("no/such.GGUF", "it ends as a file does"),
            ("/no/such/thing", "it has more than one `/`"),
        ] {
            let error = Source::parse(text).expect_err(text).to_string();
            assert!(error.starts_with(&format!("{text}: ")), "{error}");
            assert!(error.contains(reason), "{error}");
        }
    }
}
