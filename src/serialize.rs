//! Findings, templates and reports in the formats that serde knows.
//!
//! Every report has one JSON form, which its `to_value` makes; what is serialized is that.

use serde::ser::{Serialize, Serializer};

/// Serializes what has a JSON form as that form.
macro_rules! serialize_as_value {
    ($($type:ty),* $(,)?) => {$(
        /// What `to_value` gives.
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.to_value().serialize(serializer)
            }
        }
    )*};
}

serialize_as_value!(
    crate::analysis::Capabilities,
    crate::analysis::Evidence,
    crate::analysis::Findings,
    crate::analysis::Statement,
    crate::derive::Candidate,
    crate::derive::DamageRow,
    crate::derive::DamagedText,
    crate::derive::Derivation,
    crate::derive::Recovery,
    crate::derive::RefusedConversation,
    crate::derive::ProofRow,
    crate::derive::Tally,
    crate::lint::Complaint,
    crate::survey::Survey,
);

#[cfg(feature = "check")]
serialize_as_value!(
    crate::check::CaseReport,
    crate::check::Comparison,
    crate::check::Divergence,
    crate::check::EventTrace,
    crate::check::Failure,
    crate::check::FileReport,
    crate::check::Report,
);
