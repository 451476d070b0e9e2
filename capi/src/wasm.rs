//! What JavaScript needs beside the functions for C.

use std::cell::RefCell;

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
