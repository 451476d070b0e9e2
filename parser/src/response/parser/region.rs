//! The region that is open, and what its text means.

use crate::response::RegionError;
use crate::response::allowance::{Exhausted, Growth};
use crate::response::call_names;
use crate::response::event::{Capture, Event};
use crate::response::guard::StringGuard;
use crate::response::language::Language;
use crate::response::message::check_place;
use crate::response::template::{Field, Inner};
use crate::response::tools::Tools;
use crate::response::transform::{Scope, Sources, Transform};
use crate::response::unread;
use crate::value::{Object, Value};
use crate::white_space::is_space;

use super::options::{OnUnread, ParserOptions, UnknownTools};

/// A region that is open.
#[derive(Debug, Clone)]
pub(super) struct Region {
    /// The number of its field.
    pub(super) field: usize,
    /// Where its text begins.
    pub(super) start: usize,
    /// What opened it, where it may be given back.
    pub(super) opening: String,
    /// The named groups of its delimiters, those that took part in the match.
    pub(super) captures: Vec<Capture>,
    /// Its text so far.
    pub(super) body: String,
    /// How much of the text has come out in chunks, where these are stripped, or never will.
    pub(super) reported: usize,
    /// Follows the strings of the text, where closing delimiters are ignored inside of them.
    pub(super) guard: Option<StringGuard>,
}

impl Region {
    /// The same region, of which no text has been kept.
    pub(super) fn without_text(&self) -> Region {
        Region {
            field: self.field,
            start: self.start,
            opening: String::new(),
            captures: Vec::new(),
            body: String::new(),
            reported: 0,
            guard: None,
        }
    }

    /// Takes text, and reports it.
    #[inline]
    pub(super) fn take(
        &mut self,
        field: &Field,
        text: &str,
        options: &ParserOptions,
        on_event: &mut (impl FnMut(Event<'_>) + ?Sized),
    ) {
        self.body.push_str(text);
        let text = match options.stripped_chunks && field.content.is_stripped_text() {
            true => self.next_stripped(text.len()),
            false => text,
        };
        if !text.is_empty() {
            on_event(Event::Chunk {
                field: &field.name,
                text,
                dirty: !field.content.streams(),
            });
        }
    }

    /// What may come out of the text, of which the last bytes are new, if the white space around all of
    /// it must not: what went before and was held back, and the new bytes, up to white space at their end.
    pub(super) fn next_stripped(&mut self, new: usize) -> &str {
        let before = self.body.len() - new;
        let kept = self.body[before..].trim_end_matches(is_space).len();
        if kept == 0 {
            return "";
        }
        let mut start = self.reported;
        if start == 0 {
            start = self.body.len() - self.body.trim_start_matches(is_space).len();
        }
        self.reported = before + kept;
        &self.body[start..self.reported]
    }

    /// The value of the region, now that all of its text has been read, if the options let it pass. It may take the text away.
    pub(super) fn checked_value(
        &mut self,
        inner: &Inner,
        message: &Object,
        options: &ParserOptions,
        growth: &mut Growth,
    ) -> Result<Value, RegionError> {
        let field = &inner.fields[self.field];
        let typing = (&options.tools, inner.language);
        let is_call = field.name() == call_names::CALLS;
        // The value of a plain text takes it away, and whoever reports an error has to show it.
        let text = (is_call && field.transform.is_none()).then(|| self.body.clone());
        let mut value = self.value(field, message, typing, growth)?;
        self.body = text.unwrap_or_else(|| std::mem::take(&mut self.body));
        if options.on_unread == OnUnread::Malformed {
            unread::check(inner, field, &self.body, &value, &options.tools)?;
        }
        if is_call {
            match options.unknown_tools {
                UnknownTools::Keep => {}
                UnknownTools::Text => call_names::check_offered(&value, &options.tools)?,
                UnknownTools::Drop => call_names::keep_offered(&mut value, &options.tools)?,
            }
        }
        Ok(value)
    }

    /// The value of the region, as the language has it.
    fn value(
        &mut self,
        field: &Field,
        message: &Object,
        (tools, language): (&Tools, Language),
        growth: &mut Growth,
    ) -> Result<Value, RegionError> {
        // Before the text is taken away: whoever reports an error has to show it.
        check_place(message, field)?;
        let mut value = match &field.transform {
            None => field.content.parse_owned(&mut self.body),
            Some(_) => field.content.parse(&self.body),
        }
        .map_err(RegionError::Content)?;
        if let Some(transform) = &field.transform {
            value = self.transformed(transform, field.transform_each, value, growth)?;
        }
        tools.cast(&mut value, language);
        if field.join.is_some() && value.as_json_string().is_none() {
            return Err(RegionError::Store(format!(
                "`join` needs strings, but this is {}",
                value.type_name()
            )));
        }
        if let Some(join) = &field.join
            && message.contains_key(&field.name)
        {
            growth.take(join.len()).map_err(|Exhausted| {
                too_large("`join` would make the message", "make it shorter")
            })?;
        }
        Ok(value)
    }

    fn transformed(
        &self,
        transform: &Transform,
        each: bool,
        value: Value,
        growth: &mut Growth,
    ) -> Result<Value, RegionError> {
        self.weigh(transform, each, &value, growth)?;
        let apply = |content, element| {
            let scope = Scope {
                captures: &self.captures,
                content,
                element,
            };
            transform.apply(scope).map_err(RegionError::Transform)
        };
        if !each {
            return apply(Some(value), None);
        }
        let Value::Array(values) = value else {
            let kind = value.type_name();
            return Err(RegionError::Transform(format!(
                "`transform_each` needs a list, but this is {kind}"
            )));
        };
        let transformed = values.into_iter().map(|element| match element {
            Value::Object(element) => apply(None, Some(element)),
            other => Err(RegionError::Transform(format!(
                "`transform_each` needs a list of objects, but this contains {}",
                other.type_name()
            ))),
        });
        Ok(transformed.collect::<Result<Vec<Value>, _>>()?.into())
    }

    /// Takes the bytes that transforming a value will make.
    fn weigh(
        &self,
        transform: &Transform,
        each: bool,
        value: &Value,
        growth: &mut Growth,
    ) -> Result<(), RegionError> {
        // What is refused takes nothing.
        let mut taken = growth.clone();
        let sources = |content, element| Sources {
            captures: &self.captures,
            content,
            element,
        };
        let weighed = match value {
            value if !each => transform.weigh(sources(Some(value), None), &mut taken),
            Value::Array(values) => values
                .iter()
                .filter_map(Value::as_object)
                .try_for_each(|element| transform.weigh(sources(None, Some(element)), &mut taken)),
            _ => Ok(()),
        };
        weighed.map_err(|Exhausted| {
            too_large(
                "the transform would make the message",
                "use each placeholder once, and short texts",
            )
        })?;
        *growth = taken;
        Ok(())
    }
}

fn too_large(what: &str, remedy: &str) -> RegionError {
    RegionError::TooLarge(format!("{what} many times as long as its text: {remedy}"))
}
