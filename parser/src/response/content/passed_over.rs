//! Text that content parsers pass over.

use std::ops::{ControlFlow, Range};

use foldhash::HashMap;

use crate::response::pattern::{Meter, Pattern, TooCostly};
use crate::white_space;

use super::xml_inline::too_costly;
use super::{Content, ContentError, KvLinesArgs, Parser, XmlInlineArgs};

/// The signs around a text in quotes.
const QUOTES: [char; 2] = ['"', '\''];

impl Content {
    /// Finds the first text other than white space that no tag, line, key or value takes, or a tag or a line whose value another
    /// one of its key replaces. What a tag's pattern looks for behind the tag has been seen.
    pub(crate) fn passed_over(&self, text: &str) -> Result<Option<Range<usize>>, ContentError> {
        match &self.parser {
            Parser::XmlInline(args) => args.passed_over(text).map_err(|TooCostly| too_costly()),
            Parser::KvLines(args) => args.passed_over(text, self),
            // They read all of their text, or fail.
            Parser::Text | Parser::Int | Parser::Float | Parser::Bool => Ok(None),
            Parser::Json(_) | Parser::PythonCalls => Ok(None),
        }
    }

    /// Finds the place where a value holds what begins another tag that nothing ends: what was to end the value is missing. Only keys count that are known and
    /// that no other tag has, since a text may hold tags of its own, and speak of others.
    pub(crate) fn tag_in_value(
        &self,
        text: &str,
        is_key: impl Fn(&str) -> bool,
    ) -> Result<Option<Range<usize>>, ContentError> {
        match &self.parser {
            Parser::XmlInline(args) => args
                .tag_in_value(text, is_key)
                .map_err(|TooCostly| too_costly()),
            Parser::Text | Parser::Int | Parser::Float | Parser::Bool => Ok(None),
            Parser::Json(_) | Parser::PythonCalls | Parser::KvLines(_) => Ok(None),
        }
    }

    /// The last value, if nothing but the end of the text ends it.
    pub(crate) fn open_value(&self, text: &str) -> Result<Option<Range<usize>>, ContentError> {
        let text = text.trim_end_matches(white_space::is_space);
        let value = match &self.parser {
            Parser::XmlInline(args) => {
                let tags = args.tags(text).map_err(|TooCostly| too_costly())?;
                tags.into_iter().next_back().and_then(|tag| tag.value)
            }
            Parser::KvLines(args) => args.last_value(text),
            Parser::Text | Parser::Int | Parser::Float | Parser::Bool => None,
            Parser::Json(_) | Parser::PythonCalls => None,
        };
        Ok(value.filter(|value| value.end == text.len()))
    }

    /// The first match of a delimiter in the text of a region, where the parser takes for a value what was meant to end it.
    pub(crate) fn opener_in(
        &self,
        text: &str,
        opener: &Pattern,
    ) -> Result<Option<Range<usize>>, ContentError> {
        let mut meter = Meter::new(text.len());
        let found = match &self.parser {
            Parser::XmlInline(args) => args.opener_in(text, opener, &mut meter),
            Parser::KvLines(_) => opener.find_within(text, 0, &mut meter),
            // A text may hold what it likes; so may one within quotes.
            Parser::Text | Parser::Int | Parser::Float | Parser::Bool => Ok(None),
            Parser::Json(_) | Parser::PythonCalls => Ok(None),
        };
        found.map_err(|TooCostly| {
            ContentError::new("what opens the field takes too many steps on this text")
        })
    }
}

impl XmlInlineArgs {
    fn passed_over(&self, text: &str) -> Result<Option<Range<usize>>, TooCostly> {
        let mut meter = Meter::new(text.len());
        let mut seen = 0;
        let mut entries: HashMap<&str, (Range<usize>, &str)> = HashMap::default();
        for tag in self.tags(text)? {
            let unseen = self.unseen(text, seen..tag.whole.start, &mut meter)?;
            if unseen.is_some() {
                return Ok(unseen);
            }
            let said = tag.value.clone().map_or("", |value| &text[value]);
            let before = entries.insert(&text[tag.key], (tag.whole.clone(), said));
            if let Some((replaced, other)) = before
                && !self.merge_duplicates
                && other != said
            {
                return Ok(Some(replaced));
            }
            let within = self.value_parser.as_deref().zip(tag.value);
            if let Some((parser, value)) = within
                && let Ok(Some(unread)) = parser.passed_over(&text[value.clone()])
            {
                return Ok(Some(moved(unread, value.start)));
            }
            seen = tag.whole.end;
        }
        self.unseen(text, seen..text.len(), &mut meter)
    }

    /// The text between two tags, unless the pattern looks for it behind a tag.
    fn unseen(
        &self,
        text: &str,
        between: Range<usize>,
        meter: &mut Meter,
    ) -> Result<Option<Range<usize>>, TooCostly> {
        let Range { start, end } = between;
        let unseen = without_space(text, between);
        // Before the first tag, nothing has been looked for.
        if unseen.is_none() || start == 0 {
            return Ok(unseen);
        }
        let following = || Pattern::what_follows(&self.spelling);
        let seen = match self.following.get_or_init(following) {
            Some(following) => following.end_of_match_at(text, start, meter)?,
            None => None,
        };
        let seen = seen.unwrap_or(start).clamp(start, end);
        let is_seen = without_space(text, seen..end).is_none();
        Ok(unseen.filter(|_| !is_seen))
    }

