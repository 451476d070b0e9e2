//! What a parser reports, as C sees it.

use std::ffi::c_char;
use std::ops::Range;
use std::ptr;

use unjinja::{Event, Value, json};

use crate::border::guarded;
use crate::text::UnjinjaText;

/// A text that belongs to somebody else: UTF-8 of so many bytes, without a NUL behind it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct UnjinjaSlice {
    /// Where it begins; never NULL.
    pub start: *const c_char,
    /// Its number of bytes.
    pub length: usize,
}

impl UnjinjaSlice {
    const EMPTY: UnjinjaSlice = UnjinjaSlice {
        start: "".as_ptr().cast(),
        length: 0,
    };

    #[inline]
    pub(crate) fn of(text: &str) -> UnjinjaSlice {
        UnjinjaSlice {
            start: text.as_ptr().cast(),
            length: text.len(),
        }
    }
}

/// What has happened in the text.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnjinjaEventKind {
    /// A region has begun.
    Open = 1,
    /// `text` is more of the region that is open, as the model wrote it.
    Chunk,
    /// A region has ended, and `value` is what has become of its text.
    Close,
    /// A region has ended, and its `text` can't be parsed, for the reason `error`. Only with the option `on_malformed` or
    /// `unfinished`.
    Malformed,
}

/// The value of a region.
#[repr(transparent)]
#[derive(Debug)]
pub struct UnjinjaValue(Value);

/// A named group of the pattern that opened a region.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct UnjinjaCapture {
    /// The group's name.
    pub name: UnjinjaSlice,
    /// What it matched.
    pub text: UnjinjaSlice,
}

/// Something that happened in the text. Nothing of it is copied: it all lies in the text that was fed, or in the parser, and
/// lasts as long as the call that reports it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct UnjinjaEvent {
    /// What has happened.
    pub kind: UnjinjaEventKind,
    /// Whether the text of a chunk has yet to be parsed.
    pub is_dirty: bool,
    /// Whether the end of the output has closed the region, and no delimiter.
    pub is_at_end: bool,
    /// Whether `span_start` and `span_end` say where the delimiter lies; only with the option `spans`.
    pub has_span: bool,
    /// The field that the region belongs to.
    pub field: UnjinjaSlice,
    /// The text of a chunk, or all the text of a region that is malformed; else empty.
    pub text: UnjinjaSlice,
    /// What is wrong with a region that is malformed; else empty.
    pub error: UnjinjaSlice,
    /// The value of a region that has closed; else NULL.
    pub value: *const UnjinjaValue,
    /// Where the delimiter begins, in bytes of the text since the anchor.
    pub span_start: usize,
    /// Where it ends.
    pub span_end: usize,
    /// What the delimiter that opened the region has captured; only with the option `spans`.
    pub captures: *const UnjinjaCapture,
    /// How many of them there are.
    pub capture_count: usize,
}

impl UnjinjaEvent {
    /// A chunk without text.
    pub(crate) const EMPTY: UnjinjaEvent = UnjinjaEvent {
        kind: UnjinjaEventKind::Chunk,
        is_dirty: false,
        is_at_end: false,
        has_span: false,
        field: UnjinjaSlice::EMPTY,
        text: UnjinjaSlice::EMPTY,
        error: UnjinjaSlice::EMPTY,
        value: ptr::null(),
        span_start: 0,
        span_end: 0,
        captures: ptr::null(),
        capture_count: 0,
    };

    /// Hands an event over. Nearly all events are chunks: one is held, of which they set what differs.
    #[inline]
    pub(crate) fn lend(
        event: &Event<'_>,
        chunk: &mut UnjinjaEvent,
        to: impl FnOnce(&UnjinjaEvent),
    ) {
        if let Event::Chunk { text, dirty, .. } = event {
            chunk.field = UnjinjaSlice::of(event.field());
            chunk.text = UnjinjaSlice::of(text);
            chunk.is_dirty = *dirty;
            return to(chunk);
        }
        UnjinjaEvent::EMPTY.fill(event, to);
    }

    /// Hands over an event that is no chunk.
    #[cold]
    fn fill(mut self, event: &Event<'_>, to: impl FnOnce(&UnjinjaEvent)) {
        let lent = &mut self;
        lent.field = UnjinjaSlice::of(event.field());
        lent.is_at_end = event.is_at_end();
        // These live until the event has been handed over.
        let mut captures = Vec::new();
        match event {
            Event::Open { opening, .. } => {
                lent.kind = UnjinjaEventKind::Open;
                if let Some(opening) = opening {
                    lent.set_span(Some(&opening.span));
                    captures.extend(opening.captures.iter().map(|capture| UnjinjaCapture {
                        name: UnjinjaSlice::of(&capture.name),
                        text: UnjinjaSlice::of(&capture.text),
                    }));
                    lent.captures = captures.as_ptr();
                    lent.capture_count = captures.len();
                }
            }
            Event::Close { value, span, .. } => {
                lent.kind = UnjinjaEventKind::Close;
                lent.value = ptr::from_ref::<Value>(value).cast();
                lent.set_span(span.as_ref());
            }
            Event::Malformed {
                raw, error, span, ..
            } => {
                lent.kind = UnjinjaEventKind::Malformed;
                lent.text = UnjinjaSlice::of(raw);
                lent.error = UnjinjaSlice::of(error);
                lent.set_span(span.as_ref());
            }
            // What may come to be is of no kind that callers know.
            _ => return,
        }
        to(lent);
    }

    fn set_span(&mut self, span: Option<&Range<usize>>) {
        if let Some(span) = span {
            self.has_span = true;
            self.span_start = span.start;
            self.span_end = span.end;
        }
    }
}

/// The value as JSON.
#[allow(unsafe_code, reason = "its name is its own")]
#[unsafe(no_mangle)]
pub extern "C" fn unjinja_value_json(value: &UnjinjaValue) -> Option<Box<UnjinjaText>> {
    guarded(None, || Ok(UnjinjaText::new(json::write(&value.0))))
}
