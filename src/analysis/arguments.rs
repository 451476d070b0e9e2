//! How the arguments of a call are written: quoted as in JSON, or raw between markers.

use std::ops::Range;

use crate::format::{Dialect, ValueWriting};

use super::call_renderings::{ArgumentSpan, CallRenderings};
use super::call_shape::{Tagged, slots_in};
use super::delimiters::Delimiters;
use super::markers::{NAME_SLOT, common_prefix, common_suffix, is_marker, pieces};
use super::written_values;

/// How many brackets before the arguments are looked at.
const MAX_DEPTH: usize = 24;

/// How strings are quoted.
pub(super) struct Quoting {
    pub(super) open: String,
    pub(super) close: String,
    /// Whether keys are quoted, too.
    pub(super) keys: bool,
    pub(super) is_python_call: bool,
}

/// How strings are distinguished from numbers; `None` if they aren't.
pub(super) fn quoting(renderings: &CallRenderings, string: &ArgumentSpan) -> Option<Quoting> {
    let text = renderings.one_call.as_str();
    let (other, number) = renderings.number_span()?;
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
    /// How texts are written with these quotes, if there are no escapes.
    pub(super) fn wrapped(&self) -> ValueWriting {
        ValueWriting::Wrapped {
            open: self.open.clone(),
            close: self.close.clone(),
            always: true,
        }
    }

    /// Where the object of arguments stands.
    pub(super) fn object_range(&self, text: &str, span: &ArgumentSpan) -> Option<Range<usize>> {
        let ahead = text[..span.key.start].trim_end_matches(['"', '\'', '\\']);
        let ahead = ahead
            .strip_suffix(self.open.as_str())
            .unwrap_or(ahead)
            .trim_end();
        let mut start = ahead
            .len()
            .checked_sub(1)
            .filter(|_| ahead.ends_with('{'))?;
        let after = &text[span.value.end..];
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
    renderings: &CallRenderings,
    string: &ArgumentSpan,
    quoting: Option<&Quoting>,
) -> Option<(Tagged, Range<usize>)> {
    let text = renderings.one_call.as_str();
    // Quotes of JSON are the value's own. Others stand around it.
    let (quoting, quotes) = match quoting {
        Some(quoting) if quoting.open != "\"" => (None, Some(quoting)),
        quoting => (quoting, None),
    };
    let string = &with_quotes(string, quoting)?;
    let delimiters =
        two_arguments(renderings, quoting).or_else(|| one_argument(renderings, string))?;
    let Delimiters {
        open,
        close,
        separator,
    } = delimiters;
    let mut between = &text[string.key.end..string.value.start];
    let mut close = close.as_str();
    let mut quote = "";
    let mut writing = match quoting {
        Some(_) => ValueWriting::Json(Dialect::default()),
        None => ValueWriting::Raw,
    };
    if let Some(quotes) = quotes
        && let Some(before) = between.strip_suffix(quotes.open.as_str())
        && let Some(rest) = close.strip_prefix(quotes.close.as_str())
    {
        (between, close, quote) = (before, rest, quotes.close.as_str());
        writing = quotes.wrapped();
    }
    // What was found from two arguments must hold for one as well.
    let after = text.get(string.value.end..)?.strip_prefix(quote)?;
    if !text[..string.key.start].ends_with(&open) || !after.starts_with(close) {
        return None;
    }
    let start = string.key.start - open.len();
    let range = start..string.value.end + quote.len() + close.len();
    let tagged = Tagged {
        open,
        close: slots_in(close),
        separator,
        values: written_values::texts(between, writing),
    };
    text.get(range.clone()).map(|_| (tagged, range))
}

/// The span with the quotes around its value.
fn with_quotes(span: &ArgumentSpan, quoting: Option<&Quoting>) -> Option<ArgumentSpan> {
    let (open, close) = match quoting {
        Some(quoting) => (quoting.open.len(), quoting.close.len()),
        None => (0, 0),
    };
    Some(ArgumentSpan {
        key: span.key.clone(),
        value: span.value.start.checked_sub(open)?..span.value.end + close,
    })
}

/// What opens, closes and separates arguments, from a call with two.
fn two_arguments(renderings: &CallRenderings, quoting: Option<&Quoting>) -> Option<Delimiters> {
    let text = renderings.two_arguments.as_deref()?;
    let first = renderings.first_argument(text)?;
    let second = renderings.second_argument(text)?;
    let (first, second) = match first.key.start < second.key.start {
        true => (
            with_quotes(&first, quoting)?,
            with_quotes(&second, quoting)?,
        ),
        false => (
            with_quotes(&second, quoting)?,
            with_quotes(&first, quoting)?,
        ),
    };
    let between = text.get(first.value.end..second.key.start)?;
    if between.trim().is_empty() {
        return Some(Delimiters::separator(between));
    }
    let mut open = common_suffix(after_name(&text[..first.key.start]), between);
    let after = text.get(second.value.end..)?;
    // A quote behind a value closes it, if one stands before it, also where it stands before the first key.
    let quotes = ['"', '\''].into_iter();
    let mut quotes = quotes.filter(|quote| text[..first.value.start].ends_with(*quote));
    let closes = quotes.any(|quote| between.starts_with(quote) && after.starts_with(quote));
    if closes && open == between.len() {
        open -= 1;
    }
    let close = common_prefix(between, after).min(between.len() - open);
    Some(Delimiters::split(between, close, open))
}

/// What opens and closes an argument, if only turns with one are at hand.
fn one_argument(renderings: &CallRenderings, string: &ArgumentSpan) -> Option<Delimiters> {
    let text = renderings.one_call.as_str();
    let mut open = after_name(&text[..string.key.start]);
    if let Some(empty) = renderings.no_arguments.as_deref() {
        // What a call without arguments has as well belongs to the call.
        open = &open[common_prefix(open, after_name(empty))..];
    }
    let pieces = pieces(text.get(string.value.end..)?);
    let marker = pieces.iter().position(|piece| is_marker(piece));
    Some(Delimiters {
        open: open.to_owned(),
        close: marker.map_or_else(String::new, |at| pieces[..=at].concat()),
        ..Delimiters::default()
    })
}

/// What follows the last name in a text.
fn after_name(text: &str) -> &str {
    let name = text.rfind(NAME_SLOT);
    &text[name.map_or(0, |at| at + NAME_SLOT.len_utf8())..]
}
