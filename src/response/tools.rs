//! Typing the arguments of tool calls by the schemas of the tools.

use std::sync::Arc;

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

    /// Reads a list of tools. What does not have the form of a tool types nothing.
    pub fn from_value(tools: &Value) -> Tools {
        let Some(list) = tools.as_array() else {
            return Tools::none();
        };
        let mut properties = Object::new();
        for tool in list {
            let tool = tool.as_object();
            let function = match tool.and_then(|tool| tool.get("function")) {
                Some(function) => function.as_object(),
                None => tool,
            };
            let Some(function) = function else { continue };
            let Some(Value::String(name)) = function.get("name") else {
                continue;
            };
            let declared = function
                .get("parameters")
                .and_then(Value::as_object)
                .and_then(|parameters| parameters.get("properties"))
                .and_then(Value::as_object);
            properties.insert(name.clone(), declared.cloned().unwrap_or_default());
        }
        Tools {
            list: (!list.is_empty()).then(|| Arc::new(tools.clone())),
            properties,
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
