//! A chat template, and what its model says beside it.

use crate::budget::Budget;
use crate::value::Value;

use super::render::{PreparedTemplate, RenderError, RenderInput, Rendering};

/// A chat template with what its model says beside it.
///
/// ```
/// use unjinja::chat_template::{ChatTemplate, LoadOptions, Source};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// std::fs::write(folder.join("chat_template.jinja"), "{{ messages }}")?;
/// std::fs::write(folder.join("tokenizer_config.json"), r#"{"eos_token": "<|im_end|>"}"#)?;
///
/// let source = Source::Path(folder.to_owned());
/// let template = ChatTemplate::load(&source, &LoadOptions::default())?;
/// assert_eq!(template.jinja, "{{ messages }}");
/// assert_eq!(template.eos_token.as_deref(), Some("<|im_end|>"));
/// assert_eq!(template.origins.eos_token.as_deref(), Some("tokenizer_config.json"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChatTemplate {
    /// What messages about the template call it: the path of the file it stands in, `org/name` of
    /// a model, or `standard input`.
    pub name: String,
    /// The Jinja text, exactly as it stands in its file.
    pub jinja: String,
    /// The name of this variant; `None` if there is only one template, and it has no name.
    pub variant: Option<String>,
    /// The names of all the variants there are; none if there is only one template, and it has no
    /// name. A template without a name among others that have one is called `default`.
    pub variants: Vec<String>,
    /// The token that begins a text.
    pub bos_token: Option<String>,
    /// The token that ends a text or a turn.
    pub eos_token: Option<String>,
    /// All special tokens, in order and without repeats.
    pub special_tokens: Vec<String>,
    /// All tokens that were added to the vocabulary, special or not: each of these texts is a single
    /// token wherever it stands.
    pub added_tokens: Vec<String>,
    /// The response template, as JSON.
    pub response_template: Option<Value>,
    /// The response schema, as JSON: the older language.
    pub response_schema: Option<Value>,
    /// The files all of this came from.
    pub origins: Origins,
}

/// The files that the parts of a [`ChatTemplate`] came from, for people to read:
/// `tokenizer_config.json`, or `model.gguf: tokenizer.chat_template`.
///
/// `None` where there is no such part, or where it did not come from a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origins {
    /// Where the template stands.
    pub template: Option<String>,
    /// Where [`ChatTemplate::bos_token`] stands, or where it is said that there is none.
    pub bos_token: Option<String>,
    /// Where [`ChatTemplate::eos_token`] stands, or where it is said that there is none.
    pub eos_token: Option<String>,
    /// Where [`ChatTemplate::special_tokens`] stand; several files have commas between them.
    pub special_tokens: Option<String>,
    /// Where [`ChatTemplate::response_template`] stands.
    pub response_template: Option<String>,
    /// Where [`ChatTemplate::response_schema`] stands.
    pub response_schema: Option<String>,
}

impl ChatTemplate {
    /// A template that is at hand as text, with no tokens beside it.
    ///
    /// ```
    /// let template = unjinja::chat_template::ChatTemplate::from_jinja("{{ messages[0].content }}");
    /// assert_eq!(template.name, "chat template");
    /// assert_eq!(template.eos_token, None);
    /// ```
    pub fn from_jinja(jinja: impl Into<String>) -> Self {
        Self {
            name: "chat template".to_owned(),
            jinja: jinja.into(),
            ..Self::default()
        }
    }

    /// Makes the template ready to be compiled, for rendering it several times.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    /// use unjinja::json;
    ///
    /// let template = ChatTemplate::from_jinja("{{ messages | length }} messages");
    /// let prepared = template.prepare();
    /// let renderer = prepared.renderer()?;
    /// for (messages, text) in [("[]", "0 messages"), (r#"[{"role": "user"}]"#, "1 messages")] {
    ///     let input = RenderInput { messages: json::read(messages)?, ..RenderInput::default() };
    ///     assert_eq!(renderer.render(&input)?.text, text);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepare(&self) -> PreparedTemplate {
        self.prepare_within(&Budget::unlimited())
    }

    /// The same for a question, whose renderings all draw from its budget.
    pub(crate) fn prepare_within(&self, budget: &Budget) -> PreparedTemplate {
        PreparedTemplate::new(&self.jinja, budget.clone())
    }

    /// Renders the template once. Its own tokens are taken where the input names none.
    ///
    /// # Errors
    ///
    /// If the template is not valid, does not take the input, or takes too long.
    pub fn render(&self, input: &RenderInput) -> Result<Rendering, RenderError> {
        self.prepare().renderer()?.render(&self.given(input))
    }

    /// The input with the template's own tokens where it names none, as a [`Renderer`](super::Renderer) needs it.
    ///
    /// ```
    /// use unjinja::chat_template::{ChatTemplate, RenderInput};
    ///
    /// let mut template = ChatTemplate::from_jinja("{{ bos_token }}Hi");
    /// template.bos_token = Some("<s>".to_owned());
    /// let input = template.given(&RenderInput::default());
    /// assert_eq!(template.prepare().renderer()?.render(&input)?.text, "<s>Hi");
    /// # Ok::<(), unjinja::chat_template::RenderError>(())
    /// ```
    pub fn given(&self, input: &RenderInput) -> RenderInput {
        input.or_tokens(self.bos_token.as_deref(), self.eos_token.as_deref())
    }
}
