//! What response schemas are brought over to, and that it reads as they do.

use insta::assert_snapshot;
use proptest::prelude::*;
use unjinja::response_schema::{ConvertError, Difference, ResponseSchema, Trial, Way, convert};
use unjinja::{ResponseTemplate, Value, json};

/// The schemas of `tests/convert/schemas.json`, each with its name.
fn schemas() -> Vec<(String, ResponseSchema)> {
    let cases = json::read(include_str!("convert/schemas.json")).expect("the file is JSON");
    let cases = cases.as_array().expect("a list").iter();
    let cases = cases.map(|case| {
        let name = case.get("name").and_then(Value::as_str).expect("a name");
        let schema = case.get("schema").expect("a schema");
        (
            name.to_owned(),
            ResponseSchema::from_value(schema).expect("it loads"),
        )
    });
    cases.collect()
}

#[test]
fn each_key_becomes_what_reads_the_same_or_is_refused() {
    let mut shown = String::new();
    for (name, schema) in schemas() {
        shown.push_str(&format!("# {name}\n"));
        for way in [Way::Exact, Way::Streaming] {
            shown.push_str(&match convert(&schema, way) {
                Ok(conversion) => format!(
                    "{way:?}: {}\n",
                    json::write_styled(conversion.template.as_value(), &json::Style::pretty(2))
                ),
                Err(error) => format!("{way:?}: refused:\n{error}\n"),
            });
        }
        shown.push('\n');
    }
    assert_snapshot!(shown);
}

#[test]
fn whole_texts_are_read_alike() {
    let mut brought_over = 0;
    for (name, schema) in schemas() {
        for way in [Way::Exact, Way::Streaming] {
            let Ok(conversion) = convert(&schema, way) else {
                continue;
            };
            let parted: Vec<&Trial> = conversion.parted(false).collect();
            assert!(parted.is_empty(), "{name}: {parted:#?}");
            let whole = conversion
                .trials
                .iter()
                .filter(|trial| trial.damage.is_none());
            assert!(whole.count() >= 3, "{name}");
            brought_over += 1;
        }
    }
    assert_eq!(brought_over, 14);
}

/// A template that looks as far ahead as the schema parts from it only where the schema finds nothing.
#[test]
fn damaged_texts_are_read_alike_by_what_looks_ahead() {
    for (name, schema) in schemas() {
        let Ok(conversion) = convert(&schema, Way::Exact) else {
            continue;
        };
        let has_own_patterns = schema.as_value().get("x-regex").is_none();
        let others = conversion
            .parted(true)
            .filter(|trial| trial.difference() != Some(Difference::NothingFound));
        if !has_own_patterns {
            assert_eq!(others.collect::<Vec<_>>(), Vec::<&Trial>::new(), "{name}");
        }
    }
}

/// However many ways there are to put texts together, and however long they would be.
#[test]
fn what_is_tried_is_limited() {
    let properties: Vec<String> = (0..300)
        .map(|i| format!(r#""p{i}": {{"type": "string", "x-regex": "<a{i}>(.*?)</a{i}>"}}"#))
        .collect();
    let wide = format!(
        r#"{{"type": "object", "properties": {{{}}}}}"#,
        properties.join(", ")
    );
    let schema = ResponseSchema::from_json(&wide).expect("it loads");
    let conversion = convert(&schema, Way::Streaming).expect("it is brought over");
    assert!(conversion.trials.len() < 50, "{}", conversion.trials.len());

    let long = r#"{"type": "object", "x-regex": "^(?:x{90}y){90}(?P<content>.*?)$",
        "properties": {"content": {"type": "string"}}}"#;
    let schema = ResponseSchema::from_json(long).expect("it loads");
    let error: ConvertError = convert(&schema, Way::Exact).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no text could be made that it reads, so nothing could be tried"
    );
}

proptest! {
    #[test]
    fn whatever_is_brought_over_is_a_template_that_loads(
        open in "[<a-c\\[|]{1,4}",
        close in "[>a-c\\]|]{1,4}",
        before in prop::sample::select(&["", "^", "\\\\s*", "(?:x)?"][..]),
        after in prop::sample::select(&["", "$", "(?:z|$)", "\\\\s*$", "(?=z)"][..]),
    ) {
        let (open, close) = (regex_syntax::escape(&open), regex_syntax::escape(&close));
        let (open, close) = (open.replace('\\', "\\\\"), close.replace('\\', "\\\\"));
        let json = format!(
            r#"{{"type": "object", "x-regex": "{before}(?:{open}(?P<thinking>.*?){close})?(?P<content>.*?){after}",
                "properties": {{"thinking": {{"type": "string"}}, "content": {{"type": "string"}}}}}}"#
        );
        let schema = ResponseSchema::from_json(&json).expect("it loads");
        for way in [Way::Exact, Way::Streaming] {
            if let Ok(conversion) = convert(&schema, way) {
                let written = json::write(conversion.template.as_value());
                prop_assert!(ResponseTemplate::from_json(&written).is_ok());
            }
        }
    }
}
