//! Events that are kept, for languages in which it takes long to be called back.

use std::ffi::c_void;

use unjinja::Value;

use crate::border::guarded;
use crate::event::{UnjinjaCapture, UnjinjaEvent, UnjinjaSlice, UnjinjaValue};

/// Events that stand on their own, in the order in which they came: `unjinja_events_keep` puts them here.
#[derive(Debug, Default)]
pub struct UnjinjaEvents {
    events: Vec<UnjinjaEvent>,
    texts: Room,
    /// The names of fields, of which each stays where it is: the address of a name is the same in all events.
    fields: Vec<Box<str>>,
    #[expect(
        clippy::vec_box,
        reason = "their places are handed out, and have to stay"
    )]
    values: Vec<Box<Value>>,
    captures: Vec<Vec<UnjinjaCapture>>,
}

/// Texts, one behind the other, which stay where they are put.
#[derive(Debug, Default)]
struct Room {
    blocks: Vec<Vec<u8>>,
}

/// So many bytes a block has at least.
const BLOCK: usize = 1 << 12;

impl Room {
    fn keep(&mut self, text: &[u8]) -> UnjinjaSlice {
        let room = |block: &Vec<u8>| block.capacity() - block.len();
        if self
            .blocks
            .last()
            .is_none_or(|block| room(block) < text.len())
        {
            self.blocks.push(Vec::with_capacity(text.len().max(BLOCK)));
        }
        // There is one, and it has room: it is not moved.
        let block = self.blocks.last_mut().expect("a block has been added");
        let start = block.len();
        block.extend_from_slice(text);
        UnjinjaSlice {
            start: block[start..].as_ptr().cast(),
            length: text.len(),
        }
    }

    /// Forgets the texts, and keeps the room of a few.
    fn clear(&mut self) {
        self.blocks.truncate(1);
        match self.blocks.first_mut() {
            Some(block) if block.capacity() == BLOCK => block.clear(),
            _ => self.blocks.clear(),
        }
    }
}

impl UnjinjaEvents {
    /// Keeps an event.
    ///
    /// # Safety
    ///
    /// The event is one that a parser hands over at this time.
    #[allow(unsafe_code, reason = "events hold pointers")]
    unsafe fn keep(&mut self, event: &UnjinjaEvent) {
        // SAFETY: what the slices of such an event point at lives until the parser is done with it.
        let bytes = |slice: UnjinjaSlice| unsafe {
            std::slice::from_raw_parts(slice.start.cast(), slice.length)
        };
        let mut kept = *event;
        kept.field = self.field(bytes(event.field));
        kept.text = self.texts.keep(bytes(event.text));
        kept.error = self.texts.keep(bytes(event.error));
        // SAFETY: as above, and it is a value or NULL.
        if let Some(value) = unsafe { event.value.cast::<Value>().as_ref() } {
            let value = Box::new(value.clone());
            kept.value = std::ptr::from_ref::<Value>(&value).cast::<UnjinjaValue>();
            self.values.push(value);
        }
        if event.capture_count > 0 {
            // SAFETY: as above, and there are so many.
            let captures =
                unsafe { std::slice::from_raw_parts(event.captures, event.capture_count) };
            let captures = captures.iter().map(|capture| UnjinjaCapture {
                name: self.texts.keep(bytes(capture.name)),
                text: self.texts.keep(bytes(capture.text)),
            });
            let captures: Vec<UnjinjaCapture> = captures.collect();
            kept.captures = captures.as_ptr();
            self.captures.push(captures);
        }
        self.events.push(kept);
    }

    fn field(&mut self, name: &[u8]) -> UnjinjaSlice {
        let known = self.fields.iter().find(|known| known.as_bytes() == name);
        if let Some(known) = known {
            return UnjinjaSlice::of(known);
        }
        self.fields.push(String::from_utf8_lossy(name).into());
        self.fields
            .last()
            .map_or(UnjinjaSlice::of(""), |name| UnjinjaSlice::of(name))
    }
}

/// Nothing, in which events can be kept.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_events_new() -> Box<UnjinjaEvents> {
    Box::default()
}

/// Keeps an event. It is an `UnjinjaOnEvent`: given to `unjinja_parser_feed` with `events` as the context, it keeps what
/// happens. Many calls may add to the same events.
///
/// @param event an event that a parser hands over
/// @param events the `UnjinjaEvents`
#[allow(unsafe_code, reason = "it is given pointers")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unjinja_events_keep(event: *const UnjinjaEvent, events: *mut c_void) {
    guarded(None, || {
        // SAFETY: the caller gives both, and nobody else uses the events meanwhile.
        let (event, events) = unsafe { (event.as_ref(), events.cast::<UnjinjaEvents>().as_mut()) };
        if let (Some(event), Some(events)) = (event, events) {
            // SAFETY: the caller promises it.
            unsafe { events.keep(event) };
        }
        Ok(())
    });
}

/// The first of the events. They lie one behind the other until another one is kept, or they are cleared.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_events_start(events: &UnjinjaEvents) -> *const UnjinjaEvent {
    events.events.as_ptr()
}

/// How many events there are.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_events_count(events: &UnjinjaEvents) -> usize {
    events.events.len()
}

/// Forgets the events, and keeps the room that they took.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_events_clear(events: &mut UnjinjaEvents) {
    events.events.clear();
    events.texts.clear();
    events.values.clear();
    events.captures.clear();
}

/// Gives events back.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_events_free(events: Option<Box<UnjinjaEvents>>) {
    drop(events);
}
