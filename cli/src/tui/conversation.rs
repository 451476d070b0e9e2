//! Conversations: who says what in them, and what of them the model writes.

use std::ops::Range;
use std::path::Path;

use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::check::{CheckedConversation, ConversationCase, Failure};
use unjinja::conversation::{Conversation, ConversationReader, Marking, MaskPolicy, Masked};
use unjinja::files::read_text;
use unjinja::format::ConversationSlot;
use unjinja::{JsonString, Object, json};

use super::loaded::OpenError;
use super::target::MAX_FILE;
use crate::options::option_name;

/// A conversation, cut where who speaks changes, and where the model begins and ends.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OpenedConversation {
    /// The file or the case, for people.
    pub name: String,
    pub(crate) text: String,
    pub(crate) stretches: Vec<Stretch>,
    /// What is to be said of it.
    pub(crate) notes: Vec<String>,
    /// Whether it is as expected; none where it is no case of a fixture.
    pub(crate) passed: Option<bool>,
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
        let marking = Marking::of(chat, base, MaskPolicy::default());
        let masked = marking.and_then(|marking| marking.mask_text(&reader, &text));
        let masked = masked.map_err(|error| error.to_string());
        let mut conversation =
            OpenedConversation::of(name, text, Some(&read), masked.as_ref().ok());
        if let Err(why) = masked {
            let why = format!("it can't be told what the model writes: {why}");
            conversation.notes.push(why);
        }
        Ok(conversation)
    }

    /// A case of a fixture, with what is wrong with it.
    pub(crate) fn of_case(
        case: &ConversationCase,
        checked: &CheckedConversation,
    ) -> OpenedConversation {
        let (name, text) = (case.name.clone(), case.text.clone());
        let (read, masked) = (checked.read.as_ref(), checked.masked.as_ref());
        let mut conversation = OpenedConversation::of(name, text, read.ok(), masked.ok());
        conversation.passed = Some(checked.failures.is_empty());
        let wrong = checked.failures.iter().flat_map(what_is_wrong);
        conversation.notes.splice(0..0, wrong);
        conversation
    }

    fn of(
        name: String,
        text: String,
        read: Option<&Conversation>,
        masked: Option<&Masked>,
    ) -> OpenedConversation {
        let mut notes = Vec::new();
        if let Some(read) = read {
            notes.extend(read.remarks.iter().cloned());
            notes.extend(read.objection(&text));
        }
        let unmasked = masked.iter().flat_map(|masked| &masked.unmasked);
        notes.extend(unmasked.map(ToString::to_string));
        if let Some(open) = read.and_then(|read| read.ending.key()) {
            notes.push(format!("open at the end: {open}"));
        }
        let written = masked.map(|masked| in_bytes(&text, masked.spans.ranges()));
        OpenedConversation {
            stretches: stretches(&text, read, &written.unwrap_or_default()),
            name,
            text,
            notes,
            passed: None,
        }
    }

    /// The number of the stretch that holds a byte, or of the last one.
    pub(crate) fn stretch_at(&self, byte: usize) -> usize {
        let after = self
            .stretches
            .partition_point(|stretch| stretch.range.end <= byte);
        after.min(self.stretches.len().saturating_sub(1))
    }
}

/// What is wrong with a case, and what it is that differs.
fn what_is_wrong(failure: &Failure) -> Vec<String> {
    let mut words = vec![failure.explain(option_name)];
    let mut differ = |expected: String, actual: String| {
        words.push(format!("  expected: {expected}"));
        words.push(format!("  came:     {actual}"));
    };
    match failure {
        Failure::Written { expected, actual } => {
            let pairs = expected.iter().zip(actual);
            let same = pairs.take_while(|(expected, actual)| expected == actual);
            let at = same.count();
            let text = |texts: &[String]| match texts.get(at) {
                Some(text) => format!("{text:?}, number {}", at + 1),
                None => format!("nothing more than {at}"),
            };
            differ(text(expected), text(actual));
        }
        Failure::Renders { expected, actual } => {
            let pairs = expected.lines().zip(actual.lines());
            let at = pairs
                .take_while(|(expected, actual)| expected == actual)
                .count();
            let shown = |text: &str| match text.lines().nth(at) {
                Some(line) => format!("{line:?}, line {}", at + 1),
                None => format!("nothing more than {at} lines"),
            };
            differ(shown(expected), shown(actual));
        }
        Failure::Reads { expected, actual } => {
            let differs = expected.keys().chain(actual.keys()).find(|key| {
                let (expected, actual) =
                    (expected.get_json_string(key), actual.get_json_string(key));
                match (expected, actual) {
                    (Some(expected), Some(actual)) => !expected.total_eq(actual),
                    _ => true,
                }
            });
            let shown = |object: &Object, key: &JsonString| match object.get_json_string(key) {
                Some(value) => format!("{} {}", key.to_string_lossy(), json::write(value)),
                None => format!("no {}", key.to_string_lossy()),
            };
            if let Some(key) = differs {
                differ(shown(expected, key), shown(actual, key));
            }
        }
        _ => {}
    }
    words
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

fn stretches(text: &str, read: Option<&Conversation>, written: &[Range<usize>]) -> Vec<Stretch> {
    let mut parts: Vec<_> = read.into_iter().flat_map(|read| &read.parts).collect();
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
