//! The types that schemas declare, and texts as values of them.

use crate::json;
use crate::number;
use crate::response::language::{Language, Trait};
use crate::value::{JsonString, Number, Value};
use crate::white_space;

/// A type that a schema declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Integer,
    Number,
    Boolean,
    Null,
    Object,
    Array,
    Other,
}

/// Adds the types that a schema names, in their order.
pub(super) fn collect_types(schema: &Value, language: Language, types: &mut Vec<Type>) {
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
    let unions: &[&str] = match language.has(Trait::OneOf) {
        true => &["anyOf", "oneOf"],
        false => &["anyOf"],
    };
    for union in unions {
        for choice in schema
            .get(union)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            collect_types(choice, language, types);
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
pub(super) fn cast(text: &JsonString, types: &[Type], language: Language) -> Option<Value> {
    types.iter().find_map(|declared| match declared {
        Type::Object => json::read_wtf8(text.as_wtf8())
            .ok()
            .filter(|value| value.as_object().is_some()),
        Type::Array => json::read_wtf8(text.as_wtf8())
            .ok()
            .filter(|value| value.as_array().is_some()),
        _ => cast_scalar(text.as_str()?, *declared, language),
    })
}

fn cast_scalar(text: &str, declared: Type, language: Language) -> Option<Value> {
    match declared {
        Type::Integer => number::read_int(text)
            .or_else(|| {
                let text = Some(text).filter(|_| language.has(Trait::WholeFloats))?;
                number::read_float(text).and_then(whole)
            })
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
