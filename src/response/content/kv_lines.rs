//! Lines of keys and values.

use crate::value::{Object, Value};

use super::{Allowance, Content, ContentError, parse_value};

/// The arguments of the `kv-lines` parser.
#[derive(Debug)]
pub(crate) struct KvLinesArgs {
    pub(crate) line_sep: String,
    pub(crate) kv_sep: String,
    pub(crate) value_parser: Option<Box<Content>>,
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
            let line = content.stripped(line);
            if let Some((key, value)) = line.split_once(self.kv_sep.as_str()) {
                let value = content.stripped(value);
                let value = parse_value(self.value_parser.as_deref(), value, allowance)?;
                object.insert(content.stripped(key), value);
            }
        }
        Ok(object.into())
    }
}
