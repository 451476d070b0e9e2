//! The model of the language.

use std::str::FromStr;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::json;
use crate::response::pattern::Pattern;
use crate::response::schema_in;
use crate::value::{JsonString, Value};

use super::substitution::Substitution;
use super::transform::Transform;
use super::{ReadError, SchemaError, convert, load, read};

/// A response schema: how the parts of a message are found in a model's output.
///
/// It is read from JSON, where everything that is malformed is refused, and is ready to read texts
/// with. Clones share what has been compiled.
///
/// What is well formed and still can't work, such as a parser that nobody knows, is a
/// [warning](ResponseSchema::warnings): reading fails only where it gets that far, and there may be
/// texts with which it never does.
#[derive(Debug, Clone)]
pub struct ResponseSchema {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) value: Value,
    pub(super) warnings: Vec<Diagnostic>,
    pub(super) root: Node,
    /// How many schemas there are in it, with itself.
    pub(super) schemas: usize,
}

impl ResponseSchema {
    /// Reads a schema from a JSON document.
    ///
    /// All faults are reported at once, each with its place in the document:
    ///
    /// ```
    /// # use unjinja::response_schema::ResponseSchema;
    /// let error = ResponseSchema::from_json(
    ///     r#"{"type": "object", "properties": {"a": {"x-regex": "("}, "b": {"x-regex": 1}}}"#,
    /// ).unwrap_err();
    /// let places: Vec<&str> = error.faults.iter().map(|fault| &*fault.pointer).collect();
    /// assert_eq!(places, ["/properties/a/x-regex", "/properties/b/x-regex"]);
    /// ```
    pub fn from_json(text: &str) -> Result<ResponseSchema, SchemaError> {
        load::from_json_at(text, "")
    }

    /// Reads a schema that stands somewhere in a JSON document, at a JSON pointer.
    pub fn from_json_at(text: &str, pointer: &str) -> Result<ResponseSchema, SchemaError> {
        load::from_json_at(text, pointer)
    }

    /// Reads a schema from a value.
    ///
    /// ```
    /// use unjinja::{Value, response_schema::ResponseSchema};
    ///
    /// let value: Value = r#"{"type": "string", "x-regex": "<a>(.*?)</a>"}"#.parse()?;
    /// let schema = ResponseSchema::from_value(&value)?;
    /// assert_eq!(schema.read("<a>b</a>")?, "b".into());
    /// assert_eq!(schema.read("c")?, Value::Null);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_value(value: impl AsRef<Value>) -> Result<ResponseSchema, SchemaError> {
        load::from_value(value.as_ref())
    }

    /// Where a response schema stands in a JSON document: the JSON pointer. `None` if the document
    /// has a response template, which goes before a schema, or has neither.
    ///
    /// ```
    /// use unjinja::response_schema::ResponseSchema;
    ///
    /// let schema = r#"{"type": "object", "properties": {}}"#;
    /// let config = format!(r#"{{"eos_token": "<end>", "response_schema": {schema}}}"#);
    /// assert_eq!(ResponseSchema::find_in(schema), Some(""));
    /// assert_eq!(ResponseSchema::find_in(&config), Some("/response_schema"));
    /// assert_eq!(ResponseSchema::find_in(r#"{"start_anchor": "A:", "fields": {}}"#), None);
    /// ```
    pub fn find_in(document: &str) -> Option<&'static str> {
        let document = json::read(json::without_byte_order_mark(document)).ok()?;
        schema_in(&document)
    }

    /// The schema as it was read: the same keys in the same order.
    pub fn as_value(&self) -> &Value {
        &self.inner.value
    }

    /// What has no effect, or makes reading fail as soon as it gets there.
    ///
    /// ```
    /// # use unjinja::response_schema::ResponseSchema;
    /// let schema = ResponseSchema::from_json(r#"{"x-parser": "yaml"}"#)?;
    /// assert_eq!(
    ///     schema.warnings()[0].to_string(),
    ///     "1:14: /x-parser: there is no parser `yaml`, so reading fails here: known are `json`, `gemma4-tool-call`",
    /// );
    /// # Ok::<(), unjinja::response_schema::SchemaError>(())
    /// ```
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.inner.warnings
    }

    /// The property that reasoning is in, as far as that can be told: the one that is neither the content,
    /// the calls nor a constant, if there is just one.
    ///
    /// ```
    /// # use unjinja::response_schema::ResponseSchema;
    /// let schema = ResponseSchema::from_json(r#"{"type": "object", "properties": {
    ///     "role": {"const": "assistant"}, "content": {}, "thinking": {"x-regex": "<think>(.*?)</think>"}
    /// }}"#)?;
    /// assert_eq!(schema.reasoning_field().as_deref(), Some("thinking"));
    /// # Ok::<(), unjinja::response_schema::SchemaError>(())
    /// ```
    pub fn reasoning_field(&self) -> Option<String> {
        let properties = self.as_value().get("properties")?.as_object()?;
        let mut others = properties.iter().filter(|(key, property)| {
            let key = key.to_string_lossy();
            !["role", "content", "tool_calls"].contains(&&*key) && property.get("const").is_none()
        });
        let (key, _) = others.next()?;
        others
            .next()
            .is_none()
            .then(|| key.to_string_lossy().into_owned())
    }

    /// Texts that are put together from its own patterns. There are none if the schema is not understood
    /// well enough for that.
    ///
    /// ```
    /// # use unjinja::response_schema::ResponseSchema;
    /// let schema = ResponseSchema::from_json(r#"{
    ///     "type": "object",
    ///     "x-regex": "^(?P<content>.*?)(?:<end>|$)",
    ///     "properties": {"content": {"type": "string"}}
    /// }"#)?;
    /// assert!(schema.examples().contains(&"two words<end>".to_owned()));
    /// # Ok::<(), unjinja::response_schema::SchemaError>(())
    /// ```
    pub fn examples(&self) -> Vec<String> {
        convert::examples(self)
    }

    /// Reads a whole text: what a model has written, and nothing of the prompt.
    ///
    /// What comes of it is a message if the schema is one of an object, and the text fits: a schema
    /// whose pattern is not found gives `null`.
    ///
    /// # Errors
    ///
    /// If the text, or a part of it, is not what a schema expects; and if reading takes more steps or
    /// makes more bytes than the length of the text allows.
    pub fn read(&self, text: &str) -> Result<Value, ReadError> {
        read::read(&self.inner, text)
    }
}

