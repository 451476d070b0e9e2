//! How the arguments of a call are written: quoted as in JSON, or raw between markers.

use std::ops::Range;

use super::calls::{Samples, Slot, Spot, slots, spot};
use super::markers::{NAME_SLOT, common_prefix, common_suffix};

/// How many brackets before the arguments are looked at.
const MAX_DEPTH: usize = 24;

/// Arguments that stand raw between markers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tagged {
    /// What stands before a key.
    pub open: String,
    /// What stands between key and value: one text, or several where it tells the value's type.
    pub between: Vec<String>,
    /// What stands after a value; some formats name the key there once more.
    pub close: Vec<Slot>,
    /// What stands between two arguments.
    pub separator: String,
    /// Whether all values are JSON, texts too.
    pub json_values: bool,
}

/// How strings are quoted.
pub(super) struct Quoting {
    pub(super) open: String,
    pub(super) close: String,
    /// Whether keys are quoted, too.
    pub(super) keys: bool,
    pub(super) is_python_call: bool,
}

/// How strings are told from numbers; `None` if they aren't.
pub(super) fn quoting(samples: &Samples, string: &Spot) -> Option<Quoting> {
    let text = samples.one.as_str();
    let (other, number) = samples.number_spot()?;
    let before = &text[string.key.end..string.value.start];
    let before_number = &other[number.key.end..number.value.start];
    let open = before
        .strip_prefix(before_number)
        .filter(|open| !open.is_empty())?;
    let (after, after_number) = (&text[string.value.end..], &other[number.value.end..]);
    let close = after.strip_suffix(after_number).unwrap_or(open);
    let ahead = &text[..string.key.start];
    Some(Quoting {
        open: open.to_owned(),
        close: close.to_owned(),
        keys: ahead.ends_with(open) || ahead.ends_with(['"', '\'']),
        is_python_call: before_number.trim_end().ends_with('='),
    })
}

impl Quoting {
    /// Where the object of arguments stands.
    pub(super) fn object_range(&self, text: &str, spot: &Spot) -> Option<Range<usize>> {
        let ahead = text[..spot.key.start].trim_end_matches(['"', '\'', '\\']);
        let ahead = ahead
            .strip_suffix(self.open.as_str())
            .unwrap_or(ahead)
            .trim_end();
        let mut start = ahead
            .len()
            .checked_sub(1)
            .filter(|_| ahead.ends_with('{'))?;
        let after = &text[spot.value.end..];
        let rest = after.strip_prefix(self.close.as_str())?.trim_start();
        let rest = rest.strip_prefix('}')?;
        let mut end = text.len() - rest.len();
        if self.open == "\\\"" && text[..start].ends_with('"') && rest.starts_with('"') {
            start -= 1;
            end += 1;
        }
        Some(start..end)
    }

    /// The objects and lists around a range, the outermost first.
    pub(super) fn containers(&self, text: &str, inner: &Range<usize>) -> Vec<Range<usize>> {
        let starts = text[..inner.start]
            .rmatch_indices(['{', '['])
            .take(MAX_DEPTH);
        let mut ranges: Vec<Range<usize>> = starts
            .filter_map(|(start, _)| {
                let end = self.balanced(text, start)?;
                (end >= inner.end).then_some(start..end)
            })
            .collect();
        ranges.reverse();
        ranges
    }

