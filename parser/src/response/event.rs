//! What a parser reports while text comes in.

mod buffer;
mod from_value;
mod writer;

use std::borrow::Cow;
use std::ops::Range;

use crate::json::{self, Style};
use crate::value::{Object, Value};

pub use buffer::EventBuffer;
pub use writer::EventWriter;

/// A named group of a delimiter, and the text that it matched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capture {
    /// The group's name.
    pub name: String,
    /// What it matched.
    pub text: String,
}

/// Something that happened in the text, as slices of it.
///
/// [`Event::into_owned`] makes it independent of the parser.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A region has begun.
    Open {
        /// The field it belongs to.
        field: &'a str,
        /// The match of its delimiter, if [`spans`](crate::ParserOptions::spans) were asked for.
        opening: Option<OpeningMatch<'a>>,
    },
    /// Text of the region that is open.
    Chunk {
        /// The field it belongs to.
        field: &'a str,
        /// The text, as the model wrote it.
        text: &'a str,
        /// Whether the text has yet to be parsed: it is part of the value only for fields of text,
        /// numbers and truth values.
        dirty: bool,
    },
    /// A region has ended, and its value is final.
    Close {
        /// The field it belongs to.
        field: &'a str,
        /// What its parser and its transform have made of its text.
        value: &'a Value,
        /// Where its delimiter lies, if [`spans`](crate::ParserOptions::spans) were asked for.
        span: Option<Range<usize>>,
        /// Whether the end of the text has closed it, and no delimiter. The [form for programs](Event::to_value)
        /// does not have it: others don't exchange it.
        at_end: bool,
    },
    /// A region has ended, and its text could not be parsed
    /// (only with [`OnMalformed::Event`](crate::OnMalformed::Event)), or it is cut off (only with
    /// [`Unfinished::Drop`](crate::Unfinished::Drop)).
    Malformed {
        /// The field it belongs to.
        field: &'a str,
        /// All of its text.
        raw: &'a str,
        /// What is wrong with it.
        error: &'a str,
        /// Where its delimiter lies, if [`spans`](crate::ParserOptions::spans) were asked for.
        span: Option<Range<usize>>,
        /// Whether the end of the text has closed it, and no delimiter. The [form for programs](Event::to_value)
        /// does not have it: others don't exchange it.
        at_end: bool,
    },
}

/// The match of an opening delimiter: where it lies, and what it captured.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpeningMatch<'a> {
    /// The bytes that the delimiter took in the text since the anchor; empty where a region opens
    /// without one.
    pub span: Range<usize>,
    /// Its named groups, those that took part.
    pub captures: Cow<'a, [Capture]>,
}

/// An [`Event`] that stands on its own. To keep many, an [`EventBuffer`] takes less.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OwnedEvent {
    /// See [`Event::Open`].
    Open {
        /// The field.
        field: String,
        /// The match of its delimiter.
        opening: Option<OpeningMatch<'static>>,
    },
    /// See [`Event::Chunk`].
    Chunk {
        /// The field.
        field: String,
        /// The text.
        text: String,
        /// Whether it has yet to be parsed.
        dirty: bool,
    },
    /// See [`Event::Close`].
    Close {
        /// The field.
        field: String,
        /// Its value.
        value: Value,
        /// Where its delimiter lies.
        span: Option<Range<usize>>,
        /// Whether the end of the text has closed it.
        at_end: bool,
    },
    /// See [`Event::Malformed`].
    Malformed {
        /// The field.
        field: String,
        /// All of its text.
        raw: String,
        /// What is wrong with it.
        error: String,
        /// Where its delimiter lies.
        span: Option<Range<usize>>,
        /// Whether the end of the text has closed it.
        at_end: bool,
    },
}

impl OpeningMatch<'_> {
    fn into_owned(self) -> OpeningMatch<'static> {
        OpeningMatch {
            span: self.span,
            captures: Cow::Owned(self.captures.into_owned()),
        }
    }
}

impl From<Event<'_>> for OwnedEvent {
    fn from(event: Event<'_>) -> OwnedEvent {
        event.into_owned()
    }
}

