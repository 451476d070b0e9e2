//! Options, which come as JSON: so that new ones change no function.

use unjinja::completion::CompletionOptions;
use unjinja::{
    Object, OnMalformed, OnUnread, ParserOptions, Tools, Unfinished, UnknownTools, Value, json,
};

use crate::error::UnjinjaError;

/// The members of an object, of which each is taken once. Those that are left in the end are unknown.
#[derive(Debug)]
pub(crate) struct Options(Object);

impl Options {
    /// Reads options; no text is no options.
    pub(crate) fn read(text: &str) -> Result<Options, Box<UnjinjaError>> {
        if text.is_empty() {
            return Ok(Options(Object::new()));
        }
        let wrong = |what: &dyn std::fmt::Display| {
            UnjinjaError::argument(format!(
                "the options: {what}: give a JSON object, or nothing"
            ))
        };
        match json::read(text).map_err(|error| wrong(&error))? {
            Value::Object(members) => Ok(Options(members)),
            other => Err(wrong(&format_args!("they are {}", other.type_name()))),
        }
    }

    /// What stands under a key, unless that is nothing.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.0.remove(key).filter(|value| !value.is_null())
    }

    /// What stands under a key, as one of a kind.
    fn take_as<T>(
        &mut self,
        key: &str,
        kind: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, Box<UnjinjaError>> {
        let Some(value) = self.take(key) else {
            return Ok(None);
        };
        let wrong = || {
            let found = json::write(&value);
            UnjinjaError::argument(format!("`{key}`: expected {kind}, found {found}"))
        };
        read(&value).map(Some).ok_or_else(wrong)
    }

    pub(crate) fn text(&mut self, key: &str) -> Result<Option<String>, Box<UnjinjaError>> {
        self.take_as(key, "a text", |value| value.as_str().map(str::to_owned))
    }

    pub(crate) fn flag(&mut self, key: &str) -> Result<Option<bool>, Box<UnjinjaError>> {
        self.take_as(key, "true or false", Value::as_bool)
    }

    /// A list; none is one of nothing.
    #[cfg(feature = "chat-template")]
    pub(crate) fn list(&mut self, key: &str) -> Result<Vec<Value>, Box<UnjinjaError>> {
        let list = self.take_as(key, "a list", |value| value.as_array().map(<[_]>::to_vec))?;
        Ok(list.unwrap_or_default())
    }

    /// An object; none is one of nothing.
    #[cfg(feature = "chat-template")]
    pub(crate) fn object(&mut self, key: &str) -> Result<Object, Box<UnjinjaError>> {
        let object = self.take_as(key, "an object", |value| value.as_object().cloned())?;
        Ok(object.unwrap_or_default())
    }

    /// One of some names, of which each stands for something.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        key: &str,
        names: &[(&str, T)],
    ) -> Result<Option<T>, Box<UnjinjaError>> {
        let listed: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        self.take_as(key, &format!("one of {}", listed.join(", ")), |value| {
            let found = names.iter().find(|(name, _)| value.as_str() == Some(name));
            found.map(|(_, meaning)| *meaning)
        })
    }

    pub(crate) fn tools(&mut self) -> Result<Tools, Box<UnjinjaError>> {
        let list = |value: &Value| match value {
            Value::Array(_) | Value::Object(_) => Some(Tools::from_value(value)),
            _ => None,
        };
        let tools = self.take_as("tools", "a list of tools", list)?;
        Ok(tools.unwrap_or_default())
    }

    fn unfinished(&mut self) -> Result<Option<Unfinished>, Box<UnjinjaError>> {
        let names = [
            ("keep", Unfinished::Keep),
            ("mark", Unfinished::Mark),
            ("drop", Unfinished::Drop),
        ];
        self.choice("unfinished", &names)
    }

    fn on_malformed(&mut self) -> Result<Option<OnMalformed>, Box<UnjinjaError>> {
        let names = [
            ("fail", OnMalformed::Fail),
            ("event", OnMalformed::Event),
            ("text", OnMalformed::Text),
        ];
        self.choice("on_malformed", &names)
    }

    fn on_unread(&mut self) -> Result<Option<OnUnread>, Box<UnjinjaError>> {
        let names = [("pass", OnUnread::Pass), ("malformed", OnUnread::Malformed)];
        self.choice("on_unread", &names)
    }

    fn unknown_tools(&mut self) -> Result<Option<UnknownTools>, Box<UnjinjaError>> {
        let names = [
            ("keep", UnknownTools::Keep),
            ("text", UnknownTools::Text),
            ("drop", UnknownTools::Drop),
        ];
        self.choice("unknown_tools", &names)
    }

    /// What parsers and completions have in common.
    fn parser(&mut self) -> Result<ParserOptions, Box<UnjinjaError>> {
        Ok(ParserOptions::default()
            .tools(self.tools()?)
            .body_aware_close(self.flag("body_aware_close")?.unwrap_or_default()))
    }

    /// The options of a parser, and nothing else.
    pub(crate) fn parser_only(mut self) -> Result<ParserOptions, Box<UnjinjaError>> {
        let options = self
            .parser()?
            .on_malformed(self.on_malformed()?.unwrap_or_default())
            .on_unread(self.on_unread()?.unwrap_or_default())
            .unknown_tools(self.unknown_tools()?.unwrap_or_default())
            .unfinished(self.unfinished()?.unwrap_or_default())
            .calls_end_thoughts(self.flag("calls_end_thoughts")?.unwrap_or_default())
            .spans(self.flag("spans")?.unwrap_or_default())
            .stripped_chunks(self.flag("stripped_chunks")?.unwrap_or_default());
        self.nothing_else(&[
            "tools",
            "on_malformed",
            "on_unread",
            "unknown_tools",
            "unfinished",
            "calls_end_thoughts",
            "spans",
            "body_aware_close",
            "stripped_chunks",
        ])?;
        Ok(options)
    }

    /// The options of a completion, and nothing else.
    pub(crate) fn completion_only(
        mut self,
    ) -> Result<(ParserOptions, CompletionOptions), Box<UnjinjaError>> {
        let parser = self.parser()?;
        let mut options = CompletionOptions::default();
        options.id = self.text("id")?.unwrap_or(options.id);
        options.model = self.text("model")?.unwrap_or(options.model);
        options.reasoning = self.text("reasoning")?.unwrap_or(options.reasoning);
        options.unfinished = self.unfinished()?.unwrap_or(options.unfinished);
        options.on_malformed = self.on_malformed()?.unwrap_or(options.on_malformed);
        options.on_unread = self.on_unread()?.unwrap_or(options.on_unread);
        options.unknown_tools = self.unknown_tools()?.unwrap_or(options.unknown_tools);
        let seconds = |value: &Value| value.as_number().and_then(|number| number.as_i64());
        let created = self.take_as("created", "a whole number of seconds", seconds)?;
        options.created = created.unwrap_or(options.created);
        self.nothing_else(&[
            "tools",
            "on_malformed",
            "on_unread",
            "unknown_tools",
            "unfinished",
            "body_aware_close",
            "id",
            "model",
            "created",
            "reasoning",
        ])?;
        Ok((parser, options))
    }

    /// Nothing is left that nobody has asked for; these are known.
    pub(crate) fn nothing_else(self, known: &[&str]) -> Result<(), Box<UnjinjaError>> {
        let left = self.0.iter().find(|(_, value)| !value.is_null());
        let Some((key, _)) = left else {
            return Ok(());
        };
        let key = key.to_string_lossy();
        let known = known.join(", ");
        Err(UnjinjaError::argument(format!(
            "there is no option `{key}`: there are {known}"
        )))
    }
}
