//! Events as JSON, one after the other.

use super::{Event, write_chunk_text, write_chunk_until_text};

/// Writes events as JSON, one after the other.
///
/// A chunk mostly differs from the one before in its text alone: then what stands before the text is left as it
/// was written for that one. So this costs less than [`Event::write_json`], which writes the same.
///
/// ```
/// use unjinja::{EventWriter, ParserOptions, ResponseParser, ResponseTemplate};
///
/// let template = ResponseTemplate::from_json(
///     r#"{"start_anchor": "A:", "fields": {"content": {"close": "<end>"}}}"#)?;
/// let mut parser = ResponseParser::new(&template, "", ParserOptions::default())?;
/// let mut writer = EventWriter::new();
/// let mut lines = Vec::new();
/// for chunk in ["Hel", "lo!", "<end>"] {
///     parser.feed_with(chunk, |event| lines.push(writer.write(&event).to_owned()))?;
/// }
/// assert_eq!(lines, [
///     r#"{"type":"region_open","field":"content"}"#,
///     r#"{"type":"region_chunk","field":"content","text":"Hel","dirty":false}"#,
///     r#"{"type":"region_chunk","field":"content","text":"lo!","dirty":false}"#,
///     r#"{"type":"region_close","field":"content","value":"Hello!"}"#,
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct EventWriter {
    /// The event that was written last.
    written: String,
    /// Where its text begins, if it is a chunk.
    text: Option<usize>,
    /// The field of that chunk.
    field: String,
}

impl EventWriter {
    /// A writer that has not written anything.
    pub fn new() -> EventWriter {
        EventWriter::default()
    }

    /// Writes an event as [`Event::write_json`] does. What was written before is gone.
    #[inline]
    pub fn write(&mut self, event: &Event<'_>) -> &str {
        let Event::Chunk { field, text, dirty } = event else {
            return self.write_other(event);
        };
        match self.text {
            Some(start) if self.field == *field => self.written.truncate(start),
            _ => self.begin_chunk(field),
        }
        write_chunk_text(&mut self.written, text, *dirty);
        &self.written
    }

    /// Writes what stands before the text of the chunks of a field.
    #[cold]
    fn begin_chunk(&mut self, field: &str) {
        self.written.clear();
        write_chunk_until_text(&mut self.written, field);
        self.text = Some(self.written.len());
        self.field.clear();
        self.field.push_str(field);
    }

    #[cold]
    fn write_other(&mut self, event: &Event<'_>) -> &str {
        self.written.clear();
        event.write_json(&mut self.written);
        self.text = None;
        &self.written
    }
}
