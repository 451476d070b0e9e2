//! The tour in `docs/workbench.md` is taken: its keys are pressed, and what it promises has to be seen.
//!
//! A table whose head is `| key | what you see |` belongs to the last `$ unjinja tui SOURCE` before it. What
//! stands in backticks on its left are keys, or letters that are typed; on its right, what is on the screen.

use crate::support::root::root;
use crate::tui::desk::Desk;

/// What one row of a table says.
struct Step {
    line: usize,
    keys: Vec<String>,
    seen: Vec<String>,
}

/// A part of the tour: what is opened, and what is done then.
struct TourStop {
    source: String,
    steps: Vec<Step>,
}

fn tour() -> Vec<TourStop> {
    let path = root().join("docs/workbench.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut parts: Vec<TourStop> = Vec::new();
    let mut opened = None;
    let mut is_tour = false;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(source) = line.strip_prefix("$ unjinja tui ") {
            opened = Some(source.to_owned());
        } else if line == "| key | what you see |" {
            is_tour = true;
            let source = opened.take().expect("something is opened before");
            let steps = Vec::new();
            parts.push(TourStop { source, steps });
        } else if !line.starts_with('|') {
            is_tour = false;
        } else if is_tour && !line.starts_with("|-") {
            let part = parts.last_mut().expect("a table has a head");
            part.steps.push(step(number, line));
        }
    }
    parts
}

fn step(number: usize, row: &str) -> Step {
    let cells = row.trim_matches('|').split_once(" | ");
    let (keys, seen) = cells.unwrap_or_else(|| panic!("line {number} has two cells: {row}"));
    Step {
        line: number,
        keys: in_backticks(keys),
        seen: in_backticks(seen),
    }
}

/// What stands in backticks; a line in a cell of a table is written with a backslash.
fn in_backticks(cell: &str) -> Vec<String> {
    let pieces = cell.split('`').skip(1).step_by(2);
    pieces.map(|piece| piece.replace("\\|", "|")).collect()
}

/// A key by its name as the desk has it; letters are themselves.
fn pressed(name: &str) -> &str {
    match name {
        "Enter" => "⏎",
        "Esc" => "⎋",
        "Tab" => "↹",
        "Home" => "⇤",
        "End" => "⇥",
        "PgUp" => "⇞",
        "PgDn" => "⇟",
        "Space" => " ",
        letters => letters,
    }
}

#[test]
fn everything_that_the_tour_promises_is_seen() {
    let parts = tour();
    assert!(parts.len() > 1, "the tour has only {} parts", parts.len());
    for part in parts {
        let mut desk = Desk::open(&part.source);
        let mut before = String::new();
        for step in part.steps {
            for key in &step.keys {
                match key.as_str() {
                    "Ctrl-D" => desk.control('d'),
                    key => _ = desk.press(pressed(key)),
                }
            }
            let place = format!("docs/workbench.md, line {}", step.line);
            let screen = desk.screen();
            for seen in &step.seen {
                assert!(screen.contains(seen), "{place}: no `{seen}` in\n{screen}");
            }
            let is_new = step.seen.iter().any(|seen| !before.contains(seen));
            assert!(is_new, "{place}: all of this was seen before\n{screen}");
            before = screen;
        }
    }
}
