//! Events kept in one room.

use super::{Event, OwnedEvent};

/// Events that stand on their own, with the text of all of them in one piece of memory.
///
/// An [`OwnedEvent`] takes a piece of memory for its field and one for its text. Here the text goes behind that
/// of the events before, so keeping a chunk costs little more than copying it, and a buffer that has been
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
    /// The texts of all chunks, one behind the other.
    texts: String,
    /// The fields of chunks, in their order; one for all chunks in a row. The last one stays when the
    /// buffer is cleared: the next chunk is mostly one of the same field.
    fields: Vec<String>,
    /// All events that are no chunks.
    others: Vec<OwnedEvent>,
}

/// An event, in the order in which they were added.
#[derive(Debug, Clone, Copy)]
enum Entry {
    Chunk {
        /// The number of its field.
        field: usize,
        /// Where its text ends; it begins where that of the chunk before ends.
        end: usize,
        dirty: bool,
    },
    /// The next of the others.
    Other,
}

impl EventBuffer {
    /// A buffer without events.
    pub fn new() -> EventBuffer {
        EventBuffer::default()
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: Event<'_>) {
        // Nearly all events are chunks, and nearly all chunks go on with the field of the one before.
        let Event::Chunk { field, text, dirty } = event else {
            return self.push_other(event);
        };
        if self.fields.last().is_none_or(|last| last != field) {
            self.begin_field(field);
        }
        self.texts.push_str(text);
        self.entries.push(Entry::Chunk {
            field: self.fields.len() - 1,
            end: self.texts.len(),
            dirty,
        });
    }

    #[cold]
    fn begin_field(&mut self, field: &str) {
        self.fields.push(field.into());
    }

    #[cold]
    fn push_other(&mut self, event: Event<'_>) {
        self.others.push(event.into_owned());
        self.entries.push(Entry::Other);
    }

    /// The events, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = Event<'_>> {
        let mut others = self.others.iter().map(OwnedEvent::as_event);
        let mut start = 0;
        self.entries.iter().filter_map(move |entry| match *entry {
            Entry::Chunk { field, end, dirty } => Some(Event::Chunk {
                field: &self.fields[field],
                text: &self.texts[std::mem::replace(&mut start, end)..end],
                dirty,
            }),
            Entry::Other => others.next(),
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
    #[inline]
    pub fn clear(&mut self) {
        self.entries.clear();
        self.texts.clear();
        self.others.clear();
        if self.fields.len() > 1 {
            self.fields.drain(..self.fields.len() - 1);
        }
    }
}
