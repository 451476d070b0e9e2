//! What the parser has reported of a text, kept small: a text of a megabyte that comes in by character
//! has more than a million events.

use std::ops::Range;

use unjinja::response::Capture;
use unjinja::{Event, ResponseTemplate, Value};

/// Something that the parser has reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedEvent {
    /// What it was.
    pub what: EventKind,
    /// The number of the field.
    pub field: u16,
    from: u32,
    to: u32,
}

/// What was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A region has opened; where its delimiter captured something, the number of the captures.
    Open(Option<u32>),
    /// Text of the region; whether it has yet to be parsed.
    Chunk {
        /// Whether it has yet to be parsed.
        dirty: bool,
    },
    /// The region has closed, with the value of this number.
    Close(u32),
    /// The region has closed, and could not be parsed, for the reason of this number.
    Malformed(u32),
}

impl LoggedEvent {
    /// The delimiter, or the text.
    pub fn span(&self) -> Range<usize> {
        self.from as usize..self.to as usize
    }
}

/// What a piece of the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentKind {
    /// It opens a field.
    Open,
    /// The text of a field.
    Body,
    /// It closes a field.
    Close,
    /// It belongs to no field, and goes.
    Skipped,
}

/// A piece of the text, which begins where the one before ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// What it is.
    pub part: SegmentKind,
    /// The number of the field, if it belongs to one.
    pub field: Option<u16>,
    end: u32,
}

/// All that was reported, and what it says of the text.
#[derive(Debug, Default)]
pub struct Log {
    pub events: Vec<LoggedEvent>,
    segments: Vec<Segment>,
    captures: Vec<Vec<Capture>>,
    values: Vec<Value>,
    /// The numbers of the events that close a region with a value.
    closes: Vec<u32>,
    errors: Vec<String>,
    /// Where what could not be parsed begins to close.
    malformed_at: Vec<u32>,
    /// The numbers of the events that begin a row where the chunks of a region share one.
    rows: Vec<u32>,
    /// The numbers of the events that open or close a region.
    turns: Vec<u32>,
    /// How much of the text is divided into segments.
    at: usize,
}

impl Log {
    pub fn take(&mut self, template: &ResponseTemplate, event: &Event<'_>) {
        let field = number(template, event.field());
        let (what, span) = match event {
            Event::Open { opening, .. } => {
                let span = opening.as_ref().map(|opening| opening.span.clone());
                let span = span.unwrap_or(self.at..self.at);
                self.push_segment(SegmentKind::Skipped, None, span.start);
                self.push_segment(SegmentKind::Open, Some(field), span.end);
                let captures = opening
                    .as_ref()
                    .map_or(&[][..], |opening| &opening.captures);
                let captures =
                    (!captures.is_empty()).then(|| pushed(&mut self.captures, captures.to_vec()));
                (EventKind::Open(captures), span)
            }
            Event::Chunk { text, dirty, .. } => {
                let from = self.at;
                self.push_body(field, from + text.len());
                (EventKind::Chunk { dirty: *dirty }, from..self.at)
            }
            Event::Close { value, span, .. } => {
                let value = pushed(&mut self.values, (*value).clone());
                self.closes.push(short(self.events.len()));
                (EventKind::Close(value), self.closed(field, span))
            }
            Event::Malformed { error, span, .. } => {
                let error = pushed(&mut self.errors, (*error).to_owned());
                let closed = self.closed(field, span);
                self.malformed_at.push(short(closed.start));
                (EventKind::Malformed(error), closed)
            }
            // The library may come to know more kinds of events than there are signs for here.
            _ => return,
        };
        let is_chunk = |what: &EventKind| matches!(what, EventKind::Chunk { .. });
        if !is_chunk(&what) {
            self.turns.push(short(self.events.len()));
        }
        let before = self.events.last().map(|event| event.what);
        if !(is_chunk(&what) && before.as_ref().is_some_and(is_chunk)) {
            self.rows.push(short(self.events.len()));
        }
        self.events.push(LoggedEvent {
            what,
            field,
            from: short(span.start),
            to: short(span.end),
        });
    }

