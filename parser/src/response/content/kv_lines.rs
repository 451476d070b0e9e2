//! Lines of keys and values.

use crate::value::{Object, Value};

use super::{Allowance, Content, ContentError, parse_value};

/// The arguments of the `kv-lines` parser.
#[derive(Debug)]
pub struct KvLinesArgs {
    pub line_sep: String,
    pub kv_sep: String,
    pub value_parser: Option<Box<Content>>,
}

impl KvLinesArgs {
    pub(super) fn parse(
        &self,
        text: &str,
        content: &Content,
        allowance: &mut Allowance,
    ) -> Result<Value, ContentError> {
        let mut object = Object::new();
        for line in text.split(self.line_sep.as_str()) {
            if let Some((key, value)) = self.entry(line, content, allowance)? {
                object.insert(key, value);
            }
        }
        Ok(object.into())
    }

    /// What a line says, if it is an entry.
    pub(super) fn entry<'l>(
        &self,
        line: &'l str,
        content: &Content,
        allowance: &mut Allowance,
    ) -> Result<Option<(&'l str, Value)>, ContentError> {
        let line = content.stripped(line);
        let Some((key, value)) = line.split_once(self.kv_sep.as_str()) else {
            return Ok(None);
        };
        let value = content.stripped(value);
        let value = parse_value(self.value_parser.as_deref(), value, allowance)?;
        Ok(Some((content.stripped(key), value)))
    }
}
