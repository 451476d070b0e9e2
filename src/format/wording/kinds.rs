//! The kinds of tools and parameters that templates may write in ways of their own.

use crate::value::{Object, Value};

/// All kinds of tools and parameters. Of those that are written alike, the first is taken.
pub(crate) struct Kinds {
    pub(crate) tools: Vec<ToolKind>,
    pub(crate) parameters: Vec<ParameterKind>,
}

impl Kinds {
    pub(crate) fn all() -> Kinds {
        Kinds {
            tools: ToolKind::all(),
            parameters: ParameterKind::all(),
        }
    }
}

/// What a tool may be, besides its texts and parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ToolKind {
    pub(crate) is_described: bool,
    pub(crate) parameters: ToolParameters,
}

/// What stands under `parameters`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolParameters {
    /// At least one, and a list of those that are required.
    Some,
    /// At least one, and none is required.
    Optional,
    /// None, and no list of those that are required.
    Empty,
    /// None, and an empty list of those that are required.
    NoneRequired,
    /// The key is not there.
    Missing,
}

impl ToolKind {
    fn all() -> Vec<ToolKind> {
        let parameters = [
            ToolParameters::Some,
            ToolParameters::Optional,
            ToolParameters::Empty,
            ToolParameters::NoneRequired,
            ToolParameters::Missing,
        ];
        let kinds = parameters.into_iter().flat_map(|parameters| {
            [true, false].map(|is_described| ToolKind {
                is_described,
                parameters,
            })
        });
        kinds.collect()
    }
}

/// What a parameter may be, besides its texts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParameterKind {
    /// The schema without what stands in slots.
    pub(crate) schema: Value,
    /// The members of the schema, or of its items if it says what these are.
    pub(crate) holds: Holds,
    pub(crate) is_required: bool,
    pub(crate) is_described: bool,
}

/// What members of its own a schema has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Nothing,
    Values,
    Properties,
    /// Properties of which none is required.
    OptionalProperties,
}

impl Holds {
    /// The key under which these members stand.
    pub(crate) fn key(self) -> Option<&'static str> {
        match self {
            Holds::Nothing => None,
            Holds::Values => Some("enum"),
            Holds::Properties | Holds::OptionalProperties => Some("properties"),
        }
    }
}

