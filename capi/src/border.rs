//! What crosses the border: texts that come in, and errors and panics that go out.

use std::any::Any;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{UnjinjaError, UnjinjaErrorKind};

/// Where an error goes: the address of a pointer, which nobody need have set to anything; or nowhere.
pub(crate) type ErrorPlace<'e> = Option<&'e mut MaybeUninit<Option<Box<UnjinjaError>>>>;

/// Does what a function is for. An error, or what is made of a panic, goes to its place, and nothing is returned.
#[inline]
pub(crate) fn guarded<T>(
    place: ErrorPlace<'_>,
    work: impl FnOnce() -> Result<T, Box<UnjinjaError>>,
) -> Option<T> {
    // Of what may be left half changed, a parser says so: it is taken out while it is fed.
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(internal(panic)));
    let (done, error) = match done {
        Ok(done) => (Some(done), None),
        Err(error) => (None, Some(error)),
    };
    if let Some(place) = place {
        place.write(error);
    }
    done
}

#[cold]
pub(crate) fn internal(panic: Box<dyn Any + Send>) -> Box<UnjinjaError> {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("it says nothing");
    let message = format!("unjinja has failed here: {text}. Please report what it was given");
    UnjinjaError::new(UnjinjaErrorKind::Internal, message)
}

/// The bytes that somebody has given.
///
/// # Safety
///
/// There are so many bytes at `start`, and nobody changes them while `'b` lasts. With `length` 0, `start` may be anything.
#[allow(unsafe_code, reason = "here everything comes in")]
#[inline]
pub(crate) unsafe fn bytes<'b>(
    start: *const c_char,
    length: usize,
) -> Result<&'b [u8], Box<UnjinjaError>> {
    if length == 0 {
        return Ok(&[]);
    }
    if start.is_null() || length > isize::MAX as usize {
        return Err(UnjinjaError::argument(
            "a text is NULL or longer than memory: give where it begins, and its number of bytes",
        ));
    }
    // SAFETY: the caller promises it, and `start` and `length` are not those that no slice has.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), length) })
}

/// Bytes as a text, if all of them are ASCII.
#[allow(unsafe_code, reason = "what is ASCII need not be looked at twice")]
#[inline]
pub(crate) fn ascii(bytes: &[u8]) -> Option<&str> {
    let (words, rest) = bytes.as_chunks::<4>();
    let of_words = words
        .iter()
        .fold(0, |all, word| all | u32::from_ne_bytes(*word));
    let of_rest = rest.iter().fold(0, |all, byte| all | byte);
    let is_ascii = of_words & 0x8080_8080 == 0 && of_rest.is_ascii();
    // SAFETY: ASCII is UTF-8.
    is_ascii.then(|| unsafe { std::str::from_utf8_unchecked(bytes) })
}

/// The text that somebody has given, of which all has come.
///
/// # Safety
///
/// As for [`bytes`].
#[allow(unsafe_code, reason = "here everything comes in")]
pub(crate) unsafe fn text<'b>(
    what: &str,
    start: *const c_char,
    length: usize,
) -> Result<&'b str, Box<UnjinjaError>> {
    // SAFETY: the caller promises the same.
    let bytes = unsafe { bytes(start, length) }?;
    std::str::from_utf8(bytes)
        .map_err(|error| UnjinjaError::argument(format!("{what}: this is no UTF-8 text: {error}")))
}

/// What a function has to be given.
pub(crate) fn given<T>(what: &str, pointer: Option<T>) -> Result<T, Box<UnjinjaError>> {
    pointer.ok_or_else(|| UnjinjaError::argument(format!("{what} is NULL")))
}
