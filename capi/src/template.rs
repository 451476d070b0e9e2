//! Response templates.

use std::ffi::c_char;

use unjinja::{ResponseTemplate, Value, json};

use crate::border::{ErrorPlace, guarded, text};
use crate::error::{UnjinjaError, UnjinjaErrorKind};
use crate::text::UnjinjaText;

/// A response template that has been read. Any number of threads may use it at the same time.
#[derive(Debug)]
pub struct UnjinjaTemplate(pub(crate) ResponseTemplate);

/// Reads a response template: JSON that is one, or that holds one under `response_template`, as a tokenizer_config.json does.
///
/// @param json where the text begins
/// @param length its number of bytes
/// @return the template, which `unjinja_template_free` takes back; NULL if it has faults, all of which the error names
#[allow(unsafe_code, reason = "it is given a text")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjinja_template_new(
    json: *const c_char,
    length: usize,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaTemplate>> {
    guarded(error, || {
        // SAFETY: the caller gives a text.
        let json = unsafe { text("the response template", json, length) }?;
        let template = ResponseTemplate::from_config(json);
        let fail = |error| UnjinjaError::new(UnjinjaErrorKind::Template, error);
        Ok(Box::new(UnjinjaTemplate(template.map_err(fail)?)))
    })
}

/// What the template holds that has no effect: a JSON list of texts.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_template_warnings(
    response_template: &UnjinjaTemplate,
) -> Option<Box<UnjinjaText>> {
    guarded(None, || {
        let warnings = response_template.0.warnings().iter();
        let warnings: Value = warnings.map(ToString::to_string).collect();
        Ok(UnjinjaText::new(json::write(&warnings)))
    })
}

/// Gives a template back. Parsers that were made of it go on.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_template_free(response_template: Option<Box<UnjinjaTemplate>>) {
    drop(response_template);
}
