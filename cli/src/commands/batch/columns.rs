//! Where the rows of a batch have what an answer is made of.

use unjinja::Object;

use super::reply::Members;

/// What a row may have, and what is looked for in it.
pub(super) const KEYS: [&str; 15] = [
    "id",
    "text",
    "chunks",
    "prefix",
    "tools",
    "response_template",
    "response_schema",
    "finish_reason",
    "tool_choice",
    "parallel",
    "reasoning",
    "kwargs",
    "bos_token",
    "eos_token",
    "now",
];

/// What only answers have.
const ANSWER: [&str; 9] = [
    "line",
    "initial_events",
    "events",
    "final_events",
    "message",
    "completion",
    "error",
    "error_at",
    "load_error",
];

/// Under which names rows have what, and what of them goes into the answer as it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    /// What goes by another name, with that name; with none where it is not to be read.
    pub(crate) names: Vec<(String, String)>,
    /// The names of what is kept. The id always is.
    pub(crate) keep: Vec<String>,
}

/// Reads `WHAT=NAME`.
pub(crate) fn column(text: &str) -> Result<(String, String), String> {
    let (key, name) = text
        .split_once('=')
        .ok_or("expected WHAT=NAME, such as `text=output`")?;
    if !KEYS.contains(&key) {
        return Err(format!(
            "there is no `{key}`: rows have {}",
            KEYS.join(", ")
        ));
    }
    Ok((key.to_owned(), name.to_owned()))
}

/// Reads the name of a column that is kept.
pub(crate) fn kept(name: &str) -> Result<String, String> {
    if ANSWER.contains(&name) {
        return Err("answers have a key of that name themselves: rename the column".to_owned());
    }
    Ok(name.to_owned())
}

impl Columns {
    /// The name under which a row has something, unless it is not to be read.
    pub(super) fn name_of<'c>(&'c self, key: &'c str) -> Option<&'c str> {
        let named = self.names.iter().rfind(|(known, _)| known == key);
        let name = named.map_or(key, |(_, name)| name.as_str());
        (!name.is_empty()).then_some(name)
    }

    /// What is kept of a row; and why it can't be answered, if so. Afterwards the row has everything under
    /// the name by which it is known.
    pub(super) fn apply(&self, row: &mut Object) -> (Members, Option<String>) {
        let mut kept = Members::default();
        let id = self.name_of("id").and_then(|name| row.get(name));
        kept.insert("id", id.cloned().unwrap_or_default());
        for name in self.keep.iter().filter(|name| *name != "id") {
            kept.insert(name, row.get(name).cloned().unwrap_or_default());
        }
        let mut missing = None;
        let mut found = Vec::new();
        for (key, _) in &self.names {
            let name = self.name_of(key);
            let value = name.and_then(|name| row.get(name)).cloned();
            if let (Some(name), None, "text" | "chunks") = (name, &value, key.as_str()) {
                missing = Some(format!("there is no `{name}`, which is to be the {key}"));
            }
            found.push((key, value));
        }
        for (key, value) in found {
            match value {
                Some(value) => drop(row.insert(key.as_str(), value)),
                None => drop(row.remove(key)),
            }
        }
        (kept, missing)
    }
}
