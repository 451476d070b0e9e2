//! One of two surveys that are compared.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use unjinja::{Object, Value, json};

use super::super::Failure;
use super::super::survey::{Run, Sources, each_row, is_list};

/// So much of a survey is kept that is made only to be compared.
const MAX_KEPT: u64 = 1 << 30;

/// The rows of a survey, of which only what tells whether they have to be compared is in memory.
pub(crate) struct Side {
    pub(crate) rows: Vec<Known>,
    places: HashMap<String, usize>,
    /// Where the row begins that has the details of a template.
    details: HashMap<String, u64>,
    store: BufReader<Box<dyn Store>>,
    /// What messages call it.
    name: String,
}

/// Where rows are read from.
trait Store: Read + Seek + Send {}
impl<T: Read + Seek + Send> Store for T {}

/// What is known of a row.
pub(crate) struct Known {
    /// What the source is called, in this survey and in others.
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) base: Option<String>,
    pub(crate) standing: String,
    pub(crate) error: Option<String>,
    /// The hash of the template with all that comes with it, if it could be read.
    pub(crate) input: Option<String>,
    /// Where the row begins.
    at: u64,
}

impl Known {
    /// What the templates of rows have in common that need not be compared.
    pub(crate) fn id(&self) -> String {
        match &self.input {
            Some(input) => input.clone(),
            None => format!("unreadable: {}", self.error.as_deref().unwrap_or_default()),
        }
    }
}

/// What a source is known by: its name without a revision, and the variant.
pub(crate) fn key(name: &str, variant: Option<&str>) -> String {
    let name = match name.rsplit_once('@') {
        Some((id, revision)) if !id.is_empty() && !revision.contains('/') => id,
        _ => name,
    };
    let variant = variant.filter(|variant| *variant != "default");
    match variant {
        Some(variant) => format!("{name}, variant {variant}"),
        None => name.to_owned(),
    }
}

impl Side {
    /// Reads a survey, or makes one of what was given.
    pub(crate) fn of(given: &str, run: &Run<'_>) -> Result<Side, Failure> {
        let path = Path::new(given);
        let folder = path.is_dir().then_some(path);
        if is_survey(path)? {
            let fail = |error| Failure::Input(format!("{given}: {error}"));
            let file: Box<dyn Store> = Box::new(File::open(path).map_err(fail)?);
            let mut side = Side::over(given, file);
            each_row(path, |row, at| {
                side.add(&row, at, None);
                Ok(())
            })?;
            return Ok(side);
        }
        let sources = Sources::of(&[given.to_owned()])?;
        let mut kept = String::new();
        let mut side = Side::over(given, Box::new(Cursor::new(Vec::new())));
        run.print(sources, false, |row| {
            let at = kept.len() as u64;
            side.add(&row, at, folder);
            kept.push_str(&json::write(&row.into()));
            kept.push('\n');
            match at > MAX_KEPT {
                true => Err(Failure::Input(format!(
                    "{given}: the survey of it is larger than {} GiB: write it to a file first, with `unjinja survey {given} -o \
                     FILE`, and compare that",
                    MAX_KEPT >> 30
                ))),
                false => Ok(()),
            }
        })?;
        side.store = BufReader::new(Box::new(Cursor::new(kept.into_bytes())));
        // Of a folder, what can't be read is a part. Here it is all there is.
        match side.rows.as_slice() {
            [
                Known {
                    error: Some(error),
                    input: None,
                    ..
                },
            ] if folder.is_none() => Err(Failure::Input(error.clone())),
            _ => Ok(side),
        }
    }

    fn over(name: &str, store: Box<dyn Store>) -> Side {
        Side {
            rows: Vec::new(),
            places: HashMap::new(),
            details: HashMap::new(),
            store: BufReader::new(store),
            name: name.to_owned(),
        }
    }

    fn add(&mut self, row: &Object, at: u64, folder: Option<&Path>) {
        let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
        let within = |name: String| {
            let below = folder.and_then(|folder| Path::new(&name).strip_prefix(folder).ok());
            match below.filter(|path| *path != Path::new("")) {
                Some(path) => path.display().to_string(),
                None => name,
            }
        };
        let name = within(text("source").unwrap_or_default());
        let own = key(&name, text("variant").as_deref());
        // A model may have two templates of one name, where a file stands beside the one in its configuration.
        let mut free = own.clone();
        for number in 2.. {
            if !self.places.contains_key(&free) {
                break;
            }
            free = format!("{own}, number {number}");
        }
        let input = text("input");
        if let Some(input) = input.clone().filter(|_| row.contains_key("details")) {
            self.details.insert(input, at);
        }
        self.places.insert(free.clone(), self.rows.len());
        self.rows.push(Known {
            key: free,
            name,
            base: text("base").map(within),
            standing: text("standing").unwrap_or_default(),
            error: text("error"),
            input,
            at,
        });
    }

    /// The row that a source is known by.
    pub(crate) fn place(&self, key: &str) -> Option<usize> {
        self.places.get(key).copied()
    }

    /// A row with its details.
    pub(crate) fn row(&mut self, at: usize) -> Result<Object, Failure> {
        let known = &self.rows[at];
        let with_details = known
            .input
            .as_ref()
            .and_then(|input| self.details.get(input));
        let at = with_details.copied().unwrap_or(known.at);
        let fail =
            |error: &dyn std::fmt::Display| Failure::Input(format!("{}: {error}", self.name));
        let mut line = String::new();
        self.store
            .seek(SeekFrom::Start(at))
            .and_then(|_| self.store.read_line(&mut line))
            .map_err(|error| fail(&error))?;
        match json::read(&line) {
            Ok(Value::Object(row)) => Ok(row),
            _ => Err(fail(&"the survey was changed while it was read")),
        }
    }
}

/// Whether a file is a survey: its first line is a row.
fn is_survey(path: &Path) -> Result<bool, Failure> {
    if !is_list(path) || path == Path::new("-") {
        return Ok(false);
    }
    let fail = |error| Failure::Input(format!("{}: {error}", path.display()));
    let mut line = String::new();
    let file = File::open(path).map_err(fail)?;
    BufReader::new(file)
        .take(64 << 20)
        .read_line(&mut line)
        .map_err(fail)?;
    let row = json::read(&line).ok();
    Ok(row.is_some_and(|row| row.get("standing").is_some() && row.get("source").is_some()))
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn a_source_is_known_whatever_its_revision() {
        for (name, variant, expected) in [
            ("org/name@v1", None, "org/name"),
            ("org/name", Some("default"), "org/name"),
            (
                "org/name@v1",
                Some("tool_use"),
                "org/name, variant tool_use",
            ),
            ("a@b/c.jinja", None, "a@b/c.jinja"),
            ("@a", None, "@a"),
        ] {
            assert_eq!(key(name, variant), expected, "{name}");
        }
    }
}
