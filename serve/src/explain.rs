//! What happens to an answer, told while it happens.

use unjinja::completion::Delta;

use crate::Tell;

/// Tells of one choice what came, and what was sent for it.
pub(crate) struct Explained {
    tell: Tell,
    name: String,
}

impl Explained {
    pub(crate) fn new(tell: Tell, id: &str, choice: usize) -> Explained {
        let name = match choice {
            0 => id.to_owned(),
            choice => format!("{id}[{choice}]"),
        };
        Explained { tell, name }
    }

    pub(crate) fn came(&self, text: &str, deltas: &[Delta]) {
        (self.tell)(&format!("{} came {text:?}", self.name));
        self.sent(deltas);
        if deltas.is_empty() {
            (self.tell)(&format!("{}   held back, or a marker", self.name));
        }
    }

    pub(crate) fn sent(&self, deltas: &[Delta]) {
        for delta in deltas {
            let what = match delta {
                Delta::Role(role) => format!("role {role:?}"),
                Delta::Content(text) => format!("content {text:?}"),
                Delta::Reasoning(text) => format!("reasoning {text:?}"),
                Delta::Call { index, id, name } => format!("call {index} of {name:?}, {id}"),
                Delta::Arguments { index, text } => format!("arguments of {index} {text:?}"),
                Delta::Field { name, .. } => format!("field {name:?}"),
                _ => continue,
            };
            (self.tell)(&format!("{}   sent {what}", self.name));
        }
    }

    pub(crate) fn ended(&self, reason: &str) {
        (self.tell)(&format!("{} ended: {reason}", self.name));
    }
}
