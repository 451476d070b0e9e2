//! Texts to replay, and what is expected of them.

use std::collections::HashSet;

use unjinja::check::{Case, Expected, free_name};
use unjinja::derive::{Derivation, Row};
use unjinja::{Object, ParserOptions, ResponseTemplate, Tools, parse};

/// The probe conversations that the chat template has rendered, each text that `template` reads once. What is
/// expected is what comes back by the derived template, or what was said where that does not come back.
pub fn rendered(derivation: &Derivation, template: &ResponseTemplate) -> Vec<Case> {
    let mut texts = HashSet::new();
    let mut names = HashSet::new();
    let mut cases = Vec::new();
    for row in &derivation.proof {
        let prefilled = template.after_anchor(&row.prefix).ok().flatten();
        if !texts.insert((prefilled.unwrap_or(&row.prefix), row.output.as_str())) {
            continue;
        }
        let name = free_name(&row.name, |name| names.contains(name));
        names.insert(name.clone());
        let mut case = case(row, derivation);
        case.name = name;
        cases.push(case);
    }
    cases
}

/// The case that a row of a proof is.
pub fn case(row: &Row, derivation: &Derivation) -> Case {
    let tools = &derivation.tools;
    let mut expected = Expected::default();
    expected.message = Some(message(row, &derivation.template, tools));
    Case::new(&row.name, &row.prefix, &row.output, tools.clone(), expected)
}

fn message(row: &Row, derived: &ResponseTemplate, tools: &Tools) -> Object {
    let read = || {
        let options = ParserOptions::default().tools(tools.clone());
        parse(derived, &row.prefix, &row.output, options).ok()
    };
    let is_recovered = row.recovery.is_recovered();
    let message = is_recovered.then(read).flatten();
    message.unwrap_or_else(|| {
        let mut said = derived.defaults().clone();
        for (key, value) in row.message.clone() {
            said.insert(key, value);
        }
        said
    })
}
