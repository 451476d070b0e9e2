//! Texts that go out.

use std::ffi::c_char;

/// A text that was made for the caller: JSON, a prompt, a grammar.
#[derive(Debug)]
pub struct UnjinjaText {
    /// With a NUL behind it.
    text: String,
}

impl UnjinjaText {
    pub(crate) fn new(mut text: String) -> Box<UnjinjaText> {
        text.push('\0');
        Box::new(UnjinjaText { text })
    }
}

/// Where the text begins. It is UTF-8, has a NUL behind it, and lasts as long as the text.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_text_start(text: &UnjinjaText) -> *const c_char {
    text.text.as_ptr().cast()
}

/// How many bytes it has, without the NUL.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_text_length(text: &UnjinjaText) -> usize {
    text.text.len() - 1
}

/// Gives a text back.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_text_free(text: Option<Box<UnjinjaText>>) {
    drop(text);
}