    fn tag_in_value(
        &self,
        text: &str,
        is_key: impl Fn(&str) -> bool,
    ) -> Result<Option<Range<usize>>, TooCostly> {
        let Some((head, whole)) = self.parts() else {
            return Ok(None);
        };
        let mut meter = Meter::new(text.len());
        let tags = self.tags(text)?;
        // What the call has already, a value only speaks of.
        let is_there = |key: &str| tags.iter().any(|tag| &text[tag.key.clone()] == key);
        for value in tags.iter().filter_map(|tag| tag.value.clone()) {
            if is_quoted(text, &value) {
                continue;
            }
            let mut begun = Vec::new();
            head.for_each_match_within(&text[value.clone()], &mut meter, |found| {
                let key = found.group(self.key).unwrap_or_default();
                let key = &text[moved(key, value.start)];
                if is_key(key) && !is_there(key) {
                    begun.push(moved(found.start..found.end, value.start));
                }
                ControlFlow::Continue(())
            })?;
            for found in begun {
                if whole
                    .end_of_match_at(&text[..value.end], found.start, &mut meter)?
                    .is_none()
                {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// What a delimiter matches outside of texts in quotes, and of values that have their own end.
    fn opener_in(
        &self,
        text: &str,
        opener: &Pattern,
        meter: &mut Meter,
    ) -> Result<Option<Range<usize>>, TooCostly> {
        let Some(first) = opener.find_within(text, 0, meter)? else {
            return Ok(None);
        };
        let mut spoken_of = Vec::new();
        for tag in self.tags(text)? {
            if let Some(value) = &tag.value
                && (is_quoted(text, value) || self.ends_itself(text, &tag, meter)?)
            {
                spoken_of.push(value.clone());
            }
        }
        let mut found = Some(first);
        while let Some(hit) = found {
            let Some(around) = spoken_of.iter().find(|value| value.contains(&hit.start)) else {
                return Ok(Some(hit));
            };
            found = opener.find_within(text, around.end, meter)?;
        }
        Ok(None)
    }

    /// Returns whether a tag has its own end, and its value holds nothing that begins a tag: that end is then not one of another tag.
    fn ends_itself(&self, text: &str, tag: &Tag, meter: &mut Meter) -> Result<bool, TooCostly> {
        let (Some((head, whole)), Some(value)) = (self.parts(), &tag.value) else {
            return Ok(false);
        };
        let end = whole.end_of_match_at(text, tag.whole.start, meter)?;
        let is_ended = end.is_some_and(|end| end >= tag.whole.end);
        Ok(is_ended && head.find_within(&text[value.clone()], 0, meter)?.is_none())
    }

    /// What begins a tag, and a tag wherever it stands.
    fn parts(&self) -> Option<(&Pattern, &Pattern)> {
        let head = || Pattern::before_group(&self.spelling, "value");
        let whole = || Pattern::ending_itself(&self.spelling);
        let head = self.head.get_or_init(head).as_ref();
        head.zip(self.whole.get_or_init(whole).as_ref())
    }

    /// Finds its tags in a text.
    fn tags(&self, text: &str) -> Result<Vec<Tag>, TooCostly> {
        let mut tags = Vec::new();
        self.pattern.for_each_match(text, |found| {
            tags.push(Tag {
                whole: found.start..found.end,
                key: found.group(self.key).unwrap_or_default(),
                value: self.value.and_then(|group| found.group(group)),
            });
            ControlFlow::Continue(())
        })?;
        Ok(tags)
    }
}

/// Returns the place of a part of a text without the white space around it, if anything is left.
fn without_space(text: &str, part: Range<usize>) -> Option<Range<usize>> {
    let kept = white_space::strip(&text[part]);
    let start = kept.as_ptr() as usize - text.as_ptr() as usize;
    (!kept.is_empty()).then(|| start..start + kept.len())
}

fn moved(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

/// Returns whether a value stands in quotes, which may be a part of it.
fn is_quoted(text: &str, value: &Range<usize>) -> bool {
    let before = text[..value.start].chars().next_back();
    let first = text[value.clone()].chars().next();
    [before, first]
        .into_iter()
        .flatten()
        .any(|c| QUOTES.contains(&c))
}

/// A tag with its value.
struct Tag {
    whole: Range<usize>,
    key: Range<usize>,
    value: Option<Range<usize>>,
}

impl KvLinesArgs {
    /// The value of the last line, up to the end of the text.
    fn last_value(&self, text: &str) -> Option<Range<usize>> {
        let before = text.rfind(self.line_sep.as_str());
        let line = before.map_or(0, |at| at + self.line_sep.len());
        let separator = line + text[line..].find(self.kv_sep.as_str())?;
        Some(separator + self.kv_sep.len()..text.len())
    }

    fn passed_over(
        &self,
        text: &str,
        content: &Content,
    ) -> Result<Option<Range<usize>>, ContentError> {
        let mut start = 0;
        let mut entries: HashMap<&str, (Range<usize>, &str)> = HashMap::default();
        for line in text.split(self.line_sep.as_str()) {
            let whole = start..start + line.len();
            start = whole.end + self.line_sep.len();
            let Some((key, value)) = content.stripped(line).split_once(self.kv_sep.as_str()) else {
                match without_space(text, whole) {
                    None => continue,
                    unread => return Ok(unread),
                }
            };
            let value = content.stripped(value);
            let before = entries.insert(content.stripped(key), (whole, value));
            if let Some((replaced, other)) = before
                && other != value
            {
                return Ok(without_space(text, replaced));
            }
            let Some(parser) = &self.value_parser else {
                continue;
            };
            if let Some(unread) = parser.passed_over(value)? {
                let at = value.as_ptr() as usize - text.as_ptr() as usize;
                return Ok(Some(moved(unread, at)));
            }
        }
        Ok(None)
    }
}
