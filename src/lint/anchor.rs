//! The anchor, looked for in prompts.

use super::subject::Subject;
use super::{Complaints, Level, Lint, listed};

pub(super) fn check(subject: &Subject<'_>, complaints: &mut Complaints) {
    let Some(model) = &subject.model else {
        return;
    };
    let mut lacking = Vec::new();
    for prompt in &model.prompts {
        let rest = subject.template.after_anchor(&prompt.text);
        // One that stands before the last question belongs to an earlier turn; but not every
        // template writes down what is asked.
        let is_late = |rest: &str| {
            prompt.turn == prompt.text.len() || prompt.text.len() - rest.len() > prompt.turn
        };
        let begins_turn = rest.is_ok_and(|rest| rest.is_some_and(is_late));
        if !begins_turn {
            lacking.push(prompt.what.clone());
        }
    }
    if lacking.is_empty() {
        return;
    }
    let all = lacking.len() == model.prompts.len();
    let message = match all {
        true => "no prompt of the chat template has the anchor where the assistant's turn begins, \
                 so whole prompts are read as a part of the message"
            .to_owned(),
        false => format!(
            "prompts after {} don't have the anchor where the assistant's turn begins, so more \
             of them than that turn is read as a part of the message",
            listed(&lacking, "and")
        ),
    };
    let remedy = "write what stands right before the assistant's turn in a prompt; several texts \
                  can be given in a list";
    let place = subject.anchor_pointer();
    let complaint = complaints.add(Lint::AnchorNotWritten, place, message, remedy);
    if !all {
        complaint.level = Level::Warning;
    }
}
