//! The JSON Schemas of response templates and of fixtures say what the loaders say, as far as a
//! schema can.
//!
//! The rule: what the loader accepts, the schema accepts. What the loader refuses, the schema
//! refuses, unless all that is wrong with it is beyond schemas.

mod changes;
#[cfg(feature = "check")]
mod fixtures;
mod templates;

use jsonschema::Validator;
use unjinja::{Diagnostic, Value, json};

const TEMPLATES: &str = include_str!("../parser/schema/response-template.schema.json");
const FIXTURES: &str = include_str!("../schema/fixture.schema.json");

fn parsed(schema: &str) -> serde_json::Value {
    serde_json::from_str(schema).expect("the schema is JSON")
}

fn validator(schema: &serde_json::Value) -> Validator {
    jsonschema::draft202012::new(schema).expect("the schema is one")
}

/// A value as the crate of the schemas takes it; none if a text in it can't be UTF-8.
fn foreign(value: &Value) -> Option<serde_json::Value> {
    serde_json::from_str(&json::write(value)).ok()
}

/// What a schema and a loader have to agree on.
struct Rule {
    validator: Validator,
    /// What the loader says where no schema can find anything wrong.
    beyond_schemas: Vec<&'static str>,
}

impl Rule {
    fn new(schema: &str, beyond_schemas: Vec<&'static str>) -> Rule {
        Rule {
            validator: validator(&parsed(schema)),
            beyond_schemas,
        }
    }

    /// Asserts that the schema keeps to the rule on a value in which the loader finds these faults.
    fn assert(&self, value: &Value, faults: &[Diagnostic]) {
        let Some(instance) = foreign(value) else {
            panic!("{value} can't be UTF-8");
        };
        match self.validator.is_valid(&instance) {
            true => assert!(
                faults.iter().all(|fault| self.is_beyond_schemas(fault)),
                "the schema accepts {instance}, in spite of {faults:?}"
            ),
            false => assert!(!faults.is_empty(), "the schema alone refuses {instance}"),
        }
    }

    fn is_beyond_schemas(&self, fault: &Diagnostic) -> bool {
        let says = |phrase: &&str| fault.message.contains(phrase);
        self.beyond_schemas.iter().any(says)
    }
}

#[test]
fn the_schemas_are_schemas() {
    for schema in [TEMPLATES, FIXTURES] {
        assert!(jsonschema::meta::is_valid(&parsed(schema)));
    }
}

/// The schema and all of its definitions.
fn parts(schema: &serde_json::Value) -> Vec<&serde_json::Value> {
    let definitions = schema["$defs"].as_object().expect("an object").values();
    [schema].into_iter().chain(definitions).collect()
}

/// What a part of a schema refers to, or else the part itself.
fn target<'s>(schema: &'s serde_json::Value, part: &'s serde_json::Value) -> &'s serde_json::Value {
    let place = part["$ref"]
        .as_str()
        .and_then(|place| place.strip_prefix('#'));
    place
        .and_then(|pointer| schema.pointer(pointer))
        .unwrap_or(part)
}

/// Editors show it while a key is written.
#[test]
fn every_key_is_described() {
    for schema in [TEMPLATES, FIXTURES].map(parsed) {
        let mut described = 0;
        for part in parts(&schema) {
            assert!(part["description"].is_string(), "{part}");
            let properties = part["properties"].as_object();
            for (key, property) in properties.into_iter().flatten() {
                let own = property["description"].as_str();
                let description = own.or_else(|| target(&schema, property)["description"].as_str());
                assert!(description.is_some_and(|text| text.ends_with('.')), "{key}");
                described += 1;
            }
        }
        assert!(described > 20, "only {described} keys were looked at");
    }
}

/// Editors offer them.
#[test]
fn every_example_is_one() {
    for schema in [TEMPLATES, FIXTURES].map(parsed) {
        let mut tried = 0;
        for part in parts(&schema) {
            let properties = part["properties"].as_object();
            let properties = properties
                .into_iter()
                .flatten()
                .map(|(_, property)| property);
            for part in properties.chain([part]) {
                let mut alone = part.clone();
                alone["$defs"] = schema["$defs"].clone();
                let validator = validator(&alone);
                for example in part["examples"].as_array().into_iter().flatten() {
                    assert!(
                        validator.is_valid(example),
                        "{example} is no example of {part}"
                    );
                    tried += 1;
                }
            }
        }
        assert!(tried > 20, "only {tried} examples were tried");
    }
}
