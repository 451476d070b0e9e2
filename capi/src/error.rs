//! Errors as values.

use std::ffi::{CString, c_char};

/// What an error is about.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnjinjaErrorKind {
    /// A function was given what it can't take: NULL, text that is no UTF-8, options that there are not.
    Argument = 1,
    /// A response template has faults.
    Template,
    /// An output can't be parsed by its response template.
    Parse,
    /// A chat template can't be loaded.
    Load,
    /// A chat template can't be rendered.
    Render,
    /// No response template can be derived.
    Derive,
    /// No grammar can be made.
    Grammar,
    /// unjinja has failed, which is to be reported. What was being worked with is of no more use.
    Internal,
}

/// Why something has failed.
#[derive(Debug)]
pub struct UnjinjaError {
    kind: UnjinjaErrorKind,
    message: CString,
}

impl UnjinjaError {
    pub(crate) fn new(kind: UnjinjaErrorKind, message: impl ToString) -> Box<UnjinjaError> {
        let message = message.to_string().replace('\0', "\u{fffd}");
        Box::new(UnjinjaError {
            kind,
            message: CString::new(message).unwrap_or_default(),
        })
    }

    pub(crate) fn argument(message: impl ToString) -> Box<UnjinjaError> {
        UnjinjaError::new(UnjinjaErrorKind::Argument, message)
    }
}

/// What the error is about.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_error_kind(error: &UnjinjaError) -> UnjinjaErrorKind {
    error.kind
}

/// What it says: the place, the cause and what helps, as UTF-8 that ends with a NUL. It lasts as long as the error.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_error_message(error: &UnjinjaError) -> *const c_char {
    error.message.as_ptr()
}

/// Gives an error back.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_error_free(error: Option<Box<UnjinjaError>>) {
    drop(error);
}
