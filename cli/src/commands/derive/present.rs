//! The response template that is there already, and whether it reads all as the derived one does.

use std::path::Path;

use unjinja::chat_template::ChatTemplate;
use unjinja::check::{ComparisonInput, compare, drift};
use unjinja::derive::Derivation;
use unjinja::{ResponseTemplate, Value, json};

use crate::commands::{Failure, input};

/// The response template that is there already.
pub(super) struct Present {
    /// The file that it stands in.
    name: String,
    /// What stands there, whether or not it is a response template.
    pub(super) value: Value,
    /// The options with which it is replaced.
    replaced_by: String,
}

/// How the one that is there compares with the derived one.
pub(super) enum Comparison {
    /// It is the same, whatever the order of its keys.
    Same,
    /// It reads all texts alike: so many.
    Alike(usize),
    /// It reads some otherwise, or none at all, and how.
    Otherwise {
        how: String,
        /// What the chat template writes otherwise than when it was made, as far as that shows.
        changes: Vec<String>,
    },
}

/// The one in a file, or the one that came with the chat template, if there is any.
pub(super) fn find(
    source: &str,
    template: &ChatTemplate,
    place: Option<&Path>,
) -> Result<Option<Present>, Failure> {
    let Some(path) = place else {
        let value = template.response_template.as_ref();
        return Ok(value.map(|value| Present {
            name: source.to_owned(),
            value: value.clone(),
            replaced_by: "--write --force".to_owned(),
        }));
    };
    if matches!(path.try_exists(), Ok(false)) {
        return Ok(None);
    }
    let text = input::read_text(path)?;
    // What is no JSON is no response template, either.
    Ok(Some(Present {
        name: path.display().to_string(),
        value: json::read(json::without_byte_order_mark(&text)).unwrap_or_default(),
        replaced_by: format!("-o {} --force", path.display()),
    }))
}

/// Compares what is there with what was derived.
pub(super) fn compare_with(present: &Present, derivation: &Derivation) -> Comparison {
    let derived = &derivation.template;
    if present.value.total_eq(derived.as_value()) {
        return Comparison::Same;
    }
    let there = match ResponseTemplate::from_value(&present.value) {
        Ok(there) => there,
        Err(error) => {
            return Comparison::Otherwise {
                how: format!("is refused: {error}"),
                changes: Vec::new(),
            };
        }
    };
    let mut texts = ComparisonInput::synthetic(&there, derived);
    texts.extend(ComparisonInput::of_derivation(derivation));
    let comparison = compare(&there, derived, &texts);
    let (diverging, total) = (comparison.diverging.len(), texts.len());
    match comparison.smallest {
        None => Comparison::Alike(total),
        Some(smallest) => Comparison::Otherwise {
            how: format!(
                "reads {diverging} of {total} texts differently from the derived one, such as {:?}",
                smallest.input.prefix + &smallest.input.output
            ),
            changes: drift(&there, derivation),
        },
    }
}

impl Present {
    /// What `--check` says.
    pub(super) fn statement(&self, standing: &Comparison) -> String {
        let name = &self.name;
        match standing {
            Comparison::Same => format!("{name}: the existing response template is the same"),
            Comparison::Alike(total) => format!(
                "{name}: the existing response template reads all of {total} texts as the derived \
                 one does"
            ),
            Comparison::Otherwise { how, changes } => {
                let replaced_by = &self.replaced_by;
                let there = format!("{name}: the existing response template {how}");
                if changes.is_empty() {
                    return format!(
                        "{there}: look at the difference with `--diff`, and replace it with `{replaced_by}`"
                    );
                }
                let changes = changes.iter();
                let changes: String = changes
                    .map(|change| format!("{name}: {change}\n"))
                    .collect();
                format!(
                    "{there}\n{changes}{name}: check first whether this change of the chat template is intended; if it is, replace the response \
                     template with `{replaced_by}`"
                )
            }
        }
    }
}
