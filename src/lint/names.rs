//! Names of fields, and whatever else those want otherwise who read the template.

use crate::profile::{Effect, Profile};

use super::subject::Subject;
use super::{Complaints, Level, Lint, listed};

/// Fields that serving engines don't know. Where it is said whom the template is for, they say it themselves.
pub(super) fn check(subject: &Subject<'_>, complaints: &mut Complaints) {
    let Some((known, engines)) = Profile::fields_of_engines() else {
        return;
    };
    let engines: Vec<String> = engines.into_iter().map(str::to_owned).collect();
    for (index, field) in subject.template.fields().iter().enumerate() {
        let is_known = known.iter().any(|known| known == field.name());
        if !is_known && subject.targets.is_empty() {
            complaints.add(
                Lint::UnknownField,
                subject.field_pointer(index),
                format!(
                    "serving engines such as {} don't know the field `{}`",
                    listed(&engines, "and"),
                    field.name()
                ),
                format!(
                    "they know `{}`: use the one that fits, or allow this if a program of your \
                     own reads it",
                    known.join("`, `")
                ),
            );
        }
    }
}

/// What those have against the template whom it is for.
pub(super) fn check_targets(subject: &Subject<'_>, complaints: &mut Complaints) {
    for target in subject.targets {
        for objection in target.objections(subject.template) {
            let mut diagnostic = objection.diagnostic;
            diagnostic.pointer = match diagnostic.pointer.strip_prefix('/') {
                Some(below) => format!("{}/{below}", subject.pointer),
                None => subject.pointer.to_owned(),
            };
            let complaint = complaints.push(Lint::NotSuited, diagnostic);
            complaint.target = Some(objection.target);
            complaint.level = match objection.effect {
                Effect::Limits => Level::Warning,
                Effect::Fails | Effect::Refused => Level::Error,
            };
        }
    }
}
