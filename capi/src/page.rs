//! What the page of the playground asks.

use std::cell::RefCell;
use std::ffi::c_char;

use unjinja::json;
use unjinja_playground::Playground;

use crate::border::{ErrorPlace, bytes, guarded, text};
use crate::error::UnjinjaError;
use crate::text::UnjinjaText;

thread_local! {
    static PLAYGROUND: RefCell<Playground> = RefCell::default();
}

/// Answers what the page of the playground asks: a request in JSON, which may be about the bytes of a file.
#[allow(unsafe_code, reason = "it is given texts")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjinja_answer(
    request: *const c_char,
    request_length: usize,
    file: *const c_char,
    file_length: usize,
    error: ErrorPlace<'_>,
) -> Option<Box<UnjinjaText>> {
    guarded(error, || {
        // SAFETY: the caller gives texts.
        let (request, file) = unsafe {
            (
                text("the request", request, request_length)?,
                bytes(file, file_length)?,
            )
        };
        let answer = PLAYGROUND.with_borrow_mut(|playground| playground.answer(request, file));
        let answer = answer.map_err(UnjinjaError::argument)?;
        Ok(UnjinjaText::new(json::write(&answer)))
    })
}
