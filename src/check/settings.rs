//! `unjinja.toml`: what a repository wants to have checked.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use crate::json::line_column;
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
    /// Lints that are not to be told.
    pub allow: Vec<String>,
    /// Lints that are errors.
    pub deny: Vec<String>,
}

/// Why settings can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}{message}", path.display(), place(*position))]
#[non_exhaustive]
pub struct SettingsError {
    /// The file.
    pub path: PathBuf,
    /// Line and column, both from 1, where the fault has a place.
    pub position: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
}

fn place(position: Option<(usize, usize)>) -> String {
    match position {
        Some((line, column)) => format!("{line}:{column}: "),
        None => " ".into(),
    }
}

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
            let fail = |position, message| SettingsError {
                path: path.clone(),
                position,
                message,
            };
            let text = match fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(fail(None, format!("can't be read: {error}"))),
            };
            let settings = read(&text, folder);
            return settings.map(Some).map_err(|(offset, message)| {
                let position = offset.map(|offset| line_column(&text, offset));
                fail(position, message)
            });
        }
        Ok(None)
    }
}

/// What is wrong, and the offset of its place.
type Fault = (Option<usize>, String);

fn read(text: &str, folder: &Path) -> Result<Settings, Fault> {
    let root = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map(|span| span.start);
        (offset, format!("this is not TOML: {}", error.message()))
    })?;
    let mut settings = Settings::default();
    let names = TABLES.map(|(name, _)| name);
    for (name, value) in root.get_ref() {
        let known = TABLES
            .iter()
            .find(|(known, _)| *known == name.get_ref().as_ref());
        let Some((table, keys)) = known else {
            return Err(unknown(name.span().start, name.get_ref(), &names));
        };
        let DeValue::Table(entries) = value.get_ref() else {
            return Err((
                Some(value.span().start),
                format!("`{table}` is a table: write `[{table}]`"),
            ));
        };
        for (key, value) in entries {
            let at = value.span().start;
            match (*table, key.get_ref().as_ref()) {
                ("check", "paths") => {
                    let paths = texts(at, value.get_ref())?;
                    settings.paths = paths.iter().map(|path| folder.join(path)).collect();
                }
                ("check", "seed") => settings.seed = Some(seed(at, value.get_ref())?),
                ("lint", "allow") => settings.allow = texts(at, value.get_ref())?,
                ("lint", "deny") => settings.deny = texts(at, value.get_ref())?,
                (_, other) => return Err(unknown(key.span().start, other, keys)),
            }
        }
    }
    Ok(settings)
}

fn unknown(offset: usize, key: &str, known: &[&str]) -> Fault {
    let message = format!("unknown key `{key}`: {}", did_you_mean(key, known));
    (Some(offset), message)
}

fn texts(at: usize, value: &DeValue<'_>) -> Result<Vec<String>, Fault> {
    let DeValue::Array(items) = value else {
        return Err((Some(at), "expected a list of texts".into()));
    };
    let text = |item: &toml::Spanned<DeValue<'_>>| match item.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        _ => Err((Some(item.span().start), "expected a text".into())),
    };
    items.iter().map(text).collect()
}

fn seed(at: usize, value: &DeValue<'_>) -> Result<u64, Fault> {
    let number = match value {
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    };
    number.ok_or_else(|| {
        (
            Some(at),
            "expected a whole number that is not negative".into(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
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
