//! Synthetic texts, made of the markers of response templates and the patterns of schemas.

use std::collections::BTreeSet;

use crate::json;
use crate::response::{Delimiter, ResponseTemplate};
use crate::response_schema::ResponseSchema;
use crate::value::{Object, Value};

use super::compare::ComparisonInput;
use super::reader::Reader;

/// So many markers are combined in pairs at the most.
const MAX_MARKERS: usize = 40;

/// About so many times a delimiter is looked for in all texts together: where there are more delimiters,
/// fewer markers are combined.
const MAX_SEARCHES: usize = 4_000_000;

/// So many of them are combined by three.
const MAX_IN_THREES: usize = 14;

/// What stands between markers: some of it can be read as a call.
const BODIES: [&str; 10] = [
    "w",
    "{\"name\": \"f\", \"arguments\": {\"a\": 1}}",
    "[{\"name\": \"f\", \"arguments\": {\"a\": \"b\"}}]",
    "\n w\n",
    "{name:\"f\",arguments:{a:1}}",
    "{'name': 'f', 'arguments': {}}",
    "a: 1\nb: c",
    "12",
    "true",
    "",
];

/// The white space that may stand behind a marker.
const SPACES: [&str; 4] = ["", " ", "\n", "\t"];

/// A call, which may stand between two markers while a third is tried.
const CALL: &str = BODIES[1];

impl ComparisonInput {
    /// Synthetic texts: those in which up to three markers of two templates follow each other, and prompts
    /// that end with what either takes for the beginning of a message; for a schema, the
    /// [texts of its patterns](ResponseSchema::examples).
    pub fn synthetic(first: impl Into<Reader>, second: impl Into<Reader>) -> Vec<ComparisonInput> {
        let (first, second) = (first.into(), second.into());
        match (&first, &second) {
            (Reader::Template(first), Reader::Template(second)) => of_markers(first, second),
            (Reader::Schema(schema), Reader::Template(template))
            | (Reader::Template(template), Reader::Schema(schema)) => {
                let mut texts = of_patterns(schema);
                let of_markers = of_markers(template, template).into_iter();
                texts.extend(of_markers.map(|text| ComparisonInput {
                    origin: "made up of the template's markers".into(),
                    ..text
                }));
                texts
            }
            (Reader::Schema(first), Reader::Schema(second)) => {
                let mut texts = of_patterns(first);
                texts.extend(of_patterns(second));
                texts
            }
        }
    }
}

fn of_patterns(schema: &ResponseSchema) -> Vec<ComparisonInput> {
    let examples = schema.examples().into_iter();
    let origin = "made up of the schema's patterns";
    examples
        .map(|text| ComparisonInput::new(origin, "", &text))
        .collect()
}

fn of_markers(first: &ResponseTemplate, second: &ResponseTemplate) -> Vec<ComparisonInput> {
    let mut markers = distinct(field_markers(first), field_markers(second));
    markers.truncate(combined(
        delimiters(first).count() + delimiters(second).count(),
    ));
    let anchors = distinct(anchor_examples(first), anchor_examples(second));
    let mut bodies: Vec<String> = BODIES.map(str::to_owned).into();
    bodies.extend(distinct(transform_inputs(first), transform_inputs(second)));
    let mut texts: Vec<ComparisonInput> = outputs(&markers, &bodies)
        .iter()
        .map(|output| text("", output))
        .collect();
    for anchor in &anchors {
        texts.push(text(&format!("u{anchor}"), "w"));
        for a in &markers {
            texts.push(text(&format!("u{anchor}"), &format!("{a}w")));
            texts.push(text(&format!("u{anchor}{a}"), "w"));
            let prompt = format!("{anchor}{a}");
            texts.extend(markers.iter().map(|b| text(&prompt, &format!("w{b}x"))));
        }
    }
    texts
}

/// How many markers are combined where templates have so many delimiters. Each pair makes a text for each
/// body, and some more.
fn combined(delimiters: usize) -> usize {
    let pairs = MAX_SEARCHES / ((BODIES.len() + SPACES.len()) * delimiters.max(1));
    pairs.isqrt().clamp(1, MAX_MARKERS)
}

