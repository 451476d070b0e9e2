//! Where in a rendered probe the model's turns begin and end.

use std::ops::Range;

use crate::analysis::conversations::ProbeConversation;
use crate::chat_template::{RenderInput, Renderer};
use crate::markers::{boundary, common_prefix};

use super::spans::{HeaderSide, MaskPolicy};
use super::trace::{Outline, Trace};

/// A turn of the assistant in a rendering.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// What the model writes.
    pub(super) span: Range<usize>,
    /// All that the template writes for the message.
    pub(super) region: Range<usize>,
}

/// What borders are found by.
pub(super) struct Borders<'a> {
    pub(super) outline: &'a Outline,
    pub(super) renderer: &'a Renderer<'a>,
    pub(super) policy: MaskPolicy,
    /// The texts after which a turn begins.
    pub(super) headers: &'a [String],
    /// The tokens that end a turn.
    pub(super) ends: &'a [String],
    /// A question, as it is written alone.
    pub(super) question: String,
    /// What turns have shown of prompts before.
    pub(super) shown: ShownOfPrompts,
}

/// What turns show of the prompts for them. It counts for all turns: else the same text would be the model's in one
/// turn and not in another.
#[derive(Clone, Copy, Default)]
pub(super) struct ShownOfPrompts {
    /// Some turn begins with a part of what prompts write behind headers, and goes on otherwise. Then all of that
    /// is the model's.
    prefills_in_part: bool,
    /// Some turn goes on from all that its prompt has added to the conversation.
    goes_on: bool,
    /// Some turn does not.
    departs: bool,
}

impl ShownOfPrompts {
    /// Whether no prompt has written the header of any turn.
    pub(super) fn no_header_is_prompted(&self) -> bool {
        self.departs && !self.goes_on
    }
}

/// Where a word stands.
struct WordSpan<'w> {
    word: &'w str,
    range: Range<usize>,
}

/// The word that ends last in a text; each counts where it comes last.
fn last<'w>(words: &'w [String], text: &str) -> Option<WordSpan<'w>> {
    let places = words.iter().filter_map(|word| {
        let at = text.rfind(word.as_str())?;
        let range = at..at + word.len();
        Some(WordSpan { word, range })
    });
    places.max_by_key(|place| place.range.end)
}

fn first(words: &[String], text: &str) -> Option<usize> {
    words
        .iter()
        .filter_map(|word| text.find(word.as_str()))
        .min()
}

/// How much of a text another one stands for at its beginning, white space aside.
fn begins_but_for_blanks(beginning: &str, text: &str) -> Option<usize> {
    let solid = |c: &(usize, char)| !c.1.is_whitespace();
    let mut found = text.char_indices().filter(solid);
    let mut end = 0;
    for c in beginning.chars().filter(|c| !c.is_whitespace()) {
        let (at, other) = found.next()?;
        if other != c {
            return None;
        }
        end = at + c.len_utf8();
    }
    let blank = &beginning[beginning.trim_end().len()..];
    // What stands at the end tells whether a marker ends there.
    text[end..].starts_with(blank).then_some(end + blank.len())
}