impl Event<'_> {
    /// The field that the event is about.
    pub fn field(&self) -> &str {
        match self {
            Event::Open { field, .. }
            | Event::Chunk { field, .. }
            | Event::Close { field, .. }
            | Event::Malformed { field, .. } => field,
        }
    }

    /// The event, independent of the parser.
    #[inline]
    pub fn into_owned(self) -> OwnedEvent {
        match self {
            Event::Open { field, opening } => OwnedEvent::Open {
                field: field.into(),
                opening: opening.map(OpeningMatch::into_owned),
            },
            Event::Chunk { field, text, dirty } => OwnedEvent::Chunk {
                field: field.into(),
                text: text.into(),
                dirty,
            },
            Event::Close {
                field,
                value,
                span,
                at_end,
            } => OwnedEvent::Close {
                field: field.into(),
                value: value.clone(),
                span,
                at_end,
            },
            Event::Malformed {
                field,
                raw,
                error,
                span,
                at_end,
            } => OwnedEvent::Malformed {
                field: field.into(),
                raw: raw.into(),
                error: error.into(),
                span,
                at_end,
            },
        }
    }

    /// Whether the end of the text has closed a region, and no delimiter.
    pub fn is_at_end(&self) -> bool {
        match self {
            Event::Close { at_end, .. } | Event::Malformed { at_end, .. } => *at_end,
            Event::Open { .. } | Event::Chunk { .. } => false,
        }
    }

    /// The event as the object that streaming interfaces exchange.
    ///
    /// ```
    /// use unjinja::{Event, json};
    ///
    /// let event = Event::Chunk { field: "thinking", text: "Hm.", dirty: false };
    /// assert_eq!(
    ///     json::write(&event.to_value()),
    ///     r#"{"type":"region_chunk","field":"thinking","text":"Hm.","dirty":false}"#,
    /// );
    /// ```
    pub fn to_value(&self) -> Value {
        let mut object = Object::new();
        self.for_each_member(|key, member| {
            object.insert(key, member.to_value());
        });
        object.into()
    }

    /// Appends that object to a text, as [`json::write`](crate::json::write) would write it, without making
    /// it first.
    ///
    /// ```
    /// use unjinja::Event;
    ///
    /// let event = Event::Chunk { field: "thinking", text: "Hm.", dirty: false };
    /// let mut line = String::new();
    /// event.write_json(&mut line);
    /// assert_eq!(line, r#"{"type":"region_chunk","field":"thinking","text":"Hm.","dirty":false}"#);
    /// ```
    #[inline]
    pub fn write_json(&self, out: &mut String) {
        // Nearly all events are chunks.
        match self {
            Event::Chunk { field, text, dirty } => {
                const AROUND: usize = 80;
                out.reserve(AROUND + field.len() + text.len());
                write_chunk_until_text(out, field);
                write_chunk_text(out, text, *dirty);
            }
            _ => self.write_members(out),
        }
    }

    fn write_members(&self, out: &mut String) {
        let mut before = '{';
        self.for_each_member(|key, member| {
            out.push(before);
            // No key has anything in it that is escaped.
            out.push('"');
            out.push_str(key);
            out.push_str("\":");
            member.write_json(out);
            before = ',';
        });
        out.push('}');
    }

    /// The members of the object that programs are given.
    fn for_each_member<'e>(&'e self, mut visit: impl FnMut(&'static str, Member<'e>)) {
        let kind = match self {
            Event::Open { .. } => "region_open",
            Event::Chunk { .. } => "region_chunk",
            Event::Close { .. } => "region_close",
            Event::Malformed { .. } => "region_malformed",
        };
        visit("type", Member::Text(kind));
        visit("field", Member::Text(self.field()));
        let span = match self {
            Event::Open { opening, .. } => opening.as_ref().map(|opening| &opening.span),
            Event::Chunk { text, dirty, .. } => {
                visit("text", Member::Text(text));
                visit("dirty", Member::Flag(*dirty));
                None
            }
            Event::Close { value, span, .. } => {
                visit("value", Member::Value(value));
                span.as_ref()
            }
            Event::Malformed {
                raw, error, span, ..
            } => {
                visit("raw", Member::Text(raw));
                visit("error", Member::Text(error));
                span.as_ref()
            }
        };
        if let Some(span) = span {
            visit("span", Member::Span(span));
        }
        if let Event::Open {
            opening: Some(opening),
            ..
        } = self
        {
            visit("captures", Member::Captures(&opening.captures));
        }
    }
}

/// Writes a chunk as [`Event::write_members`] would, up to its text.
fn write_chunk_until_text(out: &mut String, field: &str) {
    out.push_str("{\"type\":\"region_chunk\",\"field\":");
    json::write_str(out, field, false);
    out.push_str(",\"text\":\"");
}

