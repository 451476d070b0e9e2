//! Differences between what is expected and what comes out, for people.

use std::path::Path;

use crate::printing::Painted;
use unjinja::check::Update;
use unjinja::{Value, json};

use crate::commands::report::changed_lines;

/// The lines in which two values differ, as JSON.
pub(super) fn of_values(before: &Value, after: &Value, out: &mut Painted) {
    changed_lines(&pretty(before), &pretty(after), out);
}

fn pretty(value: &Value) -> String {
    match value {
        // Events are short, and many.
        // Texts are read line by line, and it matters how they end.
        Value::String(text) if text.to_string_lossy().contains('\n') => {
            let text = text.to_string_lossy();
            let lines = text.split_inclusive('\n');
            lines.map(|line| line.replace('\n', "⏎") + "\n").collect()
        }
        Value::Array(items) => items.iter().map(|item| json::write(item) + "\n").collect(),
        value => json::write_styled(value, &json::Style::pretty(2)) + "\n",
    }
}

/// What a fixture expects from now on.
pub(super) fn shown(path: &Path, update: &Update) -> Painted {
    let mut out = Painted::for_errors();
    for change in &update.changes {
        let (line, column) = change.position.line_column();
        let path = path.display();
        out.push(&format!(
            "{path}:{line}:{column}: {}: {}\n",
            change.case, change.key
        ));
        let nothing = Value::Array(Vec::new());
        let before = change.before.as_ref().unwrap_or(&nothing);
        of_values(before, &change.after, &mut out);
    }
    out
}
