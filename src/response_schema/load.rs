//! Reading response schemas, and refusing those that are malformed.

mod warnings;

use crate::diagnostic::{Diagnostic, Diagnostics, MemberPart};
use crate::json;
use crate::response::pattern::{Dialect, Pattern};
use crate::spelling::did_you_mean;
use crate::value::{JsonString, Object, Value, pointer_below as below};

use super::SchemaError;
use super::schema::{
    ArrayShape, Inner, JsonParser, Node, NodeKind, ObjectShape, Parser, ResponseSchema, Shape,
    Steps,
};
use super::substitution::{Substitution, replacement};
use super::transform::Transform;

/// The keys that are no JSON Schema.
const OWN_KEYS: [&str; 6] = [
    "x-regex",
    "x-regex-iterator",
    "x-regex-key-value",
    "x-regex-substitutions",
    "x-parser",
    "x-parser-args",
];
/// So many faults are reported at the most.
const MAX_FAULTS: usize = 100;
/// So many schemas may stand in each other, with the whole.
const MAX_SCHEMAS: usize = 1_000;
/// So deep.
const MAX_DEPTH: usize = 100;
/// So many steps all patterns together may unroll to.
const MAX_STEPS: usize = 100_000;

pub(super) fn from_value(value: &Value) -> Result<ResponseSchema, SchemaError> {
    load(value, "", None)
}

pub(super) fn from_json_at(text: &str, pointer: &str) -> Result<ResponseSchema, SchemaError> {
    let document = json::read(text).map_err(|error| {
        let message = format!("this is not JSON: {}", error.kind());
        Diagnostic::new(message).at_position(error.position())
    })?;
    match document.pointer(pointer) {
        Some(value) => load(value, pointer, Some(text)),
        None => Err(Diagnostic::new("there is no response schema here")
            .at(pointer)
            .into()),
    }
}

/// Reads a schema that stands at a pointer in a JSON document, if it stands in one.
fn load(
    value: &Value,
    pointer: &str,
    document: Option<&str>,
) -> Result<ResponseSchema, SchemaError> {
    let mut loader = Loader {
        faults: Diagnostics::up_to(MAX_FAULTS),
        warnings: Diagnostics::up_to(MAX_FAULTS),
        schemas: 0,
        steps: 0,
        root: pointer,
    };
    let root = loader.node(value, pointer, 0);
    match root {
        Some(root) if loader.faults.is_empty() => Ok(ResponseSchema {
            inner: std::sync::Arc::new(Inner {
                value: value.clone(),
                warnings: loader.warnings.placed_in(document),
                root,
                schemas: loader.schemas,
            }),
        }),
        _ => Err(SchemaError {
            origin: None,
            faults: loader.faults.placed_in(document),
        }),
    }
}

/// Reads a schema piece by piece, and collects all that is wrong with it.
///
/// It looks at what reading would look at: keys that have no meaning beside the others are not
/// checked.
struct Loader<'p> {
    faults: Diagnostics,
    warnings: Diagnostics,
    schemas: usize,
    steps: usize,
    /// Where the whole stands in its document.
    root: &'p str,
}

