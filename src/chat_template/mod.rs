//! Chat templates, and what models say beside them, from wherever models keep them.
//!
//! | Source | File to open |
//! | --- | --- |
//! | what a name such as `-`, `some/folder` or `org/name` means | `source.rs` |
//! | one file of text, or standard input | `load.rs` |
//! | `tokenizer_config.json` and its kin | `config.rs` |
//! | a folder as models are published | `folder.rs` |
//! | a GGUF file | `gguf.rs` |
//! | rendering, as the transformers library does | `render/` |
//! | the Hugging Face hub | `hub.rs`, its cache on disk in `cache.rs`, its settings in `settings.rs` |

use std::path::Path;

#[cfg(feature = "hub")]
mod cache;
mod config;
mod error;
mod folder;
mod gguf;
#[cfg(feature = "hub")]
mod hub;
mod load;
mod render;
mod settings;
mod source;
mod variant;

pub use error::{GgufFault, HubFault, LoadError};
pub use load::LoadOptions;
pub(crate) use render::REASONING_KEYS;
pub use render::{PreparedTemplate, RenderError, RenderInput, Renderer, Rendering};
pub use settings::HubSettings;
pub use source::{ModelId, NotAModelId, Source};

use crate::value::Value;

/// A chat template with what its model says beside it.
///
/// ```
/// use unjinja::{ChatTemplate, LoadOptions, Source};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// std::fs::write(folder.join("chat_template.jinja"), "{{ messages }}")?;
/// std::fs::write(folder.join("tokenizer_config.json"), r#"{"eos_token": "<|im_end|>"}"#)?;
///
/// let source = Source::Path(folder.to_owned());
/// let template = ChatTemplate::load(&source, &LoadOptions::default())?;
/// assert_eq!(template.source, "{{ messages }}");
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
    pub source: String,
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
    /// The response template, as JSON.
    pub response_template: Option<Value>,
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
    /// Where [`ChatTemplate::bos_token`] stands.
    pub bos_token: Option<String>,
    /// Where [`ChatTemplate::eos_token`] stands.
    pub eos_token: Option<String>,
    /// Where [`ChatTemplate::special_tokens`] stand; several files have commas between them.
    pub special_tokens: Option<String>,
    /// Where [`ChatTemplate::response_template`] stands.
    pub response_template: Option<String>,
}

impl ChatTemplate {
    /// A template that is at hand as text, with no tokens beside it.
    ///
    /// ```
    /// let template = unjinja::ChatTemplate::from_source("{{ messages[0].content }}");
    /// assert_eq!(template.name, "chat template");
    /// assert_eq!(template.eos_token, None);
    /// ```
    pub fn from_source(source: impl Into<String>) -> Self {
        Self {
            name: "chat template".to_owned(),
            source: source.into(),
            ..Self::default()
        }
    }

    /// Loads a template from a file, a folder, a model on the hub, or standard input.
    ///
    /// - A file of text is a template by itself. The tokens come from a `tokenizer_config.json`
    ///   beside it, if there is one.
    /// - A JSON file holds the template under `chat_template`, as `tokenizer_config.json`,
    ///   `processor_config.json` and `chat_template.json` do.
    /// - A GGUF file has it in its metadata; the weights are never read, however large.
    /// - A folder holds some of these files, as models are published.
    /// - A model on the hub is such a folder, of which only the small files are fetched.
    ///
    /// ```
    /// use unjinja::{ChatTemplate, LoadOptions, Source};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("tokenizer_config.json");
    /// std::fs::write(&path, r#"{"chat_template": [
    ///     {"name": "default", "template": "a"},
    ///     {"name": "tool_use", "template": "b"}
    /// ]}"#)?;
    ///
    /// let mut options = LoadOptions::default();
    /// options.variant = Some("tool_use".into());
    /// let template = ChatTemplate::load(&Source::Path(path), &options)?;
    /// assert_eq!(template.source, "b");
    /// assert_eq!(template.variants, ["default", "tool_use"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the source can't be read, is not what it should be, holds no template, or holds several
    /// of which none is `default` and none was asked for. The error says where, why, and what can
    /// be done.
    pub fn load(source: &Source, options: &LoadOptions<'_>) -> Result<Self, LoadError> {
        load::load(source, options)
    }

    /// Loads the template that belongs to a response template in a file or folder: the one that the
    /// same file holds, or else the one of the folder that it stands in. Nothing if neither has one.
    ///
    /// # Errors
    ///
    /// As for [`load`](Self::load), but for there being no template.
    pub fn beside(path: &Path, options: &LoadOptions<'_>) -> Result<Option<Self>, LoadError> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let places: &[&Path] = match path.is_dir() {
            true => &[path],
            false => &[path, folder],
        };
        for place in places {
            match Self::load(&Source::Path(place.to_path_buf()), options) {
                Err(LoadError::NoTemplate { .. }) => {}
                loaded => return loaded.map(Some),
            }
        }
        Ok(None)
    }

    /// Makes the template ready to be compiled, for rendering it several times.
    ///
    /// ```
    /// use unjinja::{ChatTemplate, RenderInput, json};
    ///
    /// let template = ChatTemplate::from_source("{{ messages | length }} messages");
    /// let prepared = template.prepare();
    /// let renderer = prepared.renderer()?;
    /// for (messages, text) in [("[]", "0 messages"), (r#"[{"role": "user"}]"#, "1 messages")] {
    ///     let input = RenderInput { messages: json::read(messages)?, ..RenderInput::default() };
    ///     assert_eq!(renderer.render(&input)?.text, text);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepare(&self) -> PreparedTemplate {
        PreparedTemplate::new(&self.source)
    }

    /// Renders the template once. Its own tokens are taken where the input names none.
    ///
    /// # Errors
    ///
    /// If the template is not valid, does not take the input, or takes too long.
    pub fn render(&self, input: &RenderInput) -> Result<Rendering, RenderError> {
        let input = RenderInput {
            bos_token: input.bos_token.clone().or_else(|| self.bos_token.clone()),
            eos_token: input.eos_token.clone().or_else(|| self.eos_token.clone()),
            ..input.clone()
        };
        self.prepare().renderer()?.render(&input)
    }
}