    /// Where the bracket closes that opens at a position.
    fn balanced(&self, text: &str, start: usize) -> Option<usize> {
        let mut depth = 0_usize;
        let mut at = start;
        while let Some(c) = text[at..].chars().next() {
            if let Some(inside) = self.string_length(&text[at..]) {
                at += inside;
                continue;
            }
            match c {
                '{' | '[' => depth += 1,
                '}' | ']' => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
            at += c.len_utf8();
        }
        None
    }

    /// The length of a string that begins here.
    fn string_length(&self, rest: &str) -> Option<usize> {
        let (open, close) = match rest.starts_with('"') {
            true => ("\"", "\""),
            false => (self.open.as_str(), self.close.as_str()),
        };
        let body = rest.strip_prefix(open)?;
        let mut from = 0;
        loop {
            let end = from + body[from..].find(close)?;
            if close != "\"" || !body[..end].ends_with('\\') {
                return Some(open.len() + end + close.len());
            }
            from = end + 1;
        }
    }

    /// The text of a probe as JSON; its strings hold nothing that could be mistaken.
    pub(super) fn to_json(&self, text: &str) -> String {
        let mut json = text.to_owned();
        if !self.open.contains('\\') {
            json = json.replace(&self.open, "\"").replace(&self.close, "\"");
        }
        if self.keys {
            return json;
        }
        let mut out = String::new();
        let mut rest = json.as_str();
        while let Some(at) = rest.find(['{', ',']) {
            out.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            let name = rest.trim_start();
            let length = name
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(0);
            if length > 0 && name[length..].trim_start().starts_with(':') {
                out.push('"');
                out.push_str(&name[..length]);
                out.push('"');
                rest = &name[length..];
            }
        }
        out.push_str(rest);
        out
    }
}

/// How arguments stand between markers, and where they do in a turn with one. If values have quotes
/// there, the quotes are theirs.
pub(super) fn tagged(
    samples: &Samples,
    string: &Spot,
    quoting: Option<&Quoting>,
) -> Option<(Tagged, Range<usize>)> {
    let text = samples.one.as_str();
    let string = &widened(string, quoting)?;
    let name_end = |text: &str, before: usize| {
        let name = text[..before].rfind(NAME_SLOT);
        name.map_or(0, |at| at + NAME_SLOT.len_utf8())
    };
    let mut lead = &text[name_end(text, string.key.start)..string.key.start];
    if let Some(empty) = samples.empty.as_deref() {
        // What a call without arguments has as well belongs to the call.
        let after_name = &empty[name_end(empty, empty.len())..];
        lead = &lead[common_prefix(lead, after_name)..];
    }
    let (open, close, separator) = match pair(samples, quoting) {
        Some(found) => found,
        None => (
            lead.to_owned(),
            first_piece_after(text, string),
            String::new(),
        ),
    };
    let mut between = vec![text[string.key.end..string.value.start].to_owned()];
    if let Some((other, number)) = samples.number_spot() {
        let variant = &other[number.key.end..number.value.start];
        if variant != between[0] {
            between.push(variant.to_owned());
        }
    }
    // What two arguments have told must hold for one as well.
    let is_there = text[..string.key.start].ends_with(&open)
        && text.get(string.value.end..)?.starts_with(&close);
    if !is_there {
        return None;
    }
    let start = string.key.start - open.len();
    let range = start..string.value.end + close.len();
    let tagged = Tagged {
        open,
        between,
        close: slots(&close),
        separator,
        json_values: quoting.is_some(),
    };
    text.get(range.clone()).map(|_| (tagged, range))
}

/// The spot with the quotes around its value.
fn widened(spot: &Spot, quoting: Option<&Quoting>) -> Option<Spot> {
    let (open, close) = match quoting {
        Some(quoting) => (quoting.open.len(), quoting.close.len()),
        None => (0, 0),
    };
    Some(Spot {
        key: spot.key.clone(),
        value: spot.value.start.checked_sub(open)?..spot.value.end + close,
    })
}

/// What opens, closes and separates arguments, from a call with two.
fn pair(samples: &Samples, quoting: Option<&Quoting>) -> Option<(String, String, String)> {
    let text = samples.pair.as_deref()?;
    let words = &samples.words;
    let first = spot(text, &words.keys[0], &words.values[0])?;
    let second = spot(text, &words.keys[1], &words.values[1])?;
    let (first, second) = match first.key.start < second.key.start {
        true => (widened(&first, quoting)?, widened(&second, quoting)?),
        false => (widened(&second, quoting)?, widened(&first, quoting)?),
    };
    let between = text.get(first.value.end..second.key.start)?;
    let name = text[..first.key.start].rfind(NAME_SLOT);
    let ahead = &text[name.map_or(0, |at| at + NAME_SLOT.len_utf8())..first.key.start];
    if between.trim().is_empty() {
        return Some((String::new(), String::new(), between.to_owned()));
    }
    let open = common_suffix(ahead, between);
    let after = text.get(second.value.end..)?;
    let close = common_prefix(between, after).min(between.len() - open);
    Some((
        between[between.len() - open..].to_owned(),
        between[..close].to_owned(),
        between[close..between.len() - open].to_owned(),
    ))
}

/// What closes an argument if only turns with one are at hand.
fn first_piece_after(text: &str, spot: &Spot) -> String {
    let after = &text[spot.value.end..];
    let pieces = super::markers::pieces(after);
    let marker = pieces
        .iter()
        .position(|piece| super::markers::is_marker(piece));
    marker.map_or_else(String::new, |at| pieces[..=at].concat())
}
