//! The rooms of the library are built upon each other, as `ARCHITECTURE.md` says, and so are the files of some of them.
//!
//! `UNJINJA_UPDATE=1 cargo test --test library rooms::` draws the picture of them anew.

mod picture;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use picture::Frame;

use crate::root;

/// The rooms whose `mod.rs` has its files in groups, of which each imports from none that comes later.
const ORDERED: [&str; 4] = ["analysis", "chat_template", "derive", "format"];

/// Values and their JSON, with the numbers and places in it, are one thing in several rooms.
const ONE_THING: [&str; 5] = ["json", "number", "position", "tree", "value"];

/// Rooms, and those that they must know nothing of, though it would make no circle.
const STRANGERS: [(&str, &[&str]); 10] = [
    ("markers", &["format", "json", "response", "value"]),
    (
        "format",
        &["analysis", "chat_template", "grammar", "response"],
    ),
    ("chat_template", &["analysis", "format", "response"]),
    ("analysis", &["derive", "grammar", "profile", "response"]),
    ("conversation", &["derive", "grammar", "response"]),
    ("mend", &["derive", "grammar", "lint", "response"]),
    ("grammar", &["analysis", "chat_template", "derive"]),
    ("profile", &["analysis", "chat_template", "derive", "lint"]),
    ("lint", &["derive", "grammar"]),
    ("response_schema", &["analysis", "chat_template", "derive"]),
];

/// The packages that the picture shows above the library, by their folders.
const ABOVE: [&str; 5] = ["cli", "serve", "replay", "playground", "python"];

fn source() -> PathBuf {
    root().join("src")
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

/// The rooms of a package: the modules that its `lib.rs` declares, but for `serialize`, which has an implementation for everything.
fn rooms_in(source: &Path) -> BTreeSet<String> {
    let library = code(&source.join("lib.rs"));
    let names = library.lines().filter_map(declared);
    let rooms = names.filter(|name| *name != "serialize");
    rooms.map(str::to_owned).collect()
}

/// Which rooms import from which, by the names of modules. The library knows those of the parser by their own names.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let parser = rooms_in(&root().join("parser/src"));
    let library = rooms_in(&source());
    let all: BTreeSet<&String> = parser.iter().chain(&library).collect();
    let imports_of = |source: &Path, room: &String| -> BTreeSet<String> {
        let files = files_of(source, room);
        let imported = files
            .iter()
            .flat_map(|file| imported(&code(file), "crate::"));
        imported
            .filter(|name| name != room && all.contains(name))
            .collect()
    };
    let of_parser = parser
        .iter()
        .map(|room| (room.clone(), imports_of(&root().join("parser/src"), room)));
    let of_library = library
        .iter()
        .map(|room| (room.clone(), imports_of(&source(), room)));
    of_parser.chain(of_library).collect()
}

/// All that can be reached from a room.
fn reached<'a>(
    imports: &'a BTreeMap<String, BTreeSet<String>>,
    room: &str,
) -> BTreeSet<&'a String> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![room];
    while let Some(at) = waiting.pop() {
        for next in &imports[at] {
            if reached.insert(next) {
                waiting.push(next);
            }
        }
    }
    reached
}

#[test]
fn no_room_imports_from_one_that_imports_from_it() {
    let imports = imports();
    assert!(imports["derive"].contains("analysis"), "imports are found");
    assert!(imports["derive"].contains("response"), "of the parser, too");
    for room in imports.keys() {
        let reached = reached(&imports, room);
        assert_eq!(
            reached.contains(room),
            ONE_THING.contains(&room.as_str()),
            "{room}, which reaches {reached:?}"
        );
    }
}

#[test]
fn rooms_know_nothing_of_their_strangers() {
    let imports = imports();
    for (room, strangers) in STRANGERS {
        for stranger in strangers {
            assert!(imports.contains_key(*stranger), "{stranger} is a room");
            let knows = imports[room].contains(*stranger);
            assert!(!knows, "{room} imports from {stranger}");
        }
    }
}

