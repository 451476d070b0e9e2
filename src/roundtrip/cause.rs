//! Why a prompt ceases to be what was written before.

use std::fmt;

use crate::json;
use crate::markers::{common_prefix, is_marker, pieces};
use crate::value::{Number, Value};

use super::Way;
use super::forms::thoughts;

/// Why a prompt ceases to be what was written before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Cause {
    /// What stood before the output is written otherwise: former turns lose their thoughts, or definitions move.
    History,
    /// What the prompt had begun of the turn, such as an opened `<think>`, is not there any more.
    Prefill,
    /// Markers around nothing are left out or written anew: a place for thoughts where there were none.
    EmptyPlace,
    /// The thoughts are left out.
    ThoughtDropped,
    /// The text is left out, or it was not read.
    ContentDropped,
    /// A call is left out, or it was not read.
    CallDropped,
    /// The text, the thoughts and the calls stand in another order.
    Order,
    /// Within JSON, keys stand in another order.
    KeyOrder,
    /// Within JSON, a number is written differently: `1.0` and `1`.
    NumberFormat,
    /// Within JSON, the same values are written with other blanks or escapes.
    JsonStyle,
    /// Only white space differs.
    WhiteSpace,
    /// All that was said is there, and the turn ends differently.
    Ending,
    /// Something else.
    Other,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 13] = [
        Cause::History,
        Cause::Prefill,
        Cause::EmptyPlace,
        Cause::ThoughtDropped,
        Cause::ContentDropped,
        Cause::CallDropped,
        Cause::Order,
        Cause::KeyOrder,
        Cause::NumberFormat,
        Cause::JsonStyle,
        Cause::WhiteSpace,
        Cause::Ending,
        Cause::Other,
    ];

    /// A name for programs.
    pub fn key(self) -> &'static str {
        match self {
            Cause::History => "history",
            Cause::Prefill => "prefill",
            Cause::EmptyPlace => "empty_place",
            Cause::ThoughtDropped => "thought_dropped",
            Cause::ContentDropped => "content_dropped",
            Cause::CallDropped => "call_dropped",
            Cause::Order => "order",
            Cause::KeyOrder => "key_order",
            Cause::NumberFormat => "number_format",
            Cause::JsonStyle => "json_style",
            Cause::WhiteSpace => "white_space",
            Cause::Ending => "ending",
            Cause::Other => "other",
        }
    }

    /// What it means, in words.
    pub fn description(self) -> &'static str {
        match self {
            Cause::History => "the text before the output is written differently",
            Cause::Prefill => "the part of the turn that the prompt began is gone",
            Cause::EmptyPlace => "markers around an empty text appear or disappear",
            Cause::ThoughtDropped => "the thoughts are left out",
            Cause::ContentDropped => "the text is left out, or was not read",
            Cause::CallDropped => "a call is left out, or was not read",
            Cause::Order => "thoughts, text and calls are in another order",
            Cause::KeyOrder => "keys of JSON are in another order",
            Cause::NumberFormat => "a number is written differently",
            Cause::JsonStyle => "JSON has different blanks or escapes",
            Cause::WhiteSpace => "only white space differs",
            Cause::Ending => "the turn ends differently",
            Cause::Other => "something else differs",
        }
    }

    /// Why a way departs at a byte of what was written.
    pub(super) fn of(way: &Way, at: usize) -> Cause {
        let (written, rendered) = (&way.written[at..], &way.rendered[at..]);
        if at < way.output_at {
            // What stands behind the last message belongs to the turn.
            let is_said = way.said_last().is_none_or(|end| at < end);
            return match (is_said, same_but_for_blanks(written, rendered)) {
                (true, _) => Cause::History,
                (false, true) => Cause::WhiteSpace,
                (false, false) => match thoughts(&way.message) {
                    Some(thoughts) if !holds(rendered, thoughts) => Cause::ThoughtDropped,
                    _ => Cause::Prefill,
                },
            };
        }
        if let Some(cause) = in_json(way, at) {
            return cause;
        }
        if same_but_for_blanks(written, rendered) {
            return Cause::WhiteSpace;
        }
        if skips_markers(written, rendered) || skips_markers(rendered, written) {
            return Cause::EmptyPlace;
        }
        let turn = &way.rendered[way.output_at.min(way.rendered.len())..];
        let content = way
            .message
            .get("content")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let calls = way
            .message
            .get("tool_calls")
            .and_then(Value::as_array)
            .unwrap_or_default();
        let names = calls
            .iter()
            .filter_map(|call| call.get("function")?.get("name")?.as_str());
        let names: Vec<&str> = names.collect();
        if thoughts(&way.message).is_some_and(|thoughts| !holds(turn, thoughts)) {
            return Cause::ThoughtDropped;
        }
        if !holds(turn, content) {
            return Cause::ContentDropped;
        }
        if names.iter().any(|name| !turn.contains(name)) {
            return Cause::CallDropped;
        }
        // What was said is there; is it before this place?
        let rest_said = [content]
            .into_iter()
            .chain(names)
            .chain(thoughts(&way.message));
        let is_ahead = rest_said
            .filter(|said| !said.trim().is_empty())
            .any(|said| holds(written, said));
        match is_ahead {
            true => Cause::Order,
            false if written.len() < MAX_ENDING => Cause::Ending,
            false => Cause::Other,
        }
    }
}

