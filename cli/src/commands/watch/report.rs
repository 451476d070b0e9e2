//! What has changed, for people, for pull requests and for programs.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::printing::Painted;
use unjinja::{Object, Value};

use super::super::report::changed_lines;
use super::difference::{Difference, Fact, rank};
use super::side::{Known, Side};

/// So many names are listed of each kind.
const MAX_NAMES: usize = 20;

/// What has become of the sources.
#[derive(Default)]
pub(crate) struct Report {
    before: usize,
    now: usize,
    pub(crate) new: Vec<usize>,
    pub(crate) gone: Vec<usize>,
    unchanged: usize,
    /// Those that have to be compared, old and new.
    pub(crate) changed: Vec<(usize, usize)>,
    /// Models whose template is not that of their base, which comes first.
    pub(crate) forks: Vec<(usize, usize)>,
    /// How many have the same.
    like_their_base: usize,
    entries: Vec<Entry>,
    of_forks: Vec<Entry>,
    new_names: Vec<String>,
    gone_names: Vec<String>,
    /// New ones of which nothing is derived.
    new_broken: Vec<String>,
}

/// Sources that have changed in the same way.
struct Entry {
    names: Vec<String>,
    /// Where they stand, old and new.
    places: Vec<(usize, usize)>,
    difference: Rc<Difference>,
}

/// What kind of change it is, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ChangeKind {
    Broken,
    Behaviour,
    Text,
}

impl ChangeKind {
    const ALL: [ChangeKind; 3] = [ChangeKind::Broken, ChangeKind::Behaviour, ChangeKind::Text];

    fn key(self) -> &'static str {
        match self {
            ChangeKind::Broken => "broken",
            ChangeKind::Behaviour => "behaviour",
            ChangeKind::Text => "text",
        }
    }

    fn title(self) -> &'static str {
        match self {
            ChangeKind::Broken => "newly broken",
            ChangeKind::Behaviour => "changed in behaviour",
            ChangeKind::Text => "changed in text only",
        }
    }
}

impl Entry {
    fn kind(&self) -> ChangeKind {
        match (
            self.difference.is_broken(),
            self.difference.is_behavioural(),
        ) {
            (true, _) => ChangeKind::Broken,
            (false, true) => ChangeKind::Behaviour,
            (false, false) => ChangeKind::Text,
        }
    }
}

type Differences = HashMap<(String, String), Rc<Difference>>;

impl Report {
    /// Takes note of a source that both surveys have.
    pub(crate) fn add_pair(&mut self, places: (usize, usize), (old, new): (&Known, &Known)) {
        match super::differ(old, new) {
            true => self.changed.push(places),
            false => self.unchanged += 1,
        }
    }

    /// Takes note of a model whose base the survey has.
    pub(crate) fn add_fork(&mut self, places: (usize, usize), (base, fork): (&Known, &Known)) {
        match super::differ(base, fork) {
            true => self.forks.push(places),
            false => self.like_their_base += 1,
        }
    }

    /// Takes what the comparison has found.
    pub(crate) fn take(&mut self, old: &Side, new: &Side, found: Differences) {
        (self.before, self.now) = (old.rows.len(), new.rows.len());
        self.entries = entries(&self.changed, (&old.rows, &new.rows), &found, |_, now| {
            now.key.clone()
        });
        self.of_forks = entries(&self.forks, (&new.rows, &new.rows), &found, |base, fork| {
            format!("{}, made of {}", fork.name, base.name)
        });
        let names = |side: &Side, places: &[usize]| {
            let names = places.iter().map(|at| side.rows[*at].key.clone());
            names.collect::<Vec<_>>()
        };
        self.new_names = names(new, &self.new);
        self.gone_names = names(old, &self.gone);
        let broken = self.new.iter().map(|at| &new.rows[*at]);
        let broken = broken.filter(|row| rank(&row.standing) >= rank("failed"));
        self.new_broken = broken.map(|row| row.key.clone()).collect();
    }

