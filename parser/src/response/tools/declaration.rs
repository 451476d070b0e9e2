//! The shapes in which tools are declared.

use crate::diagnostic::Diagnostic;
use crate::value::{JsonString, Object, Value};

/// How a tool is to be written.
pub(super) const AS_TOOL: &str =
    r#"write each as {"type": "function", "function": {"name": …, "parameters": …}}"#;

/// The keys below which the schema of a tool's parameters stands, and those of a list of declarations.
const SCHEMA_KEYS: [&str; 4] = [
    "parameters",
    "input_schema",
    "inputSchema",
    "parametersJsonSchema",
];
const LIST_KEYS: [&str; 2] = ["functionDeclarations", "function_declarations"];

/// The list of tools that a value is or has, and the pointer to it.
pub(super) fn list_of(tools: &Value) -> Option<(&'static str, &[Value])> {
    if LIST_KEYS.iter().any(|key| tools.get(key).is_some()) {
        return Some(("", std::slice::from_ref(tools)));
    }
    let below = || Some(("/tools", tools.get("tools")?.as_array()?));
    tools.as_array().map(|list| ("", list)).or_else(below)
}

/// What declares a tool.
pub(super) struct Declaration<'v> {
    pub(super) name: &'v JsonString,
    /// The key of the schema of its parameters, and that.
    schema: Option<(&'static str, &'v Value)>,
    /// Whether types may be in upper case.
    is_upper_case: bool,
    /// The pointer to it.
    pointer: String,
}

/// The tools of a value, or what keeps each from being one.
pub(super) fn declarations(tools: &Value) -> Vec<Result<Declaration<'_>, Diagnostic>> {
    let (base, list) = list_of(tools).unwrap_or_default();
    // One that is by itself stands at no place of a list.
    let is_alone = tools.as_array().is_none() && base.is_empty();
    let mut found = Vec::new();
    for (index, tool) in list.iter().enumerate() {
        let place = match is_alone {
            true => String::new(),
            false => format!("{base}/{index}"),
        };
        let declared = |key: &'static str| Some((key, tool.get(key)?.as_array()?));
        match LIST_KEYS.into_iter().find_map(declared) {
            Some((key, list)) if tool.get("name").is_none() && tool.get("function").is_none() => {
                let declared = list.iter().enumerate();
                found.extend(declared.map(|(index, function)| {
                    Declaration::read(function, format!("{place}/{key}/{index}"), true)
                }));
            }
            _ => found.push(match tool.get("function") {
                Some(function) => Declaration::read(function, format!("{place}/function"), false),
                None => Declaration::read(tool, place, false),
            }),
        }
    }
    found
}

impl<'v> Declaration<'v> {
    fn read(function: &'v Value, pointer: String, is_upper_case: bool) -> Result<Self, Diagnostic> {
        let Some(object) = function.as_object() else {
            let message = format!("expected a tool, found {}", function.type_name());
            return Err(Diagnostic::new(message).at(pointer).with_remedy(AS_TOOL));
        };
        let Some(Value::String(name)) = object.get("name") else {
            let message = "this is not a tool: it has no `name`";
            return Err(Diagnostic::new(message).at(pointer).with_remedy(AS_TOOL));
        };
        let schema = |key: &'static str| Some((key, object.get(key)?));
        Ok(Declaration {
            name,
            schema: SCHEMA_KEYS.into_iter().find_map(schema),
            is_upper_case,
            pointer,
        })
    }

    /// What its parameters are declared to be.
    pub(super) fn properties(&self) -> Object {
        let declared = self.schema.and_then(|(_, schema)| schema.get("properties"));
        let mut properties = declared
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        if self.is_upper_case {
            properties
                .iter_mut()
                .for_each(|(_, schema)| to_lower_case(schema));
        }
        properties
    }

    /// The schema of its parameters.
    #[cfg(feature = "internals")]
    pub(super) fn schema(&self) -> Option<Value> {
        let mut schema = self.schema?.1.clone();
        if self.is_upper_case {
            to_lower_case(&mut schema);
            if let Some(Value::Object(properties)) = schema.as_object_mut()?.get_mut("properties") {
                properties
                    .iter_mut()
                    .for_each(|(_, schema)| to_lower_case(schema));
            }
        }
        Some(schema)
    }

    pub(super) fn complaint(&self) -> Option<Diagnostic> {
        let (key, schema) = self.schema?;
        let message = match schema {
            Value::Null => return None,
            Value::Object(schema) => {
                let is_plain = schema.is_empty() || schema.contains_key("type");
                match schema.get("properties") {
                    Some(Value::Object(_)) => return None,
                    None if is_plain => return None,
                    Some(_) => {
                        "its `properties` are not an object, so no argument is typed".to_owned()
                    }
                    None => "there are no `properties` in it, so no argument is typed".to_owned(),
                }
            }
            other => format!("expected a JSON schema, found {}", other.type_name()),
        };
        let diagnostic = Diagnostic::new(message).at(format!("{}/{key}", self.pointer));
        Some(
            diagnostic
                .with_remedy(r#"write it as a JSON schema, {"type": "object", "properties": …}"#),
        )
    }
}

/// Writes the types of a schema in lower case.
fn to_lower_case(schema: &mut Value) {
    let Value::Object(schema) = schema else {
        return;
    };
    if let Some(name) = schema.get("type").and_then(Value::as_str) {
        let name = name.to_ascii_lowercase();
        schema.insert("type", name);
    }
    for union in ["anyOf", "oneOf"] {
        if let Some(Value::Array(choices)) = schema.get_mut(union) {
            choices.iter_mut().for_each(to_lower_case);
        }
    }
}
