//! Where a response template stands in a document.

use crate::diagnostic::Diagnostic;
use crate::json;

use super::super::{ResponseTemplate, TemplateError};
use super::load;

/// Keys by which the configuration of a tokenizer is recognised.
const CONFIG_KEYS: [&str; 5] = [
    "tokenizer_class",
    "added_tokens_decoder",
    "chat_template",
    "bos_token",
    "eos_token",
];

pub(in crate::response::template) fn from_json_at(
    text: &str,
    pointer: &str,
) -> Result<ResponseTemplate, TemplateError> {
    let document = json::read(text).map_err(|error| {
        let message = format!("this is not JSON: {}", error.kind());
        Diagnostic::new(message).at_position(error.position())
    })?;
    match document.pointer(pointer) {
        Some(value) => load(value, pointer, Some(text)),
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
    } else if template.is_some() || CONFIG_KEYS.into_iter().any(has) {
        let message = "this tokenizer configuration has no `response_template`";
        Err(Diagnostic::new(message).into())
    } else {
        Ok("")
    }
}
