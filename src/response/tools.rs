//! Typing the arguments of tool calls by the schemas of the tools.

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::json;
use crate::number;
use crate::value::{JsonString, Number, Object, Value, object};
use crate::white_space;

/// What the parameters of some tools are declared to be. Clones share it.
///
/// Many models write all arguments as plain text. Given the tools that a prompt offered, in the
/// form that chat templates take, a parser turns the arguments of each call into the types that
/// the tool of that name declares. What does not fit a type stays text.
///
/// ```
/// use unjinja::{json, parse, ParserOptions, ResponseTemplate, Tools};
///
/// let template = ResponseTemplate::from_json(r#"{
///     "start_anchor": "A:",
///     "fields": {"tool_calls": {
///         "open_pattern": "<call (?P<name>\\w+)>", "close": "</call>", "repeats": true,
///         "content": "kv-lines",
///         "transform": {"function": {"name": "{name}", "arguments": "{content}"}}
///     }}
/// }"#)?;
/// let tools = Tools::from_value(&json::read(r#"[{"function": {
///     "name": "wait", "parameters": {"properties": {"seconds": {"type": "integer"}}}
/// }}]"#)?);
/// let options = ParserOptions::default().tools(tools);
/// let message = parse(&template, "", "<call wait>seconds: 3</call>", options)?;
/// assert_eq!(
///     json::write(&message.into()),
///     r#"{"tool_calls":[{"function":{"name":"wait","arguments":{"seconds":3}}}]}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tools {
    /// The list that they were read from; nothing if there are none.
    list: Option<Arc<Value>>,
    /// The properties of each tool's parameters, by the tool's name.
    properties: Object,
}

/// What no tools are as a value.
static EMPTY_LIST: Value = Value::Array(Vec::new());

/// A type that a schema declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Integer,
    Number,
    Boolean,
    Null,
    Object,
    Array,
    Other,
}

impl Tools {
    /// No tools: arguments stay as they were parsed.
    pub fn none() -> Tools {
        Tools::default()
    }

    /// Reads a list of tools, in any of these shapes:
    ///
    /// - `{"function": {"name", "parameters"}}`, as chat templates take them, and most servers;
    /// - `{"name", "parameters"}`;
    /// - `{"name", "input_schema"}`, or `inputSchema`;
    /// - `{"functionDeclarations": [{"name", "parameters"}]}`, whose types may be in upper case.
    ///
    /// The list may stand below `tools`, as in a request. What has no such shape types nothing;
    /// [`complaints`](Self::complaints) are about that.
    ///
    /// ```
    /// use unjinja::{json, Tools};
    ///
    /// let request = json::read(r#"{"tools": [
    ///     {"name": "wait", "input_schema": {"properties": {"seconds": {"type": "integer"}}}}
    /// ]}"#)?;
    /// assert!(Tools::from_value(&request).names().eq(["wait"]));
    /// # Ok::<(), json::Error>(())
    /// ```
    pub fn from_value(tools: &Value) -> Tools {
        let Some((_, list)) = list_of(tools) else {
            return Tools::none();
        };
        let mut properties = Object::new();
        for declared in declarations(tools).into_iter().flatten() {
            properties.insert(declared.name.clone(), declared.properties());
        }
        Tools {
            list: (!list.is_empty()).then(|| Arc::new(Value::Array(list.to_vec()))),
            properties,
        }
    }

    /// What of some tools types nothing, though someone may think that it does.
    ///
    /// ```
    /// use unjinja::{json, Tools};
    ///
    /// let list = json::read(r#"[{"name": "wait", "parameters": {"seconds": {"type": "integer"}}}, 3]"#)?;
    /// let complaints: Vec<String> = Tools::complaints(&list).iter().map(ToString::to_string).collect();
    /// assert_eq!(complaints, [
    ///     "/0/parameters: there are no `properties` in it, so no argument is typed: write it as a JSON \
    ///      schema, {\"type\": \"object\", \"properties\": …}",
    ///     "/1: expected a tool, found a number: write each as {\"type\": \"function\", \"function\": \
    ///      {\"name\": …, \"parameters\": …}}",
    /// ]);
    /// # Ok::<(), json::Error>(())
    /// ```
    pub fn complaints(tools: &Value) -> Vec<Diagnostic> {
        match list_of(tools) {
            None => {
                let message = format!("expected a list of tools, found {}", tools.type_name());
                vec![Diagnostic::new(message).with_remedy(AS_TOOL)]
            }
            Some(_) => declarations(tools)
                .into_iter()
                .filter_map(|declared| match declared {
                    Ok(declared) => declared.complaint(),
                    Err(complaint) => Some(complaint),
                })
                .collect(),
        }
    }

