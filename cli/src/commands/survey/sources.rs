//! What is to be surveyed: files, folders that have many, model ids, and lists of these.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use unjinja::chat_template::{ChatTemplate, Source};
use unjinja::{Object, Value, json};

use super::super::Failure;
use super::super::batch::{Lines, stamp};
use super::row::hex;

/// Folders are searched this deep.
const MAX_DEPTH: usize = 64;

/// The files by which a folder is a model's.
const OF_MODELS: [&str; 3] = [
    "chat_template.jinja",
    "tokenizer_config.json",
    "chat_template.json",
];

/// The folder in which a model has templates beside its own.
const VARIANTS: &str = "additional_chat_templates";

/// Something to be surveyed.
#[derive(Debug)]
pub(crate) struct Item {
    /// What the table calls it.
    pub(crate) name: String,
    /// The model that it is made of, where a list says so.
    pub(crate) base: Option<String>,
    pub(crate) given: Given,
}

/// What is known of it.
#[derive(Debug)]
pub(crate) enum Given {
    /// Where its template is loaded from.
    Source(String),
    /// The template itself.
    Template(Box<ChatTemplate>),
    /// A row of a survey.
    Row(Object),
    /// Nothing, and why.
    Fault(String),
}

/// What has been given, in the order of its names.
pub(crate) struct Sources {
    entries: Vec<Entry>,
    /// The next one.
    next: usize,
    lines: Option<Lines>,
    /// What else a line names that names several.
    pending: VecDeque<Item>,
    /// How many items there are, if that is known.
    pub(crate) count: Option<u64>,
    /// Whether the same items can be had once more.
    pub(crate) can_be_repeated: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Entry {
    /// One, and the folder of its model, if it is a file of GGUF in that.
    Source(String, Option<String>),
    /// A file of lines.
    List(PathBuf),
}

impl Sources {
    /// Looks at what was given. Folders are searched now, lists are read while the work goes on.
    pub(crate) fn of(given: &[String]) -> Result<Sources, Failure> {
        let mut entries = Vec::new();
        for name in given {
            let path = Path::new(name);
            if is_list(path) {
                entries.push(Entry::List(path.to_owned()));
            } else if path.is_dir() {
                let mut found = Vec::new();
                search(path, 0, &mut found);
                if found.is_empty() {
                    return Err(Failure::Input(format!(
                        "{name}: there is no chat template in this folder or below it: files of them end in .jinja or \
                         .gguf, and folders of models have a tokenizer_config.json"
                    )));
                }
                entries.extend(found);
            } else {
                Source::parse(name)
                    .map_err(|error| Failure::Input(error.explain(crate::options::option_name)))?;
                entries.push(Entry::Source(name.clone(), None));
            }
        }
        let mut count = Some(0);
        for entry in &entries {
            let items = match entry {
                Entry::Source(..) => Some(1),
                Entry::List(path) if path == Path::new("-") || is_array(path) => None,
                Entry::List(path) => Some(Lines::count(path)?),
            };
            count = count.zip(items).map(|(count, items)| count + items);
        }
        let is_stdin = |entry: &Entry| *entry == Entry::List("-".into());
        Ok(Sources {
            can_be_repeated: !entries.iter().any(is_stdin),
            entries,
            next: 0,
            lines: None,
            pending: VecDeque::new(),
            count,
        })
    }

    /// What all of it was when it was looked at: something else has another stamp.
    pub(crate) fn stamp(&self) -> Result<Value, Failure> {
        let mut all = Sha256::new();
        for entry in &self.entries {
            let (name, is_file) = match entry {
                Entry::Source(name, _) => (name.clone(), Path::new(name).exists()),
                Entry::List(path) => (path.display().to_string(), self.can_be_repeated),
            };
            all.update(name.as_bytes());
            if is_file {
                let stamp = stamp(Path::new(&name))?;
                all.update(stamp.as_str().unwrap_or_default().as_bytes());
            }
            all.update([0]);
        }
        Ok(hex(&all.finalize()).into())
    }

    /// The files that are read.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let files = self.entries.iter().map(|entry| match entry {
            Entry::Source(name, _) => PathBuf::from(name),
            Entry::List(path) => path.clone(),
        });
        files.filter(|path| path.is_file()).collect()
    }

    /// The next item.
    pub(crate) fn next(&mut self) -> Result<Option<Item>, Failure> {
        loop {
            if let Some(item) = self.pending.pop_front() {
                return Ok(Some(item));
            }
            if let Some(lines) = &mut self.lines {
                match lines.next_line()? {
                    Some(Ok(line)) if line.trim().is_empty() => continue,
                    Some(Ok(line)) => self.pending.extend(of_line(&line, lines)),
                    Some(Err(fault)) => return Ok(Some(faulty(lines, fault.to_string()))),
                    None => self.lines = None,
                }
                continue;
            }
            let Some(entry) = self.entries.get(self.next) else {
                return Ok(None);
            };
            self.next += 1;
            match entry {
                Entry::Source(name, base) => {
                    return Ok(Some(Item {
                        name: name.clone(),
                        base: base.clone(),
                        given: Given::Source(name.clone()),
                    }));
                }
                Entry::List(path) => self.lines = Some(Lines::open(path, false, (0, 0))?),
            }
        }
    }
}

