//! The ids of models on the Hugging Face hub.

use std::fmt;
use std::str::FromStr;

/// A model on the Hugging Face hub: `org/name`, or `org/name@revision`.
///
/// A revision is a branch, a tag, or a commit.
///
/// ```
/// use unjinja::chat_template::ModelId;
///
/// let model: ModelId = "org/name@refs/pr/1".parse().unwrap();
/// assert_eq!((model.repo(), model.revision()), ("org/name", Some("refs/pr/1")));
/// assert_eq!(model.to_string(), "org/name@refs/pr/1");
/// assert!(ModelId::try_from("../name").is_err());
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

impl NotAModelId {
    /// What keeps the text from being one.
    pub(super) fn reason(self) -> &'static str {
        self.0
    }
}

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

impl TryFrom<&str> for ModelId {
    type Error = NotAModelId;

    fn try_from(text: &str) -> Result<Self, NotAModelId> {
        text.parse()
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
}
