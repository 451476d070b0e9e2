//! The rule that nothing in a region may be lost without a word.

use std::ops::{ControlFlow, Range};

use crate::value::Value;
use crate::white_space;

use super::RegionError;
use super::call_names;
use super::content::excerpt;
use super::delimiter::Delimiter;
use super::pattern::TooCostly;
use super::template::{Field, Inner};
use super::tools::Tools;

/// Checks that all of a region is read: its text, and the value that was made of it. What is left of what closes it, or
/// the turn, says nothing.
pub(super) fn check(
    inner: &Inner,
    field: &Field,
    text: &str,
    value: &Value,
    tools: &Tools,
) -> Result<(), RegionError> {
    let content = &field.content;
    let unread = content.passed_over(text).map_err(RegionError::Content)?;
    let mut closers = inner.fields.iter().filter_map(|field| field.close());
    let unread = unread.filter(|unread| {
        let rest = inner.without_end_of_turn(&text[unread.start..]);
        // What closes a call may look for another one without arguments behind itself.
        let begins = |open: &Delimiter| !matches!(open.find_at_end(rest), Ok(None));
        let is_left = !field.open().is_some_and(begins) && closers.any(|close| close.leaves(rest));
        says_something(&text[unread.clone()]) && !is_left
    });
    if let Some(unread) = unread {
        let unread = excerpt(&text[unread]);
        return Err(RegionError::Unread(format!("nothing reads {unread} in it")));
    }
    // Others are words that a value may well speak of.
    let opener = field.open().map(|open| open.compiled());
    if let Some(opener) = opener.filter(|opener| !opener.groups().is_empty())
        && let Some(found) = content
            .opener_in(text, opener)
            .map_err(RegionError::Content)?
    {
        let opener = excerpt(&text[found]);
        return Err(RegionError::Unread(format!(
            "another region of the field begins in it, with {opener}"
        )));
    }
    let is_parameter = |key: &str| {
        let name = call_names::name_of(value);
        name.is_some_and(|name| tools.declares(name, key))
    };
    let begun = content.tag_in_value(text, is_parameter);
    if let Some(found) = begun.map_err(RegionError::Content)? {
        let found = excerpt(&text[found]);
        return Err(RegionError::Unread(format!(
            "a value holds what begins another one, {found}"
        )));
    }
    let open = content.open_value(text).map_err(RegionError::Content)?;
    let open = open.zip(field.close());
    if let Some((value, close)) = open {
        let found = close.find_at_end(&text[value.clone()]);
        let found = found.map_err(|TooCostly| {
            RegionError::Unread("the search for what closes it takes too many steps".into())
        })?;
        if let Some(found) = found {
            let found = excerpt(&text[value][found]);
            return Err(RegionError::Unread(format!(
                "a value that nothing ends holds what closes the region, {found}"
            )));
        }
    }
    let missing = call_names::what_is_missing(value).filter(|_| field.name() == call_names::CALLS);
    missing.map_or(Ok(()), |missing| Err(RegionError::Unread(missing)))
}

/// Returns whether a text is more than signs, such as the brackets that close a call. What is lost would have a name.
fn says_something(text: &str) -> bool {
    text.contains(|c: char| !c.is_ascii_punctuation() && !white_space::is_space(c))
}

/// Checks that a text that stands in no region says nothing; it says something if it is more than delimiters, the beginning of a message, and what is left of them.
pub(super) fn check_outside(inner: &Inner, text: &str) -> Result<(), RegionError> {
    let delimiters = || inner.delimiters().chain([&inner.anchor]);
    let mut found: Vec<Range<usize>> = Vec::new();
    for delimiter in delimiters() {
        let searched = delimiter.compiled().for_each_match(text, |hit| {
            found.push(hit.start..hit.end);
            ControlFlow::Continue(())
        });
        searched.map_err(|TooCostly| {
            RegionError::Unread("the search for delimiters takes too many steps on it".into())
        })?;
    }
    found.sort_by_key(|range| range.start);
    let mut gaps = Vec::new();
    let mut from = 0;
    for range in found {
        gaps.push(from..range.start.max(from));
        from = range.end.max(from);
    }
    gaps.push(from..text.len());
    let mut gaps = gaps.into_iter().map(|gap| white_space::strip(&text[gap]));
    let is_left = |gap: &str| gap.is_empty() || delimiters().any(|one| one.leaves(gap));
    if gaps.all(is_left) {
        return Ok(());
    }
    let said = excerpt(white_space::strip(text));
    Err(RegionError::Unread(format!("no field takes {said}")))
}