    /// Whether anything behaves differently than before.
    pub(crate) fn is_behavioural(&self) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.kind() != ChangeKind::Text)
    }

    /// What a patch is made of: the sources, old and new, that behave differently, and those that are new.
    pub(crate) fn patched(&self) -> Vec<(Option<usize>, usize)> {
        let changed = self
            .entries
            .iter()
            .filter(|entry| entry.kind() != ChangeKind::Text);
        let changed = changed.flat_map(|entry| &entry.places);
        let changed = changed.map(|&(before, now)| (Some(before), now));
        changed
            .chain(self.new.iter().map(|now| (None, *now)))
            .collect()
    }

    fn of_kind(&self, kind: ChangeKind) -> Vec<&Entry> {
        self.entries
            .iter()
            .filter(|entry| entry.kind() == kind)
            .collect()
    }

    fn head(&self) -> String {
        let mut parts = vec![format!("{} unchanged", self.unchanged)];
        let mut count = |count: usize, what: &str| {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        };
        count(self.new_names.len(), "new");
        count(self.gone_names.len(), "gone");
        for kind in ChangeKind::ALL.into_iter().rev() {
            let sources = self
                .of_kind(kind)
                .iter()
                .map(|entry| entry.names.len())
                .sum();
            count(sources, kind.title());
        }
        let plural = if self.before == 1 { "" } else { "s" };
        format!(
            "{} source{plural} before, {} now: {}",
            self.before,
            self.now,
            parts.join(", ")
        )
    }

    fn head_of_forks(&self) -> Option<String> {
        let all: usize = self.of_forks.iter().map(|entry| entry.names.len()).sum();
        let otherwise = self
            .of_forks
            .iter()
            .filter(|entry| entry.kind() != ChangeKind::Text);
        let otherwise: usize = otherwise.map(|entry| entry.names.len()).sum();
        let text = format!(
            "models beside their base: {} with its template, {} with another one that behaves alike, {otherwise} that \
             behaves differently",
            self.like_their_base,
            all - otherwise,
        );
        (all + self.like_their_base > 0).then_some(text)
    }

    /// Lines for the terminal.
    pub(crate) fn human(&self) -> Painted {
        let mut out = Painted::for_results();
        out.push(&format!("{}\n", self.head()));
        for (title, names) in [
            ("new", &self.new_names),
            ("gone", &self.gone_names),
            ("new, and nothing is derived", &self.new_broken),
        ] {
            if !names.is_empty() {
                out.push("\n");
                out.paint(title, "1");
                out.push(&format!("\n  {}\n", listed(names)));
            }
        }
        for kind in ChangeKind::ALL {
            for (at, entry) in self.of_kind(kind).into_iter().enumerate() {
                if at == 0 {
                    out.push("\n");
                    out.paint(kind.title(), "1");
                    out.push("\n");
                }
                push_entry(entry, &mut out);
            }
        }
        if let Some(head) = self.head_of_forks() {
            out.push(&format!("\n{head}\n"));
        }
        for entry in self
            .of_forks
            .iter()
            .filter(|entry| entry.kind() != ChangeKind::Text)
        {
            push_entry(entry, &mut out);
        }
        out
    }

    /// A report in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut out = format!("# Chat templates: what has changed\n\n{}.\n", self.head());
        for (title, names) in [
            ("New", &self.new_names),
            ("Gone", &self.gone_names),
            ("New, and nothing is derived", &self.new_broken),
        ] {
            if !names.is_empty() {
                out += &format!("\n## {title}\n\n");
                out += &names
                    .iter()
                    .map(|name| format!("- {}\n", code(name)))
                    .collect::<String>();
            }
        }
        for kind in ChangeKind::ALL {
            let entries = self.of_kind(kind);
            if !entries.is_empty() {
                let title = kind.title();
                out += &format!("\n## {}{}\n", title[..1].to_uppercase(), &title[1..]);
            }
            for entry in entries {
                out += &markdown_entry(entry);
            }
        }
        if let Some(head) = self.head_of_forks() {
            out += &format!(
                "\n## Models beside their base\n\n{}{}.\n",
                head[..1].to_uppercase(),
                &head[1..]
            );
        }
        for entry in self
            .of_forks
            .iter()
            .filter(|entry| entry.kind() != ChangeKind::Text)
        {
            out += &markdown_entry(entry);
        }
        out
    }

    /// For programs.
    pub(crate) fn to_value(&self) -> Value {
        let list = |entries: &mut dyn Iterator<Item = &Entry>| -> Value {
            let value = entries.map(|entry| {
                Object::from_iter([
                    ("sources", Value::from_iter(&entry.names)),
                    ("difference", entry.difference.to_value()),
                ])
            });
            value.collect()
        };
        let mut out = Object::from_iter([
            ("before", Value::from(self.before)),
            ("now", self.now.into()),
            ("unchanged", self.unchanged.into()),
            ("new", Value::from_iter(&self.new_names)),
            ("new_broken", Value::from_iter(&self.new_broken)),
            ("gone", Value::from_iter(&self.gone_names)),
        ]);
        for kind in ChangeKind::ALL {
            let mut entries = self.of_kind(kind).into_iter();
            out.insert(kind.key(), list(&mut entries));
        }
        out.insert("like_their_base", self.like_their_base);
        out.insert("unlike_their_base", list(&mut self.of_forks.iter()));
        out.into()
    }
}

