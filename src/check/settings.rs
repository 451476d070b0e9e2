//! `unjinja.toml`: what a repository wants to have checked.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Diagnostic, write_lines};
use crate::position::Position;
use crate::spelling::did_you_mean;

/// The name of the file.
const NAME: &str = "unjinja.toml";

/// What the file may hold: each table, and its keys.
const TABLES: [(&str, &[&str]); 2] = [("check", &["paths", "seed"]), ("lint", &["allow", "deny"])];

/// What a repository has settled once and for all, in its `unjinja.toml`.
///
/// ```toml
/// [check]
/// paths = ["fixtures"]   # below the folder of this file
/// seed = 7
///
/// [lint]
/// allow = ["U009"]
/// deny = ["all"]
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Where the fixtures are.
    pub paths: Vec<PathBuf>,
    /// What random cuts go by.
    pub seed: Option<u64>,
    /// Lints that are not to be reported.
    pub allow: Vec<String>,
    /// Lints that are errors.
    pub deny: Vec<String>,
}

/// Why settings can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettingsError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub faults: Vec<Diagnostic>,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_lines(f, &self.faults, Some(&self.path.display()))
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    /// The settings in the file of a folder, or of the nearest one above it that has one.
    ///
    /// ```
    /// use unjinja::check::Settings;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let folder = folder.path();
    /// std::fs::write(folder.join("unjinja.toml"), "[check]\npaths = ['fixtures']\n")?;
    /// std::fs::create_dir(folder.join("models"))?;
    /// let settings = Settings::find(&folder.join("models"))?.expect("there is one above");
    /// assert_eq!(settings.paths, [folder.join("fixtures")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is a file, and it can't be read or holds something else.
    pub fn find(folder: &Path) -> Result<Option<Settings>, SettingsError> {
        for folder in folder.ancestors() {
            let path = folder.join(NAME);
            let fail = |fault| SettingsError {
                path: path.clone(),
                faults: vec![fault],
            };
            let text = match fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    return Err(fail(Diagnostic::new(format!("can't be read: {error}"))));
                }
            };
            return Reader {
                text: &text,
                folder,
            }
            .settings()
            .map(Some)
            .map_err(fail);
        }
        Ok(None)
    }
}

/// Reads the text of a file that stands in a folder.
struct Reader<'t> {
    text: &'t str,
    folder: &'t Path,
}

impl Reader<'_> {
    fn settings(&self) -> Result<Settings, Diagnostic> {
        let root = DeTable::parse(self.text).map_err(|error| {
            let position = error.span().map(|span| Position::at(self.text, span.start));
            Diagnostic::new(format!("this is not TOML: {}", error.message())).at_position(position)
        })?;
        let mut settings = Settings::default();
        for (name, value) in root.get_ref() {
            let mut tables = TABLES.iter();
            let Some((table, keys)) = tables.find(|(known, _)| known == name.get_ref()) else {
                return Err(self.unknown(name, &TABLES.map(|(name, _)| name)));
            };
            let DeValue::Table(entries) = value.get_ref() else {
                let message = format!("`{table}` is a table: write `[{table}]`");
                return Err(self.fault(value, message));
            };
            for (key, value) in entries {
                match (*table, key.get_ref().as_ref()) {
                    ("check", "paths") => {
                        let paths = self.texts(value)?;
                        settings.paths = paths.iter().map(|path| self.folder.join(path)).collect();
                    }
                    ("check", "seed") => settings.seed = Some(self.seed(value)?),
                    ("lint", "allow") => settings.allow = self.texts(value)?,
                    ("lint", "deny") => settings.deny = self.texts(value)?,
                    _ => return Err(self.unknown(key, keys)),
                }
            }
        }
        Ok(settings)
    }

    fn texts(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Diagnostic> {
        let DeValue::Array(items) = value.get_ref() else {
            return Err(self.fault(value, "expected a list of texts"));
        };
        let text = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.fault(item, "expected a text")),
        };
        items.iter().map(text).collect()
    }

    fn seed(&self, value: &Spanned<DeValue<'_>>) -> Result<u64, Diagnostic> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        number.ok_or_else(|| self.fault(value, "expected a whole number that is not negative"))
    }

    fn unknown(&self, key: &Spanned<impl AsRef<str>>, known: &[&str]) -> Diagnostic {
        let name = key.get_ref().as_ref();
        self.fault(key, format!("unknown key `{name}`"))
            .with_remedy(did_you_mean(name, known))
    }

    fn fault<T>(&self, place: &Spanned<T>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(message).at_position(Position::at(self.text, place.span().start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_reported_with_its_place() {
        for (text, expected) in [
            (
                "[chekc]\n",
                "unjinja.toml:1:2: unknown key `chekc`: did you mean `check`?",
            ),
            (
                "[check]\npath = []\n",
                "unjinja.toml:2:1: unknown key `path`: did you mean `paths`?",
            ),
            (
                "check = 1\n",
                "unjinja.toml:1:9: `check` is a table: write `[check]`",
            ),
            (
                "[check]\npaths = 'a'\n",
                "unjinja.toml:2:9: expected a list of texts",
            ),
            (
                "[check]\npaths = ['a', 2]\n",
                "unjinja.toml:2:15: expected a text",
            ),
            (
                "[check]\nseed = -1\n",
                "unjinja.toml:2:8: expected a whole number that is not negative",
            ),
            (
                "[check\n",
                "unjinja.toml:1:7: this is not TOML: unclosed table, expected `]`",
            ),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            fs::write(folder.path().join(NAME), text).expect("is written");
            let error = Settings::find(folder.path()).expect_err(text).to_string();
            let folder = format!("{}/", folder.path().display());
            assert_eq!(error.replace(&folder, ""), expected, "{text}");
        }
    }

    #[test]
    fn everything_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let text =
            "[check]\npaths = ['a', 'b/c']\nseed = 0x10\n[lint]\nallow = ['x']\ndeny = ['all']\n";
        fs::write(folder.path().join(NAME), text).expect("is written");
        let settings = Settings::find(folder.path())
            .expect("is read")
            .expect("is there");
        let expected = Settings {
            paths: vec![folder.path().join("a"), folder.path().join("b/c")],
            seed: Some(16),
            allow: vec!["x".into()],
            deny: vec!["all".into()],
        };
        assert_eq!(settings, expected);
    }
}
