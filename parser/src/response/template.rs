//! Response templates: the model of the language.

mod error;
mod load;

use std::str::FromStr;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::value::{Object, Value};

use super::content::{Content, Parser};
use super::delimiter::Delimiter;
use super::error::{ParseError, RegionError};
use super::language::Language;
use super::message::{check_place, store};
use super::pattern::{Meter, Reach};
use super::transform::Transform;
use super::watch::Watches;

pub use error::TemplateError;
pub(super) use load::Loader;
#[cfg(feature = "internals")]
pub use load::Patterns;
#[cfg(feature = "internals")]
pub use load::schema_in;

/// A response template: how a model's output is divided into the fields of a message.
///
/// It is read from JSON, where everything that can't work is refused, and is ready to be parsed
/// with. Clones share what has been compiled.
///
/// ```
/// use unjinja::ResponseTemplate;
///
/// let template = ResponseTemplate::from_json(r#"{
///     "start_anchor": "<bot>",
///     "fields": {
///         "thinking": {"open": "<think>", "close": "</think>"},
///         "content": {"close": "<end>"}
///     }
/// }"#)?;
/// assert_eq!(template.fields().len(), 2);
/// assert_eq!(template.implicit_field().map(|field| field.name()), Some("content"));
/// # Ok::<(), unjinja::TemplateError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ResponseTemplate {
    #[doc(hidden)]
    pub inner: Arc<Inner>,
}

#[doc(hidden)]
#[derive(Debug)]
pub struct Inner {
    value: Value,
    pub language: Language,
    warnings: Vec<Diagnostic>,
    pub defaults: Object,
    pub fields: Vec<Field>,
    pub implicit: Option<usize>,
    pub anchor: Delimiter,
    /// Which delimiters matter when.
    pub watches: Watches,
    /// How much of the text before a position decides on which delimiters are found there.
    pub reach: Reach,
}

impl ResponseTemplate {
    /// The JSON Schema of response templates, by which editors complete and check them.
    ///
    /// A schema does not know all: whether regular expressions can be used, for one. Loading a
    /// template shows it.
    pub const JSON_SCHEMA: &str = include_str!("../../schema/response-template.schema.json");

    /// Reads a template from a JSON document.
    ///
    /// All faults are reported at once, each with its place in the document:
    ///
    /// ```
    /// let error = unjinja::ResponseTemplate::from_json(
    ///     r#"{"start_anchor": "A:", "fields": {"x": {"open": "<x>", "clsoe": "</x>"}}}"#,
    /// ).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "1:56: /fields/x/clsoe: unknown key `clsoe`: did you mean `close`?",
    /// );
    /// ```
    pub fn from_json(text: &str) -> Result<ResponseTemplate, TemplateError> {
        ResponseTemplate::from_json_at(text, "")
    }

    /// Reads a template that stands somewhere in a JSON document, at a JSON pointer.
    ///
    /// ```
    /// let config = r#"{
    ///     "eos_token": "<end>",
    ///     "response_template": {"start_anchor": "A:", "fields": {"content": {}}}
    /// }"#;
    /// let template = unjinja::ResponseTemplate::from_json_at(config, "/response_template")?;
    /// assert_eq!(template.fields()[0].name(), "content");
    /// # Ok::<(), unjinja::TemplateError>(())
    /// ```
    pub fn from_json_at(text: &str, pointer: &str) -> Result<ResponseTemplate, TemplateError> {
        load::from_json_at(text, pointer)
    }

    /// Reads a template from a JSON document that is one, or that holds one under
    /// `response_template`, as a `tokenizer_config.json` does.
    ///
    /// ```
    /// use unjinja::ResponseTemplate;
    ///
    /// let template = r#"{"start_anchor": "A:", "fields": {"content": {}}}"#;
    /// let config = format!(r#"{{"eos_token": "<end>", "response_template": {template}}}"#);
    /// for document in [template, &config] {
    ///     assert!(ResponseTemplate::from_config(document).is_ok());
    /// }
    /// let error = ResponseTemplate::from_config(r#"{"eos_token": "<end>"}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "this tokenizer configuration has no `response_template`");
    /// # Ok::<(), unjinja::TemplateError>(())
    /// ```
    pub fn from_config(text: &str) -> Result<ResponseTemplate, TemplateError> {
        load::from_config(text)
    }

