//! Versions of packages, as far as profiles go by them.

use std::fmt;
use std::str::FromStr;

use crate::response::Language;

/// A version of a package: up to three numbers, of which those that are not given are zero.
///
/// ```
/// use unjinja::profile::Version;
///
/// let version: Version = "5.16".parse()?;
/// assert!(version < "5.16.1".parse()?);
/// assert_eq!(version.to_string(), "5.16.0");
/// # Ok::<(), unjinja::profile::UnknownTarget>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version([u32; 3]);

impl Version {
    /// The version of the language that a release of the library has.
    pub(super) fn language(self) -> Option<Language> {
        let [major, minor, _] = self.0;
        Language::of_release(major, minor)
    }

    /// The version of the language that came with a release of the library.
    pub(super) fn of_language(language: Language) -> Version {
        let (major, minor) = language.release();
        Version([major, minor, 0])
    }

    /// The version of these digits and dots; `None` if it is none.
    pub(super) fn read(text: &str) -> Option<Version> {
        let mut numbers = [0; 3];
        let mut parts = text.split('.');
        for (at, number) in numbers.iter_mut().enumerate() {
            match parts.next() {
                Some(part) => *number = part.parse().ok()?,
                None if at > 0 => break,
                None => return None,
            }
        }
        parts.next().is_none().then_some(Version(numbers))
    }
}

impl FromStr for Version {
    type Err = super::UnknownTarget;

    fn from_str(text: &str) -> Result<Version, super::UnknownTarget> {
        Version::read(text).ok_or_else(|| {
            super::UnknownTarget(format!(
                "`{text}` is no version: write it with digits and dots, such as 5.16"
            ))
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}
