//! Where a response template stands in a document.

use crate::diagnostic::Diagnostic;
use crate::json;
use crate::response::language::Language;
use crate::value::Value;

use super::super::{ResponseTemplate, TemplateError};
use super::{Patterns, TEMPLATE_KEYS, load};

/// Keys by which the configuration of a tokenizer is recognised.
const CONFIG_KEYS: [&str; 5] = [
    "tokenizer_class",
    "added_tokens_decoder",
    "chat_template",
    "bos_token",
    "eos_token",
];

/// The keys of response schemas that are no JSON Schema.
const OWN_SCHEMA_KEYS: [&str; 6] = [
    "x-regex",
    "x-regex-iterator",
    "x-regex-key-value",
    "x-regex-substitutions",
    "x-parser",
    "x-parser-args",
];

/// Keys by which a response schema is told from other documents, beside its own.
const SCHEMA_KEYS: [&str; 5] = ["type", "properties", "items", "prefixItems", "const"];

pub(in crate::response::template) fn from_json_at(
    text: &str,
    pointer: &str,
) -> Result<ResponseTemplate, TemplateError> {
    let document = json::read(text).map_err(|error| {
        let message = format!("this is not JSON: {}", error.kind());
        Diagnostic::new(message).at_position(error.position())
    })?;
    match document.pointer(pointer) {
        Some(value) => load(
            value,
            pointer,
            Some(text),
            &mut Patterns::default(),
            Language::default(),
        ),
        None => Err(Diagnostic::new("there is no response template here")
            .at(pointer)
            .into()),
    }
}

pub(in crate::response::template) fn from_config(
    text: &str,
) -> Result<ResponseTemplate, TemplateError> {
    let pointer = find_in(text)?;
    from_json_at(json::without_byte_order_mark(text), pointer)
}

pub(in crate::response::template) fn find_in(text: &str) -> Result<&'static str, TemplateError> {
    let document = json::read(json::without_byte_order_mark(text)).ok();
    if document.is_none() && text.contains("{%") {
        let message = "this looks like a chat template, where a response template was expected";
        return Err(Diagnostic::new(message).into());
    }
    let has = |key| document.as_ref().is_some_and(|d| d.get(key).is_some());
    let template = document.as_ref().and_then(|d| d.get("response_template"));
    if template.is_some_and(|template| !template.is_null()) {
        Ok("/response_template")
    } else if document.as_ref().and_then(schema_in).is_some() {
        let message = "there is a response schema here, and no response template: it reads whole texts alone, \
                       and reports no events and no regions";
        let remedy =
            "convert it with `unjinja convert`, or with `response_schema::convert` of the library";
        Err(Diagnostic::new(message).with_remedy(remedy).into())
    } else if template.is_some() || CONFIG_KEYS.into_iter().any(has) {
        let message = "this tokenizer configuration has no `response_template`";
        Err(Diagnostic::new(message).into())
    } else {
        Ok("")
    }
}

/// Where a document has a response schema, the older language, if it has no response template.
pub fn schema_in(document: &Value) -> Option<&'static str> {
    let object = document.as_object()?;
    let is_given = |key: &str| object.get(key).is_some_and(|value| !value.is_null());
    if is_given("response_template") {
        return None;
    }
    if is_given("response_schema") {
        return Some("/response_schema");
    }
    let has_any = |keys: &[&str]| keys.iter().any(|key| object.contains_key(key));
    let is_schema = has_any(&OWN_SCHEMA_KEYS) || has_any(&SCHEMA_KEYS);
    (is_schema && !has_any(TEMPLATE_KEYS)).then_some("")
}
