//! What a row of a table has no room for.

use crate::analysis::Statement;
use crate::derive::{Derivation, ProofRow, Reason};
use crate::lint::Complaint;
use crate::response::{ParserOptions, parse};
use crate::value::{Object, Value, object};

use super::Survey;

/// So much of a prompt's end is kept, in bytes, where the output behind it is read by that as behind all of the prompt.
const KEPT_OF_PROMPT: usize = 256;

/// So much of a prompt is kept that is kept as a whole, in bytes.
const KEPT_OF_WHOLE: usize = 16 << 10;

/// Of the kinds of texts for which a delimiter is there, so many are kept.
const KEPT_TEXTS: usize = 3;

impl Survey {
    pub(super) fn details(&self) -> Object {
        let derivation = self.derivation.as_ref().ok();
        let format = self.format.as_ref();
        let ways = format.map(|format| format.ways.iter().map(ToString::to_string));
        let statements = derivation.map(|derivation| derivation.findings.statements());
        let statements = statements.iter().flatten().map(Statement::to_value);
        let reasons = derivation.map_or(&[][..], |derivation| &derivation.reasons);
        let complaints = self.complaints.as_deref().unwrap_or_default();
        let lint_error = self.complaints.as_ref().err();
        // What is an outcome stands in the row already, but for the reasons.
        let can = self.capabilities.as_ref().ok();
        object! {
            "response_template": derivation.map(|derivation| derivation.template.as_value().clone()),
            "ways": ways.map(Iterator::collect::<Value>),
            "calls": format.and_then(|format| format.calls.as_ref()).map(ToString::to_string),
            "tree": format.map(|format| format.to_value()),
            "findings": statements.collect::<Value>(),
            "reasons": reasons.iter().map(reason).collect::<Value>(),
            "proof": derivation.map(proof),
            "complaints": complaints.iter().map(complaint).collect::<Value>(),
            "lint_error": lint_error.map(ToString::to_string),
            "capabilities": can.map(|can| can.to_value()),
        }
    }
}

/// The renderings with what came back of them: a few of the prompts as a `whole`; the distinct `prompts`, as much of their ends as counts; the `tools` of
/// all; and the `rows`, each with the index of its prompt (`at`).
fn proof(derivation: &Derivation) -> Object {
    let mut prompts: Vec<&str> = Vec::new();
    let mut rows: Vec<Value> = Vec::new();
    for row in &derivation.proof {
        let prompt = kept_of_prompt(derivation, row);
        let at = prompts.iter().position(|known| *known == prompt);
        let at = at.unwrap_or_else(|| {
            prompts.push(prompt);
            prompts.len() - 1
        });
        let mut shown = object! {
            "name": &row.name,
            "at": at,
            "output": &row.output,
            "recovery": row.recovery.key(),
        };
        if let Some(difference) = row.recovery.difference() {
            shown.insert("difference", difference);
        }
        rows.push(shown.into());
    }
    object! {
        "whole": whole_prompts(derivation),
        "prompts": Value::from_iter(prompts),
        "tools": derivation.tools.as_list().to_vec(),
        "rows": rows,
    }
}

/// The prompts of the first turn and of the first one with calls, by the names of their conversations.
fn whole_prompts(derivation: &Derivation) -> Object {
    let rows = &derivation.proof;
    let with_calls = |row: &&ProofRow| row.message.contains_key("tool_calls");
    let shown = rows.first().into_iter().chain(rows.iter().find(with_calls));
    let shown = shown.map(|row| {
        let end = row.prefix.floor_char_boundary(KEPT_OF_WHOLE);
        (row.name.as_str(), &row.prefix[..end])
    });
    shown.collect()
}

/// The end of a prompt, if the output is read by that as behind all of it.
fn kept_of_prompt<'r>(derivation: &Derivation, row: &'r ProofRow) -> &'r str {
    let prefix = row.prefix.as_str();
    let Some(from) = prefix.len().checked_sub(KEPT_OF_PROMPT) else {
        return prefix;
    };
    let end = &prefix[prefix.ceil_char_boundary(from)..];
    let read = |prefix: &str| {
        let options = ParserOptions::default().tools(derivation.tools.clone());
        parse(&derivation.template, prefix, &row.output, options).map(Value::from)
    };
    match (read(end), read(prefix)) {
        (Ok(of_end), Ok(of_all)) if of_end.total_eq(&of_all) => end,
        _ => prefix,
    }
}

/// A reason with a few of the kinds of texts.
fn reason(reason: &Reason) -> Value {
    let mut reason = reason.clone();
    reason.texts.truncate(KEPT_TEXTS);
    reason.to_value()
}

/// A complaint in short: where it stands, what it says, and whether a conversation shows it; else it is about the text alone.
fn complaint(complaint: &Complaint) -> Value {
    let position = complaint.diagnostic.position;
    object! {
        "code": complaint.lint.code(),
        "level": complaint.level.key(),
        "line": position.map(|position| position.line),
        "message": &complaint.diagnostic.message,
        "is_shown": complaint.shown.is_some(),
    }
    .into()
}
