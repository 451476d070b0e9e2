//! What stands beside a template: tokens, and the response template.

use std::path::Path;

use indexmap::IndexSet;

use crate::value::{Object, Value};

use super::config::Config;
use super::error::LoadError;
use super::template::{ChatTemplate, Origins};
use super::text_file::{file_name, read_text};
use super::token::{Token, content, is_special};
use super::tokenizer::added_tokens;
use super::variant::Chosen;

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

/// What stands beside a template, put together from several files. What comes first counts.
#[derive(Clone, Default)]
pub(super) struct Extras {
    pub(super) bos_token: Token,
    pub(super) eos_token: Token,
    special_tokens: IndexSet<String>,
    added_tokens: IndexSet<String>,
    special_origins: Vec<String>,
    /// Whether some file lists the special tokens, beyond those that have a name.
    has_list: bool,
    response_template: Option<(Value, String)>,
    response_schema: Option<(Value, String)>,
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

    /// Takes from a file all that it has.
    pub(super) fn take(&mut self, config: &Config) -> Result<(), LoadError> {
        self.take_tokens(config)?;
        self.take_readers(config);
        Ok(())
    }

    pub(super) fn take_tokens(&mut self, config: &Config) -> Result<(), LoadError> {
        self.bos_token.or(config.token("bos_token")?);
        self.eos_token.or(config.token("eos_token")?);
        let known = self.special_tokens.len();
        if self.lacks_list() {
            self.take_lists(config.members());
        }
        for key in NAMED_TOKENS {
            let token = config.members().get(key).and_then(content);
            self.special_tokens.extend(token.map(str::to_owned));
        }
        self.note_special(known, config.origin());
        Ok(())
    }

    fn take_lists(&mut self, members: &Object) {
        if let Some(Value::Object(tokens)) = members.get("added_tokens_decoder") {
            self.has_list = true;
            let mut tokens: Vec<_> = tokens.iter().collect();
            let id = |key: &str| key.parse::<u64>().unwrap_or(u64::MAX);
            tokens.sort_by_key(|(key, _)| id(&key.to_string_lossy()));
            self.add(tokens.iter().map(|(_, token)| *token));
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

    /// Takes the special tokens that a `tokenizer.json` lists.
    pub(super) fn take_added_tokens(&mut self, path: &Path) -> Result<(), LoadError> {
        let Some(tokens) = added_tokens(&read_text(path)?) else {
            return Ok(());
        };
        let known = self.special_tokens.len();
        self.add(&tokens);
        let id = |token: &Value| token.get("id")?.as_number()?.as_i64();
        let mut tokens: Vec<_> = tokens.iter().filter(|token| is_special(token)).collect();
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

    /// Takes what outputs are read with: the response template, and the response schema.
    pub(super) fn take_readers(&mut self, config: &Config) {
        for (key, taken) in [
            ("response_template", &mut self.response_template),
            ("response_schema", &mut self.response_schema),
        ] {
            let found = config.members().get(key).filter(|value| !value.is_null());
            if let Some(value) = found
                && taken.is_none()
            {
                *taken = Some((value.clone(), config.origin().to_owned()));
            }
        }
    }

    fn add_special<'v>(&mut self, tokens: impl IntoIterator<Item = &'v Value>) {
        let tokens = tokens.into_iter().filter_map(content);
        self.special_tokens.extend(tokens.map(str::to_owned));
    }

    fn add<'v>(&mut self, tokens: impl IntoIterator<Item = &'v Value>) {
        let tokens = tokens.into_iter().filter_map(content);
        self.added_tokens.extend(tokens.map(str::to_owned));
    }

    /// Notes where special tokens came from, if there are more of them than before.
    fn note_special(&mut self, before: usize, origin: &str) {
        if self.special_tokens.len() > before {
            self.special_origins.push(origin.to_owned());
        }
    }

    /// Puts templates together with this, which messages call by one name.
    pub(super) fn with_all(&self, name: &str, all: Vec<Chosen>) -> Vec<ChatTemplate> {
        let all = all.into_iter();
        all.map(|chosen| self.clone().with(name.to_owned(), chosen))
            .collect()
    }

    /// Puts a template together with this.
    pub(super) fn with(self, name: String, chosen: Chosen) -> ChatTemplate {
        let (bos_token, bos_origin) = self.bos_token.split();
        let (eos_token, eos_origin) = self.eos_token.split();
        let (response_template, response_origin) = self.response_template.unzip();
        let (response_schema, schema_origin) = self.response_schema.unzip();
        let special_origins = self.special_origins.join(", ");
        ChatTemplate {
            name,
            jinja: chosen.jinja,
            variant: chosen.variant,
            variants: chosen.variants,
            bos_token,
            eos_token,
            // Special tokens are added ones, whether or not a list says so.
            added_tokens: (self.added_tokens.union(&self.special_tokens).cloned()).collect(),
            special_tokens: self.special_tokens.into_iter().collect(),
            response_template,
            response_schema,
            origins: Origins {
                template: Some(chosen.origin),
                bos_token: bos_origin,
                eos_token: eos_origin,
                special_tokens: (!special_origins.is_empty()).then_some(special_origins),
                response_template: response_origin,
                response_schema: schema_origin,
            },
        }
    }
}