/// Whether a path is that of a list: the standard input, a file that ends as one of lines does, or a listing of the hub.
pub(crate) fn is_list(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    path == Path::new("-")
        || extension.is_some_and(|end| ["jsonl", "ndjson", "txt"].contains(&end))
        || is_array(path)
}

/// Whether a file is JSON that begins as a listing of the hub does: with an array.
fn is_array(path: &Path) -> bool {
    let is_json = path.extension().is_some_and(|end| end == "json");
    let mut start = Vec::new();
    let read = || File::open(path)?.take(64).read_to_end(&mut start);
    is_json && path.is_file() && { read }().is_ok() && start.trim_ascii_start().starts_with(b"[")
}

/// The templates in a folder and below it, in the order of their names: folders of models as one source, and beside them
/// files of Jinja and of GGUF. Links to folders are not followed, since they may lead round in circles, and what is hidden is
/// left alone.
fn search(folder: &Path, depth: usize, found: &mut Vec<Entry>) {
    let is_model = OF_MODELS.iter().any(|file| folder.join(file).is_file());
    if is_model {
        found.push(Entry::Source(folder.display().to_string(), None));
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<fs::DirEntry> = entries.collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_variants = is_model && name == VARIANTS;
        if name.to_string_lossy().starts_with('.') || is_variants {
            continue;
        } else if is_folder && depth < MAX_DEPTH {
            search(&path, depth + 1, found);
        } else if !is_folder && is_template(&path, is_model) && path.is_file() {
            let model = is_model.then(|| folder.display().to_string());
            found.push(Entry::Source(path.display().to_string(), model));
        }
    }
}

/// Whether a file has a template, by its name. In a model's folder only files of GGUF are sources of their own.
fn is_template(path: &Path, is_in_model: bool) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let is = |known: &[&str]| {
        extension.is_some_and(|end| known.iter().any(|known| end.eq_ignore_ascii_case(known)))
    };
    is(&["gguf"]) || !is_in_model && is(&["jinja", "jinja2", "j2"])
}

/// What a line of a list names: a source, an object, or an array of both, as the hub answers with.
fn of_line(line: &str, lines: &Lines) -> Vec<Item> {
    if !line.trim_start().starts_with(['{', '[']) {
        return vec![of_name(line.trim())];
    }
    match json::read(line) {
        Ok(Value::Array(array)) => array
            .into_iter()
            .map(|value| of_value(value, lines))
            .collect(),
        Ok(value) => vec![of_value(value, lines)],
        Err(error) => vec![faulty(lines, format!("this is not JSON: {}", error.kind()))],
    }
}

fn of_name(name: &str) -> Item {
    Item {
        name: name.to_owned(),
        base: None,
        given: Given::Source(name.to_owned()),
    }
}

fn of_value(value: Value, lines: &Lines) -> Item {
    match value {
        Value::Object(object) => of_object(object, lines),
        Value::String(name) => of_name(&name.to_string_lossy()),
        _ => faulty(lines, "expected an object, or the name of a source".into()),
    }
}

/// What an object of a list says: a row of a survey; the name of a `source`; the `id` of a model and its revision, `sha`, as
/// listings of the hub have them; or a `chat_template` with its `name` and tokens.
fn of_object(object: Object, lines: &Lines) -> Item {
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let base = text("base").or_else(|| text("base_model"));
    let id = text("id").or_else(|| text("modelId"));
    let name = text("source")
        .or_else(|| text("name"))
        .or_else(|| id.clone());
    if object.contains_key("standing") && name.is_some() {
        return Item {
            name: name.unwrap_or_default(),
            base,
            given: Given::Row(object),
        };
    }
    if let Some(jinja) = text("chat_template") {
        let name = name.unwrap_or_else(|| lines.place());
        let mut template = ChatTemplate::from_jinja(jinja);
        template.name.clone_from(&name);
        template.bos_token = text("bos_token");
        template.eos_token = text("eos_token");
        return Item {
            name,
            base,
            given: Given::Template(Box::new(template)),
        };
    }
    let source = text("source").or_else(|| {
        let revision = text("revision").or_else(|| text("sha"));
        id.map(|id| match revision {
            Some(revision) => format!("{id}@{revision}"),
            None => id,
        })
    });
    match source {
        Some(source) => Item {
            name: source.clone(),
            base,
            given: Given::Source(source),
        },
        None => faulty(
            lines,
            "expected a `source`, the `id` of a model, or a `chat_template`".into(),
        ),
    }
}

fn faulty(lines: &Lines, fault: String) -> Item {
    Item {
        name: lines.place(),
        base: None,
        given: Given::Fault(fault),
    }
}
