//! A conversation that was rendered: who says what in it, and what of it the model writes.

use std::ops::Range;
use std::path::Path;

use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::conversation::{Conversation, ConversationReader, Marking, MaskPolicy};
use unjinja::files::read_text;
use unjinja::format::ConversationSlot;

use super::loaded::OpenError;
use super::target::MAX_FILE;

/// A conversation, cut where who speaks changes, and where the model begins and ends.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenedConversation {
    /// The file, for people.
    pub name: String,
    pub(crate) text: String,
    pub(crate) stretches: Vec<Stretch>,
    /// What is to be said of it.
    pub(crate) notes: Vec<String>,
}

/// A stretch of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) range: Range<usize>,
    /// What it is, and the number of its message. What the template writes by itself is nothing of that.
    pub(crate) part: Option<(ConversationSlot, Option<usize>)>,
    pub(crate) is_written: bool,
}

impl OpenedConversation {
    /// Reads the text of a conversation that a chat template has written.
    pub(crate) fn load(
        path: &Path,
        chat: &ChatTemplate,
        base: &RenderInput,
    ) -> Result<OpenedConversation, OpenError> {
        let text = read_text(path, MAX_FILE).map_err(OpenError::plain)?;
        let name = path.display().to_string();
        let fail = |error: String| OpenError::plain(format!("{name}: {error}"));
        let reader = ConversationReader::new(chat, base);
        let reader = reader.map_err(|error| {
            OpenError::plain(format!("{}: {}: {error}", chat.name, error.of_question()))
        })?;
        let read = reader
            .read(&text)
            .map_err(|error| fail(error.to_string()))?;
        let mut notes = read.remarks.clone();
        notes.extend(read.objection(&text));
        let marking = Marking::of(chat, base, MaskPolicy::default());
        let masked = marking.and_then(|marking| marking.mask_text(&reader, &text));
        let written = match &masked {
            Ok(masked) => {
                notes.extend(masked.unmasked.iter().map(ToString::to_string));
                in_bytes(&text, masked.spans.ranges())
            }
            Err(error) => {
                notes.push(format!("it can't be told what the model writes: {error}"));
                Vec::new()
            }
        };
        if let Some(open) = read.ending.key() {
            notes.push(format!("open at the end: {open}"));
        }
        Ok(OpenedConversation {
            stretches: stretches(&text, &read, &written),
            name,
            text,
            notes,
        })
    }

    /// The number of the stretch that holds a byte, or of the last one.
    pub(crate) fn stretch_at(&self, byte: usize) -> usize {
        let after = self
            .stretches
            .partition_point(|stretch| stretch.range.end <= byte);
        after.min(self.stretches.len().saturating_sub(1))
    }
}

/// Stretches that are counted in characters, in bytes.
fn in_bytes(text: &str, spans: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let mut next = 0;
    let mut known = 0;
    let mut byte = |character: usize| {
        if let Some(ahead) = character.checked_sub(next) {
            known = places.nth(ahead).unwrap_or(text.len());
            next = character + 1;
        }
        known
    };
    let spans = spans.iter();
    spans.map(|span| byte(span.start)..byte(span.end)).collect()
}

fn stretches(text: &str, read: &Conversation, written: &[Range<usize>]) -> Vec<Stretch> {
    let mut parts: Vec<_> = read.parts.iter().collect();
    parts.sort_by_key(|part| part.range.start);
    let ranges = parts.iter().map(|part| &part.range).chain(written);
    let mut cuts: Vec<usize> = ranges.flat_map(|range| [range.start, range.end]).collect();
    cuts.extend([0, text.len()]);
    cuts.sort_unstable();
    cuts.dedup();
    let pairs = cuts.iter().zip(&cuts[1..]);
    let stretches = pairs.map(|(&start, &end)| {
        let next = parts.partition_point(|part| part.range.end <= start);
        let part = parts.get(next).filter(|part| part.range.start <= start);
        let span = written.partition_point(|span| span.end <= start);
        let span = written.get(span).filter(|span| span.start <= start);
        Stretch {
            range: start..end,
            part: part.map(|part| (part.slot, part.message)),
            is_written: span.is_some(),
        }
    });
    stretches.collect()
}
