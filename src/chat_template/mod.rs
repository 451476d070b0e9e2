//! Chat templates: loading them from wherever models keep them, looking at what they hold, and
//! rendering them as the transformers library does.
//!
//! A [`ChatTemplate`] is the Jinja text that turns a conversation into a prompt, together with what
//! a model says beside it: the tokens that begin and end texts, and, where it has one, the response
//! template.
//!
//! **Load** one with [`ChatTemplate::load`]. A [`Source`] says where from: a file of Jinja or JSON,
//! a GGUF file, a folder as models are published, a model on the Hugging Face hub, or the standard
//! input. [`Source::parse`] finds out what a name means. [`LoadOptions`] choose among several
//! templates, and say how the hub may be asked. A template that is at hand as text becomes one by
//! [`ChatTemplate::from_jinja`].
//!
//! **Look** at its fields: the text, its variants, its tokens, and in which files they stand.
//!
//! **Render** a conversation with [`ChatTemplate::render`]. To render many, compile the template
//! once: [`ChatTemplate::prepare`], then [`PreparedTemplate::renderer`].
//!
//! ```
//! use unjinja::chat_template::{ChatTemplate, LoadOptions, RenderInput, Source};
//! use unjinja::json;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("chat_template.jinja");
//! # let jinja = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}\
//! #     {% if add_generation_prompt %}<assistant>{% endif %}";
//! # std::fs::write(&path, jinja)?;
//! # std::fs::write(folder.path().join("tokenizer_config.json"), r#"{"eos_token": "<end>"}"#)?;
//! # let name = path.to_str().ok_or("UTF-8")?;
//! // The name may be `models/chat_template.jinja`, or `org/name` for a model on the hub.
//! let source = Source::parse(name)?;
//! let template = ChatTemplate::load(&source, &LoadOptions::default())?;
//! assert_eq!(template.eos_token.as_deref(), Some("<end>"));
//!
//! let input = RenderInput {
//!     messages: json::read(r#"[{"role": "user", "content": "Hi"}]"#)?,
//!     add_generation_prompt: true,
//!     ..RenderInput::default()
//! };
//! assert_eq!(template.render(&input)?.text, "<user>Hi<end><assistant>");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What goes wrong is a [`LoadError`] or a [`RenderError`]. Each names the place, the cause and,
//! where there is one, the remedy.

// Each may use only those before it: model_id, error, source, text_file, settings, progress, options,
// render, tags, expressions, outline, template, token, variant, config, tokenizer, extras, folder and gguf, cache, hub, load.
#[cfg(feature = "hub")]
mod cache;
mod config;
mod error;
pub(crate) mod expressions;
mod extras;
mod folder;
mod gguf;
#[cfg(feature = "hub")]
mod hub;
mod load;
mod model_id;
mod options;
pub(crate) mod outline;
mod progress;
mod render;
mod settings;
mod source;
mod tags;
mod template;
mod text_file;
mod token;
mod tokenizer;
mod variant;

pub use error::{GgufFault, HubFault, LoadError};
pub use model_id::{ModelId, NotAModelId};
pub use options::LoadOptions;
pub use progress::Progress;
#[cfg(feature = "check")]
pub(crate) use render::IS_BARE;
pub(crate) use render::{OTHER_REASONING_KEYS, REASONING_KEYS, Tracer, program, steps};
pub use render::{PreparedTemplate, RenderError, RenderInput, Renderer, Rendering};
pub use settings::HubSettings;
pub use source::Source;
pub use template::{ChatTemplate, Origins};