fn delimiters(template: &ResponseTemplate) -> impl Iterator<Item = &Delimiter> {
    let fields = template.fields().iter();
    fields.flat_map(|field| field.open().into_iter().chain(field.close()))
}

/// What the delimiters of a template's fields match.
fn field_markers(template: &ResponseTemplate) -> Vec<String> {
    let examples = delimiters(template).flat_map(Delimiter::examples);
    examples.map(|example| example.text).collect()
}

/// What a template takes for the beginning of a message.
fn anchor_examples(template: &ResponseTemplate) -> Vec<String> {
    let examples = template.start_anchor().examples().into_iter();
    examples.map(|example| example.text).collect()
}

/// Outputs of bodies alone, and with up to three markers around them.
fn outputs(markers: &[String], bodies: &[String]) -> Vec<String> {
    let few = &markers[..markers.len().min(MAX_IN_THREES)];
    let mut outputs = bodies.to_vec();
    for a in markers {
        outputs.extend(bodies.iter().map(|body| format!("{body}{a}x")));
        for space in SPACES {
            outputs.extend([format!("w{a}{space}x"), format!("w{a}{space}")]);
            outputs.push(format!("w{space}{a}x"));
        }
        for b in markers {
            outputs.extend(bodies.iter().map(|body| format!("{a}{body}{b}x")));
            outputs.extend(SPACES.iter().map(|space| format!("w{a}w{b}{space}")));
        }
        for b in few {
            outputs.extend(few.iter().map(|c| format!("{a}w{b}{CALL}{c}x")));
        }
    }
    outputs
}

fn text(prefix: &str, output: &str) -> ComparisonInput {
    ComparisonInput::new("made up of the markers of both", prefix, output)
}

/// JSON that has what the transforms of a template ask for.
fn transform_inputs(template: &ResponseTemplate) -> Vec<String> {
    let fields = template.as_value().get("fields").and_then(Value::as_object);
    let bodies = fields
        .into_iter()
        .flat_map(Object::values)
        .filter_map(|field| {
            let is_list = field.get("transform_each").and_then(Value::as_bool) == Some(true);
            let mut body = Object::new();
            fill_placeholders(&mut body, field.get("transform")?, is_list);
            let body = Value::from(body);
            Some(json::write(&match is_list {
                true => vec![body].into(),
                false => body,
            }))
        });
    bodies.collect()
}

/// Puts something wherever a placeholder of a transform looks for it.
fn fill_placeholders(body: &mut Object, transform: &Value, is_element: bool) {
    match transform {
        Value::Array(items) => items
            .iter()
            .for_each(|item| fill_placeholders(body, item, is_element)),
        Value::Object(object) => object
            .values()
            .for_each(|value| fill_placeholders(body, value, is_element)),
        Value::String(text) => {
            let text = text.to_string_lossy();
            let name = text
                .strip_prefix('{')
                .and_then(|text| text.strip_suffix('}'));
            let path = match is_element {
                true => name,
                false => name.and_then(|name| name.strip_prefix("content.")),
            };
            if let Some(path) = path {
                put_at(body, path);
            }
        }
        _ => {}
    }
}

/// Puts a value at a path, the steps of which have dots between them.
fn put_at(body: &mut Object, path: &str) {
    let Some((key, rest)) = path.split_once('.') else {
        // Arguments are an object, and a name that is one shows a difference as well.
        body.insert(path, Object::from_iter([("a", 1)]));
        return;
    };
    let mut inner = match body.get(key) {
        Some(Value::Object(inner)) => inner.clone(),
        _ => Object::new(),
    };
    put_at(&mut inner, rest);
    body.insert(key, inner);
}

/// What two templates match, none twice: first what only one of them does.
fn distinct(first: Vec<String>, second: Vec<String>) -> Vec<String> {
    let all: BTreeSet<&String> = first.iter().chain(&second).collect();
    let in_both = |text: &&String| first.contains(text) && second.contains(text);
    let (common, own): (Vec<&String>, Vec<&String>) = all.into_iter().partition(in_both);
    let ordered = own.into_iter().chain(common);
    ordered.take(MAX_MARKERS).cloned().collect()
}