/// How long what ends a turn may be, in bytes.
const MAX_ENDING: usize = 40;

impl Way {
    /// Where in the prompt ends what was said last before the output.
    fn said_last(&self) -> Option<usize> {
        let behind = &self.written[..self.output_at];
        let messages = self.next.messages.as_array()?;
        let turn = messages.iter().rposition(|message| {
            message.get("role").and_then(Value::as_str) == Some("assistant")
        })?;
        let mut texts = messages[..turn].iter().rev().filter_map(|message| {
            let text = message.get("content")?.as_str()?.trim();
            (!text.is_empty()).then_some(text)
        });
        texts.find_map(|text| Some(behind.rfind(text)? + text.len()))
    }
}

/// Whether a text stands in another one, but for white space at its ends.
fn holds(text: &str, said: &str) -> bool {
    text.contains(said.trim())
}

/// Whether a text goes on as another one does behind a few markers.
fn skips_markers(text: &str, other: &str) -> bool {
    let mut at = 0;
    for piece in pieces(text) {
        if !piece.trim().is_empty() && !is_marker(piece.trim()) {
            break;
        }
        at += piece.len();
        if at > MAX_MARKERS {
            break;
        }
        if is_marker(piece.trim()) && same_but_for_blanks(&text[at..], other) {
            return true;
        }
    }
    false
}

/// How long markers around nothing may be together, in bytes.
const MAX_MARKERS: usize = 200;

/// Whether two texts go on alike but for white space.
fn same_but_for_blanks(written: &str, rendered: &str) -> bool {
    let solid = |text: &'_ str| {
        text.chars()
            .filter(|c| !c.is_whitespace())
            .take(ALIKE)
            .collect::<String>()
    };
    let (written, rendered) = (solid(written), solid(rendered));
    let shorter = written.chars().count();
    (shorter > 0 || rendered.is_empty()) && rendered.starts_with(&written)
}

/// So many characters that go on alike are no chance.
const ALIKE: usize = 16;

/// What differs within JSON that both texts have around a place.
fn in_json(way: &Way, at: usize) -> Option<Cause> {
    let opens = way.written[way.output_at..at].char_indices().rev();
    let opens = opens.filter(|(_, c)| matches!(c, '{' | '[')).take(MAX_OPEN);
    let mut found = None;
    for (open, _) in opens {
        let start = way.output_at + open;
        let values = [&way.written, &way.rendered].map(|text| value_at(text, start));
        if let [Some(written), Some(rendered)] = values {
            found = compare(&written, &rendered).or(found);
        }
    }
    match found {
        Some(Cause::JsonStyle) if parts_in_number(&way.written, &way.rendered) => {
            Some(Cause::NumberFormat)
        }
        found => found,
    }
}

/// Whether two texts of the same JSON part amid a number: it is the same, so it was written in another way.
fn parts_in_number(written: &str, rendered: &str) -> bool {
    let shared = common_prefix(written, rendered);
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let next = [written, rendered].map(|text| text[shared..].chars().next());
    let goes_on = |c: &Option<char>| c.is_some_and(|c| c.is_ascii_digit() || ".eE".contains(c));
    // Digits that stand together are not parted.
    let is_behind = is_digit(written[..shared].chars().next_back());
    next.iter().all(|c| is_digit(*c)) || (is_behind && next.iter().any(goes_on))
}

/// How many brackets before a place are tried.
const MAX_OPEN: usize = 64;

/// The JSON that begins at a place of a text.
fn value_at(text: &str, start: usize) -> Option<Value> {
    let rest = text.get(start..)?;
    let (mut depth, mut in_string, mut is_escaped) = (0usize, false, false);
    for (at, c) in rest.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if in_string => is_escaped = true,
            '"' => in_string = !in_string,
            '{' | '[' if !in_string => depth += 1,
            '}' | ']' if !in_string => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return json::read(&rest[..=at]).ok();
                }
            }
            _ => {}
        }
    }
    None
}

/// How two values differ that are written otherwise; `None` if they say something else.
fn compare(written: &Value, rendered: &Value) -> Option<Cause> {
    let mut cause = Cause::JsonStyle;
    alike(written, rendered, &mut cause).then_some(cause)
}

fn alike(one: &Value, other: &Value, cause: &mut Cause) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            if one
                .iter()
                .map(|(key, _)| key)
                .ne(other.iter().map(|(key, _)| key))
            {
                *cause = Cause::KeyOrder;
            }
            one.len() == other.len()
                && one.iter().all(|(key, value)| {
                    let key = key.to_string_lossy();
                    other
                        .get(&key)
                        .is_some_and(|other| alike(value, other, cause))
                })
        }
        (Value::Array(one), Value::Array(other)) => {
            let mut both = one.iter().zip(other);
            one.len() == other.len() && both.all(|(one, other)| alike(one, other, cause))
        }
        (Value::Number(one), Value::Number(other)) => {
            let [left, right] = [one, other].map(Number::to_string);
            if left != right && *cause == Cause::JsonStyle {
                *cause = Cause::NumberFormat;
            }
            left == right || left.parse::<f64>().ok() == right.parse::<f64>().ok()
        }
        (one, other) => one == other,
    }
}

/// Its [`key`](Self::key).
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}
