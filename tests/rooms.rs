//! The rooms of the library are built upon each other, as `ARCHITECTURE.md` says, and so are the files of some of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms whose `mod.rs` has its files in groups, of which each imports from none that comes later.
const ORDERED: [&str; 4] = ["analysis", "chat_template", "derive", "format"];

/// Values and their JSON, with the numbers and places in it, are one thing in several rooms.
const ONE_THING: [&str; 5] = ["json", "number", "position", "tree", "value"];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// What a file consists of, without its tests and comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("sources are texts");
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text.lines();
    let code = lines.filter(|line| !line.trim_start().starts_with("//"));
    code.collect::<Vec<_>>().join("\n")
}

/// All files of Rust in a folder and below it; those that hold nothing but tests are left out.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
    files
}

/// The files of a module: its own, and all below it.
fn files_of(folder: &Path, module: &str) -> Vec<PathBuf> {
    let own = folder.join(format!("{module}.rs"));
    let below = files_below(&folder.join(module));
    own.is_file()
        .then_some(own)
        .into_iter()
        .chain(below)
        .collect()
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The name that a line declares a module by, as in `pub(crate) mod name;`.
fn declared(line: &str) -> Option<&str> {
    let (visibility, name) = line.strip_suffix(';')?.split_once("mod ")?;
    (visibility.is_empty() || visibility.starts_with("pub")).then_some(name)
}

/// The names that stand behind a path, whether one by one or in braces.
fn imported(code: &str, path: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices(path) {
        // A longer path ends the same: `super::super::` is not `super::`.
        if code[..at].ends_with("::") || code[..at].ends_with(is_name) {
            continue;
        }
        let behind = &code[at + path.len()..];
        let list = match behind.strip_prefix('{') {
            Some(list) => list.split(';').next().unwrap_or_default(),
            None => &behind[..behind.find(|c| !is_name(c)).unwrap_or(behind.len())],
        };
        let words = list.split(|c| !is_name(c)).filter(|word| !word.is_empty());
        names.extend(words.map(str::to_owned));
    }
    names
}

/// Which rooms import from which, by the names of modules.
fn rooms() -> BTreeMap<String, BTreeSet<String>> {
    let library = code(&source().join("lib.rs"));
    let names: BTreeSet<&str> = library.lines().filter_map(declared).collect();
    let imports_of = |room: &str| {
        let files = files_of(&source(), room);
        let imported = files
            .iter()
            .flat_map(|file| imported(&code(file), "crate::"));
        imported
            .filter(|name| name != room && names.contains(name.as_str()))
            .collect()
    };
    names
        .iter()
        .map(|room| (room.to_string(), imports_of(room)))
        .collect()
}

#[test]
fn no_room_imports_from_one_that_imports_from_it() {
    let rooms = rooms();
    assert!(rooms["derive"].contains("analysis"), "imports are found");
    for room in rooms.keys() {
        let mut reached = BTreeSet::new();
        let mut waiting = vec![room];
        while let Some(at) = waiting.pop() {
            waiting.extend(rooms[at].iter().filter(|next| reached.insert(*next)));
        }
        let is_circle = reached.contains(room);
        assert_eq!(
            is_circle,
            ONE_THING.contains(&room.as_str()),
            "{room}, which reaches {reached:?}"
        );
    }
}

#[test]
fn files_import_from_none_of_a_later_group() {
    for room in ORDERED {
        let folder = source().join(room);
        let mut groups: Vec<(&str, usize)> = Vec::new();
        let module = fs::read_to_string(folder.join("mod.rs")).expect("a room has a mod.rs");
        let mut group = 0;
        for line in module.lines() {
            match declared(line) {
                Some(name) => groups.push((name, group)),
                None => group += usize::from(line.is_empty()),
            }
        }
        assert!(groups.len() > 5, "{room} has files");
        for &(name, group) in &groups {
            for file in files_of(&folder, name) {
                let depth = file
                    .strip_prefix(&folder)
                    .expect("it is there")
                    .components()
                    .count();
                let code = code(&file);
                let mut names = imported(&code, &"super::".repeat(depth));
                names.extend(imported(&code, &format!("crate::{room}::")));
                let later = groups.iter().filter(|(_, other)| *other > group);
                let later: Vec<&str> = later
                    .map(|(name, _)| *name)
                    .filter(|name| names.contains(*name))
                    .collect();
                assert!(
                    later.is_empty(),
                    "{room}/{name} imports from {later:?}, which come later in its mod.rs"
                );
            }
        }
    }
}