impl Borders<'_> {
    /// The turns of a conversation, if it can be told of all where they begin and end. What they show of prompts is
    /// added to what was `seen`.
    pub(super) fn turns(
        &self,
        conversation: &ProbeConversation,
        trace: &Trace,
        seen: &mut ShownOfPrompts,
    ) -> Option<Vec<Turn>> {
        let messages = conversation.messages.iter().enumerate();
        let assistant = messages.filter(|(_, message)| message.is_assistant);
        assistant
            .map(|(index, _)| self.turn(conversation, index, trace, seen))
            .collect()
    }

    fn rendered(&self, input: &RenderInput) -> Option<String> {
        let rendering = self.renderer.render_short(input);
        rendering.ok().map(|rendering| rendering.text)
    }

    fn turn(
        &self,
        conversation: &ProbeConversation,
        index: usize,
        trace: &Trace,
        seen: &mut ShownOfPrompts,
    ) -> Option<Turn> {
        let text = trace.text.as_str();
        let messages = &conversation.messages;
        let prompt = self.rendered(&conversation.before(index, true))?;
        // What was said last before the turn, and is there with and without it.
        let before = messages[..index].iter().rev().find_map(|message| {
            let seen = message.words.iter();
            let seen = seen.filter(|word| prompt.contains(word.as_str()));
            let seen: Vec<String> = seen.cloned().collect();
            let place = last(&seen, text)?;
            Some((place.word.to_owned(), place.range.end))
        });
        let (word, before) = before?;
        let after = |text: &str| text.rfind(&word).map_or(0, |at| at + word.len());
        let tail = &text[before..];
        let shared_with = |other: &str| {
            let other = &other[after(other)..];
            let shared = common_prefix(other, tail);
            match shared == other.len() {
                true => shared,
                false => boundary(tail, shared),
            }
        };
        let prompted = shared_with(&prompt);
        let mut start = before + prompted;
        let ahead = &prompt[after(&prompt)..];
        let headers = self.headers.iter();
        let ends = headers.filter_map(|header| Some(ahead.rfind(header.as_str())? + header.len()));
        let header_end = ends
            .filter(|end| *end <= prompted)
            .max()
            .map(|end| before + end);
        let own = &messages[index].words;
        let own_first = first(own, tail).map(|at| before + at);
        let but_for_blanks = match prompted < ahead.len() {
            true => begins_but_for_blanks(ahead, tail),
            false => None,
        };
        let unprompted = self.rendered(&conversation.before(index, false))?;
        if unprompted.trim_end() != prompt.trim_end() {
            match prompted == ahead.len() || but_for_blanks.is_some() {
                true => seen.goes_on = true,
                false => seen.departs = true,
            }
        }
        if let Some(length) = but_for_blanks {
            start = before + length;
        } else if let Some(end) = header_end {
            let prefilled = !text[end..start].trim().is_empty();
            if prefilled && prompted < ahead.len() {
                seen.prefills_in_part = true;
            }
            if self.policy.prefilled || self.shown.prefills_in_part {
                start = end;
            }
            // What is written as one is not cut for this.
            start = self
                .value_at(trace, start)
                .filter(|value| *value >= end)
                .unwrap_or(start);
        } else if prompted < ahead.len() {
            // Before the header, a prompt is written otherwise than a conversation that goes on.
            let until = &text[before..own_first.unwrap_or(before)];
            let headers = self
                .headers
                .iter()
                .filter(|header| !header.trim().is_empty());
            let ends =
                headers.filter_map(|header| Some(until.find(header.as_str())? + header.len()));
            start = ends.min().map_or(start, |end| before + end);
        }
        let header_is_in = match self.policy.header {
            HeaderSide::Auto => self.shown.no_header_is_prompted(),
            side => side == HeaderSide::In,
        };
        if header_is_in {
            start = before + shared_with(&unprompted);
        }
        let next = messages[index + 1..]
            .iter()
            .find_map(|message| Some(before + first(&message.words, tail)?));
        let own_last = last(own, &text[..next.unwrap_or(text.len())]);
        let own_last = own_last.filter(|place| place.range.start >= before);
        let anchor = own_first.unwrap_or(start);
        let said = own_last.as_ref().map_or(start, |place| place.range.end);
        let around = trace.turns.iter().filter(|turn| {
            turn.start >= before
                && turn.start <= start.min(anchor)
                && turn.end >= said.max(anchor + 1)
        });
        let mut region = around.max_by_key(|turn| turn.len()).cloned();
        let mut end = match &region {
            Some(region) if next.is_none_or(|next| next >= region.end) => region.end,
            // The next message begins before the template is done with this one.
            _ => {
                let alone = self.rendered(&conversation.before(index + 1, false));
                let alone = alone.unwrap_or_default();
                let word = own_last.as_ref().map_or(word.as_str(), |place| place.word);
                let from = own_last.as_ref().map_or(before, |place| place.range.end);
                let behind = alone.rfind(word).map_or("", |at| &alone[at + word.len()..]);
                let behind = behind.trim_end();
                let shared = common_prefix(behind, &text[from..]);
                let end = match shared == behind.len() {
                    true => from + shared,
                    false => from + boundary(&text[from..], shared),
                };
                let value = self.value_at(trace, end);
                value.filter(|value| *value >= said).unwrap_or(end)
            }
        };
        end = end.max(said);
        let solid = |end: usize| text[..end].trim_end().len().max(said);
        let ended = |end: usize| {
            let mut ends = self.ends.iter();
            ends.find(|token| text[said..solid(end)].ends_with(token.as_str()))
        };
        // The token may be written where the next message begins; and behind the last turn there may be
        // another one, which ends the text.
        let rest = &text[end..];
        let blank = rest.len() - rest.trim_start().len();
        let is_last = index + 1 == messages.len();
        let mut ends = self.ends.iter();
        let token = ends.find(|token| match is_last {
            true => rest.trim() == token.as_str(),
            // What a question has, too, ends no turn of the assistant.
            false => {
                ended(end).is_none()
                    && rest[blank..].starts_with(token.as_str())
                    && !self.question.contains(token.as_str())
            }
        });
        end += token.map_or(0, |token| blank + token.len());
        if let Some(region) = &mut region {
            region.end = region.end.max(end);
        }
        let mut solid_end = solid(end);
        if !self.policy.ending
            && let Some(token) = ended(end)
        {
            solid_end = solid(solid_end - token.len());
        } else if self.policy.white_space {
            solid_end = end;
        }
        Some(Turn {
            span: start..solid_end.max(start),
            region: region.unwrap_or(before..end),
        })
    }

    /// Where the value begins within which a place lies, unless it stands in the template as it is.
    fn value_at(&self, trace: &Trace, place: usize) -> Option<usize> {
        let after = trace
            .writings
            .partition_point(|writing| writing.range.end <= place);
        let writing = trace.writings.get(after)?;
        let is_literal = self.outline.pieces.get(writing.piece)?.literal.is_some();
        (writing.range.start < place && !is_literal).then_some(writing.range.start)
    }
}