    /// The list that they were read from, as it was given.
    ///
    /// ```
    /// use unjinja::{json, Tools};
    ///
    /// let list = json::read(r#"[{"function": {"name": "wait", "description": "Waits."}}]"#)?;
    /// assert_eq!(Tools::from_value(&list).as_list(), list.as_array().unwrap_or_default());
    /// # Ok::<(), json::Error>(())
    /// ```
    pub fn as_list(&self) -> &[Value] {
        self.as_value().as_array().unwrap_or_default()
    }

    /// The list that they were read from as one value: as chat templates take it.
    ///
    /// ```
    /// use unjinja::{json, Tools};
    ///
    /// let list = json::read(r#"[{"function": {"name": "wait"}}]"#)?;
    /// assert_eq!(Tools::from_value(&list).as_value(), &list);
    /// assert_eq!(Tools::none().as_value(), &json::read("[]")?);
    /// # Ok::<(), json::Error>(())
    /// ```
    pub fn as_value(&self) -> &Value {
        self.list.as_deref().unwrap_or(&EMPTY_LIST)
    }

    /// The names of the tools.
    pub fn names(&self) -> object::Keys<'_> {
        self.properties.keys()
    }

    /// Types the arguments of the value of a region, if it is a call or a list of calls.
    pub(crate) fn cast(&self, value: &mut Value) {
        if self.properties.is_empty() {
            return;
        }
        match value {
            Value::Array(values) => values.iter_mut().for_each(|value| self.cast(value)),
            Value::Object(call) => self.cast_call(call),
            _ => {}
        }
    }

    fn cast_call(&self, call: &mut Object) {
        let Some(Value::Object(function)) = call.get_mut("function") else {
            return;
        };
        let Some(Value::String(name)) = function.get("name") else {
            return;
        };
        let Some(Value::Object(properties)) = self.properties.get_json_string(name) else {
            return;
        };
        let Some(Value::Object(arguments)) = function.get_mut("arguments") else {
            return;
        };
        for (key, argument) in arguments.iter_mut() {
            let mut types = Vec::new();
            if let Some(schema) = properties.get_json_string(key) {
                collect_types(schema, &mut types);
            }
            if types.is_empty() {
                continue;
            }
            match argument {
                Value::String(text) => {
                    if let Some(cast) = cast(text, &types) {
                        *argument = cast;
                    }
                }
                Value::Array(values) if !types.contains(&Type::Array) => {
                    for value in values {
                        if let Some(cast) =
                            value.as_json_string().and_then(|text| cast(text, &types))
                        {
                            *value = cast;
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

impl AsRef<Value> for Tools {
    fn as_ref(&self) -> &Value {
        self.as_value()
    }
}

/// How a tool is to be written.
const AS_TOOL: &str =
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
fn list_of(tools: &Value) -> Option<(&'static str, &[Value])> {
    if LIST_KEYS.iter().any(|key| tools.get(key).is_some()) {
        return Some(("", std::slice::from_ref(tools)));
    }
    let below = || Some(("/tools", tools.get("tools")?.as_array()?));
    tools.as_array().map(|list| ("", list)).or_else(below)
}

/// What declares a tool.
struct Declaration<'v> {
    name: &'v JsonString,
    /// The key of the schema of its parameters, and that.
    schema: Option<(&'static str, &'v Value)>,
    /// Whether types may be in upper case.
    is_upper_case: bool,
    /// The pointer to it.
    pointer: String,
}

/// The tools of a value, or what keeps each from being one.
fn declarations(tools: &Value) -> Vec<Result<Declaration<'_>, Diagnostic>> {
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
            let message = "this is no tool, for it has no `name`";
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
    fn properties(&self) -> Object {
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

    fn complaint(&self) -> Option<Diagnostic> {
        let (key, schema) = self.schema?;
        let message = match schema {
            Value::Null => return None,
            Value::Object(schema) => {
                let is_plain = schema.is_empty() || schema.contains_key("type");
                match schema.get("properties") {
                    Some(Value::Object(_)) => return None,
                    None if is_plain => return None,
                    Some(_) => "its `properties` are no object, so no argument is typed".to_owned(),
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

/// Adds the types that a schema names, in their order.
fn collect_types(schema: &Value, types: &mut Vec<Type>) {
    let Some(schema) = schema.as_object() else {
        return;
    };
    let first = types.len();
    match schema.get("type") {
        Some(Value::String(name)) => types.push(Type::from_name(name)),
        Some(Value::Array(names)) => {
            types.extend(
                names
                    .iter()
                    .filter_map(Value::as_json_string)
                    .map(Type::from_name),
            );
        }
        _ => {}
    }
    for union in ["anyOf", "oneOf"] {
        for choice in schema
            .get(union)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            collect_types(choice, types);
        }
    }
    let nullable = schema.get("nullable").is_some_and(is_truthy);
    if nullable && !types[first..].contains(&Type::Null) {
        types.push(Type::Null);
    }
}

fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(Number::Int(n)) => *n != 0,
        Value::Number(Number::BigInt(_)) => true,
        Value::Number(Number::Float(n)) => *n != 0.0,
        Value::String(text) => !text.is_empty(),
        Value::Array(values) => !values.is_empty(),
        Value::Object(object) => !object.is_empty(),
    }
}

impl Type {
    fn from_name(name: &JsonString) -> Type {
        match name.as_str() {
            Some("integer") => Type::Integer,
            Some("number") => Type::Number,
            Some("boolean") => Type::Boolean,
            Some("null") => Type::Null,
            Some("object") => Type::Object,
            Some("array") => Type::Array,
            _ => Type::Other,
        }
    }
}

/// The text as the first type that it fits.
fn cast(text: &JsonString, types: &[Type]) -> Option<Value> {
    types.iter().find_map(|declared| match declared {
        Type::Object => json::read_wtf8(text.as_wtf8())
            .ok()
            .filter(|value| value.as_object().is_some()),
        Type::Array => json::read_wtf8(text.as_wtf8())
            .ok()
            .filter(|value| value.as_array().is_some()),
        _ => cast_scalar(text.as_str()?, *declared),
    })
}

fn cast_scalar(text: &str, declared: Type) -> Option<Value> {
    match declared {
        Type::Integer => number::read_int(text)
            .or_else(|| number::read_float(text).and_then(whole))
            .map(Value::from),
        Type::Number => {
            let float = number::read_float(text).filter(|float| float.is_finite())?;
            let number = match whole(float) {
                Some(int) if !text.contains('.') => int,
                _ => Number::Float(float),
            };
            Some(number.into())
        }
        Type::Boolean => match white_space::strip(text).to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true.into()),
            "false" | "0" => Some(false.into()),
            _ => None,
        },
        Type::Null => matches!(white_space::strip(text), "null" | "None").then_some(Value::Null),
        Type::Object | Type::Array | Type::Other => None,
    }
}

/// A float without a fraction as a whole number.
fn whole(float: f64) -> Option<Number> {
    (float.is_finite() && float.fract() == 0.0).then(|| number::int_of_float(float))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Value {
        json::read(json).expect("JSON")
    }

    #[test]
    fn tools_type_in_every_shape() {
        let schema = r#"{"type": "object", "properties": {"n": {"type": "integer"}}}"#;
        let upper = r#"{"type": "OBJECT", "properties": {"n": {"anyOf": [{"type": "INTEGER"}]}}}"#;
        for (tools, schema) in [
            (
                r#"[{"type": "function", "function": {"name": "f", "parameters": S}}]"#,
                schema,
            ),
            (r#"[{"name": "f", "parameters": S}]"#, schema),
            (r#"[{"name": "f", "input_schema": S}]"#, schema),
            (r#"[{"name": "f", "inputSchema": S}]"#, schema),
            (r#"{"tools": [{"name": "f", "input_schema": S}]}"#, schema),
            (
                r#"[{"functionDeclarations": [{"name": "f", "parameters": S}]}]"#,
                upper,
            ),
            (
                r#"{"functionDeclarations": [{"name": "f", "parameters": S}]}"#,
                upper,
            ),
            (
                r#"{"tools": [{"function_declarations": [{"name": "f", "parametersJsonSchema": S}]}]}"#,
                schema,
            ),
        ] {
            let tools = value(&tools.replace('S', schema));
            assert_eq!(Tools::complaints(&tools), [], "{tools:?}");
            let mut call = value(r#"{"function": {"name": "f", "arguments": {"n": "3"}}}"#);
            Tools::from_value(&tools).cast(&mut call);
            let typed = value(r#"{"function": {"name": "f", "arguments": {"n": 3}}}"#);
            assert_eq!(call, typed, "{tools:?}");
        }
    }

    #[test]
    fn what_types_nothing_is_reported_with_its_place() {
        for (tools, expected) in [
            ("[]", &[][..]),
            (
                r#"[{"name": "f"}, {"function": {"name": "f", "parameters": {"type": "object"}}}]"#,
                &[],
            ),
            (
                r#"{"f": {"parameters": {}}}"#,
                &["expected a list of tools, found an object"],
            ),
            (r#""[]""#, &["expected a list of tools, found a string"]),
            (r#"[{"toolSpec": {"name": "f"}}]"#, &["/0: this is no tool"]),
            (
                r#"{"tools": [{"function": "f"}]}"#,
                &["/tools/0/function: expected a tool, found a string"],
            ),
            (
                r#"{"functionDeclarations": [{}]}"#,
                &["/functionDeclarations/0: this is no tool"],
            ),
            (
                r#"[{"name": "f", "parameters": "{}"}, {"name": "g", "input_schema": {"properties": []}}]"#,
                &[
                    "/0/parameters: expected a JSON schema",
                    "/1/input_schema: its `properties` are no",
                ],
            ),
        ] {
            let found = Tools::complaints(&value(tools));
            assert_eq!(found.len(), expected.len(), "{found:?}");
            for (complaint, expected) in found.iter().zip(expected) {
                assert!(complaint.to_string().starts_with(expected), "{complaint}");
            }
        }
    }
}
