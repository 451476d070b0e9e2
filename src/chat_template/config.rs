//! What JSON files say: `tokenizer_config.json`, `processor_config.json`, `chat_template.json` and
//! `special_tokens_map.json`.

use std::path::Path;

use crate::json;
use crate::position::Position;
use crate::value::{Object, Value, pointer_below};

use super::error::LoadError;
use super::text_file::{file_name, is_there, read_text};
use super::token::{Token, content};
use super::variant::Templates;

/// A JSON file that holds an object.
pub(super) struct Config {
    /// What errors call it.
    name: String,
    origin: String,
    text: String,
    members: Object,
}

impl Config {
    pub(super) fn read(path: &Path) -> Result<Self, LoadError> {
        Self::parse(
            path.display().to_string(),
            file_name(path),
            read_text(path)?,
        )
    }

    /// Nothing if there is no such file.
    pub(super) fn read_if_there(path: &Path) -> Result<Option<Self>, LoadError> {
        is_there(path).then(|| Self::read(path)).transpose()
    }

    pub(super) fn parse(name: String, origin: String, text: String) -> Result<Self, LoadError> {
        match json::read(json::without_byte_order_mark(&text)) {
            Ok(Value::Object(members)) => Ok(Self {
                name,
                origin,
                text,
                members,
            }),
            Ok(other) => Err(malformed(
                &name,
                &text,
                "",
                format!("expected an object, but this is {}", other.type_name()),
            )),
            Err(error) => Err(LoadError::NotJson { name, error }),
        }
    }

    /// What the origins of a template call the file.
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    pub(super) fn members(&self) -> &Object {
        &self.members
    }

    pub(super) fn has_template(&self) -> bool {
        self.members.contains_key("chat_template")
    }

    /// Drops the file again and gives back its text.
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// The templates under `chat_template`: a text, a list of `name` and `template`, or an object
    /// of templates by name.
    pub(super) fn templates(&self) -> Result<Templates, LoadError> {
        let mut templates = Templates::default();
        let mut add = |name: Option<&str>, value: &Value, pointer: &str| {
            let jinja = self.text_at(value, pointer, "a chat template")?;
            templates.add(name.map(str::to_owned), jinja, self.origin.clone());
            Ok(())
        };
        match self.members.get("chat_template") {
            None | Some(Value::Null) => {}
            Some(text @ Value::String(_)) => add(None, text, "/chat_template")?,
            Some(Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let place = format!("/chat_template/{index}");
                    let (Some(name), Some(template)) = (item.get("name"), item.get("template"))
                    else {
                        let what = "expected an object with `name` and `template`";
                        return Err(self.malformed(&place, what.to_owned()));
                    };
                    let name = self.text_at(name, &format!("{place}/name"), "a name")?;
                    add(Some(&name), template, &format!("{place}/template"))?;
                }
            }
            Some(Value::Object(members)) => {
                for (name, template) in members {
                    let name = name.to_string_lossy();
                    let place = pointer_below("/chat_template", &name);
                    add(Some(&name), template, &place)?;
                }
            }
            Some(other) => {
                let what = format!(
                    "`chat_template` is {}, and should be a string, a list or an object",
                    other.type_name()
                );
                return Err(self.malformed("/chat_template", what));
            }
        }
        Ok(templates)
    }

    /// A token that has a name: a string, or an object with `content`.
    pub(super) fn token(&self, key: &str) -> Result<Token, LoadError> {
        match self.members.get(key) {
            None => Ok(Token::Unsaid),
            Some(Value::Null) => Ok(Token::Absent(self.origin.clone())),
            Some(value) => match content(value) {
                Some(token) => Ok(Token::Is(token.to_owned(), self.origin.clone())),
                None => Err(self.malformed(
                    &format!("/{key}"),
                    format!("`{key}` should be a string, an object with `content`, or null"),
                )),
            },
        }
    }

    fn text_at(&self, value: &Value, pointer: &str, what: &str) -> Result<String, LoadError> {
        let error = match value {
            Value::String(text) => match text.as_str() {
                Some(text) => return Ok(text.to_owned()),
                None => format!("{what} can't hold half a surrogate pair: write `\\u` in pairs"),
            },
            other => format!(
                "{what} should be a string, but this is {}",
                other.type_name()
            ),
        };
        Err(self.malformed(pointer, error))
    }

    fn malformed(&self, pointer: &str, what: String) -> LoadError {
        malformed(&self.name, &self.text, pointer, what)
    }
}

fn malformed(name: &str, text: &str, pointer: &str, what: String) -> LoadError {
    LoadError::Malformed {
        name: name.to_owned(),
        position: json::locate(text, pointer).unwrap_or(Position::START),
        what,
    }
}
