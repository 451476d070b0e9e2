//! What JSON files say: `tokenizer_config.json`, `processor_config.json`, `chat_template.json`,
//! `special_tokens_map.json` and `tokenizer.json`.

use std::path::Path;

use indexmap::IndexSet;

use super::error::LoadError;
use super::load::{file_name, read_text};
use super::variant::Templates;
use super::{ChatTemplate, Origins};
use crate::json;
use crate::value::{Object, Value, pointer_below};

/// The special tokens that have a name, in the order in which they are listed.
const NAMED_TOKENS: [&str; 7] = [
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
];

/// Lists of further special tokens. The name has changed over the years.
const MORE_TOKENS: [&str; 2] = ["additional_special_tokens", "extra_special_tokens"];

/// A JSON file that holds an object.
pub(super) struct Config {
    /// What errors call it.
    name: String,
    /// What [`Origins`] call it.
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
        path.is_file().then(|| Self::read(path)).transpose()
    }

    pub(super) fn parse(name: String, origin: String, text: String) -> Result<Self, LoadError> {
        match json::read(&text) {
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
                format!("expected an object, and this is {}", other.type_name()),
            )),
            Err(error) => Err(LoadError::NotJson { name, error }),
        }
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
            let source = self.text_at(value, pointer, "a chat template")?;
            templates.add(name.map(str::to_owned), source, self.origin.clone());
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
    fn token(&self, key: &str) -> Result<Token, LoadError> {
        match self.members.get(key) {
            None => Ok(Token::Unsaid),
            Some(Value::Null) => Ok(Token::Absent),
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
                "{what} should be a string, and this is {}",
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
    let place = json::locate(text, pointer);
    LoadError::Malformed {
        name: name.to_owned(),
        line: place.map_or(1, |place| place.line),
        column: place.map_or(1, |place| place.column),
        what,
    }
}

/// The text of a token: the string itself, or what an object calls `content`.
fn content(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("content")?.as_str())
}

fn is_special(token: &Value) -> bool {
    token.get("special").and_then(Value::as_bool) == Some(true)
}

/// What files say about a token.
#[derive(Default)]
pub(super) enum Token {
    /// Nothing so far.
    #[default]
    Unsaid,
    /// That there is none.
    Absent,
    /// What it is, and the file that says so.
    Is(String, String),
}

impl Token {
    /// Takes what another file says, if nothing was said before.
    fn or(&mut self, other: Self) {
        if matches!(self, Self::Unsaid) {
            *self = other;
        }
    }

    fn split(self) -> (Option<String>, Option<String>) {
        match self {
            Self::Is(token, origin) => (Some(token), Some(origin)),
            Self::Unsaid | Self::Absent => (None, None),
        }
    }
}

/// What stands beside a template, put together from several files. What comes first counts.
#[derive(Default)]
pub(super) struct Extras {
    pub(super) bos_token: Token,
    pub(super) eos_token: Token,
    special_tokens: IndexSet<String>,
    special_origins: Vec<String>,
    /// Whether some file lists the special tokens, beyond those that have a name.
    has_list: bool,
    response_template: Option<(Value, String)>,
}

impl Extras {
    /// Whether another file may have tokens that this lacks.
    pub(super) fn lacks_tokens(&self) -> bool {
        let unsaid = |token: &Token| matches!(token, Token::Unsaid);
        unsaid(&self.bos_token) || unsaid(&self.eos_token) || self.lacks_list()
    }

    /// Whether the special tokens have yet to be listed.
    pub(super) fn lacks_list(&self) -> bool {
        !self.has_list
    }

    /// Takes tokens and response template from a file.
    pub(super) fn take(&mut self, config: &Config) -> Result<(), LoadError> {
        self.take_tokens(config)?;
        self.take_response_template(config);
        Ok(())
    }

    pub(super) fn take_tokens(&mut self, config: &Config) -> Result<(), LoadError> {
        self.bos_token.or(config.token("bos_token")?);
        self.eos_token.or(config.token("eos_token")?);
        let known = self.special_tokens.len();
        if self.lacks_list() {
            self.take_lists(&config.members);
        }
        for key in NAMED_TOKENS {
            let token = config.members.get(key).and_then(content);
            self.special_tokens.extend(token.map(str::to_owned));
        }
        self.note_special(known, &config.origin);
        Ok(())
    }

    fn take_lists(&mut self, members: &Object) {
        if let Some(Value::Object(tokens)) = members.get("added_tokens_decoder") {
            self.has_list = true;
            let mut tokens: Vec<_> = tokens.iter().collect();
            let id = |key: &str| key.parse::<u64>().unwrap_or(u64::MAX);
            tokens.sort_by_key(|(key, _)| id(&key.to_string_lossy()));
            let special = tokens.into_iter().filter(|(_, token)| is_special(token));
            self.add_special(special.map(|(_, token)| token));
        }
        for key in MORE_TOKENS {
            match members.get(key) {
                Some(Value::Array(tokens)) => {
                    self.has_list |= !tokens.is_empty();
                    self.add_special(tokens);
                }
                Some(Value::Object(tokens)) => {
                    self.has_list |= !tokens.is_empty();
                    self.add_special(tokens.values());
                }
                _ => {}
            }
        }
    }

