//! Any text is read as a template: it is refused with a reason, or what has been read can be
//! written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use unjinja::response::Delimiter;
use unjinja::{ParserOptions, Position, ResponseTemplate, TemplateError, json, parse};
use unjinja_fuzz::same;

/// What every template gets to read.
const OUTPUT: &str = "<a>1</a>\n<think>x</think> {\"a\": [1]} ab";

fuzz_target!(|text: &str| {
    match ResponseTemplate::from_json(text) {
        Ok(template) => check_template(text, &template),
        Err(error) => check_error(text, error),
    }
});

fn check_template(text: &str, template: &ResponseTemplate) {
    let written = json::write(template.as_value());
    let again = match ResponseTemplate::from_json(&written) {
        Ok(again) => again,
        Err(error) => panic!("{text} loads, but not as {written}: {error}"),
    };
    assert!(same(again.as_value(), template.as_value()), "{written}");
    assert_eq!(again.fields().len(), template.fields().len());
    assert_eq!(again.warnings().len(), template.warnings().len());
    for warning in template.warnings() {
        assert!(!warning.message.is_empty());
        check_position(text, warning.position);
    }
    for delimiter in delimiters(template) {
        let spelled = (
            delimiter.literals().is_some(),
            delimiter.pattern().is_some(),
        );
        assert!(matches!(spelled, (true, false) | (false, true)));
        delimiter.is_chunk_dependent();
    }
    // Whether this can be parsed does not matter, but that both templates agree does.
    let read = |template| parse(template, "", OUTPUT, ParserOptions::default());
    match (read(template), read(&again)) {
        (Ok(a), Ok(b)) => assert!(same(&a.into(), &b.into())),
        (a, b) => assert_eq!(a.err(), b.err()),
    }
}

fn delimiters(template: &ResponseTemplate) -> impl Iterator<Item = &Delimiter> {
    let of_fields = template.fields().iter();
    of_fields
        .flat_map(|field| field.open().into_iter().chain(field.close()))
        .chain([template.start_anchor()])
}

fn check_error(text: &str, error: TemplateError) {
    assert!(
        !error.faults.is_empty(),
        "{text} is refused without a fault"
    );
    assert!(!error.to_string().is_empty());
    // Half a character in a key has no pointer that leads back to it.
    let pointers_lead_back = !text.contains("\\u");
    for fault in &error.faults {
        assert!(!fault.message.is_empty());
        assert!(error.to_string().contains(&fault.to_string()));
        check_position(text, fault.position);
        assert!(
            fault.position.is_some() || !pointers_lead_back,
            "{text}: nobody knows where this is: {fault}"
        );
    }
    assert!(error.in_file("x.json").to_string().starts_with("x.json:"));
}

fn check_position(text: &str, position: Option<Position>) {
    if let Some(Position { line, column, .. }) = position {
        let lines: Vec<&str> = text.split('\n').collect();
        assert!((1..=lines.len()).contains(&line), "{text}: line {line}");
        let length = lines[line - 1].chars().count();
        assert!(
            (1..=length + 1).contains(&column),
            "{text}: column {column}"
        );
    }
}
