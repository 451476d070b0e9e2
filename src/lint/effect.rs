//! What the loader has found to have no effect.

use super::subject::Subject;
use super::{Complaints, Lint};

pub(super) fn check(subject: &Subject<'_>, complaints: &mut Complaints) {
    for warning in subject.template.warnings() {
        let (pointer, message) = (warning.pointer.as_str(), warning.message.as_str());
        // A transform is warned of if nothing fills in a placeholder, and then every match fails.
        let mut fields = 0..subject.inner().fields.len();
        let is_transform =
            fields.any(|field| pointer == format!("{}/transform", subject.field_pointer(field)));
        let lint = match is_transform {
            true => Lint::UnfilledPlaceholder,
            false => Lint::NoEffect,
        };
        let complaint = complaints.add(lint, pointer, message, "");
        complaint.position = warning.position;
        complaint.remedy.clone_from(&warning.remedy);
    }
}