/// Writes the text of a chunk and what follows it.
#[inline]
fn write_chunk_text(out: &mut String, text: &str, dirty: bool) {
    json::push_escaped(out, text);
    match dirty {
        true => out.push_str("\",\"dirty\":true}"),
        false => out.push_str("\",\"dirty\":false}"),
    }
}

/// A member of the object that programs are given for an event.
enum Member<'e> {
    Text(&'e str),
    Flag(bool),
    Value(&'e Value),
    Span(&'e Range<usize>),
    Captures(&'e [Capture]),
}

impl Member<'_> {
    fn to_value(&self) -> Value {
        match self {
            Member::Text(text) => (*text).into(),
            Member::Flag(flag) => (*flag).into(),
            Member::Value(value) => (*value).clone(),
            Member::Span(span) => {
                let bounds = [span.start, span.end].map(|n| Value::from(n as i64));
                Value::Array(bounds.into())
            }
            Member::Captures(captures) => {
                let captures = captures.iter();
                let captures: Object = captures
                    .map(|c| (c.name.as_str(), c.text.as_str()))
                    .collect();
                captures.into()
            }
        }
    }

    fn write_json(&self, out: &mut String) {
        match self {
            Member::Text(text) => json::write_str(out, text, false),
            Member::Flag(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Member::Value(value) => json::write_into(out, value, &Style::COMPACT),
            // There is but one of these in a region.
            Member::Span(_) | Member::Captures(_) => {
                json::write_into(out, &self.to_value(), &Style::COMPACT);
            }
        }
    }
}

impl OwnedEvent {
    /// The event as slices of this one.
    pub fn as_event(&self) -> Event<'_> {
        match self {
            OwnedEvent::Open { field, opening } => Event::Open {
                field,
                opening: opening.as_ref().map(|opening| OpeningMatch {
                    span: opening.span.clone(),
                    captures: Cow::Borrowed(&opening.captures),
                }),
            },
            OwnedEvent::Chunk { field, text, dirty } => Event::Chunk {
                field,
                text,
                dirty: *dirty,
            },
            OwnedEvent::Close {
                field,
                value,
                span,
                at_end,
            } => Event::Close {
                field,
                value,
                span: span.clone(),
                at_end: *at_end,
            },
            OwnedEvent::Malformed {
                field,
                raw,
                error,
                span,
                at_end,
            } => Event::Malformed {
                field,
                raw,
                error,
                span: span.clone(),
                at_end: *at_end,
            },
        }
    }

    /// See [`Event::to_value`].
    pub fn to_value(&self) -> Value {
        self.as_event().to_value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_written_as_the_objects_that_they_are() {
        let value = Value::from("said \"so\"");
        let capture = Capture {
            name: "name".into(),
            text: "a\\b".into(),
        };
        let opening = OpeningMatch {
            span: 3..9,
            captures: Cow::Owned(vec![capture]),
        };
        let (field, raw, error) = ("té\"xt", "{\n", "no\tJSON");
        let close = |span| Event::Close {
            field,
            value: &value,
            span,
            at_end: true,
        };
        let malformed = Event::Malformed {
            field,
            raw,
            error,
            span: Some(5..5),
            at_end: false,
        };
        let open = |opening| Event::Open { field, opening };
        let chunk = |text, dirty| Event::Chunk { field, text, dirty };
        let events = [
            open(None),
            open(Some(opening)),
            chunk("", false),
            chunk("short", false),
            chunk("\"", true),
            Event::Chunk {
                field: "",
                text: "of another field",
                dirty: false,
            },
            chunk("of the first again", false),
            chunk(
                "a line\nthat is a little longer, \u{1} \"—\" and \\ in it",
                true,
            ),
            close(None),
            close(Some(1..2)),
            malformed,
        ];
        let mut writer = EventWriter::new();
        for event in &events {
            let mut written = String::from("before ");
            event.write_json(&mut written);
            let expected = json::write(&event.to_value());
            assert_eq!(written.strip_prefix("before "), Some(&*expected));
            assert_eq!(writer.write(event), expected);
        }
        let mut buffer = EventBuffer::new();
        for _ in 0..2 {
            buffer.clear();
            events.iter().for_each(|event| buffer.push(event.clone()));
            assert!(buffer.iter().eq(events.iter().cloned()));
            assert_eq!((buffer.len(), buffer.is_empty()), (events.len(), false));
        }
    }
}
