//! Typing the arguments of tool calls by the schemas of the tools.

mod declaration;
mod types;

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::json;
use crate::value::{JsonString, Object, Value, object};

use super::language::{Language, Trait};
use declaration::{AS_TOOL, declarations, list_of};
use types::{Type, cast, collect_types};

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

    /// Reads a list of tools from JSON, in any of the shapes of [`from_value`](Self::from_value).
    ///
    /// ```
    /// use unjinja::{ParserOptions, Tools};
    ///
    /// let options = ParserOptions::default().tools(Tools::from_json(r#"[{"name": "wait"}]"#)?);
    /// assert!(options.tools.names().eq(["wait"]));
    /// # Ok::<(), unjinja::json::Error>(())
    /// ```
    pub fn from_json(tools: &str) -> Result<Tools, json::Error> {
        Ok(Tools::from_value(&json::read(tools)?))
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

    /// Returns whether a tool of this name has a parameter.
    pub(crate) fn declares(&self, tool: &JsonString, parameter: &str) -> bool {
        let properties = self.properties.get_json_string(tool);
        properties.is_some_and(|properties| properties.get(parameter).is_some())
    }

    /// Returns whether a call of this name is one of a tool, as far as any are known.
    pub(crate) fn offers(&self, name: &JsonString) -> bool {
        self.properties.is_empty() || self.properties.get_json_string(name).is_some()
    }

    /// The tools with the schemas of their parameters.
    #[cfg(feature = "internals")]
    #[doc(hidden)]
    pub fn declared(&self) -> Vec<(String, Option<Value>)> {
        let all = declarations(self.as_value()).into_iter().flatten();
        all.map(|declared| {
            let name = declared.name.to_string_lossy().into_owned();
            (name, declared.schema())
        })
        .collect()
    }

    /// Types the arguments of the value of a region, if it is a call or a list of calls.
    pub(crate) fn cast(&self, value: &mut Value, language: Language) {
        if self.properties.is_empty() || !language.has(Trait::TypedArguments) {
            return;
        }
        match value {
            Value::Array(values) => values
                .iter_mut()
                .for_each(|value| self.cast(value, language)),
            Value::Object(call) => self.cast_call(call, language),
            _ => {}
        }
    }

    fn cast_call(&self, call: &mut Object, language: Language) {
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
            ArgumentCast::new(properties, key, language).apply(argument);
        }
    }

    /// What typing does to an argument of a call, by itself.
    pub(crate) fn argument_cast(
        &self,
        tool: &str,
        key: &JsonString,
        language: Language,
    ) -> ArgumentCast {
        let properties = self.properties.get(tool).and_then(Value::as_object);
        let properties = properties.filter(|_| language.has(Trait::TypedArguments));
        match properties {
            Some(properties) => ArgumentCast::new(properties, key, language),
            None => ArgumentCast {
                types: Vec::new(),
                language,
            },
        }
    }
}

/// What typing does to one argument.
#[derive(Debug)]
pub(crate) struct ArgumentCast {
    types: Vec<Type>,
    language: Language,
}

impl ArgumentCast {
    fn new(properties: &Object, key: &JsonString, language: Language) -> ArgumentCast {
        let mut types = Vec::new();
        if let Some(schema) = properties.get_json_string(key) {
            collect_types(schema, language, &mut types);
        }
        ArgumentCast { types, language }
    }

    /// Types a value.
    pub(crate) fn apply(&self, argument: &mut Value) {
        if self.types.is_empty() {
            return;
        }
        let cast = |text: &JsonString| cast(text, &self.types, self.language);
        match argument {
            Value::String(text) => {
                if let Some(cast) = cast(text) {
                    *argument = cast;
                }
            }
            Value::Array(values) if !self.leaves_lists() => {
                for value in values {
                    if let Some(cast) = value.as_json_string().and_then(cast) {
                        *value = cast;
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether the items of a list stay as they are.
    fn leaves_lists(&self) -> bool {
        self.types.contains(&Type::Array) && self.language.has(Trait::DeclaredLists)
    }

    /// Whether it may change a value whose JSON begins with this character.
    pub(crate) fn may_change(&self, first: u8) -> bool {
        let types_texts = self.types.iter().any(|declared| *declared != Type::Other);
        match first {
            b'"' => types_texts,
            b'[' => types_texts && !self.leaves_lists(),
            _ => false,
        }
    }
}

impl AsRef<Value> for Tools {
    fn as_ref(&self) -> &Value {
        self.as_value()
    }
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
            let tools = value(&tools.replace(": S}", &format!(": {schema}}}")));
            assert_eq!(Tools::complaints(&tools), [], "{tools:?}");
            let mut call = value(r#"{"function": {"name": "f", "arguments": {"n": "3"}}}"#);
            Tools::from_value(&tools).cast(&mut call, Language::default());
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
            (
                r#"[{"toolSpec": {"name": "f"}}]"#,
                &["/0: this is not a tool"],
            ),
            (
                r#"{"tools": [{"function": "f"}]}"#,
                &["/tools/0/function: expected a tool, found a string"],
            ),
            (
                r#"{"functionDeclarations": [{}]}"#,
                &["/functionDeclarations/0: this is not a tool"],
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
