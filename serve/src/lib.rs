//! A server in front of any completion endpoint, which answers with the interfaces of OpenAI and Anthropic.
//!
//! An engine takes a prompt and gives a text. From the model's chat template, the server makes the prompt of a conversation, a grammar of
//! what the model may write, and the response template that reads what it writes. So there are thoughts, texts and calls, whole and
//! streamed, as [Chat Completions], [Responses] and [Messages] have them, whatever the engine's own parser knows about the model.
//!
//! ```no_run
//! use unjinja::chat_template::ChatTemplate;
//! use unjinja_serve::{Config, serve};
//!
//! let mut config = Config::new("http://127.0.0.1:8080");
//! config.template = Some(ChatTemplate::from_jinja(
//!     "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
//!      {% if add_generation_prompt %}<assistant>{% endif %}",
//! ));
//! serve(config, |address| println!("http://{address}"))?;
//! # Ok::<(), unjinja_serve::ServeError>(())
//! ```
//!
//! [Chat Completions]: https://platform.openai.com/docs/api-reference/chat
//! [Responses]: https://platform.openai.com/docs/api-reference/responses
//! [Messages]: https://docs.claude.com/en/api/messages
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod answer;
mod api;
mod arrivals;
mod blocks;
mod cache;
mod config;
mod connection;
mod conversation;
mod explain;
mod fault;
mod guard;
mod held;
mod making;
mod metrics;
mod model;
mod object;
mod pieces;
mod receiving;
mod record;
mod request;
mod routes;
mod server;
mod stream;
mod upstream;
mod values;
mod work;

use std::sync::Arc;

pub use config::{Config, Limits};
pub use explain::{Begun, Explain, Explanation};
pub use server::{ServeError, describe, serve};
pub use upstream::{ENGINES, Engine};

/// Where people are told something: a line without its end. What models and clients have written stands in it escaped.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;
