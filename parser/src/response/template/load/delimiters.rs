//! What opens and closes regions, and the anchor.

use crate::response::delimiter::{Delimiter, Spelling};
use crate::value::{Object, Value, pointer_below as below};

use super::Loader;
use super::limits::{MAX_LITERAL_CHARACTERS, MAX_LITERALS};

impl Loader<'_> {
    /// Reads what marks the beginning of the message in a prompt.
    pub(super) fn anchor(&mut self, object: &Object, pointer: &str) -> Option<Delimiter> {
        let keys = ["start_anchor", "start_anchor_pattern"];
        if keys.iter().any(|key| object.contains_key(key)) {
            return self.delimiter(object, pointer, keys[0], keys[1]);
        }
        self.fault_with(
            pointer,
            "there is no `start_anchor`",
            "give the text that begins the assistant's message in a prompt, or a \
             `start_anchor_pattern`",
        );
        None
    }

    /// Reads a delimiter that is spelled under one of two keys.
    pub(super) fn delimiter(
        &mut self,
        object: &Object,
        pointer: &str,
        literal_key: &str,
        pattern_key: &str,
    ) -> Option<Delimiter> {
        match (object.get(literal_key), object.get(pattern_key)) {
            (None, None) => None,
            (Some(_), Some(_)) => {
                self.fault_with(
                    &below(pointer, pattern_key),
                    format!("`{literal_key}` and `{pattern_key}` exclude each other"),
                    "keep one of them",
                );
                None
            }
            (Some(literals), None) => self.literals(literals, &below(pointer, literal_key)),
            (None, Some(pattern)) => {
                let place = below(pointer, pattern_key);
                let Some(text) = pattern.as_str() else {
                    self.expected(&place, "a regular expression as a string", pattern);
                    return None;
                };
                self.spelled(Spelling::Pattern(text.to_owned()), &place)
            }
        }
    }

    fn spelled(&mut self, spelling: Spelling, pointer: &str) -> Option<Delimiter> {
        let pattern = self.compiled(pointer, &spelling)?;
        Some(Delimiter::new(spelling, pattern))
    }

    fn literals(&mut self, value: &Value, pointer: &str) -> Option<Delimiter> {
        let single = std::slice::from_ref(value);
        let (values, is_list) = match value {
            Value::Array(values) => (values.as_slice(), true),
            _ => (single, false),
        };
        if values.is_empty() {
            self.fault_with(pointer, "the list has no literal", "name at least one");
            return None;
        }
        let texts = values.iter().filter_map(Value::as_str);
        let characters = texts.map(|text| text.chars().count()).sum();
        let remedy = "write an `open_pattern` or `close_pattern` for what they have in common";
        if self.refuse_more_than(MAX_LITERALS, (values.len(), "literals"), pointer, remedy)
            || self.refuse_more_than(
                MAX_LITERAL_CHARACTERS,
                (characters, "characters in literals"),
                pointer,
                "a part of each that nothing else has is enough",
            )
        {
            return None;
        }
        let mut literals: Vec<String> = Vec::new();
        let faults = self.faults.len();
        for (index, value) in values.iter().enumerate() {
            let place = match is_list {
                true => below(pointer, &index.to_string()),
                false => pointer.to_owned(),
            };
            match value.as_str() {
                None => self.expected(&place, "a string", value),
                Some("") => self.fault_with(
                    &place,
                    "an empty literal would match everywhere",
                    "write the text that the model writes",
                ),
                Some(literal) if literals.iter().any(|known| known == literal) => {}
                Some(literal) => literals.push(literal.into()),
            }
        }
        if self.faults.len() > faults {
            return None;
        }
        self.spelled(Spelling::Literals(literals), pointer)
    }
}
