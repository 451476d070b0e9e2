//! Rows of a survey: what is found out about a template, and how it is written.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::options::option_name;
use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::derive::Derivation;
use unjinja::survey::Survey;
use unjinja::{Object, Value, json};

use super::super::batch::Members;
use super::super::source::SourceOptions;
use super::sources::{Given, Item};

/// Templates may be this long. Those of models have some thousand characters; what is far longer is none, and would only cost.
const MAX_TEMPLATE: usize = 4 << 20;

/// What a template is known by: its text, with all that comes with it.
pub(crate) type Key = [u8; 32];

/// What a template is called, and what becomes of it.
pub(crate) struct Answer {
    /// The source.
    pub(crate) name: String,
    /// What is known of the source, as members of the row.
    pub(crate) head: Object,
    pub(crate) found: Found,
}

/// What was found out.
pub(crate) enum Found {
    /// Why the template can't be read.
    Unreadable(String),
    /// It is surveyed for the first time.
    Fresh(Key, Body),
    /// The same was surveyed for another source, or is being surveyed now.
    Known(Key),
}

/// What stands in a row about a template.
pub(crate) struct Body {
    /// What each of its rows has.
    pub(crate) brief: String,
    /// What only the first one has.
    pub(crate) details: String,
}

/// What finds out about templates, on many threads.
pub(crate) struct Surveyor<'a> {
    options: &'a SourceOptions,
    base: RenderInput,
    /// The templates that were surveyed, or are being surveyed.
    taken: Mutex<HashSet<Key>>,
}

impl<'a> Surveyor<'a> {
    /// One for which these templates need not be surveyed any more.
    pub(crate) fn new(
        options: &'a SourceOptions,
        base: RenderInput,
        known: impl IntoIterator<Item = Key>,
    ) -> Surveyor<'a> {
        Surveyor {
            options,
            base,
            taken: Mutex::new(known.into_iter().collect()),
        }
    }

    /// The rows of what was given: one, unless a model has several templates.
    pub(crate) fn answers(&self, item: Item) -> Vec<Answer> {
        let Item { name, base, given } = item;
        let unreadable = |why: String| {
            vec![Answer {
                name: name.clone(),
                head: head(&name, base.as_deref()),
                found: Found::Unreadable(why),
            }]
        };
        match given {
            Given::Fault(why) => unreadable(why),
            Given::Row(row) => vec![self.taken_over(name.clone(), base.as_deref(), row)],
            Given::Template(template) => {
                vec![self.surveyed(&name, base.as_deref(), &self.options.with_tokens(*template))]
            }
            Given::Source(source) => {
                // Whatever is wrong with one template, the others are not lost.
                let load = || {
                    self.options
                        .load_all(&source)
                        .map_err(|failure| failure.to_string())
                };
                match guarded(load).and_then(|loaded| loaded) {
                    Err(why) => unreadable(why),
                    Ok(templates) => {
                        let templates = templates.iter();
                        templates
                            .map(|template| self.surveyed(&name, base.as_deref(), template))
                            .collect()
                    }
                }
            }
        }
    }

    fn take(&self, key: Key) -> bool {
        let taken = self.taken.lock();
        taken.unwrap_or_else(PoisonError::into_inner).insert(key)
    }

    /// Whether a template was surveyed, or is being surveyed.
    pub(crate) fn is_taken(&self, key: &Key) -> bool {
        let taken = self.taken.lock();
        taken.unwrap_or_else(PoisonError::into_inner).contains(key)
    }

    fn surveyed(&self, name: &str, base: Option<&str>, template: &ChatTemplate) -> Answer {
        let mut head = head(name, base);
        if let Some(variant) = &template.variant {
            head.insert("variant", variant);
        }
        let found = if template.jinja.len() > MAX_TEMPLATE {
            Found::Unreadable(format!(
                "the chat template is longer than {} MiB",
                MAX_TEMPLATE >> 20
            ))
        } else {
            head.insert("text", hex(&Sha256::digest(&template.jinja)));
            let key = key(template);
            match self.take(key) {
                true => Found::Fresh(key, body(template, &self.base, &key)),
                false => Found::Known(key),
            }
        };
        Answer {
            name: name.to_owned(),
            head,
            found,
        }
    }

    /// A row of another survey, as it is.
    fn taken_over(&self, name: String, base: Option<&str>, mut row: Object) -> Answer {
        let mut head = head(&name, base);
        for member in ["variant", "text"] {
            if let Some(value) = row.remove(member) {
                head.insert(member, value);
            }
        }
        let key = row.get("input").and_then(Value::as_str).and_then(from_hex);
        let details = row.remove("details");
        let found = match (key, details) {
            (None, _) => {
                let error = row.get("error").and_then(Value::as_str);
                Found::Unreadable(error.unwrap_or("the row has no `input`").to_owned())
            }
            (Some(key), Some(details)) if self.take(key) => {
                for member in ["source", "base", "same_as"] {
                    row.remove(member);
                }
                let mut brief = Members::default();
                brief.extend(row);
                Found::Fresh(
                    key,
                    Body {
                        brief: brief.json().to_owned(),
                        details: json::write(&details),
                    },
                )
            }
            (Some(key), _) => Found::Known(key),
        };
        Answer { name, head, found }
    }
}

/// What makes a panic an error.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| "this template makes unjinja fail: please report it".to_owned())
}

fn head(name: &str, base: Option<&str>) -> Object {
    let mut head = Object::from_iter([("source", name)]);
    if let Some(base) = base {
        head.insert("base", base);
    }
    head
}

/// All that goes into a survey of a template is part of its key.
fn key(template: &ChatTemplate) -> Key {
    let mut hash = Sha256::new();
    let mut add = |text: Option<&str>| {
        let text = text.unwrap_or("\u{0}none");
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    add(Some(&template.jinja));
    add(template.bos_token.as_deref());
    add(template.eos_token.as_deref());
    for tokens in [&template.special_tokens, &template.added_tokens] {
        add(Some(&tokens.len().to_string()));
        tokens.iter().for_each(|token| add(Some(token)));
    }
    hash.finalize().into()
}

/// Surveys a template.
fn body(template: &ChatTemplate, base: &RenderInput, key: &Key) -> Body {
    let mut brief = Members::default();
    brief.insert("input", hex(key));
    let survey = match guarded(|| Survey::of(template, base)) {
        Ok(survey) => survey,
        Err(error) => {
            brief.insert("behaviour", Value::Null);
            brief.insert("standing", "failed");
            brief.insert("error", error);
            return Body {
                brief: brief.json().to_owned(),
                details: "{}".to_owned(),
            };
        }
    };
    brief.insert("behaviour", behaviour(&survey));
    let mut row = survey.to_value().into_object();
    let details = row.remove("details").unwrap_or_default();
    row.insert("error", survey.error(option_name));
    brief.extend(row);
    Body {
        brief: brief.json().to_owned(),
        details: json::write(&details),
    }
}

/// What templates have in common that behave alike: the response template and the findings, or the reason why nothing is
/// derived.
fn behaviour(survey: &Survey) -> String {
    let of_derivation = |derivation: &Derivation| {
        let findings = derivation.findings.to_value();
        let both = [derivation.template.as_value().clone(), findings];
        json::write(&both.into_iter().collect())
    };
    let text = match &survey.derivation {
        Ok(derivation) => of_derivation(derivation),
        Err(_) => survey.error(option_name).unwrap_or_default(),
    };
    hex(&Sha256::digest(text))
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(text: &str) -> Option<Key> {
    let mut key = Key::default();
    if text.len() != 2 * key.len() || !text.is_ascii() {
        return None;
    }
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(key)
}
