//! What the loader has found to have no effect.

use super::subject::Subject;
use super::{Complaints, Lint};

pub(super) fn check(subject: &Subject<'_>, complaints: &mut Complaints) {
    for warning in subject.template.warnings() {
        let (pointer, message) = (warning.pointer.as_str(), warning.message.as_str());
        let complaint = complaints.add(Lint::NoEffect, pointer, message, "");
        complaint.position = warning.position;
        complaint.remedy.clone_from(&warning.remedy);
    }
}