/// The schemas of parameters, the plainest first, with what members they have.
const SCHEMAS: [(Holds, &[&str]); 9] = [
    (
        Holds::Nothing,
        &[
            r#"{"type": "string"}"#,
            r#"{"type": "number"}"#,
            r#"{"type": "integer"}"#,
            r#"{"type": "boolean"}"#,
            "{}",
            r#"{"type": "array"}"#,
            r#"{"type": "object"}"#,
        ],
    ),
    (Holds::Properties, &[r#"{"type": "object"}"#]),
    (Holds::OptionalProperties, &[r#"{"type": "object"}"#]),
    (Holds::Values, &[r#"{"type": "string"}"#]),
    (
        Holds::Nothing,
        &[
            r#"{"type": "array", "items": {"type": "string"}}"#,
            r#"{"type": "array", "items": {"type": "number"}}"#,
            r#"{"type": "array", "items": {"type": "integer"}}"#,
            r#"{"type": "array", "items": {"type": "boolean"}}"#,
            OBJECTS,
        ],
    ),
    (Holds::Properties, &[OBJECTS]),
    (Holds::OptionalProperties, &[OBJECTS]),
    (
        Holds::Values,
        &[r#"{"type": "array", "items": {"type": "string"}}"#],
    ),
    (
        Holds::Nothing,
        &[
            r#"{"type": "array", "items": {"type": "array", "items": {"type": "string"}}}"#,
            r#"{"type": "array", "items": {"type": "array", "items": {"type": "number"}}}"#,
            r#"{"type": ["string", "null"]}"#,
            r#"{"type": ["number", "null"]}"#,
            r#"{"type": ["integer", "null"]}"#,
            r#"{"type": ["string", "integer"]}"#,
            r#"{"anyOf": [{"type": "string"}, {"type": "integer"}]}"#,
            r#"{"anyOf": [{"type": "string"}, {"type": "null"}]}"#,
        ],
    ),
];

const OBJECTS: &str = r#"{"type": "array", "items": {"type": "object"}}"#;

impl ParameterKind {
    fn all() -> Vec<ParameterKind> {
        let ways = [(false, true), (false, false), (true, true), (true, false)];
        let schemas = SCHEMAS.iter();
        let schemas =
            schemas.flat_map(|(holds, schemas)| schemas.iter().map(|schema| (*holds, schema)));
        let kinds = schemas.flat_map(|(holds, schema)| {
            let schema = crate::json::read(schema).unwrap_or_default();
            ways.map(|(is_required, is_described)| ParameterKind {
                schema: schema.clone(),
                holds,
                is_required,
                is_described,
            })
        });
        kinds.collect()
    }

    /// The plainest kind that shows most: a string that is required and described.
    pub(crate) fn is_reference(&self) -> bool {
        self.is_described_text() && self.is_required
    }

    /// The same, if it is not required.
    pub(crate) fn is_optional_reference(&self) -> bool {
        self.is_described_text() && !self.is_required
    }

    fn is_described_text(&self) -> bool {
        let kind = self.schema.get("type").and_then(Value::as_str);
        self.holds == Holds::Nothing && self.is_described && kind == Some("string")
    }

    /// The schema with a description and members.
    pub(crate) fn schema(&self, description: Option<&str>, members: Option<Members>) -> Object {
        let mut whole = Object::new();
        let mut rest = self.schema.clone().into_object();
        if let Some(name) = rest.remove("type") {
            whole.insert("type", name);
        }
        if let Some(description) = description {
            whole.insert("description", description);
        }
        whole.extend(rest);
        if let Some(members) = members {
            let place = match whole.contains_key("items") {
                true => whole.get_mut("items").and_then(Value::as_object_mut),
                false => Some(&mut whole),
            };
            if let Some(place) = place {
                match members {
                    Members::Values(values) => {
                        place.insert("enum", values);
                    }
                    Members::Properties(properties, required) => {
                        place.insert("properties", properties);
                        if !required.is_empty() {
                            place.insert("required", required);
                        }
                    }
                }
            }
        }
        whole
    }
}

/// The members of a schema.
#[derive(Debug, Clone)]
pub(crate) enum Members {
    Values(Vec<Value>),
    /// Properties, and the names of those that are required.
    Properties(Object, Vec<Value>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::value::object;

    #[test]
    fn schemas_hold_their_members_or_their_items_do() {
        let values = || Members::Values(vec!["a".into(), "b".into()]);
        let properties = |required: &[&str]| {
            let required = required.iter().map(|name| Value::from(*name));
            Members::Properties(object! {"p": true}, required.collect())
        };
        for (schema, description, members, expected) in [
            (r#"{"type": "string"}"#, None, None, r#"{"type": "string"}"#),
            // The type stands first, and then what it is about.
            (
                r#"{"items": {}, "type": "array"}"#,
                Some("D"),
                None,
                r#"{"type": "array", "description": "D", "items": {}}"#,
            ),
            ("{}", Some("D"), None, r#"{"description": "D"}"#),
            (
                r#"{"type": "string"}"#,
                None,
                Some(values()),
                r#"{"type": "string", "enum": ["a", "b"]}"#,
            ),
            (
                r#"{"type": "array", "items": {"type": "string"}}"#,
                None,
                Some(values()),
                r#"{"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}"#,
            ),
            (
                r#"{"type": "object"}"#,
                None,
                Some(properties(&["p"])),
                r#"{"type": "object", "properties": {"p": true}, "required": ["p"]}"#,
            ),
            (
                r#"{"type": "object"}"#,
                None,
                Some(properties(&[])),
                r#"{"type": "object", "properties": {"p": true}}"#,
            ),
        ] {
            let kind = ParameterKind {
                schema: schema.parse().expect("it is JSON"),
                holds: Holds::Nothing,
                is_required: true,
                is_described: true,
            };
            let found = kind.schema(description, members);
            let expected: Value = expected.parse().expect("it is JSON");
            // Written, since the order of the keys counts.
            assert_eq!(
                json::write(&found.into()),
                json::write(&expected),
                "{schema}"
            );
        }
    }

    #[test]
    fn others_are_looked_at_beside_a_described_string() {
        let kinds = Kinds::all();
        for (is, expected) in [
            (
                ParameterKind::is_reference as fn(&ParameterKind) -> bool,
                true,
            ),
            (ParameterKind::is_optional_reference, false),
        ] {
            let mut found = kinds.parameters.iter().filter(|kind| is(kind));
            let kind = found.next().expect("there is one");
            assert!(found.next().is_none(), "there is one only");
            assert_eq!(kind.schema, object! {"type": "string"}.into());
            assert_eq!(kind.is_required, expected);
        }
    }

    #[test]
    fn all_kinds_are_different() {
        let kinds = Kinds::all();
        for (at, kind) in kinds.parameters.iter().enumerate() {
            // What is no JSON would be null, and no schema.
            assert!(kind.schema.as_object().is_some(), "{kind:?}");
            assert!(!kinds.parameters[..at].contains(kind), "{kind:?}");
        }
        for (at, kind) in kinds.tools.iter().enumerate() {
            assert!(!kinds.tools[..at].contains(kind), "{kind:?}");
        }
    }
}
