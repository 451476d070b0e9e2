//! Where in a rendered probe the model's turns begin and end.

use std::ops::Range;

use crate::analysis::conversations::ProbeConversation;
use crate::analysis::markers::{boundary, common_prefix};
use crate::chat_template::{RenderInput, Renderer};

use super::spans::MaskPolicy;
use super::trace::Trace;

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
    pub(super) renderer: &'a Renderer<'a>,
    pub(super) policy: MaskPolicy,
    /// The texts after which a turn begins.
    pub(super) headers: &'a [String],
    /// The tokens that end a turn. None that also stands where nothing has ended.
    pub(super) ends: Vec<String>,
}

/// Where a word stands.
struct Place<'w> {
    word: &'w str,
    range: Range<usize>,
}

/// The word that ends last in a text; each counts where it comes last.
fn last<'w>(words: &'w [String], text: &str) -> Option<Place<'w>> {
    let places = words.iter().filter_map(|word| {
        let at = text.rfind(word.as_str())?;
        let range = at..at + word.len();
        Some(Place { word, range })
    });
    places.max_by_key(|place| place.range.end)
}

fn first(words: &[String], text: &str) -> Option<usize> {
    words.iter().filter_map(|word| text.find(word.as_str())).min()
}

impl Borders<'_> {
    /// The turns of a conversation, if it can be told of all where they begin and end.
    pub(super) fn turns(&self, conversation: &ProbeConversation, trace: &Trace) -> Option<Vec<Turn>> {
        let messages = conversation.messages.iter().enumerate();
        let assistant = messages.filter(|(_, message)| message.is_assistant);
        assistant
            .map(|(index, _)| self.turn(conversation, index, trace))
            .collect()
    }

    fn rendered(&self, input: &RenderInput) -> Option<String> {
        let rendering = self.renderer.render(input);
        rendering.ok().map(|rendering| rendering.text)
    }

    fn turn(&self, conversation: &ProbeConversation, index: usize, trace: &Trace) -> Option<Turn> {
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
        if self.policy.prefilled {
            let ahead = &prompt[after(&prompt)..];
            let headers = self.headers.iter();
            let ends = headers.filter_map(|header| Some(ahead.rfind(header.as_str())? + header.len()));
            if let Some(end) = ends.filter(|end| *end <= prompted).max() {
                start = before + end;
            }
        }
        if self.policy.header {
            let unprompted = self.rendered(&conversation.before(index, false))?;
            start = before + shared_with(&unprompted);
        }
        let next = messages[index + 1..]
            .iter()
            .find_map(|message| Some(before + first(&message.words, tail)?));
        let own = &messages[index].words;
        let own_first = first(own, tail).map(|at| before + at);
        let own_last = last(own, &text[..next.unwrap_or(text.len())]);
        let own_last = own_last.filter(|place| place.range.start >= before);
        let anchor = own_first.unwrap_or(start);
        let said = own_last.as_ref().map_or(start, |place| place.range.end);
        let around = trace.turns.iter().filter(|turn| {
            turn.start >= before && turn.start <= anchor && turn.end > anchor
        });
        let region = around.max_by_key(|turn| turn.len()).cloned();
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
                match shared == behind.len() {
                    true => from + shared,
                    false => from + boundary(&text[from..], shared),
                }
            }
        };
        end = end.max(said);
        let solid = |end: usize| text[..end].trim_end().len().max(said);
        let ended = |end: usize| {
            let mut ends = self.ends.iter();
            ends.find(|token| text[said..solid(end)].ends_with(token.as_str()))
        };
        if ended(end).is_none() {
            // The token may be written where the next message begins.
            let rest = &text[end..];
            let blank = rest.len() - rest.trim_start().len();
            let mut ends = self.ends.iter();
            let token = ends.find(|token| rest[blank..].starts_with(token.as_str()));
            end += token.map_or(0, |token| blank + token.len());
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
}
