//! Making of what was found what a schema's type wants.

use std::collections::HashSet;

use crate::number;
use crate::response_schema::schema::{ArrayShape, Node, NodeKind, ObjectShape, Shape};
use crate::value::{Number, Object, Value};

use super::{Content, Result, SchemaReader};

impl SchemaReader {
    /// Makes of the content what the schema's type wants.
    pub(super) fn shaped(
        &mut self,
        node: &Node,
        shape: &Shape,
        content: Content<'_>,
    ) -> Result<Value> {
        match shape {
            Shape::Any => match content {
                Content::Text(text) => self.text(node, text),
                Content::Value(value) => self.copied(node, value),
            },
            Shape::String => match content {
                Content::Text(text) => self.text(node, text),
                Content::Value(Value::String(string)) => Ok(Value::String(string.clone())),
                other => Err(node.expected("a string", other)),
            },
            Shape::Integer => match content {
                Content::Value(value @ Value::Bool(_)) => Ok(value.clone()),
                Content::Value(Value::Number(number)) if number.is_integer() => {
                    Ok(number.clone().into())
                }
                Content::Text(text) if let Some(number) = number::read_int(text) => {
                    Ok(number.into())
                }
                other => Err(node.expected("a whole number", other)),
            },
            Shape::Number => float(content)
                .map(Value::from)
                .ok_or_else(|| node.expected("a number", content)),
            Shape::Boolean => boolean(content)
                .map(Value::from)
                .ok_or_else(|| node.expected("`true` or `false`", content)),
            Shape::Object(shape) => self.object(node, shape, content),
            Shape::Array(shape) => self.array(node, shape, content),
            Shape::Unknown(name) => Err(node.error(format!("there is no type `{name}`"))),
        }
    }

    fn text(&mut self, node: &Node, text: &str) -> Result<Value> {
        let counted = self.budget.make(text.len());
        counted.map_err(|exhausted| node.too_large(exhausted))?;
        Ok(text.into())
    }

    /// A copy of a value that has been counted, or that the schema holds.
    pub(super) fn copied(&mut self, node: &Node, value: &Value) -> Result<Value> {
        let counted = self.budget.make_copy(value);
        counted.map_err(|exhausted| node.too_large(exhausted))?;
        Ok(value.clone())
    }

    fn object(&mut self, node: &Node, shape: &ObjectShape, content: Content<'_>) -> Result<Value> {
        let message = match content {
            Content::Text(_) if shape.properties.is_none() => {
                return Err(node.error(
                    "a text comes to this object, and it has no pattern, parser or `properties` to read it",
                ));
            }
            Content::Text(_) => self.object_of_text(shape, content)?,
            Content::Value(Value::Object(parts)) => self.object_of_parts(node, shape, parts)?,
            other => return Err(node.expected("an object or a text", other)),
        };
        let missing = shape
            .required
            .iter()
            .find(|key| message.get_json_string(key).is_none());
        match missing {
            None => Ok(message.into()),
            Some(key) => {
                let key = key.to_string_lossy();
                Err(node.error(format!("`{key}` is required, and nothing was found for it")))
            }
        }
    }

    /// Each property reads all of the text; those that find nothing are left out.
    fn object_of_text(&mut self, shape: &ObjectShape, content: Content<'_>) -> Result<Object> {
        let mut message = Object::new();
        for (key, property) in shape.properties() {
            let value = self.node(property, content)?;
            if !value.is_null() {
                message.insert(key.clone(), value);
            }
        }
        Ok(message)
    }

    /// Each property reads the part of its name.
    fn object_of_parts(
        &mut self,
        node: &Node,
        shape: &ObjectShape,
        parts: &Object,
    ) -> Result<Object> {
        let mut message = Object::new();
        for (key, property) in shape.properties() {
            let value = match (&property.kind, parts.get_json_string(key)) {
                (NodeKind::Const(value), _) => self.copied(node, value)?,
                (_, Some(part)) => self.node(property, Content::of(part))?,
                (NodeKind::Read(steps), None) => match &steps.default {
                    Some(default) => self.copied(node, default)?,
                    None => continue,
                },
            };
            message.insert(key.clone(), value);
        }
        let Some(additional) = &shape.additional else {
            return Ok(message);
        };
        let known: HashSet<_> = shape.properties().iter().map(|(key, _)| key).collect();
        for (key, part) in parts.iter() {
            if !known.contains(key) {
                let counted = self.budget.make(key.len());
                counted.map_err(|exhausted| node.too_large(exhausted))?;
                let value = self.node(additional, Content::of(part))?;
                message.insert(key.clone(), value);
            }
        }
        Ok(message)
    }

    fn array(&mut self, node: &Node, shape: &ArrayShape, content: Content<'_>) -> Result<Value> {
        if !content.is_true() {
            return Ok(Value::Array(Vec::new()));
        }
        let list = match content {
            Content::Value(Value::Array(items)) => Some(items),
            _ => None,
        };
        match (shape, list) {
            (ArrayShape::Nothing, _) => {
                Err(node
                    .error("nothing reads the items of this array: add `items` or `prefixItems`"))
            }
            (ArrayShape::Items(schema), Some(items)) => {
                let items = items
                    .iter()
                    .map(|item| self.node(schema, Content::of(item)));
                items.collect::<Result<Vec<Value>>>().map(Value::Array)
            }
            (ArrayShape::PrefixItems(schemas), Some(items)) => {
                if items.len() != schemas.len() {
                    let (items, schemas) = (items.len(), schemas.len());
                    return Err(node.error(format!(
                        "there are {items} items, and {schemas} schemas in `prefixItems`"
                    )));
                }
                let items = items.iter().zip(schemas);
                let items = items.map(|(item, schema)| self.node(schema, Content::of(item)));
                items.collect::<Result<Vec<Value>>>().map(Value::Array)
            }
            // A single item need not stand in a list.
            (ArrayShape::PrefixItems(schemas), None) if schemas.len() == 1 => {
                Ok(Value::Array(vec![self.node(&schemas[0], content)?]))
            }
            (ArrayShape::Items(_) | ArrayShape::PrefixItems(_), None) => {
                Err(node.expected("a list", content))
            }
        }
    }
}

/// What Python's `float` makes of it, if it is a number or a text.
fn float(content: Content<'_>) -> Option<f64> {
    match content {
        Content::Value(Value::Bool(bool)) => Some(f64::from(u8::from(*bool))),
        Content::Value(Value::Number(number)) => {
            let float = number.as_f64();
            // A whole number may be too large for a float.
            (float.is_finite() || matches!(number, Number::Float(_))).then_some(float)
        }
        Content::Text(text) => number::read_float(text),
        Content::Value(_) => None,
    }
}

fn boolean(content: Content<'_>) -> Option<bool> {
    match content {
        Content::Value(Value::Bool(bool)) => Some(*bool),
        Content::Text(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        Content::Value(_) => None,
    }
}