fn entries(
    pairs: &[(usize, usize)],
    (old, new): (&[Known], &[Known]),
    found: &Differences,
    name: impl Fn(&Known, &Known) -> String,
) -> Vec<Entry> {
    let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut entries: Vec<Entry> = Vec::new();
    for &(before, now) in pairs {
        let key = (old[before].id(), new[now].id());
        let name = name(&old[before], &new[now]);
        if let Some(&place) = places.get(&key) {
            entries[place].names.push(name);
            entries[place].places.push((before, now));
            continue;
        }
        if let Some(difference) = found.get(&key) {
            places.insert(key, entries.len());
            entries.push(Entry {
                names: vec![name],
                places: vec![(before, now)],
                difference: Rc::clone(difference),
            });
        }
    }
    entries
}

/// Names, as many as there is room for.
fn listed(names: &[String]) -> String {
    let shown = names[..names.len().min(MAX_NAMES)].join("\n  ");
    match names.len().checked_sub(MAX_NAMES) {
        None | Some(0) => shown,
        Some(more) => format!("{shown}\n  and {more} more"),
    }
}

fn push_entry(entry: &Entry, out: &mut Painted) {
    out.push(&format!("  {}\n", listed(&entry.names)));
    for fact in entry.difference.facts() {
        out.push(&format!("    {}\n", fact.says.replace('\n', "\n    ")));
        if let Some([before, after]) = &fact.texts {
            out.indent("      ", |out| changed_lines(before, after, out));
        }
    }
}

fn markdown_entry(entry: &Entry) -> String {
    let mut out = String::from("\n### ");
    match entry.names.as_slice() {
        [name] => out += &format!("{}\n", code(name)),
        names => {
            out += &format!("{} and {} more\n\n", code(&names[0]), names.len() - 1);
            out += &names
                .iter()
                .map(|name| format!("- {}\n", code(name)))
                .collect::<String>();
        }
    }
    out.push('\n');
    for Fact { says, texts } in entry.difference.facts() {
        let mut lines = says.lines();
        let first = lines.next().unwrap_or_default();
        out += &format!("- {}\n", escaped(first));
        let rest: String = lines.map(|line| format!("{line}\n")).collect();
        if !rest.is_empty() {
            out += &fenced("text", &rest);
        }
        if let Some([before, after]) = &texts {
            let mut difference = Painted::plain();
            changed_lines(before, after, &mut difference);
            out += &fenced("diff", difference.as_str());
        }
    }
    out
}

/// A text as code within a line.
fn code(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    match longest {
        0 => format!("{fence}{text}{fence}"),
        _ => format!("{fence} {text} {fence}"),
    }
}

/// A text in a line of prose: tags in it are no tags, and what stands in backquotes stays code.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        if at > 0 {
            out.push('`');
        }
        match at % 2 {
            0 => part.chars().for_each(|c| match c {
                '<' => out += "&lt;",
                '&' => out += "&amp;",
                '*' | '_' | '[' | ']' | '|' | '\\' | '#' => out.extend(['\\', c]),
                c => out.push(c),
            }),
            _ => out += part,
        }
    }
    out
}

/// A block that nothing in it can close.
fn fenced(kind: &str, text: &str) -> String {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let lines = text.lines().map(|line| format!("  {line}\n"));
    format!(
        "\n  {fence}{kind}\n{}  {fence}\n\n",
        lines.collect::<String>()
    )
}
