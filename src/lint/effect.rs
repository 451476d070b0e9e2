//! What the loader has found to have no effect.

use super::subject::Subject;
use super::{Complaints, Lint};

pub(super) fn check(subject: &Subject<'_>, complaints: &mut Complaints) {
    for warning in subject.template.warnings() {
        // A transform is warned of if nothing fills in a placeholder, and then every match fails.
        let mut fields = 0..subject.inner().fields.len();
        let is_transform = fields
            .any(|field| warning.pointer == format!("{}/transform", subject.field_pointer(field)));
        let lint = match is_transform {
            true => Lint::UnfilledPlaceholder,
            false => Lint::NoEffect,
        };
        complaints.push(lint, warning.clone());
    }
}