    fn closed(&mut self, field: u16, span: &Option<Range<usize>>) -> Range<usize> {
        let span = span.clone().unwrap_or(self.at..self.at);
        self.push_segment(SegmentKind::Close, Some(field), span.end);
        span
    }

    /// What is left of the text when all has been reported belongs to no field.
    pub fn end(&mut self, at: usize) {
        self.push_segment(SegmentKind::Skipped, None, at);
    }

    fn push_segment(&mut self, part: SegmentKind, field: Option<u16>, to: usize) {
        if to <= self.at {
            return;
        }
        self.at = to;
        self.segments.push(Segment {
            part,
            field,
            end: short(to),
        });
    }

    /// More text of a region. One that opens where another has closed is not that one, even if there
    /// is no delimiter between them.
    fn push_body(&mut self, field: u16, to: usize) {
        let is_chunk = |event: &LoggedEvent| matches!(event.what, EventKind::Chunk { .. });
        match self.segments.last_mut() {
            Some(last) if self.events.last().is_some_and(is_chunk) => {
                self.at = to;
                last.end = short(to);
            }
            _ => self.push_segment(SegmentKind::Body, Some(field), to),
        }
    }

    /// The first byte that is something else here than in another log of the same text.
    pub(super) fn departs_from(&self, other: &Log) -> Option<usize> {
        let mut start = 0;
        for (one, another) in self.segments.iter().zip(&other.segments) {
            if (one.part, one.field) != (another.part, another.field) {
                return Some(start);
            }
            if one.end != another.end {
                return Some(one.end.min(another.end) as usize);
            }
            start = one.end as usize;
        }
        None
    }

    /// The field whose region is open.
    pub fn open_field(&self) -> Option<u16> {
        let last = self.events.last()?;
        let is_open = matches!(last.what, EventKind::Open(_) | EventKind::Chunk { .. });
        is_open.then_some(last.field)
    }

    /// How much of the text is divided into segments.
    pub fn divided(&self) -> usize {
        self.at
    }

    /// The segment that holds a byte of the text, and its bytes; none if nothing has been reported of it.
    pub fn segment_at(&self, offset: usize) -> Option<(Segment, Range<usize>)> {
        let index = self
            .segments
            .partition_point(|segment| segment.end as usize <= offset);
        let segment = *self.segments.get(index)?;
        let start = index
            .checked_sub(1)
            .map_or(0, |before| self.segments[before].end as usize);
        Some((segment, start..segment.end as usize))
    }

    /// The numbers of the events that close a field with a value.
    pub fn closes_of(&self, field: u16) -> Vec<usize> {
        let closes = self.closes.iter().map(|&index| index as usize);
        let closes = closes.filter(|&index| self.events[index].field == field);
        closes.collect()
    }

    /// The fields that were closed by the first so many events, each with its value.
    pub fn closes(&self, before: usize) -> impl Iterator<Item = (u16, &Value)> {
        let count = self
            .closes
            .partition_point(|&index| (index as usize) < before);
        let closes = self.closes[..count].iter().zip(&self.values);
        closes.map(|(&index, value)| (self.events[index as usize].field, value))
    }

    pub fn captures(&self, number: u32) -> &[Capture] {
        self.captures
            .get(number as usize)
            .map_or(&[], Vec::as_slice)
    }

    pub fn value(&self, number: u32) -> &Value {
        &self.values[number as usize]
    }

    pub fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// How many of the first so many events open or close a region.
    pub fn turns(&self, events: usize) -> usize {
        self.turns.partition_point(|&turn| (turn as usize) < events)
    }

    /// The numbers of the events that begin a row where the chunks of a region share one.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    pub fn malformed_at(&self) -> &[u32] {
        &self.malformed_at
    }

    pub fn error(&self, number: u32) -> &str {
        &self.errors[number as usize]
    }
}

fn pushed<T>(all: &mut Vec<T>, one: T) -> u32 {
    all.push(one);
    short(all.len() - 1)
}

/// Texts are shorter than 4 GiB: so much is not even read.
pub(super) fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn number(template: &ResponseTemplate, field: &str) -> u16 {
    let fields = template.fields().iter();
    let found = fields
        .take(u16::MAX as usize)
        .position(|known| known.name() == field);
    found.map_or(u16::MAX, |number| number as u16)
}