    /// Where a response template stands in a JSON document: the JSON pointer. What is no JSON is
    /// taken for a template, so that reading it reports what is wrong.
    ///
    /// ```
    /// use unjinja::ResponseTemplate;
    ///
    /// let config = r#"{"eos_token": "<end>", "response_template": {}}"#;
    /// assert_eq!(ResponseTemplate::find_in(config)?, "/response_template");
    /// assert_eq!(ResponseTemplate::find_in(r#"{"fields": {}}"#)?, "");
    /// # Ok::<(), unjinja::TemplateError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the document is something else: the configuration of a tokenizer without a response
    /// template, or a chat template.
    pub fn find_in(document: &str) -> Result<&'static str, TemplateError> {
        load::find_in(document)
    }

    /// Reads a template from a value.
    ///
    /// ```
    /// use unjinja::{ResponseTemplate, Value};
    ///
    /// let value: Value = r#"{"start_anchor": "A:", "fields": {"content": {}}}"#.parse()?;
    /// let template = ResponseTemplate::from_value(&value)?;
    /// assert_eq!(template.as_value(), &value);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_value(value: impl AsRef<Value>) -> Result<ResponseTemplate, TemplateError> {
        load::from_value(value.as_ref(), Language::default())
    }

    /// The same template as a version of the language reads it.
    ///
    /// Templates are read for the newest version, unless they come from here.
    ///
    /// ```
    /// use unjinja::response::Language;
    /// use unjinja::{ParserOptions, ResponseTemplate, json, parse};
    ///
    /// let template = ResponseTemplate::from_json(r#"{
    ///     "start_anchor": "<bot>",
    ///     "fields": {"x": {"open": "<x>", "close": "</x>", "content": "json", "content_args": {"unquoted_keys": true}}}
    /// }"#)?;
    /// let older = template.in_language(Language::V5_20)?;
    /// assert_eq!((template.language(), older.language()), (Language::V5_24, Language::V5_20));
    ///
    /// let read = |template| parse(template, "", "<x>{a: 1}</x>", ParserOptions::default());
    /// assert!(read(&template).is_ok());
    /// let spaced = parse(&older, "", "<x>{ a : 1}</x>", ParserOptions::default());
    /// assert!(spaced.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the template asks for what the version does not have, such as a content parser that came later.
    pub fn in_language(&self, language: Language) -> Result<ResponseTemplate, TemplateError> {
        match language == self.inner.language {
            true => Ok(self.clone()),
            false => load::from_value(self.as_value(), language),
        }
    }

    /// The version of the language that it is read for.
    pub fn language(&self) -> Language {
        self.inner.language
    }

    /// The same, with patterns that other templates have in common with it.
    #[cfg(feature = "internals")]
    #[doc(hidden)]
    pub fn with_patterns(
        value: &Value,
        patterns: &mut Patterns,
    ) -> Result<ResponseTemplate, TemplateError> {
        load::with_patterns(value, patterns)
    }

    /// The template as it was read: the same keys in the same order.
    pub fn as_value(&self) -> &Value {
        &self.inner.value
    }

    /// What the template holds that has no effect.
    ///
    /// ```
    /// let template = unjinja::ResponseTemplate::from_json(r#"{
    ///     "start_anchor": "A:",
    ///     "fields": {"content": {"content_args": {"stirp": false}}}
    /// }"#)?;
    /// assert_eq!(
    ///     template.warnings()[0].to_string(),
    ///     "3:45: /fields/content/content_args/stirp: `stirp` has no effect on `text`: did you mean `strip`?",
    /// );
    /// # Ok::<(), unjinja::TemplateError>(())
    /// ```
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.inner.warnings
    }

    /// The fields, in their order.
    pub fn fields(&self) -> &[Field] {
        &self.inner.fields
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.inner.fields.iter().find(|field| field.name == name)
    }

    /// The field without an opening delimiter, which takes the text that no other field claims.
    pub fn implicit_field(&self) -> Option<&Field> {
        self.inner.implicit.map(|index| &self.inner.fields[index])
    }

    /// What a message holds before anything has been parsed.
    pub fn defaults(&self) -> &Object {
        &self.inner.defaults
    }

    /// What marks the beginning of the message in a prompt.
    pub fn start_anchor(&self) -> &Delimiter {
        &self.inner.anchor
    }

    /// The part of a prompt that belongs to the message: what follows the last anchor. `None` if
    /// there is no anchor in it. Anchors that take too many steps to look for are an error.
    ///
    /// ```
    /// # let template = unjinja::ResponseTemplate::from_json(
    /// #     r#"{"start_anchor": "bot:", "fields": {"content": {}}}"#)?;
    /// assert_eq!(template.after_anchor("bot: hi\nuser: well?\nbot: <think>"), Ok(Some(" <think>")));
    /// assert_eq!(template.after_anchor("user: hi"), Ok(None));
    /// # Ok::<(), unjinja::TemplateError>(())
    /// ```
    pub fn after_anchor<'p>(&self, prompt: &'p str) -> Result<Option<&'p str>, ParseError> {
        let mut last = None;
        let searched = self
            .inner
            .anchor
            .compiled()
            .for_each_match(prompt, |found| {
                last = Some(found.end);
                std::ops::ControlFlow::Continue(())
            });
        searched.map_err(|_| ParseError::TooCostly {
            field: "start_anchor".into(),
            position: 0,
        })?;
        Ok(last.map(|end| &prompt[end..]))
    }
}

/// Reads a template from JSON, as [`ResponseTemplate::from_json`] does.
impl FromStr for ResponseTemplate {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<ResponseTemplate, TemplateError> {
        ResponseTemplate::from_json(text)
    }
}

