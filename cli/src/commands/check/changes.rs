//! Differences between what is expected and what comes out, for people.

use std::path::Path;

use crate::printable;
use unjinja::check::Update;
use unjinja::{Value, json};

use crate::commands::report::changed_lines;

/// The lines in which two values differ, as JSON.
pub(super) fn of_values(before: &Value, after: &Value, terminal: bool) -> String {
    changed_lines(&pretty(before), &pretty(after), terminal)
}

fn pretty(value: &Value) -> String {
    match value {
        // Events are short, and many.
        Value::Array(items) => items.iter().map(|item| json::write(item) + "\n").collect(),
        value => json::write_styled(value, &json::Style::pretty(2)) + "\n",
    }
}

/// What a fixture expects from now on.
pub(super) fn shown(path: &Path, update: &Update, terminal: bool) -> String {
    let mut out = String::new();
    for change in &update.changes {
        let (line, column) = change.position.line_column();
        let path = printable(&path.display().to_string());
        out.push_str(&format!(
            "{path}:{line}:{column}: {}: {}\n",
            printable(&change.case),
            change.key
        ));
        let nothing = Value::Array(Vec::new());
        let before = change.before.as_ref().unwrap_or(&nothing);
        out.push_str(&of_values(before, &change.after, terminal));
    }
    out
}
