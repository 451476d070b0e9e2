//! Events kept in one room.

use super::{Event, OwnedEvent};

/// Events that stand on their own, with the text of all of them in one piece of memory.
///
/// An [`OwnedEvent`] takes a piece of memory for its field and one for its text. Here they go behind those of
/// the events before, so keeping a chunk costs little more than copying it, and a buffer that has been
/// [cleared](Self::clear) has room for the next ones.
///
/// ```
/// use unjinja::{Event, EventBuffer, ParserOptions, ResponseParser, ResponseTemplate};
///
/// let template = ResponseTemplate::from_json(
///     r#"{"start_anchor": "A:", "fields": {"content": {"close": "<end>"}}}"#)?;
/// let mut parser = ResponseParser::new(&template, "", ParserOptions::default())?;
/// let mut events = EventBuffer::new();
/// let mut texts = Vec::new();
/// for chunk in ["Hel", "lo!", "<end>"] {
///     events.clear();
///     parser.feed_with(chunk, |event| events.push(event))?;
///     for event in events.iter() {
///         if let Event::Chunk { field, text, .. } = event {
///             texts.push(format!("{field}: {text}"));
///         }
///     }
/// }
/// assert_eq!(texts, ["content: Hel", "content: lo!"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct EventBuffer {
    entries: Vec<Entry>,
    /// The fields and texts of all chunks, one behind the other. A field that is that of the chunk before
    /// stands there once.
    room: String,
}

#[derive(Debug, Clone)]
enum Entry {
    Chunk(Chunk),
    Other(Box<OwnedEvent>),
}

/// Where the parts of a chunk lie in the room.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    field: usize,
    field_end: usize,
    text: usize,
    text_end: usize,
    dirty: bool,
}

impl EventBuffer {
    /// A buffer without events.
    pub fn new() -> EventBuffer {
        EventBuffer::default()
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: Event<'_>) {
        let entry = match event {
            Event::Chunk { field, text, dirty } => Entry::Chunk(self.chunk(field, text, dirty)),
            other => Entry::Other(Box::new(other.into_owned())),
        };
        self.entries.push(entry);
    }

    #[inline]
    fn chunk(&mut self, field: &str, text: &str, dirty: bool) -> Chunk {
        let (from, to) = match self.entries.last() {
            Some(Entry::Chunk(last)) if &self.room[last.field..last.field_end] == field => {
                (last.field, last.field_end)
            }
            _ => {
                let from = self.room.len();
                self.room.push_str(field);
                (from, self.room.len())
            }
        };
        let start = self.room.len();
        self.room.push_str(text);
        Chunk {
            field: from,
            field_end: to,
            text: start,
            text_end: self.room.len(),
            dirty,
        }
    }

    /// The events, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Event<'_>> {
        self.entries.iter().map(|entry| match entry {
            Entry::Chunk(chunk) => Event::Chunk {
                field: &self.room[chunk.field..chunk.field_end],
                text: &self.room[chunk.text..chunk.text_end],
                dirty: chunk.dirty,
            },
            Entry::Other(event) => event.as_event(),
        })
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets the events, and keeps the room that they took.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.room.clear();
    }
}