    /// Takes the special ones of the `added_tokens` in the text of a `tokenizer.json`. The rest of
    /// that file, which is large, is not looked at.
    pub(super) fn take_added_tokens(&mut self, path: &Path) -> Result<(), LoadError> {
        let text = read_text(path)?;
        let Some(tokens) = member(&text, "added_tokens").and_then(|tokens| json::read(tokens).ok())
        else {
            return Ok(());
        };
        let known = self.special_tokens.len();
        let id = |token: &Value| token.get("id")?.as_number()?.as_i64();
        let mut tokens: Vec<_> = tokens.as_array().unwrap_or_default().iter().collect();
        tokens.retain(|token| is_special(token));
        tokens.sort_by_key(|token| id(token).unwrap_or(i64::MAX));
        self.has_list = true;
        self.add_special(tokens);
        self.note_special(known, &file_name(path));
        Ok(())
    }

    /// Takes special tokens that were put together elsewhere.
    pub(super) fn take_special(&mut self, tokens: Vec<String>, origin: &str) {
        let known = self.special_tokens.len();
        self.special_tokens.extend(tokens);
        self.note_special(known, origin);
    }

    pub(super) fn take_response_template(&mut self, config: &Config) {
        let template = config.members.get("response_template");
        if let Some(template) = template.filter(|template| !template.is_null())
            && self.response_template.is_none()
        {
            self.response_template = Some((template.clone(), config.origin.clone()));
        }
    }

    fn add_special<'v>(&mut self, tokens: impl IntoIterator<Item = &'v Value>) {
        let tokens = tokens.into_iter().filter_map(content);
        self.special_tokens.extend(tokens.map(str::to_owned));
    }

    /// Notes where special tokens came from, if there are more of them than before.
    fn note_special(&mut self, before: usize, origin: &str) {
        if self.special_tokens.len() > before {
            self.special_origins.push(origin.to_owned());
        }
    }

    /// Puts a template together with this.
    pub(super) fn with(self, name: String, chosen: super::variant::Chosen) -> ChatTemplate {
        let (bos_token, bos_origin) = self.bos_token.split();
        let (eos_token, eos_origin) = self.eos_token.split();
        let (response_template, response_origin) = self.response_template.unzip();
        let special_origins = self.special_origins.join(", ");
        ChatTemplate {
            name,
            source: chosen.source,
            variant: chosen.variant,
            variants: chosen.variants,
            bos_token,
            eos_token,
            special_tokens: self.special_tokens.into_iter().collect(),
            response_template,
            origins: Origins {
                template: Some(chosen.origin),
                bos_token: bos_origin,
                eos_token: eos_origin,
                special_tokens: (!special_origins.is_empty()).then_some(special_origins),
                response_template: response_origin,
            },
        }
    }
}

/// The text of the value that a key has in the outermost object of a JSON document. Only looks at
/// what comes before, and at that only as far as finding the way takes: a file of many megabytes
/// need not become a tree in memory for a few lines of it.
fn member<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    // Where the value begins, once its key was met.
    let mut start = None;
    // The last string at the top, which a colon makes a key.
    let mut last = "";
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let end = string_end(bytes, at)?;
                if depth == 1 {
                    last = text.get(at + 1..end)?;
                }
                at = end;
            }
            b':' if depth == 1 && start.is_none() && last == key => start = Some(at + 1),
            b',' if depth == 1 && start.is_some() => return text.get(start?..at),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return text.get(start?..at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the closing quote of a string stands, if the opening one stands at `start`.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_without_reading_the_rest() {
        let text = r#"{"a": {"x": [1, "}"]}, "b\"": ":,", "x": [{"y": "]\\"}, 2] , "z": broken"#;
        for (key, value) in [
            ("a", Some(r#" {"x": [1, "}"]}"#)),
            ("x", Some(r#" [{"y": "]\\"}, 2] "#)),
            ("y", None),
            ("z", None),
        ] {
            assert_eq!(member(text, key), value, "{key}");
        }
        assert_eq!(member(r#"{"x":1}"#, "x"), Some("1"));
        for broken in [
            "",
            "{",
            "}",
            "]",
            r#"{"x"#,
            r#"{"x\"#,
            r#"{"x":"#,
            r#"{"x":"\"#,
            "[1]",
        ] {
            assert_eq!(member(broken, "x"), None, "{broken}");
        }
    }
}
