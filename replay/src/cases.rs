//! Texts to replay, and what is expected of them.

use std::collections::{HashMap, HashSet};

use unjinja::check::{Case, Expected, free_name};
use unjinja::derive::{DamagedText, Derivation, ProofRow};
use unjinja::{Object, ParserOptions, ResponseTemplate, parse};

/// A text that the chat template has rendered, and all rows of the proof that have it.
#[derive(Debug, Clone)]
pub struct Rendered<'a> {
    /// The text, with what is expected of it.
    pub case: Case,
    /// The rows, the first of which is the case.
    pub rows: Vec<&'a ProofRow>,
}

/// The probe conversations that the chat template has rendered, each text that `template` reads once. What is
/// expected is what comes back by the derived template, or what was said where that does not come back.
pub fn rendered<'a>(derivation: &'a Derivation, template: &ResponseTemplate) -> Vec<Rendered<'a>> {
    let mut texts = HashMap::new();
    let mut names = HashSet::new();
    let mut rendered: Vec<Rendered<'a>> = Vec::new();
    for row in &derivation.proof {
        let prefilled = template.after_anchor(&row.prefix).ok().flatten();
        let text = (prefilled.unwrap_or(&row.prefix), row.output.as_str());
        let number = *texts.entry(text).or_insert_with(|| {
            let mut case = case(row, derivation);
            case.name = free_name(&row.name, |name| names.contains(name));
            names.insert(case.name.clone());
            let rows = Vec::new();
            rendered.push(Rendered { case, rows });
            rendered.len() - 1
        });
        rendered[number].rows.push(row);
    }
    rendered
}

/// The case that a row of a proof is.
pub fn case(row: &ProofRow, derivation: &Derivation) -> Case {
    let read = || {
        let options = ParserOptions::default().tools(derivation.tools.clone());
        parse(&derivation.template, &row.prefix, &row.output, options).ok()
    };
    let is_recovered = row.recovery.is_recovered();
    let message = is_recovered.then(read).flatten();
    let message = message.unwrap_or_else(|| said(&row.message, derivation));
    case_of(&row.name, (&row.prefix, &row.output), message, derivation)
}

/// The case that a damaged text is: what is left of what was said is expected.
pub fn damaged(text: &DamagedText, derivation: &Derivation) -> Case {
    let message = said(&text.message, derivation);
    case_of(
        &text.damage,
        (&text.prefix, &text.output),
        message,
        derivation,
    )
}

fn case_of(
    name: &str,
    (prefix, output): (&str, &str),
    message: Object,
    derivation: &Derivation,
) -> Case {
    let mut expected = Expected::default();
    expected.message = Some(message);
    Case::new(name, prefix, output, derivation.tools.clone(), expected)
}

/// What was said, as the derived template would have to read it.
fn said(message: &Object, derivation: &Derivation) -> Object {
    let mut said = derivation.template.defaults().clone();
    for (key, value) in message.clone() {
        said.insert(key, value);
    }
    said
}
