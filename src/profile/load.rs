//! Reading the data of profiles.

use std::collections::HashMap;

use crate::json;
use crate::response::Language;
use crate::value::{Object, Value};

use super::rule::{Check, Effect, Rule};
use super::{Malformed, Profile, Reading, SourceFile, Version};

/// The data of all profiles.
pub(super) const TEXTS: [&str; 4] = [
    include_str!("data/transformers.json"),
    include_str!("data/vllm.json"),
    include_str!("data/sglang.json"),
    include_str!("data/trl.json"),
];

/// Reads a profile; what is missing, wrong or unknown is an error.
pub(super) fn profile(text: &str) -> Result<Profile, String> {
    let value = json::read(text).map_err(|error| error.to_string())?;
    let mut keys = Keys::of(value)?;
    let sources: HashMap<String, SourceFile> = keys
        .object("sources")?
        .into_iter()
        .map(|(name, source)| Ok((name.to_string_lossy().into_owned(), source_file(source)?)))
        .collect::<Result<_, String>>()?;
    let rules = keys.list("rules")?.into_iter();
    let readings = keys.list("reads")?.into_iter();
    let profile = Profile {
        name: keys.text("name")?,
        title: keys.text("title")?,
        version: keys.version("version")?,
        since: keys.version("since")?,
        reasoning: keys.text("reasoning")?,
        chosen: keys.text("chosen")?,
        languages: keys.optional("language", languages)?.unwrap_or_default(),
        malformed: match keys.text("malformed")?.as_str() {
            "fail" => Malformed::Fail,
            "drop" => Malformed::Drop,
            "text" => Malformed::Text,
            other => return Err(format!("`{other}` is no way with malformed regions")),
        },
        rules: rules
            .map(|one| rule(one, &sources))
            .collect::<Result<_, _>>()?,
        readings: readings
            .map(|one| reading(one, &sources))
            .collect::<Result<_, _>>()?,
    };
    keys.end()?;
    Ok(profile)
}

/// Since which version of a package it has which version of the language.
fn languages(keys: &mut Keys, key: &str) -> Result<Vec<(Version, Language)>, String> {
    let languages = keys.object(key)?.into_iter().map(|(since, language)| {
        let since = Version::read(since.as_str().unwrap_or_default());
        let language = language.as_str().and_then(|text| text.parse().ok());
        since
            .zip(language)
            .ok_or_else(|| format!("`{key}` holds something else than versions"))
    });
    languages.collect()
}

fn source_file(value: Value) -> Result<SourceFile, String> {
    let mut keys = Keys::of(value)?;
    let source = SourceFile {
        file: keys.text("file")?,
        version: keys.version("version")?,
        date: keys.text("date")?,
    };
    keys.end()?;
    Ok(source)
}

fn reading(value: Value, sources: &HashMap<String, SourceFile>) -> Result<Reading, String> {
    let mut keys = Keys::of(value)?;
    let reading = Reading {
        about: keys.text("about")?,
        says: keys.text("says")?,
        since: keys.optional("since", Keys::version)?,
        source: keys.source(sources)?,
    };
    keys.end()?;
    Ok(reading)
}

fn rule(value: Value, sources: &HashMap<String, SourceFile>) -> Result<Rule, String> {
    let mut keys = Keys::of(value)?;
    let check = match keys.text("rule")?.as_str() {
        "fields" => Check::Fields(keys.texts("names")?),
        "defaults" => Check::Defaults(keys.texts("names")?),
        "text" => Check::Text {
            names: keys.texts("names")?,
            parsers: keys.texts("parsers")?,
            without: keys.texts("without")?,
        },
        "opener" => Check::Opener {
            field: keys.text("field")?,
            where_opened: keys.optional("where-opened", Keys::text)?,
        },
        "call-shape" => Check::CallShape {
            flat: keys.flag("flat")?,
            bare: keys.flag("bare")?,
        },
        "calls-in-list" => Check::CallsInList,
        "call-by-call" => Check::CallByCall,
        "plain-placeholders" => Check::PlainPlaceholders,
        other => return Err(format!("`{other}` is no rule")),
    };
    let rule = Rule {
        check,
        effect: match keys.text("otherwise")?.as_str() {
            "refused" => Effect::Refused,
            "fails" => Effect::Fails,
            "limits" => Effect::Limits,
            other => return Err(format!("`{other}` is no effect")),
        },
        why: keys.optional("why", Keys::text)?,
        since: keys.optional("since", Keys::version)?,
        until: keys.optional("until", Keys::version)?,
        source: keys.source(sources)?,
    };
    keys.end()?;
    match (rule.effect, &rule.why) {
        (Effect::Refused, None) | (Effect::Fails | Effect::Limits, Some(_)) => Ok(rule),
        _ => Err("what is not refused has a `why`, and nothing else has one".to_owned()),
    }
}

/// The keys of an object, of which each is taken once.
struct Keys(Object);

impl Keys {
    fn of(value: Value) -> Result<Keys, String> {
        match value {
            Value::Object(keys) => Ok(Keys(keys)),
            other => Err(format!("expected an object, found {}", other.type_name())),
        }
    }

    fn take(&mut self, key: &str) -> Result<Value, String> {
        self.0
            .remove(key)
            .ok_or_else(|| format!("`{key}` is missing"))
    }

    fn text(&mut self, key: &str) -> Result<String, String> {
        let value = self.take(key)?;
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| format!("`{key}` is no text"))
    }

    fn texts(&mut self, key: &str) -> Result<Vec<String>, String> {
        let texts = self.list(key)?.into_iter();
        let texts = texts.map(|text| text.as_str().map(str::to_owned));
        let texts: Option<Vec<String>> = texts.collect();
        texts.ok_or_else(|| format!("`{key}` holds something else than texts"))
    }

    fn list(&mut self, key: &str) -> Result<Vec<Value>, String> {
        match self.take(key)? {
            Value::Array(items) => Ok(items),
            _ => Err(format!("`{key}` is no list")),
        }
    }

    fn object(&mut self, key: &str) -> Result<Object, String> {
        match self.take(key)? {
            Value::Object(object) => Ok(object),
            _ => Err(format!("`{key}` is no object")),
        }
    }

    fn flag(&mut self, key: &str) -> Result<bool, String> {
        match self.0.remove(key) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| format!("`{key}` is no flag")),
        }
    }

    fn version(&mut self, key: &str) -> Result<Version, String> {
        self.text(key)?
            .parse()
            .map_err(|error: super::UnknownTarget| error.to_string())
    }

    fn optional<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Keys, &str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        match self.0.contains_key(key) {
            true => read(self, key).map(Some),
            false => Ok(None),
        }
    }

    fn source(&mut self, sources: &HashMap<String, SourceFile>) -> Result<SourceFile, String> {
        let name = self.text("source")?;
        let source = sources.get(&name).cloned();
        source.ok_or_else(|| format!("there is no source `{name}`"))
    }

    /// Whatever has not been taken is unknown.
    fn end(self) -> Result<(), String> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(key) => Err(format!("`{}` is unknown", key.to_string_lossy())),
        }
    }
}
