//! Names of fields.

use super::subject::Subject;
use super::{Complaints, Lint};

/// The fields that serving engines know.
const KNOWN: &[&str] = &["thinking", "content", "tool_calls"];

pub(super) fn check(subject: &Subject<'_>, complaints: &mut Complaints) {
    for (index, field) in subject.template.fields().iter().enumerate() {
        if !KNOWN.contains(&field.name()) {
            complaints.add(
                Lint::UnknownField,
                subject.field_pointer(index),
                format!("serving engines don't know the field `{}`", field.name()),
                format!(
                    "what they know is `{}`: take the one of these that it means, or allow this \
                     if a program of your own reads it",
                    KNOWN.join("`, `")
                ),
            );
        }
    }
}