impl Loader<'_> {
    fn fault(&mut self, pointer: &str, message: impl Into<String>, remedy: &str) {
        let mut fault = Diagnostic::new(message).at(pointer);
        fault.remedy = (!remedy.is_empty()).then(|| remedy.to_owned());
        self.faults.add(fault, MemberPart::Value);
    }

    fn expected<T>(&mut self, pointer: &str, what: &str, found: &Value) -> Option<T> {
        let message = format!("expected {what}, found {}", found.type_name());
        self.fault(pointer, message, "");
        None
    }

    /// Warns of a key. Of too many warnings, the last are left out.
    fn warn(&mut self, pointer: &str, message: impl Into<String>, remedy: impl Into<String>) {
        let remedy = remedy.into();
        let mut warning = Diagnostic::new(message).at(pointer);
        warning.remedy = (!remedy.is_empty()).then_some(remedy);
        if !self.warnings.is_full() {
            self.warnings.add(warning, MemberPart::Value);
        }
    }

    fn node(&mut self, value: &Value, pointer: &str, depth: usize) -> Option<Node> {
        self.schemas += 1;
        if self.schemas > MAX_SCHEMAS || depth > MAX_DEPTH {
            let message = match depth > MAX_DEPTH {
                true => format!("schemas are nested more than {MAX_DEPTH} deep"),
                false => format!("there are more than {MAX_SCHEMAS} schemas in this one"),
            };
            if self.schemas <= MAX_SCHEMAS + 1 {
                self.fault(pointer, message, "");
            }
            return None;
        }
        let Some(object) = value.as_object() else {
            let message = format!("a schema is an object, but this is {}", value.type_name());
            self.fault(pointer, message, "write `{}` for one that takes anything");
            return None;
        };
        let kind = match object.get("const") {
            Some(value) => NodeKind::Const(value.clone()),
            None => NodeKind::Read(Box::new(self.steps(object, pointer, depth))),
        };
        let pointer = pointer.strip_prefix(self.root).unwrap_or(pointer);
        Some(Node {
            pointer: pointer.to_owned(),
            kind,
        })
    }

    fn steps(&mut self, object: &Object, pointer: &str, depth: usize) -> Steps {
        self.warn_of_unknown_keys(object, pointer);
        let patterns = &OWN_KEYS[..4];
        let steps = Steps {
            wants_text: patterns.iter().any(|key| object.contains_key(key)),
            substitutions: self.substitutions(object, pointer),
            regex: self.pattern(object, pointer, "x-regex"),
            iterator: self.pattern(object, pointer, "x-regex-iterator"),
            key_value: self.pattern(object, pointer, "x-regex-key-value"),
            parser: self.parser(object, pointer),
            shape: self.shape(object, pointer, depth),
            default: object.get("default").cloned(),
        };
        self.warn_of_failures(&steps, pointer);
        steps
    }

    /// The pattern of a key, if it is there. `null` is as if it were not.
    fn pattern(&mut self, object: &Object, pointer: &str, key: &str) -> Option<Pattern> {
        let value = object.get(key).filter(|value| !value.is_null())?;
        let place = below(pointer, key);
        self.compiled(value, &place)
    }

    fn compiled(&mut self, value: &Value, place: &str) -> Option<Pattern> {
        let Some(written) = value.as_str() else {
            return self.expected(place, "a regular expression", value);
        };
        if self.steps > MAX_STEPS || self.faults.is_full() {
            return None;
        }
        let error = match Pattern::new_as(Dialect::Re, written) {
            Ok(pattern) => {
                self.steps += pattern.steps();
                if self.steps <= MAX_STEPS {
                    return Some(pattern);
                }
                let message =
                    format!("the patterns up to here unroll to more than {MAX_STEPS} steps");
                self.fault(
                    place,
                    message,
                    "use fewer of them, or smaller counted repeats",
                );
                return None;
            }
            Err(error) => error,
        };
        // To have read it so far has taken its time.
        self.steps += error.offset;
        let message = format!(
            "the pattern can't have {}, as at its byte {}",
            error.message, error.offset
        );
        self.fault(place, message, error.remedy.as_deref().unwrap_or_default());
        None
    }

    fn substitutions(&mut self, object: &Object, pointer: &str) -> Vec<Substitution> {
        let place = below(pointer, "x-regex-substitutions");
        let pairs = match object.get("x-regex-substitutions") {
            None => return Vec::new(),
            Some(Value::Array(pairs)) => pairs,
            Some(other) => {
                self.expected::<()>(&place, "a list of pairs", other);
                return Vec::new();
            }
        };
        let mut substitutions = Vec::new();
        for (index, pair) in pairs.iter().enumerate() {
            let place = below(&place, &index.to_string());
            let Some([written, replacement, ..]) = pair.as_array() else {
                self.fault(
                    &place,
                    "expected a list of a pattern and what is written in its place",
                    "",
                );
                continue;
            };
            let pattern = self.compiled(written, &below(&place, "0"));
            let replacement = self.replacement(replacement, pattern.as_ref(), &below(&place, "1"));
            if let (Some(pattern), Some(replacement)) = (pattern, replacement) {
                substitutions.push(Substitution {
                    pattern,
                    replacement,
                });
            }
        }
        substitutions
    }

    fn replacement(
        &mut self,
        value: &Value,
        pattern: Option<&Pattern>,
        place: &str,
    ) -> Option<Vec<super::substitution::Piece>> {
        let Some(written) = value.as_str() else {
            return self.expected(place, "a text", value);
        };
        match replacement(written, pattern?.groups()) {
            Ok(pieces) => Some(pieces),
            Err(error) => {
                let message = format!("this can't be written in place of a match: {error}");
                self.fault(place, message, "");
                None
            }
        }
    }

    fn parser(&mut self, object: &Object, pointer: &str) -> Option<Parser> {
        let parser = object.get("x-parser")?;
        let unquoted_keys = match parser.as_str() {
            Some("json") => false,
            Some("gemma4-tool-call") => true,
            Some(other) => return Some(Parser::Unknown(other.to_owned())),
            None => return Some(Parser::Unknown(json::write(parser))),
        };
        let empty = Object::new();
        let place = below(pointer, "x-parser-args");
        let args = match object.get("x-parser-args") {
            None => &empty,
            Some(Value::Object(args)) => args,
            Some(other) => return self.expected(&place, "an object", other),
        };
        for key in args.keys() {
            let key = key.to_string_lossy();
            let known = ["transform", "allow_non_json"];
            if !known.contains(&&*key) {
                let message = format!("`{key}` has no effect");
                self.warn(&below(&place, &key), message, did_you_mean(&key, &known));
            }
        }
        let allow_non_json = match args.get("allow_non_json") {
            None => false,
            Some(Value::Bool(allow)) => *allow,
            Some(other) => self
                .expected(&below(&place, "allow_non_json"), "a boolean", other)
                .unwrap_or_default(),
        };
        Some(Parser::Json(JsonParser {
            unquoted_keys,
            allow_non_json,
            transform: self.transform(args, &below(&place, "transform")),
        }))
    }

    fn transform(&mut self, args: &Object, place: &str) -> Option<Transform> {
        let value = args.get("transform").filter(|value| !value.is_null())?;
        let Some(written) = value.as_str() else {
            return self.expected(place, "a JMESPath expression", value);
        };
        match Transform::new(written) {
            Ok(transform) => Some(transform),
            Err(error) => {
                self.fault(
                    place,
                    format!("this is not a JMESPath expression: {error}"),
                    "",
                );
                None
            }
        }
    }

    fn shape(&mut self, object: &Object, pointer: &str, depth: usize) -> Shape {
        let Some(name) = object.get("type").filter(|name| !name.is_null()) else {
            return Shape::Any;
        };
        match name.as_str() {
            Some("any") => Shape::Any,
            Some("string") => Shape::String,
            Some("integer") => Shape::Integer,
            Some("number") => Shape::Number,
            Some("boolean") => Shape::Boolean,
            Some("object") => Shape::Object(self.object(object, pointer, depth)),
            Some("array") => Shape::Array(self.array(object, pointer, depth)),
            Some(other) => Shape::Unknown(other.to_owned()),
            None => Shape::Unknown(json::write(name)),
        }
    }

    fn object(&mut self, object: &Object, pointer: &str, depth: usize) -> ObjectShape {
        let place = below(pointer, "properties");
        let properties = match object.get("properties") {
            None => None,
            Some(Value::Object(properties)) => Some(self.properties(properties, &place, depth)),
            Some(other) => self.expected(&place, "an object", other),
        };
        let place = below(pointer, "additionalProperties");
        let additional = match object.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(schema @ Value::Object(_)) => self.node(schema, &place, depth + 1),
            _ => self.node(&Object::new().into(), &place, depth + 1),
        };
        ObjectShape {
            properties,
            additional: additional.map(Box::new),
            required: self.required(object, pointer),
        }
    }

    fn properties(
        &mut self,
        properties: &Object,
        place: &str,
        depth: usize,
    ) -> Vec<(JsonString, Node)> {
        let mut nodes = Vec::new();
        for (key, schema) in properties.iter() {
            let place = below(place, &key.to_string_lossy());
            if let Some(node) = self.node(schema, &place, depth + 1) {
                nodes.push((key.clone(), node));
            }
        }
        nodes
    }

    fn required(&mut self, object: &Object, pointer: &str) -> Vec<JsonString> {
        let place = below(pointer, "required");
        let Some(required) = object.get("required") else {
            return Vec::new();
        };
        let keys = required.as_array().map(|keys| {
            let names = keys.iter().map(|key| key.as_json_string().cloned());
            names.collect::<Option<Vec<JsonString>>>()
        });
        match keys.flatten() {
            Some(keys) => keys,
            None => {
                self.fault(&place, "expected a list of keys", "");
                Vec::new()
            }
        }
    }

    fn array(&mut self, object: &Object, pointer: &str, depth: usize) -> ArrayShape {
        if let Some(items) = object.get("items") {
            let node = self.node(items, &below(pointer, "items"), depth + 1);
            return node.map_or(ArrayShape::Nothing, |node| {
                ArrayShape::Items(Box::new(node))
            });
        }
        let place = below(pointer, "prefixItems");
        match object.get("prefixItems") {
            None => ArrayShape::Nothing,
            Some(Value::Array(schemas)) => {
                let place = |index: usize| below(&place, &index.to_string());
                let nodes = schemas.iter().enumerate();
                let nodes = nodes.filter_map(|(i, schema)| self.node(schema, &place(i), depth + 1));
                ArrayShape::PrefixItems(nodes.collect())
            }
            Some(other) => {
                self.expected::<()>(&place, "a list of schemas", other);
                ArrayShape::Nothing
            }
        }
    }
}
