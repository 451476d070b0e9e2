//! What JavaScript needs beside the functions for C.

use std::cell::RefCell;
#[cfg(feature = "page")]
use std::ffi::c_char;

#[cfg(feature = "page")]
use crate::border::{ErrorPlace, bytes, guarded, text};
#[cfg(feature = "page")]
use crate::error::UnjinjaError;
use crate::events::unjinja_events_keep;

thread_local! {
    static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Room for the texts of the next call. It stays where it is until more is asked for.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_room(length: usize) -> *mut u8 {
    ROOM.with_borrow_mut(|room| {
        if room.len() < length {
            // What stood there is of no more use.
            *room = vec![0; length];
        }
        room.as_mut_ptr()
    })
}

/// Gives most of the room back, after a long text.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_room_free() {
    ROOM.with_borrow_mut(|room| *room = Vec::new());
}

/// The function that keeps events, as one that a parser can be given.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_keeper()
-> unsafe extern "C" fn(*const crate::event::UnjinjaEvent, *mut std::ffi::c_void) {
    unjinja_events_keep
}

/// Answers what the page of the playground asks: a request in JSON, which may be about the bytes of a file.
#[cfg(feature = "page")]
#[allow(unsafe_code, reason = "it is given texts")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjinja_answer(
    request: *const c_char,
    request_length: usize,
    file: *const c_char,
    file_length: usize,
    error: ErrorPlace<'_>,
) -> Option<Box<crate::UnjinjaText>> {
    thread_local! {
        static PLAYGROUND: RefCell<unjinja_playground::Playground> = RefCell::default();
    }
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
        Ok(crate::UnjinjaText::new(unjinja::json::write(&answer)))
    })
}
