//! A survey as a table for the terminal: a row for each kind of template.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::printing::Painted;
use unjinja::lint::Lint;
use unjinja::{Object, Value, json};

/// So many kinds are shown at the most. The files have all.
const MAX_ROWS: usize = 60;
/// So many sources are named that can't be read.
const MAX_UNREADABLE: usize = 20;
/// So much of how arguments are written is shown, in characters.
const MAX_ARGUMENTS: usize = 19;
/// So much of a format is shown, in characters.
const MAX_FORMAT: usize = 100;

const TITLES: [&str; 9] = [
    "sources",
    "first of them",
    "standing",
    "recovered",
    "thinking",
    "calls",
    "arguments",
    "lints",
    "format",
];

/// What is counted of the rows.
#[derive(Default)]
pub(crate) struct Table {
    sources: usize,
    texts: HashSet<String>,
    /// Where the row of a kind stands, by what its templates have in common.
    places: HashMap<String, usize>,
    kinds: Vec<BehaviourRow>,
    /// How many different templates stand so.
    standings: BTreeMap<String, usize>,
    /// In how many different templates there is what.
    lints: BTreeMap<String, usize>,
    unreadable: Vec<String>,
    unreadable_count: usize,
}

/// Templates that behave alike.
struct BehaviourRow {
    count: usize,
    cells: [String; 8],
}

impl Table {
    pub(crate) fn add(&mut self, row: &Object) {
        let text = |key: &str| row.get(key).and_then(Value::as_str);
        let source = text("source").unwrap_or_default();
        self.sources += 1;
        if let Some(hash) = text("text").filter(|hash| !self.texts.contains(*hash)) {
            self.texts.insert(hash.to_owned());
        }
        let standing = text("standing").unwrap_or_default();
        if standing == "unreadable" {
            self.unreadable_count += 1;
            if self.unreadable.len() < MAX_UNREADABLE {
                let why = text("error").unwrap_or_default();
                let why = why.strip_prefix(&format!("{source}: ")).unwrap_or(why);
                self.unreadable.push(format!("{source}: {why}"));
            }
            return;
        }
        if !row.contains_key("same_as") {
            *self.standings.entry(standing.to_owned()).or_default() += 1;
            let lints = row.get("lints").and_then(Value::as_object);
            for (code, _) in lints.into_iter().flatten() {
                *self
                    .lints
                    .entry(code.to_string_lossy().into_owned())
                    .or_default() += 1;
            }
        }
        let behaviour = text("behaviour").or(text("input")).unwrap_or_default();
        let behaviour = format!("{behaviour} {standing}");
        if let Some(&place) = self.places.get(&behaviour) {
            self.kinds[place].count += 1;
            return;
        }
        self.places.insert(behaviour, self.kinds.len());
        self.kinds.push(BehaviourRow {
            count: 1,
            cells: cells(row),
        });
    }

    /// How many kinds of templates there are.
    fn head(&self) -> String {
        let some = |count: usize, what: &str| match count {
            1 => format!("1 {what}"),
            _ => format!("{count} {what}s"),
        };
        let standings = self.standings.iter();
        let standings = standings.map(|(standing, count)| format!("{count} {standing}"));
        let mut parts: Vec<String> = standings.collect();
        if self.unreadable_count > 0 {
            parts.push(format!(
                "{} unreadable",
                some(self.unreadable_count, "source")
            ));
        }
        format!(
            "{}, {} of chat templates, {} of behaviour: {}\n",
            some(self.sources, "source"),
            some(self.texts.len(), "text"),
            some(self.kinds.len(), "kind"),
            parts.join(", ")
        )
    }

    pub(crate) fn report(mut self) -> Painted {
        let mut out = Painted::for_results();
        out.push(&self.head());
        // The most frequent first, and of those as given.
        self.kinds.sort_by_key(|kind| std::cmp::Reverse(kind.count));
        let shown = &self.kinds[..self.kinds.len().min(MAX_ROWS)];
        let rows = shown.iter().map(|kind| {
            let mut cells = [kind.count.to_string()]
                .into_iter()
                .chain(kind.cells.clone());
            std::array::from_fn(|_| cells.next().unwrap_or_default())
        });
        let rows: Vec<[String; 9]> = std::iter::once(TITLES.map(str::to_owned))
            .chain(rows)
            .collect();
        let width = |column: usize| {
            let widths = rows.iter().map(|row| row[column].chars().count());
            widths.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..TITLES.len()).map(width).collect();
        if !shown.is_empty() {
            out.push("\n");
            for (at, row) in rows.iter().enumerate() {
                push_row(&mut out, row, &widths, at == 0);
            }
        }
        if let Some(more) = self
            .kinds
            .len()
            .checked_sub(MAX_ROWS)
            .filter(|more| *more > 0)
        {
            out.push(&format!(
                "and {more} other kinds, which `-o FILE` and `--html FILE` have\n"
            ));
        }
        if !self.lints.is_empty() {
            out.push("\nwhat the linter says, in how many templates\n");
        }
        for (code, count) in &self.lints {
            let about = code.parse::<Lint>();
            let about = about.map_or_else(
                |_| String::new(),
                |lint| format!("{}  {}", lint.name(), lint.summary()),
            );
            out.push(&format!("{count:>6}  {code}  {about}\n"));
        }
        if !self.unreadable.is_empty() {
            out.push("\nunreadable\n");
        }
        for fault in &self.unreadable {
            out.push(&format!(
                "  {}\n",
                fault.split_whitespace().collect::<Vec<_>>().join(" ")
            ));
        }
        if self.unreadable_count > self.unreadable.len() {
            let more = self.unreadable_count - self.unreadable.len();
            out.push(&format!("  and {more} more\n"));
        }
        out
    }
}

fn push_row(out: &mut Painted, row: &[String; 9], widths: &[usize], is_title: bool) {
    for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
        let padded = match column {
            0 => format!("{cell:>width$}  "),
            8 => cell.clone(),
            _ => format!("{cell:<width$}  "),
        };
        let colour = match cell.as_str() {
            _ if is_title => Some("1"),
            "failed" => Some("31"),
            "partly" => Some("33"),
            "proved" => Some("32"),
            _ => None,
        };
        match colour {
            Some(colour) => out.paint(&padded, colour),
            None => out.push(&padded),
        }
    }
    out.push("\n");
}

fn cells(row: &Object) -> [String; 8] {
    let text = |key: &str| {
        row.get(key)
            .and_then(Value::as_str)
            .unwrap_or("-")
            .to_owned()
    };
    let number = |key: &str| {
        row.get(key)
            .filter(|value| !value.is_null())
            .map(json::write)
    };
    let recovered = match (number("recovered"), number("renderings")) {
        (Some(recovered), Some(all)) => format!("{recovered}/{all}"),
        _ => "-".to_owned(),
    };
    let lints = row.get("lints").and_then(Value::as_object);
    let lints = lints.map_or_else(|| "-".to_owned(), |lints| lints.len().to_string());
    let format = match row.get("format").and_then(Value::as_str) {
        Some(format) => format.to_owned(),
        None => text("error")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
    };
    [
        text("source"),
        text("standing"),
        recovered,
        text("reasoning"),
        text("calls"),
        clipped(&text("arguments"), MAX_ARGUMENTS),
        lints,
        clipped(&format, MAX_FORMAT),
    ]
}

/// A text, or its beginning.
pub(crate) fn clipped(text: &str, at_most: usize) -> String {
    match text.char_indices().nth(at_most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