/// Reads a schema from JSON, as [`ResponseSchema::from_json`] does.
impl FromStr for ResponseSchema {
    type Err = SchemaError;

    fn from_str(text: &str) -> Result<ResponseSchema, SchemaError> {
        ResponseSchema::from_json(text)
    }
}

/// One schema: the whole, or one inside of it.
#[derive(Debug)]
pub(super) struct Node {
    /// Where it stands in the whole.
    pub(super) pointer: String,
    pub(super) kind: NodeKind,
}

#[derive(Debug)]
pub(super) enum NodeKind {
    /// Always this value, whatever is read.
    Const(Value),
    Read(Box<Steps>),
}

/// What a schema does with what it is given, in this order.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// Whether any of the keys for patterns is there. Then only a text may be given.
    pub(super) wants_text: bool,
    pub(super) substitutions: Vec<Substitution>,
    pub(super) regex: Option<Pattern>,
    pub(super) iterator: Option<Pattern>,
    pub(super) key_value: Option<Pattern>,
    pub(super) parser: Option<Parser>,
    pub(super) shape: Shape,
    /// What the object around it holds where its key is missing.
    pub(super) default: Option<Value>,
}

#[derive(Debug)]
pub(super) enum Parser {
    Json(JsonParser),
    /// One that nobody knows.
    Unknown(String),
}

impl Parser {
    pub(super) const NAMES: [&str; 2] = ["json", "gemma4-tool-call"];
}

#[derive(Debug)]
pub(super) struct JsonParser {
    /// Whether keys have no quotes, and strings have other ones.
    pub(super) unquoted_keys: bool,
    pub(super) allow_non_json: bool,
    pub(super) transform: Option<Transform>,
}

/// What a value has to be.
#[derive(Debug, Default)]
pub(super) enum Shape {
    #[default]
    Any,
    String,
    Integer,
    Number,
    Boolean,
    Object(ObjectShape),
    Array(ArrayShape),
    /// One that nobody knows.
    Unknown(String),
}

impl Shape {
    pub(super) const NAMES: [&str; 7] = [
        "object", "array", "string", "integer", "number", "boolean", "any",
    ];
}

#[derive(Debug, Default)]
pub(super) struct ObjectShape {
    /// `None` if the key is not there at all.
    pub(super) properties: Option<Vec<(JsonString, Node)>>,
    /// What reads the values of other keys; `None` if they are left out.
    pub(super) additional: Option<Box<Node>>,
    pub(super) required: Vec<JsonString>,
}

impl ObjectShape {
    pub(super) fn properties(&self) -> &[(JsonString, Node)] {
        self.properties.as_deref().unwrap_or_default()
    }
}

#[derive(Debug)]
pub(super) enum ArrayShape {
    /// All items by the same schema.
    Items(Box<Node>),
    /// Each item by one of its own.
    PrefixItems(Vec<Node>),
    /// Neither is given, so that only an empty list can be read.
    Nothing,
}