impl TryFrom<&Value> for ResponseTemplate {
    type Error = TemplateError;

    fn try_from(value: &Value) -> Result<ResponseTemplate, TemplateError> {
        ResponseTemplate::from_value(value)
    }
}

impl TryFrom<Value> for ResponseTemplate {
    type Error = TemplateError;

    fn try_from(value: Value) -> Result<ResponseTemplate, TemplateError> {
        ResponseTemplate::from_value(value)
    }
}

/// The template as it was read.
impl AsRef<Value> for ResponseTemplate {
    fn as_ref(&self) -> &Value {
        self.as_value()
    }
}

/// Templates are equal if they were read from equal values, as [`Value::total_eq`] has it, for the same version of the
/// language: the order of keys does not count. Equal templates read all texts alike, but for the order of keys in their
/// messages.
///
/// ```
/// use unjinja::ResponseTemplate;
///
/// let template = ResponseTemplate::from_json(
///     r#"{"start_anchor": "A:", "fields": {"x": {"open": "<x>", "close": "</x>"}}}"#)?;
/// let other = ResponseTemplate::from_json(
///     r#"{"fields": {"x": {"close": "</x>", "open": "<x>"}}, "start_anchor": "A:"}"#)?;
/// assert_eq!(template, other);
/// # Ok::<(), unjinja::TemplateError>(())
/// ```
impl PartialEq for ResponseTemplate {
    fn eq(&self, other: &ResponseTemplate) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
            || self.language() == other.language() && self.as_value().total_eq(other.as_value())
    }
}

impl Eq for ResponseTemplate {}

impl Inner {
    /// The field that the text of a malformed region is given back to: the one that takes all other text, or else `content`. Nothing if it does
    /// not hold plain text.
    pub(super) fn field_for_text(&self) -> Option<usize> {
        let by_name = || self.fields.iter().position(|field| field.name == "content");
        let index = self.implicit.or_else(by_name)?;
        let field = &self.fields[index];
        let is_plain = matches!(field.content.parser, Parser::Text) && field.transform.is_none();
        is_plain.then_some(index)
    }

    /// What has closed a region, up to what ends the text of a turn: that closes calls, too, where what ends these is missing.
    pub(super) fn without_end_of_turn<'t>(&self, closing: &'t str) -> &'t str {
        let implicit = self.implicit.map(|index| &self.fields[index]);
        let Some(end) = implicit.and_then(|field| field.close.as_ref()) else {
            return closing;
        };
        let mut meter = Meter::new(closing.len());
        match end.compiled().find_within(closing, 0, &mut meter) {
            Ok(Some(found)) => &closing[..found.start],
            _ => closing,
        }
    }
}

/// One field of a response template.
#[derive(Debug)]
pub struct Field {
    pub(crate) name: String,
    pub(crate) open: Option<Delimiter>,
    pub(crate) close: Option<Delimiter>,
    pub(crate) content: Content,
    pub(crate) repeats: bool,
    pub(crate) join: Option<String>,
    pub(crate) optional: bool,
    pub(crate) transform: Option<Transform>,
    pub(crate) transform_each: bool,
}

impl Field {
    /// The key in the message.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What opens its regions; `None` for the implicit field.
    pub fn open(&self) -> Option<&Delimiter> {
        self.open.as_ref()
    }

    /// What closes its regions; `None` if they run to the end.
    pub fn close(&self) -> Option<&Delimiter> {
        self.close.as_ref()
    }

    /// How the text of its regions is parsed.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Whether a region with this text, which nothing has closed, may lack something. Of a plain text there may be more, too, but what
    /// there is is right.
    pub(crate) fn can_be_cut_off(&self, text: &str) -> bool {
        let is_plain = self.content.streams() && self.transform.is_none();
        !is_plain && !self.content.ends_itself(text)
    }

    /// Whether it may match several times, for a list.
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    /// The text by which its matches are joined into one string.
    pub fn join(&self) -> Option<&str> {
        self.join.as_deref()
    }

    /// Whether a message may lack it.
    pub fn optional(&self) -> bool {
        self.optional
    }

    /// Puts the value of a region that has closed into a message, as the parser does: for those who
    /// make the message of events.
    ///
    /// ```
    /// use unjinja::{json, ResponseTemplate};
    ///
    /// let template = ResponseTemplate::from_json(
    ///     r#"{"start_anchor": "A:", "fields": {"notes": {"repeats": true}}}"#)?;
    /// let mut message = template.defaults().clone();
    /// for value in ["one", "two"] {
    ///     template.fields()[0].put(&mut message, value.into())?;
    /// }
    /// assert_eq!(json::write(&message.into()), r#"{"notes":["one","two"]}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If something is there already that another value can't be put to.
    pub fn put(&self, message: &mut Object, value: Value) -> Result<(), RegionError> {
        check_place(message, self)?;
        store(message, self, value);
        Ok(())
    }
}
