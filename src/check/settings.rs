//! `unjinja.toml`: what a repository wants to have checked.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Diagnostics, MemberPart, write_lines};
use crate::files::read_text;
use crate::lint::{Selector, UnknownSelector};
use crate::position::Position;
use crate::spelling::did_you_mean;

/// The name of the file.
const NAME: &str = "unjinja.toml";

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// So many faults are reported at the most.
const MAX_FAULTS: usize = 50;

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
/// allow = ["unknown-field"]
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
    pub allow: Vec<Selector>,
    /// Lints that are errors.
    pub deny: Vec<Selector>,
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
    /// If there is a file, and it can't be read or holds something else. All that is wrong is
    /// reported at once.
    pub fn find(folder: &Path) -> Result<Option<Settings>, SettingsError> {
        for folder in folder.ancestors() {
            let path = folder.join(NAME);
            let fail = |faults| SettingsError {
                path: path.clone(),
                faults,
            };
            let text = match fs::metadata(&path) {
                Ok(file) if file.is_file() => read_text(&path, MAX_FILE)
                    .map_err(|error| format!("can't be read: {}", error.fault)),
                // A pipe or a device may never end.
                Ok(_) => Err("can't be read: it is not a file".to_owned()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => Err(format!("can't be read: {error}")),
            };
            let text = text.map_err(|fault| fail(vec![Diagnostic::new(fault)]))?;
            return read(&text, folder).map(Some).map_err(fail);
        }
        Ok(None)
    }
}

/// Reads the text of a file that stands in a folder.
fn read(text: &str, folder: &Path) -> Result<Settings, Vec<Diagnostic>> {
    let root = DeTable::parse(text).map_err(|error| {
        let position = error.span().map(|span| Position::at(text, span.start));
        let message = format!("this is not TOML: {}", error.message());
        vec![Diagnostic::new(message).at_position(position)]
    })?;
    let mut reader = SettingsReader {
        text,
        folder,
        faults: Diagnostics::up_to(MAX_FAULTS),
    };
    let settings = reader.settings(root.get_ref());
    match reader.faults.is_empty() {
        true => Ok(settings),
        false => Err(reader.faults.placed_in(None)),
    }
}

/// Reads settings piece by piece, and collects all that is wrong with them.
struct SettingsReader<'t> {
    text: &'t str,
    folder: &'t Path,
    faults: Diagnostics,
}

impl SettingsReader<'_> {
    fn settings(&mut self, root: &DeTable<'_>) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in root {
            let mut tables = TABLES.iter();
            let Some((table, keys)) = tables.find(|(known, _)| known == name.get_ref()) else {
                self.unknown(name, &TABLES.map(|(name, _)| name));
                continue;
            };
            let DeValue::Table(entries) = value.get_ref() else {
                self.fault(value, format!("`{table}` is a table: write `[{table}]`"));
                continue;
            };
            for (key, value) in entries {
                match (*table, key.get_ref().as_ref()) {
                    ("check", "paths") => {
                        let folder = self.folder;
                        let path = |text: &str| Ok(folder.join(text));
                        settings.paths = self.each(value, path);
                    }
                    ("check", "seed") => settings.seed = self.seed(value),
                    ("lint", "allow") => settings.allow = self.selectors(value),
                    ("lint", "deny") => settings.deny = self.selectors(value),
                    _ => self.unknown(key, keys),
                }
            }
        }
        settings
    }

    fn selectors(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<Selector> {
        self.each(value, |text| {
            text.parse()
                .map_err(|error: UnknownSelector| error.to_string())
        })
    }

    /// What is made of each text of a list.
    fn each<T>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        make: impl Fn(&str) -> Result<T, String>,
    ) -> Vec<T> {
        let DeValue::Array(items) = value.get_ref() else {
            self.fault(value, "expected a list of texts");
            return Vec::new();
        };
        let mut made = Vec::new();
        for item in items {
            let one = match item.get_ref() {
                DeValue::String(text) => make(text),
                _ => Err("expected a text".to_owned()),
            };
            match one {
                Ok(one) => made.push(one),
                Err(message) => self.fault(item, message),
            }
        }
        made
    }

    fn seed(&mut self, value: &Spanned<DeValue<'_>>) -> Option<u64> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        if number.is_none() {
            self.fault(value, "expected a whole number that is not negative");
        }
        number
    }

    fn unknown(&mut self, key: &Spanned<impl AsRef<str>>, known: &[&str]) {
        let name = key.get_ref().as_ref();
        let remedy = did_you_mean(name, known);
        let fault = Diagnostic::new(format!("unknown key `{name}`")).with_remedy(remedy);
        self.add(key, fault);
    }

    fn fault<T>(&mut self, place: &Spanned<T>, message: impl Into<String>) {
        self.add(place, Diagnostic::new(message));
    }

    fn add<T>(&mut self, place: &Spanned<T>, fault: Diagnostic) {
        let position = Position::at(self.text, place.span().start);
        self.faults
            .add(fault.at_position(position), MemberPart::Value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::Lint;

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
                "[lint]\nallow = ['U001', 'U999']\n",
                "unjinja.toml:2:18: there is no lint `U999`: write a code such as U001, its name, or `all`",
            ),
            (
                "[check]\nseed = 'a'\npaths = [1, 'b', 2]\n",
                "unjinja.toml:2:8: expected a whole number that is not negative\n\
                 unjinja.toml:3:10: expected a text\n\
                 unjinja.toml:3:18: expected a text",
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
    fn what_is_too_large_or_no_file_is_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(NAME);
        let fault = || {
            let error = Settings::find(folder.path()).expect_err("can't be read");
            let message = error.to_string();
            message.rsplit(": ").next().map(str::to_owned)
        };
        fs::write(&path, "#".repeat((1 << 20) + 1)).expect("is written");
        let expected = "the file is larger than 1 MiB";
        assert_eq!(fault().as_deref(), Some(expected));
        fs::remove_file(&path).expect("was there");
        fs::create_dir(&path).expect("a folder");
        assert_eq!(fault().as_deref(), Some("it is not a file"));
        #[cfg(unix)]
        {
            fs::remove_dir(&path).expect("was there");
            std::os::unix::fs::symlink("/dev/zero", &path).expect("a link");
            assert_eq!(fault().as_deref(), Some("it is not a file"));
        }
    }

    #[test]
    fn everything_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "[check]\npaths = ['a', 'b/c']\nseed = 0x10\n[lint]\nallow = ['unknown-field']\ndeny = ['all']\n";
        fs::write(folder.path().join(NAME), text).expect("is written");
        let settings = Settings::find(folder.path())
            .expect("is read")
            .expect("is there");
        let expected = Settings {
            paths: vec![folder.path().join("a"), folder.path().join("b/c")],
            seed: Some(16),
            allow: vec![Selector::One(Lint::UnknownField)],
            deny: vec![Selector::All],
        };
        assert_eq!(settings, expected);
    }
}
