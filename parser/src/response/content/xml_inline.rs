//! A flat sequence of tags, each an entry of an object.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

use foldhash::HashSet;

use crate::response::pattern::{Match, Pattern, TooCostly};
use crate::value::{Object, Value};

use super::{Allowance, Content, ContentError, parse_value};

/// The arguments of the `xml-inline` parser.
#[doc(hidden)]
#[derive(Debug)]
pub struct XmlInlineArgs {
    pub pattern: Arc<Pattern>,
    /// As the template spells it.
    pub spelling: String,
    /// The number of the group `key`, and that of `value` if the pattern has it.
    pub key: usize,
    pub value: Option<usize>,
    pub value_parser: Option<Box<Content>>,
    /// What the pattern looks for behind a tag, once somebody has asked; nothing if it looks for nothing.
    pub following: OnceLock<Option<Pattern>>,
    /// What begins a tag, up to its value, in the same way.
    pub head: OnceLock<Option<Pattern>>,
    /// A whole tag wherever it stands, in the same way.
    pub whole: OnceLock<Option<Pattern>>,
    pub merge_duplicates: bool,
    /// Whether a first value that is a list is one of the values that are merged, and not their list.
    pub lists_are_values: bool,
}

impl XmlInlineArgs {
    pub(super) fn parse(
        &self,
        text: &str,
        allowance: &mut Allowance,
    ) -> Result<Value, ContentError> {
        let mut object = Object::new();
        let mut merged = HashSet::default();
        let mut result = Ok(());
        self.pattern
            .for_each_match(text, |found| match self.entry(text, found, allowance) {
                Ok((key, value)) => {
                    self.add(&mut object, &mut merged, key, value);
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    result = Err(error);
                    ControlFlow::Break(())
                }
            })
            .map_err(|TooCostly| too_costly())?;
        result.map(|()| object.into())
    }

    /// What a match of the tags' pattern says.
    pub(super) fn entry<'t>(
        &self,
        text: &'t str,
        found: Match<'_>,
        allowance: &mut Allowance,
    ) -> Result<(&'t str, Value), ContentError> {
        let key = found
            .group(self.key)
            .ok_or_else(|| ContentError::new("`tag_pattern` matched without its group `key`"))?;
        let parser = self.value_parser.as_deref();
        let value = match self.value.map(|group| found.group(group)) {
            None => parse_value(parser, "", allowance)?,
            Some(Some(range)) => parse_value(parser, &text[range], allowance)?,
            // What did not take part has no text, and goes as it is where no text is needed.
            Some(None) if parser.is_none_or(Content::passes_on) => Value::Null,
            Some(None) => {
                return Err(ContentError::new(
                    "`tag_pattern` matched without its group `value`",
                ));
            }
        };
        Ok((&text[key], value))
    }

    /// Adds an entry to others, of which the values of some keys have been merged.
    fn add<'t>(
        &self,
        object: &mut Object,
        merged: &mut HashSet<&'t str>,
        key: &'t str,
        value: Value,
    ) {
        match object.get_mut(key).filter(|_| self.merge_duplicates) {
            None => {
                object.insert(key, value);
            }
            Some(Value::Array(values)) if !self.lists_are_values || merged.contains(key) => {
                values.push(value);
            }
            Some(first) => {
                let values = vec![std::mem::take(first), value];
                *first = values.into();
                merged.insert(key);
            }
        }
    }
}

pub(super) fn too_costly() -> ContentError {
    ContentError::new("`tag_pattern` takes too many steps on this text")
}