/// What a package depends on, as its manifest says, without what only its tests need.
fn dependencies(package: &str) -> Vec<String> {
    let path = root().join(package).join("Cargo.toml");
    let manifest = fs::read_to_string(path).expect("a package has a manifest");
    let dependencies = manifest.split("\n[dependencies]").nth(1);
    let dependencies = dependencies.expect("it depends on something");
    let lines = dependencies.split("\n[").next().unwrap_or_default().lines();
    let lines = lines.filter(|line| line.contains('=') && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// The packages of the workspace among them, by their folders: `unjinja` is that at the root.
fn packages_below(package: &str) -> BTreeSet<String> {
    let names = dependencies(package).into_iter();
    let names = names.filter_map(|line| {
        let name = line.split(['.', ' ', '=']).next()?;
        let folder = name.strip_prefix("unjinja-").unwrap_or(name);
        (name.starts_with("unjinja")).then(|| folder.to_owned())
    });
    names.collect()
}

/// What reads outputs needs neither the rest of the library nor Jinja.
#[test]
fn the_parser_stands_by_itself() {
    let needed = dependencies("parser");
    assert!(!needed.is_empty(), "dependencies are found");
    for line in needed {
        assert!(
            !line.contains("unjinja") && !line.contains("path ="),
            "{line}"
        );
        assert!(!line.contains("jinja"), "{line}");
    }
    assert!(packages_below("cli").contains("unjinja"), "paths are found");
}

/// The picture: packages, rooms of the library, and rooms of the parser, from those that know most to those that know least.
fn drawing() -> String {
    let mut imports = imports();
    // Several rooms that are one thing are one box.
    let one_thing = ONE_THING.join(", ");
    for room in ONE_THING {
        imports.remove(room);
    }
    for names in imports.values_mut() {
        let before = names.len();
        names.retain(|name| !ONE_THING.contains(&name.as_str()));
        if names.len() < before {
            names.insert(one_thing.clone());
        }
    }
    imports.insert(one_thing.clone(), BTreeSet::new());
    let mut parser = rooms_in(&root().join("parser/src"));
    parser.retain(|room| !ONE_THING.contains(&room.as_str()));
    parser.insert(one_thing);

    let library = rooms_in(&source());
    // Packages depend on the library as a whole: on what nothing else in it knows.
    let known: BTreeSet<String> = imports.values().flatten().cloned().collect();
    let tops: BTreeSet<String> = library.difference(&known).cloned().collect();
    for package in ABOVE {
        let mut below = packages_below(package);
        if below.remove("unjinja") {
            below.extend(tops.iter().cloned());
        }
        imports.insert(package.to_owned(), below);
    }
    let packages = ABOVE.iter().map(|package| (*package).to_owned()).collect();
    let frames = [
        Frame::new("packages on the public library", packages),
        Frame::new("unjinja", library),
        Frame::new("unjinja-parser", parser),
    ];
    picture::draw(&frames, &imports)
}

#[test]
fn the_picture_of_the_rooms_shows_who_imports_from_whom() {
    let path = root().join("docs/pictures/rooms.svg");
    let drawn = drawing();
    if std::env::var_os("UNJINJA_UPDATE").is_some() {
        fs::write(&path, &drawn).expect("the picture can be written");
    }
    let remedy = "draw it anew with UNJINJA_UPDATE=1 cargo test --test library rooms::";
    let shown = fs::read_to_string(&path).expect("there is a picture");
    assert!(shown == drawn, "{}: {remedy}", path.display());
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

/// What a file does, it says itself: there is no list of them elsewhere.
#[test]
fn every_file_says_what_it_does() {
    let packages = ABOVE.iter().chain(["parser", "."].iter());
    let files: Vec<PathBuf> = packages
        .flat_map(|package| files_below(&root().join(package).join("src")))
        .collect();
    assert!(files.len() > 400, "sources are found");
    for file in files {
        let text = fs::read_to_string(&file).expect("sources are texts");
        assert!(text.starts_with("//! "), "{} says nothing", file.display());
    }
}
