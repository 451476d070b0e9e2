//! What of a schema has no effect, or makes reading fail.

use crate::response::pattern::Pattern;
use crate::response_schema::schema::{ArrayShape, Parser, Shape, Steps};
use crate::spelling::did_you_mean;
use crate::value::{Object, pointer_below as below};

use super::{Loader, OWN_KEYS};

impl Loader<'_> {
    pub(super) fn warn_of_unknown_keys(&mut self, object: &Object, pointer: &str) {
        for key in object.keys() {
            let key = key.to_string_lossy();
            if !key.starts_with("x-") || OWN_KEYS.contains(&&*key) {
                continue;
            }
            let place = below(pointer, &key);
            match &*key {
                "x-mapping" | "x-mapping-regex" => self.warn(
                    &place,
                    format!("`{key}` has no effect: only readers before 5.4 knew it"),
                    "write what it mapped as `x-regex-substitutions`",
                ),
                _ => {
                    let remedy = did_you_mean(&key, &OWN_KEYS);
                    self.warn(&place, format!("`{key}` has no effect"), remedy);
                }
            }
        }
        if object.contains_key("x-parser-args") && !object.contains_key("x-parser") {
            let message = "it has no effect without `x-parser`";
            self.warn(&below(pointer, "x-parser-args"), message, "");
        }
    }

    /// Warns of what makes reading fail wherever it gets this far.
    pub(super) fn warn_of_failures(&mut self, steps: &Steps, pointer: &str) {
        let place = |key| below(pointer, key);
        if let Some(regex) = &steps.regex {
            self.warn_of_groups(regex, &place("x-regex"));
        }
        if let Some(iterator) = &steps.iterator {
            self.warn_of_groups(iterator, &place("x-regex-iterator"));
            if !matches!(steps.shape, Shape::Array(_)) {
                let message = "reading fails here, since this is not an `array`";
                self.warn(
                    &place("x-regex-iterator"),
                    message,
                    "add `\"type\": \"array\"`",
                );
            }
        }
        if let Some(pattern) = &steps.key_value {
            let has = |name: &str| pattern.groups().iter().any(|group| group == name);
            if !has("key") || !has("value") {
                let message =
                    "reading fails here, since the pattern has no groups `key` and `value`";
                self.warn(
                    &place("x-regex-key-value"),
                    message,
                    "name them `(?P<key>…)` and `(?P<value>…)`",
                );
            }
            if !matches!(steps.shape, Shape::Object(_)) {
                let message = "reading fails here, since this is not an `object`";
                self.warn(
                    &place("x-regex-key-value"),
                    message,
                    "add `\"type\": \"object\"`",
                );
            }
        }
        if let Some(Parser::Unknown(name)) = &steps.parser {
            let message = format!("there is no parser `{name}`, so reading fails here");
            let remedy = did_you_mean(name, &Parser::NAMES);
            self.warn(&place("x-parser"), message, remedy);
        }
        match &steps.shape {
            Shape::Unknown(name) => {
                let message = format!("there is no type `{name}`, so reading fails here");
                self.warn(&place("type"), message, did_you_mean(name, &Shape::NAMES));
            }
            Shape::Array(ArrayShape::Nothing) => {
                let message = "reading fails here, since nothing reads the items of the array";
                self.warn(pointer, message, "add `items` or `prefixItems`");
            }
            _ => {}
        }
    }

    fn warn_of_groups(&mut self, pattern: &Pattern, place: &str) {
        let groups = pattern.groups();
        if groups.iter().all(String::is_empty) && groups.len() != 1 {
            let message = match groups.len() {
                0 => "reading fails here, since the pattern has no group".to_owned(),
                count => {
                    format!("reading fails here, since the pattern has {count} groups, none named")
                }
            };
            let remedy = "put what is to be read into one `(…)`, and write `(?:…)` otherwise";
            self.warn(place, message, remedy);
        }
    }
}
